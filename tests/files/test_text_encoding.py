"""Encodings of text and tables: one text in all of them, what is told of it, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from recordfiles import dedup, read, refusal, write

from ndcore.cli.main import main
from ndcore.files.documents import FileDocuments
from ndcore.files.html_text import decode_html, decode_plain_text
from ndcore.files.sources import TextForm
from ndcore.files.text_encoding import EncodingError, check_encoding, detect_encoding

GERMAN = "Sehr geehrte Damen und Herren, die Prüfung der Anträge für größere Gebäude läuft; wir hören später von Ihnen.\n"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах.\n"
JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n"
CHINESE = "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。\n"
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n"
ENCODED = [(GERMAN, "cp1252"), (GERMAN, "utf-16-le"), (GERMAN, "utf-32-be"), (RUSSIAN, "cp1251"), (JAPANESE, "cp932"),
           (JAPANESE, "iso2022_jp"), (JAPANESE, "utf-16-be"), (CHINESE, "gb18030"), (KOREAN, "cp949"),
           (CHINESE, "utf-16-le"), (CHINESE, "utf-16-be"), ("가나다 " + KOREAN, "utf-16-le"),
           ("가나다 " + KOREAN, "utf-16-be")]


@pytest.mark.parametrize(("text", "encoding"), ENCODED)
def test_a_text_is_the_same_in_any_encoding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, encoding: str
) -> None:
    pytest.importorskip("resiliparse")
    path, same = write(tmp_path / "a.txt", text.encode(encoding)), write(tmp_path / "b.txt", text.encode())
    assert read(path)[0] == [text]
    assert main(["compare", path, same, "--json"]) == 0
    said = capsys.readouterr()
    assert '"resemblance": 1.0' in said.out and f"read as {encoding}: {path}" in said.err
    assert dedup(tmp_path, path, same)["read_otherwise"] == {f"as {encoding}": [path]}
    assert (tmp_path / "out/kept/a.txt").read_bytes() == text.encode(encoding)


@pytest.mark.parametrize(("text", "encoding"), ENCODED)
def test_tables_in_other_encodings(tmp_path: Path, text: str, encoding: str) -> None:
    pytest.importorskip("resiliparse")
    body = text.strip()
    rows = [f'{i},"{body}\n""{i}"""\r\n'.encode(encoding) for i in range(3)]
    header = "id,text\r\n".encode(encoding)
    path = write(tmp_path / "a.csv", header + rows[0] + rows[0] + rows[2])
    assert read(path)[0] == [f'{body}\n"{i}"' for i in (0, 0, 2)]
    dedup(tmp_path, path, "--threshold", "1")
    assert (tmp_path / "out/kept/a.csv").read_bytes().startswith(header + rows[0])


@pytest.mark.parametrize(("text", "encoding"), ENCODED)
def test_a_page_is_detected_as_a_text_is(tmp_path: Path, text: str, encoding: str) -> None:
    pytest.importorskip("resiliparse")
    data = f"<html><title>a</title><body><p>{text * 3}".encode(encoding)
    for page in (data, data.replace("<title>".encode(encoding), "<meta charset=latin-1><title>".encode(encoding))):
        assert decode_html(page, None) == page.decode(encoding)
    assert decode_plain_text(text.encode(encoding), None) == text
    path = write(tmp_path / "a.html", data)
    assert str(read(path)[0][0]).split() == 3 * text.split()


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1252", "latin1"])
def test_a_page_has_the_encoding_that_it_declares(charset: str) -> None:
    """Statistics take so few letters for another encoding."""
    pytest.importorskip("resiliparse")
    page = f"<html><meta charset={charset}><p>ÄÖÜ äöü ß"
    assert decode_html(page.encode("cp1252"), None) == page


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_ebcdic_is_text_where_the_user_says_so(tmp_path: Path, name: str) -> None:
    rows = 'text\n"one ""two""\nthree"\n' + '"four\nfive"\n' * 20
    data = rows.encode("cp037")
    path = write(tmp_path / name, data)
    assert "not text" in refusal(path).reason
    texts = ['one "two"\nthree', "four\nfive"]
    with FileDocuments([path], form=TextForm("cp037")) as documents:
        found = [text for batch in documents.batches() for text in batch]
    assert found == (texts + 19 * texts[1:] if name == "a.csv" else [rows])
    write(tmp_path / "b.txt", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    assert "not text" in refusal(tmp_path / "b.txt", form=TextForm("cp037")).reason


@pytest.mark.parametrize(("charset", "encoding"), [
    ("iso-8859-1", "cp1252"), ("Latin1", "cp1252"), ("iso-8859-9", "cp1254"), ("tis-620", "cp874"),
    ("ks_c_5601-1987", "cp949")])
def test_mail_and_pages_understand_a_charset_alike(tmp_path: Path, charset: str, encoding: str) -> None:
    pytest.importorskip("resiliparse")
    text = {"cp949": "똠방각하 가나", "cp874": "“ไทย”", "cp1254": "“şığ”"}.get(encoding, "don\u2019t “quote”")
    data = text.encode(encoding)
    head = f"Subject: a\nContent-Type: text/plain; charset={charset}\n\n".encode()
    path, page = write(tmp_path / "a.eml", head + data), write(tmp_path / "b.eml", head.replace(b"plain", b"html") + data)
    assert read(path)[0] == read(page)[0] == [decode_html(data, charset)] == [text]


@pytest.mark.parametrize("name", ["a.csv", "a.warc", "a.parquet", "a.eml", "a.html", "a.txt"])
def test_the_encoding_that_the_user_named_holds_in_every_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """In cp850 the text is neither UTF-8 nor what statistics take it for."""
    pytest.importorskip("resiliparse")
    text = "bañera grünes été"
    raw, path = text.encode("cp850"), str(tmp_path / name)
    if name == "a.warc":
        pytest.importorskip("resiliparse")
        content = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>" + raw
        head = ("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/\r\nWARC-Date: 2026-01-01T00:00:00Z"
                f"\r\nContent-Type: application/http\r\nContent-Length: {len(content)}\r\n\r\n")
        write(tmp_path / name, head.encode() + content + b"\r\n\r\n")
    elif name == "a.parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": [b"<p>" + raw]}), path)
    else:
        begin = {"a.csv": b"text\n", "a.eml": b"Subject: " + raw + b"\n\n", "a.html": b"<p>", "a.txt": b""}[name]
        write(tmp_path / name, begin + raw)
    html = {"html": "page"} if name in ("a.parquet", "a.warc", "a.html") else {}
    fields = ("subject", "text") if name == "a.eml" else "text"
    with FileDocuments([path], form=TextForm("cp850"), text_field=fields, **html) as documents:
        [[found]] = documents.batches()
    assert (found if isinstance(found, str) else found.decode()).split("\n") == [text] * (1 + (name == "a.eml"))
    record = {"a.csv": ":2", "a.warc": ":1", "a.parquet": ":1"}.get(name, "")
    same = write(tmp_path / "same.txt", text.encode("utf-8-sig"))  # a mark comes first
    options = [word for key, value in html.items() for word in (f"--{key}", value)]
    assert main(["compare", path + record, same, "--json", "--encoding", "cp850", *options]) == 0
    assert '"resemblance": 1.0' in capsys.readouterr().out


@pytest.mark.parametrize(("text", "name"), [
    ("가", "EUC-KR"), ("é", "cp850"), ("ไทย", "cp874"), ("中", "cp950"), ("あ", "Shift_JIS"), ("aé", "utf-32-be")])
def test_a_page_in_the_encoding_that_the_user_named(tmp_path: Path, text: str, name: str) -> None:
    pytest.importorskip("resiliparse")
    path = write(tmp_path / "a.html", f"<p>{text}".encode(name))
    with FileDocuments([path], form=TextForm(check_encoding(name))) as documents:
        assert next(documents.batches()) == [text]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_decides_before_a_name(encoding: str) -> None:
    pytest.importorskip("resiliparse")
    assert decode_html("\ufeff<p>é".encode(encoding), "cp850") == "<p>é"


def test_a_name_that_nobody_knows_tells_nothing() -> None:
    pytest.importorskip("resiliparse")
    for name in ("no-such-charset", "unicode_escape", "rot13", "\0"):
        assert decode_html("<p>größer".encode(), name) == "<p>größer"


def test_statistics_do_not_judge_text_with_nuls(tmp_path: Path) -> None:
    """They name an encoding for UTF-16 that does not show itself: here its ends of lines are wrong."""
    data = (20 * KOREAN).encode("utf-16-le").replace(b"\n\0", b"\n")
    with pytest.raises(EncodingError, match="cannot be told"):
        detect_encoding(data)


def test_utf8_with_damage_stays_utf8(tmp_path: Path) -> None:
    data = GERMAN.encode() + b"\xff"
    assert detect_encoding(data) == "utf-8" and read(write(tmp_path / "a.txt", data))[0] == [data]


def test_without_the_package_the_encoding_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resiliparse.parse.encoding", None)
    path = write(tmp_path / "a.txt", GERMAN.encode("cp1252"))
    assert "pip install 'ndcore[web]', or name the encoding with --encoding" in refusal(path).reason
    with FileDocuments([path], form=TextForm("cp1252")) as documents:
        assert next(documents.batches()) == [GERMAN]
    with FileDocuments([path], form=TextForm("utf-8")) as documents:
        assert next(documents.batches()) == [GERMAN.encode("cp1252")]
    assert "not SHIFT_JIS" in refusal(path, form=TextForm("shift_jis")).reason


@pytest.mark.parametrize(
    "name", ["base64", "punycode", "unicode_escape", "raw_unicode_escape", "charmap", "utf-16", "nothing", ""])
def test_names_that_are_no_encoding(name: str) -> None:
    with pytest.raises(EncodingError):
        check_encoding(name)


@pytest.mark.parametrize(("data", "expected", "told"), [
    (b"id;text\n1;a, b\n2;c\n", ["a, b", "c"], "with semicolons between fields"),
    (b"id\ttext\n1\ta, b\n", ["a, b"], "with tabs between fields"),
    (b"id|text\n1|x;y\n", ["x;y"], "with bars between fields"),
    (b"id,text;more\n1,a;b\n", None, "with commas between fields"),
    (b"id,text\n1,a;b\n2,c\n", ["a;b", "c"], None),
])
def test_delimiters(tmp_path: Path, data: bytes, expected: list[str] | None, told: str | None) -> None:
    path = write(tmp_path / "a.csv", data)
    with FileDocuments([path], text_field="text" if expected else "text;more") as documents:
        texts = [text for batch in documents.batches() for text in batch]
        assert texts == (expected or ["a;b"])
        assert [how.partition(", though")[0] for how in documents.sources[0].told] == ([told] if told else [])
    with FileDocuments([write(tmp_path / "b.csv", b"id:text\n1:x\n")], form=TextForm("", ":")) as documents:
        assert next(documents.batches()) == ["x"]
