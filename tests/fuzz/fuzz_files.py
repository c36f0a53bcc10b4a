"""Fuzz files of every kind: whatever their bytes, whatever is asked of them ends in an answer or in CorruptFile.

    python tests/fuzz/fuzz_files.py [--kind sketches ...] [--iterations 2000] [--seed 1] [--first 0] [--jobs 2]

Kinds: sketches (.nds), index (.ndh), texts (.ndt), weights (.ndw), collection (one file of a finished collection),
unfinished (one file of a collection whose making was interrupted, and goes on), store (records of its log), repeats-work
(one file of the work directory of a search for repeated passages that was interrupted, and goes on). A tenth of their
mutants are damaged as they are; the others get right checksums, as in a file that somebody forged, so that the fault
reaches what lies behind them. Every method is called. Two more kinds have no checksums (`input_kinds.py`): documents (files
of every input format) and parsers (messages, manifests, maps, tokens, settings, bodies of requests and other small
formats). A mutant that takes more than a minute of CPU ends its process, as a crash does.

Mutant i depends on the seed and on i. They are made in processes of their own, so that a crash names its iteration:
`--kind KIND --seed SEED --first I --iterations 1` makes that one again.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import faulthandler
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import numpy as np
import unsynced  # noqa: F401  # a mutant of a store waits a hundred times for the disk; no mutant loses power
from forging import changed_json, closed, damaged, forged, forged_records, opened, revision_of
from input_kinds import document_seeds, parser_seeds, use_documents, use_parser

import ndcore as nd
from ndcore.cli.main import main as ndcore_main
from ndcore.collection import cluster as phases
from ndcore.collection.shelf import Shelf
from ndcore.hamming import index as hamming_index
from ndcore.report import collection
from ndcore.spans import reading, window_entries
from ndcore.spans.repeats_work import Secrets
from ndcore.storage.file_shelf import FileShelf
from ndcore.store.log import Log
from ndcore.store.overall import OverallVerdict

TEXTS = [f"document {i} of some that are sketched and saved to be loaded again" for i in range(7)] + ["", "one word"]
OUTCOMES = ("accepted", "refused")
SECONDS = 60  # of CPU for one mutant; more is a hang


class Refused(Exception):
    """The file was refused as it should be."""


@contextlib.contextmanager
def refusing(*names: str) -> Iterator[None]:
    """CorruptFile is how a file is refused; its message names the file."""
    try:
        yield
    except nd.CorruptFile as error:
        assert any(name in str(error) for name in names), f"the message does not name the file: {error}"
        raise Refused from error


@contextlib.contextmanager
def may(*errors: type[Exception]) -> Iterator[None]:
    """What is documented for questions that cannot be answered; CorruptFile goes on."""
    try:
        yield
    except nd.CorruptFile:
        raise
    except errors:
        pass


def command(*arguments: Any) -> int:
    """Run a command; its exit code. What it does not catch escapes."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            code = ndcore_main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = int(error.code or 0)
    assert code == 0 or said.getvalue(), "it failed without a word"
    return code


def mutant(data: bytes, rng: random.Random) -> bytes:
    return damaged(data, rng) if not rng.randrange(10) else forged(data, rng)


# ---- sketches


def sketch_seeds(folder: Path) -> None:
    for number, sketcher in enumerate((
        nd.MinHasher(num_perm=4), nd.MinHasher(num_perm=3, bits=64), nd.MinHasher(84, method="fast"),
        nd.BottomSketcher(size=5), nd.BottomSketcher(size=4, bits=40), nd.BottomSketcher(size=100, bits=64),
        nd.ModSketcher(2), nd.ModSketcher(1, size=4),
        nd.ModSketcher("adaptive"), nd.SimHasher(), nd.SimHasher(weights="distinct"), nd.Winnower(2),
        nd.SimHasher(128), nd.SimHasher(256, "distinct"),
    )):  # fmt: skip
        for ids in (None, [f"id {i}" for i in range(len(TEXTS))], list(range(len(TEXTS)))):
            sketches = sketcher.sketch_many(TEXTS)
            sketches.ids = ids
            if ids is not None:
                sketches.digests = np.zeros((len(TEXTS), 32), np.uint8)
            kind = "strings" if ids and isinstance(ids[0], str) else "numbers" if ids else "none"
            sketches.save(folder / f"{number:02d}-{kind}.nds")


def use_sketches(seed: Path, folder: Path, rng: random.Random) -> None:
    path = folder / "mutant.nds"
    path.write_bytes(mutant(seed.read_bytes(), rng))
    verify = rng.randrange(4) > 0
    wrong = () if verify else (ValueError,)  # what nobody verified is an argument like any other
    with refusing(str(path)):
        try:
            sketches = nd.load(path, mmap=bool(rng.randrange(2)), verify=verify)
        except nd.CorruptFile:
            raise
        except ValueError as error:  # another kind of file
            if not str(error).endswith("not 'sketches'; give a file of 'sketches'"):
                raise
            return
        n = len(sketches)
        assert len(list(sketches)) == n
        for name in ("sizes", "sizes_exact", "valid", "ids", "digests", "moduli"):
            given = getattr(sketches, name)
            assert given is None or len(given) == n, name
        assert sketches.valid.dtype == np.bool_ and sketches.sizes_exact.dtype == np.bool_
        repr(sketches)
        joined = sketches.concat(sketches[::-1])
        assert len(joined) == 2 * n and len(sketches[sketches.valid]) == np.count_nonzero(sketches.valid)
        with contextlib.suppress(ImportError):
            sketches.to_arrow()
        sketches.save(folder / "again.nds")
        nd.load(folder / "again.nds", verify=verify)
        if isinstance(sketches, nd.Simhashes):
            if n:
                sketches.distance(0, n - 1)
                sketches.cosine(0, n - 1)
            with may(ValueError):
                nd.SimHasher.from_recipe(sketches.recipe)
            found = nd.HammingIndex(sketches.values[sketches.valid], recipe=sketches.recipe)
            found.pairs()
        else:
            _compare(sketches, n, wrong, rng)
    if not rng.randrange(20):
        command("info", path)
        command("cluster", path, "-o", folder / "c.ndc", "--overwrite", "--quiet")


def _compare(sketches: Any, n: int, wrong: tuple[type[Exception], ...], rng: random.Random) -> None:
    found = sketches.compare()
    for values in (found.resemblance, found.containment):
        assert values.shape == (n, n)
    if n:
        sketches.resemblance(0, n - 1), sketches.containment(0, n - 1)
        with may(ValueError, TypeError):  # of fast signatures, of winnowed fingerprints
            sketches.union(0, n - 1)
        with may(*(TypeError,) if isinstance(sketches, nd.Winnowed) else ()):
            for quantity in ("resemblance", "containment"):
                for method in ("midp", "exact"):
                    sketches.interval(0, n - 1, method=method, quantity=quantity)
    method = {"minhash": "features", "bottom": "super-shingles", "mod": "shingles",
              "winnow": "shingles"}[sketches.recipe["kind"]]
    with may(ValueError):
        nd.features(sketches, 2, 2), nd.super_features(sketches, 2, 2, 1)
    with may(ValueError):
        nd.super_shingles(sketches, 2)
    for cluster in ("star", "components", "popular"):
        for chosen in {method, "super-shingles"}:
            with may(ValueError):
                nd.cluster(sketches, method=chosen, run=2, threshold=0.3, cluster=cluster, threads=1)
    if sketches.offsets is not None:
        with may(*wrong, ValueError):
            nd.greedy_clusters(sketches.values, sketches.offsets, threshold=0.5, moduli=sketches.moduli)
    with may(ValueError):
        nd.MinHasher.from_recipe(sketches.recipe)


# ---- weights


def weight_seeds(folder: Path) -> None:
    for number, shingling in enumerate((nd.Shingling(), nd.Shingling(width=1), nd.Shingling(unit="char", width=3))):
        nd.Idf.learn(TEXTS, shingling, min_df=1 + number).save(folder / f"{number}.ndw")
    nd.Idf.learn([]).save(folder / "none.ndw")


def use_weights(seed: Path, folder: Path, rng: random.Random) -> None:
    path = folder / "mutant.ndw"
    path.write_bytes(mutant(seed.read_bytes(), rng))
    with refusing(str(path)):
        try:
            idf = nd.Idf.load(path)
        except nd.CorruptFile:
            raise
        except ValueError as error:  # another kind of file, or a shingling that has to be given
            assert "give a file of" in str(error) or "is a function: pass shingling" in str(error), error
            return
        idf.weights(np.array([0, 1, 2**64 - 1], np.uint64)), idf.weights(idf.fingerprints)
        assert idf == nd.Idf.load(path) and len(idf) == len(idf.frequencies)
        hasher = nd.SimHasher(weights=idf)
        hasher.sketch_many(TEXTS)
        idf.save(folder / "again.ndw")
        nd.Idf.load(folder / "again.ndw")


# ---- indexes of texts


def text_seeds(folder: Path) -> None:
    for number, shingling in enumerate((nd.Shingling(), nd.Shingling(width=1), nd.Shingling(unit="char", width=3))):
        index = nd.Index(0.2 + 0.3 * number, shingling=shingling)
        index.add_many((f"key {i}" if number else i, text) for i, text in enumerate(TEXTS))
        index.save(folder / f"{number}.ndt")
    nd.Index().save(folder / "none.ndt")


def use_texts(seed: Path, folder: Path, rng: random.Random) -> None:
    path = folder / "mutant.ndt"
    path.write_bytes(mutant(seed.read_bytes(), rng))
    with refusing(str(path)):
        try:
            index = nd.Index.load(path)
        except nd.CorruptFile:
            raise
        except ValueError as error:  # another kind of file, a shingling that has to be given, or another than the recipe's
            assert re.search("give a file of|is a function: pass shingling|cannot combine", str(error)), error
            return
        for found in index.query_many(TEXTS, limit=rng.choice([None, 1])):
            assert all(each.key in index for each in found)
        assert len(repr(index)) < 200 and len(index._repr_html_()) < 5000
        index.add("another key", TEXTS[0])
        index.remove("another key")
        for key in rng.sample(list(index), min(len(index), 3)):
            index.remove(key)
        index.save(folder / "again.ndt")
        assert list(nd.Index.load(folder / "again.ndt")) == list(index)


# ---- indexes


def index_seeds(folder: Path) -> None:
    rng = np.random.default_rng(1)
    for bits in (6, 20, 64):
        base = rng.integers(0, 1 << min(bits, 63), 80, np.uint64)
        values = np.concatenate([base, base[:30] ^ np.uint64(1), base[:20]])
        n = len(values)
        kinds = {"none": None, "numbers": np.arange(n) * 3, "large": np.arange(n, dtype=np.uint64) + np.uint64(2**63),
                 "strings": [f"é{i}" for i in range(n)], "bytes": [b"b%d" % i for i in range(n)]}
        for (kind, ids), compress, count in ((k, c, m) for k in kinds.items() for c in (False, True) for m in (0, 1, n)):
            distance, some = 3 if bits > 6 else 1, None if ids is None else ids[:count]
            index = nd.HammingIndex(values[:count], some, distance, bits=bits, compress=compress)
            index.save(folder / f"{bits:02d}-{kind}-{'compressed' if compress else 'plain'}-{count}.ndh")
    for bits in (128, 256):
        wide = [random.Random(i).getrandbits(bits) for i in range(60)]
        for count in (0, 1, 60):
            nd.HammingIndex([*wide, *wide[:5]][:count], max_distance=3, bits=bits).save(folder / f"{bits}-{count}.ndh")
    large = nd.HammingIndex([random.Random(i).getrandbits(256) for i in range(5000)], max_distance=20, bits=256)
    large.save(folder / "256-substrings.ndh")
    plan = nd.plan_tables(64, 3, 12, splits=(4,))
    many = rng.integers(0, 1 << 63, 3000, np.uint64)
    for compress in (False, True):
        made = nd.HammingIndex(many, plan=plan, compress=compress, recipe=nd.SimHasher().recipe)
        made.save(folder / f"many-{'compressed' if compress else 'plain'}.ndh")


def use_index(seed: Path, folder: Path, rng: random.Random) -> None:
    path = folder / "mutant.ndh"
    path.write_bytes(mutant(seed.read_bytes(), rng))
    verify, hamming_index.BUFFER = rng.randrange(4) > 0, rng.choice([1, 8, 4096])
    if not rng.randrange(20):
        for arguments in (("info", path), ("query", path, "12", "--format", "text"), ("pairs", path)):
            command("hamming", *arguments)
    with refusing(str(path)):
        try:
            index = nd.HammingIndex.open(path, verify=verify)
        except nd.CorruptFile:
            raise
        except ValueError as error:
            if not str(error).endswith("not 'hamming'; give a file of 'hamming'"):
                raise
            return
        repr(index), len(index), index.nbytes, str(index.tables)
        every = (1 << index.bits) - 1
        held = [_whole(x) for part in index._levels for x in part.keys.fingerprints(0, min(3, part.keys.count))]
        queries = [x & every for x in (0, every, *held, *(rng.getrandbits(64) for _ in range(4)))]
        steps: list[Callable[[], Any]] = [
            lambda: [index.query(x) for x in queries],
            lambda: index.query_many(queries * 40, threads=1),
            lambda: nd.hamming_join(queries, path, 1 if index.bits < 7 else 3, bits=index.bits, threads=1),
            lambda: _add(index, queries, rng),
            lambda: _remove(index, rng),
            lambda: index.pairs(threads=1),
            lambda: index.save(folder / "again.ndh"),
            lambda: copy.copy(index).query(queries[0]),
            lambda: nd.SimHasher.from_recipe(index.recipe) if index.recipe is not None else None,
        ]
        for step in rng.sample(steps, rng.randrange(1, len(steps) + 1)):
            with may(ValueError) if step in steps[8:] or (not verify and step in steps[3:4]) else contextlib.nullcontext():
                step()
        index.query_many(queries)


def _whole(fingerprint: Any) -> int:
    """Return a fingerprint of one or of several words as one number."""
    return int.from_bytes(np.asarray(fingerprint).astype(">u8").tobytes(), "big")


def _add(index: Any, values: list[int], rng: random.Random) -> None:
    more = rng.choices(values, k=rng.randrange(20))
    counted = index._ids.following is not None
    kind = index._ids.kind
    make = {"integers": lambda i: i, "str": lambda i: f"new {i}", "bytes": lambda i: b"new %d" % i}[kind]
    with may(TypeError):  # ids of another sign
        index.add(more, None if counted else [make(i) for i in range(len(more))])


def _remove(index: Any, rng: random.Random) -> None:
    kind = index._ids.kind
    make = {"integers": lambda i: i, "str": lambda i: f"é{i}", "bytes": lambda i: b"b%d" % i}[kind]
    with may(KeyError):
        index.remove([make(rng.randrange(150)) for _ in range(rng.randrange(4))])


# ---- collections


def collection_texts() -> list[str]:
    rng = random.Random(7)
    made = ["", "!!", "a"]
    for _ in range(14):
        base = [f"w{rng.randrange(900)}" for _ in range(rng.randint(4, 70))]
        for _ in range(rng.randint(1, 4)):
            words = list(base)
            for _ in range(rng.randint(0, 5)):
                words[rng.randrange(len(words))] = f"w{rng.randrange(900)}"
            made.append(" ".join([*words, "and", "these", "are", "the", "words", "of", "all"]))
        made.append(" ".join(base[: len(base) // 2]))
        made += [made[-2], made[-2].upper()]
    return made


WAYS: dict[str, dict[str, Any]] = {
    "adaptive": {"threshold": 0.3},
    "mod": {"sketcher": nd.ModSketcher(1), "threshold": 0.3, "cluster": "components", "max_holders": 9},
    "contained": {"sketcher": nd.ModSketcher(2), "policy": "containment", "least": 2},
    "super": {"sketcher": nd.BottomSketcher(20, bits=40), "method": "super-shingles", "run": 3},
    "features": {"method": "features", "threshold": 0.6, "cluster": "greedy"},
    "apart": {"must_agree": "numbers", "min_shingles": 4, "by": lambda: [len(text) % 3 for text in collection_texts()],
              "one_per": lambda: [f"é{len(text) // 2}" for text in collection_texts()]},
}
IDS: dict[str, Callable[[int], Any]] = {
    "adaptive": lambda n: [f"id {i}" for i in range(n)], "mod": lambda n: [7 * i - 50 for i in range(n)],
    "contained": lambda n: None, "super": lambda n: [f"é{i % 9}" for i in range(n)], "features": lambda n: None,
    "apart": lambda n: None,
}


@contextlib.contextmanager
def small_parts() -> Iterator[None]:
    """Cut small collections into several parts of each kind, within a block."""
    small = ((phases, "SLAB", 400), (phases, "RANGE", 300), (phases, "SEGMENT_DOCUMENTS", 30), (phases, "PARTS", 10**9))
    before = [getattr(module, name) for module, name, _ in small]
    for module, name, size in small:
        setattr(module, name, size)
    try:
        yield
    finally:
        for (module, name, _), size in zip(small, before, strict=True):
            setattr(module, name, size)


def build(place: Path, way: str) -> Any:
    texts = collection_texts()
    return nd.Collection.build(place, texts, IDS[way](len(texts)), threads=1, **WAYS[way])


def collection_seeds(folder: Path) -> None:
    with small_parts():
        for way in WAYS:
            build(folder / way, way)


def unfinished_seeds(folder: Path) -> None:
    """Collections as an interruption after each file leaves them."""
    with small_parts():
        for way in WAYS:
            for left in range(10**6):
                place = folder / f"{way}-{left:03d}"
                with _interrupted(Shelf, left) as stopped:
                    build(place, way)
                if not stopped:
                    shutil.rmtree(place)
                    break


@contextlib.contextmanager
def _interrupted(shelf: Any, left: int) -> Iterator[list[int]]:
    """Stop when so many files were put on a shelf; what comes is not empty where it was stopped."""
    stopped: list[int] = []
    before = {name: getattr(shelf, name) for name in ("put", "put_sketches") if hasattr(shelf, name)}

    def counting(put: Any) -> Any:
        def counted(self: Any, *what: Any) -> None:
            nonlocal left
            if left == 0:
                stopped.append(1)
                raise KeyboardInterrupt
            left -= 1
            put(self, *what)
        return counted

    for name, put in before.items():
        setattr(shelf, name, counting(put))
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield stopped
    finally:
        for name, put in before.items():
            setattr(shelf, name, put)


def forge_one(place: Path, rng: random.Random) -> None:
    """Change one file of a collection, or take one away."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    folders = sorted({path.parent for path in files})
    chosen = rng.choice([path for path in files if path.parent == rng.choice(folders)] or files)
    if not rng.randrange(30):
        chosen.unlink()
    elif chosen.suffix == ".json":
        chosen.write_text(changed_json(chosen.read_text(), rng))
    else:
        chosen.write_bytes(mutant(chosen.read_bytes(), rng))


def use_collection(seed: Path, folder: Path, rng: random.Random) -> None:
    place = folder / "c.ndc"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(seed, place)
    forge_one(place, rng)
    if not rng.randrange(20):
        for arguments in (("query", place, "--id", "id 3"), ("query", place, "--id", "-43", "--members"),
                          ("cluster", place, "--threshold", "0.9", "--quiet")):
            command(*arguments)
    with refusing(str(place)):
        try:
            made = nd.Collection.open(place, verify=bool(rng.randrange(2)))
        except nd.CorruptFile:
            raise
        except ValueError as error:  # never finished, or of another format
            if "was not finished" not in str(error) and "this ndcore reads" not in str(error):
                raise
            return
        except FileNotFoundError:
            if (place / "collection.json").exists():
                raise
            return
        _ask(made, rng)
        if not rng.randrange(4):
            shutil.rmtree(folder / "other.ndc", ignore_errors=True)
            nd.Collection.build(folder / "other.ndc", made, method=made.parameters["method"], threads=1)


def _ask(made: Any, rng: random.Random) -> None:
    n, found, texts = len(made), made.clustering, collection_texts()
    repr(made), repr(found), made.recipe, made.common, found.classes, found.representatives, found.pairs
    ids = [made.names[i] for i in range(n)]
    for ident in rng.sample(ids, min(n, 5)):
        with may(KeyError):  # where ids and their order were swapped
            made.cluster_of(ident), made.members(ident)
            made.resembling(ident, 0.1, rng.choice(["resemblance", "containment"]), rng.choice([None, 3]))
    made.collapse(ids[::-1], rng.choice(["rank", "representative"]), ids[:2])
    with may(ValueError):  # of a recipe that makes no sketcher
        for text in rng.sample(texts, 3):
            made.query(text, 0.1, rng.choice(["resemblance", "containment"]))
    list(found.clusters())
    for i in rng.sample(range(n), min(n, 4)):
        assert i in found.members(i)
    with may(ValueError):  # a threshold below the floor
        found.contained(0.6, least=1)
    with may(ValueError):
        collection.from_clustering(found)
    ways = [(cluster, policy) for cluster in ("star", "components", "greedy", "popular")
            for policy in ("resemblance", "containment")]
    for cluster, policy in rng.sample(ways, 4):
        with may(ValueError):  # ways that do not go together
            made.rethreshold(rng.choice([0.5, 0.7, 1.0]), policy, cluster, rng.choice([None, 0.4]), threads=1)


def use_unfinished(seed: Path, folder: Path, rng: random.Random) -> None:
    place = folder / "c.ndc"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(seed, place)
    forge_one(place, rng)
    with refusing(str(place)):
        try:
            made = build(place, seed.name.partition("-")[0])
        except nd.CorruptFile:
            raise
        except FileExistsError as error:
            assert "holds" in str(error), error
            return
        except ValueError as error:
            words = ("an unfinished collection of ", "this ndcore reads", "are not those given")
            if not any(known in str(error) for known in words):
                raise
            return
        _ask(made, rng)


# ---- stores


STORES: dict[str, dict[str, Any]] = {
    "text": {}, "shingles": {"evidence": "shingles"}, "sketch": {"evidence": "sketch"},
    "host": {"scope": "host", "keys": "url"},
}


def store_seeds(folder: Path) -> None:
    """Stores with documents, variants, versions, removals, and histories whose records are gone."""
    texts = [text for text in collection_texts() if text][:24]
    for way, settings in STORES.items():
        keys = [f"http://{'ab'[i % 2]}.example/{i}" for i in range(len(texts))]
        with nd.Store.open(folder / way, threshold=0.5, num_perm=16, **settings) as store:
            list(store.decide_many((key, text, i) for i, (key, text) in enumerate(zip(keys, texts, strict=True))))
            for i in (0, 3, 5):
                store.decide(keys[i], texts[i + 7], 100 + i)
            kept = OverallVerdict("kept", None, None, None, "before", 100, True)
            near = OverallVerdict("near", keys[4], "east", 0.5, "after", 200, True)
            store._directory.note_overall([(i, kept) for i in range(len(texts))])
            if way != "sketch":
                store.compact()
            store._directory.note_overall([(i, near) for i in range(6, 12)])
            for i in (2, 3, 8):
                store.decide(keys[i], texts[i], 200 + i)
                store.decide(keys[i], texts[i].upper(), 300 + i)
            store.decide(keys[5], texts[1], 400)
            store.remove(keys[4])
            store.expire(7)


def use_store(seed: Path, folder: Path, rng: random.Random) -> None:
    place = folder / "store"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(seed, place)
    [log] = place.glob("log-*")
    _forge_log(log, rng)
    if rng.randrange(4):
        shutil.rmtree(place / log.name.replace("log", "derived"))
    refused = False
    for how in ({"read_only": True}, {}, {"repair": True}):
        try:
            with refusing(str(place)), _opened(place, **how) as store:
                _ask_store(store, rng)
                if "read_only" not in how:
                    _change_store(store, rng)
                    break
        except Refused:
            refused = True
    if refused:
        raise Refused
    with _opened(place) as store:
        assert not store.check()


def _opened(place: Path, **how: Any) -> Any:
    try:
        return nd.Store.open(place, **how)
    except nd.CorruptFile:
        raise
    except ValueError as error:  # a record of an unknown kind
        if "another version of ndcore wrote it" not in str(error):
            raise
        raise nd.CorruptFile(str(error)) from error


def _forge_log(place: Path, rng: random.Random) -> None:
    """Write a log anew with forged records."""
    log = Log.open(place, read_only=True)
    there, tag = list(log.scan()), log.tag
    log.close()
    shutil.rmtree(place)
    made = Log.create(place, tag)
    forged_records(there, lambda payload: made.append([payload])[0], rng)
    made.close()


@contextlib.contextmanager
def damage() -> Iterator[None]:
    """A question that a damaged record does not answer."""
    with contextlib.suppress(nd.CorruptFile), may(LookupError):
        yield


def _ask_store(store: Any, rng: random.Random) -> None:
    keys = [f"http://{'ab'[i % 2]}.example/{i}" for i in range(9)]
    n = len(store)
    assert n >= 0 and store.stats()["documents"] == n
    with damage():
        keys += [key for members in store.clusters() for key in members][:9]
    for key in keys:
        for ask in (store.__contains__, store.cluster, store.history, store.text, store.locate, store.overall):
            with damage():
                ask(key)
    for text in rng.sample(collection_texts(), 4):
        with damage():
            store.peek(text, keys[0])
    assert all(isinstance(problem, str) for problem in store.check())


def _change_store(store: Any, rng: random.Random) -> None:
    for i in range(6):
        with damage():
            store.decide(f"http://{'ab'[i % 2]}.example/{rng.randrange(30)}", rng.choice(collection_texts()), 500 + i)
        with damage():
            store.remove(f"http://{'ab'[i % 2]}.example/{i}")
    with damage():
        list(store.decide_many((f"http://c.example/{i}", text, 600) for i, text in enumerate(collection_texts()[:9])))
    with damage():
        store.expire(rng.choice([0, 20, 150]))
    store.flush()
    store.compact()
    assert not store.check()


# ---- work directories of searches for repeated passages


@contextlib.contextmanager
def small_searches() -> Iterator[None]:
    """Cut small searches into several parts, and draw the same secrets in each, within a block."""
    before = window_entries.KEPT, reading.PIECE_TOKENS, Secrets.drawn
    fixed = Secrets.drawn()
    window_entries.KEPT, reading.PIECE_TOKENS = 1000, 200
    Secrets.drawn = staticmethod(lambda: fixed)  # type: ignore[method-assign]
    try:
        yield
    finally:
        window_entries.KEPT, reading.PIECE_TOKENS = before[:2]
        Secrets.drawn = staticmethod(before[2])  # type: ignore[method-assign]


def search(place: Path | None) -> Any:
    return nd.repeats(collection_texts(), min_tokens=6, threads=1, work=place)


def repeats_seeds(folder: Path) -> None:
    """Work directories as an interruption after each file leaves them."""
    with small_searches():
        for left in range(1, 10**6):
            place = folder / f"{left:03d}"
            with _interrupted(FileShelf, left) as stopped:
                search(place)
            if not stopped:
                break
            assert place.is_dir()


def use_repeats(seed: Path, folder: Path, rng: random.Random) -> None:
    place = folder / "work"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(seed, place)
    forge_one(place, rng)
    confirmed = any(path.name.startswith("confirmed") for path in place.iterdir())
    with refusing(str(place)), small_searches():
        try:
            found = search(place)
        except nd.CorruptFile:
            raise
        except (FileExistsError, ValueError) as error:
            assert str(place) in str(error), error
            return
    texts = [text.lower().split() for text in collection_texts()]
    for i in range(len(found.documents)):
        one, start, end = int(found.documents[i]), int(found.starts[i]), int(found.ends[i])
        other, begin = int(found.sources[i]), int(found.source_starts[i])
        assert 0 <= start < end <= len(texts[one]) and 0 <= begin <= len(texts[other]) - (end - start)
        if not confirmed:  # then tokens confirm every run
            assert texts[one][start:end] == texts[other][begin : begin + end - start]


# ---- all of them

KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path, Path, random.Random], None]]] = {
    "sketches": (sketch_seeds, use_sketches), "index": (index_seeds, use_index), "weights": (weight_seeds, use_weights),
    "texts": (text_seeds, use_texts),
    "collection": (collection_seeds, use_collection), "unfinished": (unfinished_seeds, use_unfinished),
    "store": (store_seeds, use_store), "repeats-work": (repeats_seeds, use_repeats),
    "documents": (document_seeds, partial(use_documents, refuse=Refused)),
    "parsers": (parser_seeds, partial(use_parser, refuse=Refused)),
}


def check_seeds(folder: Path) -> None:
    """The fuzzer and the format agree, or every mutant would be refused for its checksum."""
    suffixes = (".nds", ".ndh", ".ndt", ".ndw", ".ndc")
    for path in [path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file()]:
        data = path.read_bytes()
        assert closed(*opened(data), revision=revision_of(data)) == data, path


def work(kind: str, seed: int, first: int, step: int, end: int, seeds: Path, state: Path) -> None:
    """Every step-th mutant from one on: what becomes of them goes to `state`, a line before each and one after."""
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)  # a hang ends the process, with its traceback
    sound = sorted(seeds.iterdir())
    with small_parts(), state.open("a", buffering=1) as log, tempfile.TemporaryDirectory(prefix="ndcore-fuzz-") as folder:
        for i in range(first, end, step):
            log.write(f"{i}\n")
            rng = random.Random(f"{kind} {seed} {i}")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                KINDS[kind][1](rng.choice(sound), Path(folder), rng)
                outcome = "accepted"
            except Refused:
                outcome = "refused"
            except BaseException as error:
                outcome = "escaped"
                log.write(f"{i} trace {json.dumps(''.join(traceback.format_exception(error)[-12:]))}\n")
                if isinstance(error, KeyboardInterrupt):
                    raise
            log.write(f"{i} {outcome}\n")


def run(kind: str, iterations: int, seed: int, first: int, jobs: int) -> bool:
    """So many mutants of a kind, in processes; whether all were accepted or refused."""
    with tempfile.TemporaryDirectory(prefix="ndcore-seeds-") as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        KINDS[kind][0](seeds)
        check_seeds(seeds)
        end, left = first + iterations, list(range(first, first + min(jobs, iterations)))
        counts: dict[str, int] = collections.Counter()
        running: list[tuple[subprocess.Popen[bytes], Path]] = []
        while left or running:
            for start in left:
                state = Path(folder) / f"state-{start}"
                arguments = [kind, str(seed), str(start), str(jobs), str(end), str(seeds), str(state)]
                running.append((subprocess.Popen([sys.executable, __file__, "--work", *arguments]), state))
            left = []
            process, state = running.pop(0)
            code = process.wait()
            last = -1
            for line in state.read_text().splitlines() if state.exists() else ():
                number, _, rest = line.partition(" ")
                last = int(number)
                if rest.startswith("trace "):
                    print(f"{kind} {last} of seed {seed} escaped:\n{json.loads(rest[6:])}", flush=True)
                elif rest:
                    counts[rest] += 1
            if code:
                name = signal.Signals(-code).name if code < 0 else f"exit {code}"
                print(f"{kind} {last} of seed {seed} ended the process: {name}", flush=True)
                counts["crashed"] += 1
                if last >= 0 and last + jobs < end:
                    left.append(last + jobs)
    told = ", ".join(f"{counts[name]} {name}" for name in (*OUTCOMES, "escaped", "crashed"))
    print(f"{kind}: {iterations} mutants of seed {seed} from {first} on: {told}", flush=True)
    return counts["accepted"] + counts["refused"] == iterations


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        kind, *numbers, seeds, state = sys.argv[2:]
        work(kind, *map(int, numbers), Path(seeds), Path(state))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="repeatable; default: all")
    parser.add_argument("--iterations", type=int, default=2000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the iteration to begin with")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    results = [run(kind, options.iterations, options.seed, options.first, options.jobs) for kind in options.kind or KINDS]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
