"""``ndcore info``: the installation, or a file of sketches."""

from __future__ import annotations

import contextlib
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from ndcore._version import __version__
from ndcore.checks import EXTRAS, install_command
from ndcore.cli.commands import InfoOptions
from ndcore.cli.inputs import ids_of, load_sketches
from ndcore.files.ndcore_files import SKETCHES, refuse_own
from ndcore.human import printable
from ndcore.kernels import variants
from ndcore.parallel import thread_count
from ndcore.report.plain_values import plain
from ndcore.sketch.sketches import Sketches

__all__ = ["processor"]


def run_info(options: InfoOptions) -> int:
    """Run ``ndcore info``, and return the exit code."""
    if options.file is None:
        found = _installation()
        lines = [] if options.json else _installation_lines(found)
    else:
        refuse_own(options.file, {SKETCHES})
        sketches = load_sketches([options.file])
        found = _description(options.file, sketches)
        lines = [] if options.json else _description_lines(found, sketches)
    if options.json:
        print(json.dumps(plain(found), indent=2))
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")
    return 0


# ---- the installation


def _installation() -> dict[str, Any]:
    """Describe the installation; the version of a package that is missing is None."""
    versions: dict[str, str | None] = dict.fromkeys(EXTRAS)
    for package in EXTRAS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "ndcore": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": thread_count(None),
        "kernels": variants(),
        "packages": versions,
    }


def _installation_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    kernels = ((f"kernel {name}", states) for name, states in found["kernels"].items())
    packages = found["packages"].items()
    return [
        ("ndcore", f"{found['ndcore']} (Python {found['python']}, {found['system']} {found['machine']})"),
        ("processor", found["processor"]),
        ("cores", str(found["cores"])),
        *((name, ", ".join(f"{variant} {state}" for variant, state in states.items())) for name, states in kernels),
        *((package, version or f"not installed: {install_command(package)}") for package, version in packages),
    ]


def processor() -> str:
    """Return the name of the processor."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


# ---- a file of sketches


def _description(path: str, sketches: Sketches) -> dict[str, Any]:
    return {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "documents": len(sketches),
        "without_shingles": int((~sketches.valid).sum()),
        "ids": sketches.ids is not None,
        "recipe": {"id": sketches.recipe.id, "parameters": json.loads(sketches.recipe.to_json())},
    }


def _description_lines(found: dict[str, Any], sketches: Sketches) -> list[tuple[str, str]]:
    ids = ids_of(sketches)
    return [
        ("file", f"{printable(found['path'])} ({found['file_bytes']:,} bytes)"),
        ("documents", f"{found['documents']:,}"),
        ("without shingles", f"{found['without_shingles']:,}"),
        ("ids", f"{printable(str(ids[0]), 60)} to {printable(str(ids[-1]), 60)}" if len(ids) else "none"),
        ("recipe id", found["recipe"]["id"]),
        *((f"  {name}", value) for name, value in _flattened(sketches.recipe.parameters)),
    ]


def _flattened(parameters: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Flatten the parameters of a recipe to dotted names and printed values; a set is its words."""
    found: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, dict) and all(item is True for item in value.values()):
            found.append((f"{prefix}{name}", printable(" ".join(value), 60)))
        elif isinstance(value, dict):
            found += _flattened(value, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", hex(value) if isinstance(value, int) and abs(value) >= 1 << 32 else str(value)))
    return found
