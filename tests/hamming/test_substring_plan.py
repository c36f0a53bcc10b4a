"""Plans of substrings: bits, radii and lookups by hand and by counting, refusals, and the choice of least time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ndcore.hamming.substring_plan import MAX_PROBES, SubstringPlan, list_plans, masks, plan_substrings


def test_a_plan_by_hand():
    """31 = 2·12 + 7: the first eight of twelve substrings have radius 2, the others 1; 256 = 12·21 + 4."""
    plan = SubstringPlan(256, 31, 20.0, 12)
    assert plan.widths == (22,) * 4 + (21,) * 8 and plan.radii == (2,) * 8 + (1,) * 4
    assert plan.probes == (1 + 22 + 231,) * 4 + (1 + 21 + 210,) * 4 + (1 + 21,) * 4
    assert SubstringPlan(128, 3, 10.0, 4).radii == (0, 0, 0, 0) and SubstringPlan(128, 3, 10.0, 4).probes == (1, 1, 1, 1)
    assert SubstringPlan(128, 3, 10.0, 0).probes == SubstringPlan(128, 3, 10.0, 0).radii == ()


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("distance", [0, 1, 5, 16, 31])
def test_every_plan_finds_all(bits, distance):
    """The radii, each plus one, add up to the distance plus one, so no fingerprint within the distance exceeds all radii."""
    plans = list_plans(bits, distance, 1000)
    assert len(plans) > 1
    for plan in plans:
        if plan.substrings:
            assert sum(radius + 1 for radius in plan.radii) == distance + 1
            assert min(plan.radii) >= 0 and max(plan.widths) <= 64
            assert sum(plan.probes) <= MAX_PROBES


@pytest.mark.parametrize(("width", "radius"), [(1, 0), (1, 1), (5, 0), (5, 2), (9, 3), (9, 9)])
def test_masks_are_all_values_of_few_bits(width, radius):
    expected = [mask for mask in range(1 << width) if mask.bit_count() <= radius]
    listed = masks(width, radius).tolist()
    assert sorted(listed) == expected
    assert all(a.bit_count() <= b.bit_count() for a, b in itertools.pairwise(listed))
    assert SubstringPlan(128, 15, 10.0, 16).probes[0] == len(masks(8, 0))


@pytest.mark.parametrize(("bits", "distance", "substrings"), [(256, 31, 33), (256, 31, 1), (128, 3, 5), (256, 31, -1)])
def test_plans_that_do_not_find_all_or_look_up_too_much_are_refused(bits, distance, substrings):
    with pytest.raises(ValueError, match=f"{substrings} substrings do not find what is within {distance} of {bits} bits"):
        SubstringPlan(bits, distance, 10.0, substrings)


def test_the_choice_has_the_least_time_for_random_fingerprints():
    codes = np.random.default_rng(3).integers(0, 2**64, (100_000, 4), dtype=np.uint64)
    chosen = plan_substrings(codes, 31)
    times = {plan.substrings: plan.nanoseconds for plan in list_plans(256, 31, len(codes))}
    assert chosen.substrings > 1 and times[chosen.substrings] <= 1.5 * min(times.values())


def test_equal_fingerprints_get_no_substrings():
    """All share every substring, so a query would compare all at random places."""
    assert plan_substrings(np.ones((50_000, 4), np.uint64), 31).substrings == 0
