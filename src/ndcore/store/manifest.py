"""The description of a store in its directory: format version, tag, settings, and the state that compaction changes.

It is written twice, to ``store.json`` and ``store.copy.json``, because no other file has the settings. ``checksum`` is
BLAKE2b-128 of the other fields, as JSON with sorted keys and without blanks; this holds in all formats.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ndcore._types import AnyPath
from ndcore.storage.container import CorruptFile, replacing

DESCRIPTION, COPY = "store.json", "store.copy.json"
FORMAT = 1
MOST = 1 << 20  # most bytes of a description
_UNFINISHED = re.compile(r"\.store(\.copy)?\.json\.[0-9a-f]+(\.ndcore)?\.tmp")


@dataclass(frozen=True)
class Manifest:
    """The description of a store.

    Attributes
    ----------
    tag : bytes
        4 random bytes, with which every frame of the log begins.
    settings : dict
        The settings, fixed when the store is made: any values that JSON preserves.
    state : dict
        The part that may change: for example which directory holds the log.
    serial : int
        The number of writes; of two descriptions the later one is valid.
    """

    tag: bytes
    settings: dict[str, Any]
    state: dict[str, Any] = field(default_factory=dict)
    serial: int = 0

    @classmethod
    def create(cls, directory: AnyPath, settings: dict[str, Any], state: dict[str, Any] | None = None,
               tag: bytes | None = None) -> Manifest:
        """Write the description of a new store, with a random tag, to an existing directory."""
        made = cls(os.urandom(4) if tag is None else tag, settings, state or {})
        made._write(Path(directory))
        return made

    @classmethod
    def read(cls, directory: AnyPath) -> Manifest:
        """Read the description of a store: the later of the intact ones.

        Raises FileNotFoundError if there is no store, CorruptFile if both descriptions are damaged or belong to different
        stores, ValueError if the store has another format.
        """
        place, problems = Path(directory), list[CorruptFile]()
        sound = cls.all_in(place, problems)
        if not sound:
            if problems:
                raise problems[0]
            raise FileNotFoundError(2, f"holds no store: there is no {DESCRIPTION}", str(place))
        if len({each.tag for each in sound}) > 1:
            raise CorruptFile(f"{place}: {DESCRIPTION} and {COPY} describe different stores; remove the one that does not "
                              "belong here, or open it with repair=True (ndcore store repair), which asks the log")
        return max(sound, key=lambda each: each.serial)

    @classmethod
    def all_in(cls, directory: AnyPath, problems: list[CorruptFile] | None = None) -> list[Manifest]:
        """Read both descriptions of a store, and return the intact ones; append the errors of the others to `problems`."""
        sound: list[Manifest] = []
        for name in (DESCRIPTION, COPY):
            try:
                sound.append(_parse(Path(directory, name)))
            except FileNotFoundError:
                continue
            except CorruptFile as error:
                if problems is not None:
                    problems.append(error)
        return sound

    def with_state(self, directory: AnyPath, **state: Any) -> Manifest:
        """Write and sync the description with a new state, and return it."""
        made = replace(self, state={**self.state, **state}, serial=self.serial + 1)
        made._write(Path(directory))
        return made

    def mend(self, directory: AnyPath) -> None:
        """Rewrite a description that is missing, damaged or out of date, and delete unfinished ones. For writers."""
        for entry in Path(directory).iterdir():
            if _UNFINISHED.fullmatch(entry.name):
                entry.unlink(missing_ok=True)
        for name in (DESCRIPTION, COPY):
            with contextlib.suppress(OSError, CorruptFile):
                if _parse(Path(directory, name)) == self:
                    continue
            self._write_to(Path(directory, name))

    def _write(self, place: Path) -> None:
        for name in (DESCRIPTION, COPY):
            self._write_to(place / name)

    def _write_to(self, path: Path) -> None:
        body = {"ndcore.store": FORMAT, "tag": self.tag.hex(), "serial": self.serial, "settings": self.settings,
                "state": self.state}
        text = json.dumps({**body, "checksum": _checksum(body)}, indent=1) + "\n"
        with replacing(path, durable=True, need=len(text)) as file:
            file.write(text.encode("ascii"))


def is_store(path: AnyPath) -> bool:
    """Tell whether a directory holds a store, of any format."""
    for name in (DESCRIPTION, COPY):
        with contextlib.suppress(OSError), Path(path, name).open("rb") as file:
            if begins_store(file.read(64)):
                return True
    return False


def is_begun(path: AnyPath) -> bool:
    """Tell whether a directory is empty, or holds only the remains of an interrupted creation of a store."""
    return all(entry.name == "lock" or _UNFINISHED.fullmatch(entry.name) for entry in Path(path).iterdir())


def begins_store(head: bytes) -> bool:
    """Tell whether a file that begins with these bytes is the description of a store."""
    return b'"ndcore.store"' in head[:64]


def _checksum(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _parse(path: Path) -> Manifest:
    """Read one description. Raises CorruptFile if it is damaged, ValueError if it has another format."""
    with path.open("rb") as file:
        text = file.read(MOST + 1)
    try:
        if len(text) > MOST:
            raise ValueError(f"it has more than {MOST} bytes")
        description = json.loads(text.decode("ascii"))
        version, same = description["ndcore.store"], description.pop("checksum") == _checksum(description)
        if version == FORMAT and same:
            return Manifest(bytes.fromhex(description["tag"]), dict(description["settings"]), dict(description["state"]),
                            int(description["serial"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFile(f"{path}: not the description of a store: {error}") from None
    if not same:
        raise CorruptFile(f"{path}: its checksum is wrong")
    raise ValueError(f"{path.parent}: a store of format {version!r:.40}; this ndcore reads {FORMAT}: upgrade ndcore")
