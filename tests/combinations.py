"""Jobs of the main job that combine all options, drawn from a seed, and what the reference says of them. No test is here."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
from deduplicated import Whole, agrees, listed, numbers
from generated import corpus, mixture

import ndcore as nd
from ndcore.reference import dedup as reference
from ndcore.reference import resemblance, shingling, sketches
from ndcore.reference import text as reference_text
from ndcore.text.negations import LANGUAGES

NEGATIONS = sorted({word for words in LANGUAGES.values() for word in words.split()})
MANY_BANDS = nd.FilterDesign.of(300, 1, 1, threshold=0.5)  # misses a pair of score 0.1 with probability 10^-14


def type_and_start(text: str | bytes) -> tuple[object, ...]:
    """Return a key that differs for str and bytes."""
    return text[:1], None, len(text) // 100


def size_class(text: str | bytes) -> float | None:
    return None if len(text) < 50 else float(len(text) // 200)


def digits(text: str | bytes) -> int | str:
    """Return an int for texts that are long or given as bytes, a str for others: 1 is not "1"."""
    found = sum(c in "12" for c in text) if isinstance(text, str) else 1
    return found if found % 2 else str(found)


RULES: list[Any] = [
    "numbers", "title", "negations", ["numbers", "negations"], ("title", "numbers"), size_class, type_and_start,
    [digits, "numbers"], [size_class],
]  # fmt: skip


def keys_of(rules: Any, texts: Sequence[str | bytes]) -> list[Any] | None:
    """Return the key of each text by `must_agree`, from the reference."""
    if rules is None:
        return None
    named: dict[str, Callable[[Any], Any]] = {
        "numbers": reference_text.numbers, "title": reference_text.title,
        "negations": lambda text: reference_text.negations(text, NEGATIONS),
    }
    rules = [rules] if isinstance(rules, str) or callable(rules) else rules
    return [tuple(named[rule](text) if isinstance(rule, str) else reference_text.agreement_key(rule(text)) for rule in rules)
            for text in texts]  # fmt: skip


@dataclass(frozen=True)
class Job:
    """Documents and options: of both, of the shingling, and of the engine alone, which change no verdict."""

    documents: list[str | bytes]
    options: dict[str, Any]
    shingles: dict[str, Any] = field(default_factory=dict)
    how: dict[str, Any] = field(default_factory=dict)
    must_agree: Any = None
    min_df: int | None = None  # of the weights, which are learned from all documents; None: no weights

    def weigh(self, documents: Sequence[str | bytes]) -> Callable[[Any], int] | None:
        """Return the weights of shingles, from the reference."""
        if self.min_df is None:
            return None
        least = self.min_df
        holders = sketches.document_frequencies(shingling.fingerprints(document, **self.shingles) for document in documents)
        frequencies = {shingle: df for shingle, df in holders.items() if df >= least}
        return cache(lambda shingle: sketches.idf(len(documents), frequencies.get(shingle, least - 1)))

    def expected(self, **changes: Any) -> reference.Result:
        """Return what the reference says."""
        options = {**self.options, **changes}
        old = options.get("against") or []
        options["must_agree"] = keys_of(self.must_agree, [*self.documents, *old])
        options["weigh"] = self.weigh([*self.documents, *old])
        return reference.near_duplicates(self.documents, **{**options, "against": old}, **self.shingles)

    def run(self) -> nd.NearDuplicates:
        """Run the engine."""
        how, options = dict(self.how), dict(self.options)
        given: Callable[[list[Any]], Any] = {"list": list, "iterator": iter, "whole": Whole}[how.pop("given")]
        shingles, old = nd.Shingling(**self.shingles), options.get("against")
        if self.min_df is not None:
            options["weights"] = nd.Idf.learn([*self.documents, *(old or [])], shingles, self.min_df)
        if old is not None:
            options["against"] = given(old)
        return nd.near_duplicates(given(self.documents), shingling=shingles, must_agree=self.must_agree, **options, **how)

    def refusals(self) -> list[str]:
        """Return parts of the messages with which the engine may refuse the job; none: it accepts it."""
        contained = self.options["drop"] == "contained"
        reasons = {
            "by=… cannot be combined with against=…": None not in (self.options.get("by"), self.options.get("against")),
            "drop='contained' needs cluster='star'": contained and self.options["cluster"] != "star",
            "LSH finds documents": (contained or self.min_df) and isinstance(self.how["filter"], nd.FilterDesign),
            "weights need verify='fingerprints'": self.min_df and self.options["verify"] == "tokens",
        }
        return [reason for reason, holds in reasons.items() if holds]

    def without(self, dropped: set[int]) -> Job:
        """Return the job without these documents."""
        stays = [i for i in range(len(self.documents)) if i not in dropped]
        options = dict(self.options)
        for name in ("by", "one_per", "keep"):
            if isinstance(options.get(name), list):
                options[name] = [options[name][i] for i in stays]
        return replace(self, documents=[self.documents[i] for i in stays], options=options)


def drawn(seed: int) -> Job:
    """Draw a job."""
    rng = random.Random(seed)
    documents = mixture(rng, rng.choice([0, 1, 8, 30, 50, 50, 50, 50]))
    n = len(documents)
    contained = rng.random() < 0.4
    options: dict[str, Any] = {
        "threshold": rng.choice([0.1, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, 1.0]),
        "cluster": rng.choice(["star", "star", "star" if contained else "greedy", "components"]),
        "verify": rng.choice(["fingerprints", "fingerprints", "tokens"]),
        "keep": rng.choice(["first", "longest", [rng.randrange(5) for _ in documents]]),
        "drop": "contained" if contained else "resembling",
        "min_shingles": rng.choice([0, 0, 0, 2, 10]),
        "drop_common": rng.choice([None, None, 0.05, 0.2, 0.5]),
        "lost": rng.random() < 0.5,
        "reassign": rng.random() < 0.5,
    }
    if rng.random() < 0.4:
        copies = rng.choices(documents or ["a"], k=rng.choice([0, 2, 8]))
        options["against"] = [*corpus(rng, rng.choice([0, 1, 15])), *copies]
    if rng.random() < 0.2:
        options["by"] = [rng.choice("xxxy") for _ in documents]
    if rng.random() < 0.2:
        options["one_per"] = [rng.randrange(1 + 2 * n) for _ in documents]
    shingles = {"width": rng.choice([1, 1, 2, 5]), "labelled": rng.random() < 0.2, "short": rng.choice(["whole", "skip"])}
    if rng.random() < 0.2:
        shingles |= rng.choice([{"unit": "char"}, {"unit": "line"}, {"unit": "byte"}, {"normalize": "NFKC"}])
    bands = rng.random() < (0.05 if contained else 0.2)
    how = {
        "filter": MANY_BANDS if bands else rng.choice(["complete"] * 8 + ["auto"]),
        "num_perm": MANY_BANDS.groups if bands else 84,
        "max_holders": 1000 if bands else rng.choice([2, 3, 5, 1000]),
        "threads": rng.choice([1, 2]),
        "memory_limit": rng.choice([None, 300, 2000]),
        "given": rng.choice(["list", "list", "iterator", "whole"]),
    }
    must_agree = rng.choice(RULES) if rng.random() < 0.3 else None
    return Job(documents, options, shingles, how, must_agree, rng.choice([None, None, 1, 2]))


def checked(job: Job) -> nd.NearDuplicates | None:
    """Compare the engine with the reference; None: the engine refuses the job, as it should."""
    if reasons := job.refusals():
        with pytest.raises(ValueError) as refusal:
            job.run()
        assert any(reason in str(refusal.value) for reason in reasons), refusal.value
        return None
    theirs, ours = job.expected(), job.run()
    if job.how["filter"] == "auto":
        pairs = dict(zip(listed(theirs.pairs), numbers(theirs.pair_scores), strict=True))
        assert dict(zip(listed(ours.pairs), numbers(ours.pair_scores), strict=True)).items() <= pairs.items()
    else:
        agrees(ours, theirs)
    for threshold in sorted({min(1.0, job.options["threshold"] + step) for step in (0.0, 0.1, 0.4)} | {1.0}):
        if ours.common == [] and job.how["filter"] != "auto":
            agrees(ours.rethreshold(threshold), job.expected(threshold=threshold))
        else:
            supported(job, ours.rethreshold(threshold), threshold)
    return ours


def supported(job: Job, ours: nd.NearDuplicates, threshold: float) -> None:
    """Check that every verdict holds, though documents may be kept that resemble each other."""
    documents = [*job.documents, *(job.options.get("against") or [])]
    sets = [frozenset(shingling.fingerprints(document, **job.shingles)) for document in documents]
    n = len(ours)
    for i, (label, name) in enumerate(zip(ours.labels.tolist(), ours.classes.tolist(), strict=True)):
        assert label >= n or ours.labels[label] == label
        if name in ("near", "contained"):
            assert ours.score[i] >= threshold
            assert ours.resemblance[i] == resemblance.resemblance(sets[i], sets[label])
        elif name == "shingle":
            assert sets[i] == sets[label] and ours.resemblance[i] == 1.0
        elif name == "chained":
            assert ours.score[i] < threshold and ours.rules.cluster == "components"
    if ours.lost is not None:
        held = frozenset().union(*(sets[i] for i in [*ours.kept.tolist(), *range(n, len(sets))]))
        assert ours.lost.tolist() == [len(sets[i] - held) for i in range(n)]
