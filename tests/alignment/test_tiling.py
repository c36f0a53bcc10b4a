"""Equal runs of two sequences: literals, properties, and the work that hostile sequences take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.alignment import tiling
from ndcore.alignment.tiling import TilePiece, tile


def runs(a: list[int], b: list[int]) -> tuple[list[TilePiece], list[TilePiece]]:
    shared = set(a) & set(b) - {-1}
    return tile(*(np.array([x if x in shared else -1 for x in sequence], np.int64) for sequence in (a, b)))


def check_tiles(a: list[int], b: list[int]) -> None:
    found = runs(a, b)
    tiles: dict[int, list[list[int]]] = {}
    for sequence, pieces, other in ((a, found[0], b), (b, found[1], a)):
        covered = [i for piece in pieces for i in range(piece.start, piece.end)]
        assert covered == [i for i, x in enumerate(sequence) if x in other]
        for piece in pieces:
            if not piece.repeat:
                tiles.setdefault(piece.number, []).append(sequence[piece.start : piece.end])
    assert sorted(tiles) == list(range(len(tiles)))
    assert all(len(both) == 2 and both[0] == both[1] for both in tiles.values())
    for sequence, pieces in ((a, found[0]), (b, found[1])):
        parts = [(sequence[p.start : p.end], tiles[p.number][0]) for p in pieces if p.repeat]
        assert all(any(whole[i : i + len(part)] == part for i in range(len(whole))) for part, whole in parts)


@given(st.lists(st.integers(0, 3), max_size=25), st.lists(st.integers(0, 3), max_size=25))
def test_tiles_of_few_elements(a: list[int], b: list[int]) -> None:
    check_tiles(a, b)


@given(st.permutations(range(12)), st.lists(st.integers(0, 15), max_size=25))
def test_tiles_of_many_elements(a: list[int], b: list[int]) -> None:
    check_tiles(a, b)


def test_tiles_by_hand() -> None:
    assert runs([], [1]) == ([], [])
    assert runs([1, 2, 3, 4, 5], [4, 5, 1, 2, 3]) == (
        [TilePiece(0, 3, 0, False), TilePiece(3, 5, 1, False)], [TilePiece(0, 2, 1, False), TilePiece(2, 5, 0, False)],
    )
    one = TilePiece(0, 1, 0, False)
    assert runs([7, 7, 7], [7]) == ([one, TilePiece(1, 2, 0, True), TilePiece(2, 3, 0, True)], [one])
    inside = runs([1, 2, 9, 3, 4, 5, 9], [1, 2, 9, 3, 4, 6, 2, 9, 3])  # the lone 9 does not cut the repeat of 2 9 3
    assert inside == (
        [TilePiece(0, 5, 0, False), TilePiece(6, 7, 0, True)], [TilePiece(0, 5, 0, False), TilePiece(6, 9, 0, True)],
    )
    context = runs([1, 9, 9, 2, 9, 9], [2, 9, 9, 1, 9, 9])  # what repeats goes with what precedes it
    assert context == (
        [TilePiece(0, 3, 0, False), TilePiece(3, 6, 1, False)], [TilePiece(0, 3, 1, False), TilePiece(3, 6, 0, False)],
    )


@pytest.mark.parametrize("width", [1, 5])
def test_hostile_texts_take_linear_work(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    # Comparisons of elements, counted: the same for each token of a text twice as long.
    def work(a: str, b: str) -> float:
        compared = 0

        class Counted(list):  # type: ignore[type-arg]
            def __getitem__(self, at: Any) -> Any:
                nonlocal compared
                compared += 1
                return list.__getitem__(self, at)

        before = tiling._Tiling.__init__

        def counted(self: Any, *arrays: Any) -> None:
            before(self, *arrays)
            self.lists = Counted(self.lists[0]), Counted(self.lists[1])

        monkeypatch.setattr(tiling._Tiling, "__init__", counted)
        nd.passages(a, b, nd.Shingling(width=width))
        monkeypatch.undo()
        return compared / (len(a) + len(b))

    def made(n: int) -> list[tuple[str, str]]:
        bits = np.random.default_rng(1).integers(0, 2, 2 * n)
        noise = ["".join("ab"[bit] + " " for bit in half.tolist()) for half in np.split(bits, 2)]
        return [
            ("a " * n, "a " * n), ("a " * n, "a " * (n // 2) + "b " + "a " * n), ("a b " * n, "b a " * n),
            (noise[0], noise[1]), ("a " * n, "a a a a a a b " * (n // 7)), ("a a a a a a b " * (n // 7), "a " * n),
        ]

    for short, long in zip(made(1000), made(4000), strict=True):
        assert work(*long) < 1.5 * work(*short) + 1
