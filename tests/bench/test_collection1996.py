"""The collection of the benchmark like AltaVista's: reproducible piece by piece, of the paper's shares, its truth true."""

from __future__ import annotations

import hashlib
import shutil
import sysconfig
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from benches import imported

import ndcore as nd
from ndcore.reference import resemblance as reference_resemblance
from ndcore.reference import shingling as reference_shingling

if shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None:
    pytest.skip("there is no C compiler for phrases.c", allow_module_level=True)
made, phrases, truth, drawing, joining = imported("collection1996", "phrases", "truth1996", "families", "joining")

SMALL = 20_000
WIDTH = 10


@pytest.fixture(scope="module")
def small() -> made.Collection:
    return made.Collection(SMALL)


def texts(collection: made.Collection, documents: Any) -> list[bytes]:
    batch = collection.bank.write(collection.recipes(np.asarray(documents)))
    return [batch.text(i) for i in range(len(batch))]


def shingle_set(text: bytes) -> set[Any]:
    """The shingles of a text by the reference, as tuples of tokens."""
    tokens = reference_shingling.tokens(text)
    return {tuple(tokens[i : i + WIDTH]) for i in range(len(tokens) - WIDTH + 1)}


def families_of(collection: made.Collection, kind: int, count: int) -> list[np.ndarray[Any, Any]]:
    """The first families of a kind in the order of the collection."""
    members = collection.members(np.arange(len(collection)))
    return [collection.documents_of(i) for i in dict.fromkeys(members.family[members.kind == kind].tolist())][:count]


# ---- phrases


@pytest.mark.slow
def test_a_bank_has_different_phrases_in_two_styles_of_equal_words() -> None:
    bank = phrases.machine_bank()
    half = 1 << phrases.BITS
    words = [bank.words(i) for i in range(half)]
    assert len(set(words)) == half
    assert {len(each) for each in words} == {phrases.WORDS}
    for i in range(0, half, 97):
        assert bank.phrase(i) != bank.phrase(half + i)
        for number in (i, half + i):
            tokens = [token.decode() for token in reference_shingling.tokens(bank.phrase(number))]
            assert tuple(tokens) == words[i]


@pytest.mark.slow
def test_made_up_words_fill_a_bank_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phrases, "base_text", lambda size: "")
    bank = phrases.machine_bank.__wrapped__()
    assert len({bank.words(i) for i in range(1 << phrases.BITS)}) == 1 << phrases.BITS


def test_phrases_are_four_words_of_plain_text() -> None:
    text = "It is -- as\nthey say -- (so) what?! now IT IS, as THEY.\n1 2 3 4 a b c " + "w" * 80
    assert list(phrases.distinct_phrases(text)) == ["It is as\nthey ", "say so what? now ", "1 2 3 4 "]


def test_a_bank_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 2 phrases; a bank has 131072"):
        phrases.Bank(["a b c d ", "e f g h "])


def test_the_c_code_writes_what_python_says(small: made.Collection) -> None:
    everything = np.arange(SMALL)
    kind = small.members(everything).kind
    version = small.members(everything).version
    chosen = np.concatenate([everything[kind == k][:20] for k in range(5)] + [everything[version > 1][:40]])
    for recipe, text in zip(small.recipes(chosen), texts(small, chosen), strict=True):
        assert b"".join(small.bank.phrase(i) for i in phrases.phrases_of(recipe)) == text


def test_draws_are_those_of_splitmix64() -> None:
    # The first outputs for the seed 1234567, as published with the generator's reference implementation.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert [phrases.draw(1234567, n) for n in range(5)] == expected
    keys = np.full(5, 1234567, np.uint64)
    assert phrases.draws(keys, np.arange(5, dtype=np.uint64)).tolist() == expected


# ---- families


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65, 1000])
def test_scattering_is_a_permutation_with_its_inverse(n: int) -> None:
    scattered = drawing.Scattered(n, 5)
    slots = scattered.slots(np.arange(n))
    assert sorted(slots.tolist()) == list(range(n))
    assert scattered.documents(slots).tolist() == list(range(n))
    with pytest.raises(ValueError, match=f"there are {n}"):
        scattered.slots(np.array([n]))


@pytest.mark.parametrize(("families", "members"), [(0, 0), (7, 18), (50_000, 233_333), (1_500_000, 7_000_000)])
def test_sizes_of_families_add_up(families: int, members: int) -> None:
    sizes, counts = drawing.power_law(families, members, 5000)
    assert counts.sum() == families
    assert (counts > 0).all() and (np.diff(sizes) > 0).all()
    assert 0.99 * members - 2 <= (sizes * counts).sum() <= members
    if families > 10**6:
        assert 2000 < sizes[-1] <= 5000


# ---- the collection


def test_equal_arguments_make_equal_documents_and_another_seed_others(small: made.Collection) -> None:
    again, other = made.Collection(SMALL), made.Collection(SMALL, seed=2)
    assert small.batch(1).data.tobytes() == again.batch(1).data.tobytes() != other.batch(1).data.tobytes()


def test_batches_do_not_depend_on_each_other(small: made.Collection) -> None:
    memory = np.empty(1 << 27, np.uint8)
    backwards = {}
    for i in reversed(range(small.batches)):
        batch = small.batch(i, memory)
        backwards[i] = hashlib.sha256(batch.data.tobytes() + batch.offsets.tobytes()).digest()
        assert np.shares_memory(batch.data, memory)
    lengths = [len(small.batch(i)) for i in range(small.batches)]
    assert lengths == [made.BATCH] * 4 + [SMALL - 4 * made.BATCH]
    for i in range(small.batches):
        batch = small.batch(i)
        assert hashlib.sha256(batch.data.tobytes() + batch.offsets.tobytes()).digest() == backwards[i]
    one = made.BATCH + 77
    assert texts(small, [one]) == [small.batch(1).text(77)]
    with pytest.raises(ValueError, match="there is no batch 5; there are 5"):
        small.batch(5)


def test_a_batch_is_an_arrow_array_of_the_same_memory(small: made.Collection) -> None:
    pytest.importorskip("pyarrow")
    batch = small.batch(4)
    array = batch.arrow()
    assert array.buffers()[2].address == batch.data.ctypes.data
    assert [array[i].as_py() for i in (0, 9, len(batch) - 1)] == [batch.text(i) for i in (0, 9, len(batch) - 1)]


def test_documents_are_as_long_as_pages_of_the_web(small: made.Collection) -> None:
    lengths = np.concatenate([np.diff(small.batch(i).offsets) for i in range(small.batches)])
    assert lengths.mean() == pytest.approx(5000, rel=0.1)
    assert np.median(lengths) < 2700
    assert lengths.min() > 100 and lengths.max() < 220_000
    assert np.quantile(lengths, 0.01) > 200


def test_families_and_members_are_found_both_ways(small: made.Collection) -> None:
    members = small.members(np.arange(SMALL))
    assert sorted(set(members.family.tolist())) == list(range(small.families))
    for family in range(0, small.families, 501):
        documents = small.documents_of(family)
        assert sorted(documents.tolist()) == np.flatnonzero(members.family == family).tolist()
        assert members.member[documents].tolist() == list(range(len(documents)))


def test_identical_documents_are_the_versions_that_are_equal(small: made.Collection) -> None:
    members = small.members(np.arange(SMALL))
    known: dict[bytes, tuple[int, int]] = {}
    for i in range(small.batches):
        batch = small.batch(i)
        for k in range(len(batch)):
            which = (int(members.family[i * made.BATCH + k]), int(members.version[i * made.BATCH + k]))
            assert known.setdefault(hashlib.sha256(batch.text(k)).digest(), which) == which
    assert len(known) == len(set(zip(members.family.tolist(), members.version.tolist(), strict=True)))


def test_headers_footers_and_licences_have_many_unrelated_holders() -> None:
    collection = made.Collection(100_000)
    members = collection.members(np.arange(100_000))
    part = collection.recipes(np.arange(100_000))["segments"]
    total = part["count"].sum(1)
    assert (part["count"][:, [0, 4, 5]].sum(1) <= total / 7 + 1e-9).all()
    for segment, fewest in ((0, 1), (4, 1), (5, 3)):
        has = part["count"][:, segment] > 0
        family = members.family[has]
        _, holder = np.unique(part["key"][has, segment], return_inverse=True)
        holders = np.bincount(np.unique(np.stack([holder, family]), axis=1)[0])
        assert (holders > 1000).sum() >= fewest, (segment, holders)


# ---- the truth


@pytest.mark.slow
@pytest.mark.parametrize("kind", [made.EXCERPT, made.REMOTE, made.IDENTICAL, made.MIXED])
def test_true_resemblance_is_that_of_the_shingles_of_the_texts(small: made.Collection, kind: int) -> None:
    for documents in families_of(small, kind, 12):
        some = documents[:4].tolist()
        sets = dict(zip(some, map(shingle_set, texts(small, some)), strict=True))
        for a, b in combinations(some, 2):
            assert truth.true_resemblance(small, a, b, WIDTH) == reference_resemblance.resemblance(sets[a], sets[b])


@pytest.mark.slow
def test_kinds_are_what_they_are_called(small: made.Collection) -> None:
    for a, b in families_of(small, made.EXCERPT, 30):
        of_a, of_b = truth.shingles(small, int(a)), truth.shingles(small, int(b))
        assert of_b < of_a and len(of_b) < 0.3 * len(of_a)
    for a, b in families_of(small, made.REMOTE, 30):
        assert 0 < truth.true_resemblance(small, int(a), int(b)) <= truth.APART
    for documents in families_of(small, made.IDENTICAL, 30):
        assert len(set(texts(small, documents))) == 1
    different = []
    for documents in families_of(small, made.MIXED, 60):
        assert len(set(texts(small, documents))) > 1
        different += [truth.true_resemblance(small, *pair) for pair in combinations(documents[:4].tolist(), 2)]
    assert min(different) > truth.APART
    assert np.mean(np.array(different) >= truth.TOGETHER) > 0.9


def test_some_versions_differ_in_case_and_punctuation_only(small: made.Collection) -> None:
    members = small.members(np.arange(SMALL))
    later = np.flatnonzero((members.kind == made.MIXED) & (members.version > 1))
    restyled = later[small.recipes(later)["change"] == phrases.RESTYLE]
    assert 0.05 < len(restyled) / len(later) < 0.2
    for document in restyled[:10].tolist():
        first = int(small.documents_of(int(members.family[document]))[0])
        a, b = texts(small, [document, first])
        assert a != b and reference_shingling.tokens(a) == reference_shingling.tokens(b)


@pytest.mark.slow
def test_documents_of_different_families_hardly_resemble_each_other(small: made.Collection) -> None:
    members = small.members(np.arange(SMALL))
    base = np.flatnonzero(members.member == 0)[:3000]
    sets = nd.ModSketcher(1, shingling=nd.Shingling(width=WIDTH)).sketch_many(texts(small, base))
    found = joining.exact_join(joining.Sets(sets.values, sets.offsets), 0.1)
    assert len(found.a) == 0


@pytest.mark.slow
def test_unrelated_documents_share_practically_no_shingle(small: made.Collection) -> None:
    members = small.members(np.arange(SMALL))
    base = np.flatnonzero(members.member == 0)
    recipes = small.recipes(base)
    recipes["segments"]["count"][:, [0, 4, 5]] = 0  # without what they have in common
    batch = small.bank.write(recipes)
    sample = nd.ModSketcher(8, shingling=nd.Shingling(width=WIDTH)).sketch_many([batch.text(i) for i in range(len(batch))])
    _, holders = np.unique(sample.values, return_counts=True)
    assert (holders > 1).sum() < 1e-4 * len(holders)


@pytest.mark.parametrize("scale", [1_000, 100_000, 30_000_000])
def test_shares_are_the_papers(scale: int) -> None:
    figures = made.Collection(scale).figures()
    paper = (3.6e6, 12.3e6, 2.1e6, 5.3e6)  # Broder et al. 1997, §7
    for found, expected in zip(figures, paper, strict=True):
        assert found == pytest.approx(expected * scale / 30e6, rel=0.005, abs=5)


@pytest.mark.slow
def test_a_clustering_finds_the_papers_shares() -> None:
    """Components of pairs at 0.5 by samples of one shingle in 10; identical documents count once, as in §5.2."""
    collection = made.Collection(100_000)
    sketcher = nd.ModSketcher(10, shingling=nd.Shingling(width=WIDTH))
    texts_of: list[bytes] = []
    values, counts = [], []
    for i in range(collection.batches):
        batch = collection.batch(i)
        some = [batch.text(k) for k in range(len(batch))]
        sample = sketcher.sketch_many(some)
        values.append(sample.values)
        counts.append(np.diff(sample.offsets))
        texts_of += [hashlib.sha256(text).digest() for text in some]
    _, first, text = np.unique(np.array(texts_of), return_index=True, return_inverse=True)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    everything = np.concatenate(values)
    order = np.sort(first)
    leaders = [everything[offsets[i] : offsets[i + 1]] for i in order.tolist()]
    join = joining.exact_join(joining.Sets(np.concatenate(leaders), np.cumsum([0, *map(len, leaders)])), 0.5)
    labels = components(order[join.a], order[join.b], 100_000)[first[text]]
    found = truth.figures(labels, text)
    for got, expected in zip(found, (12_000, 41_000, 7_000, 17_667), strict=True):
        assert got == pytest.approx(expected, rel=0.02), found
    judgement = truth.judged(collection, labels, families=300)
    assert judgement.required > 300 and judgement.forbidden > 30
    assert judgement.leaked <= 0.01 * judgement.required
    assert judgement.merged == judgement.foreign == 0


def components(a: Any, b: Any, n: int) -> Any:
    """The least member of each one's component."""
    labels = list(range(n))

    def root(i: int) -> int:
        while labels[i] != i:
            labels[i] = labels[labels[i]]
            i = labels[i]
        return i

    for i, j in zip(a.tolist(), b.tolist(), strict=True):
        i, j = root(i), root(j)
        labels[max(i, j)] = min(i, j)
    return np.array([root(i) for i in range(n)])


@pytest.mark.slow
def test_judgement_counts_leaks_and_unjust_merges(small: made.Collection) -> None:
    members = small.members(np.arange(SMALL))
    alone, family = np.arange(SMALL), np.full(small.families, SMALL)
    np.minimum.at(family, members.family, alone)
    apart, perfect = truth.judged(small, alone, 100), truth.judged(small, family[members.family], 100)
    assert apart.required == apart.leaked > 0 and apart.forbidden == perfect.forbidden > 0
    assert apart.merged == apart.foreign == perfect.leaked == perfect.foreign == 0
    assert perfect.merged == perfect.forbidden
    assert truth.judged(small, np.zeros(SMALL, np.int64), 10).foreign == SMALL - (members.family == members.family[0]).sum()
    with pytest.raises(ValueError, match="there are 3 labels for 20000 documents"):
        truth.judged(small, alone[:3])


def test_figures_of_a_small_clustering() -> None:
    labels = np.array([0, 1, 0, 3, 3, 3, 6, 6])
    identical = np.array([5, 6, 5, 1, 1, 2, 8, 8])
    assert truth.figures(labels, identical) == (3, 7, 2, 4)


def test_a_collection_of_no_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="documents=0 is not"):
        made.Collection(0)
