"""bench/native.py: what it takes of headers, and that it can read all of the core. Nothing is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from benches import imported

import ndcore as nd

cffi = pytest.importorskip("cffi")
[native] = imported("native")
OUTER = """/* A comment of
 * two lines: int comment; */
#ifndef OUTER_H
#include <stdint.h>
#include "inner.h"
extern "C" {
#define TWICE(x) \\
    ((x) + (x))
ND_MAKE(static inline, name, uint64_t)
static inline int one(void) { return 1; }   /* } */
static inline int two(const inner *x,
                      int y)
{
    if (y) {
        return 2;
    }
    return x->b;
}
typedef struct { inner first; uint8_t bytes[COUNT]; } outer;
ND_API int use(const outer *x);
extern const outer chosen;
}
#endif
"""
INNER = """#include "outer.h"
enum { COUNT = 1 << 3 };
typedef struct { uint64_t a, b; } inner;
"""


def test_declarations_are_taken_once_and_functions_with_a_body_are_not(tmp_path):
    (tmp_path / "outer.h").write_text(OUTER)
    (tmp_path / "inner.h").write_text(INNER)
    taken = native.declarations(tmp_path, ["outer", "inner"])
    ffi = cffi.FFI()
    ffi.cdef(taken)
    assert ffi.sizeof("outer") == 24 and [name for name, _ in ffi.typeof("inner").fields] == ["a", "b"]
    assert "int use(const outer *x);" in taken and not any(word in taken for word in ("comment", "one", "two", "name"))


def test_every_header_of_the_core_can_be_read():
    ffi = cffi.FFI()
    ffi.cdef(native.declarations(Path(nd.get_include())))
    assert ffi.sizeof("nd_minima32") == 40  # a size, a key and three pointers
