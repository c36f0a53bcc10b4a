"""Everything that docs/benchmarks.md is made of, one after the other: about an hour on two quiet CPUs.

Results go to bench/results; at the end report.py writes the page, the plots and the tables of the README. A part that
fails does not stop the others; the exit code is 1 then. --only and --skip choose parts, --quick shows that all work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from corpus import DATA, VARIABLE
from measure import RESULTS, say

HERE = Path(__file__).parent
PARTS = ("kernels", "calls", "pipeline", "against", "job", "templates", "quality", "hamming", "repeats")
QUIET = 0.5  # load average above which figures are not to be trusted


def command(part: str, arguments: argparse.Namespace) -> list[str]:
    """How a part is run."""
    made = [sys.executable, str(HERE / f"{part}.py"), "--results", arguments.results]
    if arguments.quick:
        made.append("--quick")
    if part == "against" and arguments.peers:
        made += ["--peers", arguments.peers]
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="FOLDER", help="what peers_setup.py made; without it ndcore stands alone")
    parser.add_argument("--results", metavar="FOLDER", default=str(RESULTS), help="where to write (default: results)")
    parser.add_argument("--quick", action="store_true", help="small inputs, few repeats, no report")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts")
    parser.add_argument("--skip", nargs="+", choices=PARTS, default=(), help="not these")
    DATA.add(parser, "data")
    arguments = parser.parse_args()
    if arguments.data:
        os.environ[VARIABLE] = arguments.data
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > QUIET:
        say(f"the load average is {os.getloadavg()[0]:.1f}; figures need a quiet machine")
    failed = []
    for part in PARTS:
        if part not in arguments.only or part in arguments.skip:
            continue
        say(f"==== {part}")
        start = time.perf_counter()
        if subprocess.run(command(part, arguments), check=False).returncode:
            failed.append(part)
        say(f"==== {part}: {time.perf_counter() - start:.0f} seconds")
    if not arguments.quick and subprocess.run([sys.executable, HERE / "report.py", "--results", arguments.results],
                                              check=False).returncode:
        failed.append("report")
    say(f"failed: {', '.join(failed)}" if failed else "all done")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
