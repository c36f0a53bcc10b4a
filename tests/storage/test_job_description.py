"""Descriptions of jobs: what may be begun or gone on with in a directory, and what is refused."""

from __future__ import annotations

import json
import sys

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.storage.file_shelf import FileShelf
from ndcore.storage.job_description import COLLECTION, REPEATS, JobDescription, OtherJob

JOB = JobDescription("job.json", "ndcore.job", "job", 3)


def begun(place):
    JOB.begin(place, {"n": 1}, None)
    FileShelf(place, "jobs").put("step", {}, {})


def test_every_kind_of_directory_has_a_name_of_its_own():
    assert COLLECTION.file != REPEATS.file and COLLECTION.key != REPEATS.key


def test_a_new_directory_is_described(tmp_path):
    place = tmp_path / "a" / "b"
    assert not JOB.is_in(place)
    JOB.begin(place, {"n": 1}, [1, "x"])
    assert JOB.is_in(place) and JOB.begins((place / "job.json").read_bytes()) and not JOB.is_begun(place)
    assert JOB.read(place) == {"finished": False, "parameters": {"n": 1}, "source": [1, "x"]}
    JOB.begin(place, {"n": 2}, None)  # nothing was done yet
    assert JOB.read(place)["parameters"] == {"n": 2}


@pytest.mark.parametrize(("before", "now", "words"), [
    (({"n": 1, "a": {"b": None}}, None), ({"n": 2, "a": {"b": "x"}}, None), 'of other parameters: a b null there, "x" here'),
    (({"n": 1}, None), ({"m": 1}, None), "of other parameters: m null there, 1 here"),
    (({}, {"in": [["a", 1, 5], ["b", 2, 6]]}), ({}, {"in": [["a", 1, 5], ["b", 3, 7]]}),
     'of another source: in b [2, 6] there, [3, 7] here'),
    (({}, {"in": [["a", 1]]}), ({}, {"in": [["c", 1]]}), 'of another source: in ["a", 1] there, ["c", 1] here'),
    (({}, {"in": [["a", 1]]}), ({}, {"in": []}), 'of another source: in [["a", 1]] there, [] here'),
    (({}, ["a", "b"]), ({}, ["a", "c"]), 'of another source: ["a", "b"] there, ["a", "c"] here'),
    (({}, "x" * 100), ({}, None), f"of another source: \"{'x' * 59}… there, null here"),
])
def test_another_job_is_refused_by_the_difference(tmp_path, before, now, words):
    JOB.begin(tmp_path, *before)
    FileShelf(tmp_path, "jobs").put("step", {}, {})
    JOB.begin(tmp_path, *before)
    with pytest.raises(OtherJob) as refused:
        JOB.begin(tmp_path, *now)
    assert f"{tmp_path} holds an unfinished job {words}; go on with the same" in str(refused.value)


def test_other_directories_are_refused(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("")
    with pytest.raises(FileExistsError, match="something else than a job"):
        JOB.begin(tmp_path / "mine", {}, None)
    JOB.begin(tmp_path / "done", {}, None)
    JOB.write(tmp_path / "done", {}, None, finished=True)
    with pytest.raises(FileExistsError, match="holds a finished job already"):
        JOB.begin(tmp_path / "done", {}, None)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ndcore.job": 3}', '{"ndcore.job": "3", "finished": true}',
                                  '{"ndcore.job": 3, "finished": false, "parameters": 5}', '{"ndcore.job":' + "[" * 100_000])
def test_damaged_descriptions(tmp_path, text):
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(CorruptFile, match="not the description of a job"):
        JOB.read(tmp_path)


def test_no_description_and_newer_ones(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no job"):
        JOB.read(tmp_path)
    (tmp_path / "job.json").write_text(json.dumps({"ndcore.job": 4, "other": 1}))
    with pytest.raises(ValueError, match="a job of format 4; this ndcore reads 3: upgrade ndcore"):
        JOB.read(tmp_path)


def test_one_works_at_a_time(tmp_path):
    JOB.make(tmp_path)
    with JOB.alone(tmp_path):
        JOB.begin(tmp_path, {}, None)
        with pytest.raises(BlockingIOError, match="this process; another job works there"), JOB.alone(tmp_path):
            pass
    with JOB.alone(tmp_path):
        JOB.remove(tmp_path)
    assert not tmp_path.exists()


def test_where_files_cannot_be_locked_nothing_is_held(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with JOB.alone(tmp_path), JOB.alone(tmp_path):
        assert not list(tmp_path.iterdir())


def test_a_job_is_removed_with_its_directory(tmp_path):
    begun(tmp_path / "a")
    FileShelf(tmp_path / "a", "jobs").put("parts/0", {}, {})
    assert JOB.is_begun(tmp_path / "a")
    JOB.remove(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_what_is_not_of_the_job_stays(tmp_path):
    begun(tmp_path / "a")
    (tmp_path / "a" / "mine").mkdir()
    (tmp_path / "a" / "mine" / "x").write_text("mine")
    JOB.remove(tmp_path / "a")
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["a", "a/mine", "a/mine/x"]
