"""Join documents into submissions: what one person handed in, as a file, a folder, or a record."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ndcore._types import Ints, Text
from ndcore.choices import COMPRESSIONS, LANGUAGES, TEXT_SUFFIXES
from ndcore.files.discovery import name_inputs
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, Rejections, UsageError
from ndcore.files.formats import WHOLE
from ndcore.files.lexer_processes import LexerError, LexerProcesses
from ndcore.files.sources import Source, show_bytes
from ndcore.parallel import map_pieces
from ndcore.text.lexing import LexedProgram

TEXT = "text"  # the language of essays, whose tokens are words
_LANGUAGE_OF = {suffix: language for language, suffixes in LANGUAGES.items() for suffix in suffixes}


class SubmittedFile(NamedTuple):
    """A file or record of a submission: its place as the user knows it, and where its text begins."""

    place: str
    start: int


class Submission(NamedTuple):
    """What one person handed in: the concatenated texts of its files.

    Attributes
    ----------
    name : str
    text : str
    files : tuple of SubmittedFile
    lexed : LexedProgram or None
        The tokens of programs, with their places in `text`; None for text, whose tokens are words.
    """

    name: str
    text: str
    files: tuple[SubmittedFile, ...]
    lexed: LexedProgram | None

    @property
    def compared(self) -> str:
        """The text that a shingling of words, or of lines for programs, reads."""
        return self.text if self.lexed is None else self.lexed.text


class _Part(NamedTuple):
    """A document of a submission: its position, its source, its place, its text."""

    position: int
    source: Source
    number: int | None
    text: Text


class Submissions:
    """The submissions of some documents, in order.

    Each record is a submission. If one directory was named, each file and each folder in it is a submission; if several
    inputs were named, each input is one.

    Parameters
    ----------
    documents : FileDocuments
    inputs : sequence of str
        The paths that the user named.
    language : str or None
        The language of all files: "text", or a name in `LANGUAGES`. None: the language of each file's suffix; other formats
        than plain text are "text".
    lexers : LexerProcesses or None
        Reads programs; None: there are no programs.
    largest : int
        The largest program, in bytes of UTF-8.
    skip : bool
        List files that cannot be read as programs in `rejected`, and continue.
    threads : int or None

    Attributes
    ----------
    names : list of str
        The names of the submissions that `read` has yielded; at the end, records with the same id are distinguished by
        their places.
    rejected : list of Rejected
    """

    def __init__(
        self, documents: FileDocuments, inputs: Sequence[str], language: str | None, lexers: LexerProcesses | None,
        largest: int, skip: bool, threads: int | None,
    ) -> None:
        self.documents, self._language, self._lexers = documents, language, lexers
        self._largest, self._skip, self._threads = largest, skip, threads
        self._inputs = set(name_inputs(inputs))
        self._sources = {source.path: source for source in documents.sources}
        self.names: list[str] = []
        self._positions: list[list[int]] = []  # the positions of the documents of each submission
        self.rejected = Rejections(skip)

    def read(self) -> Iterator[Submission]:
        """Yield the submissions.

        Raises
        ------
        DocumentError
            A document cannot be read, or not as a program in its language, and such files are not skipped.
        """
        self.names, self._positions, self.rejected = [], [], Rejections(self._skip)
        parts = self._parts(self._batches())
        for submission, positions, errors in self._make_submissions(parts):
            for error in errors:
                self.rejected.add(error)
            if positions:
                self.names.append(submission.name)
                self._positions.append(positions)
                yield submission
        holders = Counter(self.names)
        self.names = [name if holders[name] == 1 else f"{name} ({self.files(number)[0]})"
                      for number, name in enumerate(self.names)]

    def load(self, chosen: Iterable[int]) -> dict[int, Submission]:
        """Read some of the submissions again, given the places of their names; their texts are in memory.

        Raises DocumentError if one can no longer be read.
        """
        wanted, order = np.zeros(len(self.documents.ids), np.bool_), sorted(set(chosen))
        for number in order:
            wanted[self._positions[number]] = True
        parts, loaded = self._parts(self.documents.selected(wanted)), list[Submission]()
        for submission, _, errors in self._make_submissions(parts):
            for error in errors:
                raise error
            loaded.append(submission)
        return {number: each._replace(name=self.names[number]) for number, each in zip(order, loaded, strict=True)}

    def files(self, number: int) -> list[str]:
        """Return the places of the documents of a submission."""
        return [str(self.documents.place(position)) for position in self._positions[number]]

    def _batches(self) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield the positions and texts of all documents."""
        at = 0
        for texts in self.documents.batches():
            yield np.arange(at, at + len(texts)), texts
            at += len(texts)

    def _parts(self, batches: Iterable[tuple[Ints, Sequence[Text]]]) -> Iterator[_Part]:
        """Yield documents with their sources."""
        for positions, texts in batches:
            for position, text in zip(positions.tolist(), texts, strict=True):
                place = self.documents.place(position)
                yield _Part(position, self._sources[place.file], place.line, text)

    def _make_submissions(self, parts: Iterator[_Part]) -> Iterator[tuple[Submission, list[int], list[DocumentError]]]:
        """Yield each submission, the positions of its documents, and the reasons why others were left out."""
        pieces = ((name, list(own)) for (name, _), own in itertools.groupby(parts, self._key))
        return map_pieces(lambda piece: self._make(*piece), pieces, self._threads)

    def _key(self, part: _Part) -> tuple[str, int]:
        """Return the name of the submission of a document, and for a record its number."""
        if part.source.kind not in WHOLE:
            return str(self.documents.ids[part.position]), part.position
        folders = part.source.name.split("/")
        depth = next((i for i in range(1, len(folders)) if "/".join(folders[:i]) in self._inputs), len(folders))
        if len(self._inputs) > 1:
            return "/".join(folders[:depth]), -1
        return folders[min(depth, len(folders) - 1)], -1

    def _make(self, name: str, parts: list[_Part]) -> tuple[Submission, list[int], list[DocumentError]]:
        """Join documents into a submission."""
        texts, length, files, lexed = list[str](), 0, list[SubmittedFile](), list[tuple[int, LexedProgram]]()
        positions, errors = list[int](), list[DocumentError]()
        for part in parts:
            try:
                text = _decode(part)
                language = language_of(part.source, self._language)
                if language != TEXT:
                    lexed.append((length, self._lex(part, text, language)))
            except DocumentError as error:
                errors.append(error)
                continue
            positions.append(part.position)
            place = part.source.path if part.number is None else f"{part.source.path}:{part.number}"
            files.append(SubmittedFile(place, length))
            texts.append(text if text.endswith("\n") else f"{text}\n")
            length += len(texts[-1])
        return Submission(name, "".join(texts), tuple(files), _join(lexed) if lexed else None), positions, errors

    def _lex(self, part: _Part, text: str, language: str) -> LexedProgram:
        """Read a program as tokens. Raises DocumentError."""
        size = len(text.encode())
        if size > self._largest:
            raise DocumentError(part.source.path, part.number, f"has {show_bytes(size)}, and a program may have "
                                f"{show_bytes(self._largest)}; raise --max-program, or leave it out with --exclude or "
                                "--on-error skip")
        assert self._lexers is not None
        try:
            return self._lexers.lex(text, language)
        except LexerError as error:
            raise DocumentError(part.source.path, part.number, str(error)) from error


def language_of(source: Source, chosen: str | None) -> str:
    """Return the language of a file: the chosen one, or its suffix's. Raises DocumentError for an unknown suffix."""
    if chosen is not None:
        return chosen
    *stem, suffix = source.path.rpartition("/")[2].lower().split(".")
    if suffix in COMPRESSIONS and stem:
        *stem, suffix = stem
    if source.kind != "text" or (stem and suffix in TEXT_SUFFIXES):
        return TEXT
    if stem and suffix in _LANGUAGE_OF:
        return _LANGUAGE_OF[suffix]
    known = " ".join(f".{each}" for each in (*TEXT_SUFFIXES, *_LANGUAGE_OF))
    raise DocumentError(source.path, None, f"its name does not tell its language; known are {known}. Name the language with "
                        "--language, or leave the file out with --exclude or --on-error skip")


def check_languages(sources: Sequence[Source], chosen: str | None, skip: bool) -> set[str]:
    """Determine the languages of files before any is read.

    Raises
    ------
    DocumentError
        A language is unknown, and such files are not skipped.
    UsageError
        Some files are text and others programs: their tokens cannot be compared.
    """
    first: dict[str, str] = {}  # language -> the first file
    for source in sources:
        try:
            first.setdefault(language_of(source, chosen), source.path)
        except DocumentError:
            if not skip:
                raise
    programs = [language for language in first if language != TEXT]
    if TEXT in first and programs:
        raise UsageError(f"{first[TEXT]} is text, and {first[programs[0]]} is a program ({programs[0]}): they are not "
                         "compared; choose with --include or --exclude, or name the language of all files with --language")
    return set(first)


def _decode(part: _Part) -> str:
    """Decode the text of a document. Raises DocumentError."""
    if isinstance(part.text, str):
        return str(part.text)
    try:
        return part.text.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(part.source.path, part.number, f"is not UTF-8 (byte {error.object[error.start]:#04x} at "
                            f"{error.start:,}); name its encoding with --encoding") from error


def _join(lexed: list[tuple[int, LexedProgram]]) -> LexedProgram:
    """Concatenate programs, given where each begins in the joint text."""
    return LexedProgram("\n".join(program.text for _, program in lexed if program.text),
                        np.concatenate([start + program.starts for start, program in lexed]),
                        np.concatenate([start + program.ends for start, program in lexed]))
