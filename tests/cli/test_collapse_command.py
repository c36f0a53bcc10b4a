"""``ndcore collapse``: what is printed, what is told, and what is refused."""

from __future__ import annotations

import io
import json
import sys

import pytest

import ndcore as nd
from ndcore.cli.main import main

ROSE = "a rose is a rose is a rose"
TEXTS = {"u1": ROSE, "u2": "something else entirely, as it seems to be", "u3": ROSE + " is a rose", "é": "alone \ud83c"}


def answer(*names):
    hits = [{"_id": f"d{name}", "_score": 1.5, "_source": {"url": name, "article": {"body": TEXTS[name]}}} for name in names]
    return {"took": 2, "hits": {"total": {"value": 900}, "hits": hits}, "odd": [1e-9, 12345678901234567890, None]}


@pytest.fixture
def first(tmp_path):
    path = tmp_path / "first.json"
    path.write_text(json.dumps(answer(*TEXTS)))
    return path


@pytest.fixture
def store(tmp_path):
    with nd.Store.open(tmp_path / "store") as opened:
        for i, (name, text) in enumerate(TEXTS.items()):
            opened.decide(name, text, i)
    return tmp_path / "store"


def printed(capsys, *arguments):
    assert main(["collapse", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def refused(capsys, code, *arguments):
    assert main(["collapse", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_texts_are_compared(capsys, first, monkeypatch):
    expected = answer("u1", "u2", "é")
    assert printed(capsys, first, "--text-field", "article.body") == expected
    assert printed(capsys, first, "--text-field", "article.body", "--threshold", "0.999") == expected  # equal sets
    assert printed(capsys, first, "--text-field", "article.body", "--width", 7) == answer(*TEXTS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(first.read_bytes())))
    assert printed(capsys, "-", "--text-field", "article.body", "--drop", "contained") == expected


def test_clusters_of_a_store_and_of_a_collection(capsys, first, store, tmp_path):
    known = ["--store", store, "--id-field", "url"]
    assert printed(capsys, first, *known) == answer("u1", "u2", "é")
    assert printed(capsys, first, *known, "--best", "latest") == answer("u3", "u2", "é")
    nd.Collection.build(tmp_path / "c", TEXTS.values(), [f"d{name}" for name in TEXTS])
    assert printed(capsys, first, "--collection", tmp_path / "c") == answer("u1", "u2", "é")


def test_the_second_page_does_not_repeat_the_first(capsys, store, tmp_path):
    for given in (["--text-field", "article.body"], ["--store", store, "--id-field", "url"]):
        one, two = tmp_path / "one.json", tmp_path / "two.json"
        one.write_text(json.dumps(answer("u2", "u1")))
        two.write_text(json.dumps(answer("é", "u3")))
        assert printed(capsys, two, *given) == answer("é", "u3")
        assert printed(capsys, two, *given, "--earlier", one) == answer("é")
        assert printed(capsys, two, *given, "--earlier", one, "--earlier", two)["hits"]["hits"] == []


def test_json_says_what_was_folded(capsys, first):
    told = printed(capsys, first, "--text-field", "article.body", "--json")
    assert told.pop("response") == answer("u1", "u2", "é")
    assert told == {"ndcore": nd.__version__, "hits": 4, "repeated": [], "unknown": [], "shown": [
        {"position": 0, "folded": [2]}, {"position": 1, "folded": []}, {"position": 3, "folded": []}]}


def test_hits_that_are_not_known_are_printed_and_told(capsys, first, store):
    assert main(["collapse", str(first), "--store", str(store)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == answer(*TEXTS)
    assert captured.err == f"ndcore: note: {store} does not know 4 hits of 4, such as du1\n"


def test_refusals(capsys, first, store, tmp_path):
    assert "give one of --text-field" in refused(capsys, 2, first)
    assert "give one of --text-field" in refused(capsys, 2, first, "--text-field", "b", "--store", store)
    assert "no text is read" in refused(capsys, 2, first, "--store", store, "--width", 3)
    assert "--id-field and --best are for" in refused(capsys, 2, first, "--text-field", "b", "--best", "latest")
    assert "read once" in refused(capsys, 2, "-", "--text-field", "b", "--earlier", "-")
    assert "first.json: hit 0 has no field 'b'; it has url" in refused(capsys, 1, first, "--text-field", "b")
    assert "no such store" in refused(capsys, 1, first, "--store", tmp_path / "none")
    assert "no collection" in refused(capsys, 1, first, "--collection", tmp_path)
    assert "none.json" in refused(capsys, 1, tmp_path / "none.json", "--text-field", "b")
    nd.Collection.build(tmp_path / "numbers", ["a", "b"], [1, 2])
    assert "ids are int here, got 'du1'" in refused(capsys, 1, first, "--collection", tmp_path / "numbers")
    for content in ("{", "", "[" * 100_000, "\xff"):
        first.write_bytes(content.encode("latin-1"))
        assert "first.json: is not JSON" in refused(capsys, 1, first, "--text-field", "b")
