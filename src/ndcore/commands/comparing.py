"""What ``ndcore compare`` shows: two documents, how much they resemble, and where they do and do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from ndcore.commands.summary import printable
from ndcore.documents import Documents
from ndcore.files.sources import DocumentError, UsageError, classify
from ndcore.files.spool import read_whole

_SHOWN_PASSAGES = 8
_SHOWN_CHARACTERS = 160
_SENTENCES = {
    "identical": "identical, byte for byte",
    "lexical": "lexically equivalent: the same tokens in the same order",
    "shingle": "shingle-equivalent: the same set of shingles",
    "near": "near-duplicates",
    "different": "not near-duplicates",
    "none": "cannot be compared: {who} no shingles (no tokens), and could only be identical to another document",
}

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Passage:
    """A run of consecutive tokens."""

    start: int
    tokens: Sequence[str | bytes]


@dataclass(frozen=True)
class Comparison:
    """Two texts compared.

    Attributes
    ----------
    verdict : str
        identical | lexical | shingle | near | different | none (one has no shingles).
    resemblance, containment, contained : float
        Of both; of the first in the second; of the second in the first. nan without shingles.
    estimate : float
        Resemblance by signatures of `num_perm` minima, and `interval`, of 95 % confidence, around it.
    shared, only_a, only_b : int
        Distinct shingles.
    common, passages_a, passages_b : list of Passage
        Tokens in shingles that both have (as they stand in the first); tokens of either in no such shingle.
    """

    verdict: str
    resemblance: float
    containment: float
    contained: float
    estimate: float
    interval: tuple[float, float]
    num_perm: int
    shared: int
    only_a: int
    only_b: int
    tokens: tuple[int, int]
    common: list[Passage]
    passages_a: list[Passage]
    passages_b: list[Passage]


def compare(
    a: str | bytes, b: str | bytes, shingling: Any, threshold: float, num_perm: int = 84, seed: int = 1
) -> Comparison:
    """Compare two texts exactly, and by sketches. Time and memory linear in the texts, save for sorting."""
    from ndcore.sketching import MinHasher

    prints = [np.asarray(shingling.fingerprints(text), np.uint64) for text in (a, b)]
    tokens = [list(shingling.tokens(text)) for text in (a, b)]
    sets = [np.unique(values) for values in prints]
    shared = len(np.intersect1d(sets[0], sets[1], assume_unique=True))
    resemblance = _ratio(shared, len(sets[0]) + len(sets[1]) - shared, sets)
    sketches = MinHasher(num_perm=num_perm, seed=seed, shingling=shingling).sketch_many([a, b])
    low, high = sketches.interval(0, 1)
    covered = [_covered(prints[i], sets[1 - i], len(tokens[i]), shingling.width) for i in (0, 1)]
    return Comparison(
        verdict=_verdict(a, b, tokens, resemblance, threshold),
        resemblance=resemblance,
        containment=_ratio(shared, len(sets[0]), sets),
        contained=_ratio(shared, len(sets[1]), sets),
        estimate=float(sketches.resemblance(0, 1)),
        interval=(float(low), float(high)),
        num_perm=num_perm,
        shared=shared,
        only_a=len(sets[0]) - shared,
        only_b=len(sets[1]) - shared,
        tokens=(len(tokens[0]), len(tokens[1])),
        common=list(_runs(tokens[0], covered[0])),
        passages_a=list(_runs(tokens[0], ~covered[0])),
        passages_b=list(_runs(tokens[1], ~covered[1])),
    )


def _ratio(part: int, whole: int, sets: Sequence[npt.NDArray[np.uint64]]) -> float:
    return part / whole if len(sets[0]) and len(sets[1]) else float("nan")


def _verdict(a: str | bytes, b: str | bytes, tokens: list[list[Any]], resemblance: float, threshold: float) -> str:
    if _bytes(a) == _bytes(b):
        return "identical"
    if np.isnan(resemblance):
        return "none"
    if tokens[0] == tokens[1]:
        return "lexical"
    if resemblance == 1:
        return "shingle"
    return "near" if resemblance >= threshold else "different"


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _covered(prints: npt.NDArray[np.uint64], other: npt.NDArray[np.uint64], count: int, width: int) -> Bool:
    """Which of `count` tokens lie in a shingle that the other document has too."""
    steps = np.zeros(count + 1, np.int64)
    starts = np.flatnonzero(np.isin(prints, other))
    np.add.at(steps, starts, 1)
    np.add.at(steps, np.minimum(starts + width, count), -1)
    covered: Bool = np.cumsum(steps)[:count] > 0
    return covered


def _runs(tokens: list[Any], chosen: Bool) -> Iterator[Passage]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield Passage(start, tokens[start:stop])


def load(name: str, text_field: str, id_field: str | None) -> str | bytes:
    """The document that `name` stands for: a file, ``-``, or ``FILE#ID`` for a record of a file.

    Raises
    ------
    DocumentError
        There is no such file or record, or it cannot be read.
    UsageError
        The name is that of a file of many records.
    """
    if name == "-" or Path(name).exists():
        if name != "-" and classify(name)[0] != "text":
            raise UsageError(f"{name} holds many documents; name one of them: {name}#ID")
        return read_whole(name)
    for at in [i for i, character in enumerate(name) if character == "#"]:
        path, ident = name[:at], name[at + 1 :]
        if Path(path).is_file() and classify(path)[0] != "text":
            return _find(path, ident, text_field, id_field)
    raise DocumentError(name, None, "no such file; a record of a .jsonl or .parquet file is named FILE#ID")


def _find(path: str, ident: str, text_field: str, id_field: str | None) -> str | bytes:
    with Documents(
        [path], text_field=text_field, id_field=id_field or "id", require_id=id_field is not None, on_error="skip"
    ) as documents:
        position = 0
        for batch in documents.batches():
            for text in batch:
                if str(documents.ids[position]) == ident:
                    return text
                position += 1
        examples = ", ".join(printable(str(documents.ids[i]), 60) for i in range(min(3, len(documents.ids))))
    if documents.rejected and not examples:
        raise DocumentError(*documents.rejected[0])
    raise DocumentError(path, None, f"no record has the id {ident!r}; ids are like {examples}")


def report(found: Comparison, names: tuple[str, str], threshold: float, unit: str, stream: TextIO, every: bool) -> None:
    """Write a comparison for people."""
    _head(found, names, threshold, stream)
    if found.verdict == "identical":
        return
    groups = (("Shared passages", found.common), ("Only in A", found.passages_a), ("Only in B", found.passages_b))
    for title, passages in groups:
        _passages(title, passages, unit, stream, every)


def _head(found: Comparison, names: tuple[str, str], threshold: float, stream: TextIO) -> None:
    for letter, name, tokens, alone in zip("AB", names, found.tokens, (found.only_a, found.only_b), strict=True):
        print(
            f"{letter}  {printable(name)}: {tokens:,} tokens, {found.shared + alone:,} distinct shingles", file=stream
        )
    empty = [
        letter for letter, alone in zip("AB", (found.only_a, found.only_b), strict=True) if not found.shared + alone
    ]
    who = "A and B have" if len(empty) == 2 else f"{''.join(empty)} has"
    print(f"Verdict: {_SENTENCES[found.verdict].format(who=who)} (threshold {threshold:g})", file=stream)
    if np.isnan(found.resemblance):
        return
    union = found.shared + found.only_a + found.only_b
    estimate = f"from {found.num_perm} minima; 95 % interval {found.interval[0]:.4f} to {found.interval[1]:.4f}"
    rows = (
        ("resemblance", found.resemblance, f"{found.shared:,} of {union:,} shingles are in both"),
        ("  estimated", found.estimate, estimate),
        ("containment of A", found.containment, f"the part of A that is in B; {found.only_a:,} only in A"),
        ("containment of B", found.contained, f"the part of B that is in A; {found.only_b:,} only in B"),
    )
    for name, value, meaning in rows:
        print(f"  {name:<18} {value:.4f}  {meaning}", file=stream)


def _passages(title: str, passages: list[Passage], unit: str, stream: TextIO, every: bool) -> None:
    if not passages:
        return
    total = sum(len(passage.tokens) for passage in passages)
    print(f"{title}: {len(passages):,}, of {total:,} tokens", file=stream)
    shown = passages if every else passages[:_SHOWN_PASSAGES]
    for passage in shown:
        text = printable(_joined(passage.tokens, unit), None if every else _SHOWN_CHARACTERS)
        print(f"  at token {passage.start + 1:,} ({len(passage.tokens):,}): {text}", file=stream)
    if len(shown) < len(passages):
        print(f"  and {len(passages) - len(shown):,} more (--all shows everything)", file=stream)


def _joined(tokens: Sequence[str | bytes], unit: str) -> str:
    texts = [token if isinstance(token, str) else token.decode("utf-8", "replace") for token in tokens]
    if unit == "byte":
        return b"".join(token if isinstance(token, bytes) else token.encode() for token in tokens).decode(
            "utf-8", "replace"
        )
    return {"word": " ", "line": " | "}.get(unit, "").join(texts)
