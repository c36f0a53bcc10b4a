"""Recognise compressed data by their first bytes, decompress them in bounded pieces, and write them.

gzip: RFC 1952. zstd: RFC 8878. bzip2: https://sourceware.org/bzip2/. xz: *The .xz File Format*,
https://tukaani.org/xz/xz-file-format.txt. Several consecutive members or frames are one file. xz streams that need more
than 1 GiB of memory are refused.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

from ndcore.checks import missing
from ndcore.choices import COMPRESSIONS
from ndcore.files.block_compression import ZSTD_LEVEL, GzipBlocks, ZstdJobs, choose_deflate
from ndcore.files.errors import DocumentError
from ndcore.parallel import thread_count

_BUFFER = 1 << 20
_INPUT = 1 << 15  # compressed bytes read at a time
_OUTPUT = 1 << 20  # bytes decompressed at a time, for any ratio; zstd: _ZST_BLOCKS
_XZ_MEMORY = 1 << 30  # bytes that decompressing a file may need; "xz -9" needs 65 MiB
_GZIP = 31  # a value of `wbits`: header and trailer of gzip, a window of 32 KiB
_RESERVED = 0xE0  # flags of gzip that no writer sets: RFC 1952, section 2.3.1.2
_BZ2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_ZST_SKIPPABLE = b"\x2a\x4d\x18"
_ZST_BLOCKS = 8
_ZST_HEADER = 5  # bytes that determine the length of a header
_ZST_REST = 1 << 62  # everything that follows


_Decompressing: TypeAlias = tuple[Callable[[], Any], type[Exception]]
_Compressing: TypeAlias = contextlib.AbstractContextManager[IO[bytes]]


class DamagedData(Exception):
    """Compressed data are not valid; the message comes from the decompressor."""


class Frame(NamedTuple):
    """A piece of decompressed data. `start`: offset of the frame, if it begins with this piece; `end`: where it ends."""

    start: int | None
    data: bytes
    end: int | None


def recognise_compression(head: bytes) -> str:
    """Recognise the compression of a file (a key of CODECS), or an empty string, by its first 10 bytes or more."""
    if head[1:4] == _ZST_SKIPPABLE and 0x50 <= head[0] <= 0x5F:
        return "zst"
    if not head.startswith(_MAGICS):
        return ""
    name = next(name for name, codec in CODECS.items() if head.startswith(codec.magic))
    return "" if name == "bz2" and (head[3:4] not in b"123456789" or head[4:10] not in _BZ2_BLOCKS) else name


def read_frames(file: IO[bytes], compression: str, path: str, dictionary: bytes = b"") -> Iterator[Frame]:
    """Decompress the members of a compressed file, one after another, from the current position of `file`.

    `compression` is a key of CODECS; the frames of ``zst`` may need a dictionary. An unfinished last frame yields all data
    that can be decompressed, then raises EOFError; invalid data raise DamagedData. (The readers of ``gzip`` and
    ``zstandard`` hold back such data, or end a truncated file without an error.)
    """
    codec = CODECS[compression]
    return _expand(file, b"\0" if codec.padded else b"", *codec.frames(path, dictionary))


def _expand(file: IO[bytes], padding: bytes, new_frame: Callable[[], Any], error: type[Exception]) -> Iterator[Frame]:
    """Decompress as `read_frames`; `padding` may lie between frames."""
    offset, frame, first, data = file.tell(), None, True, b""
    while data := data or file.read(_INPUT):
        if frame is None:
            sound = data.lstrip(padding) if padding and not first else data
            offset += len(data) - len(sound)
            data = sound
            if not data:
                continue
            frame, first = new_frame(), False
            yield Frame(offset, b"", None)
        try:
            ready = frame.decompress(data)
            while not getattr(frame, "needs_input", True) and not frame.eof:
                yield Frame(None, ready, None)
                ready = frame.decompress(b"")
        except error as problem:
            raise DamagedData(str(problem)) from problem
        rest = frame.unused_data if frame.eof else b""
        offset += len(data) - len(rest)
        yield Frame(None, ready, offset if frame.eof else None)
        if frame.eof:
            frame = None
        data = rest
    if frame is not None:
        raise EOFError("the last frame is incomplete")


class _Member:
    """A decompressor of one gzip member that returns at most _OUTPUT bytes at once.

    It refuses reserved flags as ``zlib`` does, and ISA-L does not.
    """

    def __init__(self, module: Any) -> None:
        self._module, self._decompressor, self._head = module, module.decompressobj(_GZIP), b""
        self.decompress: Callable[[bytes], bytes] = self._begin
        self.needs_input = True

    def _begin(self, data: bytes) -> bytes:
        """Decompress the first bytes."""
        self._head += data[:4]
        if len(self._head) >= 4:
            self.decompress = self._go_on
            if self._head[3] & _RESERVED:
                raise self._module.error("unknown header flags set")
        return self._go_on(data)

    def _go_on(self, data: bytes) -> bytes:
        """Decompress more bytes, or the rest of the last ones if `data` is empty."""
        made: bytes = self._decompressor.decompress(data or self._decompressor.unconsumed_tail, _OUTPUT)
        # A full piece may leave output in the decompressor even where all input is used.
        self.needs_input = len(made) < _OUTPUT and not self._decompressor.unconsumed_tail
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decompressor, name)


class _Bounded:
    """A decompressor of ``bz2`` or ``lzma`` that returns at most _OUTPUT bytes at once."""

    def __init__(self, decompressor: Any) -> None:
        self._decompressor = decompressor

    def decompress(self, data: bytes) -> bytes:
        """Decompress at most _OUTPUT bytes."""
        made: bytes = self._decompressor.decompress(data, _OUTPUT)
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decompressor, name)


class _ZstdFrame:
    """A decompressor of one zstd frame that processes at most _ZST_BLOCKS blocks at once, of at most 128 KiB each.

    ``decompressobj`` decompresses its whole input, and three bytes may hold a block (RFC 8878, section 3.1.1.2).
    """

    def __init__(self, decompressor: Any) -> None:
        self._decompressor = decompressor
        self._pending, self._left = b"", 0  # bytes not passed on yet; bytes up to the end of a header or a block
        self._began = self._last = False
        self.needs_input = True

    def decompress(self, data: bytes) -> bytes:
        """Decompress a few blocks."""
        self._pending += data
        end = self._count_blocks()
        piece, self._pending = self._pending[:end], self._pending[end:]
        self.needs_input = not end or not self._pending
        made: bytes = self._decompressor.decompress(piece) if piece else b""
        return made

    def _count_blocks(self) -> int:
        """Count the pending bytes that make up the next whole blocks."""
        at = blocks = 0
        while True:
            step = min(self._left, len(self._pending) - at)
            at, self._left = at + step, self._left - step
            if self._left or blocks == _ZST_BLOCKS:
                return at
            size = self._measure(self._pending[at : at + _ZST_HEADER])
            if size == 0:
                return at
            self._left, blocks = size, blocks + 1

    def _measure(self, head: bytes) -> int:
        """Measure the header of the frame, or a block with its header; 0 if more bytes are needed to tell."""
        if not self._began:
            if len(head) < 5:
                return 0
            self._began = True
            if not head.startswith(CODECS["zst"].magic):  # a skippable frame, which holds no data
                return _ZST_REST
            single = head[4] >> 5 & 1
            content = (single, 2, 4, 8)[head[4] >> 6]
            return 5 + (1 - single) + (0, 1, 2, 4)[head[4] & 3] + content
        if self._last:  # only the checksum follows
            return _ZST_REST
        if len(head) < 3:
            return 0
        header = int.from_bytes(head[:3], "little")
        self._last = bool(header & 1)
        return 3 + (1 if header >> 1 & 3 == 1 else header >> 3)

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""
        return bool(self._decompressor.eof)

    @property
    def unused_data(self) -> bytes:
        """The bytes after the frame."""
        unused: bytes = self._decompressor.unused_data
        return unused + self._pending


def import_zstandard(path: str) -> Any:
    """Return the ``zstandard`` package; raise a DocumentError that says how to install it if it is missing."""
    try:
        import zstandard
    except ImportError as error:
        raise DocumentError(path, None, missing("zstandard", "reading .zst")) from error
    return zstandard


def _import_standard(name: str, path: str) -> Any:
    """Return ``bz2`` or ``lzma``; Python may have been built without them."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DocumentError(path, None, f"this Python was built without {name}; decompress the file first") from error


def _read_gzip(path: str, dictionary: bytes) -> _Decompressing:
    module = choose_deflate().module
    return lambda: _Member(module), module.error


def _read_zstd(path: str, dictionary: bytes) -> _Decompressing:
    module = import_zstandard(path)
    known = module.ZstdCompressionDict(dictionary) if dictionary else None
    decompressor = module.ZstdDecompressor(dict_data=known)
    return lambda: _ZstdFrame(decompressor.decompressobj()), module.ZstdError


def _read_bzip2(path: str, dictionary: bytes) -> _Decompressing:
    bz2 = _import_standard("bz2", path)
    return lambda: _Bounded(bz2.BZ2Decompressor()), OSError


def _read_xz(path: str, dictionary: bytes) -> _Decompressing:
    lzma = _import_standard("lzma", path)
    return lambda: _Bounded(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)), lzma.LZMAError


def _write_gzip(target: IO[bytes], path: str, threads: int) -> _Compressing:
    return _buffer(GzipBlocks(target, threads))


def _write_zstd(target: IO[bytes], path: str, threads: int) -> _Compressing:
    return _buffer(ZstdJobs(target, threads, import_zstandard(path)))


def _write_bzip2(target: IO[bytes], path: str, threads: int) -> _Compressing:
    return _buffer(_import_standard("bz2", path).BZ2File(target, "wb"))


def _write_xz(target: IO[bytes], path: str, threads: int) -> _Compressing:
    return _buffer(_import_standard("lzma", path).LZMAFile(target, "wb"))


@contextlib.contextmanager
def _buffer(made: Any) -> Iterator[IO[bytes]]:
    with made, io.BufferedWriter(made, _BUFFER) as buffered:
        yield buffered


class Codec(NamedTuple):
    """A compression: recognise, read and write its data.

    Attributes
    ----------
    magic : bytes
        The first bytes of a frame.
    frames : callable
        Gets a path, for messages, and a dictionary; returns a function that makes the decompressor of one frame, and the
        class of its errors. A decompressor has ``decompress(data)``, ``eof``, ``unused_data``, and ``needs_input`` if it
        returns bounded pieces.
    open : callable
        Gets a binary file, its path and a number of threads; returns a context manager of a file that compresses into it.
        Equal input gives equal bytes, with any number of threads.
    padded : bool
        NUL bytes may lie between frames.
    """

    magic: bytes
    frames: Callable[[str, bytes], _Decompressing]
    open: Callable[[IO[bytes], str, int], _Compressing]
    padded: bool = False


CODECS = dict(zip(COMPRESSIONS, (
    Codec(b"\x1f\x8b\x08", _read_gzip, _write_gzip, padded=True),
    Codec(b"\x28\xb5\x2f\xfd", _read_zstd, _write_zstd),
    Codec(b"BZh", _read_bzip2, _write_bzip2),
    Codec(b"\xfd7zXZ\0", _read_xz, _write_xz, padded=True),
), strict=True))
_MAGICS = tuple(codec.magic for codec in CODECS.values())


class _Frames(io.RawIOBase):
    """The pieces that `read_frames` yields, as a file."""

    def __init__(self, frames: Iterator[Frame]) -> None:
        self._frames = frames
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready:
            frame = next(self._frames, None)
            if frame is None:
                return 0
            self._ready = memoryview(frame.data)
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def open_decompressed(file: IO[bytes], compression: str, path: str) -> io.BufferedReader:
    """Return the decompressed bytes of `file` as a buffered file. Reading it raises DamagedData and EOFError."""
    return io.BufferedReader(_Frames(read_frames(file, compression, path)), _BUFFER)


def compress(data: bytes, compression: str) -> bytes:
    """Compress `data` into one gzip member, zstd frame, bzip2 or xz stream; equal data give equal bytes."""
    if not compression:
        return data
    if compression == "zst":  # in one piece, so that the frame states its decompressed size
        frame: bytes = import_zstandard("the output").ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True).compress(data)
        return frame
    target = io.BytesIO()
    with open_compressor(target, compression, "the output", 1) as file:
        file.write(data)
    return target.getvalue()


def open_compressor(target: IO[bytes], compression: str, path: str, threads: int | None = None) -> _Compressing:
    """Open a file that compresses into `target`; equal input gives equal bytes (no name, no time).

    gzip and zstd compress on `threads`; None: one for each CPU.
    """
    return CODECS[compression].open(target, path, thread_count(threads))


@contextlib.contextmanager
def open_writer(path: Path, compression: str, threads: int | None = None) -> Iterator[IO[bytes]]:
    """Open a new file that compresses its data, like `open_compressor`; empty `compression`: a plain file."""
    with path.open("xb", buffering=_BUFFER) as file:
        if compression:
            with open_compressor(file, compression, str(path), threads) as made:
                yield made
        else:
            yield file
