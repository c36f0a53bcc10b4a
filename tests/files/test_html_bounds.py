"""Pages on which a parser would take too long: they are told by their tags, read without a parser, counted and listed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ndcore._markup import parsing_work, text_between_tags
from ndcore.cli.main import main
from ndcore.files import html_text
from ndcore.files.html_text import MOST_WORK, html_reader
from ndcore.text.corpus import SpooledCorpus
from ndcore.text.inputs import Extracted

ENDLESS = 1 << 62
HOSTILE = {
    "nested": "<div>" * 16_000 + "soup",
    "closed": "<div>" * 16_000 + "soup" + "</div>" * 16_000,
    "attributes": "<p " + " ".join(f"a{i}=1" for i in range(40_000)) + ">soup</p>",
    "attributes of bodies": "".join(f"<body a{i}>" for i in range(40_000)) + "soup",
    "misnested": "<a><b><font>" * 16_000 + "soup",
    "reopened": "".join(f"<p><font a={i}>" for i in range(4_000)) + "soup",
    "stray ends": "<div>" * 10_000 + "</x>" * 10_000 + "soup",
    "ends in comments": "<div><!--</div>-->" * 16_000 + "soup",
    "ends in attributes": "<div a='</div>'>" * 16_000 + "soup",
    "ends in titles of drawings": "<div><svg><title><p a='</div>'></title></svg>" * 16_000 + "soup",
    "ends in scripts": "<div><script><!--<script></script></div>--></script>" * 16_000 + "soup",
    "blocks in formats": "<b><div></b>" * 16_000 + "soup",
    "items in spans": "<span><li></span><span><dd></span>" * 16_000 + "soup",
    "void names in drawings": "<svg>" + "<input>" * 16_000 + "soup",
    "options": "<select>" + "<option>soup" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("part", ["page", "main"])
def test_no_parser_sees_a_hostile_page(monkeypatch: pytest.MonkeyPatch, name: str, part: str) -> None:
    pytest.importorskip("resiliparse.parse.html", reason="the extra web is not installed")
    monkeypatch.setattr("resiliparse.parse.html.HTMLTree", None)
    text = html_reader("a", part)(HOSTILE[name], None)
    assert text.by_tags and not text.fell_back
    assert "soup" in text.split() and set(text.split()) <= {"soup", "-->"}


@pytest.mark.parametrize(
    "page",
    [
        "<div><p>one <a href='/x'>two</a></p></div>" * 200_000,
        "<ul>" + "<li>one<li>two" * 100_000 + "</ul>",
        "<p>one<p>two" * 100_000,
        "<table>" + "<tr><td>one<td>two" * 100_000 + "</table>",
        "<dl>" + "<dt>one<dd><p>two" * 100_000 + "</dl>",
        "<svg viewBox='0 0 1 1'><title>one</title><g><path d='M0'/><path d='M1'/></g></svg>" * 100_000,
        "<math><mrow><mi>x</mi><mo>=</mo><mspace/></mrow></math><br><img>" * 100_000,
        "<script>'<div><b>'</script><style>a > b {}</style><textarea><div></textarea><!-- <div> --><br/>" * 100_000,
        "<select><option>one<option>two</select>" * 100_000,
        "one < two " * 100_000,
        "",
    ],
)
def test_long_flat_pages_have_no_work(page: str) -> None:
    assert parsing_work(page.encode(), ENDLESS) == 0


def test_the_work_of_nested_elements() -> None:
    """Check against sums written down: the k-th tag meets k - 1 open elements, of which 64 cost nothing."""
    n = 1000
    assert parsing_work(b"<div>" * n, ENDLESS) == sum(max(0, k - 64) for k in range(n))
    assert parsing_work(b"<a><b>" * n, ENDLESS) == sum(max(0, k - 64) for k in range(2 * n))  # three <b> are opened again
    fonts = b"".join(b"<font a=%d>" % k for k in range(n))
    assert parsing_work(fonts, ENDLESS) == sum(max(0, k - 64) + 40 * max(0, k - 4) for k in range(n))
    assert parsing_work(b"<p" + b" a" * n + b">", ENDLESS) == n * n // 16
    assert parsing_work(b"<p" + b" a" * 256 + b">", ENDLESS) == 0


def test_counting_ends_at_the_bound() -> None:
    assert MOST_WORK < parsing_work(b"<div>" * 1_000_000, MOST_WORK) < MOST_WORK + 1_000_000


def test_any_bytes_are_read_to_their_end() -> None:
    pieces = [b"<", b">", b"/", b"=", b"'", b'"', b"<!--", b"-->", b"--!>", b"<p", b"</p", b"<svg", b"</svg>", b"<title>",
              b" ", b"<script>", b"</script", b"<select>", b"<![CDATA[", b"x", b"<plaintext>", b"<b>", b"</b>",
              b"<li>", b"\x00", b"<?"]
    generator = random.Random(1)
    for _ in range(3000):
        page = b"".join(generator.choices(pieces, k=generator.randrange(40)))
        assert parsing_work(page, ENDLESS) >= 0
        text, title = text_between_tags(page)
        assert len(text) <= len(page) and title in page


def test_the_text_between_tags() -> None:
    page = (
        b"<!DOCTYPE html><title> Salt &amp;\n pepper</title><style>p {}</style><script>'<p>'</script><p title='a > b'>"
        b"S<b>ou</b>p &eacute;&#33;<!-- <p>no</p> --> 1 < 2<br>more<textarea><i>typed</i></textarea><title>other</title>"
    )
    text, title = text_between_tags(page)
    assert text.split() == b"Soup &eacute;&#33; 1 < 2 more <i>typed</i>".split()
    assert b"2\nmore" in text
    assert title == b" Salt &amp;\n pepper"


def test_a_lowered_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resiliparse.parse.html", reason="the extra web is not installed")
    monkeypatch.setattr(html_text, "MOST_WORK", -1)
    page = b"<title> Salt &amp;\n pepper</title><p>S<b>ou</b>p &eacute;&#33;&#x3C;<p>&#" + b"9" * 5000 + b"; <i>end"
    text = html_reader("a", "main")(page, None)
    assert text.split() == ["Soup", "\u00e9!<", "\ufffd", "end"]
    assert (text.page_title, text.by_tags, text.original) == ("Salt & pepper", True, page)


def test_such_pages_are_counted_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("resiliparse.parse.html", reason="the extra web is not installed")
    pages = ["<p>one two three four</p>", "<div>" * 16_000 + "five six seven", "<p>one two three four</p>"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": f"p{i}", "text": x}) + "\n" for i, x in enumerate(pages)))
    listed = [{"id": "p1", "file": str(tmp_path / "in.jsonl"), "line": 2}]
    told = "1 page too deeply nested for a parser, or with too many attributes, compared by the text between the tags"
    html = ["--html", "main"]
    source = str(tmp_path / "in.jsonl")

    def run(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    out = run("dedup", source, "-o", str(tmp_path / "out"), *html)
    summary: dict[str, Any] = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["pages_by_tags"] == listed and told in out
    assert told in run("sketch", source, "-o", str(tmp_path / "s.nds"), *html)
    assert told in run("cluster", source, "-o", str(tmp_path / "c.ndc"), *html)
    assert json.loads(run("repeats", source, "-o", str(tmp_path / "r"), "--json", *html))["pages_by_tags"] == listed


def test_a_corpus_keeps_how_a_page_was_read() -> None:
    pytest.importorskip("resiliparse.parse.html", reason="the extra web is not installed")
    text = html_reader("a", "page")(HOSTILE["nested"], None)
    [[again]] = SpooledCorpus([text]).batches()
    assert isinstance(again, Extracted)
    assert (again, again.by_tags, again.fell_back) == (text, True, False)
