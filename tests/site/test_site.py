"""How the site is made: what it runs, and what ends its build. `make docs`, which CI runs, builds the site itself."""

import io
import runpy

import pytest
from ready_files import ROOT

pytest.importorskip("sphinx", reason="the site is built with the extra docs")

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import docutils_namespace, patch_docutils

EXTENSIONS = ROOT / "docs" / "extensions"


@pytest.fixture
def links(monkeypatch):
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    return __import__("links")


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Builds a site of one page; returns its HTML, and what was complained of."""
    monkeypatch.syspath_prepend(str(EXTENSIONS))

    def build(page, extensions=("executed",), **settings):
        source = tmp_path / "source"
        source.mkdir(exist_ok=True)
        (source / "index.md").write_text(page, encoding="utf-8")
        complaints = io.StringIO()
        with patch_docutils(), docutils_namespace():
            Sphinx(
                str(source), None, str(tmp_path / "html"), str(tmp_path / "trees"), "html", status=None,
                warning=complaints, confoverrides={"extensions": ["myst_parser", *extensions], **settings},
                freshenv=True,
            ).build()  # fmt: skip
        return (tmp_path / "html" / "index.html").read_text(encoding="utf-8"), complaints.getvalue()

    return build


def test_commands_files_and_python_are_run_in_one_folder(built):
    html, complaints = built(
        """# Page

```{file} own.toml
name = "own"
duration = "1 s"
topology = { kind = "dumbbell", rate = "1 Gbit/s", delay = "20 us", queue = "50 packets" }
[[flows]]
from = "sender-0"
to = "receiver-0"
size = "1 MB"
```

```{command}
daybreak run own.toml -o results/own
ls results/own | head -1
```

```{python}
import daybreak
print("delivered", daybreak.read("results/own").flows["delivered_bytes"].item())
```
"""
    )
    assert complaints == ""
    assert "flow-0" in html and "bins.parquet" in html and "delivered 1000000" in html


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("{command}\ndaybreak run nowhere.toml", "ended with 1"),
        ("{command}\n:fails:\ndaybreak list variants", "ended with 0"),
        ("{command}\n:figure: none.png\n:alt: a\ndaybreak list queues", "the commands have not written none.png"),
        ("{python}\n1 / 0", "ZeroDivisionError: division by zero"),
        ("sh\nls", "nothing runs this block: ls"),
        ("\ndaybreak list queues", "nothing runs this block: daybreak list queues"),
    ],
)
def test_what_does_not_work_is_complained_of(built, block, complaint):
    assert complaint in built(f"# Page\n\n```{block}\n```\n")[1]


def test_what_cannot_be_run_says_why(built):
    html, complaints = built("# Page\n\n```{command}\n:not-run: it takes hours\ndaybreak bench\n```\n")
    assert complaints == "" and "Not run when this page was built: it takes hours." in html


def page(body):
    return f"<!doctype html><html><body><h1 id='top'>Title</h1>{body}</body></html>"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="b.html#there">b</a> <a href="#top">a</a> <a href="https://example.org/">out</a>', None),
        ('<a href="gone.html">x</a>', "a.html: gone.html leads nowhere"),
        ('<a href="b.html#gone">x</a>', "a.html: b.html#gone has no such place"),
        ('<script src="https://example.org/x.js"></script>', "a.html: https://example.org/x.js would be loaded"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "a.html: //example.org/x.css would be loaded"),
        ('<img src="b.html">', "a.html: the image b.html has no words"),
        ('<img src="b.html" alt="b.html">', "a.html: the image b.html has no words"),
        ("<h3>Too deep</h3>", "a.html: its headings are of the levels [1, 3]"),
    ],
)
def test_links_assets_words_and_headings_are_checked(links, tmp_path, body, problem):
    (tmp_path / "a.html").write_text(page(body), encoding="utf-8")
    (tmp_path / "b.html").write_text(page("<p id='there'></p>"), encoding="utf-8")
    found = links.problems(tmp_path)
    assert [one[: len(problem)] for one in found] == [problem] if problem else found == []


def test_a_scenario_without_a_lesson_ends_the_build(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    gallery = __import__("gallery")
    (tmp_path / "gallery").mkdir()
    (tmp_path / "gallery" / "lessons.toml").write_text("[01-one-flow]\n", encoding="utf-8")

    class App:
        srcdir = tmp_path

    with pytest.raises(ExtensionError, match=r"differs from scenarios/ in .'02-two-flows'"):
        gallery.write_pages(App())


def test_options_keep_their_hyphens(built):
    """In prose too, where two of them would become a dash."""
    settings = runpy.run_path(str(ROOT / "docs" / "conf.py"))
    html, _ = built('# Page\n\nWith --colour and "quotes".\n', smartquotes_action=settings["smartquotes_action"])
    assert "With --colour and" in html
