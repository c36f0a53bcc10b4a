"""``ndcore info``: describe the installation, or a file of sketches."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from ndcore._version import __version__
from ndcore.checks import EXTRAS, install_command
from ndcore.cli.account import Account, Properties, present, recipe_data
from ndcore.cli.commands import InfoOptions
from ndcore.cli.inputs import ids_of, load_sketches
from ndcore.files.ndcore_files import SKETCHES, refuse_own
from ndcore.human import printable
from ndcore.kernels import variants
from ndcore.parallel import thread_count
from ndcore.report.plain_values import plain


def run_info(options: InfoOptions) -> int:
    return present(options, _describe_installation() if options.file is None else _describe_sketches(options.file))


def _describe_installation() -> Account:
    """Describe the installation; the version of a missing package is None."""
    versions: dict[str, str | None] = dict.fromkeys(EXTRAS)
    for package in EXTRAS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    data = {
        "ndcore": __version__, "python": platform.python_version(), "system": platform.system(),
        "machine": platform.machine(), "processor": processor(), "cores": thread_count(None), "kernels": variants(),
        "packages": versions,
    }
    return Account(plain(data), [Properties([
        ("ndcore", f"{__version__} (Python {data['python']}, {data['system']} {data['machine']})"),
        ("processor", processor()),
        ("cores", f"{data['cores']}"),
        *((f"kernel {name}", ", ".join(f"{variant} {state}" for variant, state in states.items()))
          for name, states in variants().items()),
        *((package, version or f"not installed: {install_command(package)}") for package, version in versions.items()),
    ], indent="")])


def processor() -> str:
    """Return the name of the processor."""
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


def _describe_sketches(path: str) -> Account:
    """Describe a file of sketches."""
    refuse_own(path, {SKETCHES})
    sketches = load_sketches([path])
    size, ids, without = Path(path).stat().st_size, ids_of(sketches), int((~sketches.valid).sum())
    data = {
        "path": path, "file_bytes": size, "documents": len(sketches), "without_shingles": without,
        "ids": sketches.ids is not None, "recipe": recipe_data(sketches.recipe),
    }
    return Account(plain(data), [Properties([
        ("file", f"{printable(path)} ({size:,} bytes)"),
        ("documents", f"{len(sketches):,}"),
        ("without shingles", f"{without:,}"),
        ("ids", f"{printable(str(ids[0]), 60)} to {printable(str(ids[-1]), 60)}" if len(ids) else "none"),
        ("recipe id", sketches.recipe.id),
        *((f"  {name}", value) for name, value in _flatten(sketches.recipe.parameters)),
    ], indent="")])


def _flatten(parameters: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the parameters of a recipe as dotted names and printed values; a set is printed as its words."""
    for name, value in parameters.items():
        if isinstance(value, dict) and all(item is True for item in value.values()):
            yield f"{prefix}{name}", printable(" ".join(value), 60)
        elif isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", hex(value) if isinstance(value, int) and abs(value) >= 1 << 32 else str(value)
