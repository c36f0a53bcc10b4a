"""Write the golden vectors tests/vectors/*.json from ndcore.reference.  Deterministic; --check only compares.

    python tools/vectors.py [--check] [--output DIRECTORY] [STEM ...]

Expectations flow reference -> vectors -> portable kernels -> variants, never back: run this only after a change of the
reference that the contract asks for. The header of a file, which says what its members are, is written by hand and kept.

text.json and scan.json hold their own cases. A row with "text" and "expected", tokens between "|", as in {"note": "…",
"unit": "word", "normalize": null, "text": "don't", "expected": "don|t"}, is a case typed by hand from the definitions in
DESIGN.md: it becomes a vector where the reference agrees. Tokens of a row are never changed, but for those of "mixed"
inputs, which nobody typed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from written_file import ROOT, write_files

from ndcore.reference import clustering, collection, hamming, other_tools, rabin, resemblance, shingling, text
from ndcore.reference import sketches as reference

VECTORS = ROOT / "tests" / "vectors"
LENGTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
DEGREES = (1, 2, 8, 13, 16, 32, 53, 63, 64)
LONG = 40
TEXTS = ("text", "scan")  # files of texts and their tokens
P, Q, R = rabin.POLYNOMIAL, rabin.TOKEN_POLYNOMIAL, rabin.FEATURE_POLYNOMIAL
OTHER = rabin.random_irreducible(64, 4)


# ---- inputs


def pattern(n: int) -> bytes:
    return bytes(i % 251 for i in range(n))


def random_bytes(n: int, seed: int) -> bytes:
    return b"".join(value.to_bytes(8, "big") for value in random_values((n + 7) // 8, seed))[:n]


def random_values(n: int, seed: int) -> list[int]:
    outputs = rabin.splitmix64(seed)
    return [next(outputs) for _ in range(n)]


def byte_inputs() -> dict[str, bytes]:
    inputs = {f"pattern_{n}": pattern(n) for n in LENGTHS}
    inputs |= {f"random_{n}": random_bytes(n, 1000 + n) for n in LENGTHS if n}
    return inputs | {"zeros_9": bytes(9), "ones_16": b"\xff" * 16, "zeros_9_then_a": bytes(9) + b"a", "a": b"a"}


def random_words(n: int, seed: int) -> list[bytes]:
    """n words of a to z, 1 to 20 letters, from one SplitMix64: length, then each letter."""
    outputs = rabin.splitmix64(seed)
    return [bytes(97 + next(outputs) % 26 for _ in range(1 + next(outputs) % 20)) for _ in range(n)]


def inverse_permutation(z: int, seed: int) -> int:
    """The fingerprint f with fmix64(f XOR key) = z."""
    for factor in (0xC4CEB9FE1A85EC53, 0xFF51AFD7ED558CCD):
        z ^= z >> 33
        z = z * pow(factor, -1, 2**64) % 2**64
    return z ^ z >> 33 ^ reference.key_and_coefficients(seed, 0)[0]


# ---- forms


def values(items: Sequence[int]) -> list[str] | dict[str, Any]:
    if len(items) <= LONG:
        return [hex(item) for item in items]
    digest = hashlib.sha256(b"".join(item.to_bytes(8, "big") for item in items)).hexdigest()
    return {"count": len(items), "first": hex(items[0]), "last": hex(items[-1]), "sha256": digest}


def in_hex(lists: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
    return {name: [hex(item) for item in items] for name, items in lists.items()}


def dump(document: dict[str, Any], ascii: bool = False) -> str:
    """JSON with one line for each entry of a member, so that a difference shows which case moved."""
    lines = []
    for name, member in document.items():
        if isinstance(member, str):
            lines.append(f" {json.dumps(name)}: {json.dumps(member)}")
            continue
        if isinstance(member, dict):
            entries = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=ascii)}" for key, value in member.items()]
        else:
            entries = [json.dumps(value, ensure_ascii=ascii) for value in member]
        opening, closing = "{}" if isinstance(member, dict) else "[]"
        lines.append(f" {json.dumps(name)}: {opening}\n  " + ",\n  ".join(entries) + f"\n {closing}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


# ---- gf2


def gf2_vectors() -> dict[str, Any]:
    operands = [0, 1, 2, 3, *(random_bits(n) for n in (3, 8, 9, 31, 32, 33, 63, 64, 65)), 1 << 63, 2**64 - 1, 1 << 64]
    exponents = (0, 1, 2, 3, 7, 8, 63, 64, 65, 2**32, 2**63, 2**64 - 1)
    candidates = [(1 << d) | (v % (1 << d)) for d in (13, 16, 32, 53, 63, 64) for v in random_values(24, 2000 + d)]
    return {
        "constants": {"P": hex(P), "Q": hex(Q), "R": hex(R)},
        "splitmix64": [
            {"seed": hex(seed), "outputs": values(random_values(8, seed))} for seed in (0, 1, 2, 3, 1234567, 2**64 - 1)
        ],
        "arithmetic": [arithmetic(a, b) for a in operands for b in operands],
        "powmod": [
            {"exponent": hex(e), "p": hex(p), "power": hex(rabin.powmod(rabin.X, e, p))}
            for p in (rabin.random_irreducible(d, 1) for d in DEGREES)
            for e in exponents
        ],
        "irreducible_up_to_degree_8": [hex(f) for f in range(512) if rabin.is_irreducible(f)],
        "irreducible": [{"f": hex(f), "irreducible": rabin.is_irreducible(f)} for f in candidates],
        "random_irreducible": [
            {"degree": d, "seed": hex(seed), "polynomial": hex(rabin.random_irreducible(d, seed))}
            for d in (*range(1, 65), 65, 127, 128, 129)
            for seed in (1, 2, 3)
        ],
    }


def random_bits(n: int) -> int:
    """A polynomial of exactly n bits."""
    return (1 << (n - 1)) | int.from_bytes(random_bytes((n + 7) // 8, 3000 + n), "big") % (1 << (n - 1))


def arithmetic(a: int, b: int) -> dict[str, str]:
    case = {"a": hex(a), "b": hex(b), "product": hex(rabin.mul(a, b)), "gcd": hex(rabin.gcd(a, b))}
    if b:
        quotient, remainder = rabin.divmod_(a, b)
        case |= {"quotient": hex(quotient), "remainder": hex(remainder)}
    return case


# ---- rabin


def rabin_vectors() -> dict[str, Any]:
    inputs = byte_inputs()
    polynomials = [*(rabin.random_irreducible(d, 1) for d in DEGREES), Q, R, OTHER]
    splits = [("pattern_0", "random_8"), ("random_9", "pattern_0"), ("random_3", "random_1"), ("random_65", "random_64")]
    splits += [("random_1", "pattern_257"), ("pattern_257", "random_1"), ("a", "zeros_9"), ("zeros_9", "a")]
    return {
        "inputs": {name: data.hex() for name, data in inputs.items()},
        "fingerprint": [
            {"p": hex(p), "values": {name: hex(rabin.fingerprint(data, p)) for name, data in inputs.items()}}
            for p in polynomials
        ],
        "sliding": list(sliding_cases(inputs, polynomials)),
        "concat": [
            {"p": hex(p), "a": a, "b": b, **concat_case(inputs[a], inputs[b], p)}
            for p in polynomials
            for a, b in splits
        ],
        "a_then_zeros": [
            {"p": hex(p), "fa": hex(fa), "len_b": hex(n), "value": hex(rabin.concat(fa, 0, n, p))}
            for p in polynomials
            for fa in (rabin.fingerprint(b"a", p),)
            for n in (0, 1, 2, 7, 8, 9, 4096, 2**20, 2**32 - 1, 2**32, 2**40 + 1, 2**61 - 1)
        ],
        "words": [
            {"p": hex(p), "words": values(w), "value": hex(rabin.words(w, p))}
            for p in polynomials
            for w in (*(random_values(n, 7) for n in range(10)), [0], [0, 0], [0, 1], [1, 0], [2**64 - 1] * 3)
        ],
    }


def sliding_cases(inputs: dict[str, bytes], polynomials: Sequence[int]) -> Iterator[dict[str, Any]]:
    for p in polynomials:
        full = p == P
        for name in ("pattern_257", "random_129", "random_33", "random_8", "pattern_0") if full else ("random_33",):
            for window in (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 129, 257):
                if full or window in (1, 7, 8, 9, 33, 63):
                    found = rabin.sliding(inputs[name], window, p)
                    yield {"p": hex(p), "input": name, "window": window, "values": values(found)}


def concat_case(a: bytes, b: bytes, p: int) -> dict[str, Any]:
    fa, fb = rabin.fingerprint(a, p), rabin.fingerprint(b, p)
    return {"fa": hex(fa), "fb": hex(fb), "len_b": len(b), "value": hex(rabin.concat(fa, fb, len(b), p))}


# ---- shingling


def odd_tokens() -> list[bytes]:
    escape = b"\x01" + bytes(8)
    odd = [b"", b"\x00", bytes(7), bytes(8), bytes(9), b"\x00a", b"\x00" + b"a" * 8, b"\x01", b"\x01" + bytes(7)]
    odd += [escape, escape + b"a", escape + escape, b"\x02" + bytes(8), b"\x80" + bytes(7), b"\xff" * 8, b"\xff" * 9]
    return [*odd, Q.to_bytes(9, "big"), P.to_bytes(9, "big"), R.to_bytes(9, "big"), "中文".encode(), "é".encode() * 5]


def token_documents() -> dict[str, list[bytes]]:
    documents = {f"words_{n}": random_words(n, 5000 + n) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33)}
    documents["words_257"] = random_words(257, 5257)
    documents |= {f"bytes_{n}": [random_bytes(1 + (7 * i) % 40, 6000 + i) for i in range(n)] for n in (8, 41)}
    documents["rose"] = b"a rose is a rose is a rose".split()
    documents["flower"] = b"a rose is a flower which is a rose".split()
    documents["same_300"] = [b"same"] * 300
    documents["two_129"] = [b"yes", b"no"] * 64 + [b"yes"]
    documents["odd"] = odd_tokens()
    for first, second in ((b"cat", b"dogelephant"), (b"dog", b"catelephant")):
        documents[f"{first.decode()}_{second.decode()}"] = [first, second]
        documents[f"{second.decode()}_{first.decode()}"] = [second, first]
        documents[f"the_{first.decode()}_{second.decode()}_ran"] = [b"the", first, second, b"ran"]
        documents[f"the_{second.decode()}_{first.decode()}_ran"] = [b"the", second, first, b"ran"]
    return documents


def shingling_vectors() -> dict[str, Any]:
    documents = token_documents()
    inputs = byte_inputs()
    sized = [pattern(n) for n in range(1, 41)] + [random_bytes(n, 4000 + n) for n in range(1, 41)]
    return {
        "symbols": {token.hex(): hex(shingling.symbol(token)) for token in [*sized, *odd_tokens()]},
        "other_symbols": {
            hex(q): {token.hex(): hex(shingling.symbol(token, q)) for token in [*sized[30:50], *odd_tokens()]}
            for q in (P, OTHER)
        },
        "random": [
            {"seed": seed, "polynomials": values(shingling.polynomials_of(shingling.secret_of(seed)))}
            for seed in (0, 1, 2, 3, 1 << 63, 2**64 - 1)
        ],
        "labels": [
            {"f": hex(f), "occurrence": k, "value": hex(shingling.label(f, k))}
            for f in (0, 1, 2**64 - 1, *random_values(2, 9))
            for k in (1, 2, 3, 255, 256, 2**32 + 1)
        ],
        "documents": {name: [token.hex() for token in document] for name, document in documents.items()},
        "tokens": [{"document": name, **shingling_case(shingling.of_tokens, document, *case)}
                   for name, document in documents.items() for case in cases(document)],
        "inputs": {name: data.hex() for name, data in inputs.items()},
        "bytes": [{"input": name, **shingling_case(shingling.of_bytes, data, *case)}
                  for name, data in inputs.items() for case in byte_cases(data)],
    }


Case = tuple[int, bool, str, int]


def cases(document: Sequence[bytes]) -> Iterator[Case]:
    """(width, labelled, short, polynomial) worth a vector for this document."""
    for width in range(1, 9):
        yield width, False, "whole", P
        if len(document) >= 8:
            yield width, True, "whole", P
        elif len(document) < width:
            yield width, False, "skip", P
            yield width, False, "error", P
    yield 5, False, "whole", OTHER


def byte_cases(data: bytes) -> Iterator[Case]:
    for width in (1, 2, 5, 7, 8, 9, 16, 33):
        yield width, False, "whole", P
        if 0 < len(data) < width:
            yield width, False, "skip", P
    yield 5, True, "whole", P
    yield 5, False, "error", P
    yield 8, False, "whole", OTHER


def shingling_case(
    function: Callable[..., list[int]], document: Any, width: int, labelled: bool, short: str, polynomial: int
) -> dict[str, Any]:
    case = {"width": width, "labelled": labelled, "short": short, "polynomial": hex(polynomial)}
    refused = short == "error" and 0 < len(document) < width
    return case | {"fingerprints": None if refused else values(function(document, width, labelled, short, polynomial))}


# ---- minhash


def fingerprint_sets() -> dict[str, list[int]]:
    sets = {f"random_{n}": random_values(n, 8000 + n) for n in LENGTHS}
    sets["small"] = list(range(300))
    sets["repeats"] = [value for value in random_values(70, 8500) for _ in range(3)]
    sets["zero"] = [0]
    sets["ones"] = [2**64 - 1]
    for name, zs in crafted_images().items():
        sets[name] = [inverse_permutation(z, 1) for z in zs]
    return sets


def crafted_images() -> dict[str, list[int]]:
    """Values of z under seed 1 that are awkward for a heap, for truncation or for a modulus."""
    return {
        "z_zero": [0],
        "z_ones": [2**64 - 1],
        "z_ascending": [i << 40 for i in range(1, 258)],
        "z_descending": [i << 40 for i in range(257, 0, -1)],
        "z_alternating": [(i if i % 2 else 600 - i) << 33 for i in range(300)],
        "z_equal_above_bit_24": [(5 << 24) | i for i in range(129)] + [(7 << 24) | i for i in range(3)],
        "z_equal_above_bit_32": [(5 << 32) | (i << 20) for i in range(129)] + [(3 << 32) | i for i in range(2)],
        "z_powers": [1 << i for i in range(64)] * 2,
    }


def minhash_vectors() -> dict[str, Any]:
    sets = fingerprint_sets()
    seeds = (1, 2, 0, 2**64 - 1)
    zs = (0, 1, 2, 2**32, 2**63, 2**64 - 1, *random_values(16, 11))
    levels = (0, 1, 49, 50, 99, 100, 199, 200, 399, 400, 799, 800, 3199, 3200, 10**6)
    return {
        "fmix64": {hex(z): hex(reference.fmix64(z)) for z in zs},
        "key": [
            {"seed": hex(seed), "key": hex(key), "a": [hex(v) for v in a], "b": [hex(v) for v in b]}
            for seed in seeds
            for key, a, b in (reference.key_and_coefficients(seed, 200 if seed == 1 else 4),)
        ],
        "sets": in_hex(sets),
        "permuted": [
            {"set": name, "seed": hex(seed), "values": values(reference.permute(sets[name], seed))}
            for name in ("random_33", "small", "z_powers", "zero", "ones")
            for seed in seeds
        ],
        "signatures": [
            {"set": name, "bits": bits, "seed": hex(seed), **signature_case(name, found, bits, seed)}
            for name, found in sets.items()
            for bits in reference.SIGNATURE_BITS
            for seed in (seeds if name in ("random_0", "random_33", "repeats") else seeds[:1])
        ],
        "bottoms": [
            {"set": name, "size": size, "bits": bits, "seed": hex(seed), "values": values(found)}
            for name in sets
            for bits in reference.BOTTOM_BITS
            for size in (1, 2, 3, 7, 8, 9, 64, 100, 128, 129, 200, 256, 1000)
            for seed in (seeds if (name, size) == ("random_257", 100) else seeds[:1])
            for found in (reference.bottom(sets[name], size, bits, seed),)
        ],
        "mods": [
            {"set": name, "modulus": hex(m), "seed": "0x1", "values": values(reference.mod(sets[name], m, 1))}
            for name in ("random_0", "random_1", "random_257", "small", "repeats", "z_zero", "z_ones", "z_powers")
            for m in (1, 2, 3, 7, 8, 25, 64, 255, 2**32, 2**63, 2**64 - 1)
        ],
        "adaptives": [
            {"set": name, "seed": "0x1", "level": level, "values": values(found)}
            for name in sets
            for level, found in (reference.adaptive(sets[name], 1),)
        ],
        "levels": {str(n): reference.adaptive_level(n) for n in levels},
        "streams": [
            {"n": n, "level": level, "values": values(found)}
            for n in (99, 100, 199, 200, 1599, 1600, 12799, 12800)
            for level, found in (reference.adaptive(random_values(n, 8600), 1),)
        ],
        "overlaps": [
            {"modulus": m, "a": list(a), "b": list(b), "counts": list(counts)}
            for m in (1, 3, 25, "adaptive")
            for a, b in (((0, 1000), (500, 1500)), ((0, 90), (10, 3000)), ((0, 3000), (2990, 3005)), ((0, 0), (0, 50)))
            for counts in (overlap_counts(a, b, m),)
        ],
    }


def overlap_counts(a: tuple[int, int], b: tuple[int, int], modulus: Any) -> tuple[int, int, int]:
    outputs = random_values(3005, 8600)
    bags = [outputs[slice(*part)] for part in (a, b)]
    if modulus == "adaptive":
        (common, total), (_, in_a) = resemblance.adaptive_counts(*(reference.adaptive(bag) for bag in bags))
    else:
        (common, total), (_, in_a) = resemblance.mod_counts(*(reference.mod(bag, modulus) for bag in bags))
    return common, total, in_a


def signature_case(name: str, found: list[int], bits: int, seed: int) -> dict[str, Any]:
    minima = reference.signature(found, 200, bits, seed)
    case: dict[str, Any] = {"num_perm": 200, "values": values(minima)}
    if name in ("random_0", "random_1", "random_33", "z_ones"):
        case["full"] = [hex(v) for v in minima]
    return case


# ---- winnow


def sequences() -> dict[str, list[int]]:
    few = [drawn % 4 for drawn in random_values(300, 9100)]
    ascending = [inverse_permutation(z, 1) for z in range(300)]
    return {
        **{f"random_{n}": random_values(n, 9000 + n) for n in (0, 1, 2, 15, 16, 17, 63, 64, 65, 1500)},
        "few": few, "equal": [5] * 200, "ascending": ascending, "descending": ascending[::-1],
        "rows": random_values(7, 9200) * 60,
    }


def winnow_vectors() -> dict[str, Any]:
    paper = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    return {
        "paper": [{"values": paper, "window": 4, "selected": [[hex(z), at] for z, at in reference.select(paper, 4)]}],
        "sequences": in_hex(sequences()),
        "winnowed": [
            {"sequence": name, "window": window, "robust": robust, "seed": hex(seed),
             "values": values([z for z, _ in found]), "positions": values([at for _, at in found])}
            for name, given in sequences().items()
            for window in (1, 2, 3, 16, 64, 600)
            for robust in (True, False)
            for seed in ((1, 2**64 - 1) if name == "random_1500" else (1,))
            for found in (reference.winnow(given, window, seed, robust),)
        ],
    }


# ---- weighted sets


def weighted_vectors() -> dict[str, Any]:
    bags = {name: given[:200] for name, given in sequences().items()}
    numbers = [value * 2.0**power for value in (1.0, 1.2, 1.4142135623730949, 1.4142135623730951, 1.9999999999999998)
               for power in (-70, -33, -1, 0, 1, 47)]
    return {
        "logarithms": [[x.hex(), reference.natural_log(x).hex()] for x in numbers],
        "bags": in_hex(bags),
        "signatures": [
            {"bag": name, "num_perm": num_perm, "seed": hex(seed), "counted": weights is None,
             "values": values(reference.weighted_signature(bag, num_perm, weights, seed))}
            for name, bag in bags.items() for num_perm, seed in ((5, 1), (70, 2**64 - 1))
            for weights in (None, [i % 7 / 4 for i in range(len(bag))])
        ],
    }


# ---- lists of terms


def term_list_vectors() -> dict[str, Any]:
    bags = {name: given[:300] for name, given in sequences().items()}
    frequencies = [(documents, df) for documents in (2, 3, 10, 1000, 2**40) for df in (1, 2, documents - 1, documents)]
    return {
        "bags": in_hex(bags),
        "buckets": [
            {"bag": name, "buckets": buckets, "least": least, "seed": hex(seed),
             "values": [hex(z) for z in reference.bucket_signatures(bag, buckets, least, seed)]}
            for name, bag in bags.items() for buckets, least, seed in ((1, 1, 1), (4, 1, 2**64 - 1), (16, 4, 1), (64, 2, 7))
        ],
        "imatch": [
            {"bag": name, "lexicons": lexicons, "removed": removed, "least": least, "seed": hex(seed),
             "values": [hex(z) for z in reference.imatch_signatures(bag, bag[::3], lexicons, removed, least, seed)]}
            for name, bag in bags.items()
            for lexicons, removed, least, seed in ((0, 0.3, 1, 1), (5, 0.3, 4, 1), (9, 0.9, 1, 3))
        ],
        "idf": [[documents, df, f"{reference.normalised_idf(documents, df):.20f}"] for documents, df in frequencies],
    }  # fmt: skip


# ---- simhash


def feature_bags() -> dict[str, list[int]]:
    bags = {f"random_{n}": random_values(n, 8000 + n) for n in LENGTHS}
    bags["repeats"] = [value for value in random_values(70, 8500) for _ in range(3)][:200]
    bags["small"] = list(range(300))
    images = {
        "z_zero": [0],
        "z_ones": [2**64 - 1],
        "z_tie": [0, 2**64 - 1] * 40,
        "z_one_more": [0, 2**64 - 1] * 40 + [2**64 - 1],
        "z_once_less": [0, 1, 2, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1],
        "z_steps": [sum(1 << b for b in range(64) if i < 2 * b) for i in range(128)],
    }
    return bags | {name: [inverse_permutation(z, 1) for z in zs] for name, zs in images.items()}


def weight_lists(n: int) -> dict[str, list[float]]:
    """Weights for n features: they differ in size, sign, and in what is beyond 2^-16."""
    outputs = random_values(n, 9100 + n)
    largest = 2.0**15 - 2.0**-16
    return {
        "fractions": [(v % 2**40) / 2**33 - 64 for v in outputs],
        "halves_of_units": [(v % 9 - 4) / 2**17 for v in outputs],
        "largest": [largest if v % 2 else -largest for v in outputs],
        "all_sizes": [(-1.0) ** (v >> 40) * 2.0 ** (v % 31 - 16) for v in outputs],
        "few": [float(v % 3 == 0) for v in outputs],
        "none": [0.0] * n,
    }


def simhash_vectors() -> dict[str, Any]:
    bags = feature_bags()
    known = {f: (f % 1000 - 500) / 64 for bag in bags.values() for f in bag if f % 3}
    fixed = (0, 1, -1, 0.1, 2.0**-16, 2.0**-17, 3 * 2.0**-17, 5 * 2.0**-17, -(2.0**-17), 1e-300, 32767.99999, -32767.5)
    return {
        "bags": in_hex(bags),
        "units": [[weight, reference.weight_units(weight)] for weight in fixed],
        "simhashes": [
            {
                "bag": name, "seed": hex(seed), "value": hex(reference.simhash(bag, None, seed)),
                "distinct": hex(reference.simhash(bag, "distinct", seed)),
                "mapped": hex(reference.simhash(bag, known, seed)),
                "sums": [v // reference.WEIGHT_UNIT for v in reference.simhash_sums(bag, None, seed)],
            }
            for name, bag in bags.items()
            for seed in ((1, 2, 0, 2**64 - 1) if name in ("random_0", "random_33", "repeats") else (1,))
        ],
        "weighted": [
            {"bag": name, "weights": weights, "value": hex(reference.simhash(bag, weights)),
             "sums": reference.simhash_sums(bag, weights)}
            for name, bag in bags.items()
            if len(bag) in (0, 1, 2, 3, 8, 33, 80)
            for weights in weight_lists(len(bag)).values()
        ],
        "wide": [
            {
                "bag": name, "seed": hex(seed), "bits": bits, "value": hex(reference.simhash(bag, None, seed, bits)),
                "distinct": hex(reference.simhash(bag, "distinct", seed, bits)),
                "mapped": hex(reference.simhash(bag, known, seed, bits)),
                "weighted": hex(reference.simhash(bag, weight_lists(len(bag))["fractions"], seed, bits)),
            }
            for name, bag in bags.items()
            if len(bag) <= 300
            for bits in (128, 256)
            for seed in ((1, 2**64 - 1) if name in ("random_33", "repeats") else (1,))
        ],
        "idf": [
            [documents, frequency, reference.idf(documents, frequency)]
            for documents in (0, 1, 2, 3, 7, 100, 10**6, 2**32 - 1)
            for frequency in (0, 1, 2, 3, 50, 10**6, 2**32 - 1)
            if frequency <= documents
        ],
    }


# ---- other tools


def source_of(n: int) -> bytes:
    """n random bytes, most of them letters and digits, with line ends among them."""
    alphabet = b"abcdefghijklmnopqrstuvwxyzABCXYZ0123456789 _;{\n\n\r\x00\xc3\xff"
    return bytes(alphabet[value % len(alphabet)] for value in random_values(n, 9500 + n))


def other_tools_vectors() -> dict[str, Any]:
    sets = {f"random_{n}": random_values(n, 9400 + n) for n in (0, 1, 2, 17, 600)}
    sets |= {"low": [*range(5), 2**31, 2**32 - 1], "ones": [2**64 - 1]}
    tokens = ["", "a", "rose", "中文", "x" * 70]
    texts = ["", "a", "abc", "A rose is a rose is a rose.", "a_b-c", "中文字符的测试", "É İ ß ﬁ 𝒳 ٣", "yes no " * 60]
    sources = {f"random_{n}": source_of(n) for n in (0, 92, 200, 300, 6000)}
    sources |= {"rows": b"int main(void) { return 0; }\n" * 12, "letters_92": b"a" * 92, "letters_93": b"a" * 93,
                "other_line_ends": source_of(900).replace(b"\n", b"\r\n"), "one_line": source_of(900).replace(b"\n", b"")}
    return {
        "sets": in_hex(sets),
        "permutations": [
            {"scheme": scheme, "seed": seed, "a": values(a), "b": values(b)}
            for scheme in other_tools.SCHEMES
            for seed in (0, 1, 2**32 - 1)
            for a, b in (other_tools.datasketch_permutations(scheme, 20, seed),)
        ],
        "signatures": [
            {"set": name, "scheme": scheme, "num_perm": k, "seed": seed,
             "values": values(other_tools.datasketch_signature(found, scheme, k, seed))}
            for name, given in sets.items()
            for scheme in other_tools.SCHEMES
            for found in ([f % 2**32 for f in given] if scheme == "affine32" else given,)
            for k, seed in ((7, 1), (128, 1), (40, 2**32 - 1))
        ],
        "tokens": {
            token: [hex(other_tools.datasketch_hash(token.encode(), scheme)) for scheme in ("affine32", "affine64")]
            + [hex(other_tools.package_hash(token.encode(), package)) for package in ("1e0ng", "seomoz")]
            for token in tokens
        },
        "simhashes": [
            {"set": name, "value": hex(other_tools.package_simhash(found)),
             "weighted": hex(other_tools.package_simhash(found, [i % 7 + 1 for i in range(len(found))]))}
            for name, found in sets.items()
        ],
        "texts": {text: hex(package_value(text)) for text in texts},
        "sources": {name: source.hex() for name, source in sources.items()},
        "scanoss": {
            name: [[line, hex(value)] for line, value in other_tools.scanoss_fingerprints(source)]
            for name, source in sources.items()
        },
    }


def package_value(text: str) -> int:
    features = other_tools.package_features(text)
    return other_tools.package_simhash([other_tools.package_hash(feature.encode(), "1e0ng") for feature in features])


# ---- features


def feature_vectors() -> dict[str, Any]:
    signatures: dict[str, tuple[int, list[int]]] = {
        f"minhash_{n}_{bits}": (bits, reference.signature(random_values(n, 8000 + n), 200, bits, 1))
        for n in (0, 1, 33)
        for bits in reference.SIGNATURE_BITS
    }
    signatures["zeros"] = (32, [0] * 200)
    designs = [(6, 14), (1, 1), (2, 1), (200, 1), (1, 200), (7, 3), (12, 7), (100, 2), (25, 8)]
    filters = [(6, 14, 2), (1, 1, 1), (6, 14, 1), (6, 14, 6), (25, 5, 1), (40, 4, 2), (200, 1, 100)]
    supers = [(6, 14, 1), (6, 14, 2), (6, 14, 6), (1, 1, 1), (7, 3, 3), (12, 7, 4), (25, 8, 2)]
    sketches = {f"minimal_{n}": reference.bottom(random_values(n, 8100 + n), 200, 64, 1) for n in (0, 1, 8, 13, 14, 15, 200)}
    sketches["ends"] = [0, 1, 2**32, 2**63, 2**64 - 1]
    runs = (1, 2, 5, 14, 33, 200)
    resemblances = ("0", "0.1", "0.5", "0.77", "0.8", "0.9", "0.909", "0.975", "0.99", "1")
    return {
        "signatures": {
            name: {"bits": bits, "minima": [hex(v) for v in minima]} for name, (bits, minima) in signatures.items()
        },
        "features": [
            {"signature": name, "groups": k, "group_size": s, "values": values(reference.features(minima, k, s))}
            for name, (_, minima) in signatures.items()
            for k, s in designs
        ],
        "feature": [
            {"j": j, "minima": values(minima), "value": hex(reference.feature(j, minima))}
            for j in (0, 1, 255, 2**32)
            for minima in ([0], [1], [2**64 - 1], random_values(14, 12))
        ],
        "super_features": [
            {"signature": name, "groups": k, "group_size": s, "need": r, "values": values(found)}
            for name, (_, minima) in signatures.items()
            for k, s, r in supers
            for found in (reference.super_features(reference.features(minima, k, s), r),)
        ],
        "super_feature": [
            {"c": c, "features": values(found), "value": hex(reference.super_feature(c, found))}
            for c in (0, 1, 255, 2**32)
            for found in ([0], [1], [2**64 - 1], [1, 2], [2, 1], random_values(6, 13))
        ],
        "sketches": in_hex(sketches),
        "super_shingles": [
            {"sketch": name, "run": run, "values": values(reference.super_shingles(members, run))}
            for name, members in sketches.items()
            for run in runs
        ],
        "meta_sketches": [
            {"sketch": name, "run": run, "size": size, "values": values(reference.meta_sketch(members, run, size))}
            for name, members in sketches.items()
            for run in (2, 14)
            for size in (3, 200)
        ],
        "pass_probability": [
            {"rho": rho, "groups": k, "group_size": s, "need": r, "probability": f"{float(exact):.17g}"}
            for k, s, r in filters
            for rho in resemblances
            for exact in (reference.pass_probability(Fraction(rho), k, s, r),)
        ],
    }


# ---- clustering


def random_graph(n: int, percent: int, seed: int) -> list[clustering.Pair]:
    """Each pair a < b with probability percent/100; resemblance one of 0.5, 0.5625, … 1, so that ties are common."""
    outputs = rabin.splitmix64(seed)
    draws = [(a, b, next(outputs), next(outputs)) for a in range(n) for b in range(a + 1, n)]
    return [(a, b, 0.5 + (second % 9) / 16) for a, b, first, second in draws if first % 100 < percent]


def shuffled(n: int, seed: int) -> list[int]:
    keys = random_values(n, seed)
    return sorted(range(n), key=lambda i: keys[i])


def graphs() -> Iterator[tuple[str, int, list[clustering.Pair]]]:
    yield "empty", 0, []
    yield "one", 1, []
    yield "no pairs", 3, []
    yield "chain", 5, [(i, i + 1, 0.75) for i in range(4)]
    yield "best is not first", 3, [(0, 2, 0.8125), (1, 2, 0.875)]
    yield "tie", 3, [(0, 2, 0.8125), (1, 2, 0.8125)]
    yield "complete", 6, [(a, b, 1.0) for a in range(6) for b in range(a + 1, 6)]
    for n in LENGTHS:
        if 1 < n <= 65:
            for percent in (5, 20, 60):
                yield f"random_{n}_{percent}", n, random_graph(n, percent, 9000 + 100 * n + percent)


def clustering_vectors() -> dict[str, Any]:
    return {
        "graphs": {name: {"n": n, "pairs": pairs} for name, n, pairs in graphs()},
        "cases": [
            {
                "graph": name,
                "order": order,
                "star": clustering.star(n, pairs, order),
                "greedy": clustering.greedy(n, pairs, order),
                "components": clustering.components(n, pairs, order),
            }
            for name, n, pairs in graphs()
            for order in ([*range(n)], [*range(n)][::-1], shuffled(n, 77 + n))
        ],
    }


# ---- fourphase


def collections() -> Iterator[tuple[str, list[collection.Sketch]]]:
    sketch = collection.Sketch
    yield "empty", []
    yield "one", [sketch(1, [0, 2**64 - 1])]
    yield "empty samples", [sketch(4, []), sketch(4, []), sketch(1, [1]), sketch(1, [1])]
    yield "parts", [sketch(1, range(1, 11)), sketch(1, range(1, 6)), sketch(1, range(4, 14))]
    yield "drifting", [sketch(1, range(i, i + 8)) for i in (0, 2, 2, 2, 4, 4, 4, 6, 6, 8)]
    yield "drifting by one", [sketch(1, range(i, i + 6)) for i in (1, 2, 3, 2, 3, 4, 3, 4, 5, 9)]
    yield "common", [sketch(25, sorted({25, 50, 75, *range(100 * i, 100 * i + 175, 25)})) for i in range(6)]
    yield "moduli", [sketch(m, range(m * -(-i // m), i + 48, m)) for i in (1, 9) for m in (1, 2, 4, 8)]
    for n, seed in ((12, 1), (24, 2)):
        yield f"fixed_{n}", random_sketches(seed, [25] * n)
        yield f"adaptive_{n}", random_sketches(seed, [1 << value % 3 for value in random_values(n, seed)])


def random_sketches(seed: int, moduli: Sequence[int]) -> list[collection.Sketch]:
    """Windows of 24 from one sequence of 48 values, less some members; every fifth sketch is the one before."""
    universe = [value // 25 * 25 if moduli[0] == 25 else value >> value % 3 for value in random_values(48, 7000 + seed)]
    outputs = rabin.splitmix64(7100 + seed)
    found: list[collection.Sketch] = []
    for i, m in enumerate(moduli):
        start, dropped = next(outputs) % 24, next(outputs) & next(outputs) & next(outputs)
        window = [z for j, z in enumerate(universe[start : start + 24]) if z % m == 0 and not dropped >> j & 1]
        found.append(found[-1] if i % 5 == 4 else collection.Sketch(m, sorted(window)))
    return found


def fourphase_vectors() -> dict[str, Any]:
    return {
        "collections": {
            name: [[m, [hex(z) for z in members]] for m, members in sketches] for name, sketches in collections()
        },
        "entries": {
            name: [[hex(z), i] for z, i in collection.entries(sketches, collection.collapse(sketches))]
            for name, sketches in collections()
        },
        "cases": [
            {"collection": name, **fourphase_case(sketches, order, threshold, max_holders)}
            for name, sketches in collections()
            for order in ([*range(len(sketches))], shuffled(len(sketches), 78))
            for threshold, max_holders in ((0.5, 1000), (0.25, 1 + len(sketches) // 3), (0.75, 1000))
        ],
    }


def fourphase_case(
    sketches: Sequence[collection.Sketch], order: list[int], threshold: float, max_holders: int, run: int = 3
) -> dict[str, Any]:
    leaders = collection.collapse(sketches, order)
    shingles = collection.entries(sketches, leaders)
    common = collection.common_shingles(shingles, max_holders)
    shared = collection.counts(shingles, common)
    proposed = collection.super_shingle_candidates(sketches, leaders, run, max_holders, shared)
    pairs = collection.estimates(sketches, shared, min(0.5, threshold))

    def clusters(kind: Any, policy: Any) -> list[int]:
        return collection.restore(collection.cluster_pairs(len(sketches), pairs, threshold, kind, policy, order), leaders)

    def greedy(representative: Any) -> list[int]:
        return collection.restore(collection.greedy(sketches, leaders, common, threshold, representative, order), leaders)

    return {
        "order": order, "threshold": threshold, "max_holders": max_holders, "run": run, "leaders": leaders,
        "common": [[hex(z), *rest] for z, *rest in common], "counts": [[*pair, count] for pair, count in shared.items()],
        "super_shingles": [[*pair, count] for pair, count in proposed.items()],
        "pairs": pairs, "contained": collection.contained(pairs, threshold),
        **{kind: {policy: clusters(kind, policy) for policy in collection.POLICIES} for kind in collection.CLUSTERINGS},
        "greedy": {representative: greedy(representative) for representative in collection.REPRESENTATIVES},
    }


# ---- compressed


def ascending_sets() -> dict[str, list[int]]:
    wide = random_values(3000, 3000)
    return {
        "nothing": [], "zero": [0], "ones": [2**64 - 1], "zeros": [0] * 3,
        "random_700": sorted(wide[:700]), "repeats_3000": sorted(value >> 57 for value in wide),
        "numbers_3000": list(range(3000)), "ends": [0, 1, 2**63 - 1, 2**63, 2**64 - 1],
        "clusters_2000": sorted(wide[i % 20] ^ (value & 0xFFF) for i, value in enumerate(wide[:2000])),
    }


def compressed_vectors() -> dict[str, Any]:
    return {"cases": [compressed_case(name, values) for name, values in ascending_sets().items()]}


def compressed_case(name: str, fingerprints: list[int]) -> dict[str, Any]:
    found = hamming.symbols(fingerprints)
    lengths = hamming.huffman_lengths([found.count(s) for s in range(hamming.SYMBOLS)])
    if max(lengths) > 11:
        lengths = [7] * hamming.SYMBOLS
    blocks = hamming.blocks(fingerprints, lengths, 2048)
    assert list(hamming.decoded(blocks, lengths)) == fingerprints
    stored = b"".join(int(block.bits, 2).to_bytes(2048, "big") for block in blocks)
    return {
        "name": name, "fingerprints": values(fingerprints), "lengths": lengths, "sha256": hashlib.sha256(stored).hexdigest(),
        "keys": [hex(block.key) for block in blocks], "counts": [block.size for block in blocks],
    }


# ---- text


def text_vectors(stem: str) -> dict[str, Any]:
    kept = json.loads((VECTORS / f"{stem}.json").read_text(encoding="utf-8"))
    cases = {name: [text_case(row) for row in kept[name]] for name in ("vectors", "stop_words") if name in kept}
    return {**kept, "unicode_version": text.UNICODE_VERSION, **cases}


def text_case(row: dict[str, Any]) -> dict[str, Any]:
    """The vector of a row; SystemExit where the reference disagrees with tokens that were typed."""
    data = text.to_bytes(row["text"]) if "text" in row else bytes.fromhex(row["input"])
    expected = row.get("tokens")
    if "expected" in row:
        expected = [token.encode().hex() for token in row["expected"].split("|") if token]
    if "stop_words" in row:
        found = shingling.tokens(data, "word", row["normalize"], row["stop_words"])
    else:
        found = text.tokens(data, row["unit"], row["normalize"])
    tokens = [token.hex() for token in found]
    if tokens != expected and not row["note"].startswith("mixed"):
        raise SystemExit(f"vectors of text, {row['note']}: {tokens} from the reference, {expected} typed")
    whole = {"invalid_bytes": text.invalid_bytes(data), "digest": text.digest(data).hex()} if "unit" in row else {}
    named = {name: row[name] for name in ("note", "unit", "stop_words", "normalize") if name in row}
    digest = text.digest(text.canonical(found)).hex()
    return {**named, "input": data.hex(), "tokens": tokens, **whole, "canonical_digest": digest}


WRITERS: dict[str, Callable[[], dict[str, Any]]] = {
    "gf2": gf2_vectors, "rabin": rabin_vectors, "shingling": shingling_vectors, "minhash": minhash_vectors, "winnow":
    winnow_vectors, "term_lists": term_list_vectors, "weighted": weighted_vectors, "simhash": simhash_vectors,
    "othertools": other_tools_vectors,
    "features": feature_vectors, "clustering": clustering_vectors, "fourphase": fourphase_vectors,
    "compressed": compressed_vectors,
    **{stem: partial(text_vectors, stem) for stem in TEXTS},
}


def file_of(stem: str) -> str:
    """The content of a file: the header that it has, and what the reference gives."""
    document = WRITERS[stem]()
    if stem in TEXTS:
        return dump(document, ascii=True)
    header = json.loads((VECTORS / f"{stem}.json").read_text(encoding="utf-8"))["header"]
    return dump({"header": header, **document})


def main() -> int:
    """Write or check the files; the exit status is 1 if --check finds a difference."""
    parser = argparse.ArgumentParser(description="Write the golden vectors from ndcore.reference.")
    parser.add_argument("stems", nargs="*", metavar="STEM", help=f"some of {', '.join(WRITERS)} (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    parser.add_argument("--output", type=Path, default=VECTORS, help="directory (default: tests/vectors)")
    arguments = parser.parse_args()
    unknown = [stem for stem in arguments.stems if stem not in WRITERS]
    if unknown:
        parser.error(f"unknown stem {unknown[0]!r}; give some of {', '.join(WRITERS)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    written = {arguments.output / f"{stem}.json": file_of(stem) for stem in arguments.stems or WRITERS}
    return write_files(written, arguments.check, "what the reference gives; run tools/vectors.py")


if __name__ == "__main__":
    sys.exit(main())
