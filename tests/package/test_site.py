"""The site of the documentation: each page and each public name has its place. Sphinx builds it in a part of CI."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import ndcore as nd

ROOT = Path(__file__).parents[2]

sys.path.insert(0, str(ROOT / "tools"))
tool = pytest.importorskip("build_site", reason="tools is not beside the tests")
sys.path.pop(0)


def test_each_public_name_is_in_the_reference_once():
    names = [name for names in tool.group_names().values() for name in names]
    assert sorted(names) == sorted(nd.__all__)


def test_a_room_without_a_topic_is_named(monkeypatch):
    monkeypatch.setattr(tool, "TOPICS", [topic for topic in tool.TOPICS if "hamming" not in topic.rooms])
    with pytest.raises(ValueError, match=r"no topic of tools/build_site.py has the room 'hamming' of ndcore\.HammingIndex"):
        tool.group_names()


def test_each_page_is_under_one_heading():
    front = (ROOT / tool.FRONT).read_text("utf-8")
    listed = [page for page in tool.order_pages(front) if page.endswith(".md")]
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(page for page in listed if "/" not in page) == sorted(pages)
    assert len(listed) == len(set(listed))


def test_front_page_has_the_titles_of_pages():
    for title, page in re.findall(r"^\| \[([^]]+)\]\(([\w-]+\.md)\)", (ROOT / tool.FRONT).read_text("utf-8"), re.M):
        assert (ROOT / "docs" / page).read_text("utf-8").startswith(f"# {title}\n")


def test_a_missing_heading_is_named():
    with pytest.raises(ValueError, match=r"docs/README\.md has no heading 'Look up'"):
        list(tool.order_pages("## Learn\n\n## Do\n\n## Understand\n"))


def test_the_reference_has_a_page_for_each_name(tmp_path):
    tool.write_reference(tmp_path / "reference")
    index = (tmp_path / "reference" / "index.md").read_text("utf-8")
    linked = re.findall(r"\]\(([\w.-]+)\.rst\)", index)
    written = [path.stem for path in (tmp_path / "reference").glob("*.rst")]
    assert sorted(linked) == sorted(written)
    assert len({page.lower() for page in written}) == len(written) == len(nd.__all__) + len(tool.MODULES)
    assert ".. autoclass:: ndcore.Store\n   :members:\n" in (tmp_path / "reference" / "Store-class.rst").read_text("utf-8")


def load_configuration():
    """Import the file that configures Sphinx. A skip where the extra docs is not installed."""
    pytest.importorskip("docutils")
    pytest.importorskip("latex2mathml")
    spec = importlib.util.spec_from_file_location("site_configuration", tool.CONF / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formulas_are_mathml():
    """A page with formulas asks no other server, and a screen reader reads them."""
    configuration = load_configuration()
    from docutils import nodes

    class Translator:
        body: list[str] = []  # noqa: RUF012

    for node in (nodes.math("", "r \\le 1"), nodes.math_block("", r"\frac{a}{b}")):
        with pytest.raises(nodes.SkipNode):
            configuration.write_formula(Translator, node)
    inline, block = Translator.body
    assert inline.startswith("<math") and 'display="inline"' in inline and "<mi>r</mi>" in inline
    assert block.startswith('<div class="math"><math') and 'display="block"' in block and "<mfrac>" in block


def test_the_focus_reaches_what_scrolls():
    context = {"body": '<pre>a</pre><div class="table-wrapper docutils container"><table></table></div>'}
    load_configuration().make_scrollable(None, "page", "page.html", context, None)
    assert context["body"] == ('<pre tabindex="0">a</pre><div tabindex="0" class="table-wrapper docutils container">'
                               "<table></table></div>")
