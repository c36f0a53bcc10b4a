"""What one call costs: the price that callers pay who do not work in batches. Every call gets another text.

Each result is checked first, against the reference or by brute force. `--against TREE` runs the same calls on another
source tree, in turns (trees.py).
"""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import trees
from exact import reference_sketch
from generating import syllables
from measure import Option, Report, interleaved, pinned, program

import ndcore as nd
from ndcore.reference import dedup as reference_dedup
from ndcore.reference import rabin as reference_rabin
from ndcore.reference import resemblance as reference_resemblance
from ndcore.reference import shingling as reference_shingling

TEXTS, PAGES, LISTS = 4096, 256, 64  # different texts of 11 words, pages, and lists of texts
WORDS, PAGE_WORDS, LISTED_WORDS = 11, 1300, 60
FINGERPRINTS, COLLECTED = 1_000_000, 20_000
FOLDER = tempfile.TemporaryDirectory(prefix="ndcore-calls-")
CHECKED = 5  # calls of each case that are checked


class Call(NamedTuple):
    """A call, which gets its number, and what it must give; a figure is for one of `items` documents."""

    name: str
    run: trees.Step
    found: Callable[[Any], Any]
    expected: Callable[[int], Any]
    items: int = 1


# ---- inputs


@cache
def texts(words: int, count: int, seed: int, letter: str = "") -> list[str]:
    """Make different texts of so many words by Zipf's law; `letter` is added to one word of each."""
    rng = np.random.default_rng(seed)
    names = syllables(rng, 8000)
    weights = 1 / np.arange(3, len(names) + 3)
    drawn = rng.choice(len(names), (count, words), p=weights / weights.sum())
    made = [" ".join([names[k] for k in row]) for row in drawn]
    return [f"{text.capitalize()}{letter}." for text in made]


@cache
def lists(size: int) -> list[list[str]]:
    """Make lists of texts of 60 words; every third text is an edited copy of the one before it."""
    made = []
    for seed in range(LISTS):
        found = list(texts(LISTED_WORDS, size, 100 + seed))
        for k in range(2, size, 3):
            words = found[k - 1].split()
            words[k % LISTED_WORDS] = "edited"
            found[k] = " ".join(words)
        made.append(found)
    return made


def encoded(listed: Sequence[str]) -> list[bytes]:
    """Encode texts as UTF-8."""
    return [text.encode() for text in listed]


# ---- sketches


SKETCHERS: dict[str, Any] = {
    "MinHasher(84)": nd.MinHasher(84), "BottomSketcher(200)": nd.BottomSketcher(200), "ModSketcher(25)": nd.ModSketcher(25),
    "SimHasher()": nd.SimHasher(),
}


def sketch_call(name: str, sketcher: Any, listed: Sequence[str], given: Sequence[str | bytes] = ()) -> Call:
    """Sketch one text after another. given: the texts in another form."""
    n, given = len(listed), given or listed
    return Call(name, lambda i: sketcher.sketch(given[i % n]), lambda made: np.atleast_1d(made[0]).tolist(),
                lambda i: reference_sketch(sketcher, listed[i % n]))


def sketch_calls() -> list[Call]:
    """Sketch one document, and as many pages at once for comparison."""
    calls, short, pages = [], texts(WORDS, TEXTS, 1), texts(PAGE_WORDS, PAGES, 2)
    marked = texts(WORDS, TEXTS, 3, "ç")
    for name, sketcher in SKETCHERS.items():
        calls += [
            sketch_call(f"{name}.sketch(str, 11 words)", sketcher, short),
            sketch_call(f"{name}.sketch(str, 9 KB)", sketcher, pages),
            Call(f"{name}.sketch_many(256 pages), a page", lambda i, made=sketcher.sketch_many: made(pages, threads=1),
                 lambda made: np.atleast_1d(made[0]).tolist(),
                 lambda i, sketcher=sketcher: reference_sketch(sketcher, pages[0]), PAGES),
        ]
    minhash = SKETCHERS["MinHasher(84)"]
    return [
        *calls,
        sketch_call("MinHasher(84).sketch(str, 11 words, not ASCII)", minhash, marked),
        sketch_call("MinHasher(84).sketch(bytes, 11 words)", minhash, short, encoded(short)),
        Call("MinHasher(84).sketch_many(100 of 11 words)",
             lambda i: minhash.sketch_many(short[100 * i % 4000:][:100], threads=1), lambda made: made[99].tolist(),
             lambda i: reference_sketch(minhash, short[100 * i % 4000 + 99])),
    ]


# ---- texts and pairs of texts


def text_calls() -> list[Call]:
    """Shingle and compare texts without sketches."""
    short = texts(WORDS, TEXTS, 1)
    shingling, data = nd.Shingling(), encoded(short)
    rabin = nd.Rabin()

    def prints(i: int) -> set[int]:
        return set(reference_shingling.fingerprints(short[i % TEXTS]))

    def pair(measure: Any, **given: Any) -> trees.Step:
        return lambda i: measure(short[i % TEXTS], short[(i + 1) % TEXTS][:60] + short[i % TEXTS], **given)

    def of_pair(measure: Any) -> Callable[[int], Any]:
        joined = [short[(i + 1) % TEXTS][:60] + short[i] for i in range(CHECKED)]
        return lambda i: measure(prints(i), set(reference_shingling.fingerprints(joined[i])))

    return [
        Call("resemblance(str, str)", pair(nd.resemblance), float, of_pair(reference_resemblance.resemblance)),
        Call("resemblance(str, str, shingling)", pair(nd.resemblance, shingling=shingling), float,
             of_pair(reference_resemblance.resemblance)),
        Call("containment(str, str)", pair(nd.containment), float, of_pair(reference_resemblance.containment)),
        Call("Shingling().fingerprints(str)", lambda i: shingling.fingerprints(short[i % TEXTS]),
             lambda made: made.tolist(), lambda i: reference_shingling.fingerprints(short[i])),
        Call("Shingling().tokens(str)", lambda i: shingling.tokens(short[i % TEXTS]), list,
             lambda i: [token.decode() for token in reference_shingling.tokens(short[i])]),
        Call("Rabin().fingerprint(bytes)", lambda i: rabin.fingerprint(data[i % TEXTS]), int,
             lambda i: reference_rabin.fingerprint(data[i], nd.POLYNOMIAL)),
    ]


def constructors() -> list[Call]:
    """Make sketchers and shinglings with parameters that differ on every call."""
    return [
        Call("MinHasher(84)", lambda i: nd.MinHasher(84), lambda made: made.num_perm, lambda i: 84),
        Call("MinHasher(84, seed=i)", lambda i: nd.MinHasher(84, seed=i), lambda made: made.seed, lambda i: i),
        Call("BottomSketcher(200)", lambda i: nd.BottomSketcher(200), lambda made: made.size, lambda i: 200),
        Call("SimHasher()", lambda i: nd.SimHasher(), lambda made: made.bits, lambda i: 64),
        Call("Shingling()", lambda i: nd.Shingling(), lambda made: made.width, lambda i: 5),
        Call("Shingling(width=i)", lambda i: nd.Shingling(width=i % 60 + 1), lambda made: made.width, lambda i: i % 60 + 1),
    ]


# ---- lists and stores


@cache
def expected_labels(size: int, i: int) -> list[int]:
    """Deduplicate a list by brute force."""
    return reference_dedup.near_duplicates(lists(size)[i]).labels


def list_calls() -> list[Call]:
    """Deduplicate short lists of texts of 60 words."""
    calls = []
    for size in (10, 100):
        given = lists(size)
        calls += [
            Call(f"near_duplicates of {size} texts", lambda i, given=given: nd.near_duplicates(given[i % LISTS], threads=1),
                 lambda made: made.labels.tolist(), lambda i, size=size: expected_labels(size, i)),
            Call(f"collapse of {size} texts", lambda i, given=given: nd.collapse(given[i % LISTS]),
                 lambda made: made.labels.tolist(), lambda i, size=size: expected_labels(size, i)),
        ]
    return calls


@cache
def fingerprints() -> Any:
    """Draw a million fingerprints."""
    return np.random.default_rng(5).integers(0, 2**64, FINGERPRINTS, np.uint64)


@cache
def index() -> nd.HammingIndex:
    """Build an index of a million fingerprints."""
    return nd.HammingIndex(fingerprints())


@cache
def growing() -> nd.HammingIndex:
    """Build an index of 100,000 fingerprints, for additions."""
    return nd.HammingIndex(fingerprints()[:100_000])


@cache
def queries() -> list[int]:
    """Make queries: every second one is two bits from a fingerprint of the index."""
    rng = np.random.default_rng(6)
    near = fingerprints()[rng.integers(0, FINGERPRINTS, TEXTS)] ^ np.uint64(1 << 9 | 1 << 50)
    return np.where(np.arange(TEXTS) % 2, near, rng.integers(0, 2**64, TEXTS, np.uint64)).tolist()


@cache
def collection() -> nd.Collection:
    """Build a collection of 20,000 texts."""
    return nd.Collection.build(Path(FOLDER.name) / "collection", texts(LISTED_WORDS, COLLECTED, 7), threads=1)


def scanned(i: int) -> list[int]:
    """Find the rows within three bits of a query by brute force."""
    return np.flatnonzero(np.bitwise_count(fingerprints() ^ np.uint64(queries()[i])) <= 3).tolist()


def store_calls() -> list[Call]:
    """Ask and extend an index of a million fingerprints, and ask a collection of 20,000 texts of 60 words."""
    added = np.random.default_rng(8).integers(0, 2**64, TEXTS, np.uint64)
    return [
        Call("HammingIndex.query, 1 million", lambda i: index().query(queries()[i % TEXTS]),
             lambda made: sorted(made[0].tolist()), scanned),
        Call("HammingIndex.add of one", lambda i: growing().add(added[i % TEXTS:][:1]), lambda made: made, lambda i: None),
        Call("Collection.query, 20,000 texts",
             lambda i: collection().query(texts(LISTED_WORDS, COLLECTED, 7)[i % COLLECTED]),
             lambda made: made[0].id, lambda i: i),
        Call("design_filter(0.8), asked before", lambda i: nd.design_filter(0.8), lambda made: made.miss <= 1e-3,
             lambda i: True),
    ]


# ---- running


@cache
def calls() -> dict[str, Call]:
    """List all calls by name."""
    made = [*sketch_calls(), *text_calls(), *constructors(), *list_calls(), *store_calls()]
    return {call.name: call for call in made}


def steps() -> trees.Steps:
    """Return what trees.py runs."""
    return {call.name: call.run for call in calls().values()}


def check(report: Report, chosen: Sequence[Call]) -> None:
    """Require of the first calls that they give what the reference gives."""
    for call in chosen:
        count = 1 if call.items > 1 or "9 KB" in call.name else CHECKED
        for i in range(count):
            report.require(call.found(call.run(i)) == call.expected(i), f"{call.name}: not what the reference says")


def repeated(call: Call, seconds: float) -> Callable[[], None]:
    """Make a loop of about so many seconds; `.count` of the result is the number of calls in it."""
    child, count = trees.Child({call.name: call.run}), 1
    while (taken := child.run(call.name, count, "perf_counter")) < seconds / 2 and count < 1 << 20:
        count = max(count + 1, min(16 * count, int(count * seconds / max(taken, 1e-7))))

    def run() -> None:
        child.run(call.name, count, "perf_counter")

    run.count = count  # type: ignore[attr-defined]
    return run


def ask(report: Report, given: Namespace) -> None:
    """Check the calls, then measure them, or compare them with those of another tree."""
    chosen = [call for call in calls().values() if given.only in call.name]
    check(report, chosen)
    if given.against:
        trees.compare(given.against, "calls", only=given.only, alternations=given.alternations, wall=given.wall)
        sys.exit(bool(report.failures))
    with pinned():
        loops = {call.name: repeated(call, 0.001 if given.quick else 0.02) for call in chosen}
        times = interleaved(loops, given.repeats, given.warm_up)
    table = report.table("calls", "One call, µs; texts differ on every call", ["call", "median", "least", "IQR %"])
    for call in chosen:
        taken, scale = times[call.name], 1e6 / call.items / loops[call.name].count  # type: ignore[attr-defined]
        table.add(call.name, scale * taken.median, scale * taken.least, 100 * taken.spread)


if __name__ == "__main__":
    program("calls", ask, __doc__, repeats=20, **trees.OPTIONS,
            against=Option(None, "another source tree with built extensions: ratios to it"))
