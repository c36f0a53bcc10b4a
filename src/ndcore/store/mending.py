"""Indexes that are made again when a damaged part of one is found, which may be long after they were opened.

An index is a part of what the log says, and blocks of it are verified when they are first read. Where one is damaged, the
call waits until the index is made again from all live documents, which reads their records, and is then answered.
"""

from __future__ import annotations

from functools import partial

from ndcore.storage.container import CorruptFile
from ndcore.store.index import Index
from ndcore.store.levels import Bitmap
from ndcore.store.records import LEADER, VALID, VARIANT
from ndcore.store.state import State

__all__ = ["watch"]


def watch(state: State, problems: list[str]) -> None:
    """Let the indexes of a state be made again where they turn out to be damaged. problems: what was damaged is added."""
    for index in state.indexes:
        index.mend = partial(_add_all, state, problems)


def _add_all(state: State, problems: list[str], index: Index, error: CorruptFile) -> Bitmap:
    """Add all live documents to an index of a state that is empty because of an error; return a bitmap of them."""
    problems.append(f"made again: {error}")
    at, state._at = state._at, -1
    try:
        for number in state.live.numbers().tolist():
            try:
                _add(state, index, number)
            except CorruptFile as damage:
                problems.append(str(damage))
    finally:
        state._at = at
    return state.live.bits


def _add(state: State, index: Index, number: int) -> None:
    """Add what an index should say of a document."""
    record, role = state.document(number), state.role(number)
    if index is state.indexes.keys:
        state._put(index, number, [state.preparer.hashed(record.name)])
    elif index is state.indexes.digests:
        before, record.flags = record.flags, record.flags & ~(LEADER | VARIANT) | role
        state._index_role(record, state.scope(record))
        record.flags = before
    elif role & LEADER and record.flags & VALID:
        state._put_features(number, None)
