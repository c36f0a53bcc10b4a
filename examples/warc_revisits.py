"""Write web archives as a crawler with a store: revisit records for identical payloads, metadata for near-duplicates.

A revisit record (WARC/1.1, section 6.7.2) replaces a payload, so it is written only where the payload is the same byte for
byte. A page that is merely like another is stored in full; a metadata record beside it names the other page.
"""

import gzip
import hashlib
import re
import sys
import tempfile
import uuid
from pathlib import Path

import ndcore as nd

RIVER = """the river rose two metres in a night and the old bridge was closed until the engineers had looked at every one of
its pillars; ferries carry passengers but no cars until friday, and the market is held on the other bank"""
MUSEUM = "a museum of calculating machines opens in the former mill"
FETCHED = [  # URL, date, payload
    ("http://news.example/river", "2026-03-01T10:00:00Z", f"<html><body>{RIVER}</body></html>"),
    ("http://news.example/museum", "2026-03-01T10:00:05Z", f"<html><body>{MUSEUM}</body></html>"),
    ("http://mirror.example/river", "2026-03-01T10:00:09Z", f"<html><body>{RIVER}</body></html>"),
    ("http://news.example/river?print", "2026-03-01T10:00:12Z", f"<html><body>Print this: {RIVER}</body></html>"),
    ("http://news.example/river", "2026-03-08T10:00:00Z", f"<html><body>{RIVER}</body></html>"),
    ("http://other.example/river", "2026-03-08T10:00:04Z", f"<html><head></head><body>{RIVER}</body></html>"),
]
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def record(kind: str, url: str, date: str, content: bytes, **more: str) -> tuple[str, bytes]:
    """Return the id and the bytes of a record, compressed as a member of its own."""
    number = f"<urn:uuid:{uuid.uuid4()}>"
    fields = {"WARC-Type": kind, "WARC-Record-ID": number, "WARC-Date": date, "WARC-Target-URI": url}
    fields |= {name.replace("_", "-"): value for name, value in more.items()} | {"Content-Length": str(len(content))}
    head = "WARC/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return number, gzip.compress(head.encode() + b"\r\n" + content + b"\r\n\r\n")


def archive(store: nd.Store, warc: Path) -> None:
    """Decide each page and write its records."""
    captures: dict[str, tuple[str, str]] = {}  # URL -> payload digest and date of its last full record; a CDX index has them
    with warc.open("wb") as out:
        for url, date, html in FETCHED:
            payload = html.encode()
            digest = f"sha256:{hashlib.sha256(payload).hexdigest()}"
            verdict = store.decide(url, re.sub(r"<[^>]*>", " ", html).strip(), date)
            like = url if verdict.version == "unchanged" else verdict.equal  # the text is the same: is the payload?
            known, when = captures.get(str(like), ("", ""))
            if known == digest:
                _, data = record("revisit", url, date, HTTP, WARC_Profile=IDENTICAL, WARC_Payload_Digest=digest,
                                 WARC_Refers_To_Target_URI=str(like), WARC_Refers_To_Date=when,
                                 Content_Type="application/http;msgtype=response")
                print(f"{url}: revisit of {like}")
            else:
                number, data = record("response", url, date, HTTP + payload, WARC_Payload_Digest=digest,
                                      Content_Type="application/http;msgtype=response")
                captures[url] = digest, date
                if not verdict.kept:
                    lines = f"near-duplicate-of: {verdict.of}\r\nverdict: {verdict.verdict}\r\n"
                    lines += f"resemblance: {verdict.resemblance:.3f}\r\n"
                    data += record("metadata", url, date, lines.encode(), WARC_Refers_To=number,
                                   Content_Type="application/warc-fields")[1]
                print(f"{url}: {verdict.verdict}" + (f", like {verdict.of}" if verdict.of else ""))
            out.write(data)


with tempfile.TemporaryDirectory() as folder:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else folder) / "pages.warc.gz"
    with nd.Store.open(Path(folder) / "pages.store") as pages:
        archive(pages, target)
    print(f"{target.stat().st_size} bytes in {target.name}")
