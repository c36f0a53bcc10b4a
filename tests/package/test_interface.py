"""The public interface is the one in interface.txt: a changed name, parameter or default shows in review."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import ndcore as nd

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = pytest.importorskip("interface", reason="tools is not beside the tests")
sys.path.pop(0)


def test_interface_txt_is_what_the_source_says():
    """If the change is meant, run tools/interface.py; a removed or changed line needs one in CHANGELOG.md."""
    found, noted = tool.interface().splitlines(), tool.INTERFACE.read_text("utf-8").splitlines()
    assert sorted(set(found) - set(noted)) == [] and sorted(set(noted) - set(found)) == []
    assert found == noted


def test_every_public_name_has_a_line():
    lines = tool.INTERFACE.read_text("utf-8").splitlines()
    names = {line.removeprefix("ndcore.").partition("(")[0].partition(" ")[0].partition(".")[0].partition(":")[0]
             for line in lines if line.startswith("ndcore.")}
    assert set(nd.__all__) - {"__version__"} <= names


@pytest.mark.parametrize("source, lines", [
    ("SIZE = 7\ndef f(a, b=SIZE, *, c: int = -1) -> str: ...", ["m.f(a, b=7, *, c: int=-1) -> str"]),
    ("class C:\n def __init__(self, a): ...\n def _b(self): ...\n @property\n def c(self) -> int: ...\n"
     " @classmethod\n def d(cls, x): ...\n @staticmethod\n def e(x): ...",
     ["m.C(a)", "m.C.c: int", "m.C.d(x)", "m.C.e(x)"]),
    ("class A(Outside):\n def f(self): ...\n def g(self): ...\nclass B(A):\n x: int = 3\n y: str\n def f(self, z): ...",
     ["m.B(x, y)", "m.B: Outside", "m.B.f(z)", "m.B.g()", "m.B.x: int = 3", "m.B.y: str"]),
    ("@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\ndef f(a): ...",
     ["m.f(a: int) -> int", "m.f(a: str) -> str"]),
    ("K = (1, 2)", ["m.K = (1, 2)"]),
])
def test_lines(tmp_path, monkeypatch, source, lines):
    monkeypatch.setattr(tool, "SOURCE", tmp_path)
    name = lines[0].removeprefix("m.").partition("(")[0].partition(" ")[0]
    (tmp_path / "m.py").write_text(f"__all__ = [{name!r}]\n{source}\n")
    assert list(tool.module_lines("m")) == lines


def test_lines_of_a_header():
    header = """
        ND_API void nd_f(void);
        /* Returns g(x); of a string. */
        ND_API const char *nd_g(const nd_s *x,
                                size_t n);
        typedef struct { uint64_t a[4]; uint32_t b, c; } nd_s;   /* members */
        typedef struct nd_opaque nd_opaque;
        typedef enum { ND_A, ND_B } nd_e;
        typedef void nd_sink(void *to);
    """
    assert list(tool.header_lines(header)) == [
        "nd_f(void) -> void", "nd_g(const nd_s *x, size_t n) -> const char *", "nd_sink(void *to) -> void",
        "nd_s.a[4]: uint64_t = member 0", "nd_s.b: uint32_t = member 1", "nd_s.c: uint32_t = member 2",
        "nd_e.ND_A = 0", "nd_e.ND_B = 1",
    ]
