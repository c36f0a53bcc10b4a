"""Manifests: one process makes a version, and what is damaged, forged or elsewhere is refused."""

from __future__ import annotations

import json
import threading

import pytest

from ndcore.spark.manifest import CollectionManifest, Commit, Conflict, Segment, Versions
from ndcore.storage.container import CorruptFile

TABLE = "0123456789abcdef-documents"


@pytest.fixture
def versions(tmp_path):
    """Versions 0 and 1."""
    made = Versions(tmp_path / "all")
    before = made.begin({"text": "body", "threshold": 0.1})
    made.table(TABLE).mkdir()
    made.commit(before, Commit("add", "crawl", 7, None), key="struct<id:string>", following=7,
                segments=(Segment(TABLE, 0, 7, 1),))
    return made


def test_versions_follow_each_other(versions):
    latest = versions.latest()
    assert (latest.version, latest.key, latest.following) == (1, "struct<id:string>", 7)
    assert latest.settings == {"text": "body", "threshold": 0.1}
    assert latest.names(TABLE[:16]) and not latest.names("f" * 16)
    assert latest.commit_of("crawl") == 1 and latest.commit_of("other") is latest.commit_of(None) is None
    after = versions.commit(latest, Commit("add", 1, 0, None))
    assert versions.latest() == after and after.commit_of(1) == 2
    assert after.commit_of("1") is after.commit_of(True) is None
    assert sorted(path.name for path in (versions.path / "versions").iterdir()) == [f"{i:012}.json" for i in range(3)]


def test_one_of_many_makes_a_version(versions):
    before, won, lost = versions.latest(), [], []

    def make(batch: int) -> None:
        try:
            won.append(versions.commit(before, Commit("add", batch, 0, None)))
        except Conflict as error:
            lost.append(str(error))

    threads = [threading.Thread(target=make, args=[batch]) for batch in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and len(lost) == 7 and versions.latest() == won[0]
    assert "another process made version 2 meanwhile; nothing of this change is in the collection" in lost[0]
    assert len(list((versions.path / "versions").iterdir())) == 3


def test_a_place_that_is_taken_or_empty(versions, tmp_path):
    with pytest.raises(FileExistsError, match="exists and is not empty"):
        Versions(versions.path).begin({})
    for path in (tmp_path, tmp_path / "none", versions.path / "versions" / "000000000000.json"):
        with pytest.raises(FileNotFoundError, match="holds no collection"):
            Versions(path).latest()


def test_every_truncation_and_every_changed_byte_is_refused(versions):
    """Of the newest manifest, and of the one before it."""
    for number in (0, 1):
        file = versions.path / "versions" / f"{number:012}.json"
        whole = file.read_bytes()
        damaged = [whole[:length] for length in range(len(whole))]
        damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
        for data in damaged:
            file.write_bytes(data)
            with pytest.raises(CorruptFile, match=r"000000000001|000000000000"):
                versions.latest()
        file.write_bytes(whole)
        assert versions.latest().version == 1


def forged(manifest: CollectionManifest, **changes: object) -> bytes:
    """Return the file of a manifest with other fields, whose digest is right."""
    from ndcore.spark import manifest as module

    fields = json.loads(manifest.encoded())
    outer = {name: fields.pop(name) for name in ("ndcore.spark.collection", "version", "digest")}
    outer.update({name: changes.pop(name) for name in list(changes) if name in outer})
    fields.update(changes)
    return json.dumps({**outer, "digest": module._digest(fields), **fields}).encode()


@pytest.mark.parametrize(("changes", "message"), [
    ({"segments": [{"table": "../etc", "first": 0, "documents": 7, "commit": 1}]}, "'../etc' is not a name of a table"),
    ({"segments": [{"table": "/etc", "first": 0, "documents": 7, "commit": 1}]}, "'/etc' is not a name of a table"),
    ({"changed": ["../versions"]}, "is not a name of a table"),
    ({"changed": "../versions"}, "'../versions' is not a list of tables"),
    ({"changed": [None]}, r"\[None\] is not a list of tables"),
    ({"changed": ["f" * 16 + "-changed"]}, "there is no table"),
    ({"commits": [{"kind": "add", "batch": 1, "documents": 7, "changes": ".."}]}, "is not a name of a table"),
    ({"segments": [{"table": "f" * 16 + "-documents", "first": 0, "documents": 7, "commit": 1}]}, "there is no table"),
    ({"segments": [{"table": TABLE, "first": 0, "documents": 7, "commit": 1}] * 2}, "overlaps another one"),
    ({"segments": [{"table": TABLE, "first": 0.5, "documents": 7, "commit": 1}]}, "are not three integers"),
    ({"segments": [{"table": TABLE, "first": 0, "documents": 7, "commit": 2}]}, "or was not added"),
    ({"segments": [{"table": TABLE}]}, "not the manifest of version 1"),
    ({"following": 3}, "ranks of documents to come are taken"),
    ({"commits": []}, "its commits are not as many as its version says"),
    ({"previous": "0" * 32}, "it does not follow version 0"),
    ({"version": 2}, "it is of another version than 1"),
    ({"ndcore.spark.collection": 3}, "it is of format 3, and this ndcore reads 1 and 2"),
    ({"ndcore.spark.collection": 1, "changed": "../versions"}, "is not a name of a table"),
    ({"speed": 1}, "not the manifest of version 1"),
])
def test_a_forged_manifest_is_refused(versions, changes, message):
    """Though its digest is right: files outside of the collection are never named."""
    file = versions.path / "versions" / "000000000001.json"
    file.write_bytes(forged(versions.latest(), **changes))
    with pytest.raises(CorruptFile, match=message):
        versions.latest()


def test_links_and_missing_versions_are_refused(versions, tmp_path):
    folder = versions.path / "versions"
    (folder / "000000000000.json").rename(tmp_path / "elsewhere")
    with pytest.raises(CorruptFile, match="not the manifest of version 0"):
        versions.latest()
    (folder / "000000000000.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CorruptFile, match="it is a link"):
        versions.latest()
    (folder / "000000000000.json").unlink()
    (tmp_path / "elsewhere").rename(folder / "000000000000.json")
    versions.table(TABLE).rename(tmp_path / "table")
    versions.table(TABLE).symlink_to(tmp_path / "table")
    with pytest.raises(CorruptFile, match="there is no table"):
        versions.latest()
