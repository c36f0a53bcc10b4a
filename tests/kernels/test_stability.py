"""One SHA-256 over many outputs of the frozen definitions: a value never changes within a major version.

The digest below was computed from the reference, by `by_reference` as it stands here. Both the reference and the kernels
must give it. Where it changes, sketches saved by earlier versions cannot be compared with new ones: that takes a new major
version, and new format versions in the recipes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from generated import splitmix64

import ndcore as nd
from ndcore.reference import rabin, shingling, text
from ndcore.reference import sketches as reference_sketches

EXPECTED = "b347ce41c0f518e843ef44fdf2ccb5279d250f683c5e3b9249bb6d4fad5e77b8"

P, Q = 0x1FD845EF300CE2D0B, 0x102FC1EFE0FCCD72D
KINDS: list[tuple[str, int, bool, str, str | None]] = [
    ("word", 5, False, "whole", None), ("word", 2, True, "whole", None), ("word", 1, False, "skip", "NFKC"),
    ("char", 4, False, "whole", None), ("char", 3, True, "skip", "NFKC"), ("line", 2, False, "whole", None),
    ("byte", 6, False, "whole", None), ("byte", 3, True, "skip", None),
]  # fmt: skip


def documents() -> list[bytes]:
    """Words of four alphabets, digits, marks, ideographs, punctuation, line ends and invalid bytes, drawn by SplitMix64."""
    pieces = ["a", "Bc", "straße", "Ǆ", "é", "e\u0301", "人", "カー", "ภาษา", "가", "ﬁ", "42", "x²", " ", " ", "\n",
              "\r\n", "-", "'",
              "_", "\u200b", "\u00ad", "😀", "Σ", "ς", "И", "ا", "\0"]  # fmt: skip
    found = []
    for n in (0, 1, 2, 3, 5, 8, 20, 60, 200):
        outputs = splitmix64(n)
        parts = [pieces[next(outputs) % len(pieces)].encode() for _ in range(n)]
        found.append(b"".join(parts) + (b"\xff tail \xe2\x82" if n % 2 else b""))
    return found


def canonical_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: canonical_json(item) for key, item in value.items()}
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def recipe_id(parameters: dict[str, Any]) -> str:
    packed = json.dumps(canonical_json(parameters), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(packed.encode(), digest_size=16).hexdigest()


def shingling_parameters(kind) -> dict[str, Any]:
    unit, width, labelled, short, normalize = kind
    return {"kind": "shingling", "version": 1, "unit": unit, "width": width, "labelled": labelled, "short": short,
            "normalize": normalize, "polynomial": P, "token_polynomial": Q, "unicode": "17.0.0"}  # fmt: skip


def by_reference() -> Iterator[Any]:
    yield [rabin.random_irreducible(d, s) for d, s in ((1, 1), (8, 2), (64, 1), (64, 2), (64, 3), (65, 7))]
    yield [rabin.fingerprint(document, P) for document in documents()]
    for kind in KINDS:
        unit, width, labelled, short, normalize = kind
        below = shingling_parameters(kind)
        yield recipe_id(below)
        yield recipe_id({"kind": "minhash", "version": 1, "num_perm": 84, "bits": 32, "seed": 1, "method": "permutations",
                         "shingling": below})  # fmt: skip
        yield recipe_id({"kind": "bottom", "version": 1, "size": 200, "bits": 64, "seed": 1, "shingling": below})
        for document in documents():
            yield [token.hex() for token in text.tokens(document, unit, normalize)]
            yield text.canonical_digest(document, unit, normalize).hex()
            fs = shingling.fingerprints(document, unit, width, labelled, short, normalize)
            yield fs
            signatures = [reference_sketches.signature(fs, 30, bits, 1) for bits in (32, 64)]
            yield signatures
            yield [reference_sketches.bottom(fs, 9, bits, 2**64 - 1) for bits in (64, 40, 32)]
            yield [reference_sketches.features(signature, 6, 5) for signature in signatures]


def by_kernels() -> Iterator[Any]:
    yield [nd.random_irreducible(d, s) for d, s in ((1, 1), (8, 2), (64, 1), (64, 2), (64, 3), (65, 7))]
    yield [nd.Rabin(P).fingerprint(document) for document in documents()]
    for kind in KINDS:
        sh = nd.Shingling(*kind)
        yield sh.recipe.id
        yield nd.MinHasher(84, shingling=sh).recipe.id
        yield nd.BottomSketcher(200, shingling=sh).recipe.id
        digests = nd.near_duplicates(documents(), shingling=sh).sketches.digests
        for document, digest in zip(documents(), digests, strict=True):
            yield [token.encode().hex() if isinstance(token, str) else token.hex() for token in sh.tokens(document)]
            yield digest[16:].tobytes().hex()
            yield sh.fingerprints(document).tolist()
            sketches = [nd.MinHasher(30, bits, 1, sh).sketch(document) for bits in (32, 64)]
            yield [sketch[0].tolist() for sketch in sketches]
            yield [nd.BottomSketcher(9, bits, 2**64 - 1, sh).sketch(document)[0].tolist() for bits in (64, 40, 32)]
            yield [nd.features(sketch, 6, 5)[0].tolist() for sketch in sketches]


EXPECTED_MODS = "afa0e2bca0ac9ed2eb189464744fb4e001ed971dfa25bf1c8e8f4793868bb0c9"


def mods_by_reference() -> Iterator[Any]:
    for kind in KINDS:
        unit, width, labelled, short, normalize = kind
        for modulus, size in ((25, None), (3, 9), ("adaptive", None)):
            yield recipe_id({"kind": "mod", "version": 1, "modulus": modulus, "size": size, "seed": 1,
                             "shingling": shingling_parameters(kind)})  # fmt: skip
        for document in documents():
            fs = shingling.fingerprints(document, unit, width, labelled, short, normalize)
            yield [reference_sketches.mod(fs, m, 1) for m in (1, 2, 25)]
            yield reference_sketches.mod(fs, 3, 1)[:9]
            yield reference_sketches.adaptive(fs * 20, 1)


def mods_by_kernels() -> Iterator[Any]:
    for kind in KINDS:
        sh = nd.Shingling(*kind)
        for modulus, size in ((25, None), (3, 9), ("adaptive", None)):
            yield nd.ModSketcher(modulus, 1, sh, size).recipe.id
        for document in documents():
            yield [nd.ModSketcher(m, 1, sh).sketch(document)[0].tolist() for m in (1, 2, 25)]
            yield nd.ModSketcher(3, 1, sh, 9).sketch(document)[0].tolist()
            repeated = np.tile(sh.fingerprints(document), 20)
            adaptive = nd.ModSketcher("adaptive").sketch_hashes(repeated, [0, len(repeated)])
            yield [int(adaptive.moduli[0]).bit_length() - 1, adaptive[0].tolist()]


def digest(outputs: Iterator[Any]) -> str:
    hashed = hashlib.sha256()
    for output in outputs:
        hashed.update(json.dumps(output, separators=(",", ":")).encode() + b"\n")
    return hashed.hexdigest()


@pytest.mark.parametrize("source", [by_reference, by_kernels])
def test_frozen_definitions(source):
    assert digest(source()) == EXPECTED


@pytest.mark.parametrize("source", [mods_by_reference, mods_by_kernels])
def test_frozen_mod_sketches(source):
    assert digest(source()) == EXPECTED_MODS


def test_kernels_give_what_the_reference_gives_one_by_one():
    """The same comparison with a readable failure."""
    for by_core, by_python in ((by_kernels, by_reference), (mods_by_kernels, mods_by_reference)):
        for i, (ours, theirs) in enumerate(zip(by_core(), by_python(), strict=True)):
            assert json.dumps(ours) == json.dumps(theirs), i
