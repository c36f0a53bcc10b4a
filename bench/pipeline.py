"""Text to sketches, MB/s of text (UTF-8) from a list of str: ndcore by kind of sketch, variant, threads and script.

Checked before anything is timed: sketches equal ndcore.reference to the bit; the estimates agree with exact
resemblances as well as the number of minima promises; two threads give
what one thread gives. Other libraries: against.py.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from corpus import DATA, Corpus, data_folder, load, natural, sample
from exact import reference_sketch
from generating import Words, generated, scripts, words_of
from measure import Report, Table, interleaved, pinned, program, usable_cpus

import ndcore as nd

Sketcher = nd.MinHasher | nd.BottomSketcher | nd.ModSketcher | nd.Winnower | nd.SimHasher
TASKS: dict[str, Sketcher] = {
    "84 minima": nd.MinHasher(84),
    "128 minima": nd.MinHasher(128),
    "200 minima": nd.MinHasher(200),
    "fast, 128 minima": nd.MinHasher(128, method="fast"),
    "bottom 200": nd.BottomSketcher(200),
    "mod 25": nd.ModSketcher(25),
    "mod, adaptive": nd.ModSketcher("adaptive"),
    "winnow 16": nd.Winnower(16),
    "simhash": nd.SimHasher(),
    "simhash, distinct": nd.SimHasher(weights="distinct"),
}
REAL = ("peps", "react_docs_zh", "udhr")  # measured as well where the folder has them
LANGUAGES = {"Chinese": "zh", "Russian": "ru", "Hindi": "hi"}
REFERENCE_BYTES = 20_000
ERROR = 2.0  # times the standard deviation that the estimates may be off, as root mean square over the pairs


def forms() -> list[str]:
    """What is compared: the best variant of every kernel, and the portable ones."""
    best = {stem: next(iter(known)) for stem, known in nd.variants().items()}
    return ["best"] if set(best.values()) == {"portable"} else ["best", "portable"]


def in_form(form: str, run: Callable[[], Any]) -> Callable[[], Any]:
    """`run` with portable kernels, or with those chosen at import."""
    if form == "best":
        return run

    def portable() -> Any:
        with nd.using(**dict.fromkeys(nd.variants(), "portable")):
            return run()

    return portable


# ---- checks


def check_reference(report: Report, texts: Sequence[str]) -> None:
    """Every task in every form against plain Python, to the bit."""
    for form in forms():
        for name, sketcher in TASKS.items():
            made = list(in_form(form, partial(sketcher.sketch_many, texts))())
            known = [reference_sketch(sketcher, text) for text in texts]
            same = [np.atleast_1d(row).tolist() for row in made] == known
            report.require(same, f"{name}, {form}: sketches differ from the reference")


def check_estimates(report: Report, texts: list[str], name: str, sketcher: nd.MinHasher) -> None:
    """Root mean square error of the estimates of near-duplicate pairs, in standard deviations."""
    pairs = nd.near_duplicates(texts, threshold=0.3).pairs
    between = np.flatnonzero(pairs.resemblance < 1)[:400]
    report.require(len(between) >= 10, f"only {len(between)} pairs to check estimates on")
    exact = pairs.resemblance[between]
    deviation = np.sqrt(np.mean(exact * (1 - exact)) / sketcher.num_perm)
    ours = sketcher.sketch_many(texts)
    between_pairs = zip(pairs.a[between].tolist(), pairs.b[between].tolist(), strict=True)
    found = np.array([ours.resemblance(a, b) for a, b in between_pairs])
    error = float(np.sqrt(np.mean((found - exact) ** 2)) / deviation)
    report.require(error <= ERROR, f"{name}: estimates are off by {error:.2f} standard deviations")
    report.details.setdefault("estimates", []).append([name, len(between), error])


# ---- measurements


def measure_speed(table: Table, corpus: Corpus, given: Namespace) -> None:
    """Task × form on one thread, in turns."""
    size = corpus.bytes()
    cases = {
        (task, form): in_form(form, partial(sketcher.sketch_many, corpus.texts, threads=1))
        for task, sketcher in TASKS.items() for form in forms()
    }
    with pinned():
        times = interleaved(cases, given.repeats, given.warm_up)
    for (task, form), taken in times.items():
        table.add(corpus.name, task, form, size / taken.median / 1e6, size / taken.least / 1e6, 100 * taken.spread)


def measure_threads(report: Report, table: Table, corpus: Corpus, given: Namespace) -> None:
    """One thread and two in turns, best variants; the ratio is the median of neighbours."""
    size = corpus.bytes()
    with pinned(2):
        for task, sketcher in TASKS.items():
            runs: dict[int, Callable[[], Any]] = {
                threads: partial(sketcher.sketch_many, corpus.texts, threads=threads) for threads in (1, 2)}
            one, two = (run().values for run in runs.values())
            report.require(np.array_equal(one, two), f"{corpus.name}, {task}: two threads give other sketches than one")
            times = interleaved(runs, given.repeats, given.warm_up)
            for threads, taken in times.items():
                table.add(corpus.name, task, threads, size / taken.median / 1e6, 100 * taken.spread,
                          taken.ratio_to(times[1]))


def short_documents(given: Namespace) -> Corpus:
    """Generated documents of about 100 bytes."""
    documents = 3_000 if given.quick else 160_000
    return replace(natural(2, documents, 100 * documents), name="generated-short")


def inputs(given: Namespace) -> list[Corpus]:
    """Generated text, and real corpora where there are some."""
    folder = data_folder(given.data)
    documents, size = (100, 600_000) if given.quick else (2_000, 16_000_000)
    chosen = [natural(1, documents, size)]
    for name in REAL if folder else ():
        if folder and (folder / name).is_dir():
            whole = load(name, folder)
            chosen.append(Corpus(name, [], sample(whole.texts, size)))
    return chosen


def languages(given: Namespace) -> list[Corpus]:
    """Generated text in scripts other than Latin: chained from declarations of human rights, else of made-up words."""
    folder = data_folder(given.data)
    documents, size = (50, 300_000) if given.quick else (500, 4_000_000)
    known: dict[str, Words] = scripts(np.random.default_rng(1))
    if folder and (folder / "udhr").is_dir():
        whole = load("udhr", folder)
        for name, language in LANGUAGES.items():
            texts = [text for text, spoken in zip(whole.texts, whole.languages, strict=True) if spoken == language]
            if texts:
                known[name] = words_of("\n".join(texts))
    return [Corpus(name, [], generated(1, documents, size, base)) for name, base in known.items()]


def ask(report: Report, given: Namespace) -> None:
    """Check all sketches, then measure them."""
    corpora, spoken, short = inputs(given), languages(given), short_documents(given)
    report.inputs = [corpus.facts() for corpus in [*corpora, short, *spoken]]
    tiny = [text[:300] for text in sample([text for corpus in [*corpora, *spoken] for text in corpus.texts], 10**9)][:60]
    check_reference(report, [*sample(corpora[0].texts, REFERENCE_BYTES)[:3], "", "one", "Ünïcödé 第3章 text", *tiny])
    for name, sketcher in TASKS.items():
        if isinstance(sketcher, nd.MinHasher):
            check_estimates(report, corpora[0].texts, name, sketcher)
    speed = report.table("pipeline", "Text to sketches, one thread", [
        "input", "sketch", "variants", "MB/s", "best MB/s", "IQR %"])
    for corpus in [*corpora, *spoken]:
        measure_speed(speed, corpus, given)
    if len(usable_cpus()) > 1:
        scaling = report.table("threads", "Text to sketches, one thread and two", [
            "input", "sketch", "threads", "MB/s", "IQR %", "× one thread"])
        for corpus in [corpora[0], short, *spoken]:
            measure_threads(report, scaling, corpus, given)


if __name__ == "__main__":
    program("pipeline", ask, __doc__, repeats=9, data=DATA)
