"""The log of requests: a line of JSON each, in a file that may be moved away, or on standard error."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import urllib.request
from pathlib import Path

import pytest

from ndcore.cli.main import main
from ndcore.serve.request_log import RequestLog

LINE = {"token": "crawler", "route": "decide", "status": 200, "pages": 1, "received": 45}
TOLD = {"time": "2024-05-01T10:00:00.250Z", "token": "crawler", "route": "decide", "status": 200, "milliseconds": 1.235,
        "pages": 1, "bytes": 45}  # fmt: skip
CAME = dt.datetime(2024, 5, 1, 10, 0, 0, 250_000, dt.UTC).timestamp()


def write(log: RequestLog, **other: object) -> None:
    log.write(came=CAME, seconds=0.0012351, **{**LINE, **other})  # type: ignore[arg-type]


def test_a_line_of_json_for_each_request(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "log")
    write(log)
    write(log, token=None, route="other", status=404)
    log.close()
    again = RequestLog(tmp_path / "log")
    write(again)
    again.close()
    lines = (tmp_path / "log").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [TOLD, {**TOLD, "token": None, "route": "other", "status": 404}, TOLD]


def test_a_file_that_is_moved_away_is_followed_by_a_new_one(tmp_path: Path) -> None:
    log = RequestLog(tmp_path / "log")
    write(log)
    (tmp_path / "log").rename(tmp_path / "log.1")
    write(log, pages=7)
    log.close()
    assert [json.loads((tmp_path / name).read_text())["pages"] for name in ("log.1", "log")] == [1, 7]


def test_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    log = RequestLog("-")
    write(log)
    log.close()
    assert json.loads(capsys.readouterr().err) == TOLD


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        RequestLog(tmp_path / "none" / "log")


def test_the_log_of_a_server(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("httpx")
    from writing import Serving, make_store, make_tokens

    store, tokens = make_store(tmp_path / "store"), make_tokens(tmp_path / "tokens")
    for place in ("-", str(tmp_path / "log")):
        serving = Serving(store, tmp_path / "tokens", "--log", place)
        ask(serving.url + "health")
        ask(serving.url + "api/about", tokens["read"])
        told = serving.end()
        written = (told if place == "-" else Path(place).read_text()).splitlines()
        lines = [json.loads(line) for line in written if line.startswith("{")]
        assert [(line["token"], line["route"]) for line in lines] == [(None, "health"), ("read", "about")]


def ask(url: str, token: str = "") -> None:
    with urllib.request.urlopen(urllib.request.Request(url, headers={"authorization": f"Bearer {token}"})) as found:
        assert found.status == 200


def test_a_server_that_only_reads_has_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("starlette")
    assert main(["serve", str(tmp_path), "--log", "-"]) == 2
    assert "--log needs --write" in capsys.readouterr().err


def test_a_log_that_cannot_be_written_fails_no_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = tmp_path / "logs"
    place.mkdir()
    log = RequestLog(place / "log")
    write(log)
    shutil.rmtree(place)
    write(log)
    write(log)
    assert [record.levelname for record in caplog.records] == ["ERROR"]  # once
    place.mkdir()
    write(log)
    assert len((place / "log").read_text().splitlines()) == 1
    log.close()
