"""The options of the verdict in the reference, by examples worked out by hand. Words are shingles (width 1)."""

from __future__ import annotations

from math import isnan

import pytest

from ndcore.reference import text
from ndcore.reference.dedup import Result, least_common, near_duplicates

LETTERS = "a b c d e f g h i j"


def found(texts, **options) -> Result:
    return near_duplicates(texts, width=1, **options)


# ---------------------------------------------------------------------------------------------- containment


def test_containment_has_a_direction():
    # All 3 words of the first are in the second, 3 of the 10 words of the second in the first.
    texts = ["a b c", LETTERS]
    longest = found(texts, drop="contained", keep="longest")
    assert longest.labels == [1, 1] and longest.classes == ["contained", "kept"]
    assert longest.resemblance == [0.3, 1.0] and longest.score == [1.0, 1.0]
    first = found(texts, drop="contained")
    assert first.labels == [0, 1]  # the second, which comes later, is not contained in the first
    for result in (longest, first):
        assert result.pairs == [(0, 1, 0.3)] and result.pair_scores == [1.0]
    assert found(texts, keep="longest").labels == [0, 1]


def test_a_contained_document_that_resembles_is_near():
    # 9 of 10: contained, and resembling at the threshold of 0.8; 5 of 5 and 5 of 10: contained only.
    result = found([LETTERS, "a b c d e f g h i", "a b c d e"], drop="contained")
    assert result.labels == [0, 0, 0] and result.classes == ["kept", "near", "contained"]
    assert result.resemblance == [1.0, 0.9, 0.5] and result.score == [1.0, 1.0, 1.0]
    assert result.pairs == [(0, 1, 0.9), (0, 2, 0.5), (1, 2, 5 / 9)] and result.pair_scores == [1.0, 1.0, 1.0]


def test_stars_of_containment_take_the_highest_score_then_the_first():
    # The last has 4 of 5 words in the first, 5 of 5 in the second and third.
    texts = ["a b c d v w x y z", "a b c d e k l m n o", "a b c d e p q r s t", "a b c d e"]
    result = found(texts, drop="contained", threshold=0.8)
    assert result.labels == [0, 1, 2, 1] and result.score == [1.0, 1.0, 1.0, 1.0]
    assert result.resemblance[3] == 0.5


def test_equal_documents_are_shingle_equivalent_in_both_ways():
    result = found(["a b c", "c b a", "A B C"], drop="contained")
    assert result.classes == ["kept", "shingle", "lexical"] and result.score == [1.0, 1.0, 1.0]


def test_containment_in_against():
    result = found(["a b c", LETTERS], against=["a b c d", "z"], drop="contained")
    assert result.labels == [2, 1] and result.classes == ["contained", "kept"]  # resemblance 3/4 is below 0.8
    assert result.pairs == [(0, 1, 0.3), (0, 2, 0.75), (1, 2, 0.4)]
    assert result.pair_scores == [1.0, 1.0, 1.0]  # of 0 in 1, of 0 in 2, of 2 in 1


# ---------------------------------------------------------------------------------------------- keys and sizes


def test_keys_keep_equal_tokens_apart_but_not_equal_bytes():
    texts = ["a b", "A b", "a b", "A B", "a b c d e f", "a b c d e g"]
    assert found(texts, threshold=0.7).labels == [0, 0, 0, 0, 4, 4]  # 5 of 7
    # The third is identical to the first, so its own key does not count; the fourth equals the second in tokens and key.
    result = found(texts, threshold=0.7, must_agree=[1, 2, 3, 2, 1, 2])
    assert result.labels == [0, 1, 0, 1, 4, 5]
    assert result.classes == ["kept", "kept", "identical", "lexical", "kept", "kept"]
    assert result.pairs == [(0, 2, 1.0), (1, 3, 1.0)]
    with pytest.raises(ValueError, match="must_agree has 2 labels; give 3"):
        found(["a", "b"], against=["c"], must_agree=[1, 2])


def test_the_key_of_the_first_identical_document_in_keep_order_counts():
    # In keep order 1 comes first; its key is that of 2, and of no other.
    assert found(["a b", "a b", "A b"], keep=[2, 1, 3], must_agree=[1, 2, 2]).labels == [1, 1, 1]
    assert found(["a b", "a b", "A b"], keep=[1, 2, 3], must_agree=[1, 2, 2]).labels == [0, 0, 2]


def test_min_shingles_is_of_pairs_alone():
    texts = ["a b c", "a b c d", "A B C", "c b a"]
    assert found(texts, threshold=0.7).classes == ["kept", "near", "lexical", "shingle"]
    assert found(texts, threshold=0.7, min_shingles=3).classes == ["kept", "near", "lexical", "shingle"]
    assert found(texts, threshold=0.7, min_shingles=4).classes == ["kept", "kept", "lexical", "kept"]


# ---------------------------------------------------------------------------------------------- common shingles


def pages(n: int, first: int = 0) -> list[str]:
    """Pages of two common words and two of their own: 2 of 6 words in common."""
    return [f"menu page own{i} only{i}" for i in range(first, first + n)]


def test_common_shingles_count_for_nothing():
    result = found(pages(20), threshold=0.3)
    assert result.labels == [0] * 20 and result.common == frozenset()
    result = found(pages(20), threshold=0.3, drop_common=0.5)
    assert result.labels == list(range(20)) and result.pairs == []
    assert len(result.common) == 2


def test_scores_are_without_common_shingles_and_resemblance_is_with_them():
    # Common: menu, page. Of the last two, {a, b, c} and {a, b, d}: 2 of 4 count; of all words 4 of 6.
    result = found([*pages(20), "menu page a b c", "menu page a b d"], threshold=0.5, drop_common=0.5)
    assert result.labels == [*range(21), 20] and result.classes[-1] == "near"
    assert (result.resemblance[-1], result.score[-1]) == (4 / 6, 0.5)
    assert (result.pairs, result.pair_scores) == ([(20, 21, 4 / 6)], [0.5])


def test_containment_without_common_shingles():
    # Of {a, b} all are in {a, b, c, d, e}; the resemblance of all words is 4 of 7.
    texts = [*pages(20), "menu page a b c d e", "menu page a b"]
    result = found(texts, drop="contained", drop_common=0.5)
    assert result.labels[-1] == 20 and result.classes[-1] == "contained"
    assert (result.resemblance[-1], result.score[-1]) == (4 / 7, 1.0)


@pytest.mark.parametrize("drop", ["resembling", "contained"])
def test_documents_of_common_shingles_alone_are_in_no_pair(drop):
    # The last three have the words menu and page alone: their score is 0/0. Equal tokens collapse all the same.
    result = found([*pages(20), "menu page", "page menu", "Page menu"], drop_common=0.5, drop=drop)
    assert result.classes[-3:] == ["kept", "kept", "lexical"] and result.score[-3:] == [1.0, 1.0, 1.0]
    assert result.pairs == [(21, 22, 1.0)] and result.pair_scores == [1.0]


def test_twenty_leaders_have_a_common_shingle():
    copies = [pages(1)[0]] * 30
    assert not found([*pages(19), *copies], drop_common=0.5).common  # in all of 49 documents, 19 of which lead
    assert len(found([*pages(20), *copies], drop_common=0.5).common) == 2  # own0 is in 31 of 50, one of which leads
    assert found(pages(20), against=pages(1, 20), drop_common=0.5).common


def test_a_share_is_exceeded():
    others = [f"x{i}" for i in range(20)]
    assert not found([*pages(20), *others], drop_common=0.5).common  # 20 of 40 are not more than half
    assert found([*pages(20), *others], drop_common=0.49).common
    # Documents without shingles do not count: 20 of 39.
    assert found([*pages(20), *others[:19], "...", "!"], drop_common=0.5).common
    # Nor do versions of others: the last two are one document.
    versions = [*range(39), 38]
    assert found([*pages(20), *others], drop_common=0.5, one_per=versions).common
    # Both sides count: 20 of 41.
    assert not found([*pages(20), *others[:19]], against=["y", "z"], drop_common=0.5).common
    assert found([*pages(20), *others[:18]], against=["y"], drop_common=0.5).common


def test_common_shingles_are_of_a_group():
    # In group y only 5 documents have the common words; of them, all resemble each other.
    result = found([*pages(20), *pages(5, 20)], threshold=0.3, drop_common=0.5, by=["x"] * 20 + ["y"] * 5)
    assert result.labels == [*range(20), 20, 20, 20, 20, 20]
    assert {label for label, _ in result.common} == {"x"}
    both = found([*pages(20), *pages(20, 20)], drop_common=0.5, by=["x"] * 20 + ["y"] * 20)
    assert len(both.common) == 4  # two words, in two groups


# ---------------------------------------------------------------------------------------------- reassign

# 7 of 13 words of the first two; 8 of 10 of the last two; 5 of 13 of the first and the last.
CHAIN = ["c d e f g 1 2 x y z", "1 2 c d e f g h i j", "c d e f g h i j"]


def test_reassign_joins_the_kept_document_with_the_highest_score():
    copies = [*CHAIN, CHAIN[1].upper()]
    assert found(copies, threshold=0.5).labels == [0, 0, 2, 0]
    result = found(copies, threshold=0.5, reassign=True)
    assert result.labels == [0, 2, 2, 2]
    assert result.classes == ["kept", "near", "kept", "near"] and result.score == [1.0, 0.8, 1.0, 0.8]
    assert found(copies, threshold=0.5, reassign=True, cluster="greedy").labels == [0, 2, 2, 2]


def test_reassign_leaves_chained_members_where_they_are():
    result = found(CHAIN, threshold=0.5, cluster="components", reassign=True)
    assert result.labels == [0, 0, 0] and result.classes == ["kept", "near", "chained"]
    assert result.resemblance == result.score == [1.0, 7 / 13, 5 / 13]


def test_reassign_in_a_component_with_several_documents_of_against():
    # The text joins both documents of against to one component, which the first represents.
    texts, old = [CHAIN[1]], [CHAIN[0], CHAIN[2]]
    assert found(texts, against=old, threshold=0.5, cluster="components").labels == [1]
    assert found(texts, against=old, threshold=0.5, cluster="components", reassign=True).labels == [2]


def test_reassign_prefers_the_first_in_keep_order_of_equals():
    # 4 of 6 both times. In keep order: the middle, the last, the first.
    texts = ["a b c d e", "a b c d x", "a b c e y"]
    result = found(texts, keep=[3, 1, 2], threshold=0.6, reassign=True)
    assert result.labels == [1, 1, 2] and result.resemblance == [4 / 6, 1.0, 1.0]
    assert found(texts, keep=[3, 2, 1], threshold=0.6, reassign=True).labels == [2, 1, 2]


def test_reassign_of_containment_follows_the_direction():
    # The second is contained in the first to 4/5, in the last to 5/5; the first and the last are kept.
    texts = ["a b c d v w x y z", "a b c d e", "a b c d e f g h i j"]
    assert found(texts, drop="contained").labels == [0, 0, 2]
    assert found(texts, drop="contained", reassign=True).labels == [0, 2, 2]
    # The second contains the third, which does not contain it.
    texts = ["a b c d e v w x", "a b c d e v w", "a b v"]
    assert found(texts, drop="contained", keep=[0, 2, 1], reassign=True).labels == [0, 0, 0]


def test_versions_follow_a_reassigned_document():
    result = found([*CHAIN, "none of these words"], threshold=0.5, reassign=True, one_per=["p", "q", "r", "q"])
    assert result.labels == [0, 2, 2, 2] and result.classes[3] == "version" and isnan(result.score[3])


# ---------------------------------------------------------------------------------------------- lost


def test_lost_shingles_are_in_no_kept_document():
    texts = ["a b c d e", "a b c d f", "a b c d g", "g h i j k"]
    assert found(texts, threshold=0.6).lost is None
    assert found(texts, threshold=0.6, lost=True).lost == [0, 1, 0, 0]  # f is gone, g is in the last


def test_lost_of_equal_documents_versions_and_against():
    texts = ["a b c d e", "a b c d f", "A B c d f", "x y z", "...", "..."]
    result = found(texts, threshold=0.6, lost=True, one_per=[1, 2, 3, 1, 5, 6], against=["y"])
    assert result.classes == ["kept", "near", "near", "version", "kept", "identical"]
    assert result.lost == [0, 1, 1, 2, 0, 0]  # the version loses x and z


def test_lost_counts_common_shingles_too():
    # Of the last two, d is lost; the first version of page 0 loses its own two words, not menu and page.
    texts = [*pages(20), "menu page a b c", "menu page a b d", "menu page other"]
    result = found(texts, threshold=0.5, drop_common=0.5, lost=True, one_per=[*range(22), 0])
    assert result.lost == [0] * 21 + [1, 1]


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": "similar"}, "drop is 'similar'"),
        ({"drop": "contained", "cluster": "greedy"}, "cluster is 'greedy'"),
        ({"drop": "contained", "cluster": "components"}, "cluster is 'components'"),
        ({"min_shingles": -1}, "min_shingles is -1"),
        ({"drop_common": 0}, "drop_common is 0"),
        ({"drop_common": 1.0}, "drop_common is 1.0"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        found(["a", "b"], **options)


# ---------------------------------------------------------------------------------------------- keys by name


def test_numbers_are_tokens_with_a_decimal_digit():
    assert text.numbers("Room 12, 3rd floor; 12 rooms, 4.50 each") == (b"12", b"3rd", b"12", b"4", b"50")
    # Superscripts, fractions and Roman numerals (No, Nl) are no decimal digits; digits of other scripts are.
    assert text.numbers("x\N{SUPERSCRIPT TWO} \N{VULGAR FRACTION ONE HALF} \N{ROMAN NUMERAL TWO}") == ()
    assert text.numbers("\N{ARABIC-INDIC DIGIT THREE} \N{FULLWIDTH DIGIT THREE}") == (
        "\N{ARABIC-INDIC DIGIT THREE}".encode(), "\N{FULLWIDTH DIGIT THREE}".encode())  # fmt: skip
    assert text.numbers(b"12\xff34") == (b"12", b"34")


def test_a_title_is_the_first_line_with_words():
    assert text.title("\n ...\r\n The TITLE \rThe text") == (b"the", b"title")
    assert text.title("The text", "The title") == (b"the", b"title")
    assert text.title("The text", "...") == (b"the", b"text")
    assert text.title("one\N{LINE SEPARATOR}two\x0bthree") == (b"one", b"two", b"three")
    assert text.title("") == text.title("...\n!") == ()


def test_negations_are_tokens_of_a_list():
    assert text.negations("Not that I do NOT know, nor don't", ["not", "Nor", "t"]) == (b"not", b"not", b"nor", b"t")
    with pytest.raises(ValueError, match="\"don't\" is 2 tokens"):
        text.negations("do", ["don't"])


def test_keys_are_equal_if_type_and_value_are():
    values = [None, False, True, 0, 1, 0.0, 1.0, "", "1", b"", b"1", (), (1,), (1, 2), (1.0,), (True,), ("1",)]
    assert len({text.agreement_key(value) for value in values}) == len(values)
    assert text.agreement_key(0.0) == text.agreement_key(-0.0)
    assert text.agreement_key((1, "a")) == text.agreement_key((1, "a"))
    for value in ([1], {1}, ((1,),), object()):
        with pytest.raises(TypeError, match="give None, bool, int"):
            text.agreement_key(value)
    for value in (float("nan"), (1, float("nan"))):
        with pytest.raises(ValueError, match="nan"):
            text.agreement_key(value)


@pytest.mark.parametrize(("n", "threshold", "least"), [
    (0, 0.5, 0), (1, 1.0, 1), (7, 1.0, 7), (8, 0.9, 8), (10, 0.9, 9), (10, 0.75, 8), (3, 1 / 3, 1), (5, 0.01, 1),
])
def test_the_least_number_of_common_members(n, threshold, least):
    assert least_common(n, threshold) == least
