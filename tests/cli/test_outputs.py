"""The one check of the path of an output, and that every command makes it."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ndcore.cli.main import main
from ndcore.cli.outputs import NamedDocuments
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.outputs import OutputFile, check_output
from ndcore.storage.staging import Staging


def refusal(path: object, what: str = "index", **how: object) -> str:
    with pytest.raises(UsageError) as error:
        check_output(str(path), what, **how)  # type: ignore[arg-type]
    return str(error.value)


def ours(place: Path) -> bool:
    return place.read_bytes().startswith(b"ours")


def test_a_new_file(tmp_path: Path) -> None:
    check_output(str(tmp_path / "new"), "index")
    check_output(str(tmp_path / "new"), "index", overwrite=True, ours=ours, inputs=[str(tmp_path / "other"), "-"])
    assert "an index cannot be written to standard output; name a file" in refusal("-")
    assert "a collection cannot be written to standard output; name a directory" in refusal("-", "collection", folder=True)
    assert "make it first" in refusal(tmp_path / "no" / "new")
    assert refusal("", folder=True, overwrite=True) == "the output has an empty name; name a directory"


def test_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"ours")
    (tmp_path / "precious").write_bytes(b"theirs")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("mine", "precious", "dangling"):
        assert "exists already; give another name, or --overwrite" in refusal(tmp_path / name, ours=ours)
    check_output(str(tmp_path / "mine"), "index", overwrite=True, ours=ours)
    check_output(str(tmp_path / "precious"), "picture", overwrite=True)
    assert "is not an index; --overwrite replaces nothing else" in refusal(tmp_path / "precious", overwrite=True, ours=ours)
    assert "is a directory; name a file" in refusal(tmp_path, overwrite=True)


def test_folders(tmp_path: Path) -> None:
    def never(place: Path) -> bool:
        return False

    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "full")
    check_output(str(tmp_path / "empty"), "output", folder=True, overwrite=True, ours=never)
    assert "is not a directory" in refusal(tmp_path / "file", folder=True, overwrite=True)
    assert "is not a directory" in refusal(tmp_path / "link", folder=True, overwrite=True)
    assert "is not an output" in refusal(tmp_path / "full", "output", folder=True, overwrite=True, ours=never)
    assert "exists already" in refusal(tmp_path / "empty", folder=True)


def test_an_output_in_an_input(tmp_path: Path) -> None:
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for place in (tmp_path / "in" / "below" / "new", tmp_path / "link" / "new"):
        assert "lies in the input" in refusal(place, inputs=[str(tmp_path / "in")])


def test_links_in_a_circle(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    assert "exists already" in refusal(circle)
    assert "exists and is not a directory" in refusal(circle, folder=True, overwrite=True)
    assert "there is no directory" in refusal(circle / "new")
    check_output(str(tmp_path / "new"), "index", inputs=[str(circle)])


@pytest.mark.parametrize(
    "words",
    [
        ["sketch", "t.jsonl", "-o"], ["sketch", "t.jsonl", "--kind", "simhash", "-o", "x.nds", "--learn"],
        ["cluster", "t.jsonl", "-o"], ["cluster", "t.jsonl", "-o", "x.ndc", "--report"], ["hamming", "build", "f.txt", "-o"],
        ["dedup", "t.jsonl", "-o", "out", "--report"], ["compare", "a.txt", "a.txt", "--report"], ["design", "--plot"],
    ],
    ids=" ".join,
)
def test_outputs_that_cannot_be_printed(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (("t.jsonl", '{"text": "a b c d e f"}\n'), ("a.txt", "a b c d e f"), ("f.txt", "1\n2\n")):
        Path(name).write_text(content)
    before = sorted(Path().iterdir())
    assert main([*words, "-"]) == 2
    assert "cannot be written to standard output; name a" in capsys.readouterr().err
    assert sorted(Path().iterdir()) == before
    assert main([*words, "nowhere/x.svg"]) == 2
    assert "there is no directory" in capsys.readouterr().err
    assert sorted(Path().iterdir()) == before


def test_a_report_is_not_written_to_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"text": "one two"}\n')
    for output in ("-", "out"):
        assert main(["dedup", "a.jsonl", "-o", output, "--report", "-"]) == 2
        assert "a page of ndcore cannot be written to standard output" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "option"), [
    (["dedup", "a.jsonl", "-o", "out"], "--report"), (["cluster", "a.jsonl", "-o", "out"], "--report"),
    (["contamination", "a.jsonl", "--in", "b.jsonl", "-o", "out", "--min-tokens", "2"], "--report"),
    (["sources", "a.jsonl:1", "--in", "b.jsonl", "--min-tokens", "2"], "--report"),
    (["compare", "a.jsonl:1", "b.jsonl:1"], "--report"), (["design"], "--plot"),
], ids=lambda value: value[0])
def test_one_job_writes_a_page_or_picture_and_replaces_what_it_was_shown(
    words: list[str], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refuse a second job; leave a file that another job made meanwhile, and an old one where writing fails."""
    pytest.importorskip("fcntl")
    if option == "--plot":
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text(json.dumps({"text": f"one two three {name}"}) + "\n")
    page = Path("page.svg" if option == "--plot" else "page.html")
    with Staging(page):
        assert main([*words, option, str(page)]) == 1
    assert "another job writes this output" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]
    begun = OutputFile.making

    def of_another_job(file: OutputFile, need: int = 0) -> object:
        if file.path == str(page):
            page.write_text("of another job")
        return begun(file, need)

    with monkeypatch.context() as patch:
        patch.setattr(OutputFile, "making", of_another_job)
        assert main([*words, option, str(page)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert page.read_text() == "of another job"
    shutil.rmtree("out", ignore_errors=True)
    page.unlink()
    assert main([*words, option, str(page)]) == 0
    before = page.read_bytes()

    @contextlib.contextmanager
    def failing(file: OutputFile, need: int = 0) -> Iterator[Path]:
        with begun(file, need) as new:
            new.write_text("half a p")
            raise KeyboardInterrupt

    monkeypatch.setattr(OutputFile, "making", failing)
    assert main([*words, option, str(page), "--overwrite"]) == 130
    assert page.read_bytes() == before and not [*tmp_path.glob(".*")]


@pytest.mark.parametrize(("words", "options"), [
    (["dedup", "a.jsonl", "-o", "out"], ["--report", "page.html", "--table", "t.csv", "--pairs", "p.csv"]),
    (["dedup", "a.jsonl", "-o", "-"], ["--report", "page.html", "--table", "t.csv"]),
    (["cluster", "a.jsonl", "-o", "out"], ["--report", "page.html"]),
    (["contamination", "a.jsonl", "--in", "b.jsonl", "-o", "out", "--min-tokens", "2"], ["--report", "page.html"]),
    (["repeats", "a.jsonl", "-o", "out", "--min-tokens", "2"], ["--table", "t.csv"]),
], ids=lambda value: " ".join(value[:1]))
def test_the_outputs_of_a_command_get_their_names_together(
    words: list[str], options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let the last output fail to get its name: the other ones stay as they were, too."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text(json.dumps({"text": f"one two three one two {name}"}) + "\n")

    def outputs() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in tmp_path.rglob("*")
                if path.is_file() and path.suffix != ".lock" and ".unfinished" not in str(path)}

    assert main([*words, *options, "-q"]) == 0
    before = outputs()
    Path("a.jsonl").write_text('{"text": "one two three four one two"}\n{"text": "one two five three one two"}\n')
    before[tmp_path / "a.jsonl"] = Path("a.jsonl").read_bytes()
    main_one = next((name for name in ("out", "page.html") if name in words + options), "")
    take = Staging._take_name

    def fail(job: Staging) -> None:
        if job.target.name == main_one:
            raise OSError(5, "Input/output error")
        take(job)

    with monkeypatch.context() as patch:
        patch.setattr(Staging, "_take_name", fail)
        assert main([*words, *options, "-q", "--overwrite"]) == 1
    assert outputs() == before
    assert main([*words, *options, "-q", "--overwrite"]) == 0
    after = outputs()
    assert all(after[path] != before[path] for path in before if path.name in ("summary.json", "page.html", "t.csv"))


def test_overwrite_says_that_tables_carry_no_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"text": "one two"}\n')
    for name in ("t.csv", "page.html"):
        Path(name).write_text("of somebody else")
    assert main(["dedup", "a.jsonl", "-o", "out", "--report", "page.html", "--overwrite"]) == 2
    assert main(["dedup", "a.jsonl", "-o", "out", "--table", "t.csv", "--overwrite"]) == 0
    assert Path("t.csv").read_text().startswith("id,")
    capsys.readouterr()
    for command, words in (
        ("dedup", "any file of --table and --pairs"), ("design", "any file of the name of --plot"),
        ("clusters", "FILE, even if ndcore did not write it"),
    ):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert words in " ".join(capsys.readouterr().out.split())


def test_documents_of_several_collections_are_named(tmp_path: Path) -> None:
    for name, ids in (("a", "xyz"), ("b", "pq")):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"id": each, "text": each}) + "\n" for each in ids))
    with FileDocuments([str(tmp_path / "a.jsonl")]) as a, FileDocuments([str(tmp_path / "b.jsonl")]) as b:
        a.scan()
        b.scan()
        named = NamedDocuments(a, b)
        ids, files, numbers = named.values(np.array([4, 0, 3, 4, 2]))
        assert [column.name for column in named.columns()] == ["id", "file", "line"]
        assert (list(ids), list(numbers)) == (["q", "x", "p", "q", "z"], [2, 1, 1, 2, 3])
        assert [Path(file).name for file in files] == ["b.jsonl", "a.jsonl", "b.jsonl", "b.jsonl", "a.jsonl"]
        assert [len(column) for column in named.values(np.zeros(0, np.int64))] == [0, 0, 0]
        for position in (5, -1):
            with pytest.raises(IndexError, match=str(position)):
                named.values(np.array([0, position]))
