"""How every benchmark measures: pinned, warmed up, interleaved, checked first, and written down with the machine.

A benchmark is a function that `program` calls with a `Report`: it requires what must hold before anything is timed, times,
and adds tables. They are printed and written to results/<date>_<cpu>_<name>.json, and the exit code is 1 where a requirement
failed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import platform
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar
from unittest.mock import patch

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("ndcore", "numpy", "datasketch", "zstandard", "msgspec")
PATHS = ("data", "results", "work", "folder", "peers", "log")  # arguments that say where things are on this machine
FACT_FILE = Path("/proc/cpuinfo")

Key = TypeVar("Key")


# ---- the machine


def cpu_model() -> str:
    """The processor's name, as precisely as the system says it."""
    if FACT_FILE.is_file():
        found = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", FACT_FILE.read_text(), re.MULTILINE))
        name = found.get("model name", platform.machine())
        family = (found.get("cpu family"), found.get("model"))
        return f"{name} (family {family[0]}, model {family[1]})" if all(family) else name
    return platform.processor() or platform.machine()


def compiler() -> str:
    """First line of what the C compiler says of itself."""
    command = (sysconfig.get_config_var("CC") or "cc").split()[0]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True, timeout=30)
        return done.stdout.splitlines()[0]
    return "unknown"


def package_versions() -> dict[str, str]:
    """Versions of the packages that the benchmarks use, where they are installed."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def machine() -> dict[str, Any]:
    """Everything that a figure depends on besides the code."""
    import ndcore

    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cpus": len(usable_cpus()),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": compiler(),
        "python_flags": [flag for flag in (sysconfig.get_config_var("CFLAGS") or "").split() if "/" not in flag],
        "packages": package_versions(),
        "variants": ndcore.variants(),
    }


def usable_cpus() -> list[int]:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


@contextlib.contextmanager
def pinned(cpus: int = 1) -> Iterator[None]:
    """Run the block on the last `cpus` CPUs (interrupts tend to be served by the first), where the system can pin."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, usable_cpus()[-cpus:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def peak_memory() -> int:
    """Most bytes of this process that were in memory at a time.

    From VmHWM where there is /proc: ru_maxrss is handed on by a parent through exec, VmHWM is not.
    """
    return _status("VmHWM") or _peak_of_usage()


def memory_now() -> int:
    """Bytes of this process that are in memory; the peak so far where the system does not say."""
    return _status("VmRSS") or _peak_of_usage()


def own_memory(process: int | str = "self") -> int:
    """Bytes of a process that are in memory now, mapped files not counted; 0 where the system does not say."""
    return _status("RssAnon", process) or 0


def memory_of_trees(roots: Mapping[str, int]) -> dict[str, int]:
    """Bytes of trees of processes, by the names of their roots; a page that processes share is divided among them."""
    children = defaultdict(list)
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children[int(path.read_text().rpartition(")")[2].split()[1])].append(int(path.parent.name))

    def tree(root: int) -> int:
        return _share(root) + sum(map(tree, children[root]))

    return {name: tree(root) for name, root in list(roots.items())}


class Watched:
    """The most that amounts of memory were at a time, looked at every so many seconds while a block runs."""

    def __init__(self, amounts: Callable[[], Mapping[str, int]], every: float = 0.02) -> None:
        self.amounts, self.every = amounts, every
        self.peak: Counter[str] = Counter()

    def __enter__(self) -> Watched:
        self._look()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(self.every):
            self._look()

    def _look(self) -> None:
        for name, amount in self.amounts().items():
            self.peak[name] = max(self.peak[name], amount)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def _status(field_name: str, process: int | str = "self") -> int | None:
    with contextlib.suppress(OSError):
        stated = re.search(rf"{field_name}:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
        if stated:
            return int(stated[1]) * 1024
    return None


def _share(process: int) -> int:
    with contextlib.suppress(OSError):
        stated = re.search(r"^Pss:\s*(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
        return 1024 * int(stated[1]) if stated else 0
    return 0


def _peak_of_usage() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# ---- other processes


def in_own_process(function: Callable[..., Any], *arguments: Any, **environment: str) -> Any:
    """Call a function in a process of its own, which has these environment variables besides; return what it returns."""
    with patch.dict(os.environ, environment), ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


class Ended(RuntimeError):
    """A process that was to answer is no longer there."""


class Worker:
    """A process that answers requests, each a line of JSON, as `peers/worker.py` does."""

    def __init__(self, command: Sequence[str], **given: Any) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **given)

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request; RuntimeError where it is an error, Ended where there is none."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            print(json.dumps(request), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except OSError as error:
            raise Ended(str(error)) from None
        if not line:
            raise Ended("the process ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=30)
        self.process.kill()
        self.process.wait()


# ---- time


@dataclass(frozen=True)
class Times:
    """Seconds of the repeats of one case."""

    seconds: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def spread(self) -> float:
        """Interquartile range as a part of the median."""
        if len(self.seconds) < 2:
            return 0.0
        quarters = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (quarters[2] - quarters[0]) / self.median

    def ratio_to(self, other: Times) -> float:
        """How many times as long the other case takes: the median of the ratios of repeats that ran side by side."""
        return statistics.median(b / a for a, b in zip(self.seconds, other.seconds, strict=True))


def interleaved(cases: Mapping[Key, Callable[[], Any]], repeats: int, warm_up: int = 1) -> dict[Key, Times]:
    """Run all cases `repeats` times in turns (A B C A B C …), so that a slow spell of the machine meets all alike."""
    for _ in range(warm_up):
        for run in cases.values():
            run()
    seconds: dict[Key, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, run in cases.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: Times(taken) for name, taken in seconds.items()}


def loops(run: Callable[[], Any], least: float) -> Callable[[], None]:
    """`run` repeated in a loop that takes about `least` seconds; `.count` of the result says how often."""
    start = time.perf_counter()
    run()
    count = max(1, int(least / max(1e-7, time.perf_counter() - start)))

    def repeated() -> None:
        for _ in range(count):
            run()

    repeated.count = count  # type: ignore[attr-defined]
    return repeated


# ---- the report


@dataclass
class Table:
    """Rows under columns; `name` is the marker that report.py looks for."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[Any]] = field(default_factory=list)

    def add(self, *row: Any) -> None:
        """One more row."""
        assert len(row) == len(self.columns), (row, self.columns)
        self.rows.append(list(row))


def shown(value: Any) -> str:
    """A cell as text: three significant digits for fractions, thousands apart for large integers."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or (value == int(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def printed(table: Table) -> str:
    """The table in columns, for a terminal."""
    cells = [table.columns, *([shown(value) for value in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([f"\n{table.title}", text[0], "-" * len(text[0]), *text[1:]])


def say(what: object) -> None:
    """Tell on standard error how far a run is."""
    print(what, file=sys.stderr, flush=True)


def without_paths(text: str) -> str:
    """A message without the places of this machine."""
    return re.sub(r"(?<![\w.])/[^\s'\"]+", "…", text)


class Report:
    """What one run of a benchmark found."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.name = name
        self.arguments = {key: value for key, value in vars(arguments).items() if key not in PATHS}
        self.folder = Path(arguments.results)
        self.machine = machine()
        self.inputs: list[dict[str, object]] = []
        self.tables: list[Table] = []
        self.details: dict[str, Any] = {}
        self.failures: list[str] = []
        self.require(not os.environ.get("NDCORE_VARIANT"), "NDCORE_VARIANT is set: the best variants would not be measured")

    def require(self, holds: bool, message: str) -> None:
        """A condition without which the figures mean nothing; the run ends with exit code 1 where it fails."""
        if not holds:
            self.failures.append(message)
            say(f"FAILED: {message}")

    def table(self, name: str, title: str, columns: list[str]) -> Table:
        """A new table of this report."""
        self.tables.append(Table(name, title, columns))
        return self.tables[-1]

    def finish(self) -> int:
        """Print the tables, write the file, return the exit code."""
        for table in self.tables:
            print(printed(table))
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = self.machine["date"].replace(":", "").replace("-", "")[:15]
        cpu = re.sub(r"[^A-Za-z0-9]+", "-", self.machine["cpu"]).strip("-").lower()
        path = self.folder / f"{stamp}_{cpu}_{self.name}.json"
        content = {
            "name": self.name, "arguments": self.arguments, "machine": self.machine, "inputs": self.inputs,
            "failures": self.failures, "tables": [vars(table) for table in self.tables], "details": self.details,
        }
        path.write_text(json.dumps(content, indent=1, default=float) + "\n")
        print(f"\n{self.machine['cpu']}; {self.machine['compiler']}; written to {path.name}")
        for failure in self.failures:
            print(f"FAILED: {failure}", file=sys.stderr)
        return 1 if self.failures else 0


# ---- a benchmark as a program


class Option(NamedTuple):
    """An option of a benchmark. Its type is that of its default, False is a flag, and a list takes several values.

    quick: the value with --quick, where that is another. kind: the type where the default is None.
    """

    default: Any
    help: str
    quick: Any = None
    choices: Iterable[str] | None = None
    kind: type = str

    def add(self, parser: argparse.ArgumentParser, name: str) -> None:
        """Add it to the options of a program."""
        if self.default is False:
            parser.add_argument(f"--{name}", action="store_true", help=self.help)
            return
        several = isinstance(self.default, list)
        given = self.default if several else [] if self.default is None else [self.default]
        parser.add_argument(
            f"--{name}", default=self.default, choices=self.choices, metavar=name.upper(), nargs="+" if several else None,
            type=type(given[0]) if given else self.kind,
            help=f"{self.help} (default {', '.join(map(str, given))})" if given else self.help)


WORK = Option(None, "folder for files (default: the temporary folder)")
COMMON = {
    "warm_up": Option(1, "runs before those that are timed"),
    "quick": Option(False, "small inputs, few repeats: only to see that it works"),
    "results": Option(str(RESULTS), "folder where to write"),
}


def program(name: str, ask: Callable[[Report, argparse.Namespace], None], text: str | None, repeats: int = 1,
            **more: Option) -> NoReturn:
    """Run a benchmark as a program: read its options, let it ask, finish the report, and exit.

    Options besides those of all benchmarks are `more`; a name has _ for -. The namespace that `ask` gets also has `folder`,
    a temporary folder, which is in --work if there is such an option.
    """
    options = {"repeats": Option(repeats, "timed runs of every case", min(repeats, 2)), **COMMON, **more}
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for key, option in options.items():
        option.add(parser, key.replace("_", "-"))
    given = parser.parse_args()
    for key, option in options.items() if given.quick else ():
        if option.quick is not None and getattr(given, key) == option.default:
            setattr(given, key, option.quick)
    with tempfile.TemporaryDirectory(dir=getattr(given, "work", None)) as folder:
        given.folder = Path(folder)
        report = Report(name, given)
        ask(report, given)
    sys.exit(report.finish())
