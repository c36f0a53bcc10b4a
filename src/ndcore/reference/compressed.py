"""Compression of sorted fingerprints in blocks (Manku, Jain, Das Sarma 2007, §3.2).

The paper remembers the first fingerprint of a block in full, then for each one the Huffman code of the position of the
highest bit in which it differs from the one before, and the bits to the right of that one: `paper_blocks`. The key of a
block is its last fingerprint.

ndcore's form, `blocks`, differs in three ways. The first fingerprint of a block is coded like all others, against the key
of the block before (against 0 in the first block): the keys are there anyway, for the search. A fingerprint that equals
the one before has a symbol of its own, 64. And in a block the codes stand by themselves, from the front, the bits to the
right of the highest ones from the back, so that codes can be read without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

EQUAL = 64
SYMBOLS = 65


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

    def closed() -> CompressedBlock:
        """Return the block of what was collected."""
        return CompressedBlock(front + "0" * (8 * size - len(front) - len(back)) + back, count, before)

    for x in fingerprints:
        code, rest = codes[symbol(x ^ before)], right_of(x ^ before)
        if len(front) + len(back) + len(code) + len(rest) > 8 * size:
            made.append(closed())
            front, back, count = "", "", 0
        front, back, count, before = front + code, rest + back, count + 1, x
    return [*made, closed()] if count else made


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
