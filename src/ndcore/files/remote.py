"""Files elsewhere, named by URLs and read through fsspec: the extra ``remote``, and the package of each protocol."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ndcore.checks import missing
from ndcore.files.errors import DocumentError, UsageError

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?:::|://)")
_MAGIC = re.compile(r"[*?\[]")
_HEAD = 1 << 16  # bytes of a file that tell its format
_AT_ONCE = 256  # files whose first bytes are asked for together


def is_remote(path: str) -> bool:
    """Whether `path` is a URL: it begins with a protocol of two letters or more and ``://``, or ``::``."""
    return _URL.match(path) is not None


def expanded(url: str) -> list[str]:
    """Return the URLs that a pattern stands for, sorted; of a URL without ``*``, ``?`` and ``[`` itself.

    Raises
    ------
    DocumentError
        Nothing matches, a package is missing, or the place cannot be reached.
    """
    base = url.partition("?")[0] if url.startswith(("http://", "https://")) else url
    if not _MAGIC.search(base):
        return [url]
    with _Told(url):
        files, path = _filesystem(url)
        found = sorted(name for name, about in files.glob(path, detail=True).items() if about["type"] == "file")
    if not found:
        raise DocumentError(url, None, "no file matches")
    return [files.unstrip_protocol(name) for name in found]


def listed(url: str) -> list[tuple[str, str]] | None:
    """Return (URL, path below it) of every file below a directory, sorted by path; None of a file.

    Raises
    ------
    DocumentError
        It does not exist, a package is missing, or the place cannot be reached.
    UsageError
        The name of a file cannot be that of a file below ``kept/``.
    """
    with _Told(url):
        files, path = _filesystem(url)
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


def beginnings(urls: Sequence[str]) -> Iterator[bytes]:
    """Yield the first 64 KiB of each file; 1 MiB where bzip2 needs it. Raises DocumentError."""
    for start in range(0, len(urls), _AT_ONCE):
        part = urls[start : start + _AT_ONCE]
        with _Told(part[0]):
            files, _ = _filesystem(part[0])
            paths = [_filesystem(url)[1] for url in part]
            heads = files.cat_ranges(paths, [0] * len(part), [_HEAD] * len(part), on_error="return")
        for url, path, head in zip(part, paths, heads, strict=True):
            with _Told(url):
                if isinstance(head, Exception):
                    raise head
                yield files.cat_file(path, start=0, end=_HEAD << 4) if head.startswith(b"BZh") else head


def remote_chunks(url: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file, in chunks of at most `size`. Raises DocumentError."""
    with _Told(url):
        files, path = _filesystem(url)
        with files.open(path, "rb") as file:
            while data := file.read(size):
                yield data


def _filesystem(url: str) -> tuple[Any, str]:
    """The filesystem of fsspec that a URL names, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise DocumentError(url, None, missing("fsspec", "reading URLs")) from error
    files, path = url_to_fs(url)
    return files, str(path)


class _Told:
    """Within it, whatever fsspec and the packages below it raise becomes a DocumentError of a URL."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, DocumentError) or not isinstance(error, Exception):
            return
        what = " ".join(str(error).split())[:300]
        protocol = self._url.partition("://")[0]
        if isinstance(error, ImportError):
            reason = f"the protocol {protocol} needs a package that is not installed: {what}"
        elif isinstance(error, FileNotFoundError):
            reason = "no such file or directory"
        elif isinstance(error, ValueError) and "rotocol" in what:
            reason = f"fsspec knows no protocol {protocol}: {what}"
        else:
            reason = f"cannot be read: {what or type(error).__name__}"
        raise DocumentError(self._url, None, reason) from error
