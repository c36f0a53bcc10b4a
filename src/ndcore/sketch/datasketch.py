"""MinHash values of datasketch: read, compared, and computed to the bit."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ndcore._minhash import LegacySignatures, Permutations, Signatures32, Signatures64, Sink
from ndcore._types import AnyArray, UInts
from ndcore.checks import check_choice, checked_int
from ndcore.recipe import Recipe
from ndcore.sketch.cardinality import signature_sizes
from ndcore.sketch.other_tools import ToolSketcher
from ndcore.sketch.sketcher import checked_count, checked_sets, end_to_end
from ndcore.sketch.sketches import Fields, Sketches

Scheme: TypeAlias = Literal["affine32", "affine64", "legacy"]
PRIME = (1 << 61) - 1
CODES = {1: "affine32", 2: "affine64"}  # of serialized LeanMinHash; legacy has none
BYTE_ORDERS = ("@", "=", "<", ">", "!")


class DatasketchHasher(ToolSketcher):
    """Sketcher of the MinHash values of datasketch 2.0 and, with scheme="legacy", of all versions since 1.1.3.

    What datasketch computed is read, and new documents get the values that it would give them. The sketches are signatures:
    they are compared, saved, united, indexed and clustered as a `MinHasher`'s are.

    Parameters
    ----------
    num_perm : int
        Minima per signature, 1 to 65536; as ``num_perm`` of datasketch.
    seed : int
        0 to 2^32 − 1; as there.
    scheme : "affine32", "affine64" or "legacy"
        As there. Versions before 2.0 know only legacy, which overestimates the resemblance of sets of many millions.

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    Notes
    -----
    Hashes of features come from `sketch_tokens` (SHA-1, datasketch's default) or, where a hashfunc was given there, as its
    values to `sketch_hashes`. From ready hashes, 128 minima are computed 23 to 69 times as fast as by ``MinHash.bulk``, with
    AVX-512 (`docs/from-other-tools.md`).

    References
    ----------
    datasketch 2.0.0, https://github.com/ekzhu/datasketch. The coefficients are drawn by ``numpy.random.RandomState``, whose
    streams NumPy keeps as they are.

    Examples
    --------
    >>> hasher = DatasketchHasher(num_perm=64, scheme="legacy")
    >>> sk = hasher.sketch_tokens(["to be or not to be".split(), "to be or not".split()])
    >>> sk.values.shape, sk.resemblance(0, 1)
    ((2, 64), 1.0)
    """

    num_perm: int
    seed: int
    scheme: Scheme
    bits: int

    def __init__(self, num_perm: int = 128, seed: int = 1, scheme: Scheme = "affine32") -> None:
        check_choice("scheme", scheme, ("affine32", "affine64", "legacy"))
        self.num_perm = checked_count("num_perm", num_perm)
        self.seed = checked_int("seed", seed, 0, (1 << 32) - 1)
        self.scheme = scheme
        self.bits = 64 if scheme == "affine64" else 32
        self._permutations = Permutations(0, self.num_perm, *_draw(scheme, self.num_perm, self.seed))
        width, self._digest_dtype = (8, "<u8") if scheme == "affine64" else (4, "<u4")
        self._digest = partial(_sha1, width)

    def _parameters(self) -> dict[str, Any]:
        return {
            "kind": "minhash", "version": 1, "num_perm": self.num_perm, "bits": self.bits, "seed": self.seed,
            "method": f"datasketch-{self.scheme}",
        }

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> DatasketchHasher:
        """Make the sketcher of a recipe. ValueError where the recipe is of another kind of sketch."""
        scheme = str(recipe["method"]).removeprefix("datasketch-") if recipe["kind"] == "minhash" else ""
        sketcher = cls(recipe["num_perm"], recipe["seed"], scheme)  # type: ignore[arg-type]  # which is checked
        recipe.check(sketcher.recipe)
        return sketcher

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        if self.scheme == "legacy":
            return LegacySignatures(n, self._permutations, rows)
        return (Signatures32 if self.bits == 32 else Signatures64)(n, self._permutations, rows)

    def _gather(self, done: Sequence[Any]) -> Sketches:
        values, flags = end_to_end([piece.rows for piece in done]), b"".join([piece.flags for piece in done])
        return Sketches.trusted(values, self.recipe, (_fields, values, flags))

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> Sketches:
        """Sketch given sets of hashes, as ``MinHash(hashfunc=…).update_batch`` does with a hashfunc that returns them.

        Parameters
        ----------
        values : array of unsigned integers
            Hashes; of 32 bits for scheme="affine32".
        offsets : array of int, shape (n + 1,)
            Set i is values[offsets[i] : offsets[i + 1]]; [0, len(values)] for one set.

        Returns
        -------
        Sketches

        Raises
        ------
        TypeError, ValueError
            A value is not an unsigned integer of 64 bits (affine32: of 32), or offsets do not ascend from 0 to len(values).
        """
        hashes, ends = checked_sets(values, offsets)
        if self.scheme == "affine32" and hashes.max(initial=0) >> np.uint64(32):
            raise ValueError(f"hashes of scheme='affine32' have 32 bits, got {hashes.max()}; give the low 32 bits, or use "
                             "affine64")
        return super().sketch_hashes(hashes, ends)

    def read_values(self, hashvalues: ArrayLike, ids: Sequence[str] | Sequence[int] | None = None) -> Sketches:
        """Take values that datasketch computed with these parameters.

        Parameters
        ----------
        hashvalues : array of unsigned integers, shape (n, num_perm)
            ``[m.hashvalues for m in minhashes]``: one row for each MinHash or LeanMinHash.
        ids : sequence of str or of int, optional

        Returns
        -------
        Sketches
            A row of all ones is an empty set, and not valid.

        Raises
        ------
        TypeError, ValueError
            The array has another shape, or a value is not an unsigned integer of the scheme's bits.

        Notes
        -----
        Values do not tell which seed and scheme made them: take ``m.seed`` and ``m.scheme`` of the MinHash objects.

        Examples
        --------
        >>> DatasketchHasher(num_perm=4).read_values([[7, 1, 9, 3], [7, 1, 8, 3]], ids=["a", "b"]).resemblance(0, 1)
        0.75
        """
        rows = np.asarray(hashvalues)
        if rows.ndim != 2 or rows.shape[1] != self.num_perm:
            raise ValueError(f"hashvalues have the shape (n, {self.num_perm}), got {rows.shape}")
        if rows.dtype.kind not in "iu" and rows.size:
            raise TypeError(f"hashvalues are unsigned integers, got {rows.dtype}")
        low, high = int(rows.min(initial=0)), int(rows.max(initial=0))
        if low < 0 or high >> self.bits:
            raise ValueError(f"hashvalues of scheme={self.scheme!r} have {self.bits} bits, got {low if low < 0 else high}")
        values = np.array(rows, f"uint{self.bits}", order="C")
        valid = (values != np.iinfo(values.dtype).max).any(axis=1)
        return Sketches(values, self.recipe, sizes=partial(signature_sizes, values, valid), sizes_exact=~valid, valid=valid,
                        ids=ids)

    @staticmethod
    def read_lean(
        buffers: bytes | bytearray | memoryview | Iterable[bytes | bytearray | memoryview], byteorder: str = "@",
        ids: Sequence[str] | Sequence[int] | None = None,
    ) -> Sketches:
        """Read what ``LeanMinHash.serialize`` wrote; seed, number of minima and scheme are in it.

        Parameters
        ----------
        buffers : bytes-like, or iterable of bytes-like
            One sketch in each, or sketches of the same size end to end.
        byteorder : "@", "=", "<", ">" or "!"
            As it was given to ``serialize``; "@", the default of both, is the order of this machine, with padding.
        ids : sequence of str or of int, optional

        Returns
        -------
        Sketches
            ``DatasketchHasher.from_recipe(sketches.recipe)`` computes more of them.

        Raises
        ------
        ValueError
            A buffer is cut off or too long, has an unknown scheme, or another seed, number or scheme than the first one; or
            there is none.

        Notes
        -----
        O(bytes). What ``pickle`` wrote is read by ``pickle`` and datasketch; then `read_values` takes the objects' values.
        """
        check_choice("byteorder", byteorder, BYTE_ORDERS)
        listed = [bytes(b) for b in ([buffers] if isinstance(buffers, (bytes, bytearray, memoryview)) else buffers)]
        if not any(listed):
            raise ValueError("there are no bytes of a LeanMinHash: without a sketch, its seed and scheme are not known")
        seed, num_perm, scheme, begin, size = _read_head(listed[0], byteorder)
        for i, buffer in enumerate(listed):
            if len(buffer) % size or not buffer:
                raise ValueError(f"buffers[{i}] has {len(buffer)} bytes; a LeanMinHash of {num_perm} minima by {scheme!r} "
                                 f"has {size}")
        rows = np.frombuffer(b"".join(listed), np.uint8).reshape(-1, size)
        fixed = 13 if scheme != "legacy" else 12  # bytes before the padding
        other = np.flatnonzero((rows[:, :fixed] != rows[0, :fixed]).any(axis=1))
        if len(other):
            found = _read_head(rows[other[0]].tobytes(), byteorder)
            raise ValueError(f"sketch {other[0]} has seed {found[0]}, {found[1]} minima and scheme {found[2]!r}, the first "
                             f"one {seed}, {num_perm} and {scheme!r}: read each kind by itself")
        order = ">" if byteorder in ">!" else "<"
        values = np.ascontiguousarray(rows[:, begin:]).view(f"{order}u{8 if scheme == 'affine64' else 4}")
        return DatasketchHasher(num_perm, seed, scheme).read_values(values, ids)


def _draw(scheme: str, num_perm: int, seed: int) -> tuple[UInts, UInts]:
    """Draw the coefficients a and b, in datasketch's order."""
    state = np.random.RandomState(seed)
    if scheme == "legacy":
        pairs = [(state.randint(1, PRIME, dtype=np.uint64), state.randint(0, PRIME, dtype=np.uint64))
                 for _ in range(num_perm)]
        a, b = np.array(pairs, np.uint64).T
        return np.ascontiguousarray(a), np.ascontiguousarray(b)
    bits, dtype = (32, np.uint32) if scheme == "affine32" else (64, np.uint64)
    odd = state.randint(0, 1 << (bits - 1), num_perm, dtype=dtype).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    return odd, state.randint(0, 1 << bits, num_perm, dtype=dtype).astype(np.uint64)


def _sha1(width: int, feature: bytes) -> bytes:
    return hashlib.sha1(feature, usedforsecurity=False).digest()[:width]


def _fields(values: AnyArray, flags: bytes) -> Fields:
    """Return the fields of `Sketches.trusted`."""
    valid = np.frombuffer(flags, np.bool_)
    return valid, ~valid, partial(signature_sizes, values, valid)


def _read_head(buffer: bytes, byteorder: str) -> tuple[int, int, Any, int, int]:
    """Read the head of a LeanMinHash: seed, number of minima, scheme, where the minima begin, and the size of all."""
    try:
        seed, count = struct.unpack_from(f"{byteorder}qi", buffer)
        code = 0 if count >= 0 else struct.unpack_from(f"{byteorder}B", buffer, 12)[0]
    except struct.error:
        raise ValueError(f"a LeanMinHash has at least 12 bytes, got {len(buffer)}") from None
    if count < 0 and code not in CODES:
        raise ValueError(f"the scheme of a LeanMinHash has the code 1 or 2, got {code}: is byteorder={byteorder!r} right?")
    scheme, width = CODES.get(code, "legacy"), "Q" if code == 2 else "I"
    try:
        num_perm = checked_count("the number of minima", abs(count))
        checked_int("the seed", seed, 0, (1 << 32) - 1)
    except ValueError as error:
        raise ValueError(f"{error}: is byteorder={byteorder!r} right?") from None
    begin = struct.calcsize(f"{byteorder}qi{'B' if code else ''}0{width}")
    return seed, num_perm, scheme, begin, begin + num_perm * struct.calcsize(f"={width}")
