"""Compare two source trees of ndcore: the same calls in two processes that take turns.

    python bench/trees.py TREE 'sketcher.sketch(texts[i % 4096])' \
        --setup 'import ndcore as nd; sketcher = nd.MinHasher(84); texts = [f"text {k}" for k in range(4096)]'
    python bench/calls.py --against TREE --only sketch

TREE is another source tree with built extensions, "before"; "after" is the tree of this file. Both run the statements, or
the benchmark, of this tree. In a statement `i` counts the calls and never repeats. Times are CPU times of the process, so
other processes disturb little; --wall measures elapsed time, for calls that wait or have threads.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Ended, Option, Table, Worker, pinned, printed
from peers.worker import answer_lines, take_output

HERE = Path(__file__).resolve().parent
LEAST = 0.02  # seconds of a timed loop
ALTERNATIONS = 15
CONFIDENCE = 0.95

Step = Callable[[int], Any]  # makes the call number i
Steps = Mapping[str, Step]


# ---- in a child


def stated(statements: Sequence[str], setup: str) -> Steps:
    """Compile statements to steps."""
    names: dict[str, Any] = {}
    exec(setup, names)
    return {statement: eval(f"lambda i: {statement}", names) for statement in statements}


class Child:
    """Steps of one tree, and how often each was called."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.done = dict.fromkeys(steps, 0)

    def run(self, name: str, count: int, clock: str) -> float:
        """Make `count` further calls; seconds."""
        step, start = self.steps[name], self.done[name]
        self.done[name] += count
        now = getattr(time, clock)
        began = now()
        for i in range(start, start + count):
            step(i)
        return float(now() - began)


def serve(arguments: argparse.Namespace) -> int:
    """Answer requests until standard input ends: {"name", "count", "clock"} → {"seconds"}; {} → {"names"}."""
    answers = take_output()
    if arguments.child == "statements":
        steps = stated(arguments.statements, arguments.setup)
    else:
        steps = importlib.import_module(arguments.child).steps()
    child = Child(steps)
    answer_lines(lambda request: {"seconds": child.run(**request)} if request else {"names": list(steps)}, answers)
    return 0


# ---- in the parent


class Tree(Worker):
    """A child process that runs the calls on one source tree."""

    def __init__(self, tree: Path, module: str, extra: Sequence[str]) -> None:
        if not list((tree / "src" / "ndcore").glob("_rabin*.so")):
            raise SystemExit(f"{tree} has no built extensions in src/ndcore: run setup.py build_ext --inplace there")
        super().__init__(
            [sys.executable, str(HERE / "trees.py"), str(tree), *extra, "--child", module], cwd=tree,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(HERE)])})

    def seconds(self, name: str, count: int, clock: str) -> float:
        """Measure `count` calls. RuntimeError with the message of the child if a call fails."""
        return float(self.ask(name=name, count=count, clock=clock)["seconds"])


def interval(ratios: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Compute a confidence interval of the median from order statistics: no assumption about the distribution."""
    n, ordered = len(ratios), sorted(ratios)
    below, k = 0.0, 0  # probability that at most k − 1 of n lie below the median
    while below + math.comb(n, k) / 2**n <= (1 - confidence) / 2:
        below += math.comb(n, k) / 2**n
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k else (ordered[0], ordered[-1])


def compared(before: Tree, after: Tree, name: str, alternations: int, clock: str) -> tuple[float, float, list[float]]:
    """Run one call in turns: medians of the seconds of a call before and after, and the ratios after / before."""
    count = 1
    while (taken := max(tree.seconds(name, count, clock) for tree in (before, after))) < LEAST:
        count = min(16 * count, math.ceil(1.2 * count * LEAST / max(taken, 1e-6)))
    times: dict[Tree, list[float]] = {before: [], after: []}
    for k in range(alternations):
        for tree in (before, after) if k % 2 else (after, before):
            times[tree].append(tree.seconds(name, count, clock) / count)
    ratios = [b / a for a, b in zip(times[before], times[after], strict=True)]
    return statistics.median(times[before]), statistics.median(times[after]), ratios


@contextlib.contextmanager
def both(tree: Path, module: str, extra: Sequence[str]) -> Iterator[tuple[Tree, Tree]]:
    """Start a child for the other tree and one for this tree."""
    with pinned():
        children = Tree(tree, module, extra), Tree(HERE.parent, module, extra)
        try:
            yield children
        except Ended:
            raise SystemExit("a child process ended; its message is above") from None
        finally:
            for child in children:
                child.close()


def compare(
    tree: str, module: str, *, extra: Sequence[str] = (), only: str = "", alternations: int = ALTERNATIONS,
    wall: bool = False,
) -> int:
    """Compare the steps of a benchmark, or of statements, between another tree and this one; print a table."""
    table = Table("trees", f"µs a call, {tree} and this tree in turns",
                  ["call", "before", "after", "after / before", f"interval of {CONFIDENCE:.0%}"])
    with both(Path(tree).resolve(), module, extra) as (before, after):
        known = before.ask()["names"]
        for name in (name for name in after.ask()["names"] if only in name):
            try:
                if name not in known:
                    raise RuntimeError("not known there")
                a, b, ratios = compared(before, after, name, alternations, "perf_counter" if wall else "process_time")
                low, high = interval(ratios)
                table.add(name, 1e6 * a, 1e6 * b, statistics.median(ratios), f"{low:.3g} to {high:.3g}")
            except Ended:
                raise
            except RuntimeError as error:
                table.add(name, None, None, None, str(error)[:60])
    print(printed(table))
    return 0


OPTIONS = {
    "alternations": Option(ALTERNATIONS, "turns of each call", 3), "only": Option("", "only calls whose name has this text"),
    "wall": Option(False, "elapsed time instead of CPU time"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", help="the other source tree")
    parser.add_argument("statements", nargs="*", help="expressions to call, with i as the number of the call")
    parser.add_argument("--setup", default="import ndcore as nd", help="statements that run once before")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    for name, option in OPTIONS.items():
        option.add(parser, name)
    arguments = parser.parse_args()
    if arguments.child:
        return serve(arguments)
    return compare(arguments.tree, "statements", extra=[*arguments.statements, "--setup", arguments.setup],
                   only=arguments.only, alternations=arguments.alternations, wall=arguments.wall)


if __name__ == "__main__":
    sys.exit(main())
