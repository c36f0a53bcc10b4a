"""Pages: sketched alone or together they are the same."""

from __future__ import annotations

import numpy as np
import pytest
from stores import TEXT

import ndcore as nd
from ndcore.store.evidence import Evidence
from ndcore.store.pages import Pages, Preparer, shingle_set
from ndcore.store.receipts import Receipt
from ndcore.store.settings import StoreSettings
from ndcore.text.inputs import Extracted, digest

TEXTS = [TEXT, "", "short", b"\xff bytes", TEXT.upper(), "two words " * 300]


def preparer(**given) -> Preparer:
    made = StoreSettings.of(given)
    return Preparer(made, made.sketcher())


def test_one_page_is_as_in_a_batch():
    made = preparer()
    many = made.pages([(i, text, i) for i, text in enumerate(TEXTS)])
    Evidence(made.settings, made.shingling).pack_many(many)
    for i, (page, text) in enumerate(zip(many, TEXTS, strict=True)):
        one = made.page(i, text, i)
        assert (one.key, one.name, one.hashed) == (page.key, page.name, page.hashed)
        assert (one.date, one.valid) == (page.date, page.valid)
        assert (one.whole, one.tokens, one.row_hash) == (page.whole, page.tokens, page.row_hash)
        assert np.array_equal(one.features, page.features) and np.array_equal(one.row, page.row)
        assert np.array_equal(one.shingles, shingle_set(nd.Shingling(), text))
        assert one.size == len(set(one.shingles.tolist()))
    assert many[0].tokens == many[4].tokens and many[0].whole != many[4].whole


def test_pages_that_are_there_already_are_collected():
    made = preparer()
    pages = [made.page(i, text, i) for i, text in enumerate(TEXTS)]
    together, many = Pages.of(pages), made.pages([(i, text, i) for i, text in enumerate(TEXTS)])
    assert list(together) == pages and len(together) == len(TEXTS)
    for name in ("hashed", "row_hashes", "scopes", "valid", "features", "rows"):
        assert np.array_equal(getattr(together, name), getattr(many, name))


@pytest.mark.parametrize("kept", ["text", "shingles"])
def test_slices_have_the_pages_in_order(kept: str):
    made = preparer(evidence=kept, min_shingles=2)
    many = made.pages([(i, text, i) for i, text in enumerate(TEXTS)])
    Evidence(made.settings, made.shingling).pack_many(many)
    many.receipts = [Receipt(bytes([i]) * 16, b"", i) for i in range(len(TEXTS))]
    many.carried[4] = True
    assert list(many.slices(len(TEXTS))) == [many]
    items, cut = list(many), list(many.slices(4))
    assert [page for part in cut for page in part] == items
    for name in ("hashed", "row_hashes", "scopes", "valid", "features", "rows", "carried"):
        assert np.array_equal(np.concatenate([getattr(part, name) for part in cut]), getattr(many, name))
    for name in ("keys", "names", "dates", "texts", "packed", "receipts", "sets"):
        assert [*getattr(cut[0], name), *getattr(cut[1], name)] == [*getattr(many, name)]
    assert all(part.codec is many.codec and part.shingling is many.shingling for part in cut)
    again = made.pages([(i, text, i) for i, text in enumerate(TEXTS)])  # whose items are not made yet
    assert [page.name for part in again.slices(4) for page in part] == [page.name for page in many]


def test_features_are_those_of_sketches():
    made = preparer()
    expected = nd.features(nd.MinHasher(made.settings.num_perm).sketch(TEXT), made.settings.groups, made.settings.group_size)
    assert np.array_equal(made.page(None, TEXT, 0).features, expected[0])
    assert np.array_equal(made.sketch(["k"], [TEXT]).features, expected)
    made = preparer(must_agree="numbers", min_shingles=8)
    page, agreed = made.page(None, TEXT, 0), int(made.hash_agreement([TEXT])[0])
    assert page.scope == agreed != made.hash_agreement([TEXT + " 7"])[0] and agreed == made.hash_agreement([TEXT.upper()])[0]
    assert np.array_equal(page.features, expected[0] ^ np.uint64(agreed))
    short, other = made.page(None, "a b c d e f g", 0), made.page(None, "A b c d e f g", 0)  # other bytes, other features
    assert short.size < 8 and short.scope == other.scope and not np.intersect1d(short.features, other.features).size
    assert made.page(None, "", 0).scope == 0


def test_hosts_have_features_of_their_own():
    made = preparer(scope="host")
    a, b, again = (made.page(url, TEXT, 0) for url in ("http://a/1", "http://b/1", "http://A/2"))
    assert not np.intersect1d(a.features, b.features).size and np.array_equal(a.features, again.features)
    looked = made.page(None, TEXT, 0, like="http://b/9")
    assert looked.scope == b.scope and np.array_equal(looked.features, b.features)


def test_a_text_without_shingles_stands_for_its_original():
    page = preparer().page("a", Extracted.of("", b"<html>"), 0)
    assert page.whole == digest(b"<html>") and page.tokens == b""


def test_texts_that_are_none_are_refused():
    with pytest.raises(TypeError, match="texts are str or bytes"):
        preparer().page("a", 5, 0)
