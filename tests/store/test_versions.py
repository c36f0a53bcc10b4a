"""Where a text is now, and how pages changed."""

from __future__ import annotations

from stores import TEXT, Both


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
