"""The extension list; everything else is in pyproject.toml."""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CORE = "src/ndcore/core"
HEADERS = sorted(path.as_posix() for path in Path(CORE).glob("*.h"))  # any of them may be included by any C file
FLAGS = [] if sys.platform == "win32" else ["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Werror=ignored-attributes"]
if FLAGS and not os.environ.get("CFLAGS"):
    FLAGS.append("-g0")  # Python's flags ask for debugging information: three quarters of the bytes, a quarter of the time
SHARED = "_cyutility"  # Cython's code for memoryviews, once for all extensions: half of what there is to compile

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
    "_holders": ["holders"],
    "_keys": ["keys"],
    "_lookup": ["lookup"],
    "_postings": ["postings", "recent"],
    "_prefix": ["prefix"],
    "_hamming": ["hamming", "probes", "compressed"],
    "_near": [],
    "_simhash": ["simhash", "weights"],
    "_arrow": ["arrow"],
    "_jsonl": ["jsonl"],
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


class ParallelBuild(build_ext):
    """Compiles as many extensions at a time as there are CPUs, unless --parallel says otherwise."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.parallel is None:
            self.parallel = True


setup(
    cmdclass={"build_ext": ParallelBuild},
    ext_modules=cythonize(
        [
            Extension(f"ndcore.{SHARED}", [f"src/ndcore/{SHARED}.c"], extra_compile_args=FLAGS),
            *(extension(name, c_files) for name, c_files in C_FILES.items()),
        ],
        include_path=["src"],
        shared_utility_qualified_name=f"ndcore.{SHARED}",
        compiler_directives={"freethreading_compatible": True},
    ),
    include_package_data=False,  # wheels hold what pyproject.toml lists, not all that MANIFEST.in gives to the sdist
)
