"""Two texts with blocks in colours: lines, files, what is folded or left out, nothing of the text acts."""

from __future__ import annotations

import html
import re

from browser import ATTACK, HOSTILE, Tree, opened

from ndcore.report import matched as module
from ndcore.report.matched import MatchedBlock, MatchedText, matched_page

TEXT = "one\ntwo three\n\nfour\n"
NONE = MatchedText("b", "", "nothing\n", [("b.c", 0)], [])


def page(text: str, blocks: list[MatchedBlock] | None = None, files: list[tuple[str, int]] | None = None) -> str:
    return matched_page("a and b", "", MatchedText("a", "", text, files or [("a.c", 0)], blocks or []), NONE, "index.html")


def marked(source: str) -> list[str]:
    return [html.unescape(re.sub("<[^>]*>", "", part)) for part in re.findall("<mark[^>]*>(.*?)</mark>", source, re.S)]


def test_blocks_over_several_lines():
    """A block has its number once, at its beginning, and a mark on each line that has text of it."""
    blocks = [MatchedBlock(2, 7, 1, False), MatchedBlock(8, 17, 2, False), MatchedBlock(17, 19, 1, True)]
    source = page(TEXT, blocks)
    assert marked(source) == ["e", "two", "three", "fo", "ur"]
    tree = Tree(source)
    signs = [each for tag, each in tree.elements if tag == "a" and "sign" in str(each.get("class"))]
    assert [(each.get("id"), each["href"]) for each in signs] == [("a1", "#b1"), ("a2", "#b2"), (None, "#b1")]
    assert tree.values("data-line") == ["1", "2", "3", "4", "1"]
    rows = re.findall(r'data-line="\d+"><span>(.*?)</span></div>', source)
    assert [re.sub("<[^>]*>", "", row) for row in rows] == ["on1e", "two 2three", "", "fo1ur", "nothing"]


def test_lines_are_counted_in_each_file():
    source = page("x\ny\nz\n", files=[("first.c", 0), ("second.c", 4)])
    assert Tree(source).values("data-line") == ["1", "2", "1", "1"]
    named = re.findall('<p class="file">(.*?)</p>', source)
    assert [re.sub("<[^>]*>", "", name) for name in named] == ["first.c", "second.c"]


def test_lines_end_as_in_any_system():
    source = page("one\rtwo three\r\n\rfour\nfive", [MatchedBlock(2, 8, 1, False)])
    assert marked(source) == ["e", "two "]
    assert Tree(source).values("data-line") == ["1", "2", "3", "4", "5", "1"]


def test_far_lines_are_folded_and_of_long_texts_left_out(monkeypatch):
    text = "".join(f"line {i}\n" for i in range(200))
    at = text.index("line 100")
    block = [MatchedBlock(at, at + 8, 1, False)]
    source = page(text, block)
    assert len(Tree(source).values("data-line")) == 201
    assert source.count("<summary>97 lines without a block</summary>") == 1 and source.count("<details>") == 2
    monkeypatch.setattr(module, "LINES", 100)
    source = page(text, block)
    assert Tree(source).values("data-line") == [*map(str, range(98, 105)), "1"]
    assert "… 97 lines without a block …" in source and "… 96 lines without a block …" in source
    every = [MatchedBlock(m.start(), m.end(), i, False) for i, m in enumerate(re.finditer("line", text), 1)]
    assert "… 100 more lines …" in page(text, every)
    monkeypatch.setattr(module, "BLOCKS", 50)
    assert "The first 50 blocks are shown, and not 150 others." in page(text, every)


def test_a_long_line_is_cut():
    source = page("x" * 100_000 + "\n", [MatchedBlock(10, 90_000, 1, False)])
    assert len(source) < 30_000 and "characters …" in source


def test_hostile_texts(tmp_path):
    text = f"{ATTACK}\n{HOSTILE}\r\nend"
    files, blocks = [(ATTACK, 0), (HOSTILE, len(ATTACK) + 1)], [MatchedBlock(3, len(ATTACK) + 9, 1, False)]
    source = matched_page(ATTACK, ATTACK, MatchedText(ATTACK, ATTACK, text, files, blocks), NONE, "index.html")
    Tree(source)
    [title], messages = opened(source, tmp_path)
    assert title != "ran" and messages == []
