"""Fuzz `ndcore.load`: whatever the bytes, it returns Sketches that hold together or raises CorruptFile
(ValueError where the file is sound and holds something else).

    python tests/fuzz/fuzz_load.py [--iterations 2000] [--seed 1]         random mutations, reproducible
    python tests/fuzz/fuzz_load.py --atheris [libFuzzer options]           coverage-guided, where atheris is installed

Half of the mutants are damaged as they are; the others get new checksums, so that the damage reaches what lies behind
them, as in a file that somebody forged.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ndcore as nd

PREAMBLE = struct.Struct("<8sIIQQ")
START = PREAMBLE.size + 32
ALIGNMENT = 64

TEXTS = [f"document {i} of some that are sketched and saved to be loaded again" for i in range(7)] + ["", "one word"]
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**53, 2**64, -(2**63), 1.5, 1e308, "", "0", "7", "-3", "minhash", "bottom", "word",
    "mod", "adaptive", "|S1", "<u8", "<i8", "<f8", "|b1", "\ud800", [], {}, [[]], {"": 0}, [0, 0], [2**61, 8], [1] * 9,
)  # fmt: skip


def seeds(folder: Path) -> list[bytes]:
    """Sound files of all kinds, small."""
    made = []
    for sketcher in (nd.MinHasher(num_perm=4), nd.MinHasher(num_perm=3, bits=64), nd.BottomSketcher(size=5),
                     nd.ModSketcher(2), nd.ModSketcher("adaptive"), nd.SimHasher()):
        for ids in (None, [f"id {i}" for i in range(len(TEXTS))], list(range(len(TEXTS)))):
            sketches = sketcher.sketch_many(TEXTS)
            sketches.ids = ids
            if ids is not None:
                sketches.digests = np.zeros((len(TEXTS), 32), np.uint8)
            path = folder / "seed"
            sketches.save(path)
            made.append(path.read_bytes())
    return made


def attempt(path: Path, data: bytes, mmap: bool) -> bool:
    """Load a file of these bytes and use what comes; True where it was accepted. Anything but CorruptFile escapes."""
    path.write_bytes(data)
    try:
        sketches = nd.load(path, mmap=mmap)
    except nd.CorruptFile as error:
        assert str(path) in str(error), f"the message does not name the file: {error}"
        return False
    except ValueError as error:
        if not str(error).endswith("not 'sketches'; give a file of 'sketches'"):
            raise
        return False
    n = len(sketches)
    assert len(list(sketches)) == n
    for name in ("sizes", "sizes_exact", "valid", "ids", "digests", "moduli"):
        given = getattr(sketches, name)
        assert given is None or len(given) == n, name
    assert sketches.valid.dtype == np.bool_ and sketches.sizes_exact.dtype == np.bool_
    if n and isinstance(sketches, nd.Simhashes):
        sketches.distance(0, n - 1)
        sketches.concat(sketches[::-1])
    elif n:
        sketches.resemblance(0, n - 1)
        sketches.containment(0, n - 1)
        sketches.interval(0, n - 1)
        sketches.union(0, n - 1)
        sketches.concat(sketches[::-1])
    return True


def opened(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """JSON header and arrays of a sound file."""
    length = PREAMBLE.unpack_from(data)[3]
    top = json.loads(data[START : START + length])
    begin = aligned(START + length)
    arrays = []
    for row in top["arrays"]:
        size = np.dtype(row["dtype"]).itemsize * int(np.prod(row["shape"], dtype=np.int64))
        arrays.append(data[begin + row["offset"] : begin + row["offset"] + size])
    return top, arrays


def aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def closed(top: dict[str, Any], arrays: list[bytes], *, place: bool = True) -> bytes:
    """A file of this header and these arrays with right checksums; `place`: with right offsets too."""
    offset = 0
    for row, array in zip(top["arrays"], arrays, strict=False):
        if place and isinstance(row, dict):
            row["offset"], row["checksum"] = offset, hashlib.blake2b(array, digest_size=16).hexdigest()
        offset = aligned(offset + len(array))
    text = json.dumps(top, separators=(",", ":")).encode("ascii")
    body = b""
    for array in arrays:
        body += bytes(aligned(len(body)) - len(body)) + array
    gap = bytes(aligned(START + len(text)) - START - len(text)) if arrays else b""
    preamble = PREAMBLE.pack(b"\x89NDCORE\n", 1, 0, len(text), START + len(text) + len(gap) + len(body))
    return preamble + hashlib.blake2b(preamble + text, digest_size=32).digest() + text + gap + body


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, cut out, put in, repeated or cut off."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0 if at < len(out):
                out[at] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
            case 2:
                del out[at:]
            case 3:
                out += out[at : at + 80]
            case _:
                out[at : at + 8] = rng.choice([0, 1, 2**31, 2**63, 2**64 - 1]).to_bytes(8, "little")
    return bytes(out)


def spots(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a JSON value."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += [(value, key), *spots(item)]
    return found


def forged(data: bytes, rng: random.Random) -> bytes:
    """The header or an array changed, the checksums right again."""
    top, arrays = opened(data)
    recipe = json.loads(top["header"]["recipe"])
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(6):
            case 0:
                where, key = rng.choice(spots(top))
                where[key] = copy.deepcopy(rng.choice(VALUES))
            case 1:
                where, key = rng.choice(spots(top))
                where.pop(key)
            case 2:
                where, key = rng.choice(spots(recipe))
                where[key] = copy.deepcopy(rng.choice(VALUES))
                with_recipe(top, recipe, rng)
            case 3:
                i = rng.randrange(len(arrays))
                arrays[i] = damaged(arrays[i], rng)[: len(arrays[i])].ljust(len(arrays[i]), b"\xff")
            case 4:
                i = rng.randrange(len(arrays))
                count = rng.randrange(12)
                if i < len(top.get("arrays") or ()) and isinstance(top["arrays"][i], dict):
                    top["arrays"][i]["dtype"] = rng.choice(["<i8", "<u8", "<u4", "|b1", "|u1", "<f8", "<f2", "|S3"])
                    top["arrays"][i]["shape"] = rng.choice([[count], [count, 2], [], [0], [0, 4], [1, 1, count]])
                    dtype = np.dtype(top["arrays"][i]["dtype"])
                    size = dtype.itemsize * int(np.prod(top["arrays"][i]["shape"], dtype=np.int64))
                    arrays[i] = (b"\x00\x01" * size)[:size] if rng.randrange(2) else rng.randbytes(size)
            case _:
                i = rng.randrange(len(arrays))
                if isinstance(top.get("arrays"), list) and i < len(top["arrays"]):
                    del top["arrays"][i], arrays[i]
        if not isinstance(top.get("arrays"), list) or not isinstance(top.get("header"), dict) or not arrays:
            break
    if not isinstance(top.get("arrays"), list):
        top["arrays"] = []
    return closed(top, arrays, place=rng.randrange(4) > 0)


def with_recipe(top: dict[str, Any], recipe: Any, rng: random.Random) -> None:
    if isinstance(top.get("header"), dict):
        text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
        top["header"]["recipe"] = text if rng.randrange(8) else "[" * 100_000


def run(iterations: int, seed: int) -> dict[str, int]:
    """So many mutants; counts of accepted and refused ones. What fails is written beside the script's working folder."""
    counts = {"accepted": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutant"
        sound = seeds(Path(folder))
        for data in sound:
            assert closed(*opened(data)) == data, "the fuzzer and the format disagree"
            assert attempt(path, data, False) and attempt(path, data, True), "a sound file is refused"
        for i in range(iterations):
            rng = random.Random(f"{seed} {i}")
            make: Callable[[bytes, random.Random], bytes] = rng.choice([damaged, forged])
            data = make(rng.choice(sound), rng)
            try:
                counts["accepted" if attempt(path, data, bool(i & 1)) else "refused"] += 1
            except BaseException:
                Path("crash-load").write_bytes(data)
                print(f"iteration {i} of seed {seed} ({make.__name__}): the file is kept as crash-load", file=sys.stderr)
                raise
    return counts


def guided(arguments: list[str]) -> None:
    """Coverage-guided: the first byte chooses a sound file and the rest seeds or is the mutant."""
    import atheris

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "mutant"
    sound = seeds(Path(folder.name))

    def one(data: bytes) -> None:
        if data[:1] < b"\x40":
            attempt(path, data[1:], False)
        else:
            rng = random.Random(data)
            attempt(path, forged(sound[data[0] % len(sound)], rng), bool(data[0] & 1))

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--atheris", action="store_true", help="coverage-guided; further options go to libFuzzer")
    options, others = parser.parse_known_args()
    if options.atheris:
        guided(others)
    elif others:
        parser.error(f"unknown options: {' '.join(others)}")
    else:
        counts = run(options.iterations, options.seed)
        print(f"{options.iterations} mutants: {counts['accepted']} accepted, {counts['refused']} refused, none escaped")


if __name__ == "__main__":
    main()
