"""Writers of gzip and zstd that compress on several threads; the output depends only on the data and the library.

Each byte of a gzip stream depends on the 32 KiB before it, so a plain writer uses one CPU. Here the data are split into
blocks. Each block is compressed by itself, with the 32 KiB before it as dictionary, and ends at a whole byte by a sync
flush (an empty stored block). So the concatenated compressed blocks are one stream, in one member that every reader
accepts. The zstd library does the same itself: *Zstandard manual*, ``ZSTD_c_nbWorkers``.

RFC 1951, section 3.2; RFC 1952, section 2.3; M. Adler, *pigz*, https://zlib.net/pigz/.
"""

from __future__ import annotations

import io
import struct
import zlib
from abc import abstractmethod
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any, NamedTuple

BLOCK = 1 << 20  # bytes that are compressed at a time; shorter data are compressed without another thread
_WINDOW = 1 << 15  # bytes that a reader of deflate remembers
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # without name, time and system
_RAW = -15  # a value of `wbits`: neither header nor trailer
ZSTD_LEVEL = 3


class Deflate(NamedTuple):
    """A library for deflate: its module, which has the functions of ``zlib``, and the compression level."""

    module: Any
    level: int


def choose_deflate() -> Deflate:
    """Choose ISA-L if ``isal`` is installed, else ``zlib``.

    ISA-L reads twice as fast and writes eight times as fast; its output is a tenth larger.
    """
    try:
        from isal import isal_zlib
    except ImportError:
        return Deflate(zlib, 6)
    return Deflate(isal_zlib, 3)


class _BlockWriter(io.RawIOBase):
    """A file that passes on the data in blocks of BLOCK bytes, the last one shorter."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target, self._pending = target, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pending += data
        while len(self._pending) > BLOCK:
            block = bytes(memoryview(self._pending)[:BLOCK])
            del self._pending[:BLOCK]
            self._add(block)
        return len(data)

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._finish(bytes(self._pending))
        finally:
            self._pending.clear()
            super().close()

    @abstractmethod
    def _add(self, block: bytes) -> None:
        """Compress a block that is not the last."""

    @abstractmethod
    def _finish(self, block: bytes) -> None:
        """Compress the last block, and write the end of the format."""


class GzipBlocks(_BlockWriter):
    """A file that writes one gzip member to `target`; `threads` compress blocks, with two blocks for each in memory."""

    def __init__(self, target: IO[bytes], threads: int) -> None:
        super().__init__(target)
        self._deflate, self._threads = choose_deflate(), threads
        self._pool: ThreadPoolExecutor | None = None
        self._flight: deque[Future[bytes]] = deque()
        self._window, self._checksum, self._size = b"", 0, 0
        target.write(_HEADER)

    def _add(self, block: bytes) -> None:
        window = self._count(block)
        if self._threads == 1:
            self._target.write(_deflate_block(self._deflate, block, window, False))
            return
        self._pool = self._pool or ThreadPoolExecutor(self._threads)
        if len(self._flight) == 2 * self._threads:
            self._target.write(self._flight.popleft().result())
        self._flight.append(self._pool.submit(_deflate_block, self._deflate, block, window, False))

    def _finish(self, block: bytes) -> None:
        try:
            window = self._count(block)
            last = _deflate_block(self._deflate, block, window, True)
            while self._flight:
                self._target.write(self._flight.popleft().result())
            self._target.write(last + struct.pack("<II", self._checksum, self._size & 0xFFFFFFFF))
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def _count(self, block: bytes) -> bytes:
        """Add a block to the checksum and the size; return the bytes before it."""
        window = self._window
        self._checksum, self._size = self._deflate.module.crc32(block, self._checksum), self._size + len(block)
        self._window = block[-_WINDOW:]
        return window


def _deflate_block(deflate: Deflate, block: bytes, window: bytes, last: bool) -> bytes:
    """Compress a block that follows the bytes `window`; unless it is the `last`, more blocks can follow."""
    module = deflate.module
    known = {"zdict": window} if window else {}
    compressor = module.compressobj(deflate.level, module.DEFLATED, _RAW, **known)
    made: bytes = compressor.compress(block) + compressor.flush(module.Z_FINISH if last else module.Z_SYNC_FLUSH)
    return made


class ZstdJobs(_BlockWriter):
    """A file that writes one zstd frame to `target`.

    Starting the threads of zstd takes as long as compressing 50 KB, so data up to BLOCK bytes are compressed without them.
    """

    def __init__(self, target: IO[bytes], threads: int, module: Any) -> None:
        super().__init__(target)
        self._threads, self._module = threads, module
        self._writer: Any = None

    def _add(self, block: bytes) -> None:
        if self._writer is None:  # one thread: any number of threads gives the same bytes, but none gives others
            compressor = self._module.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True, threads=self._threads)
            self._writer = compressor.stream_writer(self._target, closefd=False)
        self._writer.write(block)

    def _finish(self, block: bytes) -> None:
        if self._writer is None:
            compressor = self._module.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True)
            self._target.write(compressor.compress(block))
        else:
            self._writer.write(block)
            self._writer.close()
