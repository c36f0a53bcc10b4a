"""The Hamming distance problem: permuted sorted tables and their compression (Manku, Jain, Das Sarma 2007, section 3), and
multi-index hashing (Norouzi, Punjani, Fleet 2012)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise
from math import comb, inf
from typing import NamedTuple

EQUAL = 64
SYMBOLS = 65

Permutation = tuple[int, ...]  # bit positions of the fingerprint, from the highest of the permuted key to the lowest


def distance(a: int, b: int) -> int:
    """Count the bits in which a and b differ."""
    return (a ^ b).bit_count()


def split(positions: Sequence[int], blocks: int) -> list[tuple[int, ...]]:
    """Split the positions into blocks whose sizes differ by at most one, larger blocks first."""
    size, larger = divmod(len(positions), blocks)
    ends = [i * size + min(i, larger) for i in range(blocks + 1)]
    return [tuple(positions[a:b]) for a, b in pairwise(ends)]


def least_tables(bits: int, k: int, prefix: int) -> float:
    """Compute X(f, k, d) of §3.1.2 over whole bits: the smallest number of tables that lead with `prefix` bits or more."""

    @cache
    def least(left: int, needed: int) -> float:
        if needed <= 0:
            return 1
        return min((total(left, needed, r) for r in range(k + 1, left + 1)), default=inf)

    def total(left: int, needed: int, r: int) -> float:
        size, larger = divmod(left, r)
        tables: float = 0
        for of_larger in range(max(0, larger - k), min(larger, r - k) + 1):  # how many larger blocks are chosen
            of_smaller = r - k - of_larger
            chosen = of_larger * (size + 1) + of_smaller * size
            ways = comb(larger, of_larger) * comb(r - larger, of_smaller)
            if ways:
                tables += ways * least(left - chosen, needed - chosen)
        return tables

    return least(bits, prefix)


def tables_of(bits: int, k: int, splits: Sequence[int]) -> list[tuple[int, Permutation]]:
    """List (p_i, permutation) of every table if all branches split into the same numbers of blocks.

    Example 3.1: (6,), (4, 4), (5,) and (4,)."""
    tables: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), tuple(range(bits - 1, -1, -1)))]
    for r in splits:
        refined = []
        for leading, rest in tables:
            blocks = split(rest, r)
            for chosen in combinations(range(r), r - k):
                picked = tuple(p for i in chosen for p in blocks[i])
                others = tuple(p for i in range(r) if i not in chosen for p in blocks[i])
                refined.append((leading + picked, others))
        tables = refined
    return [(len(leading), leading + rest) for leading, rest in tables]


def permute(value: int, permutation: Permutation) -> int:
    """Return the fingerprint with its bits in the order of the permutation."""
    permuted = 0
    for position in permutation:
        permuted = permuted << 1 | value >> position & 1
    return permuted


class Tables:
    """Sorted tables of permuted fingerprints, probed as §3.1 says."""

    def __init__(self, fingerprints: Sequence[int], bits: int, k: int, tables: Sequence[tuple[int, Permutation]]) -> None:
        self.fingerprints, self.bits, self.k = list(fingerprints), bits, k
        self.tables = [
            (p, permutation, sorted((permute(f, permutation), i) for i, f in enumerate(fingerprints)))
            for p, permutation in tables
        ]

    def query(self, fingerprint: int) -> list[tuple[int, int]]:
        """Find (position, distance) of every fingerprint within k bits, ascending."""
        near = set()
        for p, permutation, rows in self.tables:
            key, free = permute(fingerprint, permutation), self.bits - p
            low = key >> free << free
            first = bisect_left(rows, (low, -1))
            last = bisect_right(rows, (low | (1 << free) - 1, len(rows)))
            for row, i in rows[first:last]:
                if distance(row, key) <= self.k:
                    near.add((i, distance(row, key)))
        return sorted(near)


def within(fingerprints: Sequence[int], fingerprint: int, k: int) -> list[tuple[int, int]]:
    """Find (position, distance) of every fingerprint within k bits, by comparing all."""
    return [(i, distance(f, fingerprint)) for i, f in enumerate(fingerprints) if distance(f, fingerprint) <= k]


# ---------------------------------------------------------------------------------------------- multi-index hashing

# Norouzi, Punjani, Fleet 2012, "Fast search in Hamming space with multi-index hashing", DOI 10.1109/CVPR.2012.6248043. Cut
# the bits into m disjoint substrings and give substring i a radius r_i, with (r_0 + 1) + … + (r_(m-1) + 1) = k + 1. If every
# substring of two codes differs in more than r_i bits, they differ in k + 1 bits or more. So whatever is within k bits of a
# query is within r_i bits of it in some substring i, and is found there by looking up all substrings that are so near.


def substring_radii(tables: int, k: int) -> list[int]:
    """List the radius of each of m <= k + 1 substrings: k = m·a + b, the first b + 1 have radius a, the others a − 1."""
    a, b = divmod(k, tables)
    return [a if i <= b else a - 1 for i in range(tables)]


def substring(code: int, bits: int, tables: int, i: int) -> int:
    """Return substring i of m: the bits i, i + m, i + 2m, … of the code, bit 0 the most significant."""
    taken = 0
    for position in range(i, bits, tables):
        taken = taken << 1 | code >> bits - 1 - position & 1
    return taken


class Substrings:
    """A hash table for each substring, from its values to the codes that have them."""

    def __init__(self, codes: Sequence[int], bits: int, k: int, tables: int) -> None:
        self.codes, self.bits, self.k, self.tables = list(codes), bits, k, tables
        self.buckets: list[dict[int, list[int]]] = [{} for _ in range(tables)]
        for i, buckets in enumerate(self.buckets):
            for position, code in enumerate(codes):
                buckets.setdefault(substring(code, bits, tables, i), []).append(position)

    def query(self, code: int) -> list[tuple[int, int]]:
        """Find (position, distance) of every code within k bits, ascending."""
        near = set()
        for i, (radius, buckets) in enumerate(zip(substring_radii(self.tables, self.k), self.buckets, strict=True)):
            value, width = substring(code, self.bits, self.tables, i), len(range(i, self.bits, self.tables))
            for differing in range(radius + 1):
                for chosen in combinations(range(width), differing):
                    for position in buckets.get(value ^ sum(1 << bit for bit in chosen), []):
                        if distance(self.codes[position], code) <= self.k:
                            near.add((position, distance(self.codes[position], code)))
        return sorted(near)


# ---------------------------------------------------------------------------------------------- compression

# The paper (section 3.2) stores the first fingerprint of a block in full, then for each one the Huffman code of the position
# of the highest bit in which it differs from the one before, and the bits to the right of that bit: `paper_blocks`. The key
# of a block is its last fingerprint. ndcore's form, `blocks`, differs in three ways. The first fingerprint of a block is
# coded like all others, against the key of the block before (against 0 in the first block): the search has the keys anyway.
# A fingerprint that equals the one before has a symbol of its own, 64. And the codes fill a block from the front, the bits
# to the right of the highest ones from the back, so that the codes can be read alone.


class CompressedBlock(NamedTuple):
    """A block: its bits, how many fingerprints it holds, and the last of them."""

    bits: str
    size: int
    key: int


def symbol(difference: int) -> int:
    """Return h of §3.2: the position of the highest bit of the XOR of two neighbours."""
    return difference.bit_length() - 1 if difference else EQUAL


def right_of(difference: int) -> str:
    """Return the bits to the right of the highest one."""
    return f"{difference:b}"[1:]


def symbols(fingerprints: Sequence[int]) -> list[int]:
    """List the symbol of each fingerprint; the neighbour of the first is 0."""
    return [symbol(a ^ b) for a, b in zip([0, *fingerprints], fingerprints, strict=False)]


def huffman_lengths(counts: Sequence[int]) -> list[int]:
    """Compute the lengths of a Huffman code in bits: 0 for a count of 0, 1 if only one count is not 0."""
    trees = [(count, [s]) for s, count in enumerate(counts) if count]
    lengths = [0] * len(counts)
    if len(trees) == 1:
        lengths[trees[0][1][0]] = 1
    while len(trees) > 1:
        trees.sort(key=lambda tree: tree[0], reverse=True)
        (a, left), (b, right) = trees.pop(), trees.pop()
        for s in left + right:
            lengths[s] += 1
        trees.append((a + b, left + right))
    return lengths


def canonical_codes(lengths: Sequence[int]) -> dict[int, str]:
    """Assign the codes of these lengths: counted upwards by length, then by symbol."""
    codes, value, before = {}, 0, 0
    for length, s in sorted((length, s) for s, length in enumerate(lengths) if length):
        value <<= length - before
        if value >> length:
            raise ValueError("the lengths do not give a prefix code")
        codes[s] = f"{value:0{length}b}"
        value, before = value + 1, length
    return codes


def paper_blocks(fingerprints: Sequence[int], lengths: Sequence[int], size: int) -> list[CompressedBlock]:
    """Compress to the paper's blocks of at most 8·size bits: 64 bits of the first one, then code and rest in turns."""
    codes = canonical_codes(lengths)
    made: list[CompressedBlock] = []
    bits, count, before = "", 0, 0
    for x in fingerprints:
        item = codes[symbol(x ^ before)] + right_of(x ^ before) if count else f"{x:064b}"
        if count and len(bits) + len(item) > 8 * size:
            made.append(CompressedBlock(bits, count, before))
            bits, count = f"{x:064b}", 0
        else:
            bits += item
        count, before = count + 1, x
    return [*made, CompressedBlock(bits, count, before)] if count else made


def blocks(fingerprints: Sequence[int], lengths: Sequence[int], size: int) -> list[CompressedBlock]:
    """Compress in blocks of 8·size bits each, in ndcore's form."""
    codes = canonical_codes(lengths)
    made: list[CompressedBlock] = []
    front, back, count, before = "", "", 0, 0

    def close_block() -> CompressedBlock:
        """Return the block of the codes and bits collected so far."""
        return CompressedBlock(front + "0" * (8 * size - len(front) - len(back)) + back, count, before)

    for x in fingerprints:
        code, rest = codes[symbol(x ^ before)], right_of(x ^ before)
        if len(front) + len(back) + len(code) + len(rest) > 8 * size:
            made.append(close_block())
            front, back, count = "", "", 0
        front, back, count, before = front + code, rest + back, count + 1, x
    return [*made, close_block()] if count else made


def decoded(stored: Sequence[CompressedBlock], lengths: Sequence[int]) -> Iterator[int]:
    """Decode the fingerprints of blocks in ndcore's form."""
    meaning = {code: s for s, code in canonical_codes(lengths).items()}
    x = 0
    for block in stored:
        at, end = 0, len(block.bits)
        for _ in range(block.size):
            length = next(n for n in range(1, SYMBOLS) if block.bits[at:at + n] in meaning)
            s, at = meaning[block.bits[at:at + length]], at + length
            if s != EQUAL:
                x ^= int("1" + block.bits[end - s:end], 2)
                end -= s
            yield x
