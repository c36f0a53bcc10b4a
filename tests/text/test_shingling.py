"""Shinglings: the papers' sets, vectors, the reference, seams between blocks, refusals."""

from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest
from generated import splitmix64, texts
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore import _text
from ndcore.choices import NORMALIZED
from ndcore.recipe import Recipe, RecipeMismatch
from ndcore.reference import rabin, resemblance, shingling, text

KERNEL = "rabin"
P = 0x1FD845EF300CE2D0B
Q = 0x102FC1EFE0FCCD72D
R = 0x15F9968BB90FD8193
OTHER = 0x1DBEF19FC8E7B845F  # irreducible too
ROSE, FLOWER = "A rose is a rose is a rose.", "A rose is a flower which is a rose."


fingerprint = functools.cache(lambda data: rabin.fingerprint(data, P))


def from_hex(document: str) -> list[bytes]:
    """Tokenise: any tokens, written as hexadecimal fields between commas ("-" is the empty one)."""
    return [b"" if field == "-" else bytes.fromhex(field) for field in document.split(",") if field]


def nothing_but_ints(document: str) -> list[int]:
    return [1]


def written(tokens: list[str]) -> str:
    return ",".join(token or "-" for token in tokens)


# ---------------------------------------------------------------------------------------------- literals


def test_the_4_shingling_of_broder_1997_section_2(variant):
    first, second, third = ("a", "rose", "is", "a"), ("rose", "is", "a", "rose"), ("is", "a", "rose", "is")
    assert nd.Shingling(width=4).shingles(ROSE) == [first, second, third, first, second]
    assert nd.Shingling(width=4, labelled=True).shingles(ROSE) == [
        (*first, 1), (*second, 1), (*third, 1), (*first, 2), (*second, 2),
    ]  # fmt: skip
    assert len(set(nd.Shingling(width=4).fingerprints(ROSE).tolist())) == 3
    assert len(set(nd.Shingling(width=4, labelled=True).fingerprints(ROSE).tolist())) == 5


@pytest.mark.parametrize(
    ("width", "option_a", "option_b"), [(1, 70 / 100, 60 / 100), (2, 1 / 2, 1 / 2), (3, 30 / 100, 3 / 7)]
)
def test_the_percentages_of_broder_1997_section_2(variant, width, option_a, option_b):
    # 70, 50, 30 % under option A and 60, 50, 42.85 % under option B.
    assert nd.resemblance(ROSE, FLOWER, nd.Shingling(width=width, labelled=True)) == option_a
    assert nd.resemblance(ROSE, FLOWER, nd.Shingling(width=width)) == option_b
    assert nd.jaccard is nd.resemblance


def test_the_lecture_notes_three_eighths_and_zero(variant):
    pairs = nd.Shingling(width=2)
    first, second, third = (
        "Jack London travelled to Oakland",
        "Jack London travelled to the city of Oakland",
        "Jack travelled from Oakland to London",
    )
    assert nd.resemblance(first, second, pairs) == 3 / 8
    assert nd.resemblance(first, third, pairs) == 0
    assert nd.containment(first, second, pairs) == 3 / 4
    assert nd.containment(second, first, pairs) == 3 / 7


def test_no_bleeding_of_long_tokens(variant):
    for width in (1, 2, 5):
        sh = nd.Shingling(width=width)
        found = {tuple(sh.fingerprints(t).tolist()) for t in ("cat dogelephant", "dog catelephant")}
        assert len(found) == 2
    assert nd.resemblance("cat dogelephant", "dog catelephant") == 0


def test_of_one_short_document(variant):
    assert nd.Shingling().fingerprints("cat dog").tolist() == [rabin.fingerprint(bytes(5) + b"cat" + bytes(5) + b"dog", P)]
    assert nd.Shingling(short="skip").fingerprints("cat dog").tolist() == []
    assert nd.Shingling(unit="byte").fingerprints("ab").tolist() == [rabin.fingerprint(b"\x01\0\0\0\0\0ab", P)]
    assert np.isnan(nd.resemblance("", "a"))
    assert np.isnan(nd.containment("a", "!"))
    assert nd.resemblance("cat dog", "Cat, dog!") == 1


def test_symbols_of_vectors(vectors, variant):
    data = vectors("shingling")
    for polynomial, symbols in {hex(Q): data["symbols"], **data["other_symbols"]}.items():
        for token, symbol in symbols.items():
            assert hex(_text.symbol(bytes.fromhex(token), int(polynomial, 16))) == symbol, token


def test_vectors_of_token_lists(vectors, same_as, variant):
    data = vectors("shingling")
    refused = 0
    for case in data["tokens"]:
        document = data["documents"][case["document"]]
        how = {"width": case["width"], "labelled": case["labelled"], "short": case["short"],
               "polynomial": int(case["polynomial"], 16)}  # fmt: skip
        listed = nd.Shingling(unit=from_hex, **how)
        if case["fingerprints"] is None:
            refused += 1
            with pytest.raises(ValueError, match=f"document 0 has {len(document)} tokens"):
                listed.fingerprints(written(document))
            continue
        same_as(listed.fingerprints(written(document)), case["fingerprints"])
        if not case["document"].startswith(("bytes_", "odd")):
            words = b" ".join(map(bytes.fromhex, document)).decode("ascii")
            same_as(nd.Shingling(**how).fingerprints(words), case["fingerprints"])
    assert refused > 0


def test_vectors_of_bytes(vectors, same_as, variant):
    data = vectors("shingling")
    for case in data["bytes"]:
        sh = nd.Shingling("byte", case["width"], case["labelled"], case["short"], polynomial=int(case["polynomial"], 16))
        document = bytes.fromhex(data["inputs"][case["input"]])
        if case["fingerprints"] is None:
            with pytest.raises(ValueError, match=f"{len(document)} tokens"):
                sh.fingerprints(document)
        else:
            same_as(sh.fingerprints(document), case["fingerprints"])


def test_labels_of_vectors(vectors, variant):
    # Labels of a fingerprint that repeats: a document of one token again and again has the vector's label rule.
    [f] = nd.Shingling(width=1).fingerprints("x").tolist()
    found = nd.Shingling(width=1, labelled=True).fingerprints("x " * 300).tolist()
    assert found == [shingling.label(f, k) for k in range(1, 301)]
    for case in vectors("shingling")["labels"]:  # and the vectors have the same rule
        assert hex(shingling.label(int(case["f"], 16), case["occurrence"])) == case["value"]


# ---------------------------------------------------------------------------------------------- oracle

hows = st.fixed_dictionaries(
    {
        "unit": st.sampled_from(["word", "word", "char", "grapheme", "line", "paragraph", "sentence", "byte"]),
        "width": st.sampled_from([1, 2, 3, 5, 9]),
        "labelled": st.booleans(),
        "short": st.sampled_from(["whole", "skip"]),
    }
)


@given(hows, st.integers(0, 2), st.lists(texts, max_size=4), st.sampled_from([(P, Q), (OTHER, Q), (OTHER, P), (P, OTHER)]))
@settings(max_examples=100)
def test_as_the_reference(variant, how, normal, documents, polynomials):
    accepted = [None, *(name for name, units in NORMALIZED.items() if how["unit"] in units)]
    how = {**how, "normalize": accepted[normal % len(accepted)]}
    how |= dict(zip(("polynomial", "token_polynomial"), polynomials, strict=True))
    expected = [shingling.fingerprints(document, **how) for document in documents]
    sh = nd.Shingling(**how)
    values, offsets = sh.fingerprints_many(documents, threads=1)
    assert values.dtype == np.uint64 and offsets.dtype == np.int64
    assert offsets.tolist() == np.cumsum([0, *map(len, expected)]).tolist()
    assert values.tolist() == [f for fs in expected for f in fs]
    for document, fs in zip(documents, expected, strict=True):
        assert sh.fingerprints(document).tolist() == fs
        assert [token if isinstance(token, bytes) else token.encode() for token in sh.tokens(document)] == text.tokens(
            document, how["unit"], how["normalize"]
        )
        assert len(sh.shingles(document)) == len(fs)


@given(st.lists(st.binary(max_size=12), max_size=20), st.integers(1, 6), st.booleans())
def test_any_tokens_as_the_reference(variant, tokens, width, labelled):
    found = nd.Shingling(from_hex, width, labelled).fingerprints(written([token.hex() for token in tokens]))
    assert found.tolist() == shingling.of_tokens(tokens, width, labelled)


@given(texts, texts, st.sampled_from([1, 2, 5]), st.booleans())
def test_exact_measures_as_the_reference(variant, a, b, width, labelled):
    sets = [set(shingling.fingerprints(t, width=width, labelled=labelled)) for t in (a, b)]
    sh = nd.Shingling(width=width, labelled=labelled)
    np.testing.assert_equal(nd.resemblance(a, b, sh), resemblance.resemblance(*sets))
    np.testing.assert_equal(nd.containment(a, b, sh), resemblance.containment(*sets))


# ---------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize("width", [*range(1, 12), 16, 17, 31, 32, 33])
def test_every_number_of_symbols(variant, width):
    # Windows of every width, for every number of them up to some blocks of each form; symbols of all 64 bits.
    outputs = splitmix64(width)
    tokens = [(next(outputs) | 1 << 63).to_bytes(8, "big") for _ in range(width + 70)]
    symbols = [int.from_bytes(token, "big") for token in tokens]
    expected = [rabin.words(symbols[i : i + width], P) for i in range(71)]
    sh = nd.Shingling(from_hex, width, short="skip")
    for n in range(width + 70):
        found = sh.fingerprints(written([token.hex() for token in tokens[:n]])).tolist()
        assert found == expected[: max(0, n - width + 1)], n


@pytest.mark.parametrize("token", ["ff" * 8, "01" + "00" * 7, "80" + "00" * 7, "00", "-"])
def test_extreme_symbols(variant, token):
    # Documents of one token again and again; the windows are all alike.
    raw = b"" if token == "-" else bytes.fromhex(token)
    for width in (1, 2, 3, 5, 8, 9):
        [expected] = set(shingling.of_tokens([raw] * width, width))
        assert nd.Shingling(from_hex, width).fingerprints(",".join([token] * 60)).tolist() == [expected] * (61 - width)


@pytest.mark.parametrize("width", [1, 2, 5, 1023, 1024, 1025, 1500])
def test_seams_between_blocks_of_1024_symbols(variant, width):
    # No window is lost, doubled or mixed at a seam. A window is expected to have the fingerprint of its symbols alone.
    words = [f"t{i * 7919 % 100003}" for i in range(2060 + width)]
    window = nd.Shingling(width=width, short="skip")
    for n in (0, width - 1, width, 1023, 1024, 1025, 1024 + width - 2, 1024 + width - 1, 1024 + width, 2048 + width):
        found = window.fingerprints(" ".join(words[:n]))
        assert len(found) == max(0, n - width + 1)
        for i in {0, 1, 1022, 1023, 1024, 1025, 1024 - width, 1024 + width, len(found) - 2, len(found) - 1}:
            if 0 <= i < len(found):
                packed = b"".join(word.encode().rjust(8, b"\0") for word in words[i : i + width])
                assert found[i] == fingerprint(packed), (n, i)


@pytest.mark.parametrize("width", [1, 5, 255, 256, 257, 1024, 3000])
def test_seams_between_blocks_of_bytes(variant, width):
    data = bytes(i * i % 251 for i in range(5000))
    for n in (width - 1, width, 1024, 1023 + width, 1024 + width, 5000):
        found = nd.Shingling("byte", width, short="skip").fingerprints(data[:n])
        assert len(found) == max(0, n - width + 1)
        for i in {0, 1, 1022, 1023, 1024, 1025, len(found) - 2, len(found) - 1}:
            if 0 <= i < len(found):
                assert found[i] == fingerprint(data[i : i + width]), (n, i)
    whole = nd.Shingling("byte", width).fingerprints(data[: width - 1]).tolist()
    expected = [rabin.fingerprint(b"\x01" + bytes(width) + data[: width - 1], P)]
    assert whole == (expected if width > 1 else [])


def test_threads_do_not_change_anything(variant):
    documents = [f"{i} " * (i % 50) for i in range(3000)] + ["x y z " * 400_000] + ["last one of them all"]
    sh = nd.Shingling(width=3)
    one = sh.fingerprints_many(documents, threads=1)
    for threads in (2, 5, None):
        for ours, theirs in zip(one, sh.fingerprints_many(iter(documents), threads=threads), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert one[1][-1] - one[1][-2] == 3


def test_no_documents(variant):
    values, offsets = nd.Shingling().fingerprints_many([])
    assert (values.dtype, values.tolist(), offsets.tolist()) == (np.uint64, [], [0])


# ---------------------------------------------------------------------------------------------- recipes

DIFFERENT = [
    {}, {"unit": "char"}, {"unit": "grapheme"}, {"unit": "line"}, {"unit": "paragraph"}, {"unit": "sentence"},
    {"unit": "line", "normalize": "words"}, {"unit": "paragraph", "normalize": "words"},
    {"unit": "sentence", "normalize": "words"}, {"unit": "byte"}, {"width": 4}, {"labelled": True},
    {"short": "skip"}, {"short": "error"}, {"normalize": "NFKC"},
    {"unit": "char", "normalize": "scan"}, {"polynomial": OTHER}, {"token_polynomial": OTHER},
    {"unit": str.split}, {"unit": from_hex},
]  # fmt: skip


def test_every_parameter_is_in_the_recipe():
    made = [nd.Shingling(**how) for how in DIFFERENT]
    assert len({sh.recipe.id for sh in made}) == len(set(made)) == len(DIFFERENT)
    assert nd.Shingling() == nd.Shingling("word", 5, False, "whole", None, P)
    assert nd.Shingling() != "word"


@pytest.mark.parametrize("how", DIFFERENT, ids=lambda how: str(how).split(" at 0x")[0])
def test_pickles_and_recipes_make_the_same(how):
    sh = nd.Shingling(**how)
    twin = pickle.loads(pickle.dumps(sh))
    document = "One two, three. Four five! Six\nSeven, 41,42"
    if how.get("unit") is not from_hex:
        np.testing.assert_array_equal(twin.fingerprints(document), sh.fingerprints(document))
    assert twin == sh and hash(twin) == hash(sh) and repr(twin) == repr(sh)
    if callable(sh.unit):
        with pytest.raises(ValueError, match="is a function: pass shingling="):
            nd.Shingling.from_recipe(sh.recipe)
    else:
        assert nd.Shingling.from_recipe(sh.recipe) == sh


def test_a_recipe_of_other_tables_is_refused():
    parameters = nd.Shingling().recipe.parameters
    with pytest.raises(RecipeMismatch, match=r"unicode is '4.1.0' here and '\S+' there"):
        nd.Shingling.from_recipe(Recipe({**parameters, "unicode": "4.1.0"}))


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"unit": "token"}, ValueError, "word, char, grapheme, line, paragraph, sentence, byte or a callable, got 'token'"),
        ({"width": 0}, ValueError, "width must be 1 to 65536 tokens, got 0"),
        ({"width": 65537}, ValueError, "got 65537"),
        ({"width": 2.5}, TypeError, "an int; got 2.5"),
        ({"width": True}, TypeError, "an int; got True"),
        ({"labelled": 1}, TypeError, r"True \(Option A\) or False \(Option B\), got 1"),
        ({"short": "pad"}, ValueError, "'whole', 'skip' or 'error', got 'pad'"),
        ({"normalize": "NFC"}, ValueError, "None, 'NFKC', 'scan', 'words', got 'NFC'"),
        ({"unit": "byte", "normalize": "NFKC"}, ValueError, "for the units word, char, grapheme, not for 'byte'"),
        ({"unit": "line", "normalize": "NFKC"}, ValueError, "not for 'line'"),
        ({"unit": str.split, "normalize": "NFKC"}, ValueError, "units word, char, grapheme"),
        ({"polynomial": Q}, ValueError, "0x102fc1efe0fccd72d is used for tokens or for features"),
        ({"polynomial": R}, ValueError, "0x15f9968bb90fd8193 is used for tokens or for features"),
        ({"token_polynomial": P}, ValueError, "polynomial 0x1fd845ef300ce2d0b is used for tokens"),
        ({"token_polynomial": R}, ValueError, "token_polynomial 0x15f9968bb90fd8193 is used for features"),
        ({"token_polynomial": 0x11B}, ValueError, "token_polynomial 0x11b is not irreducible of degree 64"),
        ({"token_polynomial": 2.0}, TypeError, "token_polynomial is an int"),
        ({"polynomial": 0x11B}, ValueError, "0x11b is not irreducible of degree 64"),
        ({"polynomial": 1 << 64 | 2}, ValueError, "not irreducible of degree 64; random_irreducible"),
        ({"polynomial": "P"}, TypeError, "polynomial"),
    ],
    ids=str,
)
def test_refusals(how, error, message):
    with pytest.raises(error, match=message):
        nd.Shingling(**how)


def test_a_short_document_is_refused_by_position():
    sh = nd.Shingling(short="error")
    assert len(sh.fingerprints("one two three four five")) == 1
    assert len(sh.fingerprints("")) == 0
    for call in (lambda: sh.fingerprints_many(["one two three four five", "!", "a b"]),
                 lambda: nd.MinHasher(shingling=sh).sketch_many(["", "one two three four five", "a b"]),
                 lambda: nd.near_duplicates(["one two three four five"] * 2 + ["a b"], shingling=sh)):  # fmt: skip
        with pytest.raises(ValueError, match="document 2 has 2 tokens, fewer than a shingle of 5; short='whole'"):
            call()
    with pytest.raises(ValueError, match="has 1 tokens"):
        sh.shingles("a")


@pytest.mark.parametrize("document", [None, 3, ["a"], bytearray(b"a")])
def test_documents_that_are_none(document):
    for call in (nd.Shingling().tokens, nd.Shingling().fingerprints, nd.Shingling().shingles, nd.MinHasher().sketch):
        with pytest.raises(TypeError, match="document 0 is"):
            call(document)


def test_a_unit_must_return_tokens():
    with pytest.raises(TypeError, match="callable returned 1 of type int; tokens are str or bytes"):
        nd.Shingling(nothing_but_ints).fingerprints("x")
