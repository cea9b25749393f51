"""Directives whose content is run while the site is built, so that a page shows what its commands really print.

    ```{command}           each line is a command, run in the page's folder; the output follows
    :figure: flow.svg      an image that the command writes, shown below it
    :alt: what it shows    words for those who cannot see it
    :lines: 12             shows this number of lines of the output, all without it
    :fails:                must end with another exit code than 0; what it says of that is shown
    :needs: kernel         run only where an image of the Linux kernel is built
    :not-run: a reason     shown, and not run
    ```

    ```{file} flow.toml    writes a file to the page's folder, and shows it
    ```{python}            runs in one namespace a page; shows what it prints, and a figure as its last expression

The folder of a page has copies of `scenarios` and `grids`. `daybreak` is run in this process, by its own entry point.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from daybreak.cli.main import main
from daybreak.cli.terminal import console
from daybreak.engines.kernel import image
from daybreak.engines.kernel.errors import KernelEngineError

logger = logging.getLogger(__name__)
ROOT = Path(__file__).resolve().parents[2]
COLUMNS = 88
"""Letters in a line of the site's code blocks."""
SECONDS = 120
PLAIN = ("console", "sh", "bash", "python", "toml")
"""Languages that are only shown by directives that run them."""


class Place:
    """Where the commands of one page are run."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="daybreak-site-")
        self.folder = Path(self._temporary.name)
        for name in ("scenarios", "grids"):
            shutil.copytree(ROOT / name, self.folder / name)
        self.names: dict[str, Any] = {"__name__": "__main__"}


_places: dict[str, Place] = {}


class Executed(SphinxDirective):
    """What the directives share."""

    has_content = True
    option_spec: ClassVar = {
        "figure": directives.unchanged_required, "alt": directives.unchanged_required, "fails": directives.flag,
        "lines": directives.positive_int, "needs": lambda text: directives.choice(text, ("kernel",)),
        "not-run": directives.unchanged_required, "quiet": directives.flag,
    }  # fmt: skip

    @property
    def place(self) -> Place:
        """The page's."""
        return _places.setdefault(self.env.docname, Place())

    def code(self, text: str, language: str, caption: str = "") -> nodes.Node:
        """A block of code."""
        block = nodes.literal_block(text, text, language=language)
        block["executed"] = True
        if not caption:
            return block
        container = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
        container += [nodes.caption(caption, "", nodes.literal(caption, caption)), block]
        return container

    def shown(self, text: str) -> list[nodes.Node]:
        """The output, as many lines of it as are wanted."""
        lines = [line.rstrip() for line in text.strip("\n").splitlines()]
        most = self.options.get("lines", len(lines))
        if len(lines) > most:
            lines = [*lines[:most], "..."]
        if "quiet" in self.options or not any(lines):
            return []
        block = self.code("\n".join(lines), "text")
        kind = ["sentence"] if "fails" in self.options else []
        return [nodes.container("", block, classes=["command-output", *kind])]

    def image(self, content: bytes, name: str) -> nodes.Node:
        """A figure that has been made."""
        if not self.options.get("alt"):
            raise self.error(f"{name} has no :alt:")
        made = Path(self.env.srcdir) / "_made" / self.env.docname / name
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(content)
        uri = "/" + made.relative_to(self.env.srcdir).as_posix()
        return nodes.figure("", nodes.image(uri=uri, alt=self.options["alt"]))


class Command(Executed):
    """Commands of a shell."""

    def run(self) -> list[nodes.Node]:
        commands = "\n".join(self.content).replace("\\\n", " ").splitlines()
        block = self.code("\n".join(self.content), "sh")
        if reason := self._not_run():
            return [block, nodes.paragraph("", "", nodes.emphasis("", f"Not run when this page was built: {reason}."))]
        output = ""
        for command in commands:
            if not command.strip() or command.startswith("#"):
                continue
            code, printed, complaint = run(command, self.place.folder)
            if (code != 0) != ("fails" in self.options):
                raise self.error(f"`{command}` ended with {code}:\n{printed}{complaint}")
            output += printed + (complaint if code else "")
        shown = [block, *self.shown(output)]
        if name := self.options.get("figure"):
            file = self.place.folder / name
            if not file.is_file():
                raise self.error(f"the commands have not written {name}")
            shown.append(self.image(file.read_bytes(), file.name))
        return shown

    def _not_run(self) -> str | None:
        if self.options.get("needs") == "kernel":
            try:
                image.find()
            except KernelEngineError:
                return "the machine had no kernel image"
        return self.options.get("not-run")


class File(Executed):
    """A file of the reader's."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name, text = self.arguments[0], "\n".join(self.content)
        file = self.place.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
        language = {".toml": "toml", ".py": "python", ".csv": "text", ".rs": "rust", ".c": "c"}[file.suffix]
        return [self.code(text, language, caption=name)]


class Python(Executed):
    """Python, as in a notebook."""

    def run(self) -> list[nodes.Node]:
        text = "\n".join(self.content)
        tree = ast.parse(text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed, value = io.StringIO(), None
        with inside(self.place.folder), contextlib.redirect_stdout(printed):
            try:
                exec(compile(tree, "page", "exec"), self.place.names)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), "page", "eval"), self.place.names)
            except Exception as error:
                raise self.error(f"{type(error).__name__}: {error}\n{text}") from error
        shown: list[nodes.Node] = [self.code(text, "python")]
        if isinstance(value, Figure):
            file = io.BytesIO()
            value.savefig(file, format="png", dpi=130, metadata={"Software": None})
            number = self.env.new_serialno("figure")
            return [*shown, *self.shown(printed.getvalue()), self.image(file.getvalue(), f"figure-{number}.png")]
        return [*shown, *self.shown(printed.getvalue() + ("" if value is None else f"{value}\n"))]


def run(command: str, folder: Path) -> tuple[int, str, str]:
    """Runs a line of a shell; returns its exit code and what it writes to both streams."""
    words = shlex.split(command)
    # With nothing that a shell would have to understand, the program is called without the time that it takes to start.
    if words[0] == "daybreak" and not set(command) & set("|<>$;&*`"):
        return _daybreak(words[1:], folder)
    environment = os.environ | {"COLUMNS": str(COLUMNS), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=SECONDS,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def _daybreak(arguments: list[str], folder: Path) -> tuple[int, str, str]:
    out, error = io.StringIO(), io.StringIO()
    code: Any = 0
    with inside(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
    return int(code), out.getvalue(), error.getvalue()


@contextlib.contextmanager
def inside(folder: Path) -> Any:
    """Works in a folder, with a terminal as wide as a page."""
    console().width = COLUMNS
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(COLUMNS)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS") if columns is None else os.environ.update(COLUMNS=columns)


def check_blocks(app: Sphinx, doctree: nodes.document) -> None:
    """Warns of code that a page shows and nothing has run."""
    if app.env.docname.startswith("reference/"):
        # Made by a program, whose tests hold their examples to what is valid.
        return
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().lstrip()
        is_code = block.get("language") in PLAIN or text.startswith(("daybreak ", "$ ", "make ", "import daybreak"))
        is_included = "source" in block.attributes
        if is_code and not is_included and not block.get("executed") and not is_of_a_notebook(block):
            logger.warning("nothing runs this block: %s", text.splitlines()[0], location=block)


def is_of_a_notebook(block: nodes.Node) -> bool:
    """Whether a cell of a notebook shows it, which has been run."""
    while block is not None:
        if any(name.startswith("cell") for name in getattr(block, "attributes", {}).get("classes", ())):
            return True
        block = block.parent
    return False


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.add_directive("command", Command)
    app.add_directive("file", File)
    app.add_directive("python", Python)
    app.connect("doctree-read", check_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
