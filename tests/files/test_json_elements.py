"""JSON arrays and objects over many lines: cut into elements, kept, annotated, refused where they are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordfiles import KEPT, ROWS, dedup, pretty, refusal, source, write

from ndcore.cli.main import main
from ndcore.files import json_elements as elements_module
from ndcore.files.json_elements import Elements
from ndcore.files.sources import TooLong


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(elements_module, "_CHUNK", chunk)
    made = [b'{"a":"]}\\"{[,"}', b"[1,[2]]", b"null", b'"x,]"', b"-1.5e3", b'{ }', b'{"b":"\\\\"}']
    for data in (b"[" + b",".join(made) + b"]", b"\xef\xbb\xbf \n[ " + b" ,\r\n ".join(made) + b"\t]\n\n"):
        found = Elements(source(write(tmp_path / "a.json", data), "json"))
        parts = list(found)
        assert [(number, raw) for number, _, raw in parts] == list(enumerate(made, 1))
        assert b"".join(before + raw for _, before, raw in parts) + found.closing == data
    assert list(Elements(source(write(tmp_path / "a.json", b" [ ] "), "json"))) == []


@given(st.lists(st.recursive(st.none() | st.text() | st.integers() | st.booleans(),
                             lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)), max_size=5),
       st.sampled_from([None, 0, 2]))
@settings(max_examples=60, deadline=None)
def test_elements_of_any_array(tmp_path_factory: pytest.TempPathFactory, values: list[Any], indent: int | None) -> None:
    path = tmp_path_factory.mktemp("any") / "a.json"
    path.write_text(json.dumps(values, indent=indent, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    assert [json.loads(raw.decode("utf-8", "surrogatepass")) for _, _, raw in Elements(source(path, "json"))] == values


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (b'[{"text":"a"} {"text":"b"}]', 2, "there is no comma after"),
        (b'[{"text":"a"},]', 2, "there is no value here"),
        (b'[{"text":"a"}', 2, "the file ends before the array does"),
        (b'[{"text":"a', 1, "the file ends within it"),
        (b'[{"text":"a"}] x', 2, "something follows the end of the array"),
        (b'{"text":\n"a"}\n,\n{"text":"b"}', 2, "no JSON object begins here"),
        (b'[{"text":"a"}, 7]', 2, "int 7, not a JSON object"),
        (b'[{"text":"a"}, {"text":}]', 2, "invalid JSON at column"),
        (b"[1, 2]", 1, "int 1, not a JSON object"),
        (b"// a comment\n{}", None, "not JSON: it begins with"),
        (b'{"data": [{"text": "a"}]}', 1, "no text field 'text' (the record has: data)"),
    ],
)
def test_json_that_is_none(tmp_path: Path, data: bytes, number: int | None, reason: str) -> None:
    error = refusal(write(tmp_path / "a.json", data))
    assert (error.number, reason in error.reason) == (number, True), error.reason


def test_a_long_element_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strings of its rest hold brackets, quotes and escapes, which are at the ends of what is read at once."""
    monkeypatch.setattr(elements_module, "_CHUNK", 997)
    long = b'{"text":["' + b'b\\"]}\\\\' * 3_000 + b'",{"c":"}"}]}'
    data = b'[{"text":"a"},' + long + b',{"text":"c"},{"text":"' + b"d" * 10_000 + b'"}]'
    opened = source(write(tmp_path / "a.json", data), "json")
    opened.longest = 10_000
    (_, _, first), (_, _, second), (_, _, third), (_, _, fourth) = Elements(opened)
    assert (first, third) == (b'{"text":"a"}', b'{"text":"c"}')
    assert isinstance(second, TooLong)
    assert isinstance(fourth, TooLong)
    assert second.reason == "the element is longer than 10,000 bytes; a larger --max-record has it read"


def test_splitting_is_linear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the bytes that are examined again while an element grows beyond what was read."""
    monkeypatch.setattr(elements_module, "_CHUNK", 1 << 10)
    looked: list[int] = []

    class Counting:
        def __init__(self, pattern: Any) -> None:
            self.pattern = pattern

        def match(self, data: bytearray, at: int) -> Any:
            found = self.pattern.match(data, at)
            looked.append((found.end() if found else len(data)) - at)
            return found

    monkeypatch.setattr(elements_module, "_BRACKET", Counting(elements_module._BRACKET))
    path = write(tmp_path / "a.json", b'[{"text":"' + b"b" * (1 << 20) + b'"}]')
    assert len(list(Elements(source(path, "json")))) == 1
    assert sum(looked) < 3 << 20


def test_json_annotated_and_on_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = write(tmp_path / "a.json", pretty(ROWS))
    dedup(tmp_path, path, "--annotate")
    found = json.loads((tmp_path / "out" / "annotated" / "a.json").read_bytes())
    assert [record.pop("ndcore")["class"] for record in found] == ["kept", "kept", "lexical", "kept", "identical"]
    assert found == ROWS
    assert main(["dedup", path, "-o", "-", "-q"]) == 0
    out = capfdbinary.readouterr().out.splitlines()
    assert [json.loads(line) for line in out] == [ROWS[i] for i in KEPT]


def test_a_single_object_is_a_record(tmp_path: Path) -> None:
    for name, i in (("a", 0), ("b", 2), ("c", 3)):
        write(tmp_path / "d" / f"{name}.json", json.dumps(ROWS[i], indent=2).encode())
    write(tmp_path / "d" / "settings.json", b'{\n  "name": "x"\n}')
    write(tmp_path / "d" / "with_comments.json", b'// settings\n{"name": "x"}')
    summary = dedup(tmp_path, tmp_path / "d")
    assert (summary["counts"]["read"], summary["counts"]["kept"]) == (3, 2)
    assert [path.name for path in sorted((tmp_path / "out" / "kept" / "d").iterdir())] == ["a.json", "c.json"]
    assert {(Path(item["path"]).name, item["kind"]) for item in summary["ignored"]} == {
        ("settings.json", "JSON without documents"), ("with_comments.json", "not JSON, despite its name")
    }
    error = refusal(tmp_path / "d" / "settings.json")  # named, it is refused
    assert (error.number, "no text field 'text'" in error.reason) == (1, True)
