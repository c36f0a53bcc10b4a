"""Other packages' Cython reaches the kernels by `cimport ndcore`."""

import subprocess
import sys

import pytest

import ndcore as nd

MODULE = """
# cython: language_level=3
from libc.stdint cimport uint8_t, uint64_t
from ndcore cimport (
    ND_WORD, nd_rabin, nd_rabin_byte_window, nd_text, nd_text_table, rabin_byte_window_init, rabin_init, rabin_sliding,
    text_open, text_symbols, text_table_init)

def sliding(bytes text, size_t window, uint64_t low):
    cdef nd_rabin rabin
    cdef nd_rabin_byte_window w
    cdef uint64_t out[64]
    rabin_init(&rabin, low, 64)
    rabin_byte_window_init(&w, &rabin, window)
    rabin_sliding(&rabin, &w, window, <const uint8_t *> text, len(text), out)
    return [out[i] for i in range(len(text) - window + 1)]

def symbols(bytes text, uint64_t low):
    cdef nd_text_table table
    cdef nd_text words
    cdef uint64_t out[64]
    text_table_init(&table, low)
    text_open(&words, ND_WORD, &table, <const uint8_t *> text, len(text), NULL)
    return [out[i] for i in range(text_symbols(&words, out, 64))]
"""
BUILD = """
from Cython.Build import cythonize
from setuptools import Extension, setup
import ndcore
setup(name="guest", ext_modules=cythonize([Extension("guest", ["guest.pyx"], include_dirs=[ndcore.get_include()])]))
"""


def test_kernels_from_another_package(tmp_path):
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    (tmp_path / "guest.pyx").write_text(MODULE)
    (tmp_path / "build.py").write_text(BUILD)
    build = [sys.executable, "build.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    text = b"A rose is a rose"
    code = f"import guest; print([guest.sliding({text!r}, 4, {nd.POLYNOMIAL & (1 << 64) - 1}), guest.symbols({text!r}, 27)])"
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    fingerprints, symbols = eval(told)
    assert fingerprints == [nd.Rabin().fingerprint(text[i:i + 4]) for i in range(len(text) - 3)]
    assert symbols == [int.from_bytes(word, "big") for word in (b"a", b"rose", b"is", b"a", b"rose")]
