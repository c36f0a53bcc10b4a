"""The manifests of a collection that grows: a file for each version, which names the tables that the version is made of.

``versions/000000000007.json`` is version 7. It is written under another name, and gets its own by a link, which fails if
the name is taken: so of two processes that make version 7 only one succeeds, and nobody ever reads a partial manifest.
Manifests and tables never change afterwards. The directory, in which the 16 are hexadecimal digits of a random number, has:

======================== =========================================================================================
name                     content
======================== =========================================================================================
versions/%012d.json      the manifest of a version, from 0 on
tables/<16>-documents    Parquet of one `add`: rank bigint, key struct, file string, row bigint, valid boolean,
                         bytes and deciding binary(16), scope binary(16) or not there, features
                         binary(8 · groups), size bigint, bitmap binary, added bigint
tables/<16>-texts        the copied texts of one `add`: key, against (false), text, scope or not; row groups of
                         256 KB
tables/<16>-changed      rank, removed boolean and the decision: version_of bigint, leader bigint, how string, label
                         bigint, resemblance double; of documents that are removed, or do not represent themselves. The
                         tables of a version have each rank once
tables/<16>-changes      the verdicts that a change changed: columns of the key, added, representative, class,
                         resemblance, before
steps/<16>               steps of a job that runs
======================== =========================================================================================

``bytes`` and ``deciding`` are digests (DESIGN.md §3). ``features`` are the 64-bit features of the groups, in their order,
and ``bitmap`` the words of the bitmap of the set (``bitmaps.h``) under ``bitmap_key``, both little-endian. ``file`` is a URI
as Spark gives it, or ``tables/NAME/FILE`` in the collection itself, and nothing else. ``leader`` is the rank of the leader,
its own for a leader; leaders alone have ``label``, the rank of the representative, and ``resemblance``. ``how`` is
identical, lexical or version, and null for leaders. Other documents lead and represent themselves. In format 1, which is
read too, documents have their decisions in the columns after ``added``, which hold where no row of ``changed`` replaces
them, and ``changed`` is a table or null.

A manifest is a JSON object: ``ndcore.spark.collection``, the number of the format, 2; ``version``, that in its name;
``digest``, BLAKE2b-128 of the other fields but these three, as ``json.dumps(…, sort_keys=True, separators=(",", ":"))``;
``settings`` of `create`, with ``bitmap_key`` in hexadecimal and ``sketches``, a recipe; ``key``, the type of keys, as Spark
spells it; ``following``, the next rank; ``segments`` (``table``, ``first`` rank, ``documents``, ``commit``: the version
that added it), whose ranks ascend; ``changed``, a list of tables; ``commits`` (``kind``, ``batch``, ``documents``,
``changes``), of which the n-th made version n; ``previous``, BLAKE2b-128 of the file before. Names of tables are 16
hexadecimal digits, a hyphen and letters, so no manifest names a file outside. A truncated file, a digest that differs, a
version that is not the one in its name or does not follow the version before, a link, and a table that is missing are
refused as damage.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import naming, sync, sync_tree

BatchId: TypeAlias = str | int

KIND, FORMAT = "ndcore.spark.collection", 2
VERSIONS, TABLES = "versions", "tables"
LARGEST = 64 << 20  # most bytes of a manifest
_NAME = re.compile(r"([0-9]{12})\.json")
_TABLE = re.compile(r"[0-9a-f]{16}-[a-z]+")


class Conflict(RuntimeError):
    """Another process changed the collection meanwhile; nothing of this change is in it."""


@dataclass(frozen=True)
class Segment:
    """The documents of one `add`.

    Attributes
    ----------
    table : str
        The name of their table.
    first, documents : int
        The rank of the first document, and their number; ranks are consecutive.
    commit : int
        The version that added them.
    """

    table: str
    first: int
    documents: int
    commit: int


@dataclass(frozen=True)
class Commit:
    """The change that made a version.

    Attributes
    ----------
    kind : str
        "add", "remove" or "expire".
    batch : str, int or None
    documents : int
        The number of documents added or removed.
    changes : str or None
        The table of the changed verdicts.
    """

    kind: str
    batch: BatchId | None
    documents: int
    changes: str | None


@dataclass(frozen=True)
class CollectionManifest:
    """One version of a collection.

    Attributes
    ----------
    settings : dict
        The arguments of `GrowingCollection.create`.
    key : str or None
        The type of keys, as Spark spells it; None before the first document.
    following : int
        The rank of the next document.
    segments : tuple of Segment
    changed : tuple of str
        The tables of decisions, which replace what the tables of segments say.
    commits : tuple of Commit
        The changes that made the versions from 1 on.
    previous : str
        The digest of the manifest before.
    """

    settings: dict[str, Any]
    key: str | None = None
    following: int = 0
    segments: tuple[Segment, ...] = ()
    changed: tuple[str, ...] = ()
    commits: tuple[Commit, ...] = ()
    previous: str = ""

    @property
    def version(self) -> int:
        """The number of commits that led to this version."""
        return len(self.commits)

    def commit_of(self, batch: BatchId | None) -> int | None:
        """Find the version that a batch made; None if there is none."""
        found = [i for i, commit in enumerate(self.commits, 1) if batch is not None and _same(commit.batch, batch)]
        return found[0] if found else None

    def names(self, prefix: str) -> bool:
        """Tell whether a table whose name begins with this prefix belongs to it."""
        return any(table is not None and table.startswith(prefix) for table in self._tables())

    def _tables(self) -> list[str | None]:
        """List the names of its tables; None for a missing one."""
        return [*(segment.table for segment in self.segments), *self.changed, *(commit.changes for commit in self.commits)]

    def encoded(self) -> bytes:
        """Encode this version as the bytes of its file."""
        fields = asdict(self)
        return json.dumps({KIND: FORMAT, "version": self.version, "digest": _digest(fields), **fields}, indent=1).encode()

    @classmethod
    def decoded(cls, data: bytes, version: int) -> CollectionManifest:
        """Decode the file of a version. Raises ValueError, KeyError or TypeError if it is damaged or forged."""
        fields = json.loads(data)
        if not isinstance(fields, dict) or KIND not in fields:
            raise ValueError(f"it has no {KIND!r}")
        number = fields.pop(KIND)
        if number not in (1, FORMAT):
            raise ValueError(f"it is of format {number!r:.80}, and this ndcore reads 1 and {FORMAT}")
        if fields.pop("version") != version:
            raise ValueError(f"it is of another version than {version}, which its name says")
        digest = fields.pop("digest")
        if digest != _digest(fields):
            raise ValueError("its digest differs")
        segments = tuple(Segment(**segment) for segment in fields.pop("segments"))
        commits = tuple(Commit(**commit) for commit in fields.pop("commits"))
        changed = fields.pop("changed")
        if number == 1:
            changed = [] if changed is None else [changed]
        if not isinstance(changed, list) or None in changed:
            raise ValueError(f"{changed!r:.80} is not a list of tables")
        manifest = cls(**fields, segments=segments, commits=commits, changed=tuple(changed))
        manifest._check(version)
        return manifest

    def _check(self, version: int) -> None:
        """Raise ValueError if fields do not fit each other."""
        for table in self._tables():
            if table is not None and not (isinstance(table, str) and _TABLE.fullmatch(table)):
                raise ValueError(f"{table!r:.80} is not a name of a table")
        if len(self.commits) != version or not isinstance(self.settings, dict):
            raise ValueError("its commits are not as many as its version says")
        end = 0
        for segment in self.segments:
            numbers = (segment.first, segment.documents, segment.commit)
            if not all(type(number) is int for number in numbers):
                raise ValueError(f"{numbers} of a segment are not three integers")
            if segment.first < end or segment.documents < 0 or not 0 < segment.commit <= version:
                raise ValueError(f"the segment {segment.table} overlaps another one, or was not added")
            end = segment.first + segment.documents
        if type(self.following) is not int or self.following < end:
            raise ValueError("ranks of documents to come are taken")


class Versions:
    """The versions of a collection, in a directory of a file system that this process reaches.

    Parameters
    ----------
    path : Path
        The directory of the collection.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def table(self, name: str) -> Path:
        """Return the directory of a table."""
        return self.path / TABLES / name

    def begin(self, settings: Mapping[str, Any]) -> CollectionManifest:
        """Make the directory and version 0. Raises FileExistsError if something is there."""
        with naming(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            if any(self.path.iterdir()):
                raise FileExistsError(17, "exists and is not empty", str(self.path))
            for name in (TABLES, VERSIONS):
                (self.path / name).mkdir()
        manifest = CollectionManifest(dict(settings))
        self._create(manifest)
        return manifest

    def latest(self) -> CollectionManifest:
        """Read the newest version.

        Raises
        ------
        FileNotFoundError
            There is no collection.
        CorruptFile
            A manifest is damaged or missing, or names something other than a table of the collection.
        """
        try:
            names = [entry.name for entry in (self.path / VERSIONS).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            names = []
        numbers = [int(match[1]) for name in names if (match := _NAME.fullmatch(name))]
        if not numbers:
            raise FileNotFoundError(2, "holds no collection: there is no manifest in versions", str(self.path))
        newest = max(numbers)
        manifest, _ = self._read(newest)
        if newest and self._read(newest - 1)[1] != manifest.previous:
            raise CorruptFile(f"{self._file(newest)}: it does not follow version {newest - 1}")
        for name in (*(segment.table for segment in manifest.segments), *manifest.changed):
            if not self.table(name).is_dir() or self.table(name).is_symlink():
                raise CorruptFile(f"{self._file(newest)}: there is no table {self.table(name)}")
        return manifest

    def commit(self, before: CollectionManifest, commit: Commit, **fields: Any) -> CollectionManifest:
        """Make the version after `before`. Raises Conflict if another process made it."""
        sync_tree(self.path)
        previous = self._read(before.version)[1]
        manifest = replace(before, commits=(*before.commits, commit), previous=previous, **fields)
        try:
            self._create(manifest)
        except FileExistsError:
            raise Conflict(f"{self.path}: another process made version {manifest.version} meanwhile; nothing of this change "
                           "is in the collection: try again") from None
        return manifest

    def _file(self, version: int) -> Path:
        """Return the path of a manifest."""
        return self.path / VERSIONS / f"{version:012}.json"

    def _read(self, version: int) -> tuple[CollectionManifest, str]:
        """Read a version; return it, and the digest of its file."""
        place = self._file(version)
        try:
            if place.is_symlink():
                raise ValueError("it is a link")
            with place.open("rb") as file:
                data = file.read(LARGEST + 1)
            if len(data) > LARGEST:
                raise ValueError(f"it has more than {LARGEST} bytes")
            return CollectionManifest.decoded(data, version), hashlib.blake2b(data, digest_size=16).hexdigest()
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptFile(f"{place}: not the manifest of version {version}: {error}") from error

    def _create(self, manifest: CollectionManifest) -> None:
        """Write a new version. Raises FileExistsError if it exists."""
        place = self._file(manifest.version)
        new = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
        with naming(place, inside=new):
            try:
                new.write_bytes(manifest.encoded())
                sync(new)
                os.link(new, place)
            finally:
                new.unlink(missing_ok=True)
            sync(place.parent)


def _digest(fields: Mapping[str, Any]) -> str:
    """Digest the fields of a manifest."""
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


def _same(a: BatchId | None, b: BatchId) -> bool:
    """Tell whether two ids of batches are the same; 1 and "1" are not."""
    return type(a) is type(b) and a == b
