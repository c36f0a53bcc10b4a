"""Install the peers of the benchmarks by pip, each in a virtual environment of its own under a folder you name.

They are for against.py. A peer that cannot be installed is reported and left out of the
comparison; that is no error. FOLDER/peers.json says which versions each peer has, and why a missing one is missing. Run
again, it keeps what works; --upgrade makes all of them anew.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

# environment -> what pip installs. Two major versions of datasketch clash, and so do the wishes of the others for NumPy.
ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "datasketch1": ("datasketch<2", "xxhash"),
    "datasketch2": ("datasketch>=2", "xxhash"),
    "rensa": ("rensa", "numpy"),
    "gaoya": ("gaoya",),
    "daft": ("daft",),
    "sourmash": ("sourmash",),
    "hashes": ("xxhash", "numpy"),
}
LISTED = "peers.json"


def interpreter(folder: Path) -> Path:
    """The Python of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def installed(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of what pip was asked for."""
    done = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True)
    names = {package.partition("<")[0].partition(">")[0].partition("=")[0] for package in packages}
    return {item["name"]: item["version"] for item in json.loads(done.stdout) if item["name"].lower() in names | {"numpy"}}


def make(folder: Path, packages: tuple[str, ...]) -> dict[str, Any]:
    """One environment: {"versions": …}, or {"error": the last line of what went wrong}."""
    python = interpreter(folder)
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True, check=True)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
        return {"versions": installed(python, packages)}
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or str(error)).strip().splitlines()
        return {"error": next((line for line in reversed(lines) if "error" in line.lower()), lines[-1] if lines else "")}
    except (OSError, subprocess.SubprocessError) as error:
        return {"error": str(error)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="where the environments go; made if need be")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"which ones (default all): {', '.join(ENVIRONMENTS)}")
    parser.add_argument("--upgrade", action="store_true", help="remove the environments first")
    parser.add_argument("--pin", metavar="PACKAGE==VERSION", action="append", default=[],
                        help="install this version of a package, for instance rensa==0.4.0")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - ENVIRONMENTS.keys()
    if unknown:
        parser.error(f"no peer is called {', '.join(sorted(unknown))}; there are {', '.join(ENVIRONMENTS)}")
    pins = {pin.partition("==")[0]: pin for pin in arguments.pin}
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / LISTED
    known = json.loads(listed.read_text()) if listed.is_file() else {}
    for name in arguments.names or ENVIRONMENTS:
        if arguments.upgrade:
            shutil.rmtree(folder / name, ignore_errors=True)
        known[name] = make(folder / name, tuple(pins.get(package, package) for package in ENVIRONMENTS[name]))
        print(f"{name}: {known[name].get('versions') or 'NOT INSTALLED: ' + known[name]['error']}", flush=True)
        listed.write_text(json.dumps(known, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
