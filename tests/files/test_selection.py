"""Which files of directories are read: patterns, hidden files, and what ndcore wrote itself."""

from __future__ import annotations

import json

import pytest

import ndcore as nd
from ndcore.cli.main import main
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.selection import Selection

PATHS = ["a.txt", "b.md", "docs/a.txt", "docs/deep/er/c.txt", "docs/x.md", "drafts/d.txt", "other/drafts/e.txt", "draft"]


@pytest.mark.parametrize("pattern, matching", [
    ("*.txt", ["a.txt", "docs/a.txt", "docs/deep/er/c.txt", "drafts/d.txt", "other/drafts/e.txt"]),
    ("/*.txt", ["a.txt"]),
    ("docs/*.txt", ["docs/a.txt"]),
    ("docs/**/*.txt", ["docs/a.txt", "docs/deep/er/c.txt"]),
    ("docs/**", ["docs/a.txt", "docs/deep/er/c.txt", "docs/x.md"]),
    ("**/a.txt", ["a.txt", "docs/a.txt"]),
    ("docs", ["docs/a.txt", "docs/deep/er/c.txt", "docs/x.md"]),
    ("drafts/", ["drafts/d.txt", "other/drafts/e.txt"]),
    ("draft/", []), ("draft", ["draft"]), ("draft?/", ["drafts/d.txt", "other/drafts/e.txt"]),
    ("docs/deep", ["docs/deep/er/c.txt"]),
    ("[ab].*", ["a.txt", "b.md", "docs/a.txt"]), ("[!ab].*", ["docs/deep/er/c.txt", "docs/x.md", "drafts/d.txt",
                                                               "other/drafts/e.txt"]),
    ("*.TXT", []), ("a", []), ("docs?a.txt", []), ("docs[/]a.txt", []), ("a.tx", []), ("a?txt", ["a.txt", "docs/a.txt"]),
    ("a+txt", []), ("[", []), ("er/c.txt", []),
])
def test_patterns_are_those_of_gitignore(pattern, matching, tmp_path):
    chosen = Selection([pattern])
    assert [path for path in PATHS if chosen.reads(path)] == matching
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    found = find([str(tmp_path)], (), Selection(exclude=[pattern]))
    assert [source.label for source in found.sources] == sorted(set(PATHS) - set(matching))
    assert bool(found.excluded) == bool(matching)


@pytest.mark.parametrize(("pattern", "matching"), [
    ("[[]", "["), ("[[a]", "[a"), ("[a||b&&c~~d]", "a|b&c~d"), ("[+--]", "+,-"), ("[a-]", "a-"), ("[-a]", "-a"),
    ("[]a]", "]a"), ("[^a]", "-[^!b"), ("[!a]", "-[^!b"), ("[a-c-]", "abc-"), ("[a\\]", "a\\"),
    ("[a^]", "a^"), ("[ab!]", "ab!"),
])
@pytest.mark.filterwarnings("error")
def test_classes_of_characters(pattern, matching):
    chosen = Selection([pattern])
    assert all(chosen.reads(character) for character in matching)
    others = {*"abcdz[]^!-+,|&~\\"} - {*matching}
    assert not any(chosen.reads(character) for character in (others if pattern[1] not in "^!" else "a"))


@pytest.mark.parametrize(("pattern", "said"), [("[z-a]", "the range z-a is empty; write a-z"),
                                               ("x[[:alpha:]]", "the class [:alpha:] is not supported")])
@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_classes_that_are_refused(pattern, said, option, tmp_path, capsys):
    texts_below(tmp_path, "in/a.txt")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", option, pattern) == 2
    assert f"{option} {pattern!r}: {said}" in capsys.readouterr().err


def texts_below(tmp_path, *paths):
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"the text of {path} is made of some words like these")


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_hidden_files_are_left_out_and_listed(tmp_path, capsys):
    texts_below(tmp_path, "in/a.txt", "in/.git/config", "in/.git/objects/ab", "in/sub/.env", "in/sub/b.txt")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out") == 0
    told = capsys.readouterr().out
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert account["counts"]["read"] == 2
    assert [(item["path"][len(str(tmp_path)) :], item["kind"]) for item in account["ignored"]] == [
        ("/in/.git", "hidden folder"), ("/in/sub/.env", "hidden file")]
    assert "2 paths passed over (1 hidden file, 1 hidden folder)" in told
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "all", "--hidden", "-q") == 0
    account = json.loads((tmp_path / "all" / "summary.json").read_text())
    assert account["counts"]["read"] == 5 and account["ignored"] == [] and account["parameters"]["hidden"] is True
    assert run("cluster", tmp_path / "in", "-o", tmp_path / "c", "--json", "-q") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["counts"]["documents"] == 2 and len(account["ignored"]) == 2
    assert run("sketch", tmp_path / "in", "-o", tmp_path / "s.nds", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["ignored"]) == 2
    (tmp_path / ".hidden").mkdir()
    texts_below(tmp_path / ".hidden", "a.txt")
    with FileDocuments([str(tmp_path / ".hidden")]) as documents:  # it was named
        assert len(documents) == 1


def test_patterns_choose_for_every_command(tmp_path, capsys):
    texts_below(tmp_path, "in/a.txt", "in/b.md", "in/drafts/c.txt", "in/drafts/d.txt", "old/a.txt", "old/x.md")
    options = ("--include", "*.txt", "--exclude", "drafts/")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", *options, "--against", tmp_path / "old") == 0
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert account["counts"]["read"] == 1 and account["against"]["read"] == 1
    assert account["excluded"] == 2 and account["against"]["excluded"] == 1
    assert account["parameters"]["include"] == ["*.txt"] and account["parameters"]["exclude"] == ["drafts/"]
    assert "2 paths left out by --include and --exclude" in capsys.readouterr().out
    assert run("sketch", tmp_path / "in", "-o", tmp_path / "s.nds", *options, "-q") == 0
    assert nd.load(tmp_path / "s.nds").ids == ["a.txt"]
    assert run("cluster", tmp_path / "in", "-o", tmp_path / "c", *options, "-q") == 0
    assert [*nd.Collection.open(tmp_path / "c").names] == ["a.txt"]
    with FileDocuments([str(tmp_path / "in")], include=["*.md"]) as documents:
        assert len(documents) == 1 and documents.excluded == 3


def test_patterns_that_do_nothing(tmp_path, capsys):
    texts_below(tmp_path, "in/a.txt")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "--include", "*.md") == 2
    assert "--include *.md matches no file" in capsys.readouterr().err
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "-q", "--exclude", "*.md") == 0
    assert "--exclude *.md left nothing out" in capsys.readouterr().err
    assert run("dedup", tmp_path / "in" / "a.txt", "-o", tmp_path / "o", "--include", "*.txt") == 2
    assert "no input is a directory" in capsys.readouterr().err
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "o", "--include", "/") == 2
    with pytest.raises(TypeError, match="list of patterns"):
        Selection("*.txt")


@pytest.fixture
def written(tmp_path):
    """Write everything that ndcore writes below one directory with a text."""
    texts_below(tmp_path, "in/a.txt", "in/b.txt")
    place = tmp_path / "all"
    place.mkdir()
    assert run("cluster", tmp_path / "in", "-o", place / "c.ndc", "-q") == 0
    assert run("dedup", tmp_path / "in", "-o", place / "out", "-q") == 0
    assert run("sketch", tmp_path / "in", "-o", place / "s.nds", "-q") == 0
    learn = ("--learn", place / "w.ndw")
    assert run("sketch", tmp_path / "in", "-o", tmp_path / "h.nds", "--kind", "simhash", *learn, "-q") == 0
    assert run("hamming", "build", tmp_path / "h.nds", "-o", place / "h.ndh", "-q") == 0
    nd.Index().save(place / "t.ndt", durable=False)
    texts_below(place, "c.txt")
    return place


def test_what_ndcore_wrote_is_passed_over_in_directories(written, tmp_path):
    found = find([str(written)])
    assert [source.label for source in found.sources] == ["c.txt"]
    assert [(item.path[len(str(written)) :], item.kind) for item in found.ignored] == [
        ("/c.ndc", "collection of ndcore"), ("/h.ndh", "file of ndcore"), ("/out", "output of ndcore"),
        ("/s.nds", "file of ndcore"), ("/t.ndt", "file of ndcore"), ("/w.ndw", "file of ndcore")]
    other = tmp_path / "postman"
    other.mkdir()
    (other / "collection.json").write_text('{"info": {"name": "no collection of ours"}}')
    assert [source.label for source in find([str(other)]).sources] == ["collection.json"]


def test_what_ndcore_wrote_is_refused_by_name(written, tmp_path, capsys):
    said = {"c.ndc": "is a collection of ndcore cluster", "out": "is an output of ndcore; its documents are",
            "h.ndh": "is an index of fingerprints", "t.ndt": "is an index of texts in Python", "w.ndw": "holds weights"}
    for name, words in said.items():
        path = written / name
        commands = [
            ("dedup", path, "-o", tmp_path / "o"), ("sketch", path, "-o", tmp_path / "o"),
            ("compare", path, tmp_path / "in/a.txt"), ("query", written / "c.ndc", path),
        ]
        if name != "c.ndc":
            commands += [("cluster", path, "-o", tmp_path / "o"),
                         ("dedup", tmp_path / "in", "-o", tmp_path / "o", "--against", path)]
        if name != "h.ndh":
            commands += [("hamming", "build", path, "-o", tmp_path / "o"), ("hamming", "pairs", path)]
        for command in commands:
            assert run(*command) == 2, command
            assert words in capsys.readouterr().err, command
            assert not (tmp_path / "o").exists()
        with pytest.raises(UsageError, match=words):
            FileDocuments([str(path)])
    assert run("compare", written / "s.nds", tmp_path / "in/a.txt") == 2
    assert "holds sketches" in capsys.readouterr().err
    assert run("cluster", written / "c.ndc" / "clusters.ndc", "-o", tmp_path / "o") == 2
    assert "is a file of ndcore (collection/clusters)" in capsys.readouterr().err
