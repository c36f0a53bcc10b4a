"""Every route, as JSON and as a page: the same content, which is what the reference of a store says."""

from __future__ import annotations

import asyncio
import json
import shlex
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from browser import ATTACK, Grids, Tree
from commands import text
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.serve import app as module
from ndcore.serve.app import WorkerThreads
from ndcore.serve.refusal import Refused

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from served import DAY, HOSTILE_KEYS, PAGES, WIDTH, BruteForce, answered, client, collection_client, problem, store_client

from ndcore.serve.app import Limits
from ndcore.serve.routes import routes_of

SHINGLING = nd.Shingling(width=WIDTH)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server of a store on disk."""
    return store_client(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def known() -> Any:
    """The definition of what it says."""
    return BruteForce().known


def iso(day: int) -> str:
    return f"1970-01-{day + 1:02}T00:00:00Z"


def words(page: Any) -> str:
    assert page.status_code == 200, page.text
    assert page.headers["content-type"].startswith("text/html")
    return " ".join(" ".join(Tree(page.text).text).split())


# ---- a store


def test_about(asked: Any) -> None:
    told = answered(asked.get("/api/about"))
    assert (told["kind"], told["name"], told["documents"]) == ("store", "crawl", 7)
    assert told["settings"]["threshold"] == 0.5 and "shingling" in told["settings"]
    page = asked.get("/")
    assert "crawl" in words(page) and "Paste a text" in words(page)
    assert "secret" not in page.text + json.dumps(told)  # of the hashes of keys


@pytest.mark.parametrize("key", ["a", "copy", "near", 7, b"\xffkey", "7x", "empty"])
def test_document(asked: Any, known: Any, key: Any) -> None:
    kind = type(key).__name__
    query = {"key": key.hex() if kind == "bytes" else str(key), "kind": kind}
    told = answered(asked.get("/api/document", params=query))
    members = [{"bytes": each.hex()} if isinstance(each, bytes) else each for each in known.cluster(key)]
    assert [member["key"] for member in told["cluster"]["members"]] == members
    assert told["cluster"]["representative"] == members[0] and told["cluster"]["documents"] == len(members)
    located = known.locate(key)
    assert told["located"]["located"] == ({"bytes": located.hex()} if isinstance(located, bytes) else located)
    assert told["located"]["date"] == iso(int(known.history(located)[-1].date // DAY))
    versions = [(v["date"], v["change"], v["resemblance"]) for v in told["history"]["versions"]]
    assert versions == [(iso(int(v.date // DAY)), v.change, v.resemblance) for v in reversed(known.history(key))]
    assert told["text"]["text"] == known._pages[key].last
    assert asked.get("/document", params=query).status_code == 200


def test_changes_are_real_or_lexical(asked: Any) -> None:
    told = answered(asked.get("/api/history", params={"key": "a"}))
    assert [(v["number"], v["change"], v["real"]) for v in told["versions"]] == [
        (3, "lexical", False),
        (2, "unchanged", False),
        (1, None, None),
    ]
    told = answered(asked.get("/api/history", params={"key": "7x"}))
    assert [(v["change"], v["real"]) for v in told["versions"]] == [("other", True), ("near", True), (None, None)]
    page = Grids(asked.get("/history", params={"key": "7x"}).text)
    rows = page.table("3 versions")
    assert [row[0] for row in rows] == ["3", "2", "1"]
    assert rows[0][2].startswith("real: another text") and rows[2][2] == "first version"
    assert "lexical only" in words(asked.get("/history", params={"key": "a"}))


def test_a_word_is_a_str_or_else_an_int(asked: Any) -> None:
    assert answered(asked.get("/api/document", params={"key": "7"}))["key"] == 7
    problem(asked.get("/api/document", params={"key": "7", "kind": "str"}), 404)
    problem(asked.get("/api/document", params={"key": "a", "kind": "int"}), 400)
    problem(asked.get("/api/document", params={"key": "a", "kind": "float"}), 400)
    problem(asked.get("/api/document", params={"key": "xy", "kind": "bytes"}), 400)


def test_locate(asked: Any) -> None:
    told = answered(asked.get("/api/locate", params={"key": "a"}))
    assert told == {"key": "a", "located": "near", "date": iso(9)}
    assert "Seen last: near" in words(asked.get("/locate", params={"key": "a"}))


def test_clusters(asked: Any, known: Any) -> None:
    wanted = [each for each in known.clusters().values() if len(each) > 1]
    told = answered(asked.get("/api/clusters"))
    assert [(each["representative"], each["documents"]) for each in told["clusters"]] == [
        (each[0], len(each)) for each in wanted
    ]
    assert told["page"] == {"number": 1, "size": 50, "total": len(wanted), "more": False}
    assert len(wanted) == 2
    alone = answered(asked.get("/api/clusters", params={"least": 1}))["clusters"]
    assert [each["documents"] for each in alone] == [len(each) for each in known.clusters().values()]
    assert "page=2" in " ".join(Tree(asked.get("/clusters?least=1&size=2").text).values("href"))
    first = answered(asked.get("/api/clusters", params={"size": 1}))
    second = answered(asked.get("/api/clusters", params={"size": 1, "page": 2}))
    assert first["clusters"] + second["clusters"] == told["clusters"]
    assert first["page"]["more"] and not second["page"]["more"]
    assert "There is no such page" in words(asked.get("/clusters", params={"page": 9}))
    links = Tree(asked.get("/clusters", params={"size": 1}).text).values("href")
    assert "/clusters?page=2&size=1" in links


def test_members_are_paged(asked: Any, known: Any) -> None:
    told = [answered(asked.get("/api/document", params={"key": "copy", "size": 2, "page": page})) for page in (1, 2)]
    assert [member["key"] for each in told for member in each["cluster"]["members"]] == known.cluster("copy")
    links = Tree(asked.get("/document", params={"key": "copy", "size": 2}).text).values("href")
    assert "/document?key=copy&page=2&size=2" in links
    assert "/document?key=a&versions=2&size=2" in Tree(asked.get("/document", params={"key": "a", "size": 2}).text).values(
        "href"
    )


# ---- texts


@pytest.mark.parametrize("sent", [text(1), text(1).upper(), text(1, 1), text(2, 2), text(9), "", "!", ATTACK, "\ud800"])
def test_peek(asked: Any, known: Any, sent: str) -> None:
    wanted = known.peek(sent)
    told = answered(
        asked.post("/api/peek", content=json.dumps({"text": sent}), headers={"content-type": "application/json"})
    )
    verdict = told["judgement"]
    of = {"bytes": wanted.of.hex()} if isinstance(wanted.of, bytes) else wanted.of
    assert (verdict["verdict"], verdict["of"], verdict["equal"]) == (wanted.verdict, of, wanted.equal)
    for name in ("resemblance", "contained", "containing"):
        assert verdict[name] == getattr(wanted, name)
    assert (told["cluster"] is None) == (wanted.of is None)
    assert told["differences"] is None
    sent = sent.replace("\ud800", "")
    page = asked.post("/peek", data={"text": sent, "differences": "1"})
    if sent:
        assert page.status_code == 200
        assert Tree(page.text).elements


def test_nothing_is_kept() -> None:
    store = BruteForce()
    asked = client(store)
    before = answered(asked.get("/api/about")), answered(asked.get("/api/clusters"))
    asked.post("/api/peek", json={"text": text(9)})
    asked.post("/peek", data={"text": text(9)})
    assert (answered(asked.get("/api/about")), answered(asked.get("/api/clusters"))) == before
    assert store.refreshed == 6  # each request follows the writer


def test_marked_differences(asked: Any) -> None:
    told = answered(asked.post("/api/peek", json={"text": text(1, 1), "differences": 1}))
    assert told["differences"]["resemblance"] == nd.resemblance(text(1, 1), text(1).upper(), SHINGLING)
    assert answered(asked.post("/api/peek", json={"text": text(1, 1), "differences": 0}))["differences"] is None
    only = [p["text"] for p in told["differences"]["a"]["passages"] if p["number"] == 0]
    assert only and all("changed0" in each for each in only)
    page = asked.post("/peek", data={"text": text(1, 1), "differences": "1"})
    assert "changed0" in page.text.partition("<mark>")[2]
    assert '<table class="nd-pair">' in page.text


def test_a_text_is_taken_to_the_byte(asked: Any) -> None:
    plain = {"content-type": "text/plain; charset=utf-8"}
    assert answered(asked.post("/api/peek", content=text(1), headers=plain))["judgement"]["equal"] == "a"
    assert (
        answered(asked.post("/api/peek", content=b"\xff\xfe" + text(1).encode(), headers=plain))["judgement"]["equal"]
        is None
    )
    form = {"content-type": "application/x-www-form-urlencoded"}
    store = client(BruteForce([("lines", "one two\nthree four five", 1), ("crlf", "six seven\r\neight nine ten", 1)]))
    typed = urlencode({"text": "one two\r\nthree four five"})  # as browsers send it
    assert "Identical" in words(store.post("/peek", content=typed, headers=form))
    exact = urlencode({"text": "six seven\r\neight nine ten"})
    assert answered(store.post("/api/peek", content=exact, headers=form))["judgement"]["equal"] == "crlf"


def test_compare(asked: Any) -> None:
    told = answered(asked.get("/api/compare", params={"a": "a", "b": "near"}))
    assert told["resemblance"] == nd.resemblance(text(1).upper(), text(1, 1), SHINGLING)
    assert told["verdict"] == "near" and told["a"]["name"] == "a"
    assert told == answered(asked.post("/api/compare", json={"a": "a", "b": "near"}))
    told = answered(asked.post("/api/compare", json={"a": {"bytes": b"\xffkey".hex()}, "text_b": text(2)}))
    assert told["resemblance"] == nd.resemblance(text(2, 1), text(2), SHINGLING)
    assert "Near-duplicates" in words(asked.get("/compare", params={"a": "a", "b": "near"}))
    assert "Identical" in words(asked.post("/compare", data={"text_a": "x", "text_b": "x"}))
    assert answered(asked.get("/api/compare", params={"a": 7, "a_kind": "int", "b": "empty"}))["verdict"] == "none"
    for wrong in ({}, {"a": "a"}, {"a": "a", "b": "near", "text_b": "x"}):
        problem(asked.post("/api/compare", json=wrong), 400)
    problem(asked.get("/api/compare", params={"a": "a", "b": "unknown"}), 404)
    problem(asked.get("/api/compare", params={"text_a": "a", "text_b": "b"}), 400)  # texts are in bodies only


def test_a_store_without_texts() -> None:
    class Bare(BruteForce):
        def text(self, key: Any) -> Any:
            raise LookupError("no texts")

    asked = client(Bare())
    assert answered(asked.get("/api/document", params={"key": "a"}))["text"] is None
    assert "keeps no texts" in problem(asked.get("/api/compare", params={"a": "a", "b": "near"}), 404)
    assert answered(asked.post("/api/peek", json={"text": text(1), "differences": 1}))["differences"] is None
    assert "differences" not in asked.get("/document", params={"key": "a"}).text.partition("<main>")[2].partition("Lost")[0]


# ---- a collection


def test_collection(tmp_path: Any) -> None:
    asked = collection_client(tmp_path)
    assert answered(asked.get("/api/about"))["kind"] == "collection"
    told = answered(asked.get("/api/document", params={"key": "b"}))
    assert [(m["key"], m["verdict"]) for m in told["cluster"]["members"]] == [
        ("a", "kept"),
        ("b", "identical"),
        ("<b>c</b>", "near"),
    ]
    near = nd.resemblance(text(1), text(1, 1), SHINGLING)
    assert [(m["key"], m["resemblance"]) for m in told["resembling"]] == [("a", 1.0), ("b", 1.0), ("<b>c</b>", near)]
    assert told["history"] is told["located"] is told["text"] is None
    told = answered(asked.post("/api/peek", json={"text": text(1, 1)}))
    assert [m["key"] for m in told["resembling"]] == ["<b>c</b>", "a", "b"] and told["judgement"] is None
    told = answered(asked.get("/api/clusters"))
    assert [(c["representative"], c["documents"], c["members"]) for c in told["clusters"]] == [
        ("a", 3, ["a", "b", "<b>c</b>"])
    ]
    assert told["page"]["total"] == 1
    assert answered(asked.get("/api/clusters", params={"page": 2}))["clusters"] == []
    alone = answered(asked.get("/api/clusters", params={"least": 1}))["clusters"]
    assert [(each["representative"], each["documents"]) for each in alone] == [("a", 3), ("4", 1), ("e", 1)]
    for path in ("history", "locate", "compare"):
        problem(asked.get(f"/api/{path}", params={"key": "a"}), 404)
    problem(asked.get("/api/document", params={"key": "x"}), 404)
    for page in (
        asked.get("/"),
        asked.get("/document", params={"key": "<b>c</b>"}),
        asked.get("/clusters"),
        asked.post("/peek", data={"text": text(1)}),
        asked.post("/peek", data={"text": "nothing of it"}),
    ):
        assert page.status_code == 200 and "<b>c</b>" not in page.text
        assert "Lost and found" not in page.text
        Tree(page.text)


# ---- refusals


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("document", "key is missing"),
        ("document?key=x&key=y", "given twice"),
        ("document?key=x&file=y", "no parameter 'file'"),
        ("clusters?page=0", "from 1 to"),
        ("clusters?size=501", "from 1 to 500, got 501"),
        ("clusters?page=1e3", "whole number"),
        ("clusters?page=٣", "whole number"),
        ("document?key=%FF", "not UTF-8"),
        ("history?key=a&versions=-1", "whole number"),
        ("document?" + "&".join(f"k{i}=1" for i in range(50)), "at most 32"),
    ],
)
def test_bad_queries(asked: Any, path: str, words: str) -> None:
    assert words in problem(asked.get(f"/api/{path}"), 400)
    page = asked.get(f"/{path}")
    assert page.status_code == 400 and page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"[]", "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"text": 5}', "application/json", 400),
        (b'{"text": null}', "application/json", 400),
        (b'{"text": "x", "file": "/etc/passwd"}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b'{"text": "x", "key": ["y"]}', "application/json", 400),
        (b'{"text": "x", "page": true}', "application/json", 400),
        (b"text=%FF", "application/x-www-form-urlencoded", 400),
        (b"x", "multipart/form-data; boundary=y", 415),
        (b"x", "", 415),
        (b"9" * 10_000, "application/json", 400),
    ],
)
def test_bad_bodies(asked: Any, body: bytes, kind: str, status: int) -> None:
    problem(asked.post("/api/peek", content=body, headers={"content-type": kind}), status)
    assert asked.post("/peek", content=body, headers={"content-type": kind}).status_code == status


def test_texts_that_are_too_large() -> None:
    asked = client(limits=Limits(text=1000))
    plain = {"content-type": "text/plain"}
    assert asked.post("/api/peek", content=b"x" * 1000, headers=plain).status_code == 200
    assert "1,001 bytes" in problem(asked.post("/api/peek", content=b"x" * 1001, headers=plain), 413)
    problem(asked.post("/api/peek", json={"text": "é" * 501}), 413)
    problem(asked.post("/api/compare", json={"a": "a", "text_b": "é" * 501}), 413)
    problem(asked.post("/api/peek", content=b"x" * 3_000_000, headers=plain), 413)
    problem(asked.post("/api/peek", content=(b"x" * 10_000 for _ in range(500)), headers=plain), 413)  # no Content-Length
    assert asked.post("/peek", data={"text": "x" * 1001}).status_code == 413


def test_answers_that_take_too_long() -> None:
    class Slow(BruteForce):
        def cluster(self, key: Any) -> Any:
            time.sleep(0.5)
            return super().cluster(key)

    asked = client(Slow(), Limits(seconds=0.1))
    assert "longer than 0.1 seconds" in problem(asked.get("/api/document", params={"key": "a"}), 503)


def test_what_fails_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(BruteForce):
        def cluster(self, key: Any) -> Any:
            raise OSError("/home/secret/store: damaged")

    told = problem(client(Broken()).get("/api/document", params={"key": "a"}), 500)
    assert "secret" not in told and "/home/secret/store: damaged" in caplog.text


@pytest.mark.parametrize(
    "path", ["/x", "/api/x", "/api", "/document/a", "/..%2f..%2fetc/passwd", "//etc/passwd", "/api/../x", "/%00"]
)
def test_other_paths(asked: Any, path: str) -> None:
    assert asked.get(path).status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
@pytest.mark.parametrize("path", ["/", "/api/document", "/openapi.json"])
def test_other_methods(asked: Any, method: str, path: str) -> None:
    found = asked.request(method, path)
    assert found.status_code == 405 and "GET" in found.headers["allow"]
    assert not any(name.startswith("access-control") for name in found.headers)
    assert asked.head("/").status_code == 200


# ---- hostile keys and texts


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store whose keys and texts attack; all of the same cluster."""
    folder = tmp_path_factory.mktemp("hostile")
    return store_client(folder, [(key, ATTACK + " again and again", 1) for key in (*HOSTILE_KEYS, ATTACK)])


@pytest.mark.parametrize("key", [*HOSTILE_KEYS, ATTACK])
def test_hostile_keys(hostile: Any, key: str) -> None:
    escaped = quote(key, safe="", errors="surrogatepass")
    told = answered(hostile.get(f"/api/document?key={escaped}"))
    assert told["key"] == key
    inert(hostile.get(f"/document?key={escaped}").text)
    for path in (
        f"history?key={escaped}",
        f"locate?key={escaped}",
        f"compare?a={escaped}&b={escaped}",
        "clusters",
        f"document?key=unknown{escaped}",
        f"clusters?page={escaped}",
        f"unknown{escaped}",
    ):
        inert(hostile.get(f"/{path}").text)


def test_hostile_texts(hostile: Any) -> None:
    for body in ({"text": ATTACK + " again and again", "differences": "1"}, {"text": ATTACK}, {ATTACK: ATTACK}):
        data = urlencode(body, errors="surrogatepass")
        inert(hostile.post("/peek", content=data, headers={"content-type": "application/x-www-form-urlencoded"}).text)


def inert(source: str) -> None:
    """A page has one script, no handlers, and links to itself only."""
    page = Tree(source)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {"img", "iframe", "object", "link", "base"} & {tag for tag, _ in page.elements}
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "style" or name == "src"]
    for name in ("href", "action"):
        assert all(
            (value.startswith("/") and not value.startswith("//")) or value.startswith("#") for value in page.values(name)
        )


@given(pages=st.lists(st.tuples(st.text(max_size=12), st.text(max_size=40)), min_size=1, max_size=4))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_any_keys_and_texts(pages: list[tuple[str, str]]) -> None:
    """Pages are well-formed and inert, and JSON is exact."""
    with TemporaryDirectory() as folder:
        asked = store_client(Path(folder), [(key, page, 1) for key, page in pages])
        for key, page in dict(pages).items():
            escaped = quote(key, safe="", errors="surrogatepass")
            told = answered(asked.get(f"/api/document?key={escaped}&kind=str"))
            assert told["key"] == key and told["text"]["text"] == page
            inert(asked.get(f"/document?key={escaped}&kind=str").text)
        inert(asked.get("/clusters?least=1").text)


def test_links_lead_to_their_keys(hostile: Any) -> None:
    links = [link for link in Tree(hostile.get("/clusters?size=500").text).values("href") if link.startswith("/document")]
    assert len(links) >= 5
    for link in links:
        assert hostile.get(link).status_code == 200
    assert len(PAGES) > len({key for key, _, _ in PAGES})


def test_the_lines_of_the_documentation(tmp_path: Any) -> None:
    """Each curl of docs/serve.md is answered."""
    page = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")
    lines = [shlex.split(line) for line in page.splitlines() if line.startswith("curl ")]
    pages = [("http://gazette.example/river", text(1), 1), ("http://mirror.example/flood", text(1, 1), 2)]
    asked = store_client(tmp_path, pages)
    for *options, address in lines:
        path = address.removeprefix("http://127.0.0.1:8765")
        if "--data-binary" in options:
            name, _, value = options[2].partition(": ")
            told = answered(asked.post(path, content=text(1).encode(), headers={name: value}))
            assert list(told) == ["judgement", "cluster", "located", "resembling", "differences"]
            assert all(f'"{name}"' in page for name in (*told, *told["judgement"]))
        else:
            answered(asked.get(path))
    assert {address.partition("?")[0].rpartition("/")[2] for *_, address in lines} | {"about"} == {
        route.name for route in routes_of("store")}


def test_results_and_errors() -> None:
    work = WorkerThreads(5)
    assert asyncio.run(work.run(max, 1, 2)) == 2
    with pytest.raises(KeyError):
        asyncio.run(work.run({}.__getitem__, 1))


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "THREADS", 1)
    monkeypatch.setattr(module, "WAITING", 1)
    gate = threading.Event()

    async def ask() -> list[object]:
        work = WorkerThreads(0.2)
        try:
            found = await asyncio.gather(*(work.run(gate.wait, 10) for _ in range(3)), return_exceptions=True)
            gate.set()
            for _ in range(100):  # the thread ends, and there is room again
                await asyncio.sleep(0.01)
                if work._running == 0:
                    break
            return [*found, await work.run(max, 1, 2)]
        finally:
            gate.set()

    *refused, last = asyncio.run(ask())
    assert [type(each) for each in refused] == [Refused] * 3 and last == 2
    assert sorted("busy" in str(each) for each in refused) == [False, False, True]
    assert all(each.status == 503 for each in refused if isinstance(each, Refused))
