"""From runs of windows to rows: sorted suffixes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ndcore.spans.repeats_rows import _find_ends, _sort_suffixes


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=30))
def test_suffixes_are_in_the_order_of_their_units(given_units):
    """Units of one window each, which is a number; a bool says whether a gap comes before."""
    rows, place, firsts = [], 0, {}
    for window, gap in given_units:
        place += 1 + gap
        rows.append((place, firsts.setdefault(window, place), 1))
    cut = np.array(rows, np.uint64).reshape(-1, 3)
    ends = _find_ends(cut)
    expected_ends = [next((j for j in range(i + 1, len(rows)) if rows[j][0] != rows[j - 1][0] + 1), len(rows))
                     for i in range(len(rows))]
    assert ends.tolist() == expected_ends
    suffixes = [([row[1] for row in rows[i : expected_ends[i]]], i) for i in range(len(rows))]
    assert _sort_suffixes(cut, ends).tolist() == [i for _, i in sorted(suffixes)]
