"""The meaning of the classes that depend on the rules."""

import pytest

from ndcore.dedup.classes import describe_classes


@pytest.mark.parametrize("contained, common, near", [
    (False, False, "resemblance at or above the threshold"),
    (False, True, "resemblance at or above the threshold, without common shingles"),
    (True, False, "resemblance at or above the threshold"),
    (True, True, "resemblance of all shingles at or above the threshold"),  # containment decides; near goes by resemblance
])
def test_near_says_which_shingles_count(contained, common, near):
    assert describe_classes(contained=contained, common=common)["near"] == near


def test_contained_says_which_shingles_count():
    assert describe_classes(contained=True, common=True)["contained"] == (
        "contained in its representative at or above the threshold, without common shingles; the resemblance of all "
        "shingles is below")
