"""Mail: the text and the fields of messages, mbox files, what is written back, and damaged or hostile messages."""

from __future__ import annotations

import base64
import gzip
import mailbox
import sys
from email.message import EmailMessage
from pathlib import Path

import pytest
from recordfiles import dedup, read, refusal, write

from ndcore.cli.main import main
from ndcore.files.document_fields import RankingField
from ndcore.files.documents import FileDocuments

HEAD = b"Received: from a by b\nFrom: Ann <ann@example.org>\nSubject: =?utf-8?q?Angebot_f=C3=BCr_Sie?=\n" \
       b"Date: Fri, 03 May 2024 10:00:00 +0200\nMessage-ID: <1@example.org>\n"
LETTER = HEAD + b"\nWe accept the offer of last week.\n"


def separator(day: int) -> bytes:
    return b"From ann@example.org Fri May %2d 10:00:00 2024\n" % day


def multipart(*parts: bytes, kind: bytes = b"mixed", end: bytes = b"--x--\n") -> bytes:
    return HEAD + b'Content-Type: multipart/%s; boundary="x"\n\n--x\n' % kind + b"\n--x\n".join(parts) + b"\n" + end


@pytest.mark.parametrize("coding", ["base64", "quoted-printable", "8bit"])
@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
def test_a_body_has_one_text_in_any_coding(tmp_path: Path, coding: str, charset: str) -> None:
    message = EmailMessage()
    message["Subject"] = "x"
    message.set_content("Grüße aus Köln\n", charset=charset, cte=coding)
    assert read(write(tmp_path / "a.eml", message.as_bytes()))[0] == ["Grüße aus Köln\n"]


def test_equal_headers_do_not_make_letters_alike(tmp_path: Path) -> None:
    other = HEAD + b"\nWe reject what you proposed, all of it.\n"
    summary = dedup(tmp_path, write(tmp_path / "a.eml", LETTER), write(tmp_path / "b.eml", other), "--threshold", "0.5")
    assert summary["counts"]["kept"] == 2


def test_an_mbox_has_its_messages_and_keeps_their_bytes(tmp_path: Path) -> None:
    second = separator(2) + HEAD + b"\n>From here on, other words stand in this one.\n\nFrom here too.\n\n"
    data = separator(1) + LETTER + b"\n" + second + separator(3) + LETTER + b"\n"
    for name, ending in (("all.mbox", data), ("all", data), ("z.mbox.gz", gzip.compress(data))):
        texts, ids = read(write(tmp_path / name, ending))
        assert [text.split()[0] for text in texts] == ["We", "From", "We"] and "From here too." in texts[1]
        assert ids == [f"{name}:1", f"{name}:2", f"{name}:3"]
    dedup(tmp_path, str(tmp_path / "all.mbox"))
    assert (tmp_path / "out/kept/all.mbox").read_bytes() == separator(1) + LETTER + b"\n" + second
    assert len(mailbox.mbox(tmp_path / "out/kept/all.mbox")) >= 2


def test_fields_order_group_and_name_messages(tmp_path: Path) -> None:
    older = LETTER.replace(b"03 May 2024", b"31 Dec 2019").replace(b"<1@", b"<2@")
    a, b = write(tmp_path / "a.eml", older), write(tmp_path / "b.eml", LETTER)
    dedup(tmp_path, a, b, "--keep", "date:desc", "--id-field", "message-id")
    assert [path.name for path in (tmp_path / "out/kept").iterdir()] == ["b.eml"]
    by_date = RankingField("date", True)
    with FileDocuments([b], text_field=["subject", "text"], id_field="Message-ID", keep=by_date) as documents:
        assert next(documents.batches())[0] == "Angebot für Sie\nWe accept the offer of last week.\n"
        assert documents.ids[0] == "<1@example.org>"
    with FileDocuments([b], text_field="list-id") as documents, pytest.raises(Exception, match="no field 'list-id'"):
        next(documents.batches())


def test_attachments_are_no_text_and_keep_messages_apart_where_asked(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        part = b"Content-Type: application/pdf; name=offer.pdf\nContent-Transfer-Encoding: base64\n\n" \
               + base64.b64encode(name.encode())
        paths.append(write(tmp_path / f"{name}.eml", multipart(b"\nPlease find our offer attached to this.\n", part)))
    assert read(paths[0])[0] == ["Please find our offer attached to this."] or read(paths[0])[0][0].startswith("Please")
    assert dedup(tmp_path, *paths)["counts"]["kept"] == 1
    assert dedup(tmp_path, *paths, "--by", "attachments", "--overwrite")["counts"]["kept"] == 2


def test_html_is_read_where_there_is_no_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    html = b"Content-Type: text/html; charset=utf-8\n\n<html><body><p>Words of <b>HTML</b></p></body></html>\n"
    both = write(tmp_path / "both.eml", multipart(b"\nplain words", html, kind=b"alternative"))
    alone = write(tmp_path / "alone.eml", multipart(html, kind=b"alternative"))
    assert read(both)[0] == ["plain words"]
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    assert "pip install 'ndcore[web]'" in refusal(alone).reason
    monkeypatch.undo()
    pytest.importorskip("resiliparse")
    assert read(alone)[0] == ["Words of HTML"]
    html = html.replace(b"<body>", b"<body>" + b"<div>" * 16_000)
    deep = write(tmp_path / "deep.eml", multipart(html, kind=b"alternative"))
    with FileDocuments([deep]) as documents:
        assert [text.split() for batch in documents.batches() for text in batch] == [["Words", "of", "HTML"]]
        assert documents.by_tags.tolist() == [0]


@pytest.mark.parametrize(("data", "reason"), [
    (b"", "no message begins here"),
    (b"no header at all\n", "no message begins here"),
    (HEAD + b"X: " + b"a" * (1 << 20) + b"\n\nb\n", "header is longer than 1 MiB"),
    (HEAD + b"Content-Transfer-Encoding: base64\n\nabcde\n", "its base64 is damaged"),
    (HEAD + b"Content-Transfer-Encoding: rot13\n\nabcde\n", "its coding 'rot13'"),
    (HEAD + b"Content-Type: multipart/mixed\n\nabc\n", "names no boundary"),
    (HEAD + b"Content-Type: multipart/mixed; boundary=x\n\nabc\n", "is not in it"),
    (HEAD + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(3000)), "50 deep"),
    (multipart(*[b"\na"] * 10_001), "more than 10,000 parts"),
])
def test_damaged_messages_are_rejected(tmp_path: Path, data: bytes, reason: str) -> None:
    assert reason in refusal(write(tmp_path / "a.eml", data)).reason


@pytest.mark.parametrize("levels", [50, 51])
def test_parts_may_be_nested_fifty_deep(tmp_path: Path, levels: int) -> None:
    parts = [b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(levels)]
    path = write(tmp_path / "a.eml", HEAD + b"".join(parts) + b"\nthe words\n")
    if levels == 50:
        assert read(path)[0] == ["the words\n"]
    else:
        assert "50 deep" in refusal(path).reason


def test_a_damaged_message_of_an_mbox_is_left_out_alone(tmp_path: Path) -> None:
    good = separator(1) + LETTER + b"\n"
    path = write(tmp_path / "a.mbox", good + separator(2) + b"damaged\n\n" + separator(3) + HEAD + b"\nother words\n")
    summary = dedup(tmp_path, path, "--on-error", "skip")
    assert [item["line"] for item in summary["rejected"]] == [2]
    assert (tmp_path / "out/kept/a.mbox").read_bytes() == good + separator(3) + HEAD + b"\nother words\n"


def test_maildirs_and_messages_without_a_suffix(tmp_path: Path) -> None:
    for name in ("md/cur/1700000000.M1P2.host:2,S", "md/new/1700000001.M1P2.host", "plain"):
        assert read(write(tmp_path / name, LETTER))[0] == ["We accept the offer of last week.\n"]
    assert read(write(tmp_path / "notes.txt", LETTER))[0] == [LETTER]


def test_one_message_of_an_mbox_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = write(tmp_path / "a.mbox", separator(1) + LETTER + b"\n" + separator(2) + HEAD + b"\nother words\n")
    assert main(["compare", f"{box}:1", write(tmp_path / "a.eml", LETTER), "--json"]) == 0
    assert '"resemblance": 1.0' in capsys.readouterr().out
