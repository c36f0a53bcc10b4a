"""``ndcore design``: the numbers of the library, both vocabularies, pictures, and refusals with their exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import ndcore as nd
from ndcore.cli.main import main
from ndcore.filters.pass_probability import miss_probability


def run(*arguments: object) -> int:
    return main(["design", *map(str, arguments)])


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """Return the message of a command that fails and prints nothing else."""
    try:
        assert run(*arguments) == code
    except SystemExit as stop:
        assert stop.code == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.out == ""
    return captured.err


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """Return the object that --json prints."""
    assert run(*arguments, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def shape(account: dict[str, Any]) -> tuple[int, int, int]:
    return account["groups"], account["group_size"], account["need"]


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    """Compare every line of AltaVista's filter with the numbers in Broder 2000."""
    assert run("--preset", "altavista") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Filter for pairs at resemblance 0.975 or more in 200,000,000 documents"
    told = {line[2:13].strip(): line[13:23].strip() for line in lines if line.startswith("  ")}
    assert told.items() >= {
        "groups": "6", "group size": "14", "need": "2", "num_perm": "84", "bits": "64", "bytes": "48", "miss": "0.011",
        "half": "0.909", "steepest": "0.931", "inflection": "0.923",
    }.items()  # fmt: skip
    assert "LSH bands" in lines[1] and "LSH rows" in lines[2] and "2 log2(documents) + 20 = 76" in lines[5]
    table = {line.split()[0]: line.split()[1:] for line in lines if line[2:13].strip().startswith("0.")}
    assert table["0.5"] == ["5.59e-08", "1"]
    assert table["0.99"][1] == "0.000208"
    assert table["0.975"] == ["0.989", "0.0107", "<-", "threshold"]
    assert lines[-2:] == [
        "With --filter complete, ndcore dedup looks up 3 of 100 shingles, the rarest, and misses no pair with a resemblance "
        "of at least 0.975.",
        "  It takes 8 bytes a shingle in a temporary file.",
    ]


def test_the_search_is_design_filter(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, expected in [
        ((), nd.design_filter(0.8)),
        (("--threshold", 0.9), nd.design_filter(0.9)),
        (("--threshold", 0.5, "--collection", 1000, "--miss", 0.01), nd.design_filter(0.5, documents=1000, miss=0.01)),
        (("--num-perm", 128), nd.design_filter(0.8, num_perm=128, max_num_perm=128)),
        (("--threshold", 0.975, "--bytes", 48, "--miss", 0.011, "--false-candidates", "0.77:0.01", "--collection",
          200_000_000), nd.ALTAVISTA),
    ]:  # fmt: skip
        found = printed(capsys, *arguments)
        for name in ("groups", "group_size", "need", "num_perm", "threshold", "miss", "collisions", "candidates",
                     "documents"):  # fmt: skip
            assert found[name] == getattr(expected, name), (arguments, name)


def test_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--groups", 20, "--group-size", 5, "--threshold", 0.77)
    design = nd.FilterDesign.of(20, 5, 1, threshold=0.77)
    assert shape(found) == (20, 5, 1) and (found["bands"], found["rows"]) == (20, 5)
    for name in ("half", "steepest", "inflection", "feature_bits", "bytes_per_document", "collisions_per_document",
                 "candidates_per_document", "spurious"):  # fmt: skip
        assert found[name] == getattr(design, name)
    assert found["complete"] == {"threshold": 0.77, "looked_up_of_100": 24, "miss": 0.0, "bytes_per_shingle": 8}
    rows = found["probabilities"]
    assert [row["resemblance"] for row in rows] == [0.1, 0.3, 0.5, 0.6, 0.7, 0.77, 0.8, 0.9, 0.95, 0.975, 0.99]
    for row in rows:
        assert row["candidate"] == design.pass_probability(row["resemblance"])
        assert row["missed"] == miss_probability(row["resemblance"], 20, 5, 1)


def test_given_filters(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(capsys, "--groups", 6, "--group-size", 14, "--need", 3, "--num-perm", 128, "--collection", 10)
    assert shape(found) == (6, 14, 3) and (found["num_perm"], found["documents"], found["threshold"]) == (128, 10, 0.8)
    found = printed(capsys, "--preset", "altavista", "--threshold", 0.8)
    assert shape(found) == (6, 14, 2) and found["miss"] == pytest.approx(0.97, abs=0.005)
    assert found["documents"] == 200_000_000
    assert printed(capsys, "--groups", 1, "--group-size", 1)["inflection"] is None  # P is a straight line


def test_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "curve.svg"
    assert run("--plot", path) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Curve in {path}"
    first = path.read_bytes()
    assert first.startswith(b"<?xml")
    assert "exists already; give another name, or --overwrite" in refused(capsys, 2, "--plot", path, "--threshold", 0.9)
    assert path.read_bytes() == first
    assert run("--plot", path, "--threshold", 0.9, "--overwrite", "--json") == 0
    assert json.loads(capsys.readouterr().out)["threshold"] == 0.9
    assert path.read_bytes() != first


def test_without_matplotlib(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'ndcore[plot]'" in refused(capsys, 1, "--plot", tmp_path / "curve.png")
    assert run("--threshold", 0.9) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--threshold", "80"), "80 is above 1; give a number above 0 and at most 1"),
        (("--miss", "1"), "1 is not below 1; give a number above 0 and below 1"),
        (("--false-candidates", "0.5"), "'0.5' is not RESEMBLANCE:PROBABILITY; write for instance 0.5:0.01"),
        (("--false-candidates", "nan:0.5"), "'nan:0.5' is not"),
        (("--false-candidates", "0.9:0.5"), "must be at least 0 and below threshold=0.8"),
        (("--collection", "0"), "0 is below 1; give a whole number from 1"),
        (("--bytes", "16"), "room for 2 features, which cannot find pairs at threshold=0.8"),
        (("--num-perm", "4"), "num_perm=4 cannot find pairs at threshold=0.8"),
        (("--groups", "6"), "--groups is part of a filter; give --groups and --group-size"),
        (("--need", "2"), "--need is part of a filter"),
        (("--groups", "6", "--group-size", "14", "--need", "7"), "need=7 of groups=6 features can never be shared"),
        (("--groups", "6", "--group-size", "14", "--num-perm", "80"), "raise num_perm to 84"),
        (("--groups", "6", "--group-size", "14", "--bytes", "48"), "--bytes bounds the search for a filter; leave it out"),
        (("--preset", "altavista", "--miss", "0.1"), "--miss bounds the search"),
        (("--preset", "altavista", "--need", "2"), "--preset is a filter, and --need is part of another"),
        (("--preset", "google"), "'google' is none of altavista"),
        (("--plot", "curve.jpg"), "curve.jpg: pictures are written as .png, .svg, .pdf"),
        (("--plot", "no/such/folder/curve.png"), "there is no directory"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in refused(capsys, 2, *arguments)
