"""Extended grapheme clusters: the rules of Unicode Standard Annex #29, section 3.1.1, one by one."""

from __future__ import annotations

from collections.abc import Sequence

from . import unicode_tables as tables
from .properties import members, values

CLUSTER_BREAK = values(tables.CLUSTER_BREAK)
PICTOGRAPH = members(tables.PICTOGRAPH)
CONJUNCT_BREAK = values(tables.CONJUNCT_BREAK)
CONTROLS = ("CR", "LF", "Control")


def cluster_break(c: int) -> str:
    """Return Grapheme_Cluster_Break, of Hangul syllables by their number (the Unicode Standard, section 3.12)."""
    if 0xAC00 <= c <= 0xD7A3:
        return "LVT" if (c - 0xAC00) % 28 else "LV"
    return CLUSTER_BREAK.get(c, "Other")


def joins(points: Sequence[int], i: int) -> bool:
    """Tell whether points[i] continues the cluster of points[i - 1], i >= 1."""
    before, after = cluster_break(points[i - 1]), cluster_break(points[i])
    if before == "CR" and after == "LF":  # GB3
        return True
    if before in CONTROLS or after in CONTROLS:  # GB4, GB5
        return False
    if before == "L" and after in ("L", "V", "LV", "LVT"):  # GB6
        return True
    if before in ("LV", "V") and after in ("V", "T"):  # GB7
        return True
    if before in ("LVT", "T") and after == "T":  # GB8
        return True
    if after in ("Extend", "ZWJ", "SpacingMark") or before == "Prepend":  # GB9, GB9a, GB9b
        return True
    if _linked_consonants(points, i) or _joined_pictographs(points, i):  # GB9c, GB11
        return True
    return _indicators(points, i) % 2 == 1 and after == "Regional_Indicator"  # GB12, GB13; GB999


def _linked_consonants(points: Sequence[int], i: int) -> bool:
    """Tell whether points[i] continues a conjunct: GB9c."""
    if CONJUNCT_BREAK.get(points[i]) != "Consonant":
        return False
    j, linked = i - 1, False
    while j >= 0 and CONJUNCT_BREAK.get(points[j]) in ("Extend", "Linker"):
        linked = linked or CONJUNCT_BREAK[points[j]] == "Linker"
        j -= 1
    return linked and j >= 0 and CONJUNCT_BREAK.get(points[j]) == "Consonant"


def _joined_pictographs(points: Sequence[int], i: int) -> bool:
    """Tell whether points[i] continues a sequence of emoji: GB11."""
    if points[i] not in PICTOGRAPH or cluster_break(points[i - 1]) != "ZWJ":
        return False
    j = i - 2
    while j >= 0 and cluster_break(points[j]) == "Extend":
        j -= 1
    return j >= 0 and points[j] in PICTOGRAPH


def _indicators(points: Sequence[int], i: int) -> int:
    """Count the regional indicators directly before points[i]."""
    j = i
    while j and cluster_break(points[j - 1]) == "Regional_Indicator":
        j -= 1
    return i - j


def clusters(points: Sequence[int]) -> list[list[int]]:
    """Split a run of code points into its extended grapheme clusters, in order.

    >>> clusters([0x67, 0x308, 0x1F1E9, 0x1F1EA, 0x1F1EB])
    [[103, 776], [127465, 127466], [127467]]
    """
    found: list[list[int]] = []
    for i, c in enumerate(points):
        if i and joins(points, i):
            found[-1].append(c)
        else:
            found.append([c])
    return found
