"""ndcore, its reference and the peers in one run, in turns, at equal work, on one core each.

Equal work: all get the same canonical words with single blanks between them, make the same shingles of 5 words, and as
many minima. What differs is named in the columns: the method, and that gaoya also fills its index. "Text as written"
is the same documents before ndcore made the words canonical, in MB of those texts. Every peer runs in a process of its
own, in the environment that peers_setup.py made for it; one that is not there is left out, and the result says so.
Estimates of all are compared with exact resemblances of the same pairs.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from corpus import DATA, Corpus, data_folder, load, natural, sample
from measure import Option, Report, Table, Times, Worker, program, say, usable_cpus, without_paths
from peers import common
from peers_setup import ENVIRONMENTS, LISTED, interpreter

import ndcore as nd

WORKER = Path(__file__).parent / "peers" / "worker.py"
HERE = ("ndcore", "reference", "numpy")  # peers that run in this environment
MODULES = {"datasketch1": "datasketch", "datasketch2": "datasketch"}  # environment -> by_<module>.py, where not the same
ONE_THREAD = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RENSA_NUM_THREADS",
              "POLARS_MAX_THREADS", "DAFT_NUM_THREADS")
QUIET = {"DO_NOT_TRACK": "1", "DAFT_ANALYTICS_ENABLED": "0", "DAFT_PROGRESS_BAR": "0", "SCARF_NO_ANALYTICS": "1"}
TEXT_BYTES, PAIRS, TOLERANCE = 2_000_000, 300, 2.0
LEAST_SECONDS = 0.03  # of one timed run; quicker ones are repeated within it


# ---- starting


class Peer(Worker):
    """A worker that has told its versions and cases; RuntimeError where it cannot."""

    def __init__(self, name: str, python: Path | str, log: Any) -> None:
        self.name = name
        cpu = [str(usable_cpus()[-1])] if hasattr(os, "sched_setaffinity") else []
        super().__init__([str(python), str(WORKER), MODULES.get(name, name), *cpu], stderr=log,
                         env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), **QUIET})
        try:
            about = self.ask(do="about")
        except RuntimeError:
            self.close()
            raise
        self.versions: dict[str, str] = about["versions"]
        self.cases: list[dict[str, Any]] = about["cases"]


@contextlib.contextmanager
def all_peers(folder: Path | None, log: Any, missing: dict[str, str]) -> Iterator[list[Peer]]:
    """The workers of this environment and of those that are installed; the reasons of the others go to `missing`."""
    listed = json.loads((folder / LISTED).read_text()) if folder else {}
    running = []
    try:
        for name in (*HERE, *(name for name in listed if name in ENVIRONMENTS)):
            if "error" in listed.get(name, {}):
                missing[name] = without_paths(listed[name]["error"])
                continue
            try:
                running.append(Peer(name, sys.executable if name in HERE else interpreter(folder / name), log))
            except (RuntimeError, OSError) as error:
                missing[name] = without_paths(str(error))
        yield running
    finally:
        for peer in running:
            peer.close()


# ---- inputs


def canonical(texts: Sequence[str]) -> list[str]:
    """The words that ndcore makes of each text, with single blanks between them."""
    shingling = nd.Shingling()
    return [" ".join(token if isinstance(token, str) else token.decode() for token in shingling.tokens(text))
            for text in texts]


def clean(texts: Iterable[str]) -> list[str]:
    """Without surrogates, which not every peer takes."""
    return [text.encode("utf-8", "ignore").decode() for text in texts]


def random_sets(size: int, count: int) -> list[list[int]]:
    """Sets of distinct random 64-bit hashes."""
    rng = np.random.default_rng(1)
    return [row.tolist() for row in rng.integers(0, 1 << 64, (count, size), np.uint64)]


def text_inputs(given: Namespace) -> list[Corpus]:
    """Documents, short ones, those for estimates; of real corpora what there is."""
    size = 300_000 if given.quick else TEXT_BYTES
    documents = natural(1, size // 8_000, size)
    related = natural(2, size // 3_000, size // 2)
    words = [word for text in documents.texts for word in text.split()]
    short = [" ".join(words[i : i + 12]) for i in range(0, len(words), 12)][: 1_000 if given.quick else 6_000]
    made = [Corpus("documents", [], clean(documents.texts)), Corpus("short", [], clean(short)),
            Corpus("related", [], clean(related.texts))]
    folder = data_folder(given.data)
    for name in ("peps", "react_docs_zh") if folder else ():
        if folder and (folder / name).is_dir():
            made.append(Corpus(name, [], clean(sample(load(name, folder).texts, size))))
    return made


def pairs_of(texts: Sequence[str]) -> tuple[list[list[int]], list[float]]:
    """Pairs of documents with their exact resemblances, by sets of runs of five words."""
    found = nd.near_duplicates(list(texts), threshold=0.2).pairs
    chosen = [[int(a), int(b)] for a, b in zip(found.a, found.b, strict=True)][: 4 * PAIRS]

    def members(text: str) -> set[tuple[str, ...]]:
        words = text.split(" ")
        return {tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))}

    sets = {i: members(texts[i]) for pair in chosen for i in pair}
    exact = [len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a, b in chosen]
    kept = [i for i, value in enumerate(exact) if value < 1][:PAIRS]
    return [chosen[i] for i in kept], [exact[i] for i in kept]


def hand_out(peers: Sequence[Peer], folder: Path, inputs: dict[str, dict[str, Any]]) -> None:
    """Give every worker every input."""
    for name, content in inputs.items():
        path = folder / f"{len(list(folder.iterdir()))}.json"
        path.write_text(json.dumps(content))
        for peer in peers:
            peer.ask(do="load", name=name, path=str(path))


# ---- measuring


@dataclass
class Run:
    """One case of one peer, prepared."""

    peer: Peer
    case: dict[str, Any]
    bytes: int
    items: int
    key: str
    loops: int
    seconds: list[float] = field(default_factory=list)

    @property
    def per_byte(self) -> Times:
        return Times([taken / self.bytes for taken in self.seconds])

    @property
    def per_item(self) -> Times:
        return Times([taken / self.items for taken in self.seconds])


def prepared(report: Report, peers: Sequence[Peer], name: str, **wanted: Any) -> list[Run]:
    """The cases that match, warmed up; those that fail are noted and left out."""
    made = []
    for peer in peers:
        for case in peer.cases:
            if any(case[key] not in values for key, values in wanted.items()):
                continue
            try:
                ready = peer.ask(do="prepare", case=case, input=name)
                again = peer.ask(do="run", key=ready["key"], loops=1)["seconds"]
            except RuntimeError as error:
                left_out = report.details.setdefault("left out", [])
                left_out.append([case["who"], case["task"], name, without_paths(str(error))])
                report.require(peer.name not in HERE, f"{case['who']}, {case['task']}, {name}: {error}")
                continue
            loops = max(1, int(LEAST_SECONDS / max(1e-7, again)))
            made.append(Run(peer, case, ready["bytes"], ready["items"], ready["key"], loops))
    return made


def measured(report: Report, peers: Sequence[Peer], repeats: int, name: str, **wanted: Any) -> list[Run]:
    """All matching cases in turns."""
    runs = prepared(report, peers, name, **wanted)
    for _ in range(repeats):
        for run in runs:
            run.seconds.append(run.peer.ask(do="run", key=run.key, loops=run.loops)["seconds"] / run.loops)
    for peer in peers:
        peer.ask(do="forget")
    return runs


RATIOS = ["× time of ndcore", "× time of ndcore fast"]


def ratios(runs: Sequence[Run], run: Run) -> list[float | None]:
    """How many times as long a run takes, for each byte, as ndcore by permutations and as ndcore's fast sketch."""
    found: list[float | None] = []
    for fast in (False, True):
        best = (r for r in runs if r.case["who"].startswith("ndcore") and r.case.get("form") == "best")
        base = next((r for r in best if (r.case["method"] == common.FAST) == fast), None)
        found.append(base.per_byte.ratio_to(run.per_byte) if base else None)
    return found


def add_speed(table: Table, runs: Sequence[Run], name: str) -> None:
    """Rows of the whole path."""
    for run in runs:
        table.add(name, f"{run.case['number']} {run.case['task']}", run.case["who"], run.case["method"], run.bytes / 1e6,
                  1 / run.per_byte.median / 1e6, 100 * run.per_byte.spread, *ratios(runs, run))


def add_kernels(table: Table, runs: Sequence[Run], name: str) -> None:
    """Rows of ready hashes."""
    for run in runs:
        table.add(name, f"{run.case['number']} {run.case['task']}", run.case["who"], run.case["method"],
                  1e9 * run.per_item.median, 100 * run.per_item.spread, *ratios(runs, run))


def add_strings(table: Table, runs: Sequence[Run]) -> None:
    """Rows of whole strings."""
    for run in runs:
        table.add(run.case["number"], run.case["who"], 1e9 * run.per_item.median * run.items,
                  1 / run.per_byte.median / 1e9, 100 * run.per_byte.spread, ratios(runs, run)[0])


def has_estimates(case: dict[str, Any]) -> bool:
    """Sketches of text, of a kind that no other case makes too."""
    sketches = case["source"] == "text" and case["task"] in ("minima", "bottom", "scaled")
    return sketches and case["who"] != "ndcore.reference" and not case.get("same_sketches")


def check_work(report: Report, name: str, content: dict[str, list[str]]) -> None:
    """The words handed out give what the text as written gives, and the peers' shingles are ndcore's."""
    minima = nd.MinHasher(16)
    same = np.array_equal(minima.sketch_many(content["raw"]).values, minima.sketch_many(content["texts"]).values)
    report.require(same, f"{name}: the canonical words have other sketches than the texts")
    shingling = nd.Shingling()
    for text in content["texts"][:100]:
        ours = {" ".join(shingle) for shingle in shingling.shingles(text)}
        report.require(ours == set(common.shingles(text)), f"{name}: the peers get other shingles of {text[:60]!r}")


def check_estimates(report: Report, table: Table, peers: Sequence[Peer], texts: Sequence[str]) -> None:
    """Bias and error of every estimator on the same pairs; ndcore's must be what the number of minima promises."""
    pairs, exact = pairs_of(texts)
    report.require(len(pairs) >= 10, f"only {len(pairs)} pairs to check estimates on")
    known = np.array(exact)
    for peer in peers:
        for case in peer.cases:
            if not has_estimates(case):
                continue
            try:
                found = np.array(peer.ask(do="estimates", case=case, input="related", pairs=pairs)["estimates"])
            except RuntimeError as error:
                report.require(peer.name not in HERE, f"{case['who']}: {error}")
                continue
            deviation = np.sqrt(np.mean(known * (1 - known)) / case["number"]) if case["task"] != "scaled" else None
            off = (found - known)[~np.isnan(found)]  # of two empty samples there is no estimate
            error = float(np.sqrt(np.mean(off**2)))
            times = error / deviation if deviation else None
            table.add(case["who"], f"{case['number']} {case['task']}", case["method"], len(off), float(np.mean(off)), error,
                      times)
            right = times is None or times <= TOLERANCE
            report.require(right or peer.name not in HERE, f"{case['who']}: estimates are off by {times} deviations")


# ---- the whole run


def measure_all(report: Report, peers: Sequence[Peer], given: Namespace, corpora: Sequence[Corpus]) -> None:
    """Every table."""
    repeats = given.repeats
    speed = report.table("against", "Text to sketches at equal work, one core: from a list of str, words canonical", [
        "input", "sketch", "who", "method", "MB", "MB/s", "IQR %", *RATIOS])
    ready = report.table("against-kernels", "Sketches of ready 64-bit hashes, one core, from Python", [
        "input", "sketch", "who", "method", "ns/hash", "IQR %", *RATIOS])
    single = report.table("against-single", "Short documents, one call each", [
        "input", "sketch", "who", "method", "MB", "MB/s", "IQR %", *RATIOS])
    strings = report.table("against-strings", "Hashes of whole strings, one call each, from Python", [
        "bytes", "who", "ns", "GB/s", "IQR %", "× time of ndcore"])
    for name in [corpus.name for corpus in corpora if corpus.name != "related"]:
        say(name)
        for number in (84, 128, 200) if name == "documents" else (128,):
            add_speed(speed, measured(report, peers, repeats, name, task=["minima"], number=[number],
                                      source=["text", "raw"]), name)
        if name != "short":
            for task in ("bottom", "scaled"):
                add_speed(speed, measured(report, peers, repeats, name, task=[task], source=["text", "raw"]), name)
    for name in (name for name in ("sets of 1,000", "sets of 10", "one set of 1,000,000")):
        say(name)
        tasks = [("minima", 84), ("minima", 128), ("bottom", 200), ("scaled", 25)]
        for task, number in tasks[2:] if name.startswith("one") else tasks:
            add_kernels(ready, measured(report, peers, repeats, name, task=[task], number=[number], source=["hashes"]), name)
    say("one by one, whole strings")
    add_speed(single, measured(report, peers, repeats, "short", task=["one by one"]), "short")
    for size in (32, 4_096, 1_048_576):
        add_strings(strings, measured(report, peers, repeats, "", task=["whole string"], number=[size]))


def ask(report: Report, given: Namespace) -> None:
    """Check that the work is equal, then compare estimates and times."""
    if given.peers and not (given.peers / LISTED).is_file():
        raise SystemExit(f"there is no {LISTED} in {given.peers}; make it with: python bench/peers_setup.py FOLDER")
    corpora = text_inputs(given)
    inputs: dict[str, dict[str, Any]] = {
        corpus.name: {"raw": corpus.texts, "texts": canonical(corpus.texts)} for corpus in corpora
    }
    scale = 20 if given.quick else 1
    inputs["sets of 1,000"] = {"sets": random_sets(1_000, 100 // scale)}
    inputs["sets of 10"] = {"sets": random_sets(10, 10_000 // scale)}
    inputs["one set of 1,000,000"] = {"sets": random_sets(1_000_000 // scale, 1)}
    for corpus in corpora:
        check_work(report, corpus.name, inputs[corpus.name])
    report.inputs = [corpus.facts() for corpus in corpora]
    missing: dict[str, str] = {}
    with Path(given.log).open("w") as log, all_peers(given.peers, log, missing) as peers:
        report.details["peers"] = {peer.name: peer.versions for peer in peers}
        report.details["missing"] = missing
        hand_out(peers, given.folder, inputs)
        estimates = report.table("estimates", "Estimates against exact resemblances of the same pairs of documents", [
            "who", "sketch", "method", "pairs", "bias", "RMS error", "RMS error / deviation of that many minima"])
        check_estimates(report, estimates, peers, inputs["related"]["texts"])
        measure_all(report, peers, given, corpora)
    for peer, reason in missing.items():
        say(f"left out: {peer}: {reason}")


if __name__ == "__main__":
    program("against", ask, __doc__, repeats=7, data=DATA,
        peers=Option(None, "folder that peers_setup.py made (default: ndcore alone)", kind=Path),
        log=Option(os.devnull, "file for what the peers print to standard error"))
