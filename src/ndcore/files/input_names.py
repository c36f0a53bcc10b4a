"""Names of inputs: no input is read twice, and every input gets a name of its own in the output."""

# Paths stay the strings that the user gave, and a large directory has no Path for each of its files.
# ruff: noqa: PTH100, PTH110, PTH112, PTH120, PTH206

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ndcore.files.errors import UsageError
from ndcore.files.formats import of_name
from ndcore.files.sources import STDIN, STDIN_NAME, is_stream, is_url


def refuse_overlaps(inputs: Sequence[str]) -> None:
    """Raise UsageError where an input is given twice or lies inside another: its documents would be read twice.

    Patterns of URLs must be expanded before.
    """
    local = [re.sub(r"^(?:file|local)://", "", path) if is_url(path) else path for path in inputs]
    real = [path if path == STDIN else os.path.realpath(path) for path in local]
    seen: dict[str, str] = {}
    for path, resolved in zip(inputs, real, strict=True):
        if resolved in seen:
            raise UsageError(f"the input {path!r} is given twice (also as {seen[resolved]!r}); name it once")
        seen[resolved] = path
    for path, resolved in zip(inputs, real, strict=True):
        parent = "" if path == STDIN else os.path.dirname(resolved)
        while parent and parent != os.path.dirname(parent):
            if parent in seen:
                raise UsageError(f"the input {path!r} lies inside the input {seen[parent]!r}; name only one of them")
            parent = os.path.dirname(parent)


def distinct_names(inputs: Sequence[str]) -> list[str]:
    """Name each input by the shortest trailing path that tells it from the others and lies below none of them.

    >>> distinct_names(["2024/a.jsonl", "2025/a.jsonl", "b.jsonl"])
    ['2024/a.jsonl', '2025/a.jsonl', 'b.jsonl']
    """
    parts = [_parts(path) for path in inputs]
    depth = [1] * len(parts)
    while True:
        names = [tuple(p[-d:]) for p, d in zip(parts, depth, strict=True)]
        clashes = _clashes(names)
        grown = [i for i in clashes if depth[i] < len(parts[i])]
        if not grown:
            return ["/".join(name) for name in names]
        for i in grown:
            depth[i] += 1


def _parts(path: str) -> list[str]:
    """Split the path of an input into its names; standard input and streams get names with a suffix."""
    if path == STDIN:
        return [STDIN_NAME]
    if is_url(path):
        path = re.sub(r"^.*://|[?#].*$", "/", path)
    parts = [part for part in os.path.abspath(path).split(os.sep) if part] or ["root"]
    if not os.path.isdir(path) and os.path.exists(path) and is_stream(path) and of_name(path)[0] in ("", "text"):
        parts[-1] += ".jsonl"
    return parts


def _clashes(names: list[tuple[str, ...]]) -> list[int]:
    """Find the names that are given twice, or of which one lies below another."""
    owners: dict[tuple[str, ...], list[int]] = {}
    for i, name in enumerate(names):
        owners.setdefault(name, []).append(i)
    clashing = {i for group in owners.values() if len(group) > 1 for i in group}
    for i, name in enumerate(names):
        for length in range(1, len(name)):
            if name[:length] in owners:
                clashing.update(owners[name[:length]], [i])
    return sorted(clashing)
