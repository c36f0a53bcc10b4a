"""The log: what was synced survives every kind of stop and every damaged byte, and the log always opens."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store import log as log_module
from ndcore.store import log_files
from ndcore.store.log import Log
from ndcore.store.log_files import HEADER

TAG = b"tag!"
START = 32


def payloads_of(place, **options):
    """Open a log, return its payloads and what was found damaged."""
    log = Log.open(place, tag=TAG, **options)
    try:
        found = [payload for _, payload in log.scan()]
        return found, log.damage
    finally:
        log.close()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def small_files(monkeypatch):
    """Files of 200 bytes."""
    monkeypatch.setattr(log_module, "ROTATE", 200)


@pytest.fixture
def no_disk(monkeypatch):
    """Leave out the waiting for the disk, in tests that open a log thousands of times."""
    monkeypatch.setattr(log_module, "_sync_data", lambda descriptor: None)
    monkeypatch.setattr(log_module, "sync", lambda place: None)


def unclosed(place, payloads):
    """Write a log and leave it as a crash leaves it. Returns its bytes."""
    log = Log.create(place, TAG)
    for payload in payloads:
        log.append([payload])
    log.sync()
    del log
    return (place / "00000000.log").read_bytes()


def test_what_is_appended_comes_back(place, small_files):
    some = [bytes([i]) * (i * 7 + 1) for i in range(40)]
    with pytest.raises(FileNotFoundError, match="holds no log"):
        Log.open(place.parent)
    log = Log.create(place, TAG)
    positions = [position for i in range(0, 40, 4) for position in log.append(some[i : i + 4])]
    assert positions == sorted(positions) and len(list(place.iterdir())) > 5
    assert [log.read(position) for position in positions] == some
    assert list(log.scan()) == list(zip(positions, some, strict=True))
    assert list(log.scan(positions[17])) == list(zip(positions, some, strict=True))[17:]
    assert list(log.scan(log.end)) == []
    log.close()
    log = Log.open(place)
    assert log.tag == TAG and log.cut == 0
    assert list(log.scan()) == list(zip(positions, some, strict=True))
    assert [log.read(position) for position in positions] == some and log.damage == []
    log.close()


def test_nothing_and_large_things(place, monkeypatch):
    log = Log.create(place, TAG)
    assert log.append([]) == [] and list(log.scan()) == []
    with pytest.raises(ValueError, match="1 byte to 1 GiB, not 0"):
        log.append([b"x", b""])
    monkeypatch.setattr(log_module, "MOST_PAYLOAD", 100)
    with pytest.raises(ValueError, match="not 101"):
        log.append([b"x" * 101])
    assert list(log.scan()) == []
    monkeypatch.undo()
    large = os.urandom(20 << 20)  # more than one write
    at = log.append([b"a", large, b"z"])
    assert log.read(at[1]) == large and log.read(at[2]) == b"z"
    log.close()
    assert payloads_of(place) == ([b"a", large, b"z"], [])


def test_an_append_is_one_write_and_one_sync(place, monkeypatch):
    log, calls = Log.create(place, TAG), []
    log.sync()
    write, sync = os.pwrite, log_module._sync_data
    monkeypatch.setattr(os, "pwrite", lambda *a: calls.append("write") or write(*a))
    monkeypatch.setattr(log_module, "_sync_data", lambda *a: calls.append("sync") or sync(*a))
    log.append([b"a", b"b", b"c"])
    log.sync()
    log.sync()
    assert calls == ["write", "sync", "write"]  # the last one is the mark
    log.append([b"d"])
    log.append([b"e"])
    assert calls[3:] == ["write", "write"]


def test_every_prefix_of_the_writes_opens(tmp_path, small_files, monkeypatch):
    """Replay every prefix of the trace of system calls, with every length of the last write: synced payloads are there."""
    trace, write, begin = [], os.pwrite, Log._begin_file
    log_place = tmp_path / "traced"
    monkeypatch.setattr(os, "pwrite", lambda d, data, at: trace.append((log._numbers[-1] if log else 0, bytes(data), at))
                        or write(d, data, at))
    log = None
    synced = []  # (length of the trace, payloads that are on disk)
    monkeypatch.setattr(Log, "_begin_file", lambda self, number: (trace.append((number, None, 0)), begin(self, number))[1])
    log = Log.create(log_place, TAG)
    done = []
    for i in range(9):
        batch = [bytes([65 + i]) * (5 * i + 1), b"second of %d" % i]
        log.append(batch)
        done += batch
        if i % 3 != 1:
            log.sync()
            synced.append((len(trace), list(done)))
    log.close()
    monkeypatch.undo()
    monkeypatch.setattr(log_module, "ROTATE", 200)
    monkeypatch.setattr(log_module, "_sync_data", lambda descriptor: None)
    monkeypatch.setattr(log_module, "sync", lambda place: None)
    # the first bytes of a new file were traced with the number of the file before: the entry before tells
    events, number = [], 0
    for _, data, at in trace:
        if data is None:
            number = _
            events.append((number, b"", 0))
        else:
            events.append((number, data, at))
    assert events[-1][0] >= 2
    written = {}
    for k, (number, data, at) in enumerate(events):
        on_disk = max((payloads for length, payloads in synced if length <= k), key=len, default=[])
        for part in range(len(data) + 1):
            files = {**written, number: written.get(number, b"")[:at] + data[:part]}
            copy = tmp_path / "copy"
            copy.mkdir()
            for each, content in files.items():
                (copy / f"{each:08}.log").write_bytes(content)
            found, damage = payloads_of(copy)
            assert found[: len(on_disk)] == on_disk and found == done[: len(found)] and damage == [], (k, part)
            again = Log.open(copy, tag=TAG)
            again.append([b"more"])
            again.close()
            assert payloads_of(copy) == ([*found, b"more"], [])
            shutil.rmtree(copy)
        written[number] = written.get(number, b"")[:at] + data


@pytest.mark.parametrize("closed", [False, True])
def test_truncation_at_every_byte(no_disk, place, closed):
    some = [b"one", b"two" * 10, b"three"]
    content = unclosed(place, some)
    if closed:
        Log.open(place).close()
        content = (place / "00000000.log").read_bytes()
    ends = [START + sum(map(len, some[:i])) + HEADER * i for i in range(4)]
    for size in range(len(content)):
        (place / "00000000.log").write_bytes(content[:size])
        whole = [payload for payload, end in zip(some, ends[1:], strict=True) if end <= size]
        assert payloads_of(place, read_only=True)[0] == whole
        assert (place / "00000000.log").stat().st_size == size, "a reader changes nothing"
        log = Log.open(place, tag=TAG)
        kept = [end for end in [*ends, len(content)] if end <= size]
        assert log.cut == (size - kept[-1] if kept else 0)
        assert [payload for _, payload in log.scan()] == whole
        log.append([b"more"])
        log.close()
        assert payloads_of(place) == ([*whole, b"more"], [])


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_a_flipped_byte_anywhere(no_disk, place, closed, flip):
    some = [b"one", TAG + b"two" * 10, b"three" + TAG]
    content = unclosed(place, some)
    if closed:
        Log.open(place).close()
        content = (place / "00000000.log").read_bytes()
    ends = [START + sum(map(len, some[: i + 1])) + HEADER * (i + 1) for i in range(3)]
    for i in range(len(content)):
        damaged = bytearray(content)
        damaged[i] ^= flip
        shutil.rmtree(place)
        place.mkdir()
        (place / "00000000.log").write_bytes(damaged)
        hit = sum(i >= end for end in ends)
        expected = some if i < START else some[:hit] + some[hit + 1 :]
        assert payloads_of(place, read_only=True)[0] == expected, i
        found, damage = payloads_of(place)
        assert found == expected, i
        if i < START or hit < (3 if closed else 2):  # the last frame may be a write that never ended
            assert len(damage) == 1 and str(place) in damage[0], i
        log = Log.open(place, tag=TAG)
        log.append([b"more"])
        log.close()
        assert payloads_of(place)[0] == [*expected, b"more"], i


def test_damage_in_the_middle_of_several_files(place, small_files):
    some = [b"%d" % i * 30 for i in range(30)]
    log = Log.create(place, TAG)
    positions = log.append(some[:1])
    for payload in some[1:]:
        positions += log.append([payload])
    log.close()
    numbers = sorted(place.iterdir())
    (place / "00000001.log").write_bytes(numbers[1].read_bytes()[:-3])
    numbers[2].unlink()
    damaged = bytearray(numbers[3].read_bytes())
    damaged[40] ^= 1
    numbers[3].write_bytes(damaged)
    log = Log.open(place)
    found = dict(log.scan())
    lost = [p for p in positions if p not in found]
    assert all(found[p] == payload for p, payload in zip(positions, some, strict=True) if p in found)
    in_two = [p for p in positions if p >> 40 == 2]
    assert lost == [[p for p in positions if p >> 40 == 1][-1], *in_two, next(p for p in positions if p >> 40 == 3)]
    assert len(log.damage) == 3 and any("missing" in each for each in log.damage) and log.missing == ["00000002.log"]
    for position in lost:
        with pytest.raises(CorruptFile, match="goes on without it"):
            log.read(position)
    log.close()


@pytest.mark.parametrize("position", [-1, 0, 31, 33, 1 << 40, 1 << 62, 1 << 90, (1 << 40) - 1])
def test_positions_that_do_not_exist(place, position):
    unclosed(place, [b"payload"])
    with pytest.raises(CorruptFile):
        Log.open(place).read(position)


def test_a_file_of_another_store_is_never_cut(tmp_path):
    content = unclosed(tmp_path / "other", [b"theirs"])
    log = Log.create(tmp_path / "log", b"mine")
    log.append([b"ours"])
    log.close()
    with pytest.raises(CorruptFile, match="belongs to another store, with the tag 6d696e65 and not 74616721"):
        Log.open(tmp_path / "log", tag=TAG)
    (tmp_path / "log" / "00000001.log").write_bytes(content + b"torn")
    with pytest.raises(CorruptFile, match=r"it says that it is the file 00000000\.log"):
        Log.open(tmp_path / "log")
    assert (tmp_path / "log" / "00000001.log").read_bytes() == content + b"torn"


def test_what_cannot_be_read_is_not_taken_for_damage(place, small_files, monkeypatch):
    some = [b"%d" % i * 60 for i in range(6)]
    log = Log.create(place, TAG)
    positions = [log.append([payload])[0] for payload in some]
    log.close()

    def too_many(self, path, flags):
        self.descriptor = -1
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    for read_only in (False, True):
        log = Log.open(place, read_only=read_only)
        with monkeypatch.context() as patched:
            patched.setattr(log_files.LogFile, "__init__", too_many)
            with pytest.raises(OSError, match="Too many open files"):
                list(log.scan())
            with pytest.raises(OSError, match="Too many open files"):
                log.read(positions[0])
        assert log.damage == [] and [payload for _, payload in log.scan()] == some
        log.close()


@pytest.mark.parametrize("synced", [0, 1, 2, 3])
def test_behind_the_last_mark_the_log_is_a_prefix(place, synced):
    """The loss of power keeps a later write and drops an earlier one. Before a mark that costs one payload."""
    log = Log.create(place, TAG)
    positions = []
    for i in range(4):
        positions += log.append([b"%d" % i * 100])
        if i < synced:
            log.sync()
    del log
    content = bytearray((place / "00000000.log").read_bytes())
    content[positions[1] + 20 : positions[1] + 60] = bytes(40)
    (place / "00000000.log").write_bytes(content)
    expected = [b"%d" % i * 100 for i in ((0,) if synced < 2 else (0, 2, 3))]
    for read_only in (True, False):
        assert payloads_of(place, read_only=read_only) == (expected, payloads_of(place, read_only=True)[1])
    assert len(payloads_of(place)[1]) == (synced >= 2)


def test_threads_that_sync_while_another_one_begins_a_file(place, small_files, monkeypatch):
    """The entry of a new file is on disk before its first payload, whoever waits for the file before."""
    log, order = Log.create(place, TAG), []
    data, sync = log_module._sync_data, log_files.sync
    monkeypatch.setattr(log_files, "sync", lambda path: (order.append("entry"), sync(path)))
    log.append([b"a" * 100])

    def meanwhile(descriptor):
        monkeypatch.setattr(log_module, "_sync_data", data)
        log.append([b"b" * 100])
        data(descriptor)

    monkeypatch.setattr(log_module, "_sync_data", meanwhile)
    log.sync()
    assert order == ["entry"] and len(list(place.iterdir())) == 2
    log.close()
    assert payloads_of(place) == ([b"a" * 100, b"b" * 100], [])


def test_another_format_is_refused(place):
    import struct
    import zlib

    unclosed(place, [b"x"])
    first = struct.pack("<8sI4sQI", log_files.MAGIC, 2, TAG, 0, 0)
    (place / "00000000.log").write_bytes(first + struct.pack("<I", zlib.crc32(first)))
    with pytest.raises(ValueError, match="format 2; this ndcore reads 1: upgrade ndcore"):
        Log.open(place)


def test_open_reads_from_the_position_that_the_caller_knows(place):
    some = [b"a" * 50, b"b", b"c"]
    unclosed(place, some)
    log = Log.open(place, read_only=True)
    positions = [position for position, _ in log.scan()]
    content = bytearray((place / "00000000.log").read_bytes())
    content[60] ^= 1
    (place / "00000000.log").write_bytes(content)
    assert Log.open(place, read_only=True, start=positions[1]).damage == []
    late = Log.open(place, read_only=True, start=1 << 30)
    assert any("had" in each for each in late.damage) and [payload for _, payload in late.scan()] == some[1:]


def test_a_reader_follows(place, small_files):
    log = Log.create(place, TAG)
    reader = Log.open(place, read_only=True)
    assert list(reader.scan()) == []
    for i in range(30):
        start = reader.end
        positions = log.append([b"%d" % i * 20, b"x"])
        assert list(reader.scan(start)) == []
        assert reader.refresh() == log.end
        if positions[0] >> 40 == start >> 40:
            assert start == positions[0]
        assert [payload for _, payload in reader.scan(start)] == [b"%d" % i * 20, b"x"]
        assert reader.read(positions[1]) == b"x"
    with pytest.raises(ValueError, match="read_only"):
        reader.append([b"x"])
    log.close()
    assert reader.refresh() == Log.open(place, read_only=True).end and reader.damage == []
    assert len(list(reader.scan())) == 60


def test_a_full_disk_is_undone(place, monkeypatch):
    log = Log.create(place, TAG)
    log.append([b"before"])
    write, room = os.pwrite, [50]

    def full(descriptor, data, at):
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data, room[0] = data[: room[0]], room[0] - len(data)
        return write(descriptor, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="are free there") as caught:
        log.append([b"x" * 40, b"y" * 40])
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(place / "00000000.log")
    assert [payload for _, payload in log.scan()] == [b"before"]
    room[0] = 1 << 20
    log.append([b"after"])
    log.close()
    assert payloads_of(place) == ([b"before", b"after"], [])


def test_a_real_limit_of_size_is_undone(place):
    resource = pytest.importorskip("resource")
    assert resource
    program = f"""
import resource, sys
from ndcore.store.log import Log
log = Log.create({str(place)!r}, b"tag!")
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
n = 0
for i in range(20):
    try:
        log.append([b"x" * 990]); log.sync(); n += 1
    except OSError as error:
        assert "are free there" in str(error), error
log.append([b"small"]); log.sync()
log.close()
print(n)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"
    assert payloads_of(place) == ([b"x" * 990] * 4 + [b"small"], [])


def test_a_disk_that_fails_stops_the_log(place, monkeypatch):
    log = Log.create(place, TAG)
    log.append([b"a"])
    assert log.broken is None

    def fail(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(log_module, "_sync_data", fail)
    with pytest.raises(OSError, match="Input/output"):
        log.sync()
    monkeypatch.undo()
    assert "open the store again" in str(log.broken)
    for call in (log.sync, lambda: log.append([b"b"])):
        with pytest.raises(OSError, match="open the store again"):
            call()
    log.close()
    assert payloads_of(place) == ([b"a"], [])


def test_a_closed_log_and_a_fork_do_not_write(place):
    log = Log.create(place, TAG)
    position = log.append([b"a"])[0]
    child = os.fork()
    if not child:
        code = 1
        try:
            log.append([b"from the child"])
        except ValueError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    log.close()
    log.close()
    for call in (lambda: log.append([b"b"]), log.sync, lambda: log.read(position)):
        with pytest.raises(ValueError, match="is closed"):
            call()


def test_create_needs_an_empty_directory(place):
    unclosed(place, [b"a"])
    with pytest.raises(FileExistsError, match="empty directory"):
        Log.create(place, TAG)
    with pytest.raises(ValueError, match="4 bytes"):
        Log.create(place / "new", b"long tag")


def test_the_tag_is_asked_for_where_no_file_tells_it(place):
    unclosed(place, [b"a"])
    content = bytearray((place / "00000000.log").read_bytes())
    content[0] ^= 1
    (place / "00000000.log").write_bytes(content)
    with pytest.raises(CorruptFile, match="the tag of the store is not known"):
        Log.open(place)
    assert payloads_of(place)[0] == [b"a"]


def test_threads_append_sync_and_read(place, small_files, monkeypatch):
    monkeypatch.setattr(log_files, "MOST_OPEN", 3)
    log, problems = Log.create(place, TAG), []

    def work(name):
        try:
            for i in range(60):
                positions = log.append([b"%d %d" % (name, i), b"x" * 20])
                log.sync()
                assert log.read(positions[0]) == b"%d %d" % (name, i)
                assert log.read(START) in (b"0 0", b"1 0", b"2 0")
        except BaseException as error:
            problems.append(error)
            raise

    threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == [] and not any(thread.is_alive() for thread in threads)
    assert len(list(log.scan())) == 360 and log.damage == []
    log.close()
