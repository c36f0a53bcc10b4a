"""``ndcore dedup`` refuses, before it reads anything, options and inputs that do not go together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import jsonl, refused, run, text

from ndcore.choices import AGREEMENTS


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(jsonl([{"id": i, "text": text(i)} for i in range(1, 6)]))
    return path


@pytest.mark.parametrize(("options", "message"), [
    (["--filter", "exact"], "'exact' is none of auto, lsh, complete"),
    (["--drop", "similar"], "'similar' is none of resembling, contained"),
    (["--must-agree", "number"], f"none of {', '.join(AGREEMENTS)}; did you mean numbers?"),
    (["--min-shingles", "-1"], "-1 is below 0; give a whole number from 0"),
    (["--drop-common", "1"], "1 is not below 1; give a number above 0 and below 1"),
    (["--drop-common", "0"], "0 is not above 0; give a number above 0 and below 1"),
    (["--drop", "contained", "--clustering", "greedy"], "--drop contained needs --clustering star, got 'greedy'"),
    (["--drop", "contained", "--filter", "lsh"], "--drop contained needs --filter auto or 'complete': LSH finds documents"),
    (["--max-lost", "3", "--reassign"], "--max-lost 3 needs --clustering star without reassign, got --reassign:"),
    (["--max-lost", "3", "--clustering", "greedy"], "without reassign, got --clustering greedy: it is checked"),
])
def test_refusals(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    for more in ((), ("--dry-run",)):
        assert message in refused(capsys, 2, "dedup", corpus, "-o", tmp_path / "out", *options, *more)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [
    ["--filter", "complete"], ["--drop", "contained"], ["--must-agree", "title"], ["--min-shingles", "5"],
    ["--drop-common", "0.1"], ["--lost"],
], ids=" ".join)
def test_sketches_do_not_hold_shingles(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    saved = tmp_path / "s.nds"
    assert run("sketch", corpus, "-o", saved, "-q") == 0
    for inputs in ((saved,), (corpus, "--against", saved)):
        message = refused(capsys, 2, "dedup", *inputs, "-o", tmp_path / "out", *options)
        assert message.startswith(" ".join(options) if options[0] in ("--filter", "--drop") else options[0])
        assert f"needs the texts; {saved} holds sketches, not the shingles: name the documents instead" in message
    assert not (tmp_path / "out").exists()


def test_sketches_can_be_reassigned(corpus: Path, tmp_path: Path) -> None:
    assert run("sketch", corpus, "-o", tmp_path / "s.nds", "-q") == 0
    assert run("dedup", tmp_path / "s.nds", "-o", tmp_path / "out", "--reassign", "-q") == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["complete_filter"] is None
