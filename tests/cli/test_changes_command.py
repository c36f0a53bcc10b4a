"""``ndcore changes``: what is told of the captures of pages, in words, in JSON and on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from webarchives import LOREM, html, http, run, save, warc

from ndcore.store.store import Store

pytest.importorskip("resiliparse", reason="the extra web is not installed")

TEXT, OTHER = " ".join(LOREM), "quite another text with other words in it than before"


def capture(day: int, text: str, url: str = "a", status: str = "200 OK") -> bytes:
    return warc("response", http(html(text), status=status), f"http://example.org/{url}",
                WARC_Date=f"2024-05-{day:02}T10:00:00Z", Content_Type="application/http; msgtype=response")


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    """Write captures of one page that changed in every way, and of one that did not."""
    folder = tmp_path / "archives"
    folder.mkdir()
    save(folder / "2.warc.gz", [
        capture(5, OTHER), capture(6, "x", status="404 Not Found"), capture(7, OTHER), capture(3, TEXT.upper()),
    ], "gz")
    save(folder / "1.warc.gz", [capture(1, TEXT), capture(2, TEXT), capture(4, TEXT + " more"), capture(1, TEXT, "b")], "gz")
    return folder


def tell(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert run("changes", *arguments, "--json", "-q") == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_every_change_in_json(archives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = tell(capsys, archives)
    first, second = told["pages"]
    assert first["url"] == "http://example.org/a"
    assert [(each["date"][8:10], each["change"]) for each in first["captures"]] == [
        ("01", "first"), ("02", "unchanged"), ("03", "lexical"), ("04", "near"), ("05", "other"), ("06", "gone"),
        ("07", "unchanged")]
    assert [each["same_bytes"] for each in first["captures"]] == [None, True, False, False, False, None, True]
    shingles = len(LOREM) - 4
    assert first["captures"][3]["resemblance"] == shingles / (shingles + 1)
    assert first["captures"][2] | {"file": 0} == {
        "date": "2024-05-03T10:00:00Z", "change": "lexical", "resemblance": 1.0, "same_bytes": False, "revisit": False,
        "file": 0, "line": 4}
    assert first["changes"] == 2 and [each["change"] for each in second["captures"]] == ["first"]
    assert told["counts"] == {
        "pages": 2, "captures": 8, "first": 2, "unchanged": 2, "lexical": 1, "near": 1, "other": 1, "gone": 1, "unknown": 0,
        "same_bytes": 2, "revisits": 0, "rejected": 0}
    assert (told["first"], told["last"]) == ("2024-05-01T10:00:00Z", "2024-05-07T10:00:00Z")


def test_a_store_that_saw_the_same_pages_agrees(archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("zstandard", reason="the extra store is not installed")
    told = tell(capsys, archives)["pages"][0]["captures"]
    texts = {1: TEXT, 2: TEXT, 3: TEXT.upper(), 4: TEXT + " more", 5: OTHER}
    with Store.open(tmp_path / "store") as store:
        for day in range(1, 8):
            if day == 6:
                store.mark_gone("a", f"2024-05-{day:02}")
            else:
                store.decide("a", texts[min(day, 5)], f"2024-05-{day:02}")
        history = store.history("a")
    assert [(version.change or "first", version.resemblance) for version in history] == [
        (each["change"], each["resemblance"]) for each in told]


def test_the_text(archives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("changes", archives) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "8 captures of 2 pages, 2024-05-01 to 2024-05-07; near: a resemblance of 0.8 or more"
    assert "  near       1  another text, with a resemblance at or above the threshold" in lines
    assert "       2 of 7  http://example.org/a" in lines


def test_threshold_and_shingles_decide(archives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(capsys, archives, "--threshold", "0.99")["counts"]["near"] == 0
    told = tell(capsys, archives, "--width", "1", "--threshold", "0.99")
    assert told["parameters"]["width"] == 1 and told["counts"]["other"] == 2


def test_the_page(archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    assert run("changes", archives, "--report", path, "-q") == 0
    source = path.read_text()
    assert source.count('<a href="#day-2024-05-') == 7
    assert "2024-05-02: 1 capture, 0 of 1 changed, by 0% on average" in source
    assert "near, resemblance 0.9" in source
    again = tmp_path / "again.html"
    assert run("changes", archives, "--report", again, "-q") == 0
    assert again.read_text() == source
    assert run("changes", archives, "--report", path, "-q") == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "code", "reason"), [
    (["{folder}/notes.txt"], 2, "notes.txt is neither a web archive (.warc, .arc) nor an index of them"),
    (["{folder}", "--text-field", "body"], 2, "--text-field does nothing here"),
    (["{folder}/texts"], 1, "no documents among 1 path"),
    (["{folder}/empty.warc"], 1, "no captures of pages"),
    (["{folder}", "--threshold", "0"], 2, "not above 0"),
])
def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, reason: str) -> None:
    (tmp_path / "notes.txt").write_text("words")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "notes.txt").write_text("words")
    save(tmp_path / "empty.warc", [capture(1, "x", status="404 Not Found")])
    try:
        assert run("changes", *(argument.format(folder=tmp_path) for argument in arguments)) == code
    except SystemExit as error:
        assert error.code == code
    assert reason in capsys.readouterr().err


def test_errors_are_skipped_and_listed(archives: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (archives / "1.warc.gz").open("ab") as file:
        file.write(b"\x1f\x8bdamaged")
    assert run("changes", archives, "-q") == 1
    assert "1.warc.gz" in capsys.readouterr().err
    told = tell(capsys, archives, "--on-error", "skip")
    assert told["counts"]["rejected"] == 1 and told["counts"]["captures"] == 8
