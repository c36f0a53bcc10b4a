"""The extension list; commands are in tools/distribution.py, everything else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import Extension, setup

sys.path.append(str(Path(__file__).resolve().parent / "tools"))
from distribution import SHARED, Build, Sdist, Wheel, headers_of

CORE = "src/ndcore/core"

# Each C file is linked into exactly one extension; the others reach it through that extension's .pxd.
C_FILES = {
    "_cpu": ["cpu"],
    "_signals": [],
    "_short": [],
    "_rabin": ["gf2", "rabin"],
    "_text": ["text", "units", "grapheme", "sentence", "nfkc", "scan", "places"],
    "_minhash": ["minhash", "fastsketch"],
    "_sets": ["sets"],
    "_candidates": ["candidates", "feature", "prefix", "bitmaps", "meetings"],
    "_cluster": ["cluster", "greedy"],
    "_entries": ["sort", "entries", "holders"],
    "_grams": ["grams", "shorts"],
    "_keys": ["keys"],
    "_lookup": ["lookup"],
    "_postings": ["postings", "recent"],
    "_repeats": ["repeats", "repeat_rows", "suffixes", "vocabulary"],
    "_samples": ["modsketch", "winnow"],
    "_hamming": ["hamming", "probes", "substrings", "compressed"],
    "_simhash": ["simhash", "weights", "weighted"],
    "_arrow": ["arrow"],
    "_jsonl": ["jsonl"],
    "_markup": ["markup"],
    "_batch": ["utf8", "equal", "digest"],
    "_pipeline": ["pipeline", "stops"],
}


def extension(name: str, c_files: list[str]) -> Extension:
    sources = [f"src/ndcore/{name}.pyx", *(f"{CORE}/{stem}.c" for stem in c_files)]
    return Extension(f"ndcore.{name}", sources, include_dirs=[CORE], depends=headers_of(sources, Path(CORE)))


setup(
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel, "sdist": Sdist},
    ext_modules=[
        Extension(SHARED, [f"src/{SHARED.replace('.', '/')}.c"]),
        *(extension(name, c_files) for name, c_files in C_FILES.items()),
    ],
    include_package_data=False,  # wheels hold what pyproject.toml lists, not all that MANIFEST.in gives to the sdist
)
