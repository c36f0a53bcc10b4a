"""``ndcore cluster`` and ``ndcore query``: output, files, refusals, and what an interruption leaves."""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys

import pytest

import ndcore as nd
from ndcore.cli.main import main
from ndcore.dedup.settings import write_settings

WORDS = [f"word{i}" for i in range(2000)]


def page(seed: int, changes: int = 0) -> str:
    rng = random.Random(seed)
    words = [rng.choice(WORDS) for _ in range(200)]
    for at in range(changes):
        words[17 * at] = f"changed{at}"
    return " ".join(words)


DOCUMENTS = {
    "a": page(1), "a-again": page(1), "a-near": page(1, 2), "a-upper": page(1).upper(), "b": page(2), "b-near": page(2, 3),
    "alone": page(3), "empty": "",
}


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": ident, "text": text}) + "\n" for ident, text in DOCUMENTS.items()))
    return path


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def collection(tmp_path, records):
    assert run("cluster", records, "-o", tmp_path / "c", "-q") == 0
    return tmp_path / "c"


def refused(capsys, code, *arguments):
    try:
        assert run(*arguments) == code
    except SystemExit as stop:
        assert stop.code == code
    return capsys.readouterr().err


def test_the_account(tmp_path, records, capsys):
    assert run("cluster", records, "-o", tmp_path / "c", "--json", "-q") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["counts"] == {
        "read": 8, "rejected": 0, "documents": 8, "earlier": 0, "alone": 2, "clusters": 2, "in_clusters": 6,
        "by_class": {"identical": 1, "lexical": 1, "shingle": 0, "near": 2, "contained": 0}, "without_sample": 1,
    }
    assert account["cluster_sizes"] == {"2": 1, "4": 1}
    assert account["recipe"]["id"] == nd.ModSketcher("adaptive").recipe.id
    assert account["parameters"]["threshold"] == 0.5


def test_the_words_for_people(tmp_path, records, capsys):
    assert run("cluster", records, "-o", tmp_path / "c") == 0
    told = capsys.readouterr().out
    assert re.search(r"in clusters +6 +in 2 clusters of two or more", told)
    assert re.search(r"4 with \S+:\d+ \(a\): 1 identical, 1 lexical, 1 near; lowest 0\.9", told)
    assert f"ndcore query {tmp_path / 'c'} FILE" in told


def test_queries(collection, tmp_path, capsys, monkeypatch):
    file = tmp_path / "page.txt"
    file.write_text(page(1, 1))
    assert run("query", collection, file, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert {match["id"] for match in found} == {"a", "a-again", "a-near", "a-upper"}
    assert {match["cluster"] for match in found} == {"a"}
    assert all(set(match) == {"id", "resemblance", "text_in_document", "document_in_text", "cluster"} for match in found)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    assert run("query", collection, "-", "--json") == 0
    assert json.loads(capsys.readouterr().out) == found
    assert run("query", collection, "--id", "b", "--json", "--limit", 1) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"id": "b", "resemblance": 1.0, "text_in_document": 1.0, "document_in_text": 1.0, "cluster": "b"}]
    assert run("query", collection, "--id", "b-near", "--members") == 0
    assert capsys.readouterr().out == "2 documents in the cluster of b\nb\nb-near\n"
    assert run("query", collection, "--id", "b-near", "--members", "--json", "--verify") == 0
    assert json.loads(capsys.readouterr().out) == {"cluster": "b", "members": ["b", "b-near"]}
    file.write_text(page(77))
    assert run("query", collection, file) == 0
    assert capsys.readouterr().out == "None of 8 documents resembles it at 0.5 or more\n"
    assert run("query", collection, file, "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_record_asks(collection, records, capsys):
    assert run("query", collection, f"{records}#b-near") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "resemblance"
    assert [line.split("  ")[-2].strip() for line in lines[1:]] == ["b-near", "b"]
    assert all(line.endswith("[b]") for line in lines[1:])


def test_other_clusters_of_a_collection(collection, capsys):
    assert run("cluster", collection, "--threshold", "0.999", "--clustering", "components", "--json") == 0
    assert json.loads(capsys.readouterr().out)["counts"]["by_class"]["near"] == 0
    assert nd.Collection.open(collection).clustering.threshold == 0.999
    assert "counted from 0.5 on" in refused(capsys, 2, "cluster", collection, "--threshold", "0.2")


def test_another_collection_of_the_same_sketches(collection, tmp_path, capsys):
    assert run("cluster", collection, "-o", tmp_path / "d", "--threshold", "0.1", "--max-holders", "1", "--json", "-q") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["counts"]["by_class"] == {"identical": 1, "lexical": 1, "shingle": 0, "near": 0, "contained": 0}
    assert account["parameters"]["max_holders"] == 1 and account["common"] > 50
    assert nd.Collection.open(tmp_path / "d").members("a-upper") == ["a", "a-again", "a-upper"]
    assert "finished collection" in refused(capsys, 2, "cluster", collection, "-o", tmp_path / "d")
    assert "made with --modulus adaptive, not 7" in refused(
        capsys, 2, "cluster", collection, "-o", tmp_path / "e", "--modulus", "7")


def test_saved_sketches(tmp_path, records, capsys):
    assert run("sketch", records, "-o", tmp_path / "s.nds", "--threshold", "0.5", "-q") == 0
    assert run("cluster", tmp_path / "s.nds", "-o", tmp_path / "c", "--json", "-q") == 0
    account = json.loads(capsys.readouterr().out)
    assert account["parameters"]["method"] == "features"
    assert account["counts"]["in_clusters"] == 6 and account["counts"]["by_class"]["identical"] == 1
    assert run("query", tmp_path / "c", "--id", "a-near", "--json") == 0
    assert {match["id"] for match in json.loads(capsys.readouterr().out)} == {"a", "a-again", "a-near", "a-upper"}


@pytest.mark.parametrize("options", [
    ("--method", "super-shingles", "--modulus", "1", "--run-length", "4"), ("--method", "features"), ("--modulus", "4"),
    ("--clustering", "popular"), ("--clustering", "components", "--guard", "0.4"), ("--policy", "containment"),
    ("--memory", "1M", "--threads", "2"),
])
def test_ways_that_find_the_same(tmp_path, records, capsys, options):
    assert run("cluster", records, "-o", tmp_path / "c", *options, "-q") == 0
    assert nd.Collection.open(tmp_path / "c").members("a-near") == ["a", "a-again", "a-near", "a-upper"]


def test_settings_of_a_file(tmp_path, records, capsys):
    file = tmp_path / "s.toml"
    file.write_text(write_settings({"threshold": 0.7, "cluster": "components", "must_agree": ("numbers",), "min_shingles": 2,
                                    "shingling": nd.Shingling("char", 5, normalize="scan")}))
    assert run("cluster", records, "-o", tmp_path / "one", "--settings", file, "-q") == 0
    assert run("cluster", records, "-o", tmp_path / "two", "--threshold", "0.7", "--clustering", "components",
               "--must-agree", "numbers", "--min-shingles", "2", "--unit", "char", "--normalize", "scan", "-q") == 0
    one, two = (nd.Collection.open(tmp_path / name) for name in ("one", "two"))
    assert one.clustering.parameters == two.clustering.parameters and one.recipe == two.recipe
    assert one.clustering.labels.tolist() == two.clustering.labels.tolist()
    assert "--settings does nothing" in refused(capsys, 2, "cluster", tmp_path / "one", "--settings", file)
    for settings, words, said in [
        (file, ["--clustering", "greedy"], "--clustering and --settings"),
        (file, ["--normalize", "scan"], f"--normalize and --settings {file} both say it"),
        ("noisy", [], "collection does not have the option filter='complete'"),
    ]:
        assert said in refused(capsys, 2, "cluster", records, "-o", tmp_path / "n", "--settings", settings, *words)
    assert not (tmp_path / "n").exists()


def test_refusals(tmp_path, records, collection, capsys):
    assert "-o COLLECTION" in refused(capsys, 2, "cluster", records)
    assert "--overwrite" in refused(capsys, 2, "cluster", records, "-o", collection, "--threshold", "0.6")
    assert run("cluster", records, "-o", collection, "--overwrite", "-q") == 0
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine").write_text("mine")
    assert "something else" in refused(capsys, 2, "cluster", records, "-o", tmp_path / "d", "--overwrite")
    assert (tmp_path / "d" / "mine").read_text() == "mine"
    assert "no directory" in refused(capsys, 2, "cluster", records, "-o", tmp_path / "x" / "y")
    assert "lies in the output" in refused(capsys, 2, "cluster", records, "-o", tmp_path)
    assert "ids are like a" in refused(capsys, 2, "query", collection, "--id", "nobody")
    assert "ask for a FILE" in refused(capsys, 2, "query", collection)
    assert "ask for a FILE" in refused(capsys, 2, "query", collection, records, "--id", "a")
    assert "--id" in refused(capsys, 2, "query", collection, records, "--members")
    assert "no collection" in refused(capsys, 1, "query", tmp_path, "--id", "a")
    assert "'nan'" in refused(capsys, 2, "cluster", records, "-o", tmp_path / "e", "--threshold", "nan")
    assert "super-shingles" in refused(
        capsys, 1, "cluster", records, "-o", tmp_path / "e", "--method", "super-shingles", "--modulus", "adaptive")


def test_an_interrupted_run_goes_on(tmp_path, records):
    """Stop a run in phase two: the same command finishes it, and refuses changed inputs."""
    killed = (
        "import os, sys; import ndcore.collection.cluster as f; f.count_pairs = lambda *a, **k: os._exit(9); "
        "import ndcore.cli.main; sys.exit(ndcore.cli.main.main(sys.argv[1:]))"
    )
    command = ["cluster", str(records), "-o", str(tmp_path / "c"), "-q"]
    assert subprocess.run([sys.executable, "-c", killed, *command], check=False).returncode == 9
    before = records.read_text()
    records.write_text(before + "\n")
    assert run(*command) == 1
    stat = records.stat()
    records.write_text(before)
    assert run(*command) == 1  # its date is another
    again = json.loads((tmp_path / "c" / "collection.json").read_text())["source"]["inputs"][0]
    import os

    os.utime(records, ns=(stat.st_atime_ns, again[2]))
    assert run(*command) == 0
    assert nd.Collection.open(tmp_path / "c").members("b") == ["b", "b-near"]


@pytest.mark.parametrize(("options", "told"), [
    (("--guard", "0.3"), "--guard 0.3 is for --clustering components"),
    (("--guard", "0.9", "--clustering", "components"), "--guard 0.9 is for"),
    (("--clustering", "popular", "--method", "features"), "made of mod sketches"),
    (("--clustering", "popular", "--policy", "containment"), "clusters by resemblance"),
    (("--policy", "containment", "--method", "features"), "do not tell containment"),
    (("--run-length", "65537"), "from 1 to 65536"),
])
def test_clusters_that_cannot_be_asked_for(tmp_path, records, capsys, monkeypatch, options, told):
    """Exit code 2, before anything is read."""
    monkeypatch.setattr("ndcore.files.documents.FileDocuments.batches", None)
    for more in ((), ("--dry-run",)):
        assert told in refused(capsys, 2, "cluster", records, "-o", tmp_path / "c", *options, *more)
    assert not (tmp_path / "c").exists()


def test_clusters_that_a_collection_cannot_have(tmp_path, records, collection, capsys):
    new = tmp_path / "new.jsonl"
    new.write_text('{"id": "n", "text": "of one"}')
    for inputs in ((collection,), (collection, "-o", tmp_path / "d"), (collection, new, "-o", tmp_path / "d")):
        assert "--guard 0.3 is for --clustering components" in refused(capsys, 2, "cluster", *inputs, "--guard", "0.3")
    assert not (tmp_path / "d").exists()
    assert run("cluster", records, "-o", tmp_path / "f", "--method", "features", "-q") == 0
    assert "do not tell containment" in refused(capsys, 2, "cluster", tmp_path / "f", "--policy", "containment")
    assert "made of mod sketches" in refused(capsys, 2, "cluster", tmp_path / "f", "--clustering", "popular")
    with pytest.raises(ValueError, match="do not tell containment"):
        nd.Collection.open(tmp_path / "f").rethreshold(policy="containment")


@pytest.mark.parametrize("option", [
    ("--width", "3"), ("--unit", "char"), ("--method", "features"), ("--text-field", "t"), ("--max-holders", "7"),
    ("--run-length", "9"), ("--overwrite",), ("--include", "*.txt"), ("--hidden",), ("--memory", "1G"), ("--seed", "1"),
    ("--modulus", "3"), ("--html", "main"), ("--on-error", "skip"), ("--normalize", "NFKC"), ("--id-field", "i"),
])
def test_options_that_other_clusters_do_not_take(collection, tmp_path, capsys, option):
    told = refused(capsys, 2, "cluster", collection, "--threshold", "0.9", *option)
    assert f"{option[0]} does nothing" in told
    assert nd.Collection.open(collection).clustering.threshold == 0.5
    unread = option[0] in ("--text-field", "--id-field", "--include", "--hidden", "--html", "--on-error")
    more = (*option, "-o", tmp_path / "d")
    if unread:
        assert f"{option[0]} does nothing" in refused(capsys, 2, "cluster", collection, *more)
    elif option[0] in ("--max-holders", "--run-length", "--overwrite", "--memory"):
        assert run("cluster", collection, *more, "-q") == 0


def test_ids_that_places_do_not_tell(tmp_path, capsys):
    """Print an id although its place ends like it; leave out an id that was made of the place."""
    file = tmp_path / "a.jsonl"
    file.write_text(''.join(json.dumps({"id": ident, "text": page(1)}) + "\n" for ident in ("1", "2")))
    assert run("cluster", file, "-o", tmp_path / "c") == 0
    assert f"2 with {file}:1 (1): 1 identical" in capsys.readouterr().out
    file.write_text((json.dumps({"text": page(1)}) + "\n") * 2)
    assert run("cluster", file, "-o", tmp_path / "d") == 0
    assert f"2 with {file}:1: 1 identical" in capsys.readouterr().out


def test_messages_name_options_that_the_command_has(records, collection, tmp_path, capsys, monkeypatch):
    image = tmp_path / "image"
    image.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    told = refused(capsys, 1, "query", collection, image)
    assert "PNG image" in told and "--unit" not in told
    assert "--unit byte" in refused(capsys, 1, "compare", image, records)
    told = refused(capsys, 2, "info", collection)
    assert "is a collection of ndcore cluster" in told and "regular file" not in told
    assert "is a collection of ndcore cluster" in refused(capsys, 2, "info", collection, "--json")

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(nd.Collection, "open", full)
    monkeypatch.setattr("ndcore.cli.query.Collection.open", full)
    assert "--memory" not in refused(capsys, 1, "query", collection, "--id", "a")
    assert "give --memory, or" in refused(capsys, 1, "cluster", collection)


@pytest.fixture
def captures(tmp_path):
    """Documents with fields: captures of two pages, which differ in a number."""
    rows = [("u1", 1, page(1) + " 7"), ("u2", 1, page(1) + " 8"), ("u1", 1, page(5)), ("u3", "1", page(1) + " 7"),
            ("u4", 1, "indeed " + page(1) + " 7"), ("u5", 1, "one two"), ("u6", 1, "ONE two")]  # fmt: skip
    path = tmp_path / "captures.jsonl"
    path.write_text("".join(json.dumps(dict(zip(("url", "day", "text"), row, strict=True))) + "\n" for row in rows))
    return path


APART = ("--one-per", "url", "--by", "day", "--must-agree", "numbers", "--min-shingles", "3")


def test_documents_that_are_kept_apart(tmp_path, captures, capsys):
    assert run("cluster", captures, "-o", tmp_path / "c", *APART) == 0
    told = capsys.readouterr().out
    assert re.search(r"version +1  after another with the same value of --one-per: not compared", told)
    found = nd.Collection.open(tmp_path / "c").clustering
    assert found.labels.tolist() == [0, 1, 0, 3, 0, 5, 5]
    assert found.classes.tolist() == ["kept", "kept", "version", "kept", "near", "kept", "lexical"]
    assert run("cluster", captures, "-o", tmp_path / "c", *APART, "--json", "-q") == 0  # again: it is there
    account = json.loads(capsys.readouterr().out)
    assert account["counts"]["by_class"]["version"] == 1
    assert {name: account["parameters"][name] for name in ("by", "one_per", "must_agree", "min_shingles")} == {
        "by": True, "one_per": True, "must_agree": ["numbers"], "min_shingles": 3}  # fmt: skip
    page = tmp_path / "page.html"
    assert run("cluster", tmp_path / "c", "-o", tmp_path / "again", "--report", page, "-q") == 0
    assert "another document of the same label comes first" in page.read_text("utf-8")
    assert nd.Collection.open(tmp_path / "again").clustering.classes.tolist() == found.classes.tolist()
    new = tmp_path / "new.jsonl"
    new.write_text(captures.read_text("utf-8"))
    assert run("cluster", tmp_path / "c", new, "-o", tmp_path / "all", "--one-per", "url", "--by", "day", "-q") == 0
    both = nd.Collection.open(tmp_path / "all").clustering
    assert (both.classes[7:] == "version").all() and both.labels[7:].tolist() == found.labels.tolist()


@pytest.mark.parametrize(("arguments", "words"), [
    (("{c}", "{new}", "-o", "{o}", "--by", "day"), "was made with --one-per: name the field of the new documents"),
    (("{c}", "{new}", "-o", "{o}", *APART[:-1], "4"), "was made with --min-shingles 3; leave --min-shingles out"),
    (("{c}", "{new}", "-o", "{o}", *APART[:4], "--must-agree", "title"), "--must-agree numbers; leave --must-agree out"),
    (("{plain}", "{new}", "-o", "{o}", "--by", "day"), "was made without --by; leave --by out"),
    (("{c}", "--by", "day"), "--by does nothing where the collection"),
    (("{c}", "-o", "{o}", "--min-shingles", "3"), "--min-shingles does nothing where the collection"),
    (("{c}", "--clustering", "popular"), "so by and must_agree cannot keep them apart"),
    (("{new}", "-o", "{o}", "--must-agree", "title", "--clustering", "popular"), "so must_agree cannot keep them apart"),
    (("{text}", "-o", "{o}", "--by", "day"), "--by needs records with fields"),
    (("{sketches}", "-o", "{o}", "--one-per", "url"), "--one-per needs the documents; saved sketches do not hold"),
    (("{sketches}", "-o", "{o}", "--must-agree", "title"), "--must-agree needs the documents; saved sketches do not hold"),
])  # fmt: skip
def test_options_that_keep_nothing_apart_are_refused(tmp_path, captures, capsys, arguments, words):
    names = {name: tmp_path / name for name in ("c", "plain", "o", "text", "sketches")} | {"new": captures}
    assert run("cluster", captures, "-o", names["c"], *APART, "-q") == 0
    assert run("cluster", captures, "-o", names["plain"], "-q") == 0
    names["text"] = names["text"].with_suffix(".txt")
    names["text"].write_text("one two three four five six")
    names["sketches"] = names["sketches"].with_suffix(".nds")
    assert run("sketch", captures, "-o", names["sketches"], "--kind", "mod", "-q") == 0
    assert words in refused(capsys, 2, "cluster", *(argument.format(**names) for argument in arguments))
    assert not names["o"].exists()
