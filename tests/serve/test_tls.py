"""A server that writes speaks TLS on an address that others reach, and refuses such an address without it."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from writing import Serving, make_store, make_tokens

import ndcore as nd
from ndcore.serve.server import check_tls

pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of its own for localhost, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    place = tmp_path_factory.mktemp("tls")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", place / "key.pem", "-out", place / "chain.pem"], check=True, capture_output=True)  # fmt: skip
    return place / "chain.pem", place / "key.pem"


def test_over_tls(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    chain, key = certificate
    token = make_tokens(tmp_path / "tokens")["all"]
    serving = Serving(make_store(tmp_path / "store"), tmp_path / "tokens", "--host", "0.0.0.0", "--tls-certificate",
                      str(chain), "--tls-key", str(key))  # fmt: skip
    try:
        assert serving.url.startswith("https://")
        url = f"https://127.0.0.1:{serving.port}"
        with nd.ServiceClient(url, token, verify=ssl.create_default_context(cafile=str(chain))) as client:
            assert client.decide("a", "one two three").kept
        with nd.ServiceClient(url, token, tries=1) as client, pytest.raises(ConnectionError, match=r"(?i)certificate"):
            client.stats()
        with nd.ServiceClient(url.replace("https", "http"), token, tries=1) as client, pytest.raises(ConnectionError):
            client.stats()
    finally:
        serving.end()


def test_what_is_no_certificate_is_refused(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    chain, key = certificate
    check_tls(chain, key)
    (tmp_path / "other").write_text("no certificate")
    for pair in ((tmp_path / "other", key), (chain, tmp_path / "other"), (chain, chain)):
        with pytest.raises(ValueError, match="PEM"):
            check_tls(*pair)
    with pytest.raises(FileNotFoundError):
        check_tls(tmp_path / "none", key)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "--tls-certificate"), (["--tls-key", "k"], "both --tls-certificate FILE and --tls-key FILE"),
        (["--tls-certificate", "none", "--tls-key", "none"], "none"), (["--backups", "none"], "not a directory"),
    ],
)  # fmt: skip
def test_what_a_server_that_writes_refuses(tmp_path: Path, options: list[str], words: str) -> None:
    make_tokens(tmp_path / "tokens")
    with pytest.raises(AssertionError, match=words):
        Serving(make_store(tmp_path / "store"), tmp_path / "tokens", *options)


def test_behind_a_proxy(tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    token = make_tokens(tmp_path / "tokens")["all"]
    serving = Serving(make_store(tmp_path / "store"), tmp_path / "tokens", "--host", "0.0.0.0", "--proxy", "127.0.0.1")
    try:
        headers = {"authorization": f"Bearer {token}"}
        for more, status in (({}, 403), ({"x-forwarded-proto": "https"}, 200)):
            answer = httpx.get(f"http://127.0.0.1:{serving.port}/api/about", headers={**headers, **more})
            assert answer.status_code == status
    finally:
        serving.end()
