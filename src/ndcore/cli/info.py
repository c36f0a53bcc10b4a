"""``ndcore info``: the installation, or a file of sketches."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ndcore.cli.inputs import SKETCHES, ids_of, load_sketches
from ndcore.cli.options import OUTPUT, Commands, add_json
from ndcore.cli.summary import plain, printable
from ndcore.files.ndcore_files import refuse_own

__all__ = ["EXTRAS", "add_info", "processor"]

EXTRAS = {
    "msgspec": "cli",
    "rich": "cli",
    "shtab": "cli",
    "zstandard": "cli",
    "pyarrow": "parquet",
    "matplotlib": "plot",
    "fsspec": "remote",
    "fastwarc": "web",
    "resiliparse": "web",
}


def add_info(commands: Commands) -> None:
    p = commands.add_parser(
        "info",
        help="this installation, or a file of sketches",
        description="What is installed, or what a file of sketches holds.",
    )
    p.set_defaults(run=run_info)
    p.add_argument("file", nargs="?", metavar="FILE", help="sketches, instead of the installation")
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")


def run_info(args: argparse.Namespace) -> int:
    """``ndcore info``."""
    if args.json:
        print(json.dumps(plain(_installed() if args.file is None else _described(args.file)), indent=2))
        return 0
    lines = _installation() if args.file is None else _sketches(args.file)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")
    return 0


def _installed() -> dict[str, Any]:
    """The installation for programs: of a package that is missing, null."""
    import ndcore

    versions: dict[str, str | None] = dict.fromkeys(EXTRAS)
    for package in EXTRAS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "ndcore": ndcore.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": _cores(),
        "kernels": ndcore.variants(),
        "packages": versions,
    }


def _described(path: str) -> dict[str, Any]:
    """A file of sketches for programs."""
    refuse_own(path, {SKETCHES})
    sketches = load_sketches([path])
    return {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "documents": len(sketches),
        "without_shingles": int((~sketches.valid).sum()),
        "ids": sketches.ids is not None,
        "recipe": {"id": sketches.recipe.id, "parameters": json.loads(sketches.recipe.to_json())},
    }


def _installation() -> list[tuple[str, str]]:
    import ndcore

    lines = [
        (
            "ndcore",
            f"{ndcore.__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})",
        ),
        ("processor", processor()),
        ("cores", str(_cores())),
    ]
    variants: dict[str, Any] = ndcore.variants()
    lines += [(f"kernel {name}", _variant(value)) for name, value in variants.items()]
    for package, extra in EXTRAS.items():
        try:
            lines.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            lines.append((package, f"not installed: pip install 'ndcore[{extra}]'"))
    return lines


def _variant(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(str(item) for item in value) if isinstance(value, Sequence) else str(value)


def processor() -> str:
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _sketches(path: str) -> list[tuple[str, str]]:
    refuse_own(path, {SKETCHES})
    sketches = load_sketches([path])
    recipe = sketches.recipe
    ids = ids_of(sketches)
    lines = [
        ("file", f"{printable(path)} ({Path(path).stat().st_size:,} bytes)"),
        ("documents", f"{len(sketches):,}"),
        ("without shingles", f"{int((~sketches.valid).sum()):,}"),
        ("ids", f"{printable(str(ids[0]), 60)} to {printable(str(ids[-1]), 60)}" if len(ids) else "none"),
        ("recipe id", recipe.id),
    ]
    return lines + [(f"  {name}", value) for name, value in _flat(recipe.parameters)]


def _flat(parameters: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, dict) and all(item is True for item in value.values()):
            found.append((f"{prefix}{name}", printable(" ".join(value), 60)))
        elif isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        else:
            shown = hex(value) if isinstance(value, int) and abs(value) >= 1 << 32 else str(value)
            found.append((f"{prefix}{name}", shown))
    return found
