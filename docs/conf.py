"""How Sphinx makes the site of these pages: `make docs`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))

project = "Daybreak"
author = "The Daybreak authors"
copyright = "2026, the Daybreak authors"
version = release = version_of("daybreak")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "executed",
    "command_pages",
    "gallery",
    "links",
    "root_pages",
]
exclude_patterns = ["_build", "_made", "_templates", "extensions", "learn", "mutants", "fidelity", "results/*/tables"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
# Quotes and ellipses only: two hyphens begin an option.
smartquotes_action = "qe"
# What a page names that is no page, such as a source file, is offered as a download: the site needs no network.
suppress_warnings = ["myst.strikethrough", "config.cache"]
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_cache_path = str(HERE / "_build" / "notebooks")

# Docstrings are written as Markdown is: a word between backticks is code.
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_display_short_literal_types = True

html_theme = "furo"
html_title = "Daybreak"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00558a", "color-brand-content": "#00558a"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_exclude = ".linenos, .gp, .go"
