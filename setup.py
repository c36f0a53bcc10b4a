"""The extension list; everything else is in pyproject.toml."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = "src/ndcore/core"
FLAGS = [] if sys.platform == "win32" else ["-O3", "-std=c11", "-Wall", "-Werror=ignored-attributes"]

# Each C file is linked into exactly one extension; the others reach it through that extension's .pxd.
C_FILES = {
    "_cpu": ["cpu"],
    "_rabin": ["gf2", "rabin"],
    "_text": ["text", "nfkc"],
    "_minhash": ["minhash"],
    "_pairs": ["pairs"],
    "_pipeline": ["pipeline"],
}


def extension(name: str, c_files: list[str]) -> Extension:
    return Extension(
        f"ndcore.{name}",
        [f"src/ndcore/{name}.pyx", *(f"{CORE}/{stem}.c" for stem in c_files)],
        include_dirs=[CORE],
        depends=[f"{CORE}/{header}.h" for header in ("nd", "gf2", "rabin", "text", "nfkc", "minhash", "pairs", "pipeline")],
        extra_compile_args=FLAGS,
    )


setup(ext_modules=cythonize([extension(name, c_files) for name, c_files in C_FILES.items()], include_path=["src"]))
