"""Units by name, and what they are for: repeated lines, paragraphs and spans of sentences."""

import pickle

import pytest

import ndcore as nd
from ndcore.choices import NORMALIZED, UNITS
from ndcore.reference import text
from ndcore.text.units import check_unit, kernel_unit


def test_the_reference_has_the_same_units():
    assert UNITS == text.UNITS
    assert {None, *NORMALIZED} == set(text.NORMALIZATIONS)
    assert {None: text.UNITS} | NORMALIZED == text.NORMALIZATIONS


@pytest.mark.parametrize("unit", [*UNITS, str.split, "token"])
@pytest.mark.parametrize("normalize", [None, "NFKC", "scan", "words", "NFC", 3])
def test_what_is_refused_is_named(unit, normalize):
    if unit == "token":
        message = "unit must be one of word, char, grapheme, line, paragraph, sentence, byte or a callable, got 'token'"
    elif normalize in ("NFC", 3):
        message = f"normalize must be one of None, 'NFKC', 'scan', 'words', got {normalize!r}"
    elif normalize is not None and unit not in NORMALIZED[normalize]:
        message = f"normalize={normalize!r} is for the units {', '.join(NORMALIZED[normalize])}, not for {unit!r}"
    else:
        check_unit(unit, normalize)
        name = "tokens" if callable(unit) else f"{unit} words" if normalize == "words" else unit
        assert kernel_unit(unit, normalize) == name
        assert nd.Shingling(unit, normalize=normalize).normalize == normalize
        return
    for refused in (check_unit, lambda unit, normalize: nd.Shingling(unit, normalize=normalize)):
        with pytest.raises(ValueError) as caught:
            refused(unit, normalize)
        assert str(caught.value) == message


def test_stop_words_are_refused_by_name():
    with pytest.raises(ValueError, match="stop_words are for the unit word, not for 'line'"):
        nd.Shingling("line", normalize="words", stop_words=["the"])


@pytest.mark.parametrize("unit", NORMALIZED["words"])
def test_saved_sketches_keep_the_recipe(tmp_path, unit):
    hasher = nd.MinHasher(8, shingling=nd.Shingling(unit, 1, normalize="words"))
    documents = ["One two. Three!\n\nFour", "ONE, two.\tThree\n\nfour --"]
    sketches = hasher.sketch_many(documents)
    sketches.save(tmp_path / "s.ndcore")
    loaded = nd.load(tmp_path / "s.ndcore")
    assert loaded.recipe == sketches.recipe == pickle.loads(pickle.dumps(hasher)).recipe
    assert dict(loaded.recipe["shingling"])["normalize"] == "words"
    assert loaded.values[0].tolist() == loaded.values[1].tolist() == sketches.values[0].tolist()
    assert sketches.recipe != nd.MinHasher(8, shingling=nd.Shingling(unit, 1)).recipe


def test_recipes_of_older_versions_are_unchanged():
    assert nd.Shingling().recipe.id == "54ca8e75044e73f56939d172b818c527"
    assert "words" not in nd.Shingling("line").recipe.to_json()


PAGES = [
    "MENU | Home | About\nA cat sat on the mat.\n- - -\nAll rights reserved, 2026.",
    "Menu: home, about.\n- - -\nA dog ran.\n*\n\tall rights reserved 2026",
]


def test_repeated_lines_are_cut_by_their_words():
    found = nd.repeats(PAGES, 1, shingling=nd.Shingling("line", normalize="words"))
    assert list(found.cleaned()) == [PAGES[0], "- - -\nA dog ran.\n*\n\t"]
    assert list(nd.repeats(PAGES, 1, shingling=nd.Shingling("line")).cleaned())[1] == PAGES[1].replace("- - -\n", "")
    assert (found.total, found.tokens) == (6, 2)


def test_places_of_lines_are_whole_lines():
    pytest.importorskip("pyarrow")
    found = nd.repeats(PAGES, 1, shingling=nd.Shingling("line", normalize="words"))
    rows = found.rows.to_pylist()
    assert [PAGES[1][row["start_char"] : row["end_char"]] for row in rows] == [
        "Menu: home, about.", "all rights reserved 2026"]
    text = "É!\n" * 2
    [row] = nd.repeats([text], 1, shingling=nd.Shingling("line", normalize="words")).rows.to_pylist()
    assert (row["start_char"], row["end_char"], row["start_byte"], row["end_byte"]) == (3, 5, 4, 7)


def test_lines_without_words_go_with_what_is_cut_around_them():
    texts = ["a b\nc d", "x\nA b.\n---\nC d.\ny"]
    found = nd.repeats(texts, 1, shingling=nd.Shingling("line", normalize="words"))
    assert list(found.cleaned())[1] == "x\ny"


def test_repeated_spans_of_three_sentences():
    shared = "It rained. Nobody came! Why?"
    texts = [f"One day. {shared} The end.", f"Two. {shared.upper()} Another.", "It rained. Nobody came! Then they did."]
    found = nd.repeats(texts, 3, shingling=nd.Shingling("sentence", normalize="words"))
    assert list(found.cleaned()) == [texts[0], "Two. Another.", texts[2]]


def test_repeated_paragraphs():
    texts = ["Intro.\n\nThe same\ntext.\n\nEnd.", "Other.\n\nthe  same text\n\nThe end."]
    found = nd.repeats(texts, 1, shingling=nd.Shingling("paragraph", normalize="words"))
    assert list(found.cleaned())[1] == "Other.\n\nThe end."


def test_resemblance_of_lines_by_their_words():
    sh = nd.Shingling("line", 1, normalize="words")
    assert nd.resemblance("One.\nTwo\n-", "two!\n\nONE", sh) == 1
    assert nd.near_duplicates(["One.\nTwo", "one\n--\n TWO "], shingling=sh).classes.tolist() == ["kept", "lexical"]
