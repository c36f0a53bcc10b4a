"""Streams of Arrow: the answers of the lines of JSON, and nothing that is not valid reaches the store."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import io
import json
import random
import struct
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.compute as pc
from commands import text
from served import URL, WIDTH, TestClient, problem

import ndcore as nd
from ndcore.files.flatbuffers import Flatbuffer
from ndcore.serve.answers import PageDecision
from ndcore.serve.app import Limits, application
from ndcore.serve.arrow_bodies import MOST_METADATA, ArrowRows
from ndcore.serve.bodies import ARROW, ESCAPED, LINES, OTHER, PART
from ndcore.serve.openapi import openapi
from ndcore.serve.refusal import Refused
from ndcore.serve.written_source import WrittenSource
from ndcore.store.store import Store

PATH = "/api/decide-many"
UTC = dt.UTC
DATES = [dt.datetime(2024, 5, day, 1, 2, 3, 456789, UTC) for day in range(1, 8)]
TEXTS = [text(1), text(1), text(1, 1), text(2), text(1).upper(), "", text(3)]


class Anyone:
    def check(self, scope: Any, needed: str) -> None: ...


class Served:
    """A server that writes, and its store."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.store = Store.open(folder, threshold=0.5, shingling=nd.Shingling(width=WIDTH))
        self.source = WrittenSource(self.store, "crawl")
        self.client = TestClient(application(self.source, limits, (), Anyone()), base_url=URL)

    def ask(self, body: Any, kind: str = ARROW, **headers: str) -> Any:
        return self.client.post(PATH, content=body, headers={"content-type": kind, **headers})


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    """Starts servers of new stores."""
    made: list[Served] = []

    def start(limits: Limits | None = None) -> Served:
        made.append(Served(tmp_path / f"crawl{len(made)}", limits))
        return made[-1]

    yield start
    for each in made:
        each.source.close()


def table(keys: Any, texts: Any, **others: Any) -> Any:
    """Columns as a table: arrays, or lists of strings."""
    return pa.table({"key": keys, "text": texts, **others})


def written(content: Any, rows: int | None = None, **options: Any) -> bytes:
    """A table as a stream, with as many rows in a batch."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, content.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(content, max_chunksize=rows)
    return sink.getvalue()


def pages(count: int) -> bytes:
    """A stream of different pages, 100 in a batch."""
    return written(table([f"k{i}" for i in range(count)], [text(i) for i in range(count)]), 100)


def rows_of(found: Any) -> list[dict[str, Any]]:
    """The rows of an answer in Arrow, which is valid."""
    assert found.status_code == 200, found.text
    assert found.headers["content-type"] == ARROW
    read = pa.ipc.open_stream(found.content).read_all()
    read.validate(full=True)
    return list(read.to_pylist())


def lines_of(found: Any) -> list[dict[str, Any]]:
    assert found.status_code == 200, found.text
    assert found.headers["content-type"] == LINES[0]
    return [json.loads(line) for line in found.content.splitlines()]


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Arrow as a line of JSON says it."""
    assert row["error"] is None
    said = {name: {"bytes": value.hex()} if isinstance(value, bytes) else value for name, value in row.items()}
    del said["error"]
    return {**said, "date": row["date"].isoformat().replace("+00:00", "Z")}


def read(body: bytes, most: int = 1000, seconds: float = 5.0, size: int = 1 << 16) -> list[Any]:
    """The parts of a body that comes in chunks of a size."""
    return asyncio.run(read_chunks((body[at : at + size] for at in range(0, len(body), size)), most, seconds))


async def read_chunks(chunks: Iterable[bytes], most: int, seconds: float) -> list[Any]:
    async def come() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [part async for part in ArrowRows(come(), most, seconds).parts()]


def messages(body: bytes) -> list[tuple[int, int, int]]:
    """Where messages begin, where their bodies begin, and where they end."""
    found, source = [], pa.BufferReader(body)
    while source.tell() < len(body) - 8:
        start = source.tell()
        message = pa.ipc.read_message(source)
        size = message.body.size if message.body is not None else 0
        found.append((start, source.tell() - size, source.tell()))
    return found


# ---- answers


@pytest.mark.parametrize(
    ("key_type", "text_type"),
    [
        ("string", "string"),
        ("large_string", "large_binary"),
        ("binary", "large_string"),
        ("large_binary", "binary"),
        ("int64", "string"),
        ("int8", "large_string"),
        ("uint64", "binary"),
        ("uint16", "large_binary"),
    ],
)
def test_answers_are_those_of_lines(serve: Any, key_type: str, text_type: str) -> None:
    """The same pages twice: of the second time, those with an idempotency key get their first answers."""
    keys: list[Any] = [11, 12, 13, 14, 11, 16, 17] if "int" in key_type else [*"abcda", "é", "g"]
    if "binary" in key_type:
        keys = [key.encode() + b"\xff" for key in keys]
    texts: list[Any] = [each.encode() + b"\xff" for each in TEXTS] if "binary" in text_type else TEXTS
    requests = ["one", None, "two", None, None, "three", None]
    sent = table(pa.array(keys, getattr(pa, key_type)()), pa.array(texts, getattr(pa, text_type)()),
                 date=pa.array(DATES, pa.timestamp("us", "Europe/Berlin")), idempotency_key=pa.array(requests))
    lines = []
    for key, page, date, request in zip(keys, texts, DATES, requests, strict=True):
        line = {"key": {"bytes": key.hex()} if isinstance(key, bytes) else key, "date": date.isoformat(),
                "idempotency_key": request,
                "text": page if isinstance(page, str) else {"base64": base64.b64encode(page).decode()}}
        lines.append(json.dumps(line) + "\n")
    as_arrow, as_lines = serve(), serve()
    for again in (False, True):
        rows = rows_of(as_arrow.ask(written(sent)))
        assert [as_json(row) for row in rows] == lines_of(as_lines.ask("".join(lines), LINES[0]))
        assert [row["repeated"] for row in rows] == [again and request is not None for request in requests]
    assert [row["verdict"] for row in rows[:4]] == ["kept", "identical", "near", "kept"]
    assert [row["key"] for row in rows] == keys
    assert len(as_arrow.store) == len(as_lines.store) == 6
    assert all(as_arrow.store.text(key) == as_lines.store.text(key) for key in keys)
    schema = pa.ipc.open_stream(as_arrow.ask(written(sent)).content).schema
    assert schema.names == [*(field.name for field in fields(PageDecision)), "error"]
    wanted = pa.int64() if "int" in key_type else getattr(pa, key_type)()
    assert [schema.field(name).type for name in ("key", "of", "equal")] == [wanted] * 3


@pytest.mark.parametrize("kind", ["s", "ms", "us", "ns", "string", "large_string"])
@pytest.mark.parametrize("zone", [None, "UTC", "../../etc/passwd"])
def test_dates(serve: Any, kind: str, zone: str | None) -> None:
    moment = dt.datetime(2024, 5, 1, 12, 0, 7, tzinfo=UTC)
    if "string" in kind:
        given = pa.array(["2024-05-01T14:00:07+02:00", None], getattr(pa, kind)())
    else:
        seconds = pa.array([int(moment.timestamp()), None], pa.int64())
        scale = 1000 ** ["s", "ms", "us", "ns"].index(kind)
        given = pc.multiply(seconds, scale).cast(pa.timestamp(kind)).cast(pa.timestamp(kind, zone))
    before = dt.datetime.now(UTC)
    first, second = rows_of(serve().ask(written(table(["a", "b"], ["x", "y"], date=given))))
    assert first["date"] == moment
    assert before <= second["date"] <= dt.datetime.now(UTC)


def test_nanoseconds_and_early_dates_are_cut_to_microseconds() -> None:
    dates = pa.array([-1, 1999], pa.int64()).cast(pa.timestamp("ns"))
    [part] = read(written(table(["a", "b"], ["x", "y"], date=dates)))
    epoch, step = dt.datetime(1970, 1, 1, tzinfo=UTC), dt.timedelta(microseconds=1)
    assert [dict(row)["date"] for row in part] == [epoch - step, epoch + step]


@pytest.mark.parametrize(
    ("sent", "accept", "arrow"),
    [
        (ARROW, None, True),
        (ARROW, "*/*", True),
        (ARROW, "*/*;q=0.5", True),
        (ARROW, "", True),
        (ARROW, LINES[0], False),
        (ARROW, "text/html, */*", False),
        (f"{ARROW.upper()}; x=y", f"text/html, {ARROW};q=0.9", True),
        (LINES[0], None, False),
        (LINES[1], "*/*", False),
        (LINES[0], ARROW, True),
        (LINES[0], f"{LINES[0]}, {ARROW.upper()}", True),
    ],
)
def test_the_type_of_the_answer(serve: Any, sent: str, accept: str | None, arrow: bool) -> None:
    served = serve()
    body = written(table(["a"], ["x"])) if sent.lower().startswith(ARROW) else b'{"key": "a", "text": "x"}\n'
    del served.client.headers["accept"]
    found = served.ask(body, sent, **({} if accept is None else {"accept": accept}))
    answers = rows_of(found) if arrow else lines_of(found)
    assert [(row["key"], row["verdict"]) for row in answers] == [("a", "kept")]


@pytest.mark.parametrize(
    ("key", "kind"), [("a", "string"), (7, "int64"), ({"bytes": "ff"}, "binary")]
)
def test_lines_can_be_answered_in_arrow(serve: Any, key: Any, kind: str) -> None:
    line = json.dumps({"key": key, "text": "x"})
    found = serve().ask(line, LINES[0], accept=ARROW)
    assert as_json(rows_of(found)[0])["key"] == key
    assert pa.ipc.open_stream(found.content).schema.field("of").type == getattr(pa, kind)()


def test_an_answer_without_rows(serve: Any) -> None:
    served = serve()
    empty = table(pa.array([], pa.large_binary()), pa.array([], pa.string()))
    for body in (written(empty), written(empty)[:-8], written(pa.concat_tables([empty, empty]))):
        found = served.ask(body)
        assert rows_of(found) == []
        assert pa.ipc.open_stream(found.content).schema.field("key").type == pa.large_binary()
    assert rows_of(served.ask(b"", LINES[0], accept=ARROW)) == []


def test_a_batch_is_cut_in_parts(serve: Any) -> None:
    count = 3 * PART + 5
    body = written(table([f"k{i}" for i in range(count)], [text(i) for i in range(count)]))
    assert [len(part) for part in read(body)] == [PART] * 3 + [5]
    found = serve().ask(body)
    assert [batch.num_rows for batch in pa.ipc.open_stream(found.content)] == [PART] * 3 + [5]
    assert [row["key"] for row in rows_of(found)] == [f"k{i}" for i in range(count)]
    places = [row["place"] for row in rows_of(found)]
    assert places == sorted(places)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_chunks_of_any_size(size: int) -> None:
    body = written(table(["a", "b", "é"], ["x", "y" * 100, "é"]), 2)
    assert [[dict(row)["key"] for row in part] for part in read(body, size=size)] == [["a", "b"], ["é"]]
    assert read(body[:-8], size=size) == read(body)  # a body may end without the mark of its end


def test_slices_and_other_writers() -> None:
    """Buffers with an offset, and streams of polars."""
    sliced = table([f"k{i}" for i in range(300)], [f"t{i}" for i in range(300)]).slice(77, 60)
    assert [dict(row) for part in read(written(sliced)) for row in part] == sliced.to_pylist()
    polars = pytest.importorskip("polars")
    sink = io.BytesIO()
    frame = polars.DataFrame({"key": [1, 2], "text": ["x", "é"], "date": [DATES[0], None]})
    frame.write_ipc_stream(sink, compat_level=polars.CompatLevel.oldest())
    [part] = read(sink.getvalue())
    assert [dict(row) for row in part] == frame.to_dicts()
    sink = io.BytesIO()
    frame.write_ipc_stream(sink, compat_level=polars.CompatLevel.newest())
    with pytest.raises(Refused, match="the column text is of type string_view; accepted: string, large_string, binary"):
        read(sink.getvalue())


# ---- refusals


def plain(**columns: Any) -> Any:
    return pa.table({"key": ["a"], "text": ["x"], **columns})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (written(plain(url=["y"])), 400, "message 1 of the stream: the column 'url' is not known; accepted: key, text,"),
        (written(plain().select(["key"])), 400, "the column text is missing"),
        (written(plain().select(["text"])), 400, "the column key is missing; accepted are the types string, large_string"),
        (written(plain().select([])), 400, "the column key is missing"),
        (written(pa.Table.from_arrays([pa.array(["a"])] * 3, ["key", "text", "text"])), 400, "'text' is given twice"),
        (written(plain(key=[1.5])), 400, "the column key is of type float; accepted: string, large_string, binary"),
        (written(plain(text=[7])), 400, "the column text is of type int64"),
        (written(plain(text=[["x"]])), 400, "the column text is of type list"),
        (written(plain(date=[5])), 400, "the column date is of type int64; accepted: timestamp[s], timestamp[ms]"),
        (written(plain(date=[dt.date(2024, 1, 1)])), 400, "the column date is of type date"),
        (written(plain(idempotency_key=[b"x"])), 400, "the column idempotency_key is of type binary"),
        (written(plain(key=pa.array(["a"]).dictionary_encode())), 415, "the column key is a dictionary; send plain columns"),
        (written(plain(key=pa.array([None], pa.string()))), 400, "message 2 of the stream: 1 of 1 keys are null"),
        (written(plain(text=pa.array([None], pa.binary()))), 400, "1 of 1 texts are null; each page has a text"),
        (written(plain(date=pa.array([1 << 60]).cast(pa.timestamp("s")))), 400, "not between the years 1 and 9999"),
        (written(plain(date=pa.array([-(1 << 62)]).cast(pa.timestamp("us")))), 400, "not between the years 1 and 9999"),
        (written(plain(date=["yesterday"])), 400, "row 1 of the stream: date: the date 'yesterday' is not ISO 8601"),
        (written(plain(idempotency_key=["é"])), 400, "the idempotency key 'é' is not accepted"),
        (written(plain(key=pa.array([1 << 63], pa.uint64()))), 400, "does not fit in 64 bits"),
        (written(plain(text=["x" * 2001])), 413, "row 1 of the stream: text has 2,001 bytes; at most 2,000"),
        (written(plain(text=["x" * (ESCAPED * 2000 + OTHER)])), 413, "message 2 of the stream: it announces a body of"),
        (written(plain(), compression="lz4"), 415, "message 2 of the stream: its buffers are compressed"),
        (written(plain(), compression="zstd"), 415, "its buffers are compressed"),
        (written(plain(), metadata_version=pa.ipc.MetadataVersion.V4), 400, "it has version 3 of the metadata"),
        (written(plain(), use_legacy_format=True), 400, "it does not begin as messages do"),
        (b"ARROW1\0\0" + written(plain()), 400, "it does not begin as messages do"),
        (b'{"key": "a", "text": "x"}\n', 400, "it does not begin as messages do"),
        (b"", 400, "it is missing; a stream of Arrow begins with its schema"),
        (b"\xff\xff\xff\xff\0\0\0\0", 400, "it is missing"),
        (b"\xff\xff\xff", 400, "the body ends within it"),
        (written(plain())[messages(written(plain()))[1][0] :], 400, "it is not a schema"),
        (written(plain())[:-8] + written(plain()), 400, "ROWS message 3 of the stream: it is not a record batch"),
        (written(plain()) + written(plain()), 400, "ROWS message 3 of the stream: bytes follow the end"),
        (written(plain()) + b"\0", 400, "ROWS message 3 of the stream: bytes follow the end"),
        (written(plain())[:-20], 400, "message 2 of the stream: the body ends within it"),
    ],
)
def test_refusals(serve: Any, body: bytes, status: int, words: str) -> None:
    """ROWS: the row before it is answered, and is in the store."""
    served = serve(Limits(text=2000))
    found = served.ask(body)
    if words.startswith("ROWS "):
        first, last = rows_of(found)
        assert (first["key"], first["error"]) == ("a", None) and "a" in served.store
        assert {name for name, value in last.items() if value is not None} == {"error"}
        told = json.loads(last["error"])
        assert told["status"] == status and set(told) == {"title", "status", "detail"}
        assert words.removeprefix("ROWS ") in told["detail"]
    else:
        assert words in problem(found, status)
        assert len(served.store) == 0
    assert rows_of(served.ask(written(plain(key=["b"]))))[0]["key"] == "b"  # the server goes on


def test_other_types_of_content(serve: Any) -> None:
    served = serve()
    assert f"accepted: {', '.join(LINES)}, {ARROW}" in problem(served.ask(b"x", "text/csv"), 415)
    assert "Content-Encoding" in problem(served.ask(written(plain()), **{"content-encoding": "gzip"}), 415)


def test_pyarrow_is_missing(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served, body = serve(), written(plain())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    wanted = f"{ARROW} on the server needs pyarrow: pip install 'ndcore[parquet]'"
    assert problem(served.ask(body), 415) == wanted
    assert problem(served.ask(b'{"key": "a", "text": "x"}', LINES[0], accept=ARROW), 415) == wanted
    assert lines_of(served.ask(b'{"key": "a", "text": "x"}', LINES[0]))[0]["key"] == "a"


def test_a_big_endian_schema() -> None:
    schema = bytearray(plain().schema.serialize())
    assert read(bytes(schema)) == []
    flat = Flatbuffer(bytes(schema[8:]))
    table = 8 + flat.table(flat.root, 2)
    vtable = table - struct.unpack_from("<i", schema, table)[0]
    schema[vtable + 4 : vtable + 6] = schema[vtable + 6 : vtable + 8]  # its first field is absent: now it is a number
    with pytest.raises(Refused, match="its numbers are big-endian"):
        read(bytes(schema))


def test_keys_that_do_not_fit(serve: Any) -> None:
    """A representative of another type: the page is kept, and lines of JSON give its answer."""
    served = serve()
    for number, key in enumerate((7, "\ud800", b"raw")):
        served.store.decide(key, text(number))
        body = written(plain(key=["a"], text=[text(number)], idempotency_key=[f"request {number}"]))
        [row] = rows_of(served.ask(body))
        told = json.loads(row["error"])
        assert row["key"] is None and told["status"] == 406
        assert f"the key {key!r} does not fit in the column of keys, of type string; ask with the header" in told["detail"]
        [line] = lines_of(served.ask(body, accept=LINES[0]))
        assert line["of"] == ({"bytes": key.hex()} if isinstance(key, bytes) else key) and line["repeated"]
    mixed = b'{"key": "x", "text": "x"}\n{"key": 5, "text": "y"}\n'
    assert json.loads(rows_of(served.ask(mixed, LINES[0], accept=ARROW))[-1]["error"])["status"] == 406


# ---- streams that end early


def test_a_batch_that_is_not_valid_leaves_the_pages_before_it(serve: Any) -> None:
    body = bytearray(pages(250))
    _, start, _ = messages(bytes(body))[3]  # the third batch
    struct.pack_into("<i", body, start + 8, 1 << 30)  # the end of its second key
    served = serve()
    *rows, last = rows_of(served.ask(bytes(body)))
    assert [row["key"] for row in rows] == [f"k{i}" for i in range(200)]
    assert json.loads(last["error"])["detail"].startswith("message 4 of the stream: it is not valid: the column key: ")
    assert len(served.store) == 200


def test_a_row_that_is_refused_leaves_the_pages_before_it(serve: Any) -> None:
    dates = ["2024-01-01"] * 150 + ["2024-13-01"] + ["2024-01-01"] * 49
    body = written(table([f"k{i}" for i in range(200)], [text(i) for i in range(200)], date=dates))
    served = serve()
    *rows, last = rows_of(served.ask(body))
    assert [row["key"] for row in rows] == [f"k{i}" for i in range(150)]
    assert json.loads(last["error"])["detail"].startswith("row 151 of the stream: date")
    assert len(served.store) == 150
    lines = lines_of(serve().ask(body, accept=LINES[0]))
    assert len(lines) == 151 and lines[-1] == {"error": json.loads(last["error"])}


def test_an_idempotency_key_of_another_page(serve: Any) -> None:
    served = serve()
    body = written(table(["a", "b", "c"], ["x", "y", "z"], idempotency_key=["one", "two", "one"]))
    *rows, last = rows_of(served.ask(body))
    assert [row["key"] for row in rows] == ["a", "b"] and json.loads(last["error"])["status"] == 422
    assert len(served.store) == 2


@pytest.mark.parametrize("cut", [1, 8, 9, 100, 1000, -1, -7, -9, -16, -100])
def test_a_body_that_is_cut_leaves_a_prefix(serve: Any, cut: int) -> None:
    body, served = pages(250), serve()
    ends = [end for _, _, end in messages(body)]
    found = served.ask(body[:cut])
    size = len(body[:cut])
    whole = sum(end <= size for end in ends[1:])
    kept = min(250, 100 * whole)
    assert len(served.store) == kept
    if kept == 0:
        assert "the body ends within it" in problem(found, 400)
    else:
        *rows, last = rows_of(found)
        assert [row["key"] for row in rows] == [f"k{i}" for i in range(kept)]
        assert "the body ends within it" in json.loads(last["error"])["detail"]


def test_messages_have_a_deadline() -> None:
    body = written(table(["a"], ["x"]))
    _, start, _ = messages(body)[1]

    async def trickle(before: int) -> None:
        async def come() -> AsyncIterator[bytes]:
            if before:
                yield body[:before]
            for byte in body[before:]:
                await asyncio.sleep(0.02)
                yield bytes([byte])

        async for _ in ArrowRows(come(), 1000, 0.2).parts():
            pass

    for before, number in ((0, 1), (12, 1), (messages(body)[1][0], 2), (start + 4, 2)):
        with pytest.raises(Refused, match=rf"message {number} of the stream: it did not come in 0\.2 seconds") as refused:
            asyncio.run(trickle(before))
        assert refused.value.status == 408


def test_the_time_of_answers_does_not_count() -> None:
    async def slow() -> int:
        async def come() -> AsyncIterator[bytes]:
            body = pages(300)
            for start, _, end in messages(body):
                yield body[start:end]

        count = 0
        async for part in ArrowRows(come(), 1000, 0.2).parts():
            await asyncio.sleep(0.1)
            count += len(part)
        return count

    assert asyncio.run(slow()) == 300


# ---- hostile streams


def test_announced_sizes_reserve_no_memory() -> None:
    body = written(table(["a"], ["x"]))
    (_, _, first), (start, inner, _) = messages(body)
    size = struct.pack("<q", len(body) - 8 - inner)
    assert body.count(size, start, inner) == 1
    at = body.index(size, start)

    def announce(count: int) -> bytes:
        return body[:at] + struct.pack("<q", count) + body[at + 8 : inner] + b"\0" * 1000

    limit = ESCAPED * (16 << 20) + OTHER
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        for forged, status in (
            (announce(limit), 400),  # it is accepted, and does not come
            (announce(limit + 1), 413),
            (announce(1 << 40), 413),
            (announce((1 << 63) - 1), 413),
            (announce(-1), 413),
            (struct.pack("<Ii", 0xFFFFFFFF, MOST_METADATA), 400),
            (struct.pack("<Ii", 0xFFFFFFFF, MOST_METADATA + 1), 413),
            (struct.pack("<Ii", 0xFFFFFFFF, (1 << 31) - 1), 413),
            (struct.pack("<Ii", 0xFFFFFFFF, -8), 413),
            (body[:first] + struct.pack("<Ii", 0xFFFFFFFF, 1 << 30), 413),
        ):
            with pytest.raises(Refused) as refused:
                read(forged, 16 << 20)
            assert refused.value.status == status, refused.value.message
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert pa.total_allocated_bytes() < before + (1 << 20)


def test_a_schema_of_very_many_columns_is_refused_at_once() -> None:
    schema = pa.schema([(f"c{i}", pa.null()) for i in range(10_000)])
    with pytest.raises(Refused, match="the column 'c0' is not known"):
        read(bytes(schema.serialize()))
    nested = pa.null()
    for _ in range(60):
        nested = pa.struct([("x", nested)])
    with pytest.raises(Refused, match="the column key is of type struct"):
        read(bytes(pa.schema([("key", nested)]).serialize()))


@pytest.mark.parametrize("kind", ["string", "large_string"])
@pytest.mark.parametrize(
    "offsets",
    [(0, 2, 1, 3), (0, -1, 2, 3), (0, 1, 2, 1 << 30), (-1, 1, 2, 3), (3, 2, 1, 0), (5, 9, 9, 9), (0, (1 << 31) - 1, 2, 3)],
)
def test_offsets_that_lead_out_of_a_buffer(kind: str, offsets: tuple[int, ...]) -> None:
    sent = table(pa.array(["a", "b", "c"], getattr(pa, kind)()), ["x", "y", "z"])
    body = bytearray(written(sent))
    struct.pack_into("<4i" if kind == "string" else "<4q", body, messages(bytes(body))[1][1], *offsets)
    with pytest.raises(Refused, match="message 2 of the stream: it is not valid: the column key"):
        read(bytes(body))


def test_texts_that_are_not_utf8() -> None:
    body = written(table(["a"], ["é"])).replace("é".encode(), b"\xff\xfe")
    with pytest.raises(Refused, match="the column text: Invalid UTF8"):
        read(body)
    assert read(written(table(["a"], [b"\xff\xfe"])))[0][0][1] == ("text", b"\xff\xfe")


SAMPLES = [
    written(table(["a", "bb", "é"], [b"x", b"", b"\xff" * 9], date=pa.array([5, None, 7], pa.timestamp("s")),
                  idempotency_key=[None, "one", "two"]), 2),
    written(table(pa.array([1, -2, 3]), pa.array(["x", "y" * 40, "z"], pa.large_string()), date=["2024-01-01", None, ""])),
    written(table(pa.array([b"k"] * 3, pa.large_binary()), ["x", "y", "z"]), compression="zstd"),
    written(table(pa.array([b"k"] * 3).dictionary_encode(), ["x", "y", "z"])),
]
NUMBERS = (0, 1, -1, 2, 7, 8, 64, 127, 128, 255, 1 << 15, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 63)


def mutate(random_: random.Random, body: bytes) -> bytes:
    """A stream with one to three faults."""
    made = bytearray(body)
    for _ in range(random_.randint(1, 3)):
        at, kind = random_.randrange(len(made)), random_.randrange(7)
        if kind == 0:
            made[at] ^= 1 << random_.randrange(8)
        elif kind == 1:
            made[at] = random_.randrange(256)
        elif kind == 2:
            del made[at:]
        elif kind == 3:
            del made[at : at + random_.choice((1, 4, 8))]
        elif kind == 4:
            made[at:at] = random_.randbytes(random_.choice((1, 4, 8)))
        else:  # a number, where numbers are
            size = random_.choice((2, 4, 8))
            value = random_.choice(NUMBERS) & ((1 << 8 * size) - 1)
            at -= at % size
            made[at : at + size] = value.to_bytes(size, "little")
        if not made:
            break
    return bytes(made)


def check_mutant(mutant: bytes) -> bool:
    """Tell whether a mutant is read. Then its rows are those that pyarrow finds, where it reads it."""
    taken: list[dict[str, Any]] = []
    wanted: list[dict[str, Any]] = []

    async def take() -> None:
        async def come() -> AsyncIterator[bytes]:
            yield mutant

        async for part in ArrowRows(come(), 1000, 5.0).parts():
            assert 0 < len(part) <= PART
            taken.extend(dict(row) for row in part)

    refused = False
    try:
        asyncio.run(take())
    except Refused as error:
        refused = True
        assert error.status in (400, 413, 415) and error.message.startswith("message ")
    for row in taken:
        assert {"key", "text"} <= set(row) <= {"key", "text", "date", "idempotency_key"}
        assert type(row["key"]) in (str, bytes, int) and type(row["text"]) in (str, bytes)
        assert row.get("date") is None or isinstance(row["date"], (str, dt.datetime))
    try:
        for batch in pa.ipc.open_stream(mutant) if taken else ():
            batch.validate(full=True)
            wanted += whole_microseconds(batch).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError):
        pass  # pyarrow refuses what nothing here reads, such as a zone that nobody knows
    assert taken[: len(wanted)] == wanted[: len(taken)]
    return not refused


def whole_microseconds(batch: Any) -> Any:
    """Give timestamps a type that Python has values of."""
    for at, column in enumerate(batch.columns):
        if pa.types.is_timestamp(column.type):
            unit = ("s", "ms", "us", "ns").index(column.type.unit)
            numbers = [None if n is None else n * 1_000_000 // 1000**unit for n in column.cast(pa.int64()).to_pylist()]
            batch = batch.set_column(at, batch.schema.names[at], pa.array(numbers, pa.timestamp("us", "UTC")))
    return batch


@pytest.mark.parametrize("number", range(len(SAMPLES)))
def test_mutants(number: int) -> None:
    """Each is refused, or read as what it says."""
    random_ = random.Random(number)
    read_ = sum(check_mutant(mutate(random_, SAMPLES[number])) for _ in range(300))
    assert read_ < 300 and (read_ > 5 or number > 1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_every_byte_of_a_stream(number: int) -> None:
    """Every third bit: each byte has two or three of its bits changed, and each of the eight places comes."""
    body = SAMPLES[number]
    for at in range(0, 8 * len(body), 3):
        mutant = bytearray(body)
        mutant[at // 8] ^= 1 << at % 8
        check_mutant(bytes(mutant))


def test_mutants_reach_the_store_as_a_prefix(serve: Any) -> None:
    """What is answered is what is kept, and the server answers after all of them."""
    random_, body = random.Random(5), pages(150)
    for _ in range(12):
        served = serve()
        found = served.ask(mutate(random_, body))
        if found.status_code == 200:
            rows = [row for row in rows_of(found) if row["error"] is None]
            assert len(served.store) == len({row["key"] for row in rows})
            assert all(row["key"] in served.store for row in rows)
        else:
            assert found.status_code in (400, 413, 415) and len(served.store) == 0
    assert len(rows_of(served.ask(body))) == 150


# ---- the description


def test_it_is_described() -> None:
    described = openapi("written store")["paths"][PATH]["post"]
    content = described["requestBody"]["content"]
    assert list(content) == [*LINES, ARROW]
    assert "idempotency_key (optional): string, large_string" in content[ARROW]["schema"]["description"]
    assert list(described["responses"]["200"]["content"]) == [LINES[0], ARROW]
    assert "406" in described["responses"]
