"""``ndcore store create``, and what all commands of ``ndcore store`` say of a place that is not a store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import refused, run, text
from store_commands import made

from ndcore.dedup.settings import write_settings
from ndcore.recipe import Recipe
from ndcore.store.store import Store
from ndcore.text.shingling import Shingling


def test_create_with_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "s"
    assert run("store", "create", place) == 0
    assert capsys.readouterr().out == f"Made the store {place}; ndcore store decide {place} IN adds pages\n"
    with Store.open(place, read_only=True) as store:
        assert len(store) == 0
        found = store.settings
        assert (found.threshold, found.evidence, found.scope, found.keys) == (0.8, "text", "all", "plain")


def test_create_with_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "s"
    assert run("store", "create", place, "--threshold", "0.9", "--scope", "host", "--keys", "url", "--evidence", "sketch",
               "--unit", "char", "--width", "9", "--num-perm", "100", "--seed", "3", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["store"] == str(place)
    assert told["documents"] == 0
    with Store.open(place, read_only=True) as store:
        found = store.settings
        assert (found.threshold, found.evidence, found.scope, found.keys) == (0.9, "sketch", "host", "url")
        assert (found.seed, found.num_perm >= 100) == (3, True)
        assert json.loads(found.shingling)["unit"] == "char"
        assert json.loads(found.shingling)["width"] == "9"
        assert (found.min_shingles, found.must_agree) == (0, ())
    (tmp_path / "empty").mkdir()
    assert run("store", "create", tmp_path / "empty", "-q") == 0


def test_create_with_options_of_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "s"
    options = ("--must-agree", "title", "--must-agree", "numbers", "--min-shingles", "9")
    assert run("store", "create", place, *options, "--json") == 0
    told = json.loads(capsys.readouterr().out)["settings"]
    assert (told["must_agree"], told["min_shingles"]) == (["title", "numbers"], 9)
    with Store.open(place, read_only=True, must_agree=["title", "numbers"]) as store:
        assert store.settings.min_shingles == 9
    for words, why in ((("--must-agree", "title", "--evidence", "shingles"),
                        "--must-agree title compares keys of the texts, and --evidence shingles keeps no texts"),
                       (("--min-shingles", "3", "--evidence", "sketch"), "--evidence sketch keeps none"),
                       (("--must-agree", "dates"), "dates")):
        assert why in refused(capsys, 2, "store", "create", tmp_path / "n", *words)
    assert not (tmp_path / "n").exists()


def test_create_takes_settings_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(write_settings({
        "threshold": 0.6, "filter": "auto", "must_agree": ("numbers",), "min_shingles": 4,
        "shingling": Shingling("char", 7, normalize="NFKC")}))
    assert run("store", "create", tmp_path / "s", "--settings", file, "--scope", "host", "-q") == 0
    with Store.open(tmp_path / "s", read_only=True) as store:
        found = store.settings
    assert (found.threshold, found.scope, found.must_agree, found.min_shingles) == (0.6, "host", ("numbers",), 4)
    assert Shingling.from_recipe(Recipe.from_json(found.shingling)) == Shingling("char", 7, normalize="NFKC")
    said = refused(capsys, 2, "store", "create", tmp_path / "n", "--settings", file, "--width", "3")
    assert f"--width and --settings {file} both say it" in said
    said = refused(capsys, 2, "store", "create", tmp_path / "n", "--settings", "noisy")
    assert "store does not have the option filter='complete'" in said
    assert not (tmp_path / "n").exists()


def test_create_replaces_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    store = made(tmp_path / "s")
    for place in (tmp_path / "file", tmp_path, store):
        assert "exists already; name another directory" in refused(capsys, 2, "store", "create", place)
    assert "threshold" in refused(capsys, 2, "store", "create", tmp_path / "n", "--threshold", "0")
    assert "width" in refused(capsys, 2, "store", "create", tmp_path / "n", "--unit", "line", "--width", "99999999999")
    assert not (tmp_path / "n").exists()


@pytest.mark.parametrize("words", [
    ("decide", "STORE", "IN"), ("decide", "STORE", "-"), ("query", "STORE", "IN"), ("query", "STORE", "--key", "k"),
    ("locate", "STORE", "k"), ("history", "STORE", "k"), ("stats", "STORE"), ("check", "STORE"), ("compact", "STORE"),
    ("expire", "STORE", "--before", "2024-05"), ("merge", "STORE", "OTHER"), ("merge", "OTHER", "STORE"),
])
def test_what_is_not_a_store(words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.txt").write_text("a text")
    other = made(tmp_path / "other")
    capsys.readouterr()
    wrong = {"none": "no such store", "in.txt": "is not a store", ".": "is not a store"}
    for place, why in ((tmp_path / name, reason) for name, reason in wrong.items()):
        names = {"STORE": str(place), "IN": str(tmp_path / "in.txt"), "OTHER": other}
        told = refused(capsys, 1, "store", *(names.get(word, word) for word in words))
        assert told.startswith(f"{place}: {why}; ndcore store create makes one")
    assert not (tmp_path / "none").exists()


def test_one_writer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "s")
    (tmp_path / "in.txt").write_text("a text")
    capsys.readouterr()
    with Store.open(path):
        for words in (("decide", path, tmp_path / "in.txt"), ("compact", path), ("expire", path, "--before", "2024-05")):
            assert "open for writing by this process" in refused(capsys, 1, "store", *words)
        assert run("store", "history", path, "http://a.example/1") == 0  # reading goes on
    assert run("store", "decide", path, tmp_path / "in.txt", "-q") == 0


def test_estimates_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(tmp_path / "s", None, "--evidence", "sketch")
    (tmp_path / "t.txt").write_text(text(2, 1))
    capsys.readouterr()
    assert run("store", "query", path, tmp_path / "t.txt") == 0
    assert "; resemblance about 0." in capsys.readouterr().out
