"""Indexes that are made again when a damaged part of one is found, which may be long after they were opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from ndcore._types import Ints, UInts
from ndcore.storage.container import CorruptFile
from ndcore.store.records import LEADER, VALID, VARIANT
from ndcore.store.state import Searched, State

__all__ = ["MendedIndex", "watch"]

Name = Literal["features", "digests", "keys"]
Value = TypeVar("Value")


def watch(state: State, created: Callable[[str], Searched], problems: list[str]) -> None:
    """Let the indexes of a state be made again where they turn out to be damaged.

    created: makes an empty index of a name in place of an old one; problems: what was damaged is added to it.
    """
    names: tuple[Name, ...] = ("features", "digests", "keys")
    for name in names:
        index = MendedIndex(name, getattr(state.indexes, name), state, created, problems)
        setattr(state.indexes, name, cast(Any, index))


class MendedIndex:
    """An index and what it can be made of: the methods of `Index` that a state uses.

    An index is a part of what the log says, and blocks of it are verified when they are first read. Where one is damaged,
    the call waits until the index is made again from all live documents, which reads their records, and is then answered.
    """

    def __init__(self, name: Name, index: Searched, state: State, created: Callable[[str], Searched], problems: list[str]
                 ) -> None:
        self._name, self._index, self._state, self._created, self._problems = name, index, state, created, problems

    @property
    def covered(self) -> int:
        """As `Index.covered`."""
        return self._index.covered

    def add(self, documents: Ints, values: UInts, covered: int | None = None) -> None:
        """Add documents, as `Index.add`."""
        try:
            self._index.add(documents, values, covered)
        except CorruptFile as error:  # found by a merge in the background
            self._make_again(error)
            missing = [i for i, number in enumerate(documents.tolist()) if number not in self._state.live]
            self._index.add(documents[missing], values[missing], covered)

    def search(self, values: UInts, need: int = 1, wanted: Any = None) -> Ints:
        """Find documents, as `Index.search`."""
        return self._tried(lambda: self._index.search(values, need, wanted))

    def search_many(self, values: UInts, need: int = 1, wanted: Any = None, threads: int | None = None
                    ) -> tuple[Ints, Ints]:
        """Find the documents of many rows, as `Index.search_many`."""
        return self._tried(lambda: self._index.search_many(values, need, wanted, threads))

    def check(self) -> list[str]:
        """Return what is wrong with the files, as `Index.check`, after which the index is made again."""
        problems = self._index.check()
        if problems:
            self._make_again(CorruptFile(problems[0]))
        return problems

    def flush(self) -> None:
        """Put everything on disk, as `Index.flush`."""
        self._tried(lambda: self._index.flush())

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def _tried(self, call: Callable[[], Value]) -> Value:
        """Return what a call of the index returns; where a file is damaged, call the new index."""
        try:
            return call()
        except CorruptFile as error:
            self._make_again(error)
            return call()

    def _make_again(self, error: CorruptFile) -> None:
        """Replace the index by one that is made of all live documents."""
        self._problems.append(f"made again: {error}")
        self._index.close()
        self._index = self._created(self._name)
        state, at = self._state, self._state._at
        state._at = -1
        try:
            for number in state.live.numbers().tolist():
                try:
                    self._add_again(number)
                except CorruptFile as error:
                    self._problems.append(str(error))
        finally:
            state._at = at

    def _add_again(self, number: int) -> None:
        """Add what the index should say of a document."""
        state = self._state
        record, role = state.document(number), state.role(number)
        if self._name == "keys":
            state._put(state.indexes.keys, number, [state.preparer.hashed(record.name)])
        elif self._name == "digests":
            before, record.flags = record.flags, record.flags & ~(LEADER | VARIANT) | role
            state._index_role(record, state.scope(record))
            record.flags = before
        elif role & LEADER and record.flags & VALID:
            state._put_features(number, None)
