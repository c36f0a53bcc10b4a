"""Format numbers for people."""

from __future__ import annotations

__all__ = ["counted", "human_bytes"]


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 document``, ``2,000 documents``. Give `plural` if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def human_bytes(n: float) -> str:
    """Return a number of bytes with a decimal unit, for example ``5.3 GB``."""
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:.0f} bytes"
