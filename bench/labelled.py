"""Corpora with labels, and how well thresholds of resemblance agree with them: precision and recall of pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from corpus import Corpus, lines, load
from generating import Words, base_words, lengths_of, typeset, walk, zipf_words
from numpy.typing import NDArray
from overlaps import Overlaps

from ndcore import Shingling

Ints = NDArray[np.int64]

# corpus -> (field of the label, what documents with one label are, who says so)
SOURCES = {
    "biblio_asysd": ("group", "records of one publication", "people"),
    "minhash_articles": ("pairs", "an article and its copy", "the authors of the set"),
    "peps": ("group", "revisions of one document", "its number"),
    "etcd_docs": ("group", "one page in several releases", "its path"),
    "rust_book": ("chapter_file", "one chapter in several editions and revisions", "its file name"),
    "react_docs_zh": ("group", "revisions of one page, some of them translated", "its path"),
    "terms_dating": ("group", "dated versions of one document", "its path"),
    "kafka_javadoc_html": ("group", "one page of a reference in several releases", "its path"),
}
GRADES = ("cut", "light", "heavy", "non")  # of short_answers
GENERATED = "generated-versions"
EDITS = (0.0, 0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # share of words replaced in a generated version


class Labelled(NamedTuple):
    """Documents, the label of each as a number (-1: not judged), and whether two of one label have equal words."""

    corpus: Corpus
    codes: Ints

    @property
    def first(self) -> NDArray[np.bool_]:
        """The documents that are the first of their label with their words, and judged.

        Copies are left out, because every threshold finds them.
        """
        keys = [(code, words) for code, words in zip(self.codes.tolist(), canonical(self.corpus.texts), strict=True)]
        seen = {key: i for i, key in reversed(list(enumerate(keys)))}
        return np.array([seen[key] == i and key[0] >= 0 for i, key in enumerate(keys)], np.bool_)


class Curve(NamedTuple):
    """For each threshold: pairs found, and those of them with one label; `same` counts all pairs with one label."""

    found: list[int]
    right: list[int]
    same: int

    @property
    def precision(self) -> list[float | None]:
        """The share of the pairs found that have one label; None where nothing is found."""
        return [right / found if found else None for found, right in zip(self.found, self.right, strict=True)]

    @property
    def recall(self) -> list[float | None]:
        """The share of the pairs with one label that are found."""
        return [right / self.same if self.same else None for right in self.right]


def canonical(texts: Sequence[str]) -> list[bytes]:
    """Return the words of each text, as lexically equivalent documents have them in common."""
    shingling = Shingling(width=1)
    return [" ".join(shingling.tokens(text)).encode("utf-8", "surrogatepass") for text in texts]


def load_labelled(name: str, folder: Path | None, limit: int | None = None) -> Labelled:
    """Load a corpus of SOURCES with its labels; without a folder, made-up versions."""
    if folder is None:
        few = zipf_words(np.random.default_rng(1), 20_000, 2000)
        return generated_versions(1, 6, few) if limit else generated_versions(1, 120)
    label = SOURCES[name][0]
    corpus = load(name, folder, limit, "group" if label == "pairs" else label)
    if label == "pairs":
        return Labelled(corpus, codes_of_pairs(corpus, folder))
    numbers: dict[str, int] = {}
    return Labelled(corpus, np.array([
        -1 if group is None else numbers.setdefault(group, len(numbers)) for group in corpus.groups], np.int64))


def codes_of_pairs(corpus: Corpus, folder: Path) -> Ints:
    """Give the two documents of every labelled pair one number, and every other document its own."""
    place = {name: i for i, name in enumerate(corpus.ids)}
    codes = np.arange(len(corpus), dtype=np.int64)
    for line in lines(folder / corpus.name / "pairs.jsonl.zst"):
        pair = json.loads(line)
        if pair["a"] in place and pair["b"] in place:
            codes[place[pair["b"]]] = codes[place[pair["a"]]]
    return codes


def generated_versions(seed: int, families: int, base: Words | None = None) -> Labelled:
    """Make up documents of 40 to some thousand words, each with versions in which more and more words are replaced."""
    rng = np.random.default_rng(seed)
    base = base or base_words(rng)
    texts, codes = [], []
    for family, words in enumerate(walk(rng, base, 40 + lengths_of(rng, families, 300 * families))):
        for share in EDITS:
            version = words.copy()
            edited = rng.random(len(words)) < share
            version[edited] = rng.choice(base.numbers, int(edited.sum()))
            texts.append("".join(base.words[version].tolist()))
            codes.append(family)
    texts = [typeset(text) if i % 7 == 0 else text for i, text in enumerate(texts)]
    corpus = Corpus(GENERATED, [f"{GENERATED}/{i}" for i in range(len(texts))], texts, [str(code) for code in codes])
    return Labelled(corpus, np.array(codes, np.int64))


def curve(pairs: Overlaps, labelled: Labelled, first: NDArray[np.bool_], thresholds: Sequence[float]) -> Curve:
    """Count pairs of judged documents by threshold; `pairs` has all pairs at or above the lowest."""
    some = pairs.where(first[pairs.a] & first[pairs.b])
    resemblance, same = some.resemblance, labelled.codes[some.a] == labelled.codes[some.b]
    sizes = np.bincount(labelled.codes[first])
    return Curve(
        [int(np.count_nonzero(resemblance >= t)) for t in thresholds],
        [int(np.count_nonzero(same & (resemblance >= t))) for t in thresholds],
        int((sizes * (sizes - 1) // 2).sum()),
    )


def grade_rows(corpus: Corpus, shingling: Shingling, thresholds: Sequence[float]) -> list[list[object]]:
    """List, by grade, the share of the answers whose resemblance to, or containment in, their source is that high.

    The last grade is of answers beside the sources of other tasks. Rows: measure, grade, number, then % by threshold.
    """
    members = [set(shingling.shingles(text)) for text in corpus.texts]
    task = [name.rpartition("_")[2] for name in corpus.ids]
    sources = {task[i]: i for i, name in enumerate(corpus.ids) if name.startswith("orig")}
    found: dict[str, list[tuple[float, float]]] = {grade: [] for grade in (*GRADES, "of another task")}
    for i, grade in enumerate(corpus.groups):
        for other, source in sources.items():
            if grade in GRADES and i != source:
                shared = len(members[i] & members[source])
                union = len(members[i]) + len(members[source]) - shared
                kind = grade if other == task[i] else "of another task"
                found[str(kind)].append((shared / union, shared / len(members[i])))
    rows: list[list[object]] = []
    for which, measure in enumerate(("resemblance", "containment in the source")):
        for grade, pairs in found.items():
            shares = [100 * sum(pair[which] >= t for pair in pairs) / max(1, len(pairs)) for t in thresholds]
            rows.append([measure, grade, len(pairs), *(round(share, 1) for share in shares)])
    return rows
