"""A program that is killed: it forks children that write to a store and tell what was acknowledged, and kills them.

    python killed.py DIRECTORY SEED KILLS

Prints one line of JSON for each store: how many kills, how many steps were acknowledged, how many came through besides.
Exits with a traceback when something acknowledged is lost, the store does not open, or it differs from the reference.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from stores import FIELDS, settings

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.store import store as store_module

STEPS, ROUNDS = 8, 15  # steps of a child at most, children on one store
Step = tuple[Any, ...]


def steps_of(chance: random.Random, at: int) -> list[Step]:
    """Make the steps of a child: pages of a small vocabulary, so that they resemble each other."""
    def page() -> tuple[str, str, float]:
        words = " ".join(chance.choices("abcdAB", k=chance.randrange(1, 9)))
        return f"k{chance.randrange(12)}", words + chance.choice(["", " ", "!"]), next(clock)

    clock = iter(range(1000 * at, 1000 * at + 1000))
    made: list[Step] = []
    for _ in range(chance.randrange(1, STEPS + 1)):
        kind = chance.choices(["decide", "decide_many", "remove", "expire", "compact", "flush"], [10, 3, 2, 1, 1, 1])[0]
        if kind == "decide":
            made.append((kind, *page()))
        elif kind == "decide_many":
            made.append((kind, [page() for _ in range(chance.randrange(1, 5))]))
        elif kind == "remove":
            made.append((kind, f"k{chance.randrange(12)}"))
        elif kind == "expire":
            made.append((kind, float(1000 * at - chance.randrange(2000, 6000))))
        else:
            made.append((kind,))
    return made


def told(verdict: Any) -> list[Any]:
    return [getattr(verdict, name) for name in FIELDS]


def do(store: Any, step: Step) -> list[list[Any]]:
    """Do a step on a store, and return its verdicts."""
    kind, *arguments = step
    if kind == "decide":
        return [told(store.decide(*arguments))]
    if kind == "decide_many":
        return [told(verdict) for verdict in store.decide_many(*arguments)]
    if kind == "remove":
        if arguments[0] in store:
            store.remove(*arguments)
    else:
        getattr(store, kind)(*arguments)
    return []


def units(step: Step) -> list[Step]:
    """Cut a step into what is written at once."""
    return [("decide", *item) for item in step[1]] if step[0] == "decide_many" else [step]


def do_by_definition(reference: Reference, step: Step) -> list[list[Any]]:
    kind, *arguments = step
    if kind == "decide":
        return [told(reference.decide(*arguments))]
    if kind == "remove" and arguments[0] in reference._pages:
        reference.remove(*arguments)
    if kind == "expire":
        reference.expire(*arguments)
    return []


def child(place: Path, steps: list[Step], durability: str, out: int) -> None:
    """Do the steps and tell each one that is acknowledged."""
    store = nd.Store.open(place, **settings(), durability=durability, threads=1)
    os.write(out, b"[]\n")
    for step in steps:
        found = do(store, step)
        if durability == "each" or step[0] in ("flush", "decide_many"):
            os.write(out, json.dumps(["kept", found]).encode() + b"\n")
        else:
            os.write(out, json.dumps(["said", found]).encode() + b"\n")
    store.close()


def killed(place: Path, steps: list[Step], durability: str, seconds: float, opened: bool) -> tuple[list[Any], bool]:
    """Fork a child and kill it after a time, from when it has opened the store, or from its beginning.

    Returns its lines, and whether it was done before.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        code = 1
        try:
            os.close(reading)
            child(place, steps, durability, writing)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    first = os.read(reading, 3) if opened else b""
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    with os.fdopen(reading, "rb") as pipe:
        lines = [json.loads(line) for line in (first + pipe.read()).splitlines(keepends=True) if line.endswith(b"\n")]
    assert status in (0, signal.SIGKILL), f"the child failed with status {status}"
    return lines, status == 0


def contents(reference: Reference) -> dict[str, Any]:
    return {key: ([(v.date, v.change) for v in page.versions], page.last) for key, page in reference._pages.items()}


def came_through(place: Path, reference: Reference, steps: list[Step], lines: list[Any], durability: str) -> int:
    """Check what is in the store after a kill; make the reference the same. Returns the units that were written."""
    pending = [unit for step in steps for unit in units(step)]
    said = [found for line in lines[1:] for found in line[1]]
    acknowledged = max((sum(len(units(step)) for step in steps[:n]) for n, line in enumerate(lines[1:], 1)
                        if line[0] == "kept"), default=0)
    store = nd.Store.open(place, **settings(), durability=durability, threads=1)
    with store:
        there = {key: ([(v.date / 1e6, v.change) for v in store.history(key)], store.text(key))
                 for members in store.clusters() for key in members}
        found, verdicts, n = copy.deepcopy(reference), [], 0
        matched = contents(found) == there and acknowledged == 0
        while not matched and n < len(pending):
            verdicts += do_by_definition(found, pending[n])
            n += 1
            matched = n >= acknowledged and contents(found) == there
        assert matched, f"{acknowledged} of {pending} were acknowledged, and the store has {there}"
        assert verdicts[: len(said)] == said[: len(verdicts)]
        assert list(store.clusters()) == list(found.clusters().values())
        assert store.check() == []
    reference._pages = found._pages
    return n


def main(place: Path, seed: int, kills: int) -> None:
    """Kill children until it is enough."""
    chance = random.Random(seed)
    done = number = 0
    while done < kills:
        store, reference, number = place / f"store-{number}", Reference(threshold=0.5, width=2), number + 1
        durability = chance.choice(["each", "batch"])
        store_module.CHECKPOINT = chance.choice([1, 5, 1 << 16])
        written = early = said = 0
        usual = [0.03, 0.01]  # seconds until a child has ended: from its beginning, from when it has opened the store
        for at in range(10, 10 + ROUNDS):
            steps = steps_of(chance, at)
            opened = chance.random() < 0.7
            seconds = chance.uniform(0, usual[opened])
            lines, ended = killed(store, steps, durability, seconds, opened)
            usual[opened] = min(0.2, max(0.002, usual[opened] * (0.8 if ended else 1.15)))
            done += not ended
            early += len(lines) == 0
            said += len(lines)
            if not store.exists():
                continue
            written += came_through(store, reference, steps, lines, durability)
        print(json.dumps({"kills": done, "answers": said, "written": written, "before it was open": early}), flush=True)
        shutil.rmtree(store, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
