"""Documents joined to submissions: which are one, in which language, read again alike."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygments", reason="the extra code is not installed")

from ndcore.choices import LANGUAGES, TEXT_SUFFIXES
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.lexer_processes import LexerError, LexerProcesses
from ndcore.files.submissions import Submissions, check_languages, language_of

FILES = {"in/a/x.py": "x = 1", "in/a/deep/y.java": "int y = 2;\n", "in/a-b/z.py": "", "in/c.py": "z(3)"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


@pytest.mark.parametrize(("inputs", "names"), [
    (["in"], ["a-b", "a", "c.py"]), (["in/a", "in/c.py"], ["a", "c.py"]), (["in/a"], ["deep", "x.py"]),
    (["in/c.py"], ["c.py"]), (["in/a/x.py", "in/a/deep"], ["x.py", "deep"]),
])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_a_submission(inputs, names, threads):
    with FileDocuments(inputs) as documents, LexerProcesses() as lexers:
        submissions = Submissions(documents, inputs, None, lexers, 1 << 20, False, threads)
        read = list(submissions.read())
        assert submissions.names == [each.name for each in read] == names
        again = submissions.load([len(read) - 1, 0])
        assert again.keys() == {0, len(read) - 1}
        assert [again[i].text for i in again] == [read[i].text for i in again]
        assert [again[i].compared for i in again] == [read[i].compared for i in again]


def test_what_cannot_be_read_again_is_named(monkeypatch):
    """Also if such files are skipped: without the file, its tokens would be looked for in another one."""
    with FileDocuments(["in"]) as documents, LexerProcesses() as lexers:
        submissions = Submissions(documents, ["in"], None, lexers, 1 << 20, True, 1)
        list(submissions.read())
        monkeypatch.setattr(lexers, "lex", lambda *_: (_ for _ in ()).throw(LexerError("took too long")))
        with pytest.raises(DocumentError, match=r"in/a/deep/y\.java: took too long"):
            submissions.load([1])


def test_records_with_the_same_id_are_told_apart():
    for name in "ab":
        Path(f"{name}.jsonl").write_text(f'{{"id": "1", "text": "x"}}\n{{"id": "{name}", "text": "y"}}\n')
    with FileDocuments(["a.jsonl", "b.jsonl"]) as documents:
        submissions = Submissions(documents, ["a.jsonl", "b.jsonl"], None, None, 1 << 20, False, 1)
        assert len(list(submissions.read())) == 4
        names = ["1 (a.jsonl:1)", "a", "1 (b.jsonl:1)", "b"]
        assert submissions.names == [each.name for each in submissions.load(range(4)).values()] == names


def test_the_places_of_tokens_in_joined_files():
    with FileDocuments(["in/a", "in/c.py"]) as documents, LexerProcesses() as lexers:
        submissions = Submissions(documents, ["in/a", "in/c.py"], None, lexers, 1 << 20, False, 1)
        [joined, _] = submissions.read()
        assert joined.text == "int y = 2;\nx = 1\n"
        assert joined.files == (("in/a/deep/y.java", 0), ("in/a/x.py", 11))
        assert joined.lexed is not None and joined.compared.split() == ["int", "N", "=", "0", ";", "N", "=", "0"]
        assert [joined.text[i:j] for i, j in zip(joined.lexed.starts, joined.lexed.ends, strict=True)] == [
            "int", "y", "=", "2", ";", "x", "=", "1"]
        assert submissions.files(0) == ["in/a/deep/y.java", "in/a/x.py"]


def test_languages():
    for suffix in TEXT_SUFFIXES:
        Path(f"a.{suffix}").write_text("a")
        assert language_of(find([f"a.{suffix}"]).sources[0], None) == "text"
    for language, suffixes in LANGUAGES.items():
        for suffix in suffixes:
            Path(f"a.{suffix}").write_text("a")
            assert language_of(find([f"a.{suffix}"]).sources[0], None) == language
    Path("A.PY").write_text("a")
    [source] = find(["A.PY"]).sources
    assert language_of(source, None) == "python" and language_of(source, "ruby") == "ruby"
    for unknown in ("py", "Makefile", "a.b"):
        Path(unknown).write_text("a")
        [source] = find([unknown]).sources
        with pytest.raises(DocumentError, match=r"its name does not tell its language; known are \.txt"):
            check_languages([source], None, False)
        assert check_languages([source], None, True) == set() and check_languages([source], "c", False) == {"c"}
    Path("b.jsonl").write_text('{"text": "a"}\n')
    assert check_languages(find(["b.jsonl", "a.txt"]).sources, None, False) == {"text"}
    with pytest.raises(UsageError, match=r"a\.txt is text, and a\.py is a program \(python\)"):
        check_languages(find(["a.txt", "a.py", "a.c"]).sources, None, False)


def test_a_file_that_is_skipped_is_not_in_its_submission():
    Path("in/a/long.py").write_text("x = 1\n" * 100)
    with FileDocuments(["in"]) as documents, LexerProcesses() as lexers:
        submissions = Submissions(documents, ["in"], None, lexers, 100, True, 2)
        read = list(submissions.read())
        assert [(each.path, each.number) for each in submissions.rejected] == [("in/a/long.py", None)]
        assert submissions.load([1])[1].text == read[1].text == "int y = 2;\nx = 1\n"
        with pytest.raises(DocumentError, match=r"in/a/long\.py: has 600 bytes, and a program may have 100 bytes"):
            list(Submissions(documents, ["in"], None, lexers, 100, False, 2).read())
