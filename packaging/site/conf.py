"""Configure Sphinx for the site of the documentation, which `tools/build_site.py` builds."""

from typing import Any

import latex2mathml.converter
from docutils import nodes

import ndcore

project = "ndcore"
author = "The ndcore developers"
copyright = "The ndcore developers, Apache-2.0"
version = release = ndcore.__version__

root_doc = "docs/README"
include_patterns = ["docs/**", "*.md", "examples/README.md", "bench/README.md"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
default_role = "py:obj"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc shows the types of parameters
numpydoc_show_class_members = False

smartquotes = False  # quotation marks in code outside backticks stay as they are
suppress_warnings = ["misc.highlighting_failure"]  # output that is cut with an ellipsis is not valid JSON

html_theme = "furo"
html_title = f"ndcore {version}"
html_math_renderer = "mathml"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]


def escape_bars(app: object, what: str, name: str, about: object, options: object, lines: list[str]) -> None:
    """Escape bars, so that |A ∩ B| in a docstring is the size of a set, not a substitution of reStructuredText."""
    lines[:] = ["`".join(part if i % 2 else part.replace("|", "\\|") for i, part in enumerate(line.split("`")))
                for line in lines]


def write_formula(translator: Any, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers draw without a script and screen readers read."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    formula = latex2mathml.converter.convert(node.astext(), display=display)
    translator.body.append(f'<div class="math">{formula}</div>' if display == "block" else formula)
    raise nodes.SkipNode


def make_scrollable(app: object, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Let the focus reach blocks of code and wide tables, so that the keyboard scrolls them in every browser."""
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')


def setup(app: Any) -> None:
    """Register the handlers of this file with Sphinx."""
    app.connect("html-page-context", make_scrollable)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("autodoc-process-docstring", escape_bars)
