"""Evidence: measures of pages against it, exact and estimated."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.storage.container import CorruptFile
from ndcore.store.evidence import CACHED, Evidence
from ndcore.store.pages import Preparer
from ndcore.store.settings import StoreSettings

WORDS = [f"w{i}" for i in range(400)]
A, B = " ".join(WORDS[:300]), " ".join(WORDS[50:400])


def made(kind: str) -> tuple[Preparer, Evidence]:
    settings = StoreSettings.of({"evidence": kind, "num_perm": 256})
    preparer = Preparer(settings, settings.sketcher())
    return preparer, Evidence(settings, preparer.shingling)


@pytest.mark.parametrize("kind", ["text", "shingles"])
def test_measures_are_exact(kind):
    preparer, evidence = made(kind)
    a, b = preparer.page(None, A, 0), preparer.page(None, B, 0)
    expected = nd.resemblance(A, B), nd.containment(A, B), nd.containment(B, A)
    assert evidence.measure(a, 1, evidence.pack(b)) == (*expected, False) == evidence.measure_pages(a, b)
    assert evidence.is_cached(1) and evidence.measure(a, 1, None) == (*expected, False)
    evidence.forget(1)
    assert not evidence.is_cached(1)


def test_sketches_estimate():
    preparer, evidence = made("sketch")
    a, b = preparer.page(None, A, 0), preparer.page(None, B, 0)
    resemblance = nd.resemblance(A, B)
    found = evidence.measure(a, 1, evidence.pack(b))
    assert found == evidence.measure_pages(a, b) and not evidence.exact
    error = 4 * (resemblance * (1 - resemblance) / evidence.num_perm) ** 0.5
    assert abs(found.resemblance - resemblance) < error and abs(found.contained - nd.containment(A, B)) < 2 * error
    with pytest.raises(CorruptFile, match="minima"):
        evidence.row(evidence.pack(b)[:-4])
    with pytest.raises(LookupError, match="keeps no texts"):
        evidence.text(b"")


@pytest.mark.parametrize("kind", ["text", "shingles", "sketch"])
def test_sets_that_were_prepared_measure_the_same(kind):
    preparer, evidence = made(kind)
    pages = [preparer.page(None, text, 0) for text in (A, B, "")]
    expected = evidence.measure(pages[0], 1, evidence.pack(pages[1]))
    again, other = preparer.page(None, A, 0), made(kind)[1]
    other.prepare([again, pages[2]], [(1, evidence.pack(pages[1]))])
    assert again.unread == (kind == "sketch") and other.is_cached(1) == (kind == "text")
    assert other.measure(again, 1, evidence.pack(pages[1])) == expected


def test_evidence_of_many_pages_is_that_of_each():
    for kind in ("text", "shingles", "sketch"):
        preparer, evidence = made(kind)
        pages = preparer.pages([(None, text, 0) for text in (A, "", B)])
        evidence.pack_many(pages)
        assert pages.packed == [evidence.pack(preparer.page(None, text, 0)) for text in (A, "", B)]


def test_the_cache_is_bounded():
    preparer, evidence = made("shingles")
    page = preparer.page(None, A, 0)
    packed = np.arange(CACHED // 8 // 10, dtype=np.uint64).tobytes()
    for number in range(15):
        evidence.measure(page, number, packed)
    assert 8 <= sum(map(evidence.is_cached, range(15))) <= 10 and evidence.is_cached(14)


def test_evidence_without_shingles_is_refused():
    preparer, evidence = made("shingles")
    with pytest.raises(CorruptFile, match="no shingles"):
        evidence.measure(preparer.page(None, A, 0), 1, b"")
