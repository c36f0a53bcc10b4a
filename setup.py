"""The extension list; everything else is in pyproject.toml."""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = "src/ndcore/core"
HEADERS = sorted(path.as_posix() for path in Path(CORE).glob("*.h"))  # any of them may be included by any C file
FLAGS = [] if sys.platform == "win32" else ["-O3", "-std=c11", "-Wall", "-Werror=ignored-attributes"]

# Each C file is linked into exactly one extension; the others reach it through that extension's .pxd.
C_FILES = {
    "_cpu": ["cpu"],
    "_signals": [],
    "_rabin": ["gf2", "rabin"],
    "_text": ["text", "units", "grapheme", "nfkc"],
    "_minhash": ["minhash", "fastsketch"],
    "_feature": ["feature"],
    "_modsketch": ["modsketch"],
    "_sets": ["sets"],
    "_candidates": ["candidates"],
    "_cluster": ["cluster"],
    "_entries": ["sort", "entries"],
    "_greedy": ["greedy"],
    "_keys": ["keys"],
    "_prefix": ["prefix"],
    "_hamming": ["hamming", "probes", "compressed"],
    "_simhash": ["simhash", "weights"],
    "_arrow": ["arrow"],
    "_batch": ["utf8", "equal"],
    "_pipeline": ["pipeline", "stops"],
}


def extension(name: str, c_files: list[str]) -> Extension:
    return Extension(
        f"ndcore.{name}",
        [f"src/ndcore/{name}.pyx", *(f"{CORE}/{stem}.c" for stem in c_files)],
        include_dirs=[CORE],
        depends=HEADERS,
        extra_compile_args=FLAGS,
    )


setup(
    ext_modules=cythonize(
        [extension(name, c_files) for name, c_files in C_FILES.items()],
        include_path=["src"],
        compiler_directives={"freethreading_compatible": True},
    ),
    include_package_data=False,  # wheels hold what pyproject.toml lists, not all that MANIFEST.in gives to the sdist
)
