"""The C core as a shared library of its own, compiled for the occasion and called through cffi.

Functions, structures and constants are those that the headers declare. The optimisation is that of setup.py, so that the
code is the one the extensions run.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cffi  # type: ignore[import-untyped]

import ndcore

FLAGS = ["-O3", "-std=c11", "-fPIC", "-shared"]
HEADERS = ("units", "nfkc", "utf8", "jsonl", "rabin", "minhash", "fastsketch", "modsketch", "winnow", "digest", "sets",
           "simhash", "sort")  # and those that they include
INCLUDED = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
LEFT_OUT = re.compile(  # directives, functions with a body, and words of declarations that cffi does not take
    r'^#(?:.*\\\n)*.*\n|^static inline[^;{]*\{(?:.*\}|(?s:.*?)^\})\n|^ND_[A-Z]+\(.*\)$'
    r'|^ND_API |^extern "C" \{|^\}$|(?<=^extern )const ', re.MULTILINE)

ffi = cffi.FFI()


def declarations(core: Path, names: Sequence[str] = HEADERS) -> str:
    """Read what headers declare, and what the headers that they include do: each once, the included ones first."""
    seen: set[Path] = set()

    def declared(path: Path) -> str:
        if path in seen:
            return ""
        seen.add(path)
        text = path.read_text(encoding="utf-8")
        included = "".join(declared(core / name) for name in INCLUDED.findall(text))
        return included + LEFT_OUT.sub("", COMMENT.sub("", text))

    return "".join(declared(core / f"{name}.h") for name in names)


def shared_library(sources: Sequence[Path]) -> tuple[Any, str]:
    """(library, the command that made it, without files). SystemExit where there is no C compiler."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "core.so"
        try:
            subprocess.run([compiler, *FLAGS, "-o", target, *sources], check=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            raise SystemExit(f"{', '.join(source.name for source in sources)} could not be compiled: {error}") from None
        return ffi.dlopen(str(target)), " ".join([compiler, *FLAGS])


def compiled() -> tuple[Any, str]:
    """The core: (library, the command that made it). SystemExit where there is no C compiler, or no source."""
    core = Path(ndcore.get_include())
    sources = sorted(core.glob("*.c"))
    if not sources:
        raise SystemExit(f"{core} has headers only; install ndcore editable, from its source, to time the C functions")
    ffi.cdef(declarations(core))
    return shared_library(sources)


def use(library: Any, stem: str, name: str | None) -> bool:
    """Run this variant of a kernel in the library; False where there is no such choice or it cannot run here."""
    choice = getattr(library, f"nd_{stem}_choice", None)
    if choice is None:
        return name in (None, "portable")
    wanted = ffi.NULL if name is None else ffi.new("char[]", name.encode())
    return bool(choice.use(wanted, library.nd_cpu_features()) >= 0)
