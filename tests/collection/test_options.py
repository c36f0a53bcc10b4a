"""Options that keep documents apart, in memory, with little memory and in a directory, beside a comparison of all pairs."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from agreement import check_consistent, cut_small

import ndcore as nd
from ndcore.collection.shelf import Shelf

VOCABULARY = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(400)]
CLASSES = ("kept", "identical", "lexical", "shingle", "near", "contained", "version")


def mixed(seed, count=70):
    """Make families of texts whose members differ in a number, in case, in a few words, or in nothing; some are short."""
    rng = random.Random(seed)
    made = ["", "!", "one", "1"]
    while len(made) < count:
        words = [rng.choice(VOCABULARY) for _ in range(rng.choice([3, 5, 6, 8, 12, 40, 250]))]
        for _ in range(rng.randint(1, 6)):
            member = list(words)
            change = rng.randrange(6)
            if change < 2:
                member[rng.randrange(len(member))] = rng.choice(["7", "8", "9"])
            elif change == 2:
                member = member[: 1 + len(member) // 2]
            elif change == 3:
                member[rng.randrange(len(member))] = rng.choice(VOCABULARY)
            text = " ".join(member)
            made.append(text.upper() if rng.random() < 0.2 else f"{text} !" if rng.random() < 0.2 else text)
    rng.shuffle(made)
    return made[:count]


def numbers_in(text):
    """Return the key "numbers" of a text of ASCII words."""
    return tuple(word for word in text.lower().split() if any(x.isdigit() for x in word))


class Plain:
    """The definition: all pairs of documents compared by their sketches, one after another.

    `old`: so many documents were clustered before, so how they equal the others is known by sketches alone.
    """

    def __init__(self, texts, sketcher, options, *, max_holders=1000, threshold=0.5, old=0):
        self.texts, self.n, self.old = texts, len(texts), old
        sketches = sketcher.sketch_many(texts)
        self.samples = [set(sketches[i].values.tolist() if sketches.offsets is None else
                            sketches.values[sketches.offsets[i] : sketches.offsets[i + 1]].tolist()) for i in range(self.n)]
        self.moduli = [1] * self.n if sketches.moduli is None else sketches.moduli.tolist()
        self.whole = [sketches.moduli is not None and modulus == 1 for modulus in self.moduli]
        self.valid, self.sizes = sketches.valid.tolist(), sketches.sizes.tolist()
        self.tokens = [tuple(sketcher.shingling.tokens(text)) for text in texts]
        by, one_per = options.get("by"), options.get("one_per")
        self.group = [((by[i] if by else None), numbers_in(text) if "must_agree" in options else None)
                      for i, text in enumerate(texts)]
        self.version = [i if one_per is None else one_per.index(one_per[i]) for i in range(self.n)]
        self.aside = [not sample or size < options.get("min_shingles", 0)
                      for sample, size in zip(self.samples, self.sizes, strict=True)]
        self.leaders = [next(j for j in range(i + 1) if self.same(j, i)) for i in range(self.n)]
        self.leaders = [self.leaders[version] for version in self.version]
        taken = [i for i in range(self.n) if self.leaders[i] == i and not self.aside[i]]
        holders = {}
        for i in taken:
            for value in self.samples[i]:
                holders.setdefault(value, []).append(i)
        self.common = {value for value, own in holders.items() if len(own) > max_holders}
        self.floor = min(0.5, threshold)
        self.pairs = {(i, j): found for i, j in itertools.combinations(taken, 2) if self.group[i] == self.group[j]
                      and (self.samples[i] & self.samples[j]) - self.common
                      and max((found := self.overlap(i, j))[0] / found[1], found[0] / found[2]) >= self.floor}

    def same(self, j, i):
        """Tell whether two documents, j <= i, are the same for the purposes of clustering."""
        if i == j:
            return True
        if self.version[i] != i or self.version[j] != j or self.group[i][0] != self.group[j][0]:
            return False
        if self.aside[i] or self.aside[j]:
            return self.aside[i] and self.aside[j] and self.how(j, i) in ("identical", "lexical")
        if self.group[i][1] != self.group[j][1]:
            return False
        return self.samples[i] == self.samples[j] and self.moduli[i] == self.moduli[j]

    def how(self, j, i):
        """Return the class of a document, i, that is the same as an earlier one."""
        if j < self.old <= i:
            return "shingle"
        if self.texts[i] == self.texts[j]:
            return "identical"
        alike = self.valid[i] and self.valid[j] and self.tokens[i] == self.tokens[j]
        return "lexical" if alike and self.group[i] == self.group[j] else "shingle"

    def overlap(self, i, j):
        """Return (values in common, members of i, members of j) at the larger modulus."""
        larger = max(self.moduli[i], self.moduli[j])
        a, b = ({value for value in self.samples[k] if self.moduli[k] == larger or value % larger == 0} for k in (i, j))
        return len(a & b), len(a), len(b)

    def resemblance(self, i, j):
        common, in_a, in_b = self.overlap(i, j)
        return common / (in_a + in_b - common) if in_a + in_b - common else math.nan

    def weight(self, i, j, policy, least):
        common, in_a, in_b = self.pairs[i, j]
        if policy == "containment" and ((self.whole[i] and self.whole[j]) or min(in_a, in_b) >= least):
            return common / min(in_a, in_b)
        return common / (in_a + in_b - common)

    def labels(self, threshold, policy, cluster, least=8):
        """Cluster the leaders, and put all documents to their leaders."""
        weights = {pair: weight for pair in self.pairs if (weight := self.weight(*pair, policy, least)) >= threshold}
        found = list(range(self.n))
        if cluster == "components":
            for _ in range(self.n):
                for i, j in weights:
                    found[i] = found[j] = min(found[i], found[j])
        else:
            for j in range(self.n):
                open_ = [i for i in range(j) if (i, j) in weights and found[i] == i]
                if open_:
                    found[j] = open_[0] if cluster == "greedy" else max(open_, key=lambda i: (weights[i, j], -i))
        return [found[leader] for leader in self.leaders]

    def classes(self, labels, threshold, policy):
        found = []
        for i, label in enumerate(labels):
            if label == i:
                found.append("kept")
            elif self.version[i] != i:
                found.append("version")
            elif label == self.leaders[i]:
                found.append(self.how(label, i))
            else:
                below = self.resemblance(label, self.leaders[i]) < threshold
                found.append("contained" if policy == "containment" and below else "near")
        return found

    def check(self, clustering, cluster="star", policy="resemblance", threshold=None):
        """Check that a clustering is what the definition says."""
        threshold = clustering.threshold if threshold is None else threshold
        labels = self.labels(threshold, policy, cluster)
        assert clustering.leaders.tolist() == self.leaders
        assert clustering.labels.tolist() == labels
        pairs = clustering.pairs
        columns = (pairs.a, pairs.b, pairs.overlaps.common, pairs.overlaps.in_a, pairs.overlaps.in_b)
        assert {(a, b): tuple(rest) for a, b, *rest in zip(*(x.tolist() for x in columns), strict=True)} == self.pairs
        assert {*clustering.common.value.tolist()} == self.common
        assert clustering.classes.tolist() == self.classes(labels, threshold, policy)
        older = np.array(self.version) != np.arange(self.n)
        assert np.isnan(clustering.resemblance[older]).all()
        if not older.any():
            check_consistent(clustering)


def options_of(rng, n):
    """Choose options at random."""
    chosen = {}
    if rng.random() < 0.5:
        labels = [rng.choice(["a", "b"]) for _ in range(n)]
        chosen["by"] = labels if rng.random() < 0.5 else [ord(label) for label in labels]
    if rng.random() < 0.5:
        chosen["one_per"] = [rng.randrange(2 * n) if rng.random() < 0.6 else -rng.randrange(1, 9) for _ in range(n)]
    if rng.random() < 0.5:
        chosen["must_agree"] = "numbers"
    if rng.random() < 0.5:
        chosen["min_shingles"] = rng.choice([1, 2, 4, 30])
    return chosen


@pytest.fixture(params=range(24))
def case(request, monkeypatch):
    rng = random.Random(request.param)
    cut_small(monkeypatch, slab=50, pairs=60, documents=17, room=7)
    texts = mixed(request.param)
    sketcher = rng.choice([nd.ModSketcher("adaptive"), nd.ModSketcher("adaptive", shingling=nd.Shingling(width=2)),
                           nd.ModSketcher(4), nd.ModSketcher("adaptive", shingling=nd.Shingling(short="error", width=1))])
    if sketcher.shingling.short == "error":
        sketcher = nd.ModSketcher("adaptive", shingling=nd.Shingling(width=1))
    policy, cluster = rng.choice(["resemblance", "containment"]), rng.choice(["star", "greedy", "components"])
    how = {"sketcher": sketcher, "threshold": rng.choice([0.3, 0.5, 0.8]), "policy": policy, "cluster": cluster,
           "max_holders": rng.choice([3, 1000])}
    return rng, texts, how, options_of(rng, len(texts))


def plain(texts, how, options, **more):
    return Plain(texts, how["sketcher"], options, max_holders=how["max_holders"], threshold=how["threshold"], **more)


def grouped(how):
    return {"cluster": how["cluster"], "policy": how["policy"]}


def test_options_in_memory_with_little_memory_and_in_a_directory(case, tmp_path):
    _, texts, how, options = case
    wanted = plain(texts, how, options)
    wanted.check(nd.cluster(texts, **how, **options), **grouped(how))
    wanted.check(nd.cluster(iter(texts), **how, **options, memory_limit=1), **grouped(how))
    made = nd.Collection.build(tmp_path / "c", texts, **how, **options)
    wanted.check(made.clustering, **grouped(how))
    wanted.check(nd.Collection.open(made.path, verify=True).clustering, **grouped(how))


def test_other_clusters_and_another_collection_have_the_options_too(case, tmp_path):
    rng, texts, how, options = case
    made = nd.Collection.build(tmp_path / "c", texts, **how, **options)
    other = {"cluster": rng.choice(["star", "greedy", "components"]), "policy": rng.choice(["resemblance", "containment"])}
    wanted = plain(texts, how, options)
    wanted.check(made.rethreshold(0.9, **other).clustering, **other)
    again = nd.Collection.build(tmp_path / "d", made, **{**how, "sketcher": None})
    wanted.check(again.clustering, **grouped(how))
    assert again.parameters == made.parameters


def test_an_extension_has_the_options_of_its_collection(case, tmp_path):
    rng, texts, how, options = case
    cut = rng.randrange(1, len(texts))
    labels = {name: options[name] for name in ("by", "one_per") if name in options}
    old = nd.Collection.build(tmp_path / "old", texts[:cut], **how,
                              **{**options, **{name: own[:cut] for name, own in labels.items()}})
    made = old.extend(tmp_path / "made", texts[cut:], **{name: own[cut:] for name, own in labels.items()})
    plain(texts, how, options, old=cut).check(made.clustering, **grouped(how))
    third = made.extend(tmp_path / "third", texts[:1], **{name: own[:1] for name, own in labels.items()})
    assert third.clustering.labels[: len(texts)].tolist() == made.clustering.labels.tolist()


def test_what_is_interrupted_goes_on_with_its_options(tmp_path, monkeypatch):
    cut_small(monkeypatch, slab=50, pairs=60, documents=17)
    texts = mixed(5)
    options = {"by": [len(text) % 2 for text in texts], "one_per": lambda: [str(i // 2) for i in range(len(texts))],
               "must_agree": ["numbers"], "min_shingles": 3}
    whole = nd.Collection.build(tmp_path / "whole", texts, **options).clustering
    put, left, stops = Shelf.put, [0], 0

    def failing(self, name, header, arrays):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        put(self, name, header, arrays)

    monkeypatch.setattr(Shelf, "put", failing)
    for number in itertools.count(1):
        left[0] = number
        try:
            made = nd.Collection.build(tmp_path / "c", texts, **options)
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops > 3 and made.clustering.labels.tolist() == whole.labels.tolist()
    assert made.clustering.classes.tolist() == whole.classes.tolist()


@pytest.mark.parametrize("lost", ["keys/00000001.ndc", "sketches/00000001.ndc"])
def test_keys_that_the_disk_lost_are_read_again(tmp_path, monkeypatch, lost):
    cut_small(monkeypatch, documents=17)
    texts = mixed(6)
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.cluster.sort_entries", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            nd.Collection.build(tmp_path / "c", texts, must_agree="numbers")
    for name in (lost, "documents.ndc"):
        (tmp_path / "c" / name).unlink()
    cut_small(monkeypatch, documents=40)  # fewer parts than before
    made = nd.Collection.build(tmp_path / "c", texts, must_agree="numbers")
    assert made.clustering.labels.tolist() == nd.cluster(texts, must_agree="numbers").labels.tolist()


def test_other_labels_do_not_go_on(tmp_path, monkeypatch):
    texts = mixed(7, 20)
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.cluster.sort_entries", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            nd.Collection.build(tmp_path / "c", texts, by=["a"] * 20)
    with pytest.raises(ValueError, match=r"by\.ndc are not those given: go on with the same"):
        nd.Collection.build(tmp_path / "c", texts, by=["b"] * 20)
    with pytest.raises(ValueError, match="unfinished collection of other parameters: by true there, null here"):
        nd.Collection.build(tmp_path / "c", texts)


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"min_shingles": -1}, ValueError, "min_shingles must be an int of at least 0, got -1"),
    ({"min_shingles": True}, ValueError, "min_shingles must be an int"),
    ({"must_agree": "number"}, ValueError, "must_agree holds 'number'"),
    ({"must_agree": 5}, TypeError, "must_agree is 5"),
    ({"by": ["a"]}, ValueError, "by has shape .1,.; there are 2 documents"),
    ({"one_per": ["a", None]}, ValueError, "one_per: the label of document 1 is None"),
    ({"one_per": lambda: ["a"]}, ValueError, "one_per has shape .1,.; there are 2 documents"),
    ({"by": [0, 1], "cluster": "popular"}, ValueError, "'popular' compares documents with what is popular .* so by cannot"),
    ({"must_agree": "numbers", "cluster": "popular"}, ValueError, "so must_agree cannot keep them apart"),
])  # fmt: skip
def test_options_that_are_refused(tmp_path, options, error, message):
    for make in (nd.cluster, lambda *args, **given: nd.Collection.build(tmp_path / "c", *args, **given)):
        with pytest.raises(error, match=message):
            make(["a b c d e f", "a b c d e g"], **options)


def test_labels_that_cannot_be_kept_are_refused_before_anything_is_written(tmp_path):
    texts = ["a b c d e f", "a b c d e g"]
    assert nd.cluster(texts, by=[0.5, 0.5]).labels.tolist() == nd.cluster(texts).labels.tolist()
    for labels in ([0.5, 0.5], [1, "a"]):
        with pytest.raises(TypeError, match="by: labels that a collection keeps are all str or all integers"):
            nd.Collection.build(tmp_path / "c", texts, by=labels)
    assert not (tmp_path / "c").exists()


def test_keys_need_texts():
    sketches = nd.ModSketcher("adaptive").sketch_many(["a b c d e f", "a b c d e g"])
    assert len(nd.cluster(sketches, by=[0, 1], one_per=[1, 1], min_shingles=2)) == 2
    with pytest.raises(ValueError, match=r"must_agree=\['numbers'\] needs the texts, and sketches are given"):
        nd.cluster(sketches, must_agree="numbers")


@pytest.mark.parametrize(("name", "change", "words"), [
    ("by", lambda arrays: {"ids": arrays["ids"][1:]}, r"by\.ndc: ids has 19 where 20"),
    ("one_per", lambda arrays: {**arrays, "id_offsets": arrays["id_offsets"][::-1].copy()}, r"one_per\.ndc: "),
    ("keys/00000000", lambda arrays: {"keys": arrays["keys"][1:]}, "there are keys of 19 documents, not of 20"),
    ("keys/00000000", lambda arrays: {"keys": arrays["keys"][:, 1:].copy()}, "keys has 15 where 16"),
])  # fmt: skip
def test_forged_labels_and_keys_are_refused(tmp_path, name, change, words):
    texts = mixed(12, 20)
    made = nd.Collection.build(tmp_path / "c", texts, by=[1] * 20, one_per=[str(i) for i in range(20)], must_agree="title")
    shelf = Shelf(made.path)
    header, arrays = shelf.get(name)
    shelf.put(name, header, {key: np.array(array) for key, array in change(arrays).items()})
    with pytest.raises(nd.CorruptFile, match=words):
        nd.Collection.open(made.path, verify=True)
    with pytest.raises(nd.CorruptFile, match=words):
        made.extend(tmp_path / "more", texts, by=[1] * 20, one_per=["a"] * 20)


def first_word(text):
    return text.split()[0] if text.split() else ""


def test_extensions_that_are_refused(tmp_path):
    texts = mixed(8, 20)
    old = nd.Collection.build(tmp_path / "old", texts, by=["a"] * 20, must_agree=first_word)
    for given, message in [
        ({}, "by: the collection .* was made with it: give the labels"),
        ({"by": ["a"] * 20, "one_per": ["a"] * 20}, "one_per: the collection .* was made without it: leave it out"),
        ({"by": ["a"] * 20}, "must_agree is .*first_word.* in the collection .*: give the same"),
        ({"by": ["a"] * 20, "must_agree": "title"}, "must_agree is .*first_word"),
    ]:
        with pytest.raises(ValueError, match=message):
            old.extend(tmp_path / "new", texts, **given)
    with pytest.raises(ValueError, match="needs the texts, and sketches are given"):
        old.extend(tmp_path / "new", nd.ModSketcher("adaptive").sketch_many(texts), by=["a"] * 20, must_agree=first_word)
    with pytest.raises(TypeError, match="by: labels that a collection keeps"):
        old.extend(tmp_path / "new2", texts, by=[1] * 20, must_agree=first_word)
    with pytest.raises(ValueError, match="as of the collection, whose texts are gone"):
        nd.Collection.build(tmp_path / "again", old, min_shingles=2)
    made = old.extend(tmp_path / "made", texts, by=["a"] * 20, must_agree=first_word)
    assert made.clustering.parameters["must_agree"] == [f"callable {__name__}.first_word"]


def test_identical_documents_are_never_kept_apart_by_keys():
    """Let a key change from call to call."""
    calls = itertools.count()
    text = "one two three four five six"
    found = nd.cluster([text, text, text.upper()], must_agree=lambda _: next(calls))
    assert found.labels.tolist() == [0, 0, 2] and found.classes.tolist() == ["kept", "identical", "kept"]


def test_queries_find_what_took_part(tmp_path):
    text = "one two three four five six seven eight nine ten"
    made = nd.Collection.build(tmp_path / "c", [text, text + " eleven", text, "one two three four five"],
                               one_per=["a", "b", "a", "c"], min_shingles=2)
    assert made.clustering.classes.tolist() == ["kept", "near", "version", "kept"]
    assert [match.id for match in made.query(text, 0.5)] == [0, 1]
    assert made.members(2) == [0, 1, 2]


HOW = [{"method": "shingles", "cluster": "popular", "sketcher": nd.ModSketcher(2)}, {"method": "features"},
       {"method": "super-shingles", "sketcher": nd.BottomSketcher(64), "run": 3}, {"method": "shingles"}]


@pytest.mark.parametrize("how", HOW, ids=lambda how: how.get("cluster", how["method"]))
def test_versions_leave_the_others_as_they_are(how):
    texts = mixed(9)
    one_per = [i if i % 3 else -1 for i in range(len(texts))]
    first = [i for i in range(len(texts)) if i % 3 or not i]
    found, alone = nd.cluster(texts, one_per=one_per, **how), nd.cluster([texts[i] for i in first], **how)
    assert found.labels[first].tolist() == [first[label] for label in alone.labels.tolist()]
    assert found.classes[first].tolist() == alone.classes.tolist()
    assert {found.labels[i] for i in range(0, len(texts), 3)} == {found.labels[0]}


@pytest.mark.parametrize("how", HOW[1:], ids=lambda how: how["method"])
def test_labels_make_each_group_a_collection_of_its_own(how):
    texts = mixed(10)
    by = [len(text) % 3 for text in texts]
    found = nd.cluster(texts, by=by, **how)
    for label in range(3):
        group = [i for i in range(len(texts)) if by[i] == label]
        alone = nd.cluster([texts[i] for i in group], **how)
        assert found.labels[group].tolist() == [group[i] for i in alone.labels.tolist()]
        assert found.classes[group].tolist() == alone.classes.tolist()


@pytest.mark.parametrize("how", HOW, ids=lambda how: how.get("cluster", how["method"]))
def test_small_documents_join_by_their_words_only(how):
    texts = mixed(11)
    sketches = (how.get("sketcher") or (nd.MinHasher(84) if how["method"] == "features" else nd.ModSketcher("adaptive")))
    small = sketches.sketch_many(texts).sizes < 30
    found, without = nd.cluster(texts, min_shingles=30, **how), nd.cluster(texts, **how)
    members = found.labels != np.arange(len(texts))
    assert {*found.classes[small & members]} <= {"identical", "lexical"} and (small & members).any()
    assert not small[found.labels[members & ~small]].any()
    assert {*found.classes[small & members]} <= {*without.classes[small & members]}
