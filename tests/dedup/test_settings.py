"""Settings in files: what is written is read again, and nothing else is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ndcore import Shingling, load_settings, near_duplicates
from ndcore.dedup.rules import CALLERS
from ndcore.dedup.settings import settings_beside, write_settings

HEAD = 'format = "ndcore settings"\nversion = 1\n'
TEXTS = ["a b c d e f g 1", "a b c d e f g 2", "x y z"]


def written(path: Path, text: str) -> Path:
    (path / "settings.toml").write_text(text, encoding="utf-8")
    return path / "settings.toml"


@pytest.mark.parametrize("options", [
    {"threshold": 0.5}, {"threshold": 1, "shingling": Shingling(width=3), "must_agree": ("numbers", "title")},
    {"threshold": 0.5, "shingling": Shingling("grapheme", 4, normalize="scan"), "filter": "lsh"},
    {"threshold": 0.61, "drop": "contained", "shingling": Shingling("char", 8), "drop_common": 0.05, "min_shingles": 3},
])
def test_what_is_written_is_read_again(tmp_path: Path, options: dict[str, Any]):
    path = written(tmp_path, write_settings(options, {"answers": 30, "who": 'a "quoted" \\ name\n'}))
    assert load_settings(path) == options
    near_duplicates(TEXTS, **load_settings(path))


@pytest.mark.parametrize(("text", "message"), [
    ("", "not a file of settings"), ("not toml", "settings.toml"), (HEAD, r"no table \[near_duplicates\]"),
    ('format = "ndcore settings"\nversion = 2\n', "version 2"), (f"{HEAD}[near_duplicates]\n", "threshold is missing"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\nagainst = '/etc/passwd'\n", "no option 'against'"),
    (f"{HEAD}[near_duplicates]\nthreshold = '0.5'\n", "threshold is '0.5' of the type str"),
    (f"{HEAD}[near_duplicates]\nthreshold = true\n", "threshold is True"),
    (f"{HEAD}[near_duplicates]\nthreshold = 1.5\n", "threshold"),
    (f"{HEAD}[near_duplicates]\nthreshold = nan\n", "threshold"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\nmust_agree = ['os.system']\n", "must_agree"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\n[near_duplicates.shingling]\nunit = 'os.system'\n", "unit"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\n[near_duplicates.shingling]\nshort = 'skip'\n", "no option 'short'"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\n[near_duplicates.shingling]\nwidth = 0\n", "width"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\n[near_duplicates.shingling]\nnormalize = 'NFC'\n", "normalize must be"),
    (f"{HEAD}[near_duplicates]\nthreshold = 0.5\n[near_duplicates.shingling]\nnormalize = 'scan'\n", "not for 'word'"),
    ("x" * ((1 << 20) + 1), "more than 1,048,576 bytes"), (f"{HEAD}a = {'[' * 100_000}", "settings.toml"),
])
def test_what_is_not_accepted_is_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        load_settings(written(tmp_path, text))


@pytest.mark.parametrize(("caller", "options", "refused"), [
    ("store", {"drop": "contained"}, "drop"), ("store", {"drop_common": 0.1}, "drop_common"),
    ("collection", {"drop_common": 0.1}, "drop_common"), ("spark.near_duplicates", {"max_lost": 3}, "max_lost"),
    ("store", {"filter": "complete"}, "filter"), ("store", {"filter": "lsh"}, "filter"),
    ("collection", {"filter": "complete"}, "filter"), ("collection", {"filter": "lsh"}, "filter"),
    ("collection", {"drop": "contained"}, "drop"), ("spark dedup", {"max_lost": 3}, "max_lost"),
])
def test_a_caller_refuses_by_name_what_it_does_not_have(tmp_path: Path, caller: str, options: dict[str, Any], refused: str):
    path = written(tmp_path, write_settings({"threshold": 0.5, **options}))
    with pytest.raises(ValueError, match=f"{caller} does not have the option {refused}=") as error:
        load_settings(path, caller)
    assert any(reason in str(error.value) for reason in CALLERS[caller].values())
    assert load_settings(path)["threshold"] == 0.5


def test_an_unknown_caller(tmp_path: Path):
    with pytest.raises(ValueError, match="caller"):
        load_settings(written(tmp_path, write_settings({"threshold": 0.5})), "everybody")


def test_settings_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, write_settings({"threshold": 0.7})).rename("noisy")
    noisy = load_settings("noisy")
    assert noisy == {"threshold": 0.3, "filter": "complete", "shingling": Shingling("char", 5, normalize="scan")}
    assert load_settings("./noisy") == {"threshold": 0.7}
    assert load_settings("noisy", "spark.near_duplicates") == noisy == load_settings("noisy", "spark dedup")
    (tmp_path / "again.toml").write_text(write_settings(noisy))
    assert load_settings("again.toml") == noisy
    for caller in ("store", "collection"):
        with pytest.raises(ValueError, match=rf"^noisy: {caller} does not have the option filter='complete'.*"
                           "one by one: threshold=0.3, unit='char', width=5, normalize='scan'$"):
            load_settings("noisy", caller)


def test_each_option_that_a_caller_refuses_is_named(tmp_path: Path):
    path = written(tmp_path, write_settings({"threshold": 0.5, "drop_common": 0.1, "filter": "complete", "min_shingles": 3}))
    with pytest.raises(ValueError, match=r"option drop_common=0.1: .*; store does not have the option filter='complete': .*"
                       r"one by one: threshold=0.5, min_shingles=3$"):
        load_settings(path, "store")


def test_noisy_settings_see_through_errors_of_scans():
    text = " ".join(f"The {i}th engine was oiled on a morning in winter, number {i * i}." for i in range(12))
    scanned = text.replace("engine", "en-\n  gine").replace("oiled", "oi1ed").replace("winter", "w\u200binter")
    texts = [text, scanned, "Something else, about sheep and shepherds, and a dog that none of them ever liked at all."]
    assert near_duplicates(texts).kept.tolist() == [0, 1, 2]
    assert near_duplicates(texts, **load_settings("noisy")).kept.tolist() == [0, 2]


def test_settings_beside_options(tmp_path: Path):
    path = written(tmp_path, write_settings({"threshold": 0.5, "must_agree": ("title",), "shingling": Shingling(width=3)}))
    expected = {"threshold": 0.5, "must_agree": ["title"], "unit": "word", "width": 3}
    assert settings_beside(path, {"keep": "--keep"}) == expected
    assert settings_beside("noisy", {})["normalize"] == "scan"
    for name in ("threshold", "width", "must_agree"):
        with pytest.raises(ValueError, match=f"--given and --settings {path} both say it"):
            settings_beside(path, {name: "--given"})
    with pytest.raises(ValueError, match=r"^--settings noisy: store does not have"):
        settings_beside("noisy", {}, "store")
