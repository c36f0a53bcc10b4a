"""Text to sketches, MB/s of text (UTF-8) from a list of str: ndcore by variant and threads, and peers at equal work.

Checked before anything is timed: sketches equal ndcore.reference to the bit; datasketch gets the same shingles; the
estimates of both agree with exact resemblances as well as the number of permutations promises.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import peers
from corpus import Corpus, add_options, data_folder, load, natural, sample
from measure import Report, Table, interleaved, options, pinned, usable_cpus

import ndcore as nd

TASKS: dict[str, nd.MinHasher | nd.BottomSketcher] = {
    "84 minima": nd.MinHasher(84),
    "128 minima": nd.MinHasher(128),
    "bottom 200": nd.BottomSketcher(200),
}
REAL = ("peps", "react_docs_zh", "udhr")  # measured as well where the folder has them
REFERENCE_BYTES, PEER_BYTES = 20_000, 2_000_000
ERROR = 2.0  # times the standard deviation that the estimates may be off, as root mean square over the pairs


def size_of(texts: Sequence[str]) -> int:
    """Bytes of the texts as UTF-8."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


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
            if isinstance(sketcher, nd.MinHasher):
                known = peers.reference_signatures(texts, sketcher.num_perm)
            else:
                known = peers.reference_bottoms(texts, sketcher.size)
            same = [row.tolist() for row in made] == known
            report.require(same, f"{name}, {form}: sketches differ from the reference")


def check_equal_work(report: Report, texts: Sequence[str]) -> None:
    """The shingles that datasketch gets are those of ndcore."""
    shingling = nd.Shingling()
    wrong = 0
    for text in texts:
        ours = {" ".join(shingle).encode() for shingle in shingling.shingles(text)}
        wrong += ours != peers.shingles(text)
    report.require(wrong == 0, f"{wrong} of {len(texts)} documents have other shingles for datasketch than for ndcore")


def check_estimates(report: Report, texts: list[str], num_perm: int) -> None:
    """Root mean square error of both estimators on near-duplicate pairs, in standard deviations."""
    pairs = nd.near_duplicates(texts, threshold=0.3).pairs
    between = np.flatnonzero(pairs.resemblance < 1)[:400]
    report.require(len(between) >= 10, f"only {len(between)} pairs to check estimates on")
    exact = pairs.resemblance[between]
    deviation = np.sqrt(np.mean(exact * (1 - exact)) / num_perm)
    ours, theirs = nd.MinHasher(num_perm).sketch_many(texts), peers.from_texts(texts, num_perm)
    between_pairs = list(zip(pairs.a[between].tolist(), pairs.b[between].tolist(), strict=True))
    for name, found in {
        "ndcore": [ours.resemblance(a, b) for a, b in between_pairs],
        "datasketch": [theirs[a].jaccard(theirs[b]) for a, b in between_pairs],
    }.items():
        error = float(np.sqrt(np.mean((np.array(found) - exact) ** 2)) / deviation)
        report.require(error <= ERROR, f"{name}, {num_perm} minima: estimates are off by {error:.2f} standard deviations")
        report.details.setdefault("estimates", []).append([name, num_perm, len(between), error])


# ---- measurements


def measure_speed(table: Table, corpus: Corpus, arguments: argparse.Namespace) -> None:
    """ndcore alone: task × form × threads, in turns."""
    size, cpus = size_of(corpus.texts), min(2, len(usable_cpus()))
    for threads in sorted({1, cpus}):
        cases = {
            (task, form): in_form(form, partial(sketcher.sketch_many, corpus.texts, threads=threads))
            for task, sketcher in TASKS.items() for form in forms()
        }
        with pinned(threads):
            times = interleaved(cases, arguments.repeats, arguments.warm_up)
        for (task, form), taken in times.items():
            table.add(corpus.name, task, form, threads, size / taken.median / 1e6, size / taken.least / 1e6,
                      100 * taken.spread)


def peer_cases(texts: list[str], num_perm: int) -> dict[str, Callable[[], Any]]:
    """All who sketch the same texts, and datasketch with part of its work done beforehand."""
    sets = [peers.shingles(text) for text in texts]
    rng = np.random.default_rng(1)
    hashes = [rng.integers(0, 1 << 32, len(members), np.uint32) for members in sets]
    sketcher = nd.MinHasher(num_perm)
    ours = {
        f"ndcore, {form}": in_form(form, lambda: sketcher.sketch_many(texts, threads=1)) for form in forms()
    }
    return {
        **ours,
        "datasketch, text to sketch": lambda: peers.from_texts(texts, num_perm),
        "datasketch, ready shingles": lambda: peers.from_shingles(sets, num_perm),
        "datasketch, ready 32-bit hashes": lambda: peers.from_hashes(hashes, num_perm),
    }


def measure_peers(table: Table, texts: list[str], tiny: list[str], num_perm: int, arguments: argparse.Namespace) -> None:
    """One interleaved run; ratios are medians of neighbouring repeats."""
    cases = peer_cases(texts, num_perm)
    cases["ndcore.reference"] = lambda: peers.reference_signatures(tiny, num_perm)
    with pinned():
        times = interleaved(cases, arguments.repeats, arguments.warm_up)
    size, tiny_size = size_of(texts), size_of(tiny)
    base = "ndcore, portable" if "ndcore, portable" in times else "ndcore, best"
    for name, taken in times.items():
        amount = tiny_size if name == "ndcore.reference" else size
        ratio = times[base].ratio_to(taken) * size / amount
        table.add(num_perm, name, amount / 1e6, amount / taken.median / 1e6, 100 * taken.spread, ratio)


def inputs(arguments: argparse.Namespace) -> list[Corpus]:
    """Generated text, and real corpora where there are some."""
    folder = data_folder(arguments.data)
    documents, size = (100, 600_000) if arguments.quick else (2_000, 16_000_000)
    chosen = [natural(1, documents, size)]
    for name in REAL if folder else ():
        if folder and (folder / name).is_dir():
            whole = load(name, folder)
            chosen.append(Corpus(name, [], sample(whole.texts, size)))
    return chosen


def main() -> int:
    parser = options(__doc__, repeats=9)
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats = min(arguments.repeats, 2)
    report = Report("pipeline", arguments)
    corpora = inputs(arguments)
    report.inputs = [corpus.facts() for corpus in corpora]
    ascii_only = [text for text in corpora[0].texts if text.isascii()]
    texts, tiny = sample(ascii_only, PEER_BYTES), sample(ascii_only, REFERENCE_BYTES)[:20]
    check_reference(report, [*tiny[:3], "", "one", "Ünïcödé 第3章 text", *(text[:300] for text in tiny[3:])])
    check_equal_work(report, texts[:200])
    speed = report.table("pipeline", "Text to sketches", [
        "input", "sketch", "variants", "threads", "MB/s", "best MB/s", "IQR %"])
    others = report.table("peers", "Equal work on one core: the same ASCII texts, words and shingles", [
        "minima", "who", "MB", "MB/s", "IQR %", "× time of ndcore portable"])
    for num_perm in (84, 128):
        check_estimates(report, ascii_only, num_perm)
        measure_peers(others, texts, tiny, num_perm, arguments)
    for corpus in corpora:
        measure_speed(speed, corpus, arguments)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
