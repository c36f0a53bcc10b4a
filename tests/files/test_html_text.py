"""HTML: files, columns, encodings, the whole page and its main content, and what ndcore writes of them."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import ndcore
from ndcore.cli.main import main
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.formats import guess_from_name
from ndcore.files.html_text import decode_html, decode_plain_text
from ndcore.text.inputs import Extracted

pytest.importorskip("resiliparse", reason="the extra web is not installed")

ARTICLE = "Seven wizards quietly boil a large pot of vegetable soup and discuss the weather of the northern hills. "


def page(text: str, menu: str = "home contact imprint") -> bytes:
    links = "".join(f"<li><a href='/{word}'>{word}</a></li>" for word in menu.split())
    return (
        f"<!DOCTYPE html><html><head><title>title</title><style>p {{}}</style><script>var x;</script></head>"
        f"<body><nav><ul>{links}</ul></nav><main><p>{text}</p></main></body></html>"
    ).encode()


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def read(path: Path, **options: str) -> list[str | bytes]:
    with FileDocuments([str(path)], **options) as documents:  # type: ignore[arg-type]
        first = [text for batch in documents.batches() for text in batch]
        assert [text for batch in documents.batches() for text in batch] == first
        return first


def words(text: str | bytes) -> list[str]:
    found: list[str] = ndcore.Shingling().tokens(text)
    return found


def test_titles_keep_pages_apart(tmp_path: Path) -> None:
    for number, title in enumerate((b"Salt", b"Pepper", b"salt!")):
        html = page(ARTICLE * 3 + f"Page {number}.").replace(b"<title>title", b"<title>" + title)
        (tmp_path / f"{number}.html").write_bytes(html)
    with FileDocuments([str(tmp_path)]) as documents:
        assert ndcore.near_duplicates(documents).labels.tolist() == [0, 0, 0]
        assert ndcore.near_duplicates(documents, must_agree="title").labels.tolist() == [0, 1, 0]


def test_a_text_carries_the_title_of_its_page(tmp_path: Path) -> None:
    titles = {"a": page("soup").replace(b"<title>title", b"<title> Salt &amp;\n pepper"), "b": b"<p>no title</p>"}
    for part in ("page", "main"):
        for name, html in titles.items():
            (tmp_path / f"{name}.html").write_bytes(html)
            [text] = read(tmp_path / f"{name}.html", html=part)
            assert isinstance(text, Extracted)
            assert text.page_title == {"a": "Salt & pepper", "b": ""}[name]


@pytest.mark.parametrize("name", ["a.html", "a.htm", "A.XHTML", "a.html.gz", "a.html.zst"])
def test_files_of_every_suffix(tmp_path: Path, name: str) -> None:
    kind, compression = guess_from_name(name)
    assert kind == "html"
    data = page("The text, <b>bold</b>&amp;more.")
    if compression == "gz":
        data = gzip.compress(data)
    elif compression == "zst":
        data = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    (tmp_path / name).write_bytes(data)
    [text] = read(tmp_path / name)
    assert words(text) == ["home", "contact", "imprint", "the", "text", "bold", "more"]


def test_main_content_of_a_page(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(page(ARTICLE * 5))
    assert words(read(tmp_path / "a.html", html="main")[0]) == words(ARTICLE * 5)
    assert words(read(tmp_path / "a.html", html="page")[0])[:3] == ["home", "contact", "imprint"]
    with pytest.raises(ValueError, match="html must be None or one of page, main, not 'all'"):
        FileDocuments([str(tmp_path)], html="all")


@pytest.mark.parametrize(
    ("data", "charset", "text"),
    [
        ("é".encode("utf-16"), "latin-1", "é"),  # a mark beats what the sender says
        (b"\xfe\xff" + "é".encode("utf-16-be"), None, "é"),
        ("é".encode(), "iso-8859-1", "Ã©"),  # what the sender says beats everything else
        (b"<meta charset=latin-1>" + "é".encode(), None, "<meta charset=latin-1>é"),  # UTF-8 is never something else
        (b"<meta charset=windows-1251>" + "Да".encode("cp1251"), None, "<meta charset=windows-1251>Да"),
        (b"<meta charset=iso-2022-jp>" + "日本".encode("iso2022_jp"), None, "<meta charset=iso-2022-jp>日本"),
        ("①".encode("cp932"), "Shift_JIS", "①"),
        (b"a\x81b", "utf-8", "a\ufffdb"),
        (b"", None, ""),
    ],
)
def test_encodings(data: bytes, charset: str | None, text: str) -> None:
    assert decode_html(data, charset) == text


def test_plain_text_of_archives() -> None:
    assert decode_plain_text("é".encode(), None) == "é".encode()
    assert decode_plain_text(b"\xe9", "iso-8859-1") == "é"
    assert decode_plain_text("é".encode("utf-16"), None) == "é"


def test_columns_are_html_only_when_asked(tmp_path: Path) -> None:
    rows = [{"id": i, "html": page(f"text {i}").decode()} for i in range(200)] + [{"id": 200, "html": "a \ud800 b"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"text_field": "html"}
    assert read(tmp_path / "a.jsonl", **options) == [row["html"] for row in rows]
    found = read(tmp_path / "a.jsonl", html="page", **options)
    assert [words(text) for text in found[:200]] == [["home", "contact", "imprint", "text", str(i)] for i in range(200)]
    assert words(found[200]) == ["a", "b"]
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist([{"html": page("é")}]), tmp_path / "b.parquet")
    assert words(read(tmp_path / "b.parquet", html="main", **options)[0]) == ["é"]


def test_records_with_html_are_kept_to_the_byte(tmp_path: Path) -> None:
    rows = [{"html": page(ARTICLE, menu).decode(), "n": i} for i, menu in enumerate(["a b c", "d e f"])]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    (tmp_path / "a.jsonl").write_bytes(data)
    for part, kept in (("main", 1), ("page", 2)):
        out = tmp_path / part
        assert run("dedup", tmp_path / "a.jsonl", "-o", out, "-q", "--text-field", "html", "--html", part) == 0
        assert (out / "kept" / "a.jsonl").read_bytes() == b"".join(data.splitlines(True)[:kept])
        parameters = json.loads((out / "summary.json").read_text())["parameters"]
        assert parameters["html"] == part
        assert parameters["resiliparse"]


def test_pages_are_kept_to_the_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    pages = {"a.html": page(ARTICLE), "b.htm": page(ARTICLE).replace(b"<p>", b"<p class='x'>"), "c.html.gz": b""}
    pages["c.html.gz"] = gzip.compress(page("Something else"))
    for name, data in pages.items():
        (tmp_path / "in" / name).write_bytes(data)
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out") == 0
    kept = {path.name: path.read_bytes() for path in (tmp_path / "out" / "kept" / "in").iterdir()}
    assert kept == {name: pages[name] for name in ("a.html", "c.html.gz")}
    assert "1  dropped: the same text as its representative" in capsys.readouterr().out
    assert run("compare", tmp_path / "in" / "a.html", tmp_path / "in" / "b.htm", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "identical"
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "new", "--by", "lang") == 2
    assert "is an HTML file" in capsys.readouterr().err


def test_compare_main_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, menu in (("a.html", "a b c d e f g h"), ("b.html", "i j k l m n o p")):
        (tmp_path / name).write_bytes(page(ARTICLE * 4, menu))
    for options, verdict in ((["--html", "main"], "identical"), ([], "different")):
        assert run("compare", tmp_path / "a.html", tmp_path / "b.html", "--json", *options) == 0
        assert json.loads(capsys.readouterr().out)["verdict"] == verdict


def test_damaged_compression(tmp_path: Path) -> None:
    (tmp_path / "a.html.gz").write_bytes(gzip.compress(page("a"))[:-9])
    with pytest.raises(DocumentError, match="the compressed file is truncated"):
        read(tmp_path / "a.html.gz")
    (tmp_path / "a.html.gz").write_bytes(b"\x1f\x8b\x08broken gzip")
    with pytest.raises(DocumentError, match="not valid gzip data"):
        read(tmp_path / "a.html.gz")


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.html").write_bytes(page("a"))
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    assert run("dedup", tmp_path / "a.html", "-o", tmp_path / "out") == 1
    assert "reading HTML needs resiliparse: pip install 'ndcore[web]'" in capsys.readouterr().err


def test_articles_that_people_marked() -> None:
    """Check that whole pages have nearly all of what people took for the article; main content has less besides it."""
    folder = Path(os.environ.get("NDCORE_DATA", ""), "web_pages_a")
    if not os.environ.get("NDCORE_DATA") or not folder.is_dir():
        pytest.skip("NDCORE_DATA is not set, or has no web_pages_a")

    def shingles(**options: str) -> list[set[int]]:
        return [set(ndcore.Shingling().fingerprints(text).tolist()) for text in read(folder / "docs.jsonl.zst", **options)]

    articles, share = shingles(text_field="article_text"), {}
    for part in ("page", "main"):
        pairs = list(zip(shingles(text_field="html", html=part), articles, strict=True))
        share[part] = [sum(len(a & b) / len((a, b)[i]) for a, b in pairs) / len(pairs) for i in (0, 1)]
    assert share["page"][1] > 0.98
    assert share["main"][1] > 0.95
    assert share["main"][0] > share["page"][0] + 0.2


BARE = b"<html><body><script>%s</script></body></html>"


def bare(count: int) -> list[bytes]:
    """Make different pages without text; the last is a copy of the first."""
    return [*(BARE % str(i).encode() for i in range(count - 1)), BARE % b"0"]


def write_jsonl(path: Path, pages: list[bytes]) -> None:
    path.write_text("".join(json.dumps({"id": i, "text": data.decode()}) + "\n" for i, data in enumerate(pages)))


def write_warc(path: Path, pages: list[bytes]) -> None:
    """Write responses, every second one chunked: the payloads are equal, not their codings."""
    records = []
    for i, data in enumerate(pages):
        coding = b""
        if i % 2:
            coding, data = b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" + coding + b"\r\n" + data
        head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/{i}\r\n"
        head += f"WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http\r\nContent-Length: {len(http)}\r\n\r\n"
        records.append(head.encode() + http + b"\r\n\r\n")
    path.write_bytes(b"".join(records))


def counts(output: Path) -> Any:
    return json.loads((output / "summary.json").read_text())


@pytest.mark.parametrize("kind", ["files", "jsonl", "warc"])
def test_pages_without_text_are_equal_to_the_byte_or_different(tmp_path: Path, kind: str) -> None:
    """Compare them by dedup, by saved sketches on either side, and by cluster."""
    pages, source = bare(6), tmp_path / {"files": "in", "jsonl": "in.jsonl", "warc": "in.warc"}[kind]
    if kind == "files":
        source.mkdir()
        for i, data in enumerate(pages):
            (source / f"{i}.html").write_bytes(data)
    elif kind == "warc":
        pytest.importorskip("resiliparse")
        write_warc(source, pages)
    else:
        write_jsonl(source, pages)
    html = ["--html", "page", "-q"]
    assert run("dedup", source, "-o", tmp_path / "out", *html) == 0
    summary = counts(tmp_path / "out")
    assert summary["counts"]["dropped_by_class"] == {"identical": 1, "lexical": 0, "shingle": 0, "near": 0}
    assert summary["without_shingles"] == 6
    [line] = (tmp_path / "out" / "clusters.jsonl").read_text().splitlines()
    assert json.loads(line)["class"] == "identical" and json.loads(line)["resemblance"] is None
    assert run("sketch", source, "-o", tmp_path / "s.nds", *html) == 0
    for more, dropped in ([], 1), (["--against", source, *html], 6):
        assert run("dedup", tmp_path / "s.nds", "-o", tmp_path / f"out{dropped}", *more) == 0
        assert counts(tmp_path / f"out{dropped}")["counts"]["dropped"] == dropped
    for method in ("shingles", "super-shingles", "features"):
        assert run("cluster", source, "-o", tmp_path / method, "--method", method, *html) == 0
        clustering = ndcore.Collection.open(tmp_path / method).clustering
        assert clustering.labels.tolist() == [0, 1, 2, 3, 4, 0]
        assert clustering.classes.tolist() == ["kept"] * 5 + ["identical"]


def test_pages_without_text_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for i, data in enumerate(bare(3)):
        (tmp_path / f"{i}.html").write_bytes(data)
    for other, verdict in (("1.html", "none"), ("2.html", "identical")):
        assert run("compare", tmp_path / "0.html", tmp_path / other, "--json") == 0
        assert json.loads(capsys.readouterr().out)["verdict"] == verdict


def test_texts_without_words_in_two_encodings(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, data in (("a.txt", b"..."), ("b.txt", "\ufeff...".encode("utf-16-le")), ("c.txt", b"...")):
        (tmp_path / "in" / name).write_bytes(data)
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "-q") == 0
    assert sorted(path.name for path in (tmp_path / "out" / "kept" / "in").iterdir()) == ["a.txt", "b.txt"]


def test_a_page_whose_bytes_are_a_text_is_not_that_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compare a page without text and a text with words, which have the same bytes."""
    (tmp_path / "in").mkdir()
    for name in ("in/a.html", "in/b.txt"):
        (tmp_path / name).write_bytes(BARE % b"var x")
    assert run("dedup", tmp_path / "in", "-o", tmp_path / "out", "-q") == 0
    assert counts(tmp_path / "out")["counts"]["dropped"] == 0
    with FileDocuments([str(tmp_path / "in")]) as documents:
        explained = ndcore.near_duplicates(documents).explain(0, 1)
    assert explained.verdict == "different"
    assert run("compare", tmp_path / "in" / "a.html", tmp_path / "in" / "b.txt", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "none"


def test_main_content_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run every command: the whole page is read, reported and counted."""
    menu = b"<html><body><nav><ul><li>%s</li></ul></nav></body></html>"
    listed = [menu % word for word in (b"one two", b"three", b"one two")]
    for data in listed:
        assert main_text(data) == ""
    write_jsonl(tmp_path / "in.jsonl", [*listed, page(ARTICLE * 4)])
    html = ["--html", "main"]
    assert list(map(words, read(tmp_path / "in.jsonl", html="main")))[:3] == [["one", "two"], ["three"], ["one", "two"]]
    assert run("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out", *html, "--report", tmp_path / "r.html") == 0
    told = "3 pages without recognizable main content, read whole"
    assert told in capsys.readouterr().out and told in (tmp_path / "r.html").read_text()
    summary = counts(tmp_path / "out")
    assert summary["pages_without_main_content"] == 3 and summary["without_shingles"] == 0
    assert summary["counts"]["dropped_by_class"] == {"identical": 1, "lexical": 0, "shingle": 0, "near": 0}
    assert run("sketch", tmp_path / "in.jsonl", "-o", tmp_path / "s.nds", *html) == 0
    assert told in capsys.readouterr().out
    assert run("cluster", tmp_path / "in.jsonl", "-o", tmp_path / "c.ndc", *html) == 0
    assert told in capsys.readouterr().out
    with FileDocuments([str(tmp_path / "in.jsonl")], html="main") as documents:
        list(documents.batches())
        list(documents.batches())
        assert documents.without_main == 3


def main_text(data: bytes) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(data.decode(), main_content=True)).strip()


def test_plain_text_in_another_encoding_keeps_its_bytes() -> None:
    """Compare two sequences that are not in the encoding give the same replacement characters, and no words."""
    found = [decode_plain_text(data, "euc-jp") for data in (b"!\xfe\xff", b"!\xfd\xff")]
    assert found[0] == found[1]
    assert ndcore.near_duplicates(found).labels.tolist() == [0, 1]
