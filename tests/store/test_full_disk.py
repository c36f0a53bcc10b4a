"""A full disk: what was acknowledged is there, the store goes on, and takes pages again when there is room."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest
from stores import settings

import ndcore as nd
from ndcore.cli.main import main
from ndcore.store import store as module
from ndcore.store.opening import Checkpoints

resource = pytest.importorskip("resource")

PROGRAM = """
import json, random, resource, sys
import ndcore as nd
from ndcore.store import store as module
module.CHECKPOINT = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
chance, kept, errors = random.Random(1), [], []
store = nd.Store.open(sys.argv[1], durability=sys.argv[4])
for i in range(120):
    text = " ".join(f"{chance.getrandbits(40):x}" for _ in range(120))
    try:
        if i % 3:
            store.decide(i, text, i)
            kept.append(i)
        else:
            list(store.decide_many([(i, text, i), (-i - 1, text, i)], threads=1))
            kept += [i, -i - 1]
    except OSError as error:
        errors.append(str(error))
        assert store.peek(text).verdict in ("kept", "identical")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.decide("after", "there is room again")
store.close()
print(json.dumps([kept, errors]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit, every, durability", [(70_000, 1 << 16, "batch"), (70_000, 20, "each"), (40_000, 5, "batch")])
def test_a_disk_that_is_full(tmp_path, limit, every, durability):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "store"), str(limit), str(every), durability],
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    kept, errors = json.loads(done.stdout)
    assert errors and all("are free there" in each for each in errors), errors[:3]
    with nd.Store.open(tmp_path / "store") as store:
        assert all(key in store for key in [*kept, "after"]) and store.check() == []
        assert len(store) >= len(kept) + 1


def test_a_second_writer_is_refused(tmp_path):
    with nd.Store.open(tmp_path / "store", **settings()) as store:
        store.decide("a", "x")
        store.flush()
        with pytest.raises(BlockingIOError, match="open for writing by this process"):
            nd.Store.open(tmp_path / "store")
        done = subprocess.run([sys.executable, "-c", f"import ndcore as nd; nd.Store.open({str(tmp_path / 'store')!r})"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "open for writing by process" in done.stderr
        with nd.Store.open(tmp_path / "store", read_only=True) as reader:
            assert "a" in reader


def failing(fault):
    def fail(*arguments):
        raise OSError(fault, os.strerror(fault), "derived-0")

    return fail


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT])
def test_a_checkpoint_that_finds_no_room_fails_no_call_and_is_told(tmp_path, monkeypatch, fault):
    monkeypatch.setattr(module, "CHECKPOINT", 1)
    with nd.Store.open(tmp_path / "store", **settings()) as store:
        with monkeypatch.context() as full:
            full.setattr(Checkpoints, "write", failing(fault))
            store.decide("a", "one two three")
            store.remove("a")
            store.decide("b", "one two three")
        assert "b" in store and "a" not in store
        assert os.strerror(fault) in store.checkpoint_problem == store.stats()["checkpoint_problem"]
        store.decide("c", "four five six")
        assert store.checkpoint_problem is None and store.stats()["checkpoint_problem"] is None
        monkeypatch.setattr(Checkpoints, "write", failing(fault))
        store.decide("d", "seven eight nine")
    assert os.strerror(fault) in store.checkpoint_problem


@pytest.mark.parametrize("fault", [errno.EIO, errno.EACCES, errno.EROFS, errno.ENOENT])
def test_a_checkpoint_that_fails_in_another_way_is_an_error_before_the_call_does_anything(tmp_path, monkeypatch, fault):
    monkeypatch.setattr(module, "CHECKPOINT", 1)
    store = nd.Store.open(tmp_path / "store", **settings())
    store.decide("a", "one two three")
    with monkeypatch.context() as broken:
        broken.setattr(Checkpoints, "write", failing(fault))
        for call in (lambda: store.decide("b", "four five"), lambda: store.remove("a"), lambda: store.expire("2100-01-01"),
                     lambda: list(store.decide_many([("c", "six")]))):
            with pytest.raises(OSError, match="no checkpoint could be written") as caught:
                call()
            assert caught.value.errno == fault
            assert "a" in store and len(store) == 1 and os.strerror(fault) in store.checkpoint_problem
        with pytest.raises(OSError, match="no checkpoint could be written"):
            store.compact()
        assert "a" in store
        with pytest.raises(OSError, match="no checkpoint could be written"):
            store.close()
    with nd.Store.open(tmp_path / "store") as again:
        assert "a" in again and len(again) == 1 and again.check() == [] and again.checkpoint_problem is None


def test_the_command_says_that_no_checkpoint_was_written(tmp_path, monkeypatch, capsys):
    place = str(tmp_path / "store")
    nd.Store.open(place, **settings()).close()
    (tmp_path / "a.jsonl").write_text('{"id": "a", "text": "one two three"}\n')
    monkeypatch.setattr(Checkpoints, "write", failing(errno.ENOSPC))
    assert main(["store", "decide", place, str(tmp_path / "a.jsonl"), "-q"]) == 0
    assert "has all pages, but no checkpoint could be written, so the next opening reads its log" in capsys.readouterr().err
