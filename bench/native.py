"""The C core as a shared library of its own, compiled for the occasion and called through ctypes.

The flags are those of setup.py, so that the code is the one the extensions run. Structures whose fields no caller
touches are opaque memory here: only their size is guessed, generously.
"""

from __future__ import annotations

import ctypes
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ndcore

FLAGS = ["-O3", "-std=c11", "-fPIC", "-shared"]
OPAQUE = 1 << 16  # bytes; the largest table is 16 KiB
WORD, CHAR, GRAPHEME = 0, 1, 5  # nd_unit of text.h
UNITS = {WORD: "word", CHAR: "char", GRAPHEME: "grapheme"}


class Minima(Structure):
    """nd_minima32 and nd_minima64 of minhash.h."""

    _fields_ = (("k", c_size_t), ("key", c_uint64), ("a", c_void_p), ("b", c_void_p), ("minima", c_void_p))


class TableKey(Structure):
    """nd_table_key of table.h; any numbers do, for nobody attacks here."""

    _fields_ = (("a", c_uint64 * 2), ("b", c_uint64), ("second", c_uint64))


TABLE_KEY = TableKey((0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7), 0xABC98388FB8FAC03, 0x49858ABBA1C34A05)


def table_room(n: int) -> int:
    """nd_table_room of table.h."""
    return 3 * n + 1


class Bottom(Structure):
    """nd_bottom of minhash.h."""

    _fields_ = (
        ("size", c_size_t), ("count", c_size_t), ("early_size", c_size_t), ("early_count", c_size_t), ("key", c_uint64),
        ("limit", c_uint64), ("shift", ctypes.c_uint), ("selected", c_int), ("members", c_void_p), ("early", c_void_p),
        ("recent", c_uint64 * 256),
    )


class Simhash(Structure):
    """nd_simhash of simhash.h."""

    _fields_ = (
        ("mix", c_void_p), ("key", c_uint64), ("features", c_uint64), ("groups", c_uint64), ("words", c_size_t),
        ("planes", c_uint64 * 8 * 48 * 4),
    )


class Weights(Structure):
    """nd_weights of weights.h; a slot is 16 bytes."""

    _fields_ = (("slots", c_void_p), ("room", c_size_t), ("key", TableKey), ("missing", c_int32))


class SimhashWeighted(Structure):
    """nd_simhash_weighted of simhash.h."""

    _fields_ = (
        ("mix", c_void_p), ("key", c_uint64), ("table", c_void_p), ("words", c_size_t), ("any", c_int), ("total", c_int64),
        ("sums", c_int64 * 64 * 4),
    )


class Fast(Structure):
    """nd_fastsketch of fastsketch.h."""

    _fields_ = (
        ("t", c_size_t), ("unfilled", c_size_t), ("kept_count", c_size_t), ("distinct", c_size_t), ("key", c_uint64),
        ("slots", c_void_p), ("kept", c_void_p), ("room", c_size_t), ("table", c_void_p),
        ("coordinates", c_void_p),
    )


class Mod(Structure):
    """nd_mod of modsketch.h."""

    _fields_ = (
        ("mix", c_void_p), ("key", c_uint64), ("size", c_size_t), ("adaptive", c_int), ("inverse", c_uint64),
        ("limit", c_uint64), ("twos", ctypes.c_uint), ("taken", c_size_t), ("count", c_size_t), ("crowded", c_size_t),
        ("members", c_void_p), ("scratch", c_void_p),
    )


class Winnow(Structure):
    """nd_winnow of winnow.h."""

    _fields_ = (
        ("mix", c_void_p), ("key", c_uint64), ("window", c_size_t), ("robust", c_int), ("scratch", c_void_p),
        ("values", c_void_p), ("positions", c_void_p), ("count", c_size_t), ("taken", c_size_t), ("base", c_size_t),
        ("at", c_size_t), ("front_at", c_size_t), ("least", c_uint64), ("front", c_uint64), ("back_begin", c_size_t),
        ("back_end", c_size_t), ("front_end", c_size_t),
    )


class LineFields(Structure):
    """nd_jsonl_fields of jsonl.h."""

    _fields_ = (("text", c_char_p), ("id", c_char_p), ("refused", c_char_p), ("text_size", c_size_t), ("id_size", c_size_t),
                ("refused_size", c_size_t))


class LineRecord(Structure):
    """nd_jsonl_record of jsonl.h."""

    _fields_ = (("text", c_void_p), ("id", c_void_p), ("text_size", c_size_t), ("id_size", c_size_t), ("id_kind", c_int))


class Choice(ctypes.Structure):
    """nd_choice of nd.h."""

    _fields_ = (("variants", c_void_p), ("use", ctypes.CFUNCTYPE(c_int, c_char_p, c_uint32)), ("chosen", c_void_p))


SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "nd_text_table_init": (None, [c_void_p, c_uint64]),
    "nd_text_open": (None, [c_void_p, c_int, c_void_p, c_void_p, c_size_t, c_void_p]),
    "nd_units_read": (c_size_t, [c_void_p, c_void_p, c_size_t]),
    "nd_nfkc": (c_size_t, [c_void_p, c_size_t, c_int, c_void_p, c_void_p]),
    "nd_utf8": (c_size_t, [ctypes.c_uint, c_void_p, c_size_t, c_void_p]),
    "nd_utf8_size": (c_size_t, [ctypes.c_uint, c_void_p, c_size_t]),
    "nd_jsonl_line": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "nd_rabin_init": (None, [c_void_p, c_uint64, ctypes.c_uint]),
    "nd_rabin_bytes": (c_uint64, [c_void_p, c_uint64, c_void_p, c_size_t]),
    "nd_rabin_byte_window_init": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_rabin_sliding": (None, [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
    "nd_rabin_symbol_window_init": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_rabin_symbols": (None, [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p]),
    "nd_minhash_coefficients": (None, [c_uint64, c_size_t, POINTER(c_uint64), c_void_p, c_void_p]),
    "nd_minima32_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_minima64_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_bottom_open": (None, [c_void_p]),
    "nd_bottom_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_bottom_close": (None, [c_void_p]),
    "nd_fastsketch_open": (None, [c_void_p]),
    "nd_fastsketch_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_fastsketch_close": (None, [c_void_p]),
    "nd_mod_init": (None, [c_void_p, c_uint64]),
    "nd_mod_open": (None, [c_void_p]),
    "nd_mod_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_mod_close": (None, [c_void_p]),
    "nd_winnow_scratch_size": (c_size_t, [c_size_t]),
    "nd_winnow_open": (None, [c_void_p]),
    "nd_winnow_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_winnow_close": (None, [c_void_p]),
    "nd_digest_many": (None, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "nd_sets_overlap": (None, [c_void_p, c_size_t, c_void_p, c_size_t, c_size_t, c_uint64, c_void_p]),
    "nd_simhash_open": (None, [c_void_p]),
    "nd_simhash_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_simhash_value": (None, [c_void_p, c_void_p]),
    "nd_simhash_weighted_open": (None, [c_void_p]),
    "nd_simhash_weighted_take": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_simhash_weighted_add": (None, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "nd_simhash_weighted_value": (None, [c_void_p, c_void_p]),
    "nd_weights_fill": (None, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "nd_sort_entries": (None, [c_void_p, c_void_p, c_size_t]),
    "nd_cpu_features": (c_uint32, []),
}


def shared_library(sources: Sequence[Path]) -> tuple[Any, str]:
    """(library, the command that made it, without files). SystemExit where there is no C compiler."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "core.so"
        command = [compiler, *FLAGS, "-o", str(target), *map(str, sources)]
        try:
            subprocess.run(command, check=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            raise SystemExit(f"{', '.join(source.name for source in sources)} could not be compiled: {error}") from None
        return ctypes.CDLL(str(target)), " ".join([compiler, *FLAGS])


def compiled() -> tuple[Any, str]:
    """The core: (library, the command that made it). SystemExit where there is no C compiler, or no source."""
    core = Path(ndcore.get_include())
    sources = sorted(core.glob("*.c"))
    if not sources:
        raise SystemExit(f"{core} has headers only; install ndcore editable, from its source, to time the C functions")
    library, command = shared_library(sources)
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library, command


def use(library: Any, stem: str, name: str | None) -> bool:
    """Run this variant of a kernel in the library; False where there is no such choice or it cannot run here."""
    try:
        choice = Choice.in_dll(library, f"nd_{stem}_choice")
    except ValueError:
        return name in (None, "portable")
    return bool(choice.use(None if name is None else name.encode(), library.nd_cpu_features()) >= 0)


def address(array: NDArray[Any]) -> int:
    """Where an array begins; it must be kept alive by the caller."""
    return int(array.ctypes.data)


def opaque() -> NDArray[np.uint8]:
    """Memory for a structure of the core."""
    return np.zeros(OPAQUE, np.uint8)


def coefficients(library: Any, seed: int, count: int) -> tuple[int, NDArray[np.uint64], NDArray[np.uint64]]:
    """(key, a, b) of nd_minhash_coefficients."""
    key, a, b = c_uint64(), np.empty(count, np.uint64), np.empty(count, np.uint64)
    library.nd_minhash_coefficients(seed, count, byref(key), address(a), address(b))
    return key.value, a, b
