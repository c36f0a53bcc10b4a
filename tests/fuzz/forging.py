"""Makes files of ndcore that were tampered with: damaged ones, and forged ones, whose checksums are right.

A forger takes a sound file apart (`opened`), changes its header or its arrays and puts it together again (`closed`).
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ndcore.store.overall import OVERALL, OverallVerdict
from ndcore.store.receipts import Receipt
from ndcore.store.records import Changes, Dictionary, Document, OverallRecord, Removal, Sighting, decode, encode
from ndcore.store.verdict import CHANGES, Version

PREAMBLE = struct.Struct("<8sIIQQ")
START = PREAMBLE.size + 32
ALIGNMENT = 64

VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 2**31, 2**53, 2**64, -(2**63), 0.5, 1.5, 1e308, "", "0", "7", "-3", "minhash", "bottom", "word",
    "mod", "adaptive", "star", "features", "|S1", "<u8", "<i8", "<f8", "|b1", "\ud800", [], {}, [[]], {"": 0}, [0, 0],
    [2**61, 8], [1] * 9, [4, 4, 2],
)  # fmt: skip
DTYPES = ["<i8", "<u8", "<u4", "|b1", "|u1", "<f8", "<f2", "|S3"]
EDGES = [0, 1, 2, 7, 0x7F, 0xFF, 0x100, 2**31 - 1, 2**31, 2**32 - 1, 0xFFFFFF00, 2**32, 2**40, 2**63 - 1, 2**63, 2**64 - 1]


def aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def revision_of(data: bytes) -> int:
    """Revision of the kind of a sound file."""
    return int(PREAMBLE.unpack_from(data)[2])


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


def closed(top: dict[str, Any], arrays: list[bytes], *, place: bool = True, revision: int = 0) -> bytes:
    """A file of this header and these arrays with right checksums; `place`: with right offsets too."""
    offset = 0
    for row, array in zip(top["arrays"], arrays, strict=False):
        if place and isinstance(row, dict):
            row["offset"], row["checksum"] = offset, hashlib.blake2b(array, digest_size=16).hexdigest()
        offset = aligned(offset + len(array))
    text = json.dumps(top, separators=(",", ":")).encode("ascii")
    if str(top.get("kind")).startswith(("collection/", "repeats/")):  # these files have their first array on a page
        text += b" " * (-(START + len(text)) % 4096)
    body = b""
    for array in arrays:
        body += bytes(aligned(len(body)) - len(body)) + array
    gap = bytes(aligned(START + len(text)) - START - len(text)) if arrays else b""
    preamble = PREAMBLE.pack(b"\x89NDCORE\n", 1, revision, len(text), START + len(text) + len(gap) + len(body))
    return preamble + hashlib.blake2b(preamble + text, digest_size=32).digest() + text + gap + body


def with_array(path: Path, name: str, change: Any) -> None:
    """Change one array of a file, given a copy of it, and make the checksums right again."""
    data = path.read_bytes()
    top, arrays = opened(data)
    [i] = [i for i, row in enumerate(top["arrays"]) if row["name"] == name]
    row = top["arrays"][i]
    array = np.frombuffer(arrays[i], row["dtype"]).reshape(row["shape"]).copy()
    made = np.ascontiguousarray(change(array))
    row["dtype"], row["shape"], arrays[i] = made.dtype.str, list(made.shape), made.tobytes()
    path.write_bytes(closed(top, arrays, revision=revision_of(data)))


def with_header(path: Path, change: Any) -> None:
    """Change the JSON of a file, in place, and make the checksums right again."""
    data = path.read_bytes()
    top, arrays = opened(data)
    change(top["header"])
    path.write_bytes(closed(top, arrays, revision=revision_of(data)))


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


def _change(where: Any, rng: random.Random) -> None:
    """Put another value in a place of a JSON value, or take it out."""
    found = spots(where)
    if found:
        place, key = rng.choice(found)
        if rng.randrange(3):
            place[key] = copy.deepcopy(rng.choice(VALUES))
        else:
            place.pop(key)


def changed_json(text: str, rng: random.Random) -> str:
    """JSON with other values in it."""
    value = json.loads(text)
    for _ in range(rng.randint(1, 2)):
        _change(value, rng)
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _elements(row: dict[str, Any], array: bytes, rng: random.Random) -> bytes:
    """Some elements of an array with other values: from elsewhere in it, one more or less, or on some edge."""
    values = np.frombuffer(array, np.dtype(row["dtype"])).copy()
    if values.dtype.kind not in "iu" or not len(values):
        return damaged(array, rng)[: len(array)].ljust(len(array), b"\xff")
    low, high = np.iinfo(values.dtype).min, np.iinfo(values.dtype).max
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(values))
        old = int(values[at])
        new = rng.choice([rng.choice(EDGES), -1, old + 1, old - 1, old ^ 1 << rng.randrange(64), len(values),
                          int(values[rng.randrange(len(values))])])
        span = slice(at, at + rng.choice([1, 1, 1, 3, len(values)]))
        values[span] = new if low <= new <= high else (new & int(high))
    if not rng.randrange(6):
        rng.shuffle(values)
    return values.tobytes()


def forged(data: bytes, rng: random.Random) -> bytes:
    """The header or arrays changed, the checksums right again."""
    top, arrays = opened(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rows = top.get("arrays")
        if not isinstance(rows, list) or not isinstance(top.get("header"), dict):
            break
        i = rng.randrange(len(arrays)) if arrays else -1
        sound = i >= 0 and i < len(rows) and isinstance(rows[i], dict) and rows[i].keys() >= {"dtype", "shape"}
        match rng.randrange(10):
            case 0:
                _change(top, rng)
            case 1:
                _change(top["header"], rng)
            case 2:
                texts = [name for name, value in top["header"].items() if isinstance(value, str) and value[:1] == "{"]
                if texts:
                    text = changed_json(top["header"][texts[0]], rng)
                    top["header"][texts[0]] = text if rng.randrange(8) else "[" * 100_000
                    with_recipe_id(top["header"], text)
            case 3 if sound:
                size = rng.randrange(12)
                rows[i]["dtype"] = rng.choice(DTYPES)
                rows[i]["shape"] = rng.choice([[size], [size, 2], [size, 3], [], [0], [0, 4], [1, 1, size]])
                nbytes = np.dtype(rows[i]["dtype"]).itemsize * int(np.prod(rows[i]["shape"], dtype=np.int64))
                arrays[i] = (b"\x00\x01" * nbytes)[:nbytes] if rng.randrange(2) else rng.randbytes(nbytes)
            case 4 if i >= 0 and i < len(rows):
                del rows[i], arrays[i]
            case 5 if sound and isinstance(rows[i]["shape"], list) and rows[i]["shape"]:  # shorter, or longer
                try:
                    dtype, shape = np.dtype(rows[i]["dtype"]), rows[i]["shape"]
                    array = np.frombuffer(arrays[i], dtype).reshape(shape)
                except (TypeError, ValueError):
                    continue
                cut = array[: rng.randrange(len(array) + 1)]
                array = np.concatenate([array, cut]) if rng.randrange(2) else cut
                rows[i]["shape"], arrays[i] = list(array.shape), array.tobytes()
            case _ if sound:
                try:
                    arrays[i] = _elements(rows[i], arrays[i], rng)
                except (TypeError, ValueError):
                    continue
    if not isinstance(top.get("arrays"), list):
        top["arrays"] = []
    return closed(top, arrays, place=rng.randrange(12) > 0, revision=revision_of(data))


def with_recipe_id(header: dict[str, Any], text: str) -> None:
    """Give a header the id of a recipe, so that it is not refused for another one."""
    from ndcore.recipe import Recipe

    try:
        header["recipe_id"] = Recipe.from_json(text).id
    except (ValueError, RecursionError):
        return


# ---- records of stores


def forged_records(there: Iterable[tuple[int, bytes]], write: Callable[[bytes], int], rng: random.Random) -> None:
    """Write the records of a log anew, some of them forged; positions of earlier records stay right in the others.

    there: position and payload of each; write: writes a payload, and returns its position.
    """
    known = [(position, decode(payload)) for position, payload in there]
    chosen = set(rng.sample(range(len(known)), rng.choice([1, 1, 1, 2, 5])))
    positions: dict[int, int] = {}
    for i, (position, record) in enumerate(known):
        moved = {name: positions.get(getattr(record, name), getattr(record, name)) for name in ("previous", "origin")
                 if hasattr(record, name)}
        record = replace(record, **moved) if moved else record
        payload = encode(record)
        if i in chosen:
            payload = _forged_payload(record, [each for _, each in known], rng)
        if payload is not None:
            positions[position] = write(payload)


def _forged_payload(record: Any, known: list[Any], rng: random.Random) -> bytes | None:
    """A forged record; None: it is left out."""
    match rng.randrange(12):
        case 0:
            return None
        case 1:
            return damaged(encode(record), rng) or b"\x00"
        case 2:
            return encode(rng.choice(known))
        case 3:
            return encode(rng.choice([Dictionary(_edge(rng, known, 32), rng.randbytes(rng.randrange(300))),
                                      Removal(_changes(rng, known), bool(rng.randrange(2))),
                                      OverallRecord(_edge(rng, known, 32), _said(rng))]))
        case _:
            for _ in range(rng.choice([1, 1, 2, 4])):
                unforged = ("verdict", "expired", "content", "scope")
                names = [name for name in record.__dataclass_fields__ if name not in unforged]
                counts = [3 if name == "version" else 1 for name in names]  # by its fields
                [name] = rng.choices(names, counts)
                record = replace(record, **{name: _field(name, record, known, rng)})
            return encode(record)


def _field(name: str, record: Any, known: list[Any], rng: random.Random) -> Any:
    """Another value for a field of a record."""
    old = getattr(record, name)
    others = [getattr(each, name) for each in known if isinstance(each, type(record))]
    match name:
        case "number" | "label":
            return _edge(rng, known, 32)
        case "previous" | "origin":
            return rng.choice([rng.choice(others), _edge(rng, known, 64), old + rng.randrange(-40, 40) & 2**64 - 1])
        case "flags":
            return (old ^ 1 << rng.randrange(4)) & 31
        case "version":
            dates = [rng.choice(EDGES) - 2**63, -1, 0, 2**63 - 1, 253402300800 * 10**6]
            date = rng.choice(dates) if rng.randrange(2) else rng.choice(others).date
            change = rng.choice([change for change in CHANGES if change is not None or isinstance(record, Document)])
            resemblance = rng.choice([None, 0.0, 1.0, -1.0, 2.0, 1e308, float("inf"), 5e-324])
            return rng.choice([replace(old, date=date), replace(old, change=change), replace(old, resemblance=resemblance)])
        case "changes":
            return _changes(rng, known)
        case "history":
            dates = [rng.choice([0, -(2**63), 2**63 - 1, 10**15]) for _ in range(rng.randrange(4))]
            return tuple(Version(date, rng.choice(CHANGES), rng.choice([None, 0.5, -9.0])) for date in dates)
        case "receipt":
            answer = rng.choice([b"", rng.randbytes(rng.randrange(80)), b"\x00" * 47])
            made = Receipt(rng.randbytes(16), rng.randbytes(16), rng.choice([-(2**63), 0, 2**63 - 1]), answer)
            return rng.choice([made, made, rng.choice(others)])
        case "said":
            return rng.choice([_said(rng), rng.choice(others)])
        case "whole" | "tokens":
            return rng.choice([rng.choice(others), rng.randbytes(16)]).ljust(len(old), b"x")[: len(old)]
        case _:  # names and evidence
            return rng.choice([rng.choice(others), b"", damaged(old, rng), rng.randbytes(9), old[: len(old) // 2], old * 3])


def _edge(rng: random.Random, known: list[Any], bits: int) -> int:
    """A number of a document that is there, one beside it, or one on some edge."""
    near = rng.choice([each.number for each in known if isinstance(each, (Document, Sighting))]) + rng.choice([-1, 0, 1])
    return int(rng.choice([near, near, rng.choice(EDGES)]) & 2**bits - 1)


def _said(rng: random.Random) -> OverallVerdict:
    """A verdict over all stores, with values on some edge."""
    verdict = rng.choice(OVERALL)
    of = None if verdict == "kept" else rng.choice(["http://a.example/4", b"\xff", -1, "", "\ud800"])
    return OverallVerdict(verdict, of, rng.choice([None, "", "x" * 255]), rng.choice([None, 0.0, 1.0]),
                          rng.choice(["", "r"]), rng.choice([-(2**63), 0, 2**63 - 1]), bool(rng.randrange(2)))


def _changes(rng: random.Random, known: list[Any]) -> Changes:
    removed = tuple(_edge(rng, known, 32) for _ in range(rng.randrange(3)))
    return Changes(removed, tuple((_edge(rng, known, 32), _edge(rng, known, 32), rng.choice([0, 4, 8, 12, 255]))
                                  for _ in range(rng.randrange(4))))
