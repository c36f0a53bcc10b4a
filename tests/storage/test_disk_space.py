"""A disk that is full: every error of writing names the path that the user knows, and what to do."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import ndcore as nd
from ndcore.cli.main import main
from ndcore.storage.container import replacing
from ndcore.storage.disk_space import name_place, naming, sync_tree
from ndcore.storage.spill import SpooledArray, SpooledSets

resource = pytest.importorskip("resource")
LIMIT = 40_000

# No file may be longer: writing past it fails as on a full disk (EFBIG in place of ENOSPC).
LIMITED = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({LIMIT}, {LIMIT}))
import ndcore.cli.main
sys.exit(ndcore.cli.main.main(sys.argv[1:]))
"""


def limited(*arguments, **options):
    return subprocess.run([sys.executable, "-c", LIMITED, *map(str, arguments)], capture_output=True, text=True, check=False,
                          **options)


@pytest.fixture
def texts(tmp_path):
    """1 MB of lines that differ."""
    place = tmp_path / "in.jsonl"
    words = [[f"{(i * j * 7919) % 99991:x}" for j in range(1, 40)] for i in range(4000)]
    place.write_text("".join(json.dumps({"text": " ".join(line)}) + "\n" for line in words))
    return place


@pytest.mark.parametrize("command, named", [
    (("dedup", "{in}", "-o", "{out}", "-q"), "{out}/kept/in.jsonl"),
    (("dedup", "{in}", "-o", "{out}", "--table", "{t}.csv", "-q"), "{t}.csv"),
    (("sketch", "{in}", "-o", "{out}", "-q"), "{out}"),
    (("sketch", "{in}", "-o", "{out}", "--kind", "simhash", "--learn", "{t}.ndw", "-q"), "{t}.ndw"),
    (("cluster", "{in}", "-o", "{out}", "-q"), "{out}/sketches/00000000.ndc"),
    (("dedup", "-", "-o", "{out}", "-q"), "{tmp}"),
    (("dedup", "{in}", "-o", "{out}", "--memory", "100K", "-q"), "{tmp}"),
    (("cluster", "{in}", "-o", "{out}", "--memory", "100K", "-q"), "{out}/sketches/00000000.ndc"),
])
def test_commands_name_the_path(tmp_path, texts, command, named):
    (tmp_path / "tmp").mkdir()
    names = {"in": texts, "out": tmp_path / "out", "tmp": tmp_path / "tmp", "t": tmp_path / "t"}
    arguments = [argument.format(**names) for argument in command]
    options = {"input": texts.read_text()} if "-" in arguments else {}
    done = limited(*arguments, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, **options)
    assert done.returncode == 1, done.stderr
    assert f"{named.format(**names)}" in done.stderr and "are free there" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr and ".tmp" not in done.stderr, done.stderr
    assert ("TMPDIR" in done.stderr) == (named == "{tmp}"), done.stderr
    if command[0] != "cluster":  # which goes on with what is there
        assert not (tmp_path / "out").exists()


def test_a_collection_goes_on_when_there_is_room(tmp_path, texts):
    done = limited("cluster", texts, "-o", tmp_path / "c", "--modulus", "4", "-q")
    assert done.returncode == 1 and "are needed" in done.stderr
    assert main(["cluster", str(texts), "-o", str(tmp_path / "c"), "--modulus", "4", "-q"]) == 0
    assert len(nd.Collection.open(tmp_path / "c", verify=True)) == 4000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_is_named(texts):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "ndcore", "info"], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)
    assert done.returncode != 0
    assert done.stderr.startswith("ndcore: standard output: No space left on device"), done.stderr


def test_what_an_error_names(tmp_path):
    def named(filename, number=errno.ENOSPC, **options):
        error = OSError(number, "words", filename) if filename else OSError(number, "words")
        name_place(error, tmp_path / "known", **options)
        return error.filename, error.strerror

    known = str(tmp_path / "known")
    assert named(None)[0] == known and "are free there" in named(None)[1]
    assert "12.0 KB are needed" in named(None, need=12_000)[1] and "do this;" in named(None, hint="do this")[1]
    assert named(None, errno.EACCES) == (known, "words")
    assert named("/another/place") == ("/another/place", "words")
    assert named(str(tmp_path / "x.tmp"), inside=tmp_path / "x.tmp")[0] == known
    assert named(str(tmp_path / "x.tmp" / "a" / "b"), inside=tmp_path / "x.tmp")[0] == f"{known}/a/b"
    assert named("/another/place", inside=tmp_path / "x.tmp") == ("/another/place", "words")
    with pytest.raises(OSError, match="words") as caught, naming("/known"):
        raise OSError(errno.ENOSPC, "words")
    assert caught.value.filename == "/known"


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_arrays_in_temporary_files(monkeypatch, tmp_path):
    import numpy as np

    class Full:
        write = flush = seek = full

        def close(self):
            full()

    monkeypatch.setattr("ndcore.storage.spill.tempfile.TemporaryFile", lambda **_: Full())
    monkeypatch.setattr("ndcore.storage.spill.tempfile.gettempdir", lambda: str(tmp_path))
    with pytest.raises(OSError, match="set TMPDIR") as caught:
        SpooledArray(np.uint8, 10).append(np.zeros(100, np.uint8))
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(OSError, match="set TMPDIR"):
        SpooledSets(10).append(np.zeros(100, np.uint64), np.array([0, 100]))
    with pytest.raises(OSError, match="set TMPDIR"):
        nd.near_duplicates(iter(["a text", "another text"]))


def test_a_page_is_written_whole_or_not(tmp_path):
    (tmp_path / "page").write_bytes(b"before")
    with pytest.raises(OSError, match="No space") as caught, replacing(tmp_path / "page", durable=False, need=7) as file:
        file.write(b"half")
        full()
    assert caught.value.filename == str(tmp_path / "page") and "7 bytes are needed" in str(caught.value)
    assert (tmp_path / "page").read_bytes() == b"before" and [*tmp_path.iterdir()] == [tmp_path / "page"]


def test_the_disk_is_asked_for_a_directory_where_the_system_can_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = {"": 0, "fails": errno.EIO, "is full": errno.ENOSPC, "cannot tell": errno.EINVAL}
    for what, number in failures.items():
        library = SimpleNamespace(syncfs=lambda descriptor, number=number: ctypes.set_errno(number) or (-1 if number else 0))
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, library=library, **__: library)
        with pytest.raises(OSError, match=str(tmp_path)) if what in ("fails", "is full") else contextlib.nullcontext():
            sync_tree(tmp_path)
    asked: list[str] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: SimpleNamespace())  # macOS
    monkeypatch.setattr(os, "sync", lambda: asked.append("all"), raising=False)
    sync_tree(tmp_path)
    assert asked == ["all"]
