"""Other packages' Cython reaches the kernels by `cimport ndcore`; programs in C are linked with the C files.

Both are built against the ndcore that these tests run on: an installed wheel in CI, a source tree elsewhere.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import ndcore as nd
from ndcore.reference import shingling
from ndcore.reference import sketches as reference_sketches

ROOT = Path(__file__).parents[2]
PAGES = [
    "", "rose", "A rose is a rose is a rose, said the 3 gärtner of Łódź; " * 40, "a rose is a rose is a rose",
    "A rose is a rose is a rose, said the 3 gärtner of Łódź; " * 39 + "and went home",
    "𝔘nicode \ufeffof 日本語の文章 here " * 9,
]

MODULE = """
# cython: language_level=3
from libc.stdint cimport uint8_t, uint64_t
from ndcore cimport (
    ND_WORD, import_ndcore, nd_rabin, nd_rabin_byte_window, nd_text, nd_text_table,
    rabin_byte_window_init, rabin_init, rabin_sliding, text_open, text_symbols, text_table_init)

import_ndcore()

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


def can_build_extensions() -> None:
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("the headers of Python are not installed")


def expected(page: str) -> tuple[int, int, list[int]]:
    """Return the shingles, the simhash and the minima of a page by the reference."""
    fingerprints = shingling.fingerprints(page)
    return len(fingerprints), reference_sketches.simhash(fingerprints), reference_sketches.signature(fingerprints, 84, 32, 1)


@pytest.mark.slow
def test_the_c_program_sketches_pages_as_python_does(tmp_path):
    make = shutil.which("make")
    if make is None or shutil.which("cc") is None:
        pytest.skip("there is no make or no C compiler here")
    folder = shutil.copytree(ROOT / "examples" / "c", tmp_path / "c")
    build = [make, f"PYTHON={sys.executable}", "CFLAGS=-O0 -Wall -Wextra -Werror"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for number, page in enumerate(PAGES):
        (folder / str(number)).write_text(page, encoding="utf-8")
    names = list(map(str, range(len(PAGES))))
    lines = subprocess.run(["./page_sketch", "2", *names], cwd=folder, capture_output=True, text=True, check=True).stdout
    sketches = nd.MinHasher().sketch_many(PAGES)
    for number, line in enumerate(lines.splitlines()[1:]):
        shingles, bits, score, *minima = line.split()
        found = int(shingles), int(bits, 16), [int(value, 16) for value in minima]
        assert found == expected(PAGES[number]), PAGES[number]
        assert found[2] == sketches.values[number].tolist()
        if PAGES[number]:
            assert float(score) == pytest.approx(sketches.resemblance(2, number), abs=1e-6)
    assert len(lines.splitlines()) == 1 + len(PAGES)
    done = subprocess.run(["./page_sketch", "no-such-page"], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "") and "no-such-page" in done.stderr


def test_pkg_config_and_cmake_find_the_package(tmp_path):
    """CMake configures the example; the C files that it would compile are those of the test above."""
    tried = 0
    folder = shutil.copytree(ROOT / "examples" / "c", tmp_path / "c")
    if shutil.which("pkg-config"):
        tried += 1
        place = {**os.environ, "PKG_CONFIG_PATH": nd.get_include()}

        def asked(question: str) -> str:
            return subprocess.run(["pkg-config", question, "ndcore"], env=place, capture_output=True, text=True,
                                  check=True).stdout.strip()

        assert asked("--modversion") == nd.__version__
        assert Path(asked("--cflags").removeprefix("-I")).samefile(nd.get_include())
        assert asked("--variable=sources") == asked("--cflags").removeprefix("-I") + "/*.c"
    if shutil.which("cmake"):
        tried += 1
        for wanted, found in (("0.1", True), ("0.0", False), ("0.2", False), ("1.0", False), ("", True)):
            lists = (ROOT / "examples" / "c" / "CMakeLists.txt").read_text("utf-8")
            (folder / "CMakeLists.txt").write_text(lists.replace("ndcore 0.1 CONFIG", f"ndcore {wanted} CONFIG"))
            build = ["cmake", "-S", ".", "-B", f"build{wanted}", f"-Dndcore_DIR={nd.get_include()}"]
            done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
            assert (done.returncode == 0) is found, done.stderr
    if not tried:
        pytest.skip("neither pkg-config nor cmake is here")


THREADED = """
import sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import page_sketches
pages = eval(sys.stdin.buffer.read())
sketcher = page_sketches.PageSketcher()
def sketched(page):
    minima = np.empty(84, np.uint32)
    return *sketcher.sketch(page.encode(), minima), minima.tolist()
with ThreadPoolExecutor(3) as threads:
    print(list(threads.map(sketched, pages)))
try:
    sketcher.sketch(b"", np.empty(5, np.uint32))
except ValueError as error:
    print(error)
"""


@pytest.mark.slow
def test_the_cython_example_sketches_pages_as_python_does(tmp_path):
    can_build_extensions()
    folder = shutil.copytree(ROOT / "examples" / "cython", tmp_path / "cython")
    build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    flags = {**os.environ, "CFLAGS": "-O0"}
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False, env=flags)
    assert done.returncode == 0, done.stdout + done.stderr
    for variant in ("", "portable"):
        told = subprocess.run([sys.executable, "-c", THREADED], cwd=folder, input=ascii(PAGES).encode(), capture_output=True,
                              check=True, env={**os.environ, "NDCORE_VARIANT": variant}).stdout.decode().splitlines()
        assert eval(told[0]) == [expected(page) for page in PAGES]
        assert told[1] == "room for 84 minima is needed, got 5"


def build_guest(source, folder):
    """Build the Cython module `guest` in a folder."""
    can_build_extensions()
    (folder / "guest.pyx").write_text(source)
    (folder / "build.py").write_text(BUILD)
    build = [sys.executable, "build.py", "-q", "build_ext", "--inplace"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True, env={**os.environ, "CFLAGS": "-O0"})


def test_kernels_from_another_package(tmp_path):
    build_guest(MODULE, tmp_path)
    text = b"A rose is a rose"
    code = f"import guest; print([guest.sliding({text!r}, 4, {nd.POLYNOMIAL & (1 << 64) - 1}), guest.symbols({text!r}, 27)])"
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    fingerprints, symbols = eval(told)
    assert fingerprints == [nd.Rabin().fingerprint(text[i:i + 4]) for i in range(len(text) - 3)]
    assert symbols == [int.from_bytes(word, "big") for word in (b"a", b"rose", b"is", b"a", b"rose")]


OLDER = """
# cython: language_level=3
cdef extern from *:
    \"\"\"
    #include "pipeline.h"
    typedef struct { nd_shingling now; uint64_t once; } older_shingling;
    #define nd_shingling older_shingling
    \"\"\"
from ndcore cimport import_ndcore
import_ndcore()
"""


def test_a_module_with_other_structs_is_refused_at_import(tmp_path):
    build_guest(OLDER, tmp_path)
    done = subprocess.run([sys.executable, "-c", "import guest"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: this module was compiled with the headers of another version of ndcore" in done.stderr
