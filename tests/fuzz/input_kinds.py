"""Kinds of `fuzz_files.py` that strangers write: files of documents in every format, and the small formats of ndcore.

Their bytes have no checksum to make right. A mutant has bytes changed, cut out or repeated, lines moved, numbers and strings
changed to others on some edge, or text that parsers stumble over.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import re
import shutil
import socket
import struct
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from forging import changed_json, damaged

import ndcore as nd
from ndcore.choices import COMPRESSIONS
from ndcore.dedup.settings import load_settings, write_settings
from ndcore.files.compression import compress
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.judge.answers import AnswerLog, read_labels
from ndcore.recipe import Recipe
from ndcore.serve.bodies import parse_object, parse_query
from ndcore.serve.refusal import Refused as RefusedRequest
from ndcore.serve.tokens import add_token, read_tokens
from ndcore.spark.manifest import Versions
from ndcore.store.carrying import VerdictRun, WrongVerdicts, read_verdicts
from ndcore.store.host_pages import unpack
from ndcore.store.manifest import Manifest
from ndcore.store.overall import OverallVerdict, decode_overall, encode_overall
from ndcore.store.receipts import decode_verdict, encode_verdict
from ndcore.store.records import Changes, OverallRecord, Removal, decode, encode
from ndcore.store.shard_map import ShardMap
from ndcore.store.verdict import Verdict
from ndcore.store.wire import plain_of, receive, send, value_of

PROSE = ["the quick brown fox jumps over the lazy dog, again and again", "seven wizards boil a pot of é soup", ""]
STUMBLES = (
    b"[" * 5000, b'{"a":' * 5000, b"(" * 5000, b"<div>" * 500, b"&#x110000;", b"<!--", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b'"\\ud800"', b"Infinity", b"NaN", b"1e999", b"9" * 5000, b"-1", b"18446744073709551616", b"\r",
    b"\r\n\r\n", b'"', b"'", b",", b"\t", b"\x1f\x8b", b"x" * 200_000, b"From a Mon Jan  1 00:00:00 2024\n",
    b"Content-Length: -1\r\n", b"--frontier\r\n", b"=?utf-8?q?=zz?=", b"%zz", b"null", b"true", b"../../x", b"/etc/passwd",
)  # fmt: skip
NUMBERS = (b"0", b"-1", b"1", b"255", b"256", b"65536", b"2147483648", b"4294967296", b"9223372036854775808", b"1e308",
           b"00", b"")
_NUMBER = re.compile(rb"\d+")


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change the bytes of a sound input one to four times."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        data = _changed_once(data, rng)
    return data


def _changed_once(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    match rng.randrange(6):
        case 0:
            return data[:at] + rng.choice(STUMBLES) + data[at:]
        case 1:
            numbers = list(_NUMBER.finditer(data))
            if numbers:
                chosen = rng.choice(numbers)
                return data[: chosen.start()] + rng.choice(NUMBERS) + data[chosen.end() :]
        case 2:
            lines = data.splitlines(keepends=True)
            if lines:
                lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
                del lines[rng.randrange(len(lines)) : rng.randrange(len(lines) + 1)]
                return b"".join(lines)
        case 3:
            lines = data.splitlines(keepends=True)
            if lines:
                chosen = rng.randrange(len(lines))
                with contextlib.suppress(ValueError, RecursionError):
                    lines[chosen] = changed_json(lines[chosen].decode(), rng).encode("utf-8", "surrogatepass") + b"\n"
                return b"".join(lines)
    return damaged(data, rng)


# ---- documents in files


def _warc() -> bytes:
    records = []
    for number, text in enumerate(PROSE):
        page = f"<html><body><p>{text}</p></body></html>".encode()
        content = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page
        records.append(
            b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2024-05-01T10:00:00Z\r\n"
            b"WARC-Target-URI: http://example.org/%d\r\nContent-Type: application/http; msgtype=response\r\n"
            b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (number, len(content), content))
    return b"".join(records)


def _cdx(archive: bytes) -> bytes:
    starts = [match.start() for match in re.finditer(rb"WARC/1\.0", archive)]
    ends = [*starts[1:], len(archive)]
    return b"".join(
        b"org,example)/%d 20240501100000 " % number
        + json.dumps({"url": f"http://example.org/{number}", "filename": "pages.warc", "offset": str(start),
                      "length": str(end - start)}).encode() + b"\n"
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)))


def _arc() -> bytes:
    head = b"1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n"
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>" + PROSE[0].encode()
    return (b"filedesc://t.arc 127.0.0.1 20010203040506 text/plain %d\n%s\n" % (len(head), head)
            + b"http://example.org/ 127.0.0.1 20010203040506 text/html %d\n%s\n" % (len(page), page))


def _mail() -> bytes:
    return (b"From: a@example.org\nDate: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: =?utf-8?q?=C3=A9?=\nMIME-Version: 1.0\n"
            b"Content-Type: multipart/mixed; boundary=frontier\n\n--frontier\nContent-Type: text/plain; charset=latin-1\n\n"
            b"%s\n--frontier\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\nPHA+aGVsbG88L3A+\n--frontier--\n"
            % PROSE[0].encode())


def _tables() -> Iterator[tuple[str, bytes]]:
    """Files of columns, where pyarrow is installed."""
    with contextlib.suppress(ImportError):
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"id": ["a", "b", "c"], "text": PROSE, "n": [1, None, 3]})
        file = io.BytesIO()
        pq.write_table(table, file)
        yield "parquet", file.getvalue()
        file = io.BytesIO()
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        yield "arrow", file.getvalue()


def document_seeds(folder: Path) -> None:
    """A folder for each format; of an index, with its archive."""
    rows = [{"id": f"é{number}", "text": text, "n": number} for number, text in enumerate(PROSE)]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    warc, mail = _warc(), _mail()
    plain = {"jsonl": lines, "json": json.dumps(rows, indent=1).encode(), "txt": PROSE[0].encode(),
             "csv": b'id,text\r\n1,"a, ""b"""\r\n2,\r\n' * 3, "tsv": b"id\ttext\n1\ta b\n" * 3,
             "html": b"<!doctype html><html><head><title>t</title></head><body><p>a &amp; b<script>x</script></body></html>",
             "warc": warc, "arc": _arc(), "eml": mail, "mbox": (b"From a Mon Jan  1 00:00:00 2024\n" + mail + b"\n") * 2,
             **dict(_tables())}
    for suffix, data in plain.items():
        (folder / suffix).mkdir()
        (folder / suffix / f"main.{suffix}").write_bytes(data)
    for ending in COMPRESSIONS:
        (folder / f"jsonl-{ending}").mkdir()
        (folder / f"jsonl-{ending}" / f"main.jsonl.{ending}").write_bytes(compress(lines, ending))
    (folder / "cdx").mkdir()
    (folder / "cdx" / "main.cdxj").write_bytes(_cdx(warc))
    (folder / "cdx" / "pages.warc").write_bytes(warc)
    (folder / "utf16").mkdir()
    (folder / "utf16" / "main.csv").write_bytes("id,text\n1,é b\n".encode("utf-16"))


def use_documents(seed: Path, folder: Path, rng: random.Random, refuse: type[Exception]) -> None:
    """Every pass over a file gives the same documents, or the file is refused by its name."""
    place = folder / "inputs"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(seed, place)
    chosen = rng.choice(sorted(place.iterdir()))
    chosen.write_bytes(changed_bytes(chosen.read_bytes(), rng))
    [main] = place.glob("main.*")
    try:
        with FileDocuments([str(main)], on_error="skip", html=rng.choice([None, None, "page", "main"]), threads=1,
                           fast=bool(rng.randrange(4)), text_field=rng.choice(["text", ["id", "text"]])) as documents:
            first = [text for batch in documents.batches() for text in batch]
            assert [text for batch in documents.batches() for text in batch] == first
            assert len(documents) == len(first) == len(documents.ids) and documents.read >= len(first)
            assert all(isinstance(rejected.reason, str) and rejected.reason for rejected in documents.rejected)
    except (DocumentError, UsageError) as error:
        assert str(place) in str(error), f"the message does not name the file: {error}"
        raise refuse from error


# ---- small formats


class Parser(NamedTuple):
    """A parser of untrusted bytes: sound inputs, the call, and the errors by which it refuses others."""

    seeds: Callable[[Path], list[bytes]]
    parse: Callable[[bytes, Path], object]
    refuses: tuple[type[Exception], ...]


def _written(data: bytes, folder: Path, mode: int = 0o644) -> Path:
    path = folder / "mutant"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def _map_seeds(folder: Path) -> list[bytes]:
    first = ShardMap.create({"a": "http://a", "b": "http://b"})
    moving = first.begin_move(next(host for host in map(str, range(99)) if first.owner(host) == "a"), "b")
    return [json.dumps(made.as_dict()).encode() for made in (first, moving, first.begin_join("c", "http://c"))]


def _use_map(data: bytes, folder: Path) -> None:
    made = ShardMap.read(_written(data, folder))
    assert made.owner("example.org") in made.shards
    assert ShardMap.from_dict(made.as_dict()) == made


def _token_seeds(folder: Path) -> list[bytes]:
    for name in ("crawler", "reader"):
        add_token(folder / "tokens", name, ["read"])
    return [(folder / "tokens").read_bytes()]


def _answer_seeds(folder: Path) -> list[bytes]:
    events = [{"kind": "pool", "identity": "x"}, {"kind": "label", "pair": [0, 1], "label": "same"},
              {"kind": "draw", "number": 0, "person": "", "pair": [1, 2], "probability": 0.5, "shared": True},
              {"kind": "answer", "number": 0, "person": "", "label": "same", "note": "why"}, {"kind": "undo", "number": 0}]
    return [b"".join(json.dumps(event).encode() + b"\n" for event in events)]


def _manifest_seeds(folder: Path) -> list[bytes]:
    versions = Versions(folder / "growing")
    return [versions.begin({"threshold": 0.8}).encoded()]


def _use_manifest(data: bytes, folder: Path) -> None:
    place = folder / "growing"
    shutil.rmtree(place, ignore_errors=True)
    versions = Versions(place)
    versions.begin({"threshold": 0.8})
    [file] = place.rglob("*.json")
    file.write_bytes(data)
    versions.latest()


def _message(data: bytes, folder: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.sendall(data[: 1 << 17])
        theirs.shutdown(socket.SHUT_WR)
        message = receive(ours)
    if message is not None:
        plain_of(value_of(message.content.get("arguments"), message.texts), [])


def _message_seeds(folder: Path) -> list[bytes]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        texts: list[bytes] = []
        values = plain_of(["key", b"bytes", "é" * 5000, 3, None, VERDICT], texts)
        send(ours, {"call": "decide", "arguments": values}, texts)
        return [theirs.recv(1 << 20)]


def _tar_seeds(folder: Path) -> list[bytes]:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as packed:
        for name in ("store.json", "log-0/000"):
            packed.addfile(info := tarfile.TarInfo(name), io.BytesIO(b"x" * info.size))
    return [file.getvalue()]


def _use_tar(data: bytes, folder: Path) -> None:
    place = folder / "unpacked"
    shutil.rmtree(place, ignore_errors=True)
    before = {path for path in folder.rglob("*") if path.name != "mutant"}
    try:
        unpack(_written(data, folder), place)
    finally:
        outside = {path for path in folder.rglob("*") if path.name != "mutant"} - before
        assert all(path.is_relative_to(place) for path in outside), outside


def _store_seeds(folder: Path) -> list[bytes]:
    with nd.Store.open(folder / "described", threshold=0.5):
        return [(folder / "described" / "store.json").read_bytes()]


def _use_description(data: bytes, folder: Path) -> None:
    place = folder / "description"
    place.mkdir(exist_ok=True)
    (place / "store.json").write_bytes(data)
    Manifest.read(place)


def _verdict_seeds(folder: Path) -> list[bytes]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return []
    file = io.BytesIO()
    columns = {"key": ["a", "b"], "digest": [b"0" * 16] * 2, "class": ["kept", "near"], "resemblance": [None, 0.9],
               "representative": [None, {"key": "a"}]}
    pq.write_table(pa.table(columns), file)
    return [file.getvalue()]


def _use_verdicts(data: bytes, folder: Path) -> None:
    from collections import Counter

    path = _written(data, folder).rename(folder / "verdicts.parquet")
    for _ in read_verdicts(path, VerdictRun.of("run", 0, None), Counter(), lambda *_: None):
        pass


def _arrow_seeds(folder: Path) -> list[bytes]:
    try:
        import pyarrow as pa
        import starlette  # noqa: F401
    except ImportError:
        return []
    made = []
    for key in (["a", "b", "c"], [1, 2, 3]):
        file = io.BytesIO()
        table = pa.table({"key": key, "text": PROSE, "date": pa.array([1, None, 3], pa.timestamp("us", "UTC"))})
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
        made.append(file.getvalue())
    return made


def _use_arrow(data: bytes, folder: Path) -> None:
    from ndcore.serve.arrow_bodies import ArrowRows

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 1000):
            yield data[at : at + 1000]

    async def read() -> None:
        async for rows in ArrowRows(chunks(), 1 << 20, 5.0).parts():
            assert all(isinstance(row, (list, dict, tuple)) for row in rows)

    asyncio.run(read())


def _round_trip(decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]) -> Callable[[bytes, Path], None]:
    """Make a check that what was decoded is encoded and decoded to itself."""

    def check(data: bytes, folder: Path) -> None:
        value = decode(data)
        assert repr(decode(encode(value))) == repr(value)

    return check


def _settings_text(folder: Path) -> list[bytes]:
    options = {"threshold": 0.5, "shingling": nd.Shingling(width=3), "must_agree": ["numbers"]}
    return [write_settings(options, {"who": "x"}).encode()]


VERDICT = Verdict("a", "near", b"b", 3, 0.5, None, 1.0, "lexical", 100, True)
OVERALL = OverallVerdict("near", "a", "east", 0.5, "run", 100, True)
PARSERS: dict[str, Parser] = {
    "shard-map": Parser(_map_seeds, _use_map, (nd.CorruptFile,)),
    "tokens": Parser(_token_seeds, lambda data, folder: read_tokens(_written(data, folder, 0o600)), (ValueError,)),
    "settings": Parser(_settings_text, lambda data, folder: load_settings(_written(data, folder)), (ValueError,)),
    "answers": Parser(_answer_seeds, lambda data, folder: AnswerLog(_written(data, folder)).close(), (ValueError,)),
    "labels": Parser(lambda _: [b"a,b,label\nx,y,same\ny,z,0\n"], lambda data, folder: list(
        read_labels(_written(data, folder), {"x": [0], "y": [1], "z": [2], "a": [3]})), (ValueError,)),
    "manifest": Parser(_manifest_seeds, _use_manifest, (nd.CorruptFile,)),
    "description": Parser(_store_seeds, _use_description, (ValueError,)),
    "message": Parser(_message_seeds, _message, (ValueError, ConnectionError)),
    "archive": Parser(_tar_seeds, _use_tar, (ValueError,)),
    "verdicts": Parser(_verdict_seeds, _use_verdicts, (WrongVerdicts,)),
    "arrow-body": Parser(_arrow_seeds, _use_arrow, (RefusedRequest,)),
    "json-body": Parser(lambda _: [b'{"key": "a", "text": "b", "date": 3}'], lambda data, _: parse_object(data, "the body"),
                        (RefusedRequest,)),
    "query": Parser(lambda _: [b"key=a&text=b%20c&date=3"], lambda data, _: parse_query(data), (RefusedRequest,)),
    "recipe": Parser(lambda _: [nd.MinHasher().recipe.to_json().encode(), nd.SimHasher().recipe.to_json().encode()],
                     lambda data, _: nd.MinHasher.from_recipe(Recipe.from_json(data)), (ValueError,)),
    "record": Parser(lambda _: [encode(Removal(Changes((3, 4), ((5, 6, 4),)), True)), encode(OverallRecord(7, OVERALL))],
                     _round_trip(decode, encode), (nd.CorruptFile, ValueError)),
    "receipt": Parser(lambda _: [encode_verdict(VERDICT)],
                      _round_trip(decode_verdict, encode_verdict), (nd.CorruptFile,)),
    "overall": Parser(lambda _: [encode_overall(OVERALL)], _round_trip(decode_overall, encode_overall),
                      (IndexError, ValueError, struct.error)),
}


def parser_seeds(folder: Path) -> None:
    for name, parser in PARSERS.items():
        scratch = folder.parent / f"seeds-of-{name}"
        scratch.mkdir()
        for number, data in enumerate(parser.seeds(scratch)):
            (folder / f"{name}.{number}").write_bytes(data)


def use_parser(seed: Path, folder: Path, rng: random.Random, refuse: type[Exception]) -> None:
    """A parser returns a value, or raises one of the errors that its documentation names, with a message."""
    parser = PARSERS[seed.name.partition(".")[0]]
    try:
        parser.parse(changed_bytes(seed.read_bytes(), rng), folder)
    except parser.refuses as error:
        assert str(error), f"{type(error).__name__} without a message"
        raise refuse from error
