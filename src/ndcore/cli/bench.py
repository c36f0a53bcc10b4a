"""``ndcore bench``: check sketches on this machine, then measure in a few seconds how fast it makes them.

The text is generated, so the figures are about the machine, not about particular documents. The cases take turns,
and a figure is the median of a case's turns. The comparison with other libraries is in the project's ``bench`` folder.
"""

from __future__ import annotations

import functools
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import ndcore as nd
from ndcore.cli.account import Account, present
from ndcore.cli.commands import BenchOptions
from ndcore.cli.info import processor
from ndcore.parallel import thread_count

USUAL = "84 minima"  # the sketch with which variants of kernels and other scripts are timed
LATIN, CYRILLIC = (ord("a"), 26), (0x430, 32)
DOCUMENT_WORDS = 700
BYTES_PER_SECOND = 800_000  # bytes of text for each second of --seconds
FEWEST_BYTES, MOST_BYTES = 100_000, 8_000_000
AWKWARD = ["", "one", "just four words here", "Ünïcödé, ﬁgures ١٢٣ and 第三章", "\ud800 and \x00", "a-b " * 40]


@functools.cache
def sketchers() -> dict[str, nd.MinHasher | nd.BottomSketcher]:
    """Make the sketchers that are timed, by name."""
    return {
        "84 minima": nd.MinHasher(84),
        "128 minima": nd.MinHasher(128),
        "128 minima, fast": nd.MinHasher(128, method="fast"),
        "bottom 200": nd.BottomSketcher(200),
    }


class Case(NamedTuple):
    """A case to time: one sketch of one text, with some variants of kernels, on some threads."""

    sketch: str
    script: str
    variants: tuple[tuple[str, str], ...]
    threads: int


def run_bench(options: BenchOptions) -> int:
    threads = thread_count(options.threads)
    size = int(min(MOST_BYTES, max(FEWEST_BYTES, options.seconds * BYTES_PER_SECOND)))
    texts = {"Latin": generate(LATIN, size), "Cyrillic": generate(CYRILLIC, size)}
    if not options.json:
        print(f"ndcore {nd.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
              f"{processor()}, {thread_count(None)} CPUs")
        if os.environ.get("NDCORE_VARIANT"):
            print(f"NDCORE_VARIANT={os.environ['NDCORE_VARIANT']} decides what runs; unset it to measure the best variants")
    checked = check([text[:300] for text in texts["Latin"][:5] + texts["Cyrillic"][:5]] + AWKWARD)
    if checked is None:
        return 1
    if not options.json:
        print(f"{checked} sketches agree with ndcore.reference in every variant")
        print(f"MB/s of {size / 1e6:.1f} MB of generated text in UTF-8, from a list of str, 5 words to a shingle\n")
    figures = measure(list(cases(threads)), texts, options.seconds)
    data = {
        "ndcore": nd.__version__, "python": platform.python_version(), "processor": processor(),
        "cores": thread_count(None), "NDCORE_VARIANT": os.environ.get("NDCORE_VARIANT"),
        "checked_sketches": checked, "text_bytes": size,
        "figures": [{**case._asdict(), "variants": dict(case.variants), "megabytes_per_second": speed}
                    for case, speed in figures.items()],
    }
    return present(options, Account(data, [*sketch_lines(figures, threads), "", *variant_lines(figures)]))


# ---- the text


def generate(letters: tuple[int, int], size: int) -> list[str]:
    """Generate documents of random words distributed by Zipf's law, about `size` bytes as UTF-8."""
    rng = np.random.default_rng(1)
    first, count = letters
    lengths = rng.integers(2, 11, 20_000)
    words = np.array(["".join(map(chr, rng.integers(first, first + count, n).tolist())) for n in lengths], np.object_)
    weights = 1 / np.arange(1, len(words) + 1)
    each = len("".join(words).encode()) / len(words) + 1
    chosen = words[rng.choice(len(words), max(DOCUMENT_WORDS, int(size / each)), p=weights / weights.sum())].tolist()
    return [" ".join(chosen[i : i + DOCUMENT_WORDS]) for i in range(0, len(chosen), DOCUMENT_WORDS)]


# ---- the check


def choices() -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield choices of variants: the running ones, all portable ones, and each kernel's other variants one at a time."""
    known = nd.variants()
    yield ()
    yield tuple((stem, "portable") for stem in known)
    for stem, states in known.items():
        yield from (((stem, name),) for name, state in states.items() if state == "available")


def reference(name: str, text: str) -> list[int]:
    """Compute a sketch by the definitions, in plain Python."""
    from ndcore.reference import shingling
    from ndcore.reference import sketches as reference_sketches

    sketcher, members = sketchers()[name], shingling.fingerprints(text)
    if isinstance(sketcher, nd.BottomSketcher):
        return list(reference_sketches.bottom(members, sketcher.size))
    if sketcher.method == "fast":
        return list(reference_sketches.fast_signature(members, sketcher.num_perm))
    return list(reference_sketches.signature(members, sketcher.num_perm))


def check(texts: list[str]) -> int | None:
    """Count the sketches that agree with the reference; print a message and return None if one differs."""
    right = 0
    for name, sketcher in sketchers().items():
        expected = [reference(name, text) for text in texts]
        for choice in choices():
            with nd.using(**dict(choice)):
                sketches = sketcher.sketch_many(texts, threads=1)
            for i, known in enumerate(expected):
                if sketches[i].tolist() != known:
                    chosen = ", ".join(f"{stem}={variant}" for stem, variant in choice) or "the best variants"
                    print(f"ndcore: {name} with {chosen} differ from ndcore.reference for {texts[i]!a}; please report "
                          "this with the output of ndcore info", file=sys.stderr)
                    return None
                right += 1
    return right


# ---- the figures


def cases(threads: int) -> Iterator[Case]:
    """Yield every case to time."""
    portable = tuple((stem, "portable") for stem in nd.variants())
    for name in sketchers():
        for script in ("Latin", "Cyrillic") if name == USUAL else ("Latin",):
            yield Case(name, script, (), 1)
            yield Case(name, script, portable, 1)
            if threads > 1:
                yield Case(name, script, (), threads)
    for choice in choices():
        if len(choice) == 1:
            yield Case(USUAL, "Latin", choice, 1)


def measure(chosen: list[Case], texts: dict[str, list[str]], seconds: float) -> dict[Case, float]:
    """Measure MB/s of every case: the median of the turns that fit into the time, at least one."""
    sizes = {script: sum(len(text.encode()) for text in each) for script, each in texts.items()}
    chosen = list(dict.fromkeys(chosen))
    taken: dict[Case, list[float]] = {case: [] for case in chosen}
    begun = time.perf_counter()
    turns = 0
    while turns < 2 or time.perf_counter() - begun < seconds * (turns - 0.5) / turns:
        for case in chosen:
            with nd.using(**dict(case.variants)):
                start = time.perf_counter()
                sketchers()[case.sketch].sketch_many(texts[case.script], threads=case.threads)
                taken[case].append(time.perf_counter() - start)
        turns += 1
    return {case: sizes[case.script] / statistics.median(times[1:]) / 1e6 for case, times in taken.items()}


def sketch_lines(figures: dict[Case, float], threads: int) -> Iterator[str]:
    """Yield the lines of the table of sketches."""
    portable = tuple((stem, "portable") for stem in nd.variants())
    many = f"{f'{threads} threads':>12}{'scaling':>10}" if threads > 1 else ""
    yield f"{'sketch':<24}{'1 thread':>10}{'portable':>10}{many}"
    for case, speed in figures.items():
        if case.variants or case.threads > 1:
            continue
        label = case.sketch if case.script == "Latin" else f"{case.sketch}, {case.script}"
        line = f"{label:<24}{speed:>10.0f}{figures[case._replace(variants=portable)]:>10.0f}"
        if threads > 1:
            together = figures[case._replace(threads=threads)]
            line += f"{together:>12.0f}{together / speed:>9.2f}×"
        yield line


def variant_lines(figures: dict[Case, float]) -> Iterator[str]:
    """Yield the lines of the table of variants: one kernel is changed, the others run as usual."""
    yield f"{'kernel':<12}{'variant':<14}{USUAL:>12}"
    for stem, states in nd.variants().items():
        for name, state in states.items() if len(states) > 1 else ():
            case = Case(USUAL, "Latin", () if state == "running" else ((stem, name),), 1)
            speed = f"{figures[case]:>12.0f}" if state != "not on this CPU" else f"{'–':>12}"
            note = "" if state == "available" else f"  {state}"
            yield f"{stem:<12}{name:<14}{speed}{note}"
