"""Read remote files, named by URLs, through fsspec (the extra ``remote``, and for some protocols a further package)."""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ndcore.checks import missing
from ndcore.files.errors import DocumentError, UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?:::|://)")
_MAGIC = re.compile(r"[*?\[]")
_HEAD = 1 << 16  # bytes of a file by which its format is recognised
_STATE = ("etag", "mtime", "lastmodified", "updated", "generation")  # keys of fsspec in lower case, without hyphens
_AT_ONCE = 256  # files whose first bytes are requested together


def is_remote(path: str) -> bool:
    """Tell whether `path` is a URL: it begins with a protocol of two letters or more and ``://``, or ``::``."""
    return _URL.match(path) is not None


def expand_pattern(url: str) -> list[str]:
    """List the URLs that match a pattern, sorted; a URL without ``*``, ``?`` and ``[`` is returned alone.

    Raises
    ------
    DocumentError
        Nothing matches, a package is missing, or the place cannot be reached.
    """
    base = url.partition("?")[0] if url.startswith(("http://", "https://")) else url
    if not _MAGIC.search(base):
        return [url]
    with _reach(url) as (files, path):
        matches = sorted(name for name, about in files.glob(path, detail=True).items() if about["type"] == "file")
    if not matches:
        raise DocumentError(url, None, "no file matches")
    return [files.unstrip_protocol(name) for name in matches]


def list_files(url: str) -> list[tuple[str, str]] | None:
    """List (URL, path below it) of every file below a directory, sorted by path; None for a file.

    Raises
    ------
    DocumentError
        It does not exist, a package is missing, or the place cannot be reached.
    UsageError
        A file has a name that no file below ``kept/`` can have.
    """
    with _reach(url) as (files, path):
        if files.info(path)["type"] != "directory":
            return None
        names = sorted(files.find(path))
    if "::" in url:
        raise UsageError(f"{url} is a directory within another file; name the files in it")
    pairs = [(files.unstrip_protocol(name), posixpath.relpath(name, path.rstrip("/") or "/")) for name in names]
    for full, relative in pairs:
        if {"..", ".", ""} & set(relative.split("/")) or "\0" in relative:
            raise UsageError(f"the name of {full} is not one of a file below {url}; name such files one by one")
    return pairs


def read_beginnings(urls: Sequence[str]) -> Iterator[bytes]:
    """Yield the first 64 KiB of each file, or 1 MiB of bzip2. Raises DocumentError."""
    for start in range(0, len(urls), _AT_ONCE):
        part = urls[start : start + _AT_ONCE]
        with _reach(part[0]) as (files, _):
            paths = [_open_filesystem(url)[1] for url in part]
            heads = files.cat_ranges(paths, [0] * len(part), [_HEAD] * len(part), on_error="return")
        for url, path, head in zip(part, paths, heads, strict=True):
            with _convert_errors(url):
                if isinstance(head, Exception):
                    raise head
                yield files.cat_file(path, start=0, end=_HEAD << 4) if head.startswith(b"BZh") else head


def read_remote_chunks(url: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file, in chunks of at most `size`. Raises DocumentError."""
    with _reach(url) as (files, path):
        streamed = {"block_size": 0} if url.startswith(("http://", "https://")) else {}  # servers may not support ranges
        with files.open(path, "rb", **streamed) as file:
            while data := file.read(size):
                yield data


@contextlib.contextmanager
def open_remote(url: str, buffer: int) -> Iterator[io.BufferedReader]:
    """Open a file in place, with a buffer of this many bytes; see `has_ranges`. Raises DocumentError."""
    with _reach(url) as (files, path), files.open(path, "rb") as file:
        yield io.BufferedReader(file, buffer)


def read_state(url: str) -> tuple[int | None, str]:
    """Read the size of a file, None if the server does not report it, and its time, ETag or version, if reported.

    Raises DocumentError.
    """
    with _reach(url) as (files, path):
        about = files.info(path)
    told = {re.sub("[_-]", "", name.lower()): str(value) for name, value in about.items()}
    size = about.get("size")
    return None if size is None else int(size), str([told.get(name) for name in _STATE])


def has_ranges(url: str, size: int) -> bool:
    """Tell whether a part of a file of this size can be read alone, by reading its last byte. Raises DocumentError."""
    with _reach(url) as (files, path), files.open(path, "rb") as file:
        try:
            file.seek(size - 1)
            return len(file.read(1)) == 1
        except ValueError:  # raised by fsspec if a server has no ranges
            return False


def _open_filesystem(url: str) -> tuple[Any, str]:
    """Find the filesystem of fsspec for a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise DocumentError(url, None, missing("fsspec", "reading URLs")) from error
    files, path = url_to_fs(url)
    return files, str(path)


@contextlib.contextmanager
def _reach(url: str) -> Iterator[tuple[Any, str]]:
    """Yield what `_open_filesystem` returns, and convert the errors of the block."""
    with _convert_errors(url):
        yield _open_filesystem(url)


@contextlib.contextmanager
def _convert_errors(url: str) -> Iterator[None]:
    """Turn errors of fsspec, and of packages below it, into DocumentErrors."""
    try:
        yield
    except DocumentError:
        raise
    except Exception as error:
        what = " ".join(str(error).split())[:300]
        protocol = url.partition("://")[0]
        if isinstance(error, ImportError):
            reason = f"the protocol {protocol} needs a package that is not installed: {what}"
        elif isinstance(error, FileNotFoundError):
            reason = "no such file or directory"
        elif isinstance(error, ValueError) and "rotocol" in what:
            reason = f"fsspec knows no protocol {protocol}: {what}"
        else:
            reason = f"cannot be read: {what or type(error).__name__}"
        raise DocumentError(url, None, reason) from error
