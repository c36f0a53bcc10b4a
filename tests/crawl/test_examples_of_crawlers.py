"""The examples for crawlers: records of web archives are what they say, and the crawl with crawlee loses no page."""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from crawled_site import CrawledSite
from sites import serving

EXAMPLES = Path(__file__).parents[2] / "examples"


def records(path: Path) -> list[tuple[dict[str, str], bytes]]:
    """Return the headers and the content of all records, read by their lengths."""
    data, found = gzip.decompress(path.read_bytes()), []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        assert head.startswith(b"WARC/1.1\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines()[1:])
        length = int(fields["Content-Length"])
        assert rest[length : length + 4] == b"\r\n\r\n"
        found.append((fields, rest[:length]))
        data = rest[length + 4 :]
    return found


def test_revisits_are_of_identical_payloads_only(tmp_path):
    pytest.importorskip("zstandard", reason="the extra store is not installed")
    subprocess.run([sys.executable, EXAMPLES / "warc_revisits.py", tmp_path], check=True, capture_output=True)
    full: dict[str, bytes] = {}
    noted: dict[str, str] = {}
    kinds = []
    for fields, content in records(tmp_path / "pages.warc.gz"):
        kinds.append(fields["WARC-Type"])
        if fields["WARC-Type"] == "metadata":
            assert fields["WARC-Refers-To"] in noted
            [of] = re.findall(r"near-duplicate-of: (\S+)", content.decode())
            assert f"{of} " in " ".join(full) + " "
            continue
        payload = content.split(b"\r\n\r\n", 1)[1]
        if fields["WARC-Type"] == "revisit":
            assert fields["WARC-Profile"].endswith("/revisit/identical-payload-digest") and payload == b""
            payload = full[fields["WARC-Refers-To-Target-URI"]]
        else:
            full[fields["WARC-Target-URI"]] = payload
            noted[fields["WARC-Record-ID"]] = fields["WARC-Target-URI"]
        assert fields["WARC-Payload-Digest"] == f"sha256:{hashlib.sha256(payload).hexdigest()}"
    assert kinds == ["response", "response", "revisit", "response", "metadata", "revisit", "response", "metadata"]


@pytest.mark.slow
def test_the_crawl_with_crawlee_loses_no_page(tmp_path):
    pytest.importorskip("crawlee", reason="crawlee is not installed")
    pytest.importorskip("resiliparse", reason="the extra web is not installed")
    with serving(CrawledSite()) as site:
        subprocess.run([sys.executable, EXAMPLES / "crawlee_store.py", tmp_path / "store", site.starts()[0]], cwd=tmp_path,
                       check=True, capture_output=True, timeout=120)
        assert len({content for content, _ in site.asked}) == 54
        assert len(site.asked) < 150
