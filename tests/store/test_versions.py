"""Where a text is now, and how pages changed."""

from __future__ import annotations

import numpy as np
import pytest
from stores import TEXT, Both, opened, settings

from ndcore.store.versions import chain_of, pages_of


def test_a_text_that_moved_is_located(tmp_path):
    both = Both(tmp_path)
    for key, text, date in (("old", TEXT, 1), ("new", TEXT + " moved", 5), ("old", "gone", 9), ("mirror", TEXT, 3)):
        both.decide(key, text, date)
    assert both.store.locate("mirror") == "new" and both.store.locate("old") == "old"
    both.check()
    both.store.close()


def test_changes_are_real_or_lexical(tmp_path):
    both = Both(tmp_path)
    for date, text in enumerate([TEXT, TEXT + ".", TEXT + " more", "else", "else", "", ""]):
        both.decide("a", text, 100 - date)  # late dates are stored as they are
        both.check()
    assert [version.real for version in both.store.history("a")] == [False, False, True, True, False, True, False]
    both.store.close()


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_a_page_with_its_versions(tmp_path, evidence):
    chosen = settings(evidence=evidence, scope="host")
    key = "http://a.example/x"
    with opened(tmp_path / "a", **chosen) as a, opened(tmp_path / "b", **chosen) as b:
        for i, text in enumerate((TEXT, TEXT + " x", TEXT.upper() + " X", TEXT.upper() + " X")):
            a.decide(key, text, i)
        state, preparer = a._directory.state, b._directory.preparer
        found = list(pages_of(state, *chain_of(state, 1), preparer))
        assert [page.date for page in found] == [1_000_000, 2_000_000, 3_000_000]
        assert [len(page.past) for page in found] == [2, 0, 0] and found[0].past[1].change == "near"
        expected = preparer.page(key, TEXT + " x", 1)
        for page in found:
            assert (page.key, page.name, page.hashed, page.scope) == (key, expected.name, expected.hashed, expected.scope)
            assert np.array_equal(page.features, expected.features) and page.tokens == expected.tokens
            assert page.size == expected.size and isinstance(page.text, str)
        assert (found[0].whole == expected.whole) and found[1].whole == found[2].whole != expected.whole
