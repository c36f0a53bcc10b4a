"""What the tests share: variants of kernels, golden vectors, published data, a reproducible hypothesis.

A module of tests that has ``KERNEL = "minhash"`` runs every test that takes `variant` once per form of that kernel;
without KERNEL, once per form of every kernel. A form that cannot run on this CPU is a visible skip.
"""

from __future__ import annotations

import collections
import functools
import gc
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import unsynced  # noqa: F401  # calls that wait for the disk return at once
from hypothesis import HealthCheck, settings

from ndcore import kernels
from ndcore.parallel import thread_count
from ndcore.reference import shingling
from ndcore.reference import text as reference_text

settings.register_profile(
    "ndcore",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("ndcore")

VECTORS = Path(__file__).parent / "vectors"
SPARK = "tests/spark/"
MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # bytes, ten times what the tests leave

# No test needs a disk (`unsynced`), and a file in memory is replaced or removed in a third of the time.
# Where programs may not run from memory, tests that make one would fail.
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def remember(module: ModuleType, name: str) -> None:
    """Cache the last results of a pure function of the reference that returns a list of what a document has."""
    function = getattr(module, name)
    find = functools.lru_cache(1 << 13, typed=True)(lambda *given, **options: tuple(function(*given, **options)))

    @functools.wraps(function)
    def list_again(document: Any, *given: Any, **options: Any) -> Any:
        plain = all(isinstance(value, Hashable) for value in (document, *given, *options.values()))
        if not plain or not isinstance(document, str | bytes) or len(document) > 1 << 12:
            return function(document, *given, **options)
        return list(find(document, *given, **options))  # a list of its own for each caller

    setattr(module, name, list_again)


# Brute force reads every document again in each call. In plain Python this takes most of the time of many tests.
remember(reference_text, "tokens")
remember(shingling, "fingerprints")
shingling.symbol = functools.lru_cache(1 << 16)(shingling.symbol)


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = "0"  # a test that kills its process fails; it is not tried again and again


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Take a process more than there are CPUs: a tenth of their time they wait for what they started."""
    return thread_count(None) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the collected order with ``--dist loadfile``, and all tests of Spark on one worker, since Spark starts slowly."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LongestFirst(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SPARK if nodeid.startswith(SPARK) else str(super()._split_scope(nodeid))

    config.option.loadscopereorder = False  # by the number of tests
    return LongestFirst(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest tests first where several processes share the tests, so that the processes end together."""
    if not hasattr(config, "workerinput"):
        return
    costs = collections.Counter[str]()
    for item in items:
        file = item.nodeid.partition("::")[0]
        costs[file] += 1 if item.get_closest_marker("slow") is None else 50
    items.sort(key=lambda item: (not item.nodeid.startswith(SPARK), -costs[item.nodeid.partition("::")[0]]))


def pytest_collection_finish() -> None:
    """Let the collector of garbage leave out what was imported and collected: each walk over it takes 0.2 seconds."""
    gc.collect()
    gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "variant" in metafunc.fixturenames:
        kernel = getattr(metafunc.module, "KERNEL", None)
        forms = [
            (stem, name)
            for stem, each in kernels.KERNELS.items()
            if kernel in (None, stem)
            for name in each.variants()
        ]
        assert forms, f"no kernel is called {kernel!r}"
        metafunc.parametrize("variant", forms, indirect=True, ids=[f"{stem}={name}" for stem, name in forms])


@pytest.fixture
def variant(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Yield (kernel, form), and run that form of the kernel during the test."""
    stem, name = request.param
    if not kernels.KERNELS[stem].variants()[name]:
        pytest.skip(f"this CPU cannot run {stem}={name}")
    with kernels.using(**{stem: name}):
        assert kernels.KERNELS[stem].chosen() == name
        yield stem, name


@functools.cache
def _vectors(stem: str) -> Any:
    return json.loads((VECTORS / f"{stem}.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def vectors() -> Callable[[str], Any]:
    """vectors("rabin") is the content of vectors/rabin.json, which the reference wrote."""
    return _vectors


@pytest.fixture(scope="session")
def published() -> Callable[[str], Any]:
    """published("crc_catalogue.json") is a file of vectors by others, in the folder that NDCORE_DATA names."""

    def load(name: str) -> Any:
        folder = os.environ.get("NDCORE_DATA")
        if not folder:
            pytest.skip(f"NDCORE_DATA is not set: {name} is not available")
        path = Path(folder) / "vectors" / name
        if not path.exists():
            pytest.skip(f"NDCORE_DATA has no vectors/{name}")
        return json.loads(path.read_text("utf-8"))

    return load


def _short(values: Iterable[int]) -> Any:
    listed = [int(value) for value in values]
    joined = b"".join(value.to_bytes(8, "big") for value in listed)
    return {
        "count": len(listed),
        "first": hex(listed[0]) if listed else None,
        "last": hex(listed[-1]) if listed else None,
        "sha256": hashlib.sha256(joined).hexdigest(),
    }


@pytest.fixture(scope="session")
def same_as() -> Callable[[Iterable[int], Any], None]:
    """same_as(values, stored): assert that values are those of a vector, given as a list or as count and SHA-256."""

    def check(values: Iterable[int], stored: Any) -> None:
        if isinstance(stored, dict):
            assert _short(values) == stored
        else:
            assert [hex(int(value)) for value in values] == stored

    return check
