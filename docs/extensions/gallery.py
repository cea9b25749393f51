"""The gallery: a page for each ready scenario, made of its file, of a run of it, and of its entry in `lessons.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]


def write_pages(app: Sphinx) -> None:
    """Writes the pages, and the list of them."""
    folder = Path(app.srcdir) / "gallery"
    lessons = tomllib.loads((folder / "lessons.toml").read_text(encoding="utf-8"))
    files = sorted((ROOT / "scenarios").glob("*.toml"))
    if (names := {file.stem for file in files}) != set(lessons):
        raise ExtensionError(f"docs/gallery/lessons.toml differs from scenarios/ in {sorted(names ^ set(lessons))}")
    for file in files:
        put(folder / f"{file.stem}.md", page(file, lessons[file.stem]))
    entries = [f"- [{lessons[file.stem]['title']}]({file.stem}.md): {lessons[file.stem]['short']}" for file in files]
    put(folder / "list.inc", "\n".join(entries) + "\n")


def page(file: Path, lesson: dict[str, Any]) -> str:
    """The page of a scenario."""
    place = f"results/{file.stem}"
    if "not_run" in lesson:
        shown = f""":not-run: {lesson["not_run"]}
daybreak run scenarios/{file.name} --engine kernel -o {place}"""
    else:
        records = "".join(f' --set "records.{one}"' for one in lesson.get("records", ()))
        options = "".join(f" --{key} {value}" for key, value in lesson.get("options", {}).items())
        shown = f""":figure: {file.stem}.svg
:alt: {lesson["alt"]}
:lines: 14
daybreak run scenarios/{file.name}{records} -o {place}
daybreak plot {place} --what {lesson["what"]}{options} -o {file.stem}.svg"""
    return f"""# {lesson["title"]}

{lesson["lesson"].strip()}

```{{command}}
{shown}
```

## The scenario

```{{literalinclude}} ../../scenarios/{file.name}
:language: toml
:class: executed
```
"""


def put(place: Path, text: str) -> None:
    """Writes a file unless it is that already, so that Sphinx reads only what is new."""
    if not place.is_file() or place.read_text(encoding="utf-8") != text:
        place.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
