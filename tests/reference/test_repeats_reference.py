"""The definitions of repeated passages, by hand."""

from ndcore.reference.repeats import RepeatedRun, TokenizedCollection, spans


def marks(collection: TokenizedCollection, d: int) -> str:
    return "".join("x" if mark else "." for mark in collection.repeated(d))


def test_a_token_is_repeated_by_any_window_that_covers_it():
    collection = TokenizedCollection(["abc", "zabcz", "bc"], 3)
    assert [marks(collection, d) for d in range(3)] == ["...", ".xxx.", ".."]


def test_a_window_and_its_source_do_not_overlap():
    assert marks(TokenizedCollection(["aaaaa"], 3), 0) == "....."
    assert marks(TokenizedCollection(["aaaaaa"], 3), 0) == "...xxx"
    assert TokenizedCollection(["aaaaaa"], 3).rows(0) == [RepeatedRun(0, 3, 6, 0, 0, 4)]


def test_rows_cut_the_repeated_tokens_from_left_to_right():
    collection = TokenizedCollection(["abcd", "cdef", "abcdef"], 3)
    assert marks(collection, 2) == "xxxxxx"
    assert collection.rows(2) == [RepeatedRun(2, 0, 4, 0, 0, 2), RepeatedRun(2, 4, 6, 1, 2, 2)]


def test_a_longer_run_wins_over_an_earlier_source():
    assert TokenizedCollection(["xab", "abc", "abc"], 2).rows(2) == [RepeatedRun(2, 0, 3, 1, 0, 2)]


def test_the_earliest_of_several_sources_in_keep_order():
    assert TokenizedCollection(["ab", "ab", "ab"], 2).rows(2) == [RepeatedRun(2, 0, 2, 0, 0, 3)]
    backwards = TokenizedCollection(["ab", "ab", "ab"], 2, order=[2, 1, 0])
    assert [backwards.rows(d) for d in range(3)] == [[RepeatedRun(0, 0, 2, 2, 0, 3)], [RepeatedRun(1, 0, 2, 2, 0, 3)], []]


def test_all_places_of_a_repeated_run_are_cut():
    collection = TokenizedCollection(["abcx", "abcy"], 3)
    assert ["".join("x" if mark else "." for mark in collection.cut_none(d)) for d in range(2)] == ["xxx.", "xxx."]


def test_labels_copies_and_exceptions():
    assert marks(TokenizedCollection(["ab", "ab"], 2, by=[0, 1]), 1) == ".."
    assert marks(TokenizedCollection(["ab", "ab"], 2, min_copies=3), 1) == ".."
    assert marks(TokenizedCollection(["ab", "ab", "ab"], 2, max_copies=2), 2) == ".."
    assert marks(TokenizedCollection(["abc", "abc"], 2, exceptions=["bc"]), 1) == "xx."
    assert marks(TokenizedCollection(["abab"], 2, within=False), 0) == "...."
    against = TokenizedCollection(["ab", "ab"], 2, against=frozenset([1]), order=[1, 0])
    assert [marks(against, d) for d in range(2)] == ["xx", ".."]


def test_a_cut_takes_the_blanks_that_follow_and_what_is_before_the_next():
    text, places = "a, b\t\n c\u3000 d!", [(0, 1), (3, 4), (7, 8), (10, 11)]
    assert spans(text, places, [(2, 3)]) == [(7, 8)]
    assert spans(text, places, [(0, 1), (3, 4)]) == [(0, 1), (10, 11)]
    assert spans(text, places, [(1, 2)]) == [(3, 7)]
    assert spans(text, places, [(0, 2), (2, 4)]) == [(0, 7), (7, 11)]
    assert spans(text, places, [(2, 3), (3, 4)]) == [(7, 10), (10, 11)]


def test_a_character_that_another_token_shares_stays():
    text, places = "a在 b", [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (3, 4)]  # bytes
    assert spans(text, places, [(0, 2)]) == [(0, 1)]
    assert spans(text, places, [(2, 4)]) == [(2, 2)]
    assert spans(text, places, [(0, 4)]) == [(0, 2)]
    assert spans(text, places, [(0, 2), (2, 5)]) == [(0, 2), (2, 3)]
