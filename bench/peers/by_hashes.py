"""Hashes of whole strings that are no Rabin fingerprints: other values, without their algebra, at other speeds."""

from __future__ import annotations

import hashlib
import zlib
from random import Random
from typing import Any

import xxhash
from common import WHOLE, case, versions_of

FUNCTIONS = {
    "zlib.crc32, 32 bits": zlib.crc32,
    "xxh3, 64 bits": xxhash.xxh3_64_intdigest,
    "hashlib.blake2b, 128 bits": lambda content: hashlib.blake2b(content, digest_size=16).digest(),
}

VERSIONS = {**versions_of("xxhash"), "zlib": zlib.ZLIB_RUNTIME_VERSION}
CASES = [case(who, WHOLE, "whole string", size, "bytes") for who in FUNCTIONS for size in (32, 4_096, 1_048_576)]


def prepare(one: dict[str, Any], data: dict[str, Any]) -> tuple[Any, int, int]:
    content, function = Random(1).randbytes(one["number"]), FUNCTIONS[one["who"]]
    return lambda: function(content), len(content), len(content)
