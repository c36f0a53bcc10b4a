"""The kinds of tokens by name, with the ways to normalise each and the name of its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal, TypeAlias

from ndcore._types import Text
from ndcore.choices import NORMALIZED, UNITS

TEXT_UNITS: Final = NORMALIZED["NFKC"]  # units whose tokens are decoded and folded

Tokenizer: TypeAlias = Callable[[Any], Iterable[Text]]
Unit: TypeAlias = Literal["word", "char", "grapheme", "line", "paragraph", "sentence", "byte"] | Tokenizer


def check_unit(unit: Any, normalize: Any) -> None:
    """Raise ValueError unless a unit exists and may be normalised in this way."""
    if not callable(unit) and unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)} or a callable, got {unit!r}")
    if normalize is None:
        return
    if not isinstance(normalize, str) or normalize not in NORMALIZED:
        raise ValueError(f"normalize must be one of {', '.join(map(repr, (None, *NORMALIZED)))}, got {normalize!r}")
    if unit not in NORMALIZED[normalize]:
        raise ValueError(f"normalize={normalize!r} is for the units {', '.join(NORMALIZED[normalize])}, not for {unit!r}")


def kernel_unit(unit: Unit, normalize: str | None) -> str:
    """Return the name of the kernels that read the tokens."""
    if callable(unit):
        return "tokens"
    return f"{unit} words" if normalize == "words" else unit


def normal_form(unit: Unit, normalize: str | None) -> tuple[bool, bool] | None:
    """Return how the text is rewritten before its tokens are read: None, or whether ignorables and blanks are removed."""
    return None if normalize in (None, "words") else (unit == "word" or normalize == "scan", normalize == "scan")
