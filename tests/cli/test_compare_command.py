"""``ndcore compare``: verdicts, figures, the two columns, JSON, pages, refusals."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import Tree
from commands import RUN, jsonl, refused, run, text

import ndcore as nd

ROWS = [{"id": "a", "text": text(1)}, {"id": 4, "text": text(1).upper() + "!"}, {"id": "c", "text": text(2)}]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "c.jsonl"
    path.write_bytes(jsonl(ROWS))
    return path


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def write(tmp_path: Path, a: str | bytes, b: str | bytes) -> tuple[Path, Path]:
    paths = tmp_path / "a.txt", tmp_path / "b.txt"
    for path, document in zip(paths, (a, b), strict=True):
        path.write_bytes(document.encode() if isinstance(document, str) else document)
    return paths


def as_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run("compare", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


# ---- the terminal


def test_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = text(2), text(2, 2)
    assert run("compare", *write(tmp_path, a, b), "--threshold", 0.5) == 0
    report = capsys.readouterr().out
    assert "Verdict: near-duplicates (threshold 0.5)" in report
    minima, bottom = nd.MinHasher().sketch_many([a, b]), nd.BottomSketcher().sketch_many([a, b])
    low, high = minima.interval(0, 1)
    exact = nd.resemblance(a, b)
    lines = [line.split() for line in report.splitlines()]
    [resemblance] = [line for line in lines if line[:1] == ["resemblance"]]
    assert resemblance[1:4] == [f"{exact:.4f}", f"{minima.resemblance(0, 1):.3f}", f"({low:.2f}-{high:.2f})"]
    assert resemblance[4:] == [f"{exact:.4f}", "exactly"] * 2  # bottom and adaptive sketches hold the whole sets
    for name, pair, order in ((["A", "in", "B"], (a, b), (0, 1)), (["B", "in", "A"], (b, a), (1, 0))):
        [contained] = [line for line in lines if line[:3] == name and len(line) > 9]
        assert contained[3:5] == [f"{nd.containment(*pair):.4f}", f"{minima.containment(*order):.3f}"]
        assert contained[6:] == [f"{bottom.containment(*order):.4f}", "exactly"] * 2


def test_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = "Seven wizards quietly boil soup today. Old news here: one two three four five!"
    b = "one, two, three, four five -- and seven wizards\nQUIETLY boil soup today; seven wizards quietly boil"
    assert run("compare", *write(tmp_path, a, b), "--width", 4) == 0
    table = capsys.readouterr().out.partition("again: repeated\n")[2]
    assert table.splitlines() == [
        " " * 50 + " [2] (moved) one, two, three, four five",
        " " * 50 + "   + and",
        " [1] Seven wizards quietly boil soup today         [1] seven wizards QUIETLY boil soup today",
        "   - Old news here                                 [1] (again) seven wizards quietly boil",
        " [2] (moved) one two three four five",
    ]
    assert not any(line.endswith(" ") for line in table.splitlines())


def test_equal_words_beside_a_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One changed word breaks the only shingle of five words: the four words beside it are marked as equal."""
    paths = write(tmp_path, "The tenant shall pay Monday", "the tenant shall pay Tuesday")
    assert run("compare", *paths, "--report", tmp_path / "page.html") == 0
    Tree((tmp_path / "page.html").read_text("utf-8"))
    capsys.readouterr()
    assert run("compare", *paths) == 0
    out = capsys.readouterr().out
    assert "0 of 2 shingles are in both" in out
    assert out.partition("again: repeated\n")[2].splitlines() == [
        f"{'   = The tenant shall pay':50}   = the tenant shall pay", f"{'   - Monday':50}   + Tuesday",
    ]
    found = as_json(capsys, *paths)
    for side, words in (("a", ("The tenant shall pay", "Monday")), ("b", ("the tenant shall pay", "Tuesday"))):
        assert [(p["text"], p["number"], p["short"]) for p in found[side]["passages"]] == [
            (words[0], 1, True), (words[1], 0, False),
        ]


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (text(1), text(1), "identical: the same text, character for character"),
        (text(1), text(1).upper(), "lexically equivalent"),
        ("a b c a b c a b", "a b c a b c a b c", "shingle-equivalent"),
        (text(1), text(2), "not near-duplicates"),
        (text(1), f"{text(1)} {text(2)}", "not near-duplicates, but A is contained in B"),
        (f"{text(1)} {text(2)}", text(2), "not near-duplicates, but B is contained in A"),
        (text(1), text(1, 3), "not near-duplicates, but each is contained in the other"),  # 30 of 37, and 30 of 44
        ("...", text(2), "cannot be compared: A has no shingles"),
        ("...", "!!", "cannot be compared: A and B have no shingles"),
        ("...", "...", "identical: the same text, character for character"),
        ("", "", "identical: the same text, character for character"),
    ],
)
def test_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str], a: str, b: str, verdict: str) -> None:
    paths = write(tmp_path, a, b)
    assert run("compare", *paths, "--width", 3) == 0
    assert f"Verdict: {verdict}" in capsys.readouterr().out
    assert run("compare", *paths, "--width", 3, "--report", tmp_path / "page.html") == 0
    assert capsys.readouterr().out.lower().startswith(verdict.lower())
    Tree((tmp_path / "page.html").read_text("utf-8"))
    found = as_json(capsys, *paths, "--width", 3)
    assert (found["resemblance"] is None) == ("..." in (a, b) or a == "")


def test_files_of_other_bytes_are_the_same_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in UTF-16 is not equal to one in UTF-8 byte for byte; with --unit byte the bytes are compared."""
    paths = write(tmp_path, "one two three".encode("utf-16"), "one two three")
    for unit, told in (("word", "identical: the same text, character for character"), ("byte", "not near-duplicates")):
        assert run("compare", *paths, "--unit", unit, "--width", 3) == 0
        assert f"Verdict: {told}" in capsys.readouterr().out
        assert run("dedup", *paths, "-o", tmp_path / unit, "--unit", unit) == 0
        out = capsys.readouterr().out
        assert "byte for byte" not in out and f"identical  {int(unit == 'word')}  dropped: the same text" in out
    assert run("compare", paths[1], paths[1], "--unit", "byte") == 0
    assert "Verdict: identical: the same text, byte for byte" in capsys.readouterr().out


@pytest.mark.parametrize("unit", ["char", "grapheme", "byte", "line", "sentence"])
def test_units(tmp_path: Path, capsys: pytest.CaptureFixture[str], unit: str) -> None:
    paths = write(tmp_path, "one\ntwo\nthree é\nfour\n", "one\ntwo\nthree é\nfive\n")
    assert run("compare", *paths, "--unit", unit, "--width", 2) == 0
    assert "three é" in capsys.readouterr().out
    found = as_json(capsys, *paths, "--unit", unit, "--width", 2)
    assert found["shingling"]["unit"] == unit
    assert found["a"]["passages"][0]["text"].startswith("one\ntwo\nthree é")


def test_labelled_and_normalized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write(tmp_path, "a b a b a b", "a b ａ b")
    plain = as_json(capsys, *paths, "--width", 2, "--normalize", "NFKC")
    assert plain["resemblance"] == 1
    labelled = as_json(capsys, *paths, "--width", 2, "--normalize", "NFKC", "--labelled")
    assert labelled["resemblance"] == 3 / 5
    assert labelled["shingling"]["labelled"] is True
    assert labelled["shingling"]["recipe"] == nd.Shingling(width=2, normalize="NFKC", labelled=True).recipe.id


def test_long_documents_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [" ".join(f"w{i}x{j}" for j in range(60)) for i in range(60)]
    paths = write(tmp_path, " old ".join(parts), " new ".join(parts))
    assert run("compare", *paths) == 0
    report = capsys.readouterr().out
    assert report.endswith("and 158 more passages: --all shows everything, --report FILE and --json have it too\n")
    assert re.search(r"\.\.\. \d+\s+characters\s+\.\.\.", report)
    assert run("compare", *paths, "--all") == 0
    report = capsys.readouterr().out
    assert "more passages" not in report
    assert "characters ..." not in report
    assert all(report.count(f"w{i}x30 ") + report.count(f"w{i}x30\n") == 2 for i in range(60))


def test_nothing_that_a_terminal_obeys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[31mred\x1b[0m [bold]one[/bold] :smile: \u202etwo\x07 \r three"
    assert run("compare", *write(tmp_path, hostile.encode() + b"\xff", hostile + " four"), "--width", 2,
               "--encoding", "utf-8") == 0
    report = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in report)
    shown = ("31mred\\x1b[0m", "[bold]one[/bold]", ":smile:", "\\u202etwo\\x07")
    assert all(report.count(part) == 2 for part in shown)


def test_colours_on_a_terminal_only(tmp_path: Path) -> None:
    paths = write(tmp_path, "one two three x", "one two three y")
    command = [*RUN, "compare", *map(str, paths), "--width", "3"]
    plain = subprocess.run(command, capture_output=True, check=True, text=True, env={**os.environ, "COLUMNS": "80"})
    assert "\x1b" not in plain.stdout
    assert max(map(len, plain.stdout.splitlines())) <= 80
    forced = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}
    coloured = subprocess.run(command, capture_output=True, check=True, text=True, env=forced)
    assert "\x1b[36m" in coloured.stdout
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured.stdout).split() == plain.stdout.split()


def test_without_rich(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write(tmp_path, "one", "two")
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert "needs rich: pip install 'ndcore[cli]'; --json and --report do without" in refused(capsys, 1, "compare", *paths)
    assert as_json(capsys, *paths)["verdict"] == "different"


# ---- JSON and HTML


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = "é one two three four", b"one two three \xff five"
    found = as_json(capsys, *write(tmp_path, a, b), "--width", 3, "--threshold", 0.25, "--encoding", "utf-8")
    assert list(found) == [
        "verdict", "threshold", "resemblance", "containment", "shared_shingles", "estimates", "shingling", "a", "b",
    ]
    assert found["verdict"] == "near"
    assert found["resemblance"] == 0.25
    assert found["containment"] == {"a": 1 / 3, "b": 1 / 2}
    assert found["shared_shingles"] == 1
    assert [estimate["sketch"] for estimate in found["estimates"]] == ["84 minima", "200 smallest", "adaptive sample"]
    assert found["estimates"][0]["recipe"] == nd.MinHasher(shingling=nd.Shingling(width=3)).sketch_many([a]).recipe.id
    for whole in found["estimates"][1:]:  # so small sets are kept whole
        assert whole["containment"] == [1 / 3, 1 / 2]
        assert whole["containment_intervals"] == [[1 / 3, 1 / 3], [1 / 2, 1 / 2]]
    for side, document in (("a", a.encode()), ("b", b)):
        assert found[side]["length"] == len(document)
        assert found[side]["length_unit"] == "byte"
        for p in found[side]["passages"]:
            assert p["text"] == document[p["start"] : p["end"]].decode("utf-8", "backslashreplace")
    assert [(p["text"], p["number"], p["repeat"]) for p in found["a"]["passages"]] == [
        ("é", 0, False), ("one two three", 1, False), ("four", 0, False),
    ]


def test_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = b"one two three </table><script>alert(1)</script> \xe2\x80\xae \x07 \xff"
    a, b = write(tmp_path, hostile, b"zero one two three")
    (tmp_path / "<b>.txt").write_bytes(b"zero one two three")
    out = tmp_path / "page.html"
    assert run("compare", a, tmp_path / "<b>.txt", "--width", 3, "--encoding", "utf-8", "--report", out) == 0
    assert capsys.readouterr().out.endswith("page.html\n")
    source = out.read_text("utf-8")
    tree = Tree(source)
    assert [tag for tag, _ in tree.elements].count("script") == 1
    assert {"a1", "b1"} <= set(tree.values("id"))
    assert {"#a1", "#b1"} == set(tree.values("href"))
    content = "".join(tree.text)
    assert all(code in content for code in ("U+202E", "U+0007", "\\xFF", "alert(1)", "<b>.txt"))
    assert f"{nd.resemblance(hostile, b'zero one two three', nd.Shingling(width=3)):.4f}" in content
    assert run("compare", a, b, "--width", 3, "--encoding", "utf-8", "--report", out,
               "--overwrite", "--json") == 0
    assert json.loads(capsys.readouterr().out)["shared_shingles"] == 1
    assert "<b>" not in "".join(Tree(out.read_text("utf-8")).text)


# ---- inputs


def test_records(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", f"{corpus}#a", f"{corpus}#4") == 0
    assert "lexically equivalent" in capsys.readouterr().out
    message = refused(capsys, 1, "compare", f"{corpus}#a", f"{corpus}#z")
    assert "no record has the id 'z'; ids are like a, 4, c" in message
    assert "holds many documents" in refused(capsys, 2, "compare", corpus, corpus)
    corpus.write_bytes(jsonl([*ROWS, {"text": text(1)}]))
    assert run("compare", f"{corpus}:1", f"{corpus}:4", "--id-field", "id") == 0  # a line needs no id


def test_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _, b = write(tmp_path, "", text(1))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text(1).encode())))
    assert as_json(capsys, "-", b)["verdict"] == "identical"
    assert "can be read once" in refused(capsys, 2, "compare", "-", "-")


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = write(tmp_path, "a", b"one two\0")
    assert "no such file" in refused(capsys, 1, "compare", tmp_path / "x", tmp_path / "y")
    assert "is a directory; name one document" in refused(capsys, 1, "compare", tmp_path, tmp_path)
    message = refused(capsys, 1, "compare", a, b)
    assert message.startswith(f"{b}: not text: NUL bytes, or many other control")
    assert as_json(capsys, a, b, "--unit", "byte", "--width", 1)["shared_shingles"] == 0
    assert "normalize='NFKC' is for the units word, char, grapheme" in refused(
        capsys, 2, "compare", a, a, "--unit", "line", "--normalize", "NFKC"
    )
    assert "width must be 1 to 65536" in refused(capsys, 2, "compare", a, a, "--width", 1 << 17)
    assert "is a directory; name a file" in refused(capsys, 2, "compare", a, a, "--report", tmp_path)
    assert "make it first" in refused(capsys, 2, "compare", a, a, "--report", tmp_path / "no" / "page.html")
    assert "exists already" in refused(capsys, 2, "compare", a, a, "--report", a)
    assert a.read_bytes() == b"a"
