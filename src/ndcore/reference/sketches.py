"""Sketches of a document: samples and minima of permuted fingerprints, features, simhash, winnowing (DESIGN.md, section 3).

Fingerprints are integers in [0, 2^64). Their order and repeats change no sketch, except that the adaptive sample and simhash
count repeats, and winnowing reads a sequence.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TypeVar

from .rabin import FEATURE_POLYNOMIAL, GOLDEN_GAMMA, MASK64, SUPER_FEATURE_POLYNOMIAL, splitmix64, words

BOTTOM_BITS = (32, 40, 64)
SIGNATURE_BITS = (32, 64)

SIMHASH_BITS = 64
LOG_2 = float.fromhex("0x1.62e42fefa39efp-1")
WEIGHT_UNIT = 1 << 16  # weights are multiples of 1 / WEIGHT_UNIT
WEIGHT_LIMIT = 1 << 15  # and smaller than this, before and after rounding

Probability = TypeVar("Probability", float, Fraction)
Selected = list[tuple[int, int]]
"""Winnowed values, each with its position."""
Weight = int | float | Fraction
Weights = Mapping[int, Weight] | Sequence[Weight] | str | None

# ---------------------------------------------------------------------------------------------- permutations


def fmix64(z: int) -> int:
    """Apply the 64-bit finaliser of MurmurHash3 (Appleby): a bijection of [0, 2^64) with full avalanche."""
    z = ((z ^ (z >> 33)) * 0xFF51AFD7ED558CCD) & MASK64
    z = ((z ^ (z >> 33)) * 0xC4CEB9FE1A85EC53) & MASK64
    return z ^ (z >> 33)


def key_and_coefficients(seed: int, num_perm: int) -> tuple[int, list[int], list[int]]:
    """Draw the key of π and the coefficients a_i, b_i, i < num_perm, as 64-bit outputs of SplitMix64(seed).

    The key is the first output; then come a_0, b_0, a_1, b_1, … They are raw: neither reduced nor made odd.
    """
    outputs = splitmix64(seed)
    key, *drawn = (next(outputs) for _ in range(1 + 2 * num_perm))
    return key, drawn[::2], drawn[1::2]


def permute(fingerprints: Iterable[int], seed: int = 1) -> list[int]:
    """Apply π: z = fmix64(f XOR key) of every fingerprint, in the order given, with repeats."""
    key, _, _ = key_and_coefficients(seed, 0)
    return [fmix64(f ^ key) for f in fingerprints]


# ---------------------------------------------------------------------------------------------- min-wise hashing


def signature(fingerprints: Iterable[int], num_perm: int = 84, bits: int = 32, seed: int = 1) -> list[int]:
    """Compute the minima of h_i = a_i·x + b_i mod 2^bits over the fingerprints, one for each of ``num_perm`` permutations.

    Broder 2000, section 2. x is the high half of z for 32 bits, and z for 64; a_i and b_i are reduced mod 2^bits and a_i is
    made odd. Without fingerprints every value is 2^bits - 1.
    """
    if num_perm < 1:
        raise ValueError(f"num_perm is {num_perm}; give an integer >= 1")
    if bits not in SIGNATURE_BITS:
        raise ValueError(f"bits is {bits}; a signature has 32 or 64 bits")
    modulus = 1 << bits
    _, a, b = key_and_coefficients(seed, num_perm)
    xs = [z >> (64 - bits) for z in permute(fingerprints, seed)]
    minima = []
    for a_i, b_i in zip(a, b, strict=True):
        odd = (a_i % modulus) | 1
        minima.append(min(((odd * x + b_i) % modulus for x in xs), default=modulus - 1))
    return minima


def fast_signature(fingerprints: Iterable[int], num_perm: int = 84, seed: int = 1) -> list[int]:
    """Compute a fast similarity sketch, for ``method="fast"`` (Dahlgaard, Knudsen, Thorup, FOCS 2017).

    A sketch of t coordinates is filled in rounds. In round i < t every element goes to a random coordinate with a random
    value; in round t + j to coordinate j. A coordinate keeps the smallest value of the first round that reaches it. Rounds
    end when all coordinates are filled, so that a large set is read once. Without fingerprints every value is 2^32 - 1.
    """
    t = num_perm
    members = set(permute(fingerprints, seed))
    filled: dict[int, int] = {}
    for i in range(2 * t if members else 0):
        if len(filled) == t:
            break
        this_round: dict[int, int] = {}
        for z in members:
            coordinate, value = round_value(z, i, t)
            if coordinate not in filled:
                this_round[coordinate] = min(value, this_round.get(coordinate, value))
        filled.update(this_round)
    return [filled.get(j, 0xFFFFFFFF) for j in range(t)]


def round_value(z: int, i: int, t: int) -> tuple[int, int]:
    """Return the coordinate and the 32-bit value of an element, given by its z = π(f), in round i."""
    r = z if i == 0 else fmix64((z + i * GOLDEN_GAMMA) & MASK64)
    return ((r >> 32) * t) >> 32 if i < t else i - t, r & 0xFFFFFFFF


# ---------------------------------------------------------------------------------------------- samples


def bottom(fingerprints: Iterable[int], size: int = 200, bits: int = 64, seed: int = 1) -> list[int]:
    """Compute MIN_s: the ``size`` smallest distinct values z >> (64 - bits), ascending; all of them, if fewer.

    Broder 1997, section 3.
    """
    if size < 1:
        raise ValueError(f"size is {size}; give an integer >= 1")
    if bits not in BOTTOM_BITS:
        raise ValueError(f"bits is {bits}; a bottom sketch has 32, 40 or 64 bits")
    return sorted({z >> (64 - bits) for z in permute(fingerprints, seed)})[:size]


def mod(fingerprints: Iterable[int], modulus: int = 25, seed: int = 1) -> list[int]:
    """Compute MOD_m: the distinct z that are 0 mod ``modulus``, ascending (Broder 1997, section 3)."""
    if not 1 <= modulus <= MASK64:
        raise ValueError(f"modulus is {modulus}; give an integer in [1, 2**64)")
    return sorted({z for z in permute(fingerprints, seed) if z % modulus == 0})


def adaptive_level(n: int) -> int:
    """Return i of L_i for a document of ``n`` fingerprints, repeats included; the modulus is 2^i.

    >>> [adaptive_level(n) for n in (0, 99, 100, 199, 200)]
    [0, 0, 1, 1, 2]
    """
    return max(0, (n // 50).bit_length() - 1)


def adaptive(fingerprints: Sequence[int], seed: int = 1) -> tuple[int, list[int]]:
    """Compute L_i: the level i, and MOD_m with m = 2^i."""
    level = adaptive_level(len(fingerprints))
    return level, mod(fingerprints, 1 << level, seed)


# ---------------------------------------------------------------------------------------------- features


def feature(j: int, minima: Sequence[int]) -> int:
    """Compute feature ``j`` >= 0: Rabin modulo R of the u64 big-endian string (j, minima…), minima zero-extended."""
    return words([j, *minima], FEATURE_POLYNOMIAL)


def features(signature: Sequence[int], groups: int = 6, group_size: int = 14) -> list[int]:
    """Compute features 0 … groups - 1 of a signature, of ``group_size`` consecutive minima each; the rest is unused.

    Broder 2000, section 3.
    """
    _check_groups(groups, group_size)
    if len(signature) < groups * group_size:
        raise ValueError(f"{groups} groups of {group_size} need {groups * group_size} minima and the signature has "
                         f"{len(signature)}; use fewer or smaller groups, or sketch with a larger num_perm")
    return [feature(j, signature[j * group_size : (j + 1) * group_size]) for j in range(groups)]


def super_feature(c: int, chosen: Sequence[int]) -> int:
    """Compute super-feature ``c`` >= 0: Rabin modulo S of the u64 big-endian string (c, features of combination c).

    S is not R: features are fingerprints modulo R already, and a second reduction by the same polynomial would let a
    difference in one of them cancel one in the next.
    """
    return words([c, *chosen], SUPER_FEATURE_POLYNOMIAL)


def super_features(features: Sequence[int], need: int = 2) -> list[int]:
    """Compute a super-feature for every combination of ``need`` features, in lexicographic order of their positions.

    Two documents share at least ``need`` features where they share one of these (Broder 2000, section 3), but for
    collisions.
    """
    _check_need(need, len(features))
    return [super_feature(c, chosen) for c, chosen in enumerate(combinations(features, need))]


def super_shingles(members: Sequence[int], run: int) -> list[int]:
    """Compute super-shingles: i is Rabin modulo R of the u64 big-endian string of members i … i + run - 1 of a sketch.

    Every i; none if the sketch has fewer than ``run`` members (Broder et al. 1997, section 5.3).
    """
    if run < 1:
        raise ValueError(f"run is {run}; give an integer >= 1")
    if any(first >= second for first, second in pairwise(members)):
        raise ValueError("the members of a sketch ascend, and are distinct; sort them")
    return [words(members[i : i + run], FEATURE_POLYNOMIAL) for i in range(len(members) - run + 1)]


def meta_sketch(members: Sequence[int], run: int, size: int = 200, seed: int = 1) -> list[int]:
    """Sketch a sketch: MIN_s of the set of its super-shingles; all of them, permuted, if there are fewer."""
    return bottom(super_shingles(members, run), size, 64, seed)


def pass_probability(rho: Probability, groups: int = 6, group_size: int = 14, need: int = 2) -> Probability:
    """Compute P_{k,s,r}(rho): the probability that two documents of resemblance rho share at least ``need`` features.

    The sum over i from r to k of C(k, i) · rho^(s·i) · (1 - rho^s)^(k - i); exact for a Fraction (Broder 2000, section 3).

    >>> round(pass_probability(0.975), 5)
    0.98933
    """
    if not 0 <= rho <= 1:
        raise ValueError(f"rho is {rho}; give a resemblance in [0, 1]")
    _check_groups(groups, group_size)
    _check_need(need, groups)
    equal = rho**group_size
    total = rho - rho
    for i in range(need, groups + 1):
        total += math.comb(groups, i) * equal**i * (1 - equal) ** (groups - i)
    return total


def _check_groups(groups: int, group_size: int) -> None:
    """Refuse groups that are empty or none."""
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups is {groups} and group_size {group_size}; give integers >= 1")


def _check_need(need: int, groups: int) -> None:
    """Refuse a number of shared features that no two documents can have."""
    if not 1 <= need <= groups:
        raise ValueError(f"need is {need}; give an integer in [1, {groups}], the number of features")


# ---------------------------------------------------------------------------------------------- simhash


def weight_units(weight: Weight) -> int:
    """Convert a finite weight to multiples of 2^-16, rounded half to even.

    >>> [weight_units(w) for w in (1, 0.5 / 65536, 1.5 / 65536, -0.25)]
    [65536, 0, 2, -16384]
    """
    if not math.isfinite(weight):
        raise ValueError(f"weight is {weight}; weights are finite")
    rounded = round(Fraction(weight) * WEIGHT_UNIT)
    if abs(rounded) >= WEIGHT_LIMIT * WEIGHT_UNIT:
        raise ValueError(f"weight is {weight}; weights are smaller than {WEIGHT_LIMIT} in magnitude")
    return rounded


def weigh(fingerprints: Sequence[int], weights: Weights = None) -> list[tuple[int, int]]:
    """List (fingerprint, weight in units) of every feature.

    Parameters
    ----------
    fingerprints : sequence of int
        Of the shingles of a document, in order with repeats.
    weights : None, "distinct", mapping or sequence
        None: every occurrence counts 1. "distinct": every fingerprint once. A mapping is asked for the fingerprint of each
        occurrence; a missing one counts 0. A sequence has one weight for each occurrence.
    """
    if weights is None:
        return [(f, WEIGHT_UNIT) for f in fingerprints]
    if isinstance(weights, str):
        if weights != "distinct":
            raise ValueError(f"weights is {weights!r}; give None, 'distinct', a mapping or a sequence")
        return [(f, WEIGHT_UNIT) for f in dict.fromkeys(fingerprints)]
    if isinstance(weights, Mapping):
        return [(f, weight_units(weights.get(f, 0))) for f in fingerprints]
    if len(weights) != len(fingerprints):
        raise ValueError(f"there are {len(weights)} weights for {len(fingerprints)} fingerprints; give one for each")
    return [(f, weight_units(w)) for f, w in zip(fingerprints, weights, strict=True)]


def extend(z: int, bits: int = SIMHASH_BITS) -> int:
    """Extend a hash to 64, 128 or 256 bits: z is the highest word, and word i is fmix64(z + i·γ)."""
    if bits not in (64, 128, 256):
        raise ValueError(f"bits is {bits}; give 64, 128 or 256")
    extended = z
    for i in range(1, bits // 64):
        extended = extended << 64 | fmix64((z + i * GOLDEN_GAMMA) & MASK64)
    return extended


def simhash_sums(
    fingerprints: Sequence[int], weights: Weights = None, seed: int = 1, bits: int = SIMHASH_BITS
) -> list[int]:
    """Compute V_b in units, b = 0 … bits - 1: the sum of +weight if bit b of z = π(f), extended, is set, else of -weight."""
    weighed = weigh(fingerprints, weights)
    hashes = [extend(z, bits) for z in permute([f for f, _ in weighed], seed)]
    return [sum(w if z >> b & 1 else -w for z, (_, w) in zip(hashes, weighed, strict=True)) for b in range(bits)]


def simhash(fingerprints: Sequence[int], weights: Weights = None, seed: int = 1, bits: int = SIMHASH_BITS) -> int:
    """Compute the fingerprint of a document: bit b is 1 if V_b > 0. It is 0 for a document without features.

    The highest 64 bits of a longer one are the fingerprint of 64 bits. Charikar 2002; Manku, Jain, Das Sarma 2007, section
    2.
    """
    return sum(1 << b for b, v in enumerate(simhash_sums(fingerprints, weights, seed, bits)) if v > 0)


def document_frequencies(documents: Iterable[Iterable[int]]) -> Counter[int]:
    """Count for each feature the documents in which it occurs."""
    return Counter(f for document in documents for f in set(document))


def idf(documents: int, frequency: int) -> int:
    """Compute log((1 + documents) / (1 + frequency)) + 1, the weight of a feature of `frequency` documents.

    The logarithm is computed to 50 digits, then rounded to units.
    """
    exact = Context(prec=50)
    log = exact.ln(exact.divide(Decimal(1 + documents), Decimal(1 + frequency)))
    return int(exact.multiply(exact.add(log, Decimal(1)), Decimal(WEIGHT_UNIT)).to_integral_value(ROUND_HALF_EVEN))


# ---------------------------------------------------------------------------------------------- weighted sets


def natural_log(x: float) -> float:
    """Compute log(x), 2^-1000 < x < 2^1000, by this order of float64 operations, within 4·10^-16 of max(1, |log(x)|).

    x = m·2^e with √½ <= m < √2, and log(m) = 2·artanh(s), s = (m - 1)/(m + 1), as a sum of the odd powers up to s^21.
    """
    bits: int = struct.unpack("<Q", struct.pack("<d", x))[0]
    e = ((bits + 0x3FF0000000000000 - 0x3FE6A09E667F3BCD) >> 52) - 1023
    m: float = struct.unpack("<d", struct.pack("<Q", bits - (e << 52)))[0]
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    series = 1.0 / 21.0
    for odd in (19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        series = series * square + 1.0 / odd
    twice = s + s
    return e * LOG_2 + (twice + twice * (square * series))


def weighted_sample(z: int, weight: int, j: int) -> tuple[float, float]:
    """Compute the score and the level of a feature z of a weight in units, in sample j: log(a) and t of the paper.

    Ioffe 2010, Improved consistent sampling, weighted minhash and L1 sketching, section 3, DOI 10.1109/ICDM.2010.80. r and
    c are of the distribution Gamma(2, 1): sums of two exponentials, each the logarithm of a uniform number.
    """
    h = [fmix64((z + (3 * j + i) * GOLDEN_GAMMA) & MASK64) for i in (1, 2, 3)]
    p, q = (((2 * (x >> 32) + 1) * 2.0**-33) * ((2 * (x & 0xFFFFFFFF) + 1) * 2.0**-33) for x in h[:2])
    beta = (h[2] >> 12) * 2.0**-52
    r, log_c = -natural_log(p), natural_log(-natural_log(q))
    level = math.floor(natural_log(weight / WEIGHT_UNIT) / r + beta)
    return log_c - r * ((level - beta) + 1.0), float(level)


def _total_weights(fingerprints: Sequence[int], weights: Weights) -> dict[int, int]:
    totals: dict[int, int] = {}
    for f, weight in weigh(fingerprints, weights):
        totals[f] = totals.get(f, 0) + weight
    return totals


def weighted_signature(
    fingerprints: Sequence[int], num_perm: int = 84, weights: Weights = None, seed: int = 1
) -> list[int]:
    """Compute consistent weighted samples, 32 bits each: two documents agree in one with the probability `weighted_jaccard`.

    The weight of a feature is the sum of the weights of its occurrences; it is positive, or the feature is not there.
    Without features every value is 2^32 - 1.
    """
    totals = _total_weights(fingerprints, weights)
    present = {z: total for z, total in zip(permute(totals, seed), totals.values(), strict=True) if total}
    if not present:
        return [0xFFFFFFFF] * num_perm
    values = []
    for j in range(num_perm):
        samples = {z: weighted_sample(z, total, j) for z, total in present.items()}
        z = min(samples, key=lambda z: (samples[z][0], z))
        values.append(fmix64((z + int(samples[z][1]) * GOLDEN_GAMMA) & MASK64) >> 32)
    return values


def b_bits(minima: Sequence[int], kept: int) -> bytes:
    """Pack the highest ``kept`` bits of fmix64(minimum + (j + 1)·γ) for each minimum and its place j, lowest first.

    Li and König 2010, b-Bit minwise hashing, keep the lowest bits of independent permutations. Those of linear permutations
    depend on each other: the lowest bits of all minima of two documents of one shingle agree, or none does.
    """
    fields = (fmix64((z + j * GOLDEN_GAMMA) & MASK64) >> (64 - kept) for j, z in enumerate(minima, 1))
    packed = sum(field << j * kept for j, field in enumerate(fields))
    return packed.to_bytes((len(minima) * kept + 7) // 8, "little")


def b_bit_resemblance(a: bytes, b: bytes, num_perm: int, kept: int) -> Fraction:
    """Estimate the resemblance from the share of fields that agree; of different minima, 2^-kept do by chance."""
    x, y = int.from_bytes(a, "little"), int.from_bytes(b, "little")
    mask, chance = (1 << kept) - 1, Fraction(1, 1 << kept)
    agree = sum((x >> j * kept & mask) == (y >> j * kept & mask) for j in range(num_perm))
    return max(Fraction(0), (Fraction(agree, num_perm) - chance) / (1 - chance))


def weighted_jaccard(a: Sequence[int], b: Sequence[int], weights: Weights = None) -> Fraction:
    """Compute the sum of the smaller weights over the sum of the larger ones."""
    ours, theirs = _total_weights(a, weights), _total_weights(b, weights)
    both = [(ours.get(f, 0), theirs.get(f, 0)) for f in ours.keys() | theirs.keys()]
    return Fraction(sum(map(min, both)), sum(map(max, both)))


# ---------------------------------------------------------------------------------------------- lists of terms


def list_signature(zs: Iterable[int], least: int = 1) -> int:
    """Sign a list of permuted fingerprints: their sum mod 2^64, or 2^64 - 1 where that is 0; 0 for fewer than ``least``."""
    listed = list(zs)
    return (sum(listed) & MASK64 or MASK64) if len(listed) >= max(1, least) else 0


def bucket_signatures(fingerprints: Iterable[int], buckets: int = 8, least: int = 1, seed: int = 1) -> list[int]:
    """Sign each bucket of a document's terms; a term is in bucket z mod ``buckets``, z = π(f).

    Pugh and Henzinger, "Detecting duplicate and near-duplicate files", US patent 6,658,423 (2003, expired).
    """
    zs = set(permute(fingerprints, seed))
    return [list_signature((z for z in zs if z % buckets == bucket), least) for bucket in range(buckets)]


def normalised_idf(documents: int, frequency: int) -> Decimal:
    """Compute log(documents / frequency) / log(documents), to 50 digits: 1 for a term of one document, 0 for one of all."""
    exact = Context(prec=50)
    return exact.divide(exact.ln(exact.divide(Decimal(documents), Decimal(frequency))), exact.ln(Decimal(documents)))


def imatch_signatures(
    fingerprints: Iterable[int], lexicon: Iterable[int], lexicons: int = 10, removed: float = 0.3, least: int = 1,
    seed: int = 1,
) -> list[int]:
    """Sign the terms of a document that are in a lexicon, and those in each of ``lexicons`` random parts of it.

    Lexicon j = 1, 2, … is without the terms for which h_j(z) = a_j·z + b_j mod 2^64, the permutation of a signature of 64
    bits, is below removed · 2^64 (rounded down). Chowdhury, Frieder, Grossman, McCabe 2002 (I-Match); Kołcz, Chowdhury,
    Alspector 2004 (random lexicons).
    """
    _, a, b = key_and_coefficients(seed, lexicons)
    known, limit = set(lexicon), int(Fraction(removed) * (1 << 64))
    zs = set(permute((f for f in fingerprints if f in known), seed))
    random = [[z for z in zs if ((a_j | 1) * z + b_j) & MASK64 >= limit] for a_j, b_j in zip(a, b, strict=True)]
    return [list_signature(members, least) for members in (zs, *random)]


# ---------------------------------------------------------------------------------------------- winnowing


def select(values: Sequence[int], window: int, robust: bool = True) -> Selected:
    """Select (value, position) of the smallest value of every window of consecutive values, each position once.

    Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003, sections 4 and 5,
    DOI 10.1145/872757.872770. Of several smallest values the rightmost is selected; with ``robust`` the one that the window
    before selected, if it is among them. A sequence shorter than a window is one window.

    Written from definitions 2 and 5, and not from Figure 5, in which the authors found two errors
    (https://homepages.warwick.ac.uk/~masgar/Maths/winnowing.html): an index below zero, and a buffer that begins with
    INT_MAX instead of the first window.
    """
    if window < 1:
        raise ValueError(f"window is {window}; give an integer >= 1")
    positions: list[int] = []
    for begin in range(max(1, len(values) - window + 1) if values else 0):
        inside = range(begin, min(begin + window, len(values)))
        least = min(values[i] for i in inside)
        smallest = [i for i in inside if values[i] == least]
        if robust and positions and positions[-1] in smallest:
            continue
        if not positions or positions[-1] != smallest[-1]:
            positions.append(smallest[-1])
    return [(values[i], i) for i in positions]


def winnow(fingerprints: Iterable[int], window: int, seed: int = 1, robust: bool = True) -> Selected:
    """Winnow the permuted fingerprints z = π(f) of a document, in order: (z, position of the shingle)."""
    return select(permute(fingerprints, seed), window, robust)
