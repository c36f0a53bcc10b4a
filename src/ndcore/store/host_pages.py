"""Find the pages of one host in a store, copy them to a separate store, and remove them, when the host moves elsewhere."""

from __future__ import annotations

import shutil
import tarfile
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from ndcore.store import versions
from ndcore.store.keys import host_of
from ndcore.store.manifest import Manifest, is_store
from ndcore.store.store import READ, Store

MOST_FILES = 100_000  # most files of a store in an archive


class HostScan:
    """A scan of the hosts of all pages of a store with scope="host"; later calls read only the pages added since.

    Parameters
    ----------
    store : Store
    see : callable
        Called with the number and the host of each live document, in order.
    begin : callable
        Called if a compaction has changed the numbers; then all documents are seen again.

    Notes
    -----
    A store has no index of hosts. A page takes about 20 μs.
    """

    def __init__(self, store: Store, see: Callable[[int, str], None], begin: Callable[[], None]) -> None:
        self._store, self._see, self._begin = store, see, begin
        self._state: object = None
        self._read = 0  # documents

    def read(self) -> None:
        """Read the documents added since the last call. Other threads can use the store meanwhile."""
        directory = self._store._directory
        while True:
            with directory.lock, directory.trusting():
                state = directory.state
                if state is not self._state:
                    self._state, self._read = state, 0
                    self._begin()
                end = min(self._read + READ, state.n)
                for number in range(self._read, end):
                    if number in state.live:
                        self._see(number, host_of(versions.key_of(state, number)))
                self._read = end
                if end == state.n:
                    return
            time.sleep(0.001)  # lets waiting pages be decided


class JoiningHosts:
    """The hosts with pages in a store that hash to a joining shard.

    Parameters
    ----------
    store : Store
    outweighs : callable
        Tells whether a host hashes to the joining shard.
    """

    def __init__(self, store: Store, outweighs: Callable[[str], bool]) -> None:
        self._outweighs = outweighs
        self._hosts: dict[str, bool] = {}
        self._scan = HostScan(store, self._see, self._hosts.clear)

    def _see(self, number: int, host: str) -> None:
        if host not in self._hosts:
            self._hosts[host] = self._outweighs(host)

    def find(self) -> list[str]:
        """Return the hosts. Documents that an earlier call has read are not read again."""
        self._scan.read()
        return [host for host, outweighs in self._hosts.items() if outweighs]


class HostPages:
    """The pages of a host in a store with scope="host". No other page is compared with them.

    Parameters
    ----------
    store : Store
    host : str
        The host, in the form of `host_of`.
    """

    def __init__(self, store: Store, host: str) -> None:
        self.store, self.host = store, host
        self._numbers: list[int] = []
        self._scan = HostScan(store, self._see, self._numbers.clear)

    def _see(self, number: int, host: str) -> None:
        if host == self.host:
            self._numbers.append(number)

    def find(self) -> list[int]:
        """Return the numbers of its live documents, in order. Documents that an earlier call has read are not read again."""
        self._scan.read()
        live = self.store._directory.state.live
        return [number for number in self._numbers if number in live]

    def copy(self, place: Path) -> int:
        """Copy the pages, with their versions, to a new store with the same settings, and return their number.

        place: a path that does not exist.
        """
        place.mkdir()
        settings = self.store.settings.as_dict()
        Manifest.create(place, settings, {"log": "log-0", "derived": "derived-0"})
        with Store.open(place) as copy:
            return copy._take(self.store, self.find())

    def forget(self) -> int:
        """Remove the pages, and return their number.

        The last pages are removed first, so that no representative is removed before its cluster.
        """
        numbers = self.find()
        for end in range(len(numbers), 0, -READ):
            with self.store._lock:
                self.store._remove(numbers[max(0, end - READ) : end], expired=False)
            time.sleep(0.001)  # lets waiting pages be decided
        self.store.flush()
        return len(numbers)


def take_host(pages: HostPages, archive: Path, place: Path) -> int:
    """Replace the pages of a host by the pages in an archive (see `pack`), and return their number.

    Parameters
    ----------
    pages : HostPages
        The pages of the host in the receiving store.
    archive : Path
    place : Path
        The directory for unpacking the archive, which must not exist.

    Raises
    ------
    ValueError
        The archive holds something else, or the settings differ; then nothing is kept.
    """
    unpack(archive, place)
    if not is_store(place):
        raise ValueError("the archive holds no store")
    with Store.open(place, read_only=True) as other:
        pages.store.settings.check_mergeable(other.settings)
        arrived = HostPages(other, pages.host).find()
        if len(arrived) < len(other):
            raise ValueError(f"{len(other) - len(arrived)} of the {len(other)} pages in the archive are not of the host "
                             f"{pages.host!r}")
        pages.forget()  # what an interrupted attempt left
        return pages.store._take(other, arrived)


def pack(place: Path, archive: Path) -> None:
    """Write the files of a closed store to a tar archive."""
    with tarfile.open(archive, "w") as packed:
        for path in sorted(place.rglob("*")):
            if path.is_file():
                packed.add(path, path.relative_to(place).as_posix())


def unpack(archive: Path, place: Path) -> None:
    """Write the files of an archive to a new directory. Raises ValueError unless all are files with plain names."""
    place.mkdir()
    try:
        with tarfile.open(archive, "r:") as packed:
            for number, member in enumerate(packed):
                name = PurePosixPath(member.name)
                plain = member.type == tarfile.REGTYPE and not member.issparse()
                if not plain or name.is_absolute() or ".." in name.parts or number >= MOST_FILES:
                    raise ValueError(f"the archive has {member.name!r:.80}, which is not a file of a store")
                content = packed.extractfile(member)
                assert content is not None
                target = place.joinpath(*name.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with content, target.open("xb") as made:
                    shutil.copyfileobj(content, made, 1 << 20)
    except (FileExistsError, NotADirectoryError) as error:
        raise ValueError(f"the archive has {member.name!r:.80}, which is there twice, or in the way of another file"
                         ) from error
    except tarfile.TarError as error:
        raise ValueError(f"the archive cannot be read: {error}") from error
