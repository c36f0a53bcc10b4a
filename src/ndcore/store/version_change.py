"""Compare a version of a page with the previous one (Broder et al. 1997, section 6.5), in a store or as two texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from ndcore._types import Text, UInts
from ndcore.store.pages import count_common, shingle_set, token_digest
from ndcore.store.verdict import Change
from ndcore.text.inputs import as_bytes, digest, original_digest
from ndcore.text.shingling import Shingling


def judge_change(
    *, same: bool, both: bool, words: Callable[[], bool], measure: Callable[[], tuple[float, bool]]
) -> tuple[Change, float | None]:
    """Name the change of a version, and return the resemblance to the previous one, or None.

    Parameters
    ----------
    same : bool
        Whether both have the same bytes.
    both : bool
        Whether both have shingles.
    words : callable
        Tells whether both have the same tokens in the same order. Called only if it decides; likewise `measure`.
    measure : callable
        Returns the resemblance, and whether it makes them near.
    """
    if same:
        return "unchanged", 1.0 if both else None
    if not both:
        return "other", None
    if words():
        return "lexical", 1.0
    resemblance, near = measure()
    return "near" if near else "other", resemblance


class TextVersion:
    """The text of a version without a store, with the cached values by which it is compared.

    Parameters
    ----------
    text : str or bytes
    shingling : Shingling
    """

    def __init__(self, text: Text, shingling: Shingling) -> None:
        self._text, self._shingling = text, shingling

    @cached_property
    def shingles(self) -> UInts:
        """The distinct shingle fingerprints, ascending; uint64 (n,)."""
        return shingle_set(self._shingling, self._text)

    @cached_property
    def whole(self) -> bytes:
        """The digest of the text; without shingles, of its original, which for HTML is the page."""
        return digest(as_bytes(self._text)) if len(self.shingles) else original_digest(self._text)

    @cached_property
    def tokens(self) -> bytes:
        """The digest of the canonical tokens."""
        return token_digest(self._shingling, self._text)

    def change_from(self, before: TextVersion, threshold: float) -> tuple[Change, float | None]:
        """Compare with the previous version, which has the same shingling. O(length of both texts), once for each text.

        Parameters
        ----------
        before : TextVersion
        threshold : float
            The least resemblance of a change "near".

        Returns
        -------
        change : str
            "unchanged", "lexical" (the same tokens in the same order), "near" or "other".
        resemblance : float or None
            The resemblance of both texts; None if one of them has no shingles.
        """
        a, b = self.shingles, before.shingles

        def measure() -> tuple[float, bool]:
            common = count_common(a, b)
            resemblance = common / (len(a) + len(b) - common)
            return resemblance, resemblance >= threshold

        return judge_change(same=bool(len(a)) == bool(len(b)) and self.whole == before.whole, both=bool(len(a) and len(b)),
                            words=lambda: self.tokens == before.tokens, measure=measure)
