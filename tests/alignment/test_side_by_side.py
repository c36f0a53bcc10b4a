"""Passages in rows, and as HTML: order, escaping, anchors, and what a browser makes of it."""

from __future__ import annotations

import html
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from browser import HOSTILE, Tree, browse
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.alignment.rows import elided, in_same_order, rows, visible
from ndcore.report.html import SCRIPT, draw_overview, wrap_page
from ndcore.report.side_by_side import show_side_by_side

WORDS = st.lists(st.sampled_from("abcdef"), max_size=30).map(" ".join)


def compared(a: Any, b: Any, width: int = 3, unit: Any = "word") -> tuple[nd.Passages, Tree]:
    found = nd.passages(a, b, nd.Shingling(width=width, unit=unit))
    return found, Tree(show_side_by_side(a, b, found))


# ---- rows


@given(WORDS, WORDS)
def test_rows_keep_all_passages_in_order(a: str, b: str) -> None:
    found = nd.passages(a, b, nd.Shingling(width=2))
    made = rows(found)
    assert [p for row in made for p in row.a] == found.a
    assert [p for row in made for p in row.b] == found.b
    for row in made:
        assert row.a or row.b
        if row.aligned:
            [p], [q] = row.a, row.b
            assert p.number == q.number > 0
            assert not p.repeat
            assert not q.repeat
        else:
            both = {p.number for p in row.a if not p.repeat} & {q.number for q in row.b if not q.repeat} - {0}
            assert not both
    assert {row.a[0].number for row in made if row.aligned} == in_same_order(found)


@given(st.permutations(range(6)), st.lists(st.integers(1, 9), min_size=6, max_size=6))
def test_the_most_tokens_stand_in_order(order: list[int], lengths: list[int]) -> None:
    starts = [0, *itertools.accumulate(lengths)]
    a = [nd.Passage(0, 1, start, end, n, False) for n, (start, end) in enumerate(itertools.pairwise(starts), 1)]
    chosen = in_same_order(nd.Passages(a, [a[n] for n in order]))
    weight = {p.number: p.last - p.first for p in a}
    best = max(
        sum(weight[order[i] + 1] for i in subset)
        for size in range(7) for subset in itertools.combinations(range(6), size)
        if all(order[i] < order[j] for i, j in itertools.pairwise(subset))
    )
    assert sum(weight[n] for n in chosen) == best


def test_rows_by_hand() -> None:
    a, b = "one two three x y four five six seven", "four five six seven z one two three"
    made = rows(nd.passages(a, b, nd.Shingling(width=3)))
    numbers = [([p.number for p in row.a], [p.number for p in row.b], row.aligned) for row in made]
    assert numbers == [([1, 0], [], False), ([2], [2], True), ([], [0, 1], False)]


# ---- HTML


def test_the_whole_text_is_there() -> None:
    found, tree = compared("One two three -- four", "(zero) one two three!")
    assert "".join(tree.text).split("\n") == ["AB", "≠(zero)", "1One two three --1one two three!", "≠four", ""]
    assert [tag for tag, _ in tree.elements].count("mark") == 2
    assert len(found.a) == 2


def test_equal_runs_are_no_differences() -> None:
    _, tree = compared("One two x", "one two y", 5)
    assert "".join(tree.text).split("\n") == ["AB", "=One two=one two", "≠x≠y", ""]
    assert tree.values("title")[0] == "equal, too short to be a shared shingle: go to it in B"
    assert tree.values("href") == ["#b1", "#a1"]


@given(st.text(max_size=60), st.binary(max_size=60))
def test_any_text_is_escaped(a: str, b: bytes) -> None:
    for unit in ("word", "byte", "line"):
        _, tree = compared(a, b, 1, unit)
        assert {tag for tag, _ in tree.elements} <= {
            "table", "thead", "tbody", "tr", "th", "td", "div", "span", "mark", "a", "small", "details", "summary"
        }


def test_hostile_texts() -> None:
    hostile = HOSTILE.encode("utf-8", "surrogatepass") + b"\xff\xfe"
    for a, b in ((HOSTILE, "x " + HOSTILE), (hostile, b"x " + hostile)):
        found, tree = compared(a, b)
        source = show_side_by_side(a, b, found, names=("<b>A", "B\u202e\""), prefix="p1-")
        Tree(source)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", source)
        assert "<script" not in source
        text = "".join(tree.text)
        for code in ("U+202E", "U+2066", "U+0000", "U+001B"):
            assert text.count(code) == 2
        assert "alert(1)" in text
        assert "U+D800" in text if isinstance(a, str) else "\\xED\\xA0\\x80" in text
        assert isinstance(a, str) or "\\xFF\\xFE" in text
        source.encode()


def test_visible() -> None:
    assert visible("a<b>&\"'\r\nc\td\u200d") == "a&lt;b&gt;&amp;&quot;&#x27;\nc\td\u200d"
    assert visible("\r\u2028é人\u00a0\ufeff") == (
        '<span class="nd-code">U+000D</span><span class="nd-code">U+2028</span>é人\u00a0<span class="nd-code">U+FEFF</span>'
    )
    assert visible(b"\xc3\xa9\xff") == 'é<span class="nd-code">\\xFF</span>'


@given(WORDS, WORDS)
def test_links_lead_to_the_counterpart(a: str, b: str) -> None:
    found = nd.passages(a, b, nd.Shingling(width=2))
    tree = Tree(show_side_by_side(a, b, found, prefix="p7-"))
    ids = tree.values("id")
    assert len(ids) == len(set(ids))
    count = max((p.number for p in found.a), default=0)
    assert set(ids) == {f"p7-{side}{n}" for side in "ab" for n in range(1, count + 1)}
    links = tree.values("href")
    shared = [p.number for row in rows(found) for side, own in (("b", row.a), ("a", row.b)) for p in own if p.number]
    assert sorted(links) == sorted(
        f"#p7-{side}{p.number}" for side, own in (("b", found.a), ("a", found.b)) for p in own if p.number
    )
    assert len(links) == len(shared) == len(tree.values("aria-label")) == len(tree.values("data-nd"))


def test_texts_without_tokens_are_shown() -> None:
    _, tree = compared("...", b"!!")
    assert {"...", "!!"} <= set(tree.text)
    _, tree = compared("", "")
    assert "".join(tree.text).split() == ["AB"]


def test_long_passages_unfold() -> None:
    text = " ".join(f"w{i}" for i in range(1000))
    _, tree = compared(text, text)
    assert [tag for tag, _ in tree.elements].count("details") == 2
    assert "".join(tree.text).count("w500 ") == 2


def test_elided() -> None:
    assert elided("a b", 3) == ("a b", "", "")
    for text in ("x" * 100, "word " * 30):
        head, middle, tail = elided(text, 30)
        assert head + middle + tail == text
        assert 0 < len(head) <= 10
        assert 0 < len(tail) <= 10
        assert middle
    assert elided("one two three four five six", 24)[0] == "one two"


# ---- pages


def test_page_loads_nothing_and_runs_its_own_script_only() -> None:
    made = wrap_page("<i>title", "<p>body</p>", "p { color: red }")
    tree = Tree(made)
    assert tree.values("src") == tree.values("href") == []
    [policy] = [attributes["content"] for tag, attributes in tree.elements if attributes.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "style-src 'sha256-" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe" not in policy
    assert "&lt;i&gt;title" in made
    assert not re.search(r"url\(|@import|https?:", made)


def test_overview_draws_every_shared_passage() -> None:
    a, b = "one two three x y four five six seven", "four five six seven z one two three"
    found = nd.passages(a, b, nd.Shingling(width=3))
    tree = Tree(draw_overview(found))
    assert tree.values("class") == ["nd-overview", "bar", "s", "bar", "s", "ribbon s", "ribbon m"]
    short = Tree(draw_overview(nd.passages("one two x", "one two y")))
    assert short.values("class") == ["nd-overview", "bar", "s", "e", "bar", "s", "e"]
    assert Tree(draw_overview(nd.passages("", "a"))).values("class") == ["nd-overview", "bar", "s", "bar", "s"]


PROBE = """
const at = id => document.getElementById(id), results = [];
const lit = () => [...document.querySelectorAll('.nd-on')].map(e => e.id || 'again').join();
const send = (id, event) => { at(id).querySelector('a').dispatchEvent(event); results.push(lit()); };
send('a1', new PointerEvent('pointerover', {bubbles: true}));
send('a1', new PointerEvent('pointerout', {bubbles: true}));
send('b2', new FocusEvent('focusin', {bubbles: true}));
send('b2', new FocusEvent('focusout', {bubbles: true}));
for (const id of ['a2', 'b1']) { at(id).click(); results.push(document.activeElement.parentElement.id); }
document.title = results.join(' ');
"""


@pytest.mark.slow
def test_in_a_browser(tmp_path: Path) -> None:
    # Pointing at a passage lights up its counterpart; so does the keyboard's focus; a click goes there.
    a, b = f"one two three {HOSTILE} four five six seven", "four five six seven z one two three"
    made = wrap_page("t", show_side_by_side(a, b, nd.passages(a, b, nd.Shingling(width=3))))
    assert made.count(f"<script>{SCRIPT}</script>") == 1
    probed = re.sub(r"<meta http-equiv[^>]*>", "", made).replace("</body>", f"<script>{PROBE}</script></body>")
    (tmp_path / "page.html").write_text(probed, encoding="utf-8")
    dom, _ = browse(tmp_path / "page.html")
    found = re.search("<title>(.*?)</title>", dom)
    assert found is not None
    assert html.unescape(found[1]) == "a1,again,b1  a2,b2  b2 a1"


@pytest.mark.slow
@pytest.mark.parametrize(("width", "columns"), [(400, 1), (900, 2)])
def test_columns_in_a_browser(tmp_path: Path, width: int, columns: int) -> None:
    # On a narrow screen the columns become one, and nothing is wider than the screen.
    a, b = "one two three four x five six seven " * 9, "one two three four y five six seven " * 9
    made = wrap_page("t", show_side_by_side(a, b, nd.passages(a, b, nd.Shingling(width=3))))
    inner = html.escape(re.sub(r"<meta http-equiv[^>]*>", "", made))
    probe = """
    onload = () => {
      const inside = document.querySelector('iframe').contentDocument, root = inside.documentElement;
      const cells = [...inside.querySelectorAll(".nd-pair td:not(:empty)")];
      const lefts = new Set(cells.map(cell => cell.getBoundingClientRect().left));
      document.title = `${lefts.size} ${root.scrollWidth <= root.clientWidth}`;
    };"""
    outer = f'<title></title><iframe style="width:{width}px;height:900px" srcdoc="{inner}"></iframe><script>{probe}</script>'
    (tmp_path / "page.html").write_text(outer, encoding="utf-8")
    dom, _ = browse(tmp_path / "page.html")
    found = re.search("<title>(.*?)</title>", dom)
    assert found is not None
    assert found[1] == f"{columns} true"
