"""Measures: ways to compare two documents, without the threshold. People's answers choose among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ndcore.checks import check_choice, is_int, is_number
from ndcore.choices import AGREEMENTS, DROPS, NORMALIZED, UNITS
from ndcore.text.shingling import Shingling
from ndcore.text.units import check_unit

MOST_WIDTH = 32  # tokens of a shingle; wider shingles find only copies


@dataclass(frozen=True)
class Measure:
    """A way to compare two documents.

    Parameters
    ----------
    unit : str
        The unit of text; see `Shingling`.
    width : int
        Tokens of a shingle.
    drop : "resembling" or "contained"
        The score: the resemblance, or the larger of the two containments.
    must_agree : tuple of str
        Keys in which two documents must agree; otherwise their score is 0.
    drop_common : float, optional
        Shingles of more than this share of the documents do not count.
    normalize : str, optional
        As for `Shingling`: "NFKC", "scan" or "words".
    """

    unit: Literal["word", "char", "grapheme", "line", "paragraph", "sentence", "byte"] = "word"
    width: int = 5
    drop: str = "resembling"
    must_agree: tuple[str, ...] = ()
    drop_common: float | None = None
    normalize: Literal["NFKC", "scan", "words"] | None = None

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, UNITS)
        check_unit(self.unit, self.normalize)
        check_choice("drop", self.drop, DROPS)
        if not is_int(self.width) or not 1 <= self.width <= MOST_WIDTH:
            raise ValueError(f"width must be an int of 1 to {MOST_WIDTH}, got {self.width!r:.80}")
        if not isinstance(self.must_agree, (tuple, list)):
            raise TypeError(f"must_agree is a tuple of names, as ('numbers',); got {self.must_agree!r:.80}")
        for name in self.must_agree:
            check_choice("must_agree", name, AGREEMENTS)
        object.__setattr__(self, "must_agree", tuple(self.must_agree))
        if self.drop_common is not None and not (is_number(self.drop_common) and 0 < self.drop_common < 1):
            raise ValueError(f"drop_common is a share of the documents, above 0 and below 1; got {self.drop_common!r:.80}")

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Parse a measure of the command line: unit and width, then options, as ``word:5:contained:numbers``.

        Options are "contained", names of keys, a way to normalize such as "scan", and ``common=0.05``. Raises ValueError
        for any other text.

        >>> print(Measure.parse("char:8:common=0.05"))
        resemblance of shingles of 8 chars, without shingles of more than 0.05 of the documents
        """
        unit, _, rest = text.partition(":")
        width, *options = rest.split(":")
        if not (width.isascii() and width.isdigit() and len(width) < 4):
            raise ValueError(f"a measure is a unit and a width, as word:5 or word:5:contained:numbers; got {text!r:.80}")
        common = [option.removeprefix("common=") for option in options if option.startswith("common=")]
        keys = tuple(option for option in options if option in AGREEMENTS)
        normal = [option for option in options if option in NORMALIZED]
        if len(common) + len(keys) + len(normal) + ("contained" in options) != len(options) or len(normal) > 1:
            raise ValueError(f"options of a measure are contained, {', '.join(AGREEMENTS)}, one of {', '.join(NORMALIZED)}, "
                             f"and common=SHARE, got {text!r:.80}")
        check_choice("unit", unit, UNITS)
        drop = "contained" if "contained" in options else "resembling"
        return cls(unit, int(width), drop, keys, float(common[0]) if common else None, *normal)  # type: ignore[arg-type]

    @property
    def shingling(self) -> Shingling:
        """The shingling whose shingles are compared."""
        return Shingling(width=self.width, unit=self.unit, normalize=self.normalize)

    @property
    def base(self) -> tuple[Shingling, float | None]:
        """The parameters of the shingle sets; measures with the same base share them."""
        return self.shingling, self.drop_common

    @property
    def additions(self) -> int:
        """The number of options that differ from the default: a measure with fewer is simpler."""
        return ((self.unit != "word") + (self.width != 5) + (self.drop != "resembling") + len(self.must_agree)
                + (self.drop_common is not None) + (self.normalize is not None))

    def options(self, threshold: float) -> dict[str, Any]:
        """Return this measure with a threshold as options of `near_duplicates`; defaults are left out."""
        options: dict[str, Any] = {"threshold": threshold}
        if self.shingling != Shingling():
            options["shingling"] = self.shingling
        if self.drop != "resembling":
            options["drop"] = self.drop
        if self.must_agree:
            options["must_agree"] = self.must_agree
        if self.drop_common is not None:
            options["drop_common"] = self.drop_common
        return options

    def __str__(self) -> str:
        score = "containment" if self.drop == "contained" else "resemblance"
        about = f"{score} of shingles of {self.width} {self.unit}{'' if self.width == 1 else 's'}"
        if self.normalize is not None:
            about += f" in the form {self.normalize}"
        if self.must_agree:
            about += f", must agree in {' and '.join(self.must_agree)}"
        if self.drop_common is not None:
            about += f", without shingles of more than {self.drop_common:g} of the documents"
        return about


DEFAULT = (
    Measure(), Measure(width=2), Measure(width=3), Measure(width=8), Measure(drop="contained"),
    Measure(must_agree=("numbers",)),
)


def checked_measures(measures: Iterable[Measure] | None) -> tuple[Measure, ...]:
    """Check measures and sort them, the simplest first; None: `DEFAULT`. Raises TypeError or ValueError."""
    if measures is None:
        return DEFAULT
    listed = tuple(measures)
    for measure in listed:
        if not isinstance(measure, Measure):
            raise TypeError(f"measures holds {measure!r:.80} of type {type(measure).__name__}; it holds Measure only")
    if not listed:
        raise ValueError("measures is empty; give one Measure at least, or None for the usual ones")
    if len(set(listed)) < len(listed):
        raise ValueError(f"measures holds {next(m for m in listed if listed.count(m) > 1)} twice")
    return tuple(sorted(listed, key=lambda measure: measure.additions))
