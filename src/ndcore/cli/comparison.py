"""What ``ndcore compare`` finds out: two documents, how much they resemble, and where they do and do not."""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndcore._types import Text
from ndcore.alignment.passages import Passages, passages
from ndcore.cli.summary import plain, printable
from ndcore.files.compression import FORMATS, Damaged, decompressed
from ndcore.files.discovery import find
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.formats import WHOLE, recognise
from ndcore.files.ndcore_files import refuse_own
from ndcore.files.provenance import Place
from ndcore.files.sources import STDIN, format_of, is_stream, is_url
from ndcore.files.stream_copies import read_whole
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.text.inputs import as_bytes, original_digest
from ndcore.text.resemblance import Overlap, overlap
from ndcore.text.shingling import Shingling

_SHINGLING = ("unit", "width", "labelled", "short", "normalize")
_SKETCHES: dict[str, Callable[..., MinHasher | BottomSketcher | ModSketcher]] = {
    "84 minima": functools.partial(MinHasher, num_perm=84),
    "200 smallest": functools.partial(BottomSketcher, size=200),
    "adaptive sample": functools.partial(ModSketcher, modulus="adaptive"),
}
_HOST = re.compile(r"\w+://[^/]*:\d+")  # a URL that ends with a port
_SENTENCES = {
    "identical": "identical, byte for byte",
    "lexical": "lexically equivalent: the same tokens in the same order",
    "shingle": "shingle-equivalent: the same set of shingles",
    "near": "near-duplicates",
    "different": "not near-duplicates",
    "none": "cannot be compared: {who} no shingles, and could only be identical to another document",
}


@dataclass(frozen=True)
class Estimate:
    """What sketches say: resemblance, containment of a in b and of b in a, each with its interval of 95 % confidence."""

    sketch: str
    recipe: str
    resemblance: float
    interval: tuple[float, float]
    containment: tuple[float, float]
    containment_intervals: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Document:
    """One of the two: `name` as it was given, `length` in code points of a str and bytes of bytes."""

    name: str
    text: Text
    tokens: int
    shingles: int

    @property
    def length(self) -> str:
        return f"{len(self.text):,} {'bytes' if isinstance(self.text, bytes) else 'characters'}"


@dataclass(frozen=True)
class Comparison:
    """Two texts compared: the exact figures, what sketches make of them, and the passages.

    `verdict` is identical | lexical | shingle | near | different | none (one has no shingles).
    """

    a: Document
    b: Document
    shingling: Shingling
    threshold: float
    verdict: str
    exact: Overlap
    estimates: list[Estimate]
    passages: Passages

    @property
    def containment(self) -> tuple[float, float]:
        """Of a in b, and of b in a; nan where either has no shingles."""
        return self.exact.containment, Overlap(self.exact.common, self.exact.size_b, self.exact.size_a).containment

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        empty = [letter for letter, document in (("A", self.a), ("B", self.b)) if not document.shingles]
        who = "A and B have" if len(empty) == 2 else f"{''.join(empty)} has"
        return _SENTENCES[self.verdict].format(who=who)


def compare(a: Text, b: Text, names: tuple[str, str], shingling: Shingling, threshold: float) -> Comparison:
    """Compare two texts exactly, by sketches, and passage by passage. O(n log n)."""
    exact = overlap(a, b, shingling)
    canonical = shingling.shingler.canonical(shingling.batch([a, b]), bytes)
    found = passages(a, b, shingling)
    tokens = [own[-1].last if own else 0 for own in found]
    return Comparison(
        Document(names[0], a, tokens[0], exact.size_a),
        Document(names[1], b, tokens[1], exact.size_b),
        shingling,
        threshold,
        _verdict(_identical(a, b, exact), canonical[0] == canonical[1], exact, threshold),
        exact,
        [_estimate(name, sketcher(shingling=shingling), a, b) for name, sketcher in _SKETCHES.items()],
        found,
    )


def _identical(a: Text, b: Text, exact: Overlap) -> bool:
    """Compare the bytes of two texts; of texts without shingles, those of what they were extracted from."""
    if exact.size_a or exact.size_b:
        return as_bytes(a) == as_bytes(b)
    return original_digest(a) == original_digest(b)


def _verdict(identical: bool, lexical: bool, exact: Overlap, threshold: float) -> str:
    if identical:
        return "identical"
    if not (exact.size_a and exact.size_b):
        return "none"
    if lexical:
        return "lexical"
    if exact.resemblance == 1:
        return "shingle"
    return "near" if exact.resemblance >= threshold else "different"


def _estimate(name: str, sketcher: MinHasher | BottomSketcher | ModSketcher, a: Text, b: Text) -> Estimate:
    sketches = sketcher.sketch_many([a, b], threads=1)
    return Estimate(
        name,
        sketches.recipe.id,
        sketches.resemblance(0, 1),
        sketches.interval(0, 1),
        (sketches.containment(0, 1), sketches.containment(1, 0)),
        (sketches.interval(0, 1, quantity="containment"), sketches.interval(1, 0, quantity="containment")),
    )


def as_json(found: Comparison) -> dict[str, Any]:
    """All of a comparison for programs. Passages have offsets in the documents, and the text there; of bytes that are not
    UTF-8, ``\\xNN``."""
    documents = {
        side: {
            "name": document.name,
            "length": len(document.text),
            "length_unit": "byte" if isinstance(document.text, bytes) else "code point",
            "tokens": document.tokens,
            "shingles": document.shingles,
            "passages": [{**p._asdict(), "text": _shown(document.text[p.start : p.end])} for p in own],
        }
        for side, document, own in (("a", found.a, found.passages.a), ("b", found.b, found.passages.b))
    }
    result = {
        "verdict": found.verdict,
        "threshold": found.threshold,
        "resemblance": found.exact.resemblance,
        "containment": {"a": found.containment[0], "b": found.containment[1]},
        "shared_shingles": found.exact.common,
        "estimates": found.estimates,
        "shingling": {"recipe": found.shingling.recipe.id, **{name: getattr(found.shingling, name) for name in _SHINGLING}},
        **documents,
    }
    made: dict[str, Any] = plain(result)
    return made


def _shown(text: Text) -> str:
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text


def shingling_of(args: argparse.Namespace) -> Shingling:
    """The shingling that the command line asks for. UsageError where there is none."""
    asked = {name: getattr(args, name) for name in ("unit", "width", "labelled", "normalize", "stop_words")}
    try:
        return Shingling(**{name: value for name, value in asked.items() if value is not None})
    except ValueError as error:
        raise UsageError(str(error)) from error


def load(
    name: str, text_field: str | Sequence[str], id_field: str | None, unit: str | None, html: str | None = None,
    advice: str = "",
) -> Text:
    """The document that `name` stands for: a file, ``-``, or ``FILE:LINE`` or ``FILE#ID`` for a record of a file.

    LINE is the number of a line, a row or a record, from 1 on. `advice` ends the message about a file that is no text.

    Raises
    ------
    DocumentError
        There is no such file or record, it cannot be read, or it is no text and `unit` is not byte.
    UsageError
        The name is that of a file of many records.
    """
    if name == STDIN or Path(name).exists():
        return _whole(name, unit, html, advice)
    record = _record(name)
    if record is not None:
        return _find(*record, text_field, id_field, html)
    if is_url(name):
        return _whole(name, unit, html, advice)
    reason = "no such file; a record of a file of records, or of an archive, is named FILE:LINE or FILE#ID"
    raise DocumentError(name, None, reason)


def _record(name: str) -> tuple[str, str | int] | None:
    """Return the file and the id, or the line, that ``FILE#ID`` or ``FILE:LINE`` stands for; None where it is neither."""
    for at in [i for i, character in enumerate(name) if character == "#"]:
        if _holds_records(name[:at]):
            return name[:at], name[at + 1 :]
    path, _, line = name.rpartition(":")
    if line.isascii() and line.isdigit() and not _HOST.fullmatch(name) and _holds_records(path):
        return path, int(line)
    return None


def _holds_records(path: str) -> bool:
    """Whether a file, or one that a URL names, is made of records."""
    if not is_url(path):
        return Path(path).is_file() and format_of(path).kind not in WHOLE
    with contextlib.suppress(DocumentError):
        return all(source.kind not in WHOLE for source in find([path]).sources)
    return False


def _whole(name: str, unit: str | None, html: str | None, advice: str) -> Text:
    """The document that a file or a stream is as a whole; a stream is text, whatever it holds."""
    in_bytes = unit == "byte"
    if is_url(name) or (name != STDIN and not is_stream(name)):
        refuse_own(name)
        if Path(name).is_dir():
            raise DocumentError(name, None, "is a directory; name one document")
        found = find([name], binary=in_bytes)
        source = found.sources[0]
        _refuse(name, source.problem, advice)
        if source.kind not in WHOLE:
            raise UsageError(f"{name} holds many documents; name one of them: {name}:LINE or {name}#ID")
        with Documents(found, html=html) as documents:
            return next(documents.batches())[0]
    data = read_whole(name)
    format_ = recognise("stdin.txt", io.BytesIO(data))
    _refuse(name, "" if in_bytes and format_.binary else format_.problem, advice)
    if format_.compression:
        try:
            data = decompressed(io.BytesIO(data), format_.compression, name).read()
        except (Damaged, EOFError) as error:
            raise DocumentError(name, None, f"not valid {FORMATS[format_.compression]} data ({error})") from error
    return data.decode(format_.encoding, "replace") if format_.encoding and not in_bytes else data


def _refuse(name: str, problem: str, advice: str) -> None:
    if problem:
        raise DocumentError(name, None, f"{problem}{advice}")


def _find(
    path: str, wanted: str | int, text_field: str | Sequence[str], id_field: str | None, html: str | None
) -> Text:
    """The document with this id (str), or at this line (int). DocumentError where there is none, or more than one."""
    found: list[tuple[Place, Text]] = []
    with Documents(
        [path],
        text_field=text_field,
        id_field=id_field or "id",
        require_id=id_field is not None,
        on_error="skip",
        html=html,
    ) as documents:
        position = 0
        for batch in documents.batches():
            for text in batch:
                place = documents.place(position)
                if place.line == wanted:
                    return text
                if str(documents.ids[position]) == wanted:
                    found.append((place, text if not found else ""))
                position += 1
        examples = ", ".join(printable(str(documents.ids[i]), 60) for i in range(min(3, len(documents.ids))))
    if len(found) == 1:
        return found[0][1]
    if found:
        names = ", ".join(str(place) for place, _ in found[:5]) + (", …" if len(found) > 5 else "")
        raise DocumentError(path, None, f"{len(found):,} records have the id {wanted!r}; name one of them: {names}")
    unread = next((item for item in documents.rejected if item.number == wanted or not examples), None)
    if unread is not None:
        raise DocumentError(*unread)
    if isinstance(wanted, int):
        raise DocumentError(path, None, f"no document is at line, row or record {wanted}")
    raise DocumentError(path, None, f"no record has the id {wanted!r}; ids are like {examples}")
