"""Write tests/fixtures, small files of every format and version, and answers.json, what they must answer.

    python tools/fixtures.py            write the files and answers that are missing
    python tools/fixtures.py --check    write nothing; what this ndcore writes has the bytes of the newest fixtures

A folder has the name of a format and its number: of one file the revision of its kind, of a directory its format. Winnowed
fingerprints are sketches of revision 1; lists of terms, weighted signatures, simhashes of 128 and 256 bits and values of
other tools of revision 2; all other sketches of revision 0. Fixtures are kept for good: `tests/package/test_fixtures.py`
reads all of them. A format whose bytes change gets a new number, and this tool then writes a new folder beside the old one.
Answers come from `ndcore.reference` and never from the files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np

import ndcore as nd
from ndcore.cli.main import main as ndcore_main
from ndcore.reference import collection, hamming, other_tools, rabin, resemblance, shingling
from ndcore.reference import sketches as plain
from ndcore.reference.store import BruteForceStore as ReferenceStore
from ndcore.storage.job_description import COLLECTION
from ndcore.store.manifest import FORMAT as STORE

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
ANSWERS = "answers.json"

TEXTS = {
    "ferry": "The ferry to the island leaves at seven in the morning and at four in the afternoon, except on Mondays.",
    "ferry, capitals":
        "THE FERRY TO THE ISLAND leaves at seven in the morning and at four in the afternoon -- EXCEPT ON MONDAYS",
    "ferry, late": "The ferry to the island leaves at seven in the morning and at five in the afternoon, except on Mondays.",
    "museum": "Das Museum öffnet um zehn Uhr; am Wochenende führt die Kuratorin durch die Sammlung alter Landkarten.",
    "museum, again": "Das Museum öffnet um zehn Uhr; am Wochenende führt die Kuratorin durch die Sammlung alter Landkarten.",
    "short": "Closed.",
    "empty": "",
    "market": "市場は毎週土曜日に開かれます fish and bread and honey, from eight until the last loaf of bread is sold",
    "long": " ".join(f"word{i * i % 211} of row {i % 17}" for i in range(90)),
}
SHINGLING = nd.Shingling(width=3)
THRESHOLD = 0.4
QUERIES = ("ferry", "museum", "long")
DISTANCE = 3
CAPTURED = 1_795_392_000  # seconds since 1970


def fingerprints(seed: int, n: int, bits: int) -> list[int]:
    """Return fingerprints of which many are close: three of four differ from the one before in at most three bits."""
    outputs = rabin.splitmix64(seed)
    found: list[int] = []
    for i in range(n):
        drawn = sum(next(outputs) << low for low in range(0, bits, 64))
        if i % 4 and found:
            found.append(found[-1] ^ sum({1 << (drawn >> shift) % bits for shift in (0, 8, 16)[:i % 4]}))
        else:
            found.append(drawn % (1 << bits))
    return found


PLAIN, COMPRESSED, WIDE_CODES = fingerprints(1, 120, 64), fingerprints(2, 300, 40), fingerprints(3, 200, 256)
REMOVED = (3, 50)  # rows of the plain index

Sketchers = dict[str, tuple[Any, Callable[[list[int]], list[int]]]]
SKETCHERS: Sketchers = {
    "minhash": (nd.MinHasher(16, shingling=SHINGLING), lambda f: plain.signature(f, 16)),
    "minhash-64": (nd.MinHasher(5, bits=64, seed=7, shingling=SHINGLING), lambda f: plain.signature(f, 5, 64, 7)),
    "fast": (nd.MinHasher(16, method="fast", shingling=SHINGLING), lambda f: plain.fast_signature(f, 16)),
    "bottom": (nd.BottomSketcher(12, shingling=SHINGLING), lambda f: plain.bottom(f, 12)),
    "bottom-40": (nd.BottomSketcher(12, bits=40, shingling=SHINGLING), lambda f: plain.bottom(f, 12, 40)),
    "mod": (nd.ModSketcher(3, shingling=SHINGLING), lambda f: plain.mod(f, 3)),
    "adaptive": (nd.ModSketcher("adaptive", shingling=SHINGLING), lambda f: plain.adaptive(f)[1]),
    "simhash": (nd.SimHasher(shingling=SHINGLING), lambda f: [plain.simhash(f)]),
}
WINNOWERS = {
    "winnow": (nd.Winnower(4, SHINGLING), lambda f: plain.winnow(f, 4)),
    "winnow-rightmost": (nd.Winnower(3, SHINGLING, robust=False, seed=7), lambda f: plain.winnow(f, 3, 7, False)),
}
LEXICON = nd.Idf.learn(list(TEXTS.values()), SHINGLING)  # of all shingles of all texts


def _lexicon() -> set[int]:
    return {f for text in TEXTS.values() for f in shingling.fingerprints(text, width=SHINGLING.width)}


def _weights() -> dict[int, Fraction]:
    counted = plain.document_frequencies([shingling.fingerprints(text, width=SHINGLING.width) for text in TEXTS.values()])
    return {f: Fraction(plain.idf(len(TEXTS), df), plain.WEIGHT_UNIT) for f, df in counted.items()}


def _words(value: int, bits: int) -> list[int]:
    """Cut a fingerprint into words of 64 bits, the most significant first."""
    return [value >> low & (1 << 64) - 1 for low in range(bits - 64, -1, -64)]


SIGNERS: Sketchers = {
    "buckets": (nd.BucketSketcher(5, least=1, shingling=SHINGLING), lambda f: plain.bucket_signatures(f, 5)),
    "weighted": (nd.WeightedMinHasher(9, LEXICON), lambda f: plain.weighted_signature(f, 9, _weights())),
    "imatch": (nd.IMatcher(LEXICON, 0, 1, 3, 0.25, 1, 7), lambda f: plain.imatch_signatures(f, _lexicon(), 3, 0.25, 1, 7)),
}
WIDE: Sketchers = {
    "simhash-128": (nd.SimHasher(128, shingling=SHINGLING), lambda f: _words(plain.simhash(f, bits=128), 128)),
    "simhash-256": (nd.SimHasher(256, LEXICON, seed=7), lambda f: _words(plain.simhash(f, _weights(), 7, 256), 256)),
}
TOOLS: dict[str, tuple[Any, Callable[[str], list[Any]]]] = {  # of a text, whose words are the features of the first three
    "datasketch-legacy": (nd.DatasketchHasher(8, scheme="legacy"), lambda text: datasketch_minima(text, "legacy")),
    "datasketch-affine64": (nd.DatasketchHasher(8, scheme="affine64"), lambda text: datasketch_minima(text, "affine64")),
    "simhash-seomoz": (nd.PackageSimHasher("seomoz"), lambda text: [other_tools.package_simhash(
        [other_tools.package_hash(word.encode(), "seomoz") for word in text.split()])]),
    "scanoss": (nd.ScanossWinnower(),
                lambda text: [(z, line) for line, z in other_tools.scanoss_fingerprints(text.encode())]),
}
META_RUN, META_SIZE = 3, 6


PAGES = [*((name, name) for name in TEXTS), ("ferry", "ferry, capitals"), ("museum", "market"), ("empty", "empty")]
GONE = "short"
EVIDENCE: tuple[Literal["text", "shingles", "sketch"], ...] = ("text", "shingles", "sketch")


# ---- what is written


def write_sketches(folder: Path) -> None:
    """Write sketches of every kind: with ids that are str, with ids that are int, and without."""
    for i, name in enumerate(SKETCHERS):
        sketched(name, (list(TEXTS), [10 * row for row in range(len(TEXTS))], None)[i % 3]).save(folder / f"{name}.nds")
    nd.meta_sketches(sketched("bottom"), META_RUN, nd.BottomSketcher(META_SIZE)).save(folder / "meta.nds")


def write_winnowed(folder: Path) -> None:
    """Write winnowed fingerprints, with ids and without."""
    for name in WINNOWERS:
        sketched(name, list(TEXTS) if name == "winnow" else None).save(folder / f"{name}.nds")


def datasketch_minima(text: str, scheme: str) -> list[int]:
    hashes = [other_tools.datasketch_hash(word.encode(), scheme) for word in text.split()]
    return other_tools.datasketch_signature(hashes, scheme, 8)


def write_signed_and_others(folder: Path) -> None:
    """Write lists of terms, weighted signatures, wide simhashes and values of other tools, with ids and without."""
    for name in SIGNERS | WIDE | TOOLS:
        ids = list(TEXTS) if name in ("scanoss", "imatch", "simhash-128") else None
        sketched(name, ids).save(folder / f"{name}.nds")


def sketched(name: str, ids: list[Any] | None = None) -> nd.Sketches:
    """Sketch the texts by the sketcher of this name."""
    sketcher, _ = (SKETCHERS | WINNOWERS | SIGNERS | WIDE | TOOLS)[name]
    if name in TOOLS and name != "scanoss":
        made = sketcher.sketch_tokens([text.split() for text in TEXTS.values()])
    else:
        made = sketcher.sketch_many(list(TEXTS.values()))
    made.ids = ids
    return made


def write_weights(folder: Path) -> None:
    nd.Idf.learn(list(TEXTS.values()), SHINGLING).save(folder / "weights.ndw")


def write_indexes(folder: Path) -> None:
    """Write an index with ids that are str, some of them removed; a compressed one and one of 256 bits, with positions."""
    index = nd.HammingIndex(np.array(PLAIN[:100], np.uint64), [f"é{i}" for i in range(100)], DISTANCE)
    index.add(np.array(PLAIN[100:], np.uint64), [f"é{i}" for i in range(100, len(PLAIN))])
    index.remove([f"é{i}" for i in REMOVED])
    index.save(folder / "plain.ndh")
    nd.HammingIndex(np.array(COMPRESSED, np.uint64), None, DISTANCE, bits=40, compress=True).save(folder / "compressed.ndh")
    nd.HammingIndex(WIDE_CODES, None, DISTANCE, bits=256).save(folder / "wide.ndh")


def write_texts(folder: Path) -> None:
    """Write an index of texts with keys that are str, of which one was removed, and one with keys that are int."""
    named, numbered = nd.Index(THRESHOLD, shingling=SHINGLING), nd.Index(THRESHOLD, shingling=SHINGLING, seed=7)
    named.add_many(TEXTS.items())
    named.remove(GONE)
    numbered.add_many(enumerate(TEXTS.values()))
    named.save(folder / "named.ndt")
    numbered.save(folder / "numbered.ndt")


def build(place: Path, **more: Any) -> nd.Collection:
    """Build the collection of the fixtures, or go on with it."""
    return nd.Collection.build(place, list(TEXTS.values()), list(TEXTS), threshold=THRESHOLD, threads=1,
                               sketcher=nd.ModSketcher("adaptive", shingling=SHINGLING), **more)


def write_collections(folder: Path) -> None:
    """Write a collection by the command, with places of documents, and one that was interrupted in phase three."""
    with tempfile.TemporaryDirectory() as inputs, contextlib.chdir(inputs):
        lines = [json.dumps({"id": name, "text": text}) for name, text in TEXTS.items()]
        Path("pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.utime("pages.jsonl", (CAPTURED, CAPTURED))  # the description of the source has it
        options = ["--quiet", "--threads", "1", "--threshold", str(THRESHOLD), "--width", str(SHINGLING.width)]
        if ndcore_main(["cluster", "pages.jsonl", *options, "-o", str(folder / "finished")]):
            raise AssertionError("ndcore cluster failed")

    def interrupt(stage: str, done: int, total: int | None) -> None:
        if stage == "counting pairs":
            raise KeyboardInterrupt

    try:
        build(folder / "unfinished", progress=interrupt)
    except KeyboardInterrupt:
        return
    raise AssertionError("the collection was not interrupted: its stages have other names")


def write_stores(folder: Path) -> None:
    """Write stores of every kind of evidence, without what is made again from their logs."""
    for evidence in EVIDENCE:
        with nd.Store.open(folder / evidence, threshold=THRESHOLD, shingling=SHINGLING, evidence=evidence) as store:
            for date, (key, name) in enumerate(PAGES):
                store.decide(key, TEXTS[name], date)
            store.remove(GONE)
        for derived in (folder / evidence).glob("derived-*"):
            shutil.rmtree(derived)
        (folder / evidence / "lock").unlink(missing_ok=True)


FORMATS: tuple[tuple[str, int, Callable[[Path], None]], ...] = (  # name, the number that is written, what writes it
    ("sketches", 0, write_sketches),
    ("sketches", 1, write_winnowed),
    ("sketches", 2, write_signed_and_others),
    ("weights", 0, write_weights),
    ("hamming", 0, write_indexes),
    ("texts", 0, write_texts),
    ("collection", COLLECTION.format, write_collections),
    ("store", STORE, write_stores),
)
RANDOM = ("store",)  # formats with random tags: their bytes differ every time


# ---- what they must answer


def sketch_answers(shingles: list[list[int]]) -> dict[str, Any]:
    answers = {name: [_hex(reference(f)) if f else [] for f in shingles]
               for name, (_, reference) in (SKETCHERS | SIGNERS | WIDE).items()}
    for name, (_, winnowed) in WINNOWERS.items():
        answers[name] = [[[hex(z), position] for z, position in winnowed(f)] for f in shingles]
    for name, (_, values_of) in TOOLS.items():
        answers[name] = [_shown(values_of(text)) if text else [] for text in TEXTS.values()]
    answers["meta"] = [_hex(plain.meta_sketch(plain.bottom(f, 12), META_RUN, META_SIZE)) for f in shingles]
    return answers


def _shown(values: list[Any]) -> list[Any]:
    return [hex(value) if isinstance(value, int) else [hex(value[0]), value[1]] for value in values]


def _hex(values: list[int]) -> list[str]:
    return [hex(value) for value in values]


def weight_answers(shingles: list[list[int]]) -> dict[str, Any]:
    counted, n = plain.document_frequencies(shingles), len(shingles)
    return {"documents": n, "weights": {hex(f): plain.idf(n, holders) for f, holders in sorted(counted.items())}}


def hamming_answers() -> dict[str, Any]:
    def within(stored: list[int], name: Callable[[int], Any], removed: tuple[int, ...] = ()) -> list[Any]:
        return [{"fingerprint": hex(asked), "found": [[name(row), distance] for row, distance
                                                      in hamming.within(stored, asked, DISTANCE) if row not in removed]}
                for asked in stored[::9]]

    return {"plain": within(PLAIN, lambda row: f"é{row}", REMOVED), "compressed": within(COMPRESSED, lambda row: row),
            "wide": within(WIDE_CODES, lambda row: row)}


def text_answers(shingles: list[list[int]]) -> dict[str, Any]:
    """Compare a few texts with all, those that stay in the index; the most similar first, then in their order."""
    names = list(TEXTS)
    found = {}
    for asked in QUERIES:
        scores = [(name, resemblance.resemblance(set(shingles[names.index(asked)]), set(each)))
                  for name, each in zip(names, shingles, strict=True) if each and name != GONE]
        found[asked] = sorted(([name, score] for name, score in scores if score >= THRESHOLD), key=lambda row: -row[1])
    return found


def collection_answers(shingles: list[list[int]]) -> dict[str, Any]:
    """Cluster by the four phases in plain Python, and estimate the resemblance of a few documents to all."""
    names = list(TEXTS)
    sketches = [collection.Sketch(1 << level, members) for level, members in map(plain.adaptive, shingles)]
    leaders = collection.collapse(sketches)
    shared = collection.counts(collection.entries(sketches, leaders))
    pairs = collection.estimates(sketches, shared, THRESHOLD)
    labels = collection.restore(collection.cluster_pairs(len(sketches), pairs, THRESHOLD, "star"), leaders)
    queries: dict[str, dict[str, float]] = {}
    for asked in QUERIES:
        given = sketches[names.index(asked)]
        estimates = {name: estimate(given, sketch) for name, sketch in zip(names, sketches, strict=True)}
        queries[asked] = {name: value for name, value in estimates.items() if value >= THRESHOLD}
    return {"clusters": {name: names[label] for name, label in zip(names, labels, strict=True)}, "queries": queries}


def estimate(a: collection.Sketch, b: collection.Sketch) -> float:
    """Estimate a resemblance from two samples, at the larger modulus."""
    modulus = max(a.modulus, b.modulus)
    return resemblance.resemblance(*({z for z in sketch.members if z % modulus == 0} for sketch in (a, b)))


def store_answers() -> dict[str, Any]:
    """Decide on the pages by brute force."""
    store = ReferenceStore(THRESHOLD, width=SHINGLING.width)
    verdicts = [store.decide(key, TEXTS[name], date) for date, (key, name) in enumerate(PAGES)]
    store.remove(GONE)
    peeked, live = {name: store.peek(TEXTS[name]) for name in TEXTS}, [name for name in TEXTS if name != GONE]
    return {
        "verdicts": [[verdict.verdict, verdict.of, verdict.version] for verdict in verdicts],
        "clusters": store.clusters(),
        "peeks": {name: [verdict.verdict, verdict.of, verdict.equal] for name, verdict in peeked.items()},
        "history": {name: [[version.date, version.change] for version in store.history(name)] for name in live},
        "located": {name: store.locate(name) for name in live},
    }


def answers() -> str:
    """Return the content of answers.json."""
    shingles = [shingling.fingerprints(text, width=SHINGLING.width) for text in TEXTS.values()]
    found = {
        "about": "What the files beside this one answer. Written by tools/fixtures.py from ndcore.reference.",
        "texts": TEXTS, "width": SHINGLING.width, "sketches": sketch_answers(shingles), "weights": weight_answers(shingles),
        "hamming": hamming_answers(), "texts-by-name": text_answers(shingles), "collection": collection_answers(shingles),
        "store": store_answers(),
    }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


# ---- comparing


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a folder by their relative paths."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def differences(fixtures: Path, write: bool) -> list[str]:
    """Compare what this ndcore writes with the fixtures; with `write`, add what is missing."""
    found: list[str] = []
    for name, number, writer in FORMATS:
        kept = fixtures / f"{name}-{number}"
        with tempfile.TemporaryDirectory() as folder:
            writer(Path(folder))
            made, there = files_in(Path(folder)), files_in(kept)
        for path in sorted(made.keys() | there.keys()):
            if write and path not in there:
                (kept / path).parent.mkdir(parents=True, exist_ok=True)
                (kept / path).write_bytes(made[path])
            elif made.get(path) != there.get(path) and not (name in RANDOM and path in made and path in there):
                found.append(f"{kept.name}/{path}: " + ("not written any more" if path not in made else
                                                        "missing" if path not in there else "other bytes"))
    stored, text = fixtures / ANSWERS, answers()
    if write and not stored.exists():
        stored.write_text(text, encoding="utf-8")
    elif not stored.exists() or stored.read_text(encoding="utf-8") != text:
        found.append(f"{ANSWERS}: other answers")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    found = differences(FIXTURES, write=not parser.parse_args().check)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("a format whose bytes change gets a new number: see 'Formats' in DESIGN.md §6", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
