"""A source: one file of documents, or one stream; its format, and whether it can be read again.

Every source has a name, which is its path below ``kept/`` in the output of ``ndcore dedup``.
"""

# Paths stay the strings that the user gave, and a large directory has no Path for each of its files.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, NamedTuple

import numpy as np

from ndcore._types import Ints
from ndcore.choices import LONGEST_RECORD
from ndcore.files.errors import refuse_unreadable
from ndcore.files.formats import Format, guess_from_name, recognise
from ndcore.files.remote import is_remote

STDIN = "-"
STDIN_NAME = "stdin.jsonl"
TOGETHER = 128  # short files that are read, or copied, by one call of `_short`


class TextForm(NamedTuple):
    """The encoding that the user named for files without a byte order mark, and the delimiter of tables; empty: detected."""

    encoding: str = ""
    delimiter: str = ""


_DETECTED = TextForm()


@dataclass(slots=True)
class Source:
    """One file of documents, or one stream.

    Attributes
    ----------
    path : str
        The path as the user gave it; messages name the file by it.
    name : str
        Its path below ``kept/`` in the output of ``ndcore dedup``; unique among the sources of a collection.
    label : str
        The id of a text document; records without an id get ``<label>:<line>``.
    kind : str
        As for `Format`; for a stream, the kind that its name suggests until it is read.
    compression : str
        As for `Format`; files in ``kept/`` have the same.
    location : str
        The file to open: `path`, or the copy of a stream; empty until there is one.
    stored : str
        The compression of `location`: the same as `compression`, except for copies of streams.
    seen : int
        About the bytes of `location` that the current pass has read; after the pass, the size of the file.
    encoding, problem : str
        As for `Format`. The encoding of text and tables is empty until it is detected; UTF-8 is then ``utf-8``.
    named : bool
        Whether the user named this file; otherwise it was found in a directory.
    longest : int
        The largest size of a record in bytes, decompressed; see `explain_too_long`.
    archives : str
        The folder that the user named for the web archives of an index; empty: the folder of the index.
    form : TextForm
        The encoding and delimiter that the user named.
    as_bytes : bool
        Read texts as raw bytes, in any encoding.
    delimiter : str
        The delimiter of a table, once it has been detected.
    told : list of str
        Notes for the user on how the source was read.
    readable : int or None
        Rows of a columnar file before its first damage, once a pass has reached it: later passes end there.
    annotated_in_utf8 : bool
        Its encoding lacks a character of the verdicts, so its annotated rows are in UTF-8.
    size : int or None
        The size of the file when its format was recognised, in bytes; None if it is not known.
    """

    path: str
    name: str
    label: str
    kind: str
    compression: str
    location: str
    stored: str
    seen: int = 0
    encoding: str = ""
    problem: str = ""
    named: bool = True
    longest: int = LONGEST_RECORD
    archives: str = ""
    form: TextForm = _DETECTED
    as_bytes: bool = False
    delimiter: str = ""
    told: list[str] = field(default_factory=list)
    readable: int | None = None
    annotated_in_utf8: bool = False
    size: int | None = None

    @property
    def is_remote(self) -> bool:
        """Whether the source is at a URL and has no local copy."""
        return not self.location and is_url(self.path)

    def make_id(self, number: int | None) -> str:
        """Make the id of a document that has none, from the label and its line, row or record."""
        return self.label if number is None else f"{self.label}:{number}"

    def set_encoding(self, encoding: str) -> None:
        """Set the encoding that the text was read in, with a note if it is not UTF-8."""
        self.encoding = encoding
        if encoding != "utf-8" and f"as {encoding}" not in self.told:
            self.told.append(f"as {encoding}")


def read_otherwise(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Map each note on how sources were read (an encoding, a detected delimiter) to the paths of these sources."""
    paths: dict[str, list[str]] = {}
    for source in sources:
        for how in source.told:
            paths.setdefault(how, []).append(source.path)
    return paths


class TooLong(bytes):
    """Empty bytes in place of a record that was skipped because it is too long.

    Attributes
    ----------
    reason : str
    odd_quotes : bool
        It holds an odd number of double quotes: in CSV a quoted field begins or ends in it.
    """

    reason: str
    odd_quotes: bool

    @classmethod
    def of(cls, what: str, longest: int, odd_quotes: bool = False) -> TooLong:
        """Make one for a record; `what` names the record, as in "the line"."""
        made = cls()
        made.reason, made.odd_quotes = explain_too_long(what, longest), odd_quotes
        return made


def explain_too_long(what: str, longest: int) -> str:
    """Explain that something is longer than `longest` bytes, and how to read it."""
    return f"{what} is longer than {show_bytes(longest)}; a larger --max-record has it read"


def show_bytes(count: int) -> str:
    """Show a number of bytes, in MiB if it is a whole number of them."""
    return f"{count >> 20:,} MiB" if count and count % (1 << 20) == 0 else f"{count:,} bytes"


class Ignored(NamedTuple):
    """An entry of a directory that is skipped because it is not a document: where it is, and its kind."""

    path: str
    kind: str


@dataclass(slots=True)
class Inputs:
    """The sources that a list of inputs names.

    Attributes
    ----------
    sources : list of Source
        In reading order.
    ignored : list of Ignored
        Entries of directories that were skipped though no pattern excludes them: hidden files and folders, links to
        directories, sockets, devices, outputs of ndcore, and files that are not text.
    excluded : int
        Number of files and folders that patterns excluded.
    companions : list of (str, str)
        Path and name below ``kept/`` of ignored files that belong to the documents beside them.
    paths : list of str
        The inputs, with patterns of URLs expanded.
    """

    sources: list[Source]
    ignored: list[Ignored] = field(default_factory=list)
    excluded: int = 0
    companions: list[tuple[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def limit(self, longest: int) -> None:
        """Limit the size of records in every source."""
        for source in self.sources:
            source.longest = longest

    def find_archives_in(self, folder: str | None) -> None:
        """Set the folder of the web archives that indexes name. None: each is in the folder of its index."""
        for source in self.sources:
            source.archives = folder or ""


def is_stream(path: str) -> bool:
    """Tell whether `path` can be read only once: standard input, a FIFO, a socket, a terminal."""
    if path == STDIN:
        return True
    mode = os.stat(path).st_mode
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_url(path: str) -> bool:
    """Tell whether an input is a URL, and not an existing file with such a name."""
    return is_remote(path) and not os.path.lexists(path)


def format_of(path: str, binary: bool = False, encoding: str = "") -> Format:
    """Recognise the format of a file by its first bytes, or by its name alone if it cannot be read.

    With `binary`, a file that is not text counts as text in an unknown encoding.
    """
    try:
        with io.FileIO(path) as file:
            return recognise_source(path, file, binary, encoding)
    except OSError:  # reading it reports the error
        kind, compression = guess_from_name(path)
        return Format(kind or "text", compression)


def recognise_source(name: str, file: IO[bytes], binary: bool, encoding: str = "") -> Format:
    """Recognise the format of an open file; `binary` as for `format_of`."""
    file_format = recognise(name, file, encoding=encoding)
    if binary and file_format.kind == "text" and (file_format.binary or file_format.encoding):
        return file_format._replace(encoding="", problem="", binary="")
    return file_format


def starts_with(path: str, magic: bytes) -> bool:
    """Tell whether a file begins with `magic`; False for a stream, which can be read only once. Raises DocumentError."""
    with refuse_unreadable(path):
        if is_stream(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(magic)) == magic


def get_sizes(sources: Iterable[Source]) -> Iterator[int]:
    """Yield the stored size of each file in bytes, as found first; 0 for an unreadable file, which is reported later."""
    for source in sources:
        try:
            yield os.stat(source.location).st_size if source.size is None else source.size
        except OSError:
            yield 0


class Position:
    """The progress of a pass over sources. `at` is the number of the current source."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources, self.at = sources, 0
        self._ends: Ints | None = None

    def now(self) -> tuple[int, int] | None:
        """Return about (bytes of files read, bytes of all files), as stored. The first call takes O(sources).

        None while a stream is not copied yet: its size is unknown.
        """
        if self._ends is None:
            if not all(source.location for source in self._sources):
                return None
            self._ends = np.cumsum([0, *get_sizes(self._sources)], dtype=np.int64)
        total = int(self._ends[-1])
        if self.at >= len(self._sources):
            return total, total
        start, end = int(self._ends[self.at]), int(self._ends[self.at + 1])
        return min(start + self._sources[self.at].seen, end), total
