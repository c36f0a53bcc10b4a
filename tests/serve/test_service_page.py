"""docs/service.md: its curl, Python and Java lines run as they stand, against a server that was started by its lines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from writing import Serving

import ndcore as nd

pytest.importorskip("httpx")

PAGE = Path(__file__).parents[2] / "docs" / "service.md"
if not PAGE.exists():
    pytest.skip("docs are not beside the tests", allow_module_level=True)
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def blocks(language: str, word: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language and word in text]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The server of the first lines, and the environment of who asks it."""
    place = tmp_path_factory.mktemp("service")
    [made] = [text.splitlines() for text in blocks("sh", "crawler-1")]
    outputs = [subprocess.run([sys.executable, "-m", *line.split()], cwd=place, check=True, capture_output=True, text=True)
               for line in made]  # fmt: skip
    assert blocks("text", "ndcore serve --write seen --tokens tokens\n")
    serving = Serving(place / "seen", place / "tokens")
    yield {**os.environ, "NDCORE_URL": serving.url.rstrip("/"), "NDCORE_TOKEN": outputs[-1].stdout.strip()}
    assert "Traceback" not in serving.end()


def run(command: list[str], environment: dict[str, str], **given: Any) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False, **given)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(started: dict[str, str]) -> None:
    [single] = blocks("text", "fetch-17")
    command = single.partition("\n")[2]  # behind the export of the address and the token
    told = json.loads(run(["sh", "-c", command], started))
    [shown] = [json.loads(text) for text in blocks("json", "place")]
    assert {**told, "date": shown["date"]} == shown
    assert json.loads(run(["sh", "-c", command], started)) == {**told, "repeated": True}
    [many] = blocks("text", "decide-many")
    assert [json.loads(line)["key"] for line in run(["sh", "-c", many], started).splitlines()] == ["a", "b"]


def test_python(started: dict[str, str]) -> None:
    with nd.ServiceClient(started["NDCORE_URL"], started["NDCORE_TOKEN"]) as client:
        client.decide("https://gazette.example/river",
                      "The river has risen by two metres since Monday, the gazette says.")  # fmt: skip
    [program] = blocks("python", "ServiceClient")
    printed = run([sys.executable, "-c", program], started).splitlines()
    promised = re.findall(r"# ((?:lexical )?https:\S+)$", program, re.MULTILINE)
    assert promised == [printed[0], printed[2]] and 0 < int(printed[1]) <= 1000 and printed[3] == "10"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_java(started: dict[str, str], tmp_path: Path) -> None:
    [program] = blocks("java", "HttpClient")
    (tmp_path / "Decide.java").write_text(program)
    told = json.loads(run(["java", "Decide.java"], started, cwd=tmp_path))
    assert told["key"] == "https://java.example/page" and not told["repeated"]


def test_the_table_of_statuses_has_what_openapi_says() -> None:
    from ndcore.serve.openapi import openapi

    document = openapi("written store")
    said = {status for path in document["paths"].values() for route in path.values() for status in route["responses"]}
    listed = set(re.findall(r"^\| (\d{3}(?:, \d{3})*) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {status for row in listed for status in row.split(", ")} | {"200", "421"} >= said
