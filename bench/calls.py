"""What one call costs: the price that callers pay who do not work in batches. Each result is checked first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from measure import Report, interleaved, loops, options, pinned

import ndcore as nd
from ndcore.reference import minhash as reference_minhash
from ndcore.reference import rabin as reference_rabin
from ndcore.reference import resemblance as reference_resemblance
from ndcore.reference import shingling as reference_shingling

TEXT = "The quick brown fox jumps over the lazy dog while the cat, unmoved, looks on from the wall behind the house."
OTHER = TEXT.replace("unmoved", "amused")
MARKED = TEXT.replace("cat", "çat")
DATA = TEXT.encode()


class Call(NamedTuple):
    """A call, and what it must give."""

    name: str
    run: Callable[[], Any]
    found: Callable[[Any], Any]
    expected: Any


def _sketch(name: str, sketcher: Any, text: str | bytes, expected: list[int]) -> Call:
    return Call(name, lambda: sketcher.sketch(text), lambda made: made[0].tolist(), expected)


def sketch_calls() -> list[Call]:
    """One document: a batch of one."""
    minhash, bottom = nd.MinHasher(84), nd.BottomSketcher(200)
    plain, marked = (reference_shingling.fingerprints(text) for text in (TEXT, MARKED))
    signature = reference_minhash.signature(plain, 84)
    return [
        _sketch("MinHasher(84).sketch(str, ASCII)", minhash, TEXT, signature),
        _sketch("MinHasher(84).sketch(str, not ASCII)", minhash, MARKED, reference_minhash.signature(marked, 84)),
        _sketch("MinHasher(84).sketch(bytes)", minhash, DATA, signature),
        _sketch("BottomSketcher(200).sketch(str)", bottom, TEXT, reference_minhash.bottom(plain, 200)),
        Call("MinHasher(84).sketch_many(100 str), 1 thread", lambda: minhash.sketch_many([TEXT] * 100, threads=1),
             lambda made: made.values.tolist(), [signature] * 100),
        Call("MinHasher(84)", lambda: nd.MinHasher(84), lambda made: made.recipe.id, minhash.recipe.id),
    ]


def other_calls() -> list[Call]:
    """Everything else that is called on its own."""
    shingling, rabin = nd.Shingling(), nd.Rabin()
    plain, other = (reference_shingling.fingerprints(text) for text in (TEXT, OTHER))
    exact = reference_resemblance.resemblance(set(plain), set(other))
    print_of = reference_rabin.fingerprint(DATA, nd.POLYNOMIAL)
    words = [word.decode() for word in reference_shingling.tokens(TEXT)]
    return [
        Call("Shingling().fingerprints(str)", lambda: shingling.fingerprints(TEXT), lambda made: made.tolist(), plain),
        Call("Shingling().tokens(str)", lambda: shingling.tokens(TEXT), list, words),
        Call("resemblance(str, str)", lambda: nd.resemblance(TEXT, OTHER, shingling), float, exact),
        Call("Rabin().fingerprint(bytes)", lambda: rabin.fingerprint(DATA), int, print_of),
        Call("Rabin().fingerprint(memoryview)", lambda: rabin.fingerprint(memoryview(DATA)), int, print_of),
        Call("near_duplicates of 2 documents", lambda: nd.near_duplicates([TEXT, TEXT + "!"], threads=1),
             lambda made: made.labels.tolist(), [0, 0]),
        Call("near_duplicates of 100 documents", lambda: nd.near_duplicates([TEXT] * 100, threads=1),
             lambda made: made.labels.tolist(), [0] * 100),
        Call("design_filter(0.8), asked before", lambda: nd.design_filter(0.8), lambda made: made.miss <= 1e-3, True),
    ]


def main() -> int:
    arguments = options(__doc__, repeats=20).parse_args()
    if arguments.quick:
        arguments.repeats = min(arguments.repeats, 3)
    report = Report("calls", arguments)
    report.details["text bytes"] = len(DATA)
    calls = sketch_calls() + other_calls()
    for call in calls:
        report.require(call.found(call.run()) == call.expected, f"{call.name}: not what the reference says")
    repeated = {call.name: loops(call.run, 0.001 if arguments.quick else 0.02) for call in calls}
    with pinned():
        times = interleaved(repeated, arguments.repeats, arguments.warm_up)
    table = report.table("calls", f"One call on a text of {len(DATA)} bytes, µs", ["call", "median", "least", "IQR %"])
    for name, taken in times.items():
        count = repeated[name].count  # type: ignore[attr-defined]
        table.add(name, 1e6 * taken.median / count, 1e6 * taken.least / count, 100 * taken.spread)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
