"""Short files: read and copied together, as each would be alone."""

import os
import signal
import stat
from pathlib import Path

import numpy as np
import pytest

from ndcore import _short
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.outputs import OutputDirectory
from ndcore.files.rewritten_inputs import write_kept
from ndcore.progress import resolve

pytestmark = pytest.mark.skipif(os.name == "nt", reason="on Windows every file is read alone")


def state(path):
    """The three numbers of a file that `_short` compares."""
    status = Path(path).stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def test_short_files_are_read_with_their_states(tmp_path):
    contents = {"empty": b"", "one": b"x", "full": bytes(range(256)) * 4, "ä\udcff": b"name"}
    paths = []
    for name, data in contents.items():
        paths.append(str(tmp_path / name))
        Path(paths[-1]).write_bytes(data)
    texts, states = _short.read(paths, 1024)
    assert texts == list(contents.values())
    assert states.tolist() == [state(path) for path in paths]


def test_files_that_others_have_to_read_are_left_to_them(tmp_path):
    (tmp_path / "long").write_bytes(b"x" * 1025)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # without a writer: opening it for reading would wait
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "short").write_bytes(b"y")
    (tmp_path / "link").symlink_to(tmp_path / "short")
    names = ["long", "folder", "pipe", "dangling", "missing", "short", "link"]
    assert _short.read([str(tmp_path / name) for name in names], 1024)[0] == [None] * 5 + [b"y", b"y"]
    if Path("/proc/self/stat").exists():  # its size is 0, and it is not empty
        assert _short.read(["/proc/self/stat"], 1024)[0] == [None]


def test_more_files_than_fit_in_the_buffer_at_once(tmp_path):
    sizes = [*np.random.default_rng(1).integers(0, _short.MOST + 1, 40).tolist(), _short.MOST, _short.MOST + 1, 0]
    paths = [tmp_path / f"{i}" for i in range(len(sizes))]
    for i, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        path.write_bytes(bytes([i]) * size)
    texts, _ = _short.read([str(path) for path in paths], _short.MOST)
    assert texts == [None if size > _short.MOST else bytes([i]) * size for i, size in enumerate(sizes)]


def test_copies_have_the_bytes_and_the_permissions_of_new_files(tmp_path):
    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    for path, data in zip(paths, (b"", b"b" * 5000, b"c" * _short.MOST), strict=True):
        Path(path).write_bytes(data)
        Path(path).chmod(0o700)
    targets = [f"{path}.copy" for path in paths]
    states = np.array([state(path) for path in paths])
    assert _short.copy(paths, targets, states).tolist() == [True, True, True]
    (tmp_path / "new").touch()
    for path, target in zip(paths, targets, strict=True):
        assert Path(target).read_bytes() == Path(path).read_bytes()
        assert stat.S_IMODE(Path(target).stat().st_mode) == stat.S_IMODE((tmp_path / "new").stat().st_mode)


def test_what_changed_or_has_a_target_is_not_copied(tmp_path):
    path, target = tmp_path / "a", tmp_path / "target"
    path.write_bytes(b"text")
    for place in range(3):  # size, time, inode
        other = np.array([state(path)])
        other[0, place] += 1
        assert _short.copy([str(path)], [str(target)], other).tolist() == [False]
        assert not target.exists()
    target.write_bytes(b"before")
    same = np.array([state(path)])
    assert _short.copy([str(path)], [str(target)], same).tolist() == [False]
    assert target.read_bytes() == b"before"
    assert _short.copy([str(path)], [str(tmp_path / "no" / "folder")], same).tolist() == [False]
    assert _short.copy([str(tmp_path / "missing")], [str(tmp_path / "b")], same).tolist() == [False]


def test_a_copy_that_does_not_fit_leaves_no_target(tmp_path):
    resource = pytest.importorskip("resource")
    path, target = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"x" * 5000)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        copied = _short.copy([str(path)], [str(target)], np.array([state(path)])).tolist()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert copied == [False]
    assert not target.exists()


def test_no_files():
    texts, states = _short.read([], 10)
    assert texts == []
    assert states.shape == (0, 3)
    assert _short.copy([], [], states).tolist() == []


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="at most 65536 bytes, not 65537"):
        _short.read([], _short.MOST + 1)
    with pytest.raises(ValueError, match="has no NUL"):
        _short.read(["a\0b"], 10)
    with pytest.raises(ValueError, match="has no NUL"):
        _short.copy(["a"], ["a\0b"], np.zeros((1, 3), np.int64))
    for targets, shape in ((["b", "c"], (1, 3)), (["b"], (2, 3)), (["b"], (1, 2))):
        with pytest.raises(ValueError, match="1 files are copied to as many"):
            _short.copy(["a"], targets, np.zeros(shape, np.int64))


# ---- documents


def make_tree(folder):
    """A folder with files of all the ways to be read."""
    files = {
        "a/1.txt": b"one two three four five six", "a/2.txt": b"", "a/3.txt": "größer als ß".encode(),
        "a/4.txt": b"x" * 70_000,
        "a/5.txt": "größer".encode("utf-16"), "a/6.txt": b"\xef\xbb\xbfwith a mark", "a/7.html": b"<html><p>a page</html>",
        "a/8.txt": b"one two three four five six", "b/1.jsonl": b'{"id": "j", "text": "a line"}\n', "b/2.md": b"x" * 65_536,
        "b/3.txt": b"y" * 65_537, "b/4.bin": b"\0\1\2", "b/5.txt": b"z" * 8192, "b/6.txt": b"z" * 8193,
        "b/7.txt": b"\x1b$B%F%9%H\x1b(B in ISO-2022-JP", "c/1.eml": b"From: a\nDate: b\n\nmail\n", "c/2": b"bare",
    } | {f"d/{i:03}.txt": b"document %d" % i for i in range(140)}
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(folder)


def read_all(tree, chosen=None, **options):
    """Everything that documents tell."""
    with FileDocuments([tree], on_error="skip", **options) as docs:
        texts = [text for batch in docs.batches() for text in batch]
        again = [text for batch in docs.batches() for text in batch]
        mask = np.arange(len(docs)) % 3 == 0
        selected = [(int(i), text) for where, batch in docs.selected(mask) for i, text in zip(where, batch, strict=True)]
        assert again == texts
        assert selected == [(i, texts[i]) for i in np.flatnonzero(mask)]
        places = [docs.place(i) for i in range(len(docs))]
        counts = [docs.counts(i) for i in range(len(docs.sources))]
        return (texts, list(docs.ids), places, counts, docs.rejected, docs.ignored, docs.position(), docs.text_bytes,
                [(source.path, source.encoding, source.told) for source in docs.sources])


def alone(monkeypatch):
    """Have every file read and copied alone, as on Windows."""
    monkeypatch.setattr(_short, "read", lambda paths, most: ([None] * len(paths), np.zeros((len(paths), 3), np.int64)))
    monkeypatch.setattr(_short, "copy", lambda paths, targets, states: np.zeros(len(paths), np.bool_))


def test_documents_are_those_of_files_read_alone(tmp_path, monkeypatch):
    tree = make_tree(tmp_path / "tree")
    (tmp_path / "tree" / "a" / "9.txt").write_bytes(b"\xff\xfe\xfd in no encoding \x81\x8d" * 3)
    for options in ({}, {"html": "page"}):
        with monkeypatch.context() as patched:
            together = read_all(tree, **options)
            alone(patched)
            assert together == read_all(tree, **options)
            assert len(together[0]) > 150


@pytest.mark.parametrize("threads", [1, 2])
def test_kept_files_are_those_written_alone(tmp_path, monkeypatch, threads):
    tree = make_tree(tmp_path / "tree")

    def write(name):
        with FileDocuments([tree], threads=threads) as docs, OutputDirectory(str(tmp_path / name)) as output:
            docs.scan()
            write_kept(output, docs, np.arange(len(docs)) % 5 != 0, resolve(None))
            output.staging.commit()
        written = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {path.relative_to(tmp_path / name): path.read_bytes() for path in written}

    together = write("together")
    alone(monkeypatch)
    assert together == write("alone")
    assert len(together) > 120


@pytest.mark.parametrize("when", ["again", "copied"])
def test_a_short_file_that_changed_is_refused(tmp_path, when):
    tree = make_tree(tmp_path / "tree")
    with FileDocuments([tree]) as docs:
        docs.scan()
        (tmp_path / "tree" / "d" / "123.txt").write_bytes(b"DOCUMENT 123")
        os.utime(tmp_path / "tree" / "d" / "123.txt", ns=(1, 1))
        with pytest.raises(DocumentError, match=r"d/123\.txt: changed while ndcore was reading it"):
            if when == "again":
                list(docs.batches())
            else:
                with OutputDirectory(str(tmp_path / "out")) as output:
                    write_kept(output, docs, np.ones(len(docs), np.bool_), resolve(None))
