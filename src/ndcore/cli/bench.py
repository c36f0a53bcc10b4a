"""``ndcore bench``: how fast this machine sketches, in a few seconds, after a check that it does so rightly.

The text is generated, so the figures are about the machine, not about anyone's documents. Cases take turns, and a
figure is the median of a case's turns. The comparison with other libraries is in the project's ``bench`` folder.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import ndcore as nd
from ndcore.cli.info import processor
from ndcore.cli.options import OUTPUT, RUNNING, Commands, add_json
from ndcore.cli.values import positive, seconds
from ndcore.parallel import thread_count

TOLD = "84 minima"  # the sketch that kernels' variants and other scripts are shown on
LATIN, CYRILLIC = (ord("a"), 26), (0x430, 32)
DOCUMENT_WORDS = 700
BYTES_PER_SECOND = 800_000  # of text, for each second that there is
LEAST_BYTES, MOST_BYTES = 100_000, 8_000_000
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
    """What is timed: one sketch of one text, with some variants, on some threads."""

    sketch: str
    script: str
    variants: tuple[tuple[str, str], ...]
    threads: int


def add_bench(commands: Commands) -> None:
    p = commands.add_parser(
        "bench",
        help="how fast this machine sketches",
        description="Check sketches of generated text against ndcore.reference, then time them: MB of text per second "
        "by kind of sketch, variant of the kernels and threads.",
    )
    p.set_defaults(run=run_bench)
    running = p.add_argument_group(RUNNING)
    running.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="about how long to measure (default 10)"
    )
    running.add_argument("--threads", type=positive, metavar="N", help="of the last columns (default: all cores)")
    add_json(p.add_argument_group(OUTPUT), "print the figures as one JSON object")


def run_bench(args: argparse.Namespace) -> int:
    """``ndcore bench``."""
    threads = thread_count(args.threads)
    size = int(min(MOST_BYTES, max(LEAST_BYTES, args.seconds * BYTES_PER_SECOND)))
    texts = {"Latin": generated(LATIN, size), "Cyrillic": generated(CYRILLIC, size)}
    if args.json:
        return _as_json(texts, size, threads, args.seconds)
    print(f"ndcore {nd.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
          f"{processor()}, {thread_count(None)} CPUs")
    if os.environ.get("NDCORE_VARIANT"):
        print(f"NDCORE_VARIANT={os.environ['NDCORE_VARIANT']} decides what runs; unset it to measure the best variants")
    checked = _checked(texts)
    if checked is None:
        return 1
    print(f"{checked} sketches in every variant are those of ndcore.reference")
    print(f"MB/s of {size / 1e6:.1f} MB of generated text in UTF-8, from a list of str, words of 5 to a shingle\n")
    figures = measured(list(cases(threads)), texts, args.seconds)
    for line in [*sketch_lines(figures, threads), "", *variant_lines(figures)]:
        print(line)
    return 0


def _as_json(texts: dict[str, list[str]], size: int, threads: int, seconds: float) -> int:
    """The check and the figures as one JSON object."""
    checked = _checked(texts)
    if checked is None:
        return 1
    figures = measured(list(cases(threads)), texts, seconds)
    account = {
        "ndcore": nd.__version__,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": thread_count(None),
        "NDCORE_VARIANT": os.environ.get("NDCORE_VARIANT"),
        "checked_sketches": checked,
        "text_bytes": size,
        "figures": [
            {**case._asdict(), "variants": dict(case.variants), "megabytes_per_second": speed}
            for case, speed in figures.items()
        ],
    }
    print(json.dumps(account, indent=2))
    return 0


def _checked(texts: dict[str, list[str]]) -> int | None:
    return check([text[:300] for text in texts["Latin"][:5] + texts["Cyrillic"][:5]] + AWKWARD)


# ---- the text


def generated(letters: tuple[int, int], size: int) -> list[str]:
    """Documents of made-up words by Zipf's law, about `size` bytes as UTF-8."""
    rng = np.random.default_rng(1)
    first, count = letters
    lengths = rng.integers(2, 11, 20_000)
    words = np.array(["".join(map(chr, rng.integers(first, first + count, n).tolist())) for n in lengths], np.object_)
    weights = 1 / np.arange(1, len(words) + 1)
    each = len("".join(words).encode()) / len(words) + 1
    chosen = words[rng.choice(len(words), max(DOCUMENT_WORDS, int(size / each)), p=weights / weights.sum())].tolist()
    return [" ".join(chosen[i : i + DOCUMENT_WORDS]) for i in range(0, len(chosen), DOCUMENT_WORDS)]


# ---- the check


def forms() -> Iterator[tuple[tuple[str, str], ...]]:
    """What is chosen now; everything portable; and each kernel's other variants, one at a time."""
    known = nd.variants()
    yield ()
    yield tuple((stem, "portable") for stem in known)
    for stem, states in known.items():
        yield from (((stem, name),) for name, state in states.items() if state == "available")


def reference(name: str, text: str) -> list[int]:
    """The sketch by the definitions, in plain Python."""
    from ndcore.reference import fastsketch, minhash, shingling

    sketcher, members = sketchers()[name], shingling.fingerprints(text)
    if isinstance(sketcher, nd.BottomSketcher):
        return list(minhash.bottom(members, sketcher.size))
    if sketcher.method == "fast":
        return list(fastsketch.fast_signature(members, sketcher.num_perm))
    return list(minhash.signature(members, sketcher.num_perm))


def check(texts: list[str]) -> int | None:
    """The number of sketches that were right; None, and a message, where one is wrong."""
    right = 0
    for name, sketcher in sketchers().items():
        expected = [reference(name, text) for text in texts]
        for form in forms():
            with nd.using(**dict(form)):
                made = sketcher.sketch_many(texts, threads=1)
            for i, known in enumerate(expected):
                if made[i].tolist() != known:
                    chosen = ", ".join(f"{stem}={variant}" for stem, variant in form) or "the best variants"
                    print(f"ndcore: {name} with {chosen} differ from ndcore.reference for {texts[i]!a}; please report "
                          "this with the output of ndcore info", file=sys.stderr)
                    return None
                right += 1
    return right


# ---- the figures


def cases(threads: int) -> Iterator[Case]:
    """Everything that is timed."""
    portable = tuple((stem, "portable") for stem in nd.variants())
    for name in sketchers():
        for script in ("Latin", "Cyrillic") if name == TOLD else ("Latin",):
            yield Case(name, script, (), 1)
            yield Case(name, script, portable, 1)
            if threads > 1:
                yield Case(name, script, (), threads)
    for form in forms():
        if len(form) == 1:
            yield Case(TOLD, "Latin", form, 1)


def measured(chosen: list[Case], texts: dict[str, list[str]], seconds: float) -> dict[Case, float]:
    """MB/s of every case: the median of its turns, as many as go into the time, and at least one."""
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
    """The table of sketches."""
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
    """The table of variants: one kernel changed, the others as they are."""
    yield f"{'kernel':<12}{'variant':<14}{TOLD:>12}"
    for stem, states in nd.variants().items():
        for name, state in states.items() if len(states) > 1 else ():
            case = Case(TOLD, "Latin", () if state == "running" else ((stem, name),), 1)
            speed = f"{figures[case]:>12.0f}" if state != "not on this CPU" else f"{'–':>12}"
            note = "" if state == "available" else f"  {state}"
            yield f"{stem:<12}{name:<14}{speed}{note}"
