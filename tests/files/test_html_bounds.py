"""Pages on which a parser would take too long are read without one, counted and listed; see also kernels/test_markup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ndcore.cli.main import main
from ndcore.files import html_text
from ndcore.files.html_text import make_html_reader
from ndcore.text.corpus import SpooledCorpus
from ndcore.text.inputs import Extracted

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
    text = make_html_reader("a", part)(HOSTILE[name], None)
    assert text.by_tags and not text.fell_back
    assert "soup" in text.split() and set(text.split()) <= {"soup", "-->"}


def test_a_lowered_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resiliparse.parse.html", reason="the extra web is not installed")
    monkeypatch.setattr(html_text, "MOST_WORK", -1)
    page = b"<title> Salt &amp;\n pepper</title><p>S<b>ou</b>p &eacute;&#33;&#x3C;<p>&#" + b"9" * 5000 + b"; <i>end"
    text = make_html_reader("a", "main")(page, None)
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
    text = make_html_reader("a", "page")(HOSTILE["nested"], None)
    [[again]] = SpooledCorpus([text]).batches()
    assert isinstance(again, Extracted)
    assert (again, again.by_tags, again.fell_back) == (text, True, False)
