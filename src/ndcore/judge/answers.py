"""The log of a session: draws with their probabilities, answers, undone answers, and labels from elsewhere.

Each line is a JSON object, which is appended and synced to disk before the next pair is shown. Lines never change: an
undone answer stays, and a further line undoes it.
"""

from __future__ import annotations

import csv
import datetime
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ndcore._types import AnyPath

LABELS = ("same", "different", "skip")
MOST_NOTE = 10_000  # characters of a note


@dataclass
class Answered:
    """A draw for a person, and the answer, if there is one.

    Attributes
    ----------
    pair : (int, int)
        Positions of the two documents.
    probability : float
        The probability of the draw, among the pairs not drawn before.
    shared : bool
        Whether every person gets this pair.
    """

    number: int
    person: str
    pair: tuple[int, int]
    probability: float
    shared: bool
    label: str | None = None
    note: str = ""


class AnswerState:
    """The state after the lines of a log so far."""

    def __init__(self) -> None:
        self.header: dict[str, Any] | None = None
        self.draws: list[Answered] = []
        self.labels: dict[tuple[int, int], bool] = {}
        self._order: list[int] = []  # draw numbers in the order of their answers

    def open_draw(self, person: str) -> Answered | None:
        """Return the draw that awaits an answer from a person."""
        return next((draw for draw in self.draws if draw.person == person and draw.label is None), None)

    def last_answer(self, person: str) -> Answered | None:
        """Return the draw that a person answered last."""
        return next((self.draws[i] for i in reversed(self._order) if self.draws[i].person == person), None)

    def apply(self, event: Mapping[str, Any]) -> None:
        """Apply a line. Raises KeyError, TypeError, ValueError or OverflowError if it does not fit the earlier lines."""
        kind = event["kind"]
        if kind == "pool":
            if self.header is not None:
                raise ValueError("a second description of the pool")
            self.header = dict(event)
        elif self.header is None:
            raise ValueError("no description of the pool before it")
        elif kind == "draw":
            self._draw(event)
        elif kind == "answer":
            draw = self._find_draw(event)
            if draw.label is not None or event["label"] not in LABELS:
                raise ValueError(f"an answer {event['label']!r:.40} to draw {draw.number}, which has {draw.label!r}")
            draw.label, draw.note = event["label"], str(event.get("note", ""))
            self._order.append(draw.number)
        elif kind == "undo":
            draw = self._find_draw(event)
            if draw.label is None:
                raise ValueError(f"draw {draw.number} has no answer to undo")
            draw.label, draw.note = None, ""
            self._order.remove(draw.number)
        elif kind == "label":
            a, b = (int(position) for position in event["pair"])
            self.labels[min(a, b), max(a, b)] = event["label"] == "same"
        else:
            raise ValueError(f"a line of the kind {kind!r:.40}")

    def _draw(self, event: Mapping[str, Any]) -> None:
        a, b = (int(position) for position in event["pair"])
        chance = float(event["probability"])
        if event["number"] != len(self.draws) or not 0 < chance <= 1 + 1e-9:
            raise ValueError(f"draw {event['number']!r:.20} with the probability {chance!r} after {len(self.draws)} draws")
        self.draws.append(Answered(len(self.draws), str(event["person"]), (a, b), chance, bool(event["shared"])))

    def _find_draw(self, event: Mapping[str, Any]) -> Answered:
        number = event["number"]
        if type(number) is not int or not 0 <= number < len(self.draws):
            raise ValueError(f"draw {number!r:.20}, which was never made")
        return self.draws[number]


class AnswerLog:
    """The log of a session: a file, or memory if `path` is None.

    Raises
    ------
    ValueError
        A line does not come from a session; the message names the line. Only an incomplete last line, left by a killed
        process, is dropped: its answer had not been confirmed.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self.state = path, AnswerState()
        self.torn = 0  # bytes of an incomplete last line
        self._file = None
        if path is not None:
            if path.exists():
                self._read(path)
            self._file = path.open("ab", buffering=0)

    def _read(self, path: Path) -> None:
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        self.torn = len(data) - whole
        for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
            try:
                self.state.apply(json.loads(line))
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
                raise ValueError(f"{path}, line {number} is not of a session: {error!s:.200}") from error
        if self.torn:
            with path.open("r+b") as file:
                file.truncate(whole)

    def add(self, event: dict[str, Any]) -> None:
        """Append a line, sync it, then apply it."""
        event = {**event, "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}
        line = json.dumps(event, ensure_ascii=True, allow_nan=False).encode() + b"\n"
        if self._file is not None:
            self._file.write(line)
            os.fsync(self._file.fileno())
        self.state.apply(event)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def read_labels(path: AnyPath, positions: Mapping[str, Sequence[int]]) -> Iterator[tuple[int, int, bool]]:
    """Read labels of pairs from a CSV file: id, id, and "same" or "different" (or 1 or 0), with or without a header.

    Parameters
    ----------
    path : path
    positions : mapping
        Positions of the documents by their ids.

    Raises
    ------
    ValueError
        The file is not CSV in UTF-8, a row has other columns or another label, or an id is unknown or names several
        documents.
    """
    meanings = {"same": True, "1": True, "different": False, "0": False}
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(_read_rows(path, file), 1):
            if not row:
                continue
            where = f"{os.fspath(path)}, row {number}"
            if len(row) != 3:
                raise ValueError(f"{where} has {len(row)} columns; the columns are id, id, label")
            label = row[2].strip().lower()
            if number == 1 and label == "label":
                continue
            if label not in meanings:
                raise ValueError(f"{where}: the label is {row[2]!r:.80}; it is same or different, or 1 or 0")
            pair = []
            for name in row[:2]:
                if len(positions.get(name, ())) != 1:
                    known = "several documents have" if name in positions else "no document has"
                    raise ValueError(f"{where}: {known} the id {name!r:.80}")
                pair.append(positions[name][0])
            if pair[0] == pair[1]:
                raise ValueError(f"{where} compares {row[0]!r:.80} with itself")
            yield min(pair), max(pair), meanings[label]


def _read_rows(path: AnyPath, file: TextIO) -> Iterator[list[str]]:
    """Yield the rows of a CSV file. ValueError where it is none."""
    try:
        yield from csv.reader(file)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{os.fspath(path)} is not CSV in UTF-8: {error}") from error
