"""The command line of jobs on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from ndcore.cli.parser import parser
from ndcore.dedup.settings import write_settings
from ndcore.spark import options
from ndcore.spark.options import REFUSED, parse
from ndcore.text.shingling import Shingling

LEAST = ["dedup", "--input", "in", "--output", "out"]


def test_defaults_and_the_shingling(tmp_path):
    given = parse(LEAST)
    assert given is not None and given.input == ["in"] and given.keep == ("first", "") and given.shingling.width == 5
    (tmp_path / "stop").write_text("the\nof\n")
    given = parse([*LEAST, "--input", "b", "c", "--keep", "a:b:desc", "--unit", "char", "--width", "9", "--against", "x"])
    assert given is not None and given.input == ["in", "b", "c"]
    assert given.keep == ("a:b", "desc") and given.against == ["x"]
    assert (given.shingling.unit, given.shingling.width) == ("char", 9)
    given = parse([*LEAST, "--stop-words", str(tmp_path / "stop")])
    assert given is not None and given.shingling.stop_words == ("of", "the")


def test_settings_are_taken_and_refused(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(write_settings({
        "threshold": 0.6, "cluster": "components", "must_agree": ("title",), "shingling": Shingling(width=3)}))
    given = parse([*LEAST, "--settings", str(tmp_path / "s.toml"), "--seed", "2"])
    assert given is not None and (given.threshold, given.clustering, given.must_agree) == (0.6, "components", ["title"])
    assert (given.shingling, given.seed) == (Shingling(width=3), 2)
    noisy = parse([*LEAST, "--settings", "noisy"])
    assert noisy is not None and (noisy.threshold, noisy.filter) == (0.3, "complete")
    assert noisy.shingling == Shingling("char", 5, normalize="scan")
    (tmp_path / "common.toml").write_text(write_settings({"threshold": 0.6, "drop_common": 0.1}))
    common = parse([*LEAST, "--settings", str(tmp_path / "common.toml")])
    assert common is not None and common.drop_common == 0.1
    (tmp_path / "lost.toml").write_text(write_settings({"threshold": 0.6, "max_lost": 3}))
    for words, message in [
        (["--settings", "noisy", "--width", "3"], "--width and --settings noisy both say it"),
        (["--settings", "noisy", "--threshold", "0.5"], "--threshold and --settings noisy both say it"),
        (["--settings", str(tmp_path / "s.toml"), "--clustering", "greedy"], "--clustering and --settings"),
        (["--settings", str(tmp_path / "lost.toml")], "spark dedup does not have the option max_lost=3"),
        (["--settings", str(tmp_path / "none.toml")], "none.toml"),
    ]:
        with pytest.raises(SystemExit) as caught:
            parse([*LEAST, *words])
        assert caught.value.code == 2 and message in capsys.readouterr().err


def test_the_file_to_submit(capsys):
    assert parse(["--path"]) is None
    assert Path(capsys.readouterr().out.strip()) == Path(options.__file__).with_name("__main__.py")


@pytest.mark.parametrize(("words", "message"), [
    (["dedup", "--input", "a"], "the following arguments are required: --output"),
    ([*LEAST, "--pairs", "x"], "--pairs is an option of ndcore dedup, and not available on Spark"),
    ([*LEAST, "--max-lost=3"], "--max-lost is an option of ndcore dedup, and not available on Spark"),
    ([*LEAST, "--filter=some"], "argument --filter: invalid choice: 'some'"),
    ([*LEAST, "--keep", "n:up"], "'n:up' is none of first, longest, FIELD:desc, FIELD:asc"),
    ([*LEAST, "--speed", "3"], "unrecognized arguments: --speed 3"),
    ([], "name a command: dedup"),
])
def test_what_is_refused(capsys, words, message):
    with pytest.raises(SystemExit) as caught:
        parse(words)
    assert caught.value.code == 2 and message in capsys.readouterr().err


def test_names_are_those_of_the_local_command():
    local = {name for action in parser(["dedup"])._subparsers._group_actions[0].choices["dedup"]._actions
             for name in action.option_strings}
    assert set(REFUSED) <= local
    job = {f"--{name.replace('_', '-')}" for name in options.JobOptions.__dataclass_fields__}
    assert job - local == {"--input", "--format", "--directory", "--task-pairs"} and not job & set(REFUSED)
