"""Compare two documents: their resemblance, exact and as estimated from sketches, and the passages that they share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ndcore._types import Text
from ndcore.alignment.passages import Passages, passages
from ndcore.report.model import never_refusing, truncate
from ndcore.report.plain_values import plain
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
_SENTENCES = {
    "identical": "identical: the same text, {unit} for {unit}",
    "lexical": "lexically equivalent: the same tokens in the same order",
    "shingle": "shingle-equivalent: the same set of shingles",
    "near": "near-duplicates",
    "different": "not near-duplicates",
    "none": "cannot be compared: {who} no shingles, and could only be identical to another document",
}


@dataclass(frozen=True)
class SketchEstimate:
    """Estimates from sketches: resemblance, containment of a in b and of b in a, with 95 % confidence intervals."""

    sketch: str
    recipe: str
    resemblance: float
    interval: tuple[float, float]
    containment: tuple[float, float]
    containment_intervals: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class ComparedDocument:
    """One of two compared documents.

    `name`: as given. `text`: the whole text; if `cut`, only its beginning has passages. `tokens`: their number, unless it
    is cut.
    `shingles`: the number of distinct shingles of the whole text.
    """

    name: str
    text: Text
    tokens: int | None
    shingles: int
    cut: int | None = None

    @property
    def length(self) -> str:
        """Length of the text with its unit: characters (code points) of a str, bytes of bytes."""
        return f"{len(self.text):,} {self._unit}"

    @property
    def sizes(self) -> str:
        """Length, tokens and shingles in words."""
        tokens = "" if self.tokens is None else f"{self.tokens:,} tokens, "
        return f"{self.length}, {tokens}{self.shingles:,} distinct shingles"

    @property
    def shown(self) -> Text:
        """The part of the text that has passages."""
        return self.text if self.cut is None else truncate(self.text, self.cut)

    @property
    def note(self) -> str:
        """Say which part has passages, if it is not the whole text."""
        part = len(self.shown)
        return "" if part == len(self.text) else f"passages of its first {part:,} {self._unit} only"

    @property
    def _unit(self) -> str:
        return "bytes" if isinstance(self.text, bytes) else "characters"


@dataclass(frozen=True)
class DocumentComparison:
    """Two documents compared: the exact figures, the estimates from sketches, and the passages.

    `verdict` is identical | lexical | shingle | near | different | none (one has no shingles).
    """

    a: ComparedDocument
    b: ComparedDocument
    shingling: Shingling
    threshold: float
    verdict: str
    exact: Overlap
    estimates: list[SketchEstimate]
    passages: Passages

    @property
    def containment(self) -> tuple[float, float]:
        """Containment of a in b, and of b in a; nan if either has no shingles."""
        return self.exact.containment, Overlap(self.exact.common, self.exact.size_b, self.exact.size_a).containment

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        empty = [letter for letter, document in (("A", self.a), ("B", self.b)) if not document.shingles]
        who = "A and B have" if len(empty) == 2 else f"{''.join(empty)} has"
        unit = "byte" if self.shingling.unit == "byte" else "character"    # of texts that may be decoded or extracted
        said = _SENTENCES[self.verdict].format(who=who, unit=unit)
        inside = [share >= self.threshold for share in self.containment]
        if self.verdict != "different" or not any(inside):
            return said
        one = "A is contained in B" if inside[0] else "B is contained in A"
        return f"{said}, but {'each is contained in the other' if all(inside) else one}"

    def shortened(self, most: int) -> DocumentComparison:
        """Return the comparison with passages of only the first `most` code points or bytes."""
        shown = max(len(self.a.shown), len(self.b.shown))
        return self if shown <= most else self._with_passages(most)

    def _with_passages(self, most: int | None) -> DocumentComparison:
        """Find the passages, and count the tokens of uncut texts."""
        cut = most is not None and max(len(self.a.text), len(self.b.text)) > most
        a, b = (replace(document, cut=most if cut else None) for document in (self.a, self.b))
        aligned = passages(a.shown, b.shown, never_refusing(self.shingling) if cut else self.shingling)
        sides = [replace(document, tokens=None if document.note else own[-1].last if own else 0)
                 for document, own in zip((a, b), aligned, strict=True)]
        return replace(self, a=sides[0], b=sides[1], passages=aligned)


def compare(
    a: Text, b: Text, names: tuple[str, str], shingling: Shingling, threshold: float, most: int | None = None
) -> DocumentComparison:
    """Compare two texts exactly, by sketches, and passage by passage.

    Parameters
    ----------
    a, b : str or bytes
    names : (str, str)
    shingling : Shingling
    threshold : float
        The least resemblance of near-duplicates.
    most : int, optional
        Passages are found in the first `most` code points of each str, or bytes of bytes; figures are for the whole texts.

    Notes
    -----
    O(n log n).
    """
    exact = overlap(a, b, shingling)
    canonical = shingling.shingler.canonical(shingling.batch([a, b]), bytes)
    whole = [ComparedDocument(name, text, None, size)
             for name, text, size in zip(names, (a, b), (exact.size_a, exact.size_b), strict=True)]
    comparison = DocumentComparison(
        whole[0], whole[1], shingling, threshold,
        _verdict(_identical(a, b, exact), canonical[0] == canonical[1], exact, threshold), exact,
        [_estimate(name, sketcher(shingling=shingling), a, b) for name, sketcher in _SKETCHES.items()], Passages([], []),
    )
    return comparison._with_passages(most)


def _identical(a: Text, b: Text, exact: Overlap) -> bool:
    """Tell whether two texts are the same; if they have no shingles, whether their pages are."""
    if exact.size_a or exact.size_b:
        return as_bytes(a) == as_bytes(b)
    return original_digest(a) == original_digest(b)


def _verdict(identical: bool, lexical: bool, exact: Overlap, threshold: float) -> str:
    """Return the strictest verdict that holds."""
    if identical:
        return "identical"
    if not (exact.size_a and exact.size_b):
        return "none"
    if lexical:
        return "lexical"
    if exact.resemblance == 1:
        return "shingle"
    return "near" if exact.resemblance >= threshold else "different"


def _estimate(name: str, sketcher: MinHasher | BottomSketcher | ModSketcher, a: Text, b: Text) -> SketchEstimate:
    """Estimate all figures from sketches of one kind."""
    sketches = sketcher.sketch_many([a, b], threads=1)
    return SketchEstimate(
        name,
        sketches.recipe.id,
        sketches.resemblance(0, 1),
        sketches.interval(0, 1),
        (sketches.containment(0, 1), sketches.containment(1, 0)),
        (sketches.interval(0, 1, quantity="containment"), sketches.interval(1, 0, quantity="containment")),
    )


def as_json(comparison: DocumentComparison) -> dict[str, Any]:
    """Convert a comparison to the JSON of ``--json``: passages have offsets in the documents, and their text."""
    documents = {
        side: {
            "name": document.name,
            "length": len(document.text),
            "length_unit": "byte" if isinstance(document.text, bytes) else "code point",
            "tokens": document.tokens,
            "shingles": document.shingles,
            "passages": [{**p._asdict(), "text": as_text(document.text[p.start : p.end])} for p in own],
        }
        for side, document, own in (("a", comparison.a, comparison.passages.a), ("b", comparison.b, comparison.passages.b))
    }
    result = {
        "verdict": comparison.verdict,
        "threshold": comparison.threshold,
        "resemblance": comparison.exact.resemblance,
        "containment": {"a": comparison.containment[0], "b": comparison.containment[1]},
        "shared_shingles": comparison.exact.common,
        "estimates": comparison.estimates,
        "shingling": {"recipe": comparison.shingling.recipe.id,
                      **{name: getattr(comparison.shingling, name) for name in _SHINGLING}},
        **documents,
    }
    converted: dict[str, Any] = plain(result)
    return converted


def as_text(text: Text) -> str:
    """Decode bytes as UTF-8; other bytes are written ``\\xNN``."""
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
