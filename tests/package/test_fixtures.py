"""Files that earlier versions of ndcore wrote, of every format: they are read for good, and answer what they did.

tools/fixtures.py wrote the folders, and answers.json from the reference. What this ndcore writes has the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndcore as nd
from ndcore.cli.main import main as ndcore_main
from ndcore.storage.container import MAGIC, PREAMBLE, START, peek

FIXTURES = Path(__file__).parents[1] / "fixtures"
ANSWERS = json.loads((FIXTURES / "answers.json").read_text("utf-8"))
TEXTS: dict[str, str] = ANSWERS["texts"]
NAMES = list(TEXTS)
FORMATS = ("collection", "hamming", "sketches", "store", "weights")
SPARK = "spark-collection"  # whose tables Spark writes; tests/spark/test_collection.py reads it

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = pytest.importorskip("fixtures", reason="tools is not beside the tests")
sys.path.pop(0)


def folders(name: str) -> list[Path]:
    """Return the folders of a format, of all its numbers."""
    return sorted(FIXTURES.glob(f"{name}-*"))


def newest(name: str) -> Path:
    return max(folders(name), key=lambda folder: int(folder.name.rpartition("-")[2]))


def each(name: str, pattern: str = "*") -> Any:
    """Parametrize a test by the files of a format, of all its numbers."""
    found = [path for folder in folders(name) for path in sorted(folder.glob(pattern))]
    return pytest.mark.parametrize("path", found, ids=lambda path: f"{path.parent.name}/{path.name}")


def renumbered(path: Path, *, version: int = 1, revision: int = 0) -> None:
    """Change the numbers in a file and make its checksum right again."""
    data = bytearray(path.read_bytes())
    magic, _, _, length, size = PREAMBLE.unpack_from(data)
    data[:PREAMBLE.size] = PREAMBLE.pack(magic, version, revision, length, size)
    data[PREAMBLE.size:START] = hashlib.blake2b(data[:PREAMBLE.size] + data[START:START + length], digest_size=32).digest()
    path.write_bytes(data)


# ---- all formats


def test_every_format_has_fixtures():
    assert {folder.name.rpartition("-")[0] for folder in FIXTURES.iterdir() if folder.is_dir()} == {*FORMATS, SPARK}
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*") if path.is_file()) < 300_000


def test_what_is_written_has_the_bytes_of_the_newest_fixtures():
    assert tool.differences(FIXTURES, write=False) == []


@pytest.mark.parametrize("name", ["hamming", "sketches", "weights"])
def test_a_folder_has_the_revision_of_its_files(name):
    for folder in folders(name):
        assert {peek(path).revision for path in folder.iterdir()} == {int(folder.name.rpartition("-")[2])}


@pytest.mark.parametrize("name", ["collection", "store"])
def test_a_folder_has_the_format_of_its_directories(name):
    for folder in folders(name):
        formats = {json.loads(path.read_text())[f"ndcore.{name}"] for path in folder.glob(f"*/{name}.json")}
        assert formats == {int(folder.name.rpartition("-")[2])}


def readers() -> dict[str, Any]:
    return {".nds": nd.load, ".ndh": nd.HammingIndex.open, ".ndw": nd.Idf.load}


@pytest.mark.parametrize("numbers, message", [
    ({"version": 2}, "format version 2, this ndcore reads up to 1: upgrade ndcore"),
    ({"revision": 1000}, r"'\w+' of revision 1000, this ndcore reads up to \d+: upgrade ndcore"),
])
@pytest.mark.parametrize("path", [folder / name for folder, name in (
    (FIXTURES / "sketches-0", "minhash.nds"), (FIXTURES / "sketches-1", "winnow.nds"),
    (newest("sketches"), "buckets.nds"),
    (newest("hamming"), "plain.ndh"), (newest("weights"), "weights.ndw"))],
    ids=lambda path: path.name)
def test_newer_files_are_refused_by_name(tmp_path, path, numbers, message):
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    readers()[path.suffix](copy)
    renumbered(copy, **numbers)
    with pytest.raises(nd.CorruptFile, match=f"{path.name}: {message}"):
        readers()[path.suffix](copy)


def test_newer_collections_and_newer_files_in_them_are_refused_by_name(tmp_path):
    shutil.copytree(newest("collection") / "finished", tmp_path / "c")
    description = tmp_path / "c" / "collection.json"
    text = description.read_text()
    description.write_text(json.dumps({"ndcore.collection": 9, "else": "what a newer version may hold"}))
    with pytest.raises(ValueError, match="c: a collection of format 9; this ndcore reads 1: upgrade ndcore"):
        nd.Collection.open(tmp_path / "c")
    with pytest.raises(ValueError, match="upgrade ndcore"):
        tool.build(tmp_path / "c")
    description.write_text(text)
    for name in ("clusters", "slabs"):
        file = tmp_path / "c" / f"{name}.ndc"
        renumbered(file, revision=1)
        with pytest.raises(nd.CorruptFile, match=f"{name}.ndc: 'collection/{name}' of revision 1, .*: upgrade ndcore"):
            nd.Collection.open(tmp_path / "c")
        renumbered(file)


# ---- each format


@each("sketches")
def test_sketches(path):
    expected = [[(int(value, 16), None) if isinstance(value, str) else (int(value[0], 16), value[1]) for value in values]
                for values in ANSWERS["sketches"][path.stem]]
    for how in ({}, {"mmap": True}, {"verify": False}):
        sketches = nd.load(path, **how)
        assert sketches.ids in (None, NAMES, [10 * i for i in range(len(NAMES))])
        assert sketches.valid.tolist() == [bool(text) and not (path.stem == "meta" and text == "Closed.")
                                           for text in TEXTS.values()]
        rows = np.asarray(sketches.values).reshape(len(NAMES), -1) if sketches.offsets is None else [
            sketches.values[begin:end] for begin, end in zip(sketches.offsets, sketches.offsets[1:], strict=False)]
        found = [row.tolist() if valid else [] for row, valid in zip(rows, sketches.valid, strict=True)]
        assert found == [[value for value, _ in row] for row in expected]
        if sketches.positions is not None:
            assert sketches.positions.tolist() == [position for row in expected for _, position in row]


@each("sketches")
def test_old_sketches_and_new_ones_compare(path):
    known = tool.SKETCHERS | tool.WINNOWERS | tool.SIGNERS
    if path.stem not in known:
        assert path.stem == "meta"
        return
    sketches, (sketcher, _) = nd.load(path), known[path.stem]
    again = sketcher.sketch_many(list(TEXTS.values()))
    assert sketches.recipe == again.recipe
    np.testing.assert_array_equal(sketches.values, again.values)
    np.testing.assert_array_equal(sketches.sizes, again.sizes)


@each("weights")
def test_weights(path):
    idf, expected = nd.Idf.load(path), ANSWERS["weights"]
    assert idf.documents == expected["documents"] == len(TEXTS)
    assert idf.fingerprints.tolist() == [int(value, 16) for value in expected["weights"]]
    assert (idf.weights(idf.fingerprints) * 65536).tolist() == list(expected["weights"].values())


@each("hamming")
def test_indexes(path):
    index = nd.HammingIndex.open(path)
    for asked in ANSWERS["hamming"][path.stem]:
        ids, distances = index.query(int(asked["fingerprint"], 16))
        found = sorted(zip(ids.tolist(), distances.tolist(), strict=True))
        assert found == sorted(map(tuple, asked["found"]))


@each("collection", "finished")
def test_collections(path):
    with_all = nd.Collection.open(path, verify=True)
    for one in (with_all, nd.Collection.open(path)):
        assert {name: one.cluster_of(name) for name in NAMES} == ANSWERS["collection"]["clusters"]
    for asked, expected in ANSWERS["collection"]["queries"].items():
        assert {match.id: match.resemblance for match in with_all.query(TEXTS[asked])} == expected


@each("collection", "finished")
def test_places_in_collections(tmp_path, path):
    assert ndcore_main(["clusters", str(path), "-o", str(tmp_path / "found.jsonl"), "-q"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text("utf-8").splitlines()]
    assert [(row["id"], row["file"], row["line"]) for row in rows] == [
        (name, "pages.jsonl", line) for line, name in enumerate(NAMES, 1)]


@each("collection", "unfinished")
def test_an_unfinished_collection_is_gone_on_with(tmp_path, path):
    shutil.copytree(path, tmp_path / "c")
    there = {file: file.stat().st_mtime_ns for file in (tmp_path / "c").rglob("*.ndc")}
    built = tool.build(tmp_path / "c")
    assert {name: built.cluster_of(name) for name in NAMES} == ANSWERS["collection"]["clusters"]
    kept = [file for file in there if file.exists()]
    assert len(kept) >= 5 and all(file.stat().st_mtime_ns == there[file] for file in kept)


@each("store")
def test_stores(tmp_path, path):
    shutil.copytree(path, tmp_path / "s")
    expected = ANSWERS["store"]
    for read_only in (False, True):
        with nd.Store.open(tmp_path / "s", read_only=read_only) as store:
            assert {members[0]: members for members in store.clusters()} == expected["clusters"]
            found = {name: store.peek(text) for name, text in TEXTS.items()}
            assert {name: [v.verdict, v.of, v.equal] for name, v in found.items()} == expected["peeks"]
            for name, versions in expected["history"].items():
                assert [[version.date / 1e6, version.change] for version in store.history(name)] == versions
                assert store.locate(name) == expected["located"][name]
            assert tool.GONE not in store
            if path.name == "text":
                assert store.text("ferry") == TEXTS["ferry, capitals"]
    with nd.Store.open(tmp_path / "s") as store:  # and it goes on
        assert store.decide("new", TEXTS["long"]).of == "long"
        assert store.check() == []


@pytest.mark.parametrize("numbers", [{"version": 2}, {"revision": 1000}])
def test_derived_files_of_another_version_are_made_again(tmp_path, numbers):
    shutil.copytree(newest("store") / "text", tmp_path / "s")
    with nd.Store.open(tmp_path / "s") as store:  # makes them
        store.decide("later", "a page that resembles none of the others at all", 20)
        expected = list(store.clusters())
    derived = [path for path in tmp_path.glob("s/derived-*/*") if path.read_bytes().startswith(MAGIC)]
    assert {path.suffix for path in derived} == {".ndc", ".index", ".postings"}
    for path in derived:
        renumbered(path, **numbers)
    with nd.Store.open(tmp_path / "s") as store:
        assert list(store.clusters()) == expected
        assert store.peek(TEXTS["museum"]).of == "museum, again" and store.check() == []


def restated(path: Path, **changes: Any) -> None:
    """Change fields of the description of a store and make its checksum right again."""
    body = {**json.loads(path.read_text()), **changes}
    body.pop("checksum")
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    path.write_text(json.dumps({**body, "checksum": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}, indent=1))


def test_newer_stores_and_newer_logs_are_refused_by_name(tmp_path):
    shutil.copytree(newest("store") / "text", tmp_path / "s")
    newer = int(newest("store").name.rpartition("-")[2]) + 1
    description = (tmp_path / "s" / "store.json").read_bytes()
    for name in ("store.json", "store.copy.json"):
        restated(tmp_path / "s" / name, **{"ndcore.store": newer})
    with pytest.raises(ValueError, match=f"s: a store of format {newer}; this ndcore reads .*: upgrade ndcore"):
        nd.Store.open(tmp_path / "s")
    for name in ("store.json", "store.copy.json"):
        (tmp_path / "s" / name).write_bytes(description)
    [log] = (tmp_path / "s").glob("log-*/00000000.log")
    data = bytearray(log.read_bytes())
    data[8:12] = newer.to_bytes(4, "little")
    data[28:32] = zlib.crc32(data[:28]).to_bytes(4, "little")
    log.write_bytes(data)
    with pytest.raises(ValueError, match=f"00000000.log: a log of format {newer}; this ndcore reads .*: upgrade ndcore"):
        nd.Store.open(tmp_path / "s")


def test_every_single_file_begins_with_the_magic():
    for suffix in ("nds", "ndh", "ndw", "ndc"):
        files = list(FIXTURES.rglob(f"*.{suffix}"))
        assert files and all(file.read_bytes().startswith(MAGIC) for file in files)
