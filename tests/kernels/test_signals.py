"""Ctrl-C: work that would take minutes ends within seconds of SIGINT, in the main thread and in the threads of a pool."""

import contextlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
from functools import partial

import numpy as np
import pytest

import ndcore as nd
from ndcore import _hamming
from ndcore._signals import Stop, stoppable
from ndcore.hamming import row_pairs
from ndcore.parallel import behind, beside, map_pieces, read_ahead

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a single process here")

BOUND = 15  # seconds; what is interrupted takes a minute or more by itself
START = """
    import signal, threading, numpy as np, ndcore as nd
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background of a shell has not
    text = "some words that go on and on " * 3_000_000
    values = np.arange(20_000_000, dtype=np.uint64)
    crowd = np.random.default_rng(1).integers(0, 1 << 44, 1 << 20, dtype=np.uint64) << np.uint64(20)
    print("running", flush=True)
"""


def interrupted(command: list[str], after: float = 0.5) -> tuple[int, str]:
    """(exit code, standard error) of a process that gets SIGINT so many seconds after it printed a line."""
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **piped) as process:
        try:
            assert process.stdout.readline() == "running\n"
            time.sleep(after)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=BOUND)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running {BOUND} seconds after SIGINT")
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    return process.returncode, error


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "nd.random_irreducible(30_000, 1)",
        "nd.is_irreducible((1 << 65_000) + 0b11011)",
        "nd.MinHasher(16384).sketch_hashes(values, [0, len(values)])",
        "nd.MinHasher(16384).sketch_many([text], threads=1)",
        "nd.MinHasher(16384).sketch_many([text, text], threads=2)",
        "nd.MinHasher(16384, shingling=nd.Shingling(labelled=True)).sketch_many([text], threads=1)",
        "nd.BottomSketcher(100).sketch_many([text] * 500, threads=2)",
        "nd.hamming_pairs(crowd, threads=1)",
        "nd.hamming_pairs(crowd, threads=2)",
        "nd.HammingIndex(crowd).query_many(crowd, threads=2)",
        "nd.hamming_join(crowd, crowd, threads=1)",
        "nd.near_duplicates([text + str(i) for i in range(300)], threads=2)",
    ],
)
def test_keyboard_interrupt_ends_the_process(call):
    code, error = interrupted([sys.executable, "-c", textwrap.dedent(START) + call])
    assert code == -signal.SIGINT
    assert error.splitlines()[-1] == "KeyboardInterrupt"


@pytest.mark.slow
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_command_ends_with_130(threads, tmp_path):
    crowd = np.random.default_rng(1).integers(0, 1 << 44, 1 << 20, dtype=np.uint64) << np.uint64(20)
    np.save(tmp_path / "crowd.npy", crowd)
    code = ("import signal, sys, ndcore.cli.main, ndcore.hamming.all_pairs\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler); "
            "print('running', flush=True); sys.exit(ndcore.cli.main.main())")
    command = ["hamming", "pairs", str(tmp_path / "crowd.npy"), "--threads", threads, "-q"]
    code, error = interrupted([sys.executable, "-c", code, *command], 3)
    assert (code, error.split(";")[0]) == (130, "ndcore: interrupted")


# ------------------------------------------------------------------------------------------------------ threads of a pool


def crowded(n: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 1 << 60, n, dtype=np.uint64)


def never(started: threading.Event, ended: list[str]):
    """Work that looks at a million keys a million times, without leaving the kernel."""

    def work(_):
        keys = crowded(1 << 20)
        started.set()
        try:
            _hamming.near_counts(keys, keys, 3)
        except KeyboardInterrupt:
            ended.append("interrupted")

    return work


def test_threads_end_when_the_caller_leaves():
    started, ended = threading.Event(), []
    results = map_pieces(lambda i: i if i == 0 else never(started, ended)(i), range(2), 2)
    assert next(results) == 0
    assert started.wait(60)
    results.close()  # as an exception in the loop that reads it does; waits for the threads
    assert ended == ["interrupted"]


def test_threads_end_when_another_one_fails():
    started, ended = threading.Event(), []

    def work(i):
        if i == 0:
            started.wait(60)
            raise ValueError("the first")
        never(started, ended)(i)

    with pytest.raises(ValueError, match="the first"):
        list(map_pieces(work, range(9), 2))
    assert set(ended) == {"interrupted"}


@pytest.mark.parametrize("threads", [1, 2])
def test_items_come_in_order_and_an_error_after_them(threads):
    caller, made = threading.current_thread(), []

    def numbers():
        for i in range(10_000):
            made.append((i, threading.current_thread()))
            yield i
        raise ValueError("ten thousand")

    taken = []
    with pytest.raises(ValueError, match="ten thousand"):
        for i in read_ahead(numbers(), lambda i: i % 100 == 0, threads):
            taken.append(i)
    assert taken == list(range(10_000))
    assert {thread is caller for _, thread in made} == {threads == 1}
    assert list(read_ahead([], bool, threads)) == []


def test_no_items_are_made_any_more_when_the_caller_leaves():
    made = 0

    def numbers():
        nonlocal made
        while True:
            made += 1
            yield made

    for i in read_ahead(numbers(), lambda i: True, 2):
        if i == 5:
            break
    before = made
    time.sleep(0.05)
    assert made == before <= 5 + 2


@pytest.mark.parametrize("threads", [1, 2])
def test_work_beside_a_block(threads):
    caller, done = threading.current_thread(), []
    with beside(lambda: done.append(threading.current_thread()), threads):
        pass
    assert [thread is caller for thread in done] == [threads == 1]
    with pytest.raises(ZeroDivisionError), beside(lambda: 1 / 0, threads):
        pass


def test_work_beside_a_block_stops_when_the_block_fails():
    started = threading.Event()

    def work():
        for _ in stoppable(iter(int, 1)):
            started.set()

    with pytest.raises(OSError, match="full"), beside(work, 2):
        started.wait(BOUND)
        raise OSError("full")


@pytest.mark.parametrize("threads", [1, 2])
def test_work_behind_a_block_is_done_in_turn(threads):
    caller, done = threading.current_thread(), []
    with behind(threads) as call:
        for i in range(3):
            call(lambda i=i: done.append((i, threading.current_thread() is caller)))
    assert done == [(i, threads == 1) for i in range(3)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("more", [0, 1])
def test_an_error_of_work_behind_a_block_is_raised(threads, more):
    done = []
    with pytest.raises(ZeroDivisionError), behind(threads) as call:
        call(lambda: 1 / 0)
        for _ in range(more):
            call(lambda: done.append(1))
    assert not done


def test_a_block_does_not_wait_for_work_behind_it():
    going, waited = threading.Event(), []
    with behind(2) as call:
        call(lambda: waited.append(going.wait(BOUND)))
        assert not waited
        going.set()
    assert waited == [True]


def test_a_pool_within_a_pool_ends_with_it():
    started, ended = threading.Event(), []

    def outer(i):
        if i == 0:
            started.wait(60)
            raise ValueError("the outer")
        with contextlib.suppress(KeyboardInterrupt):
            list(map_pieces(never(started, ended), range(2), 2))

    with pytest.raises(ValueError, match="the outer"):
        list(map_pieces(outer, range(2), 2))
    assert set(ended) == {"interrupted"}


TEXTS = [f"{'x' * 4000} document {i}" for i in range(1000)]  # at least four pieces
CALLABLES = {
    "unit": lambda f: nd.MinHasher(4, shingling=nd.Shingling(unit=lambda text: f(text).split())).sketch_many,
    "weights": lambda f: nd.SimHasher(weights=lambda words: len(f(words[-1]))).sketch_many,
    "must_agree": lambda f: partial(nd.near_duplicates, must_agree=f),
}


@pytest.mark.parametrize("name", CALLABLES)
def test_callables_are_not_called_any_more_when_the_first_piece_fails(name):
    begun, calls = threading.Event(), []

    def function(text):
        calls.append(text)
        if text.split()[-1] == "0":  # of the first piece, whose result is waited for
            assert begun.wait(60)  # the other thread works on another piece
            raise ValueError("the first")
        begun.set()
        time.sleep(0.005)
        return text

    with pytest.raises(ValueError, match="the first"):
        CALLABLES[name](function)(TEXTS, threads=2)
    assert len(calls) < 20  # of 60 or more in the other piece


def test_a_stop_holds_for_its_own_calls_only():
    stop = Stop()
    assert stop.run(len, "abc") == 3
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        stop.run(len, "abc")
    assert Stop().run(len, "abc") == 3
    inner = Stop()
    items = inner.run(stoppable, iter(range(9)))
    assert inner.run(next, items) == 0
    inner.set()
    with pytest.raises(KeyboardInterrupt):
        Stop.run(inner, next, items)
    assert list(stoppable(iter(range(3)))) == [0, 1, 2]  # outside a pool
    keys = crowded(1 << 17)
    assert _hamming.near_counts(keys, keys[:3], 0).tolist() == [1, 1, 1]  # this thread goes on


# ------------------------------------------------------------------------------------------------------ too many pairs


@pytest.mark.parametrize("first", [0, (1 << 32) - (1 << 19)], ids=["twenty bits", "across a carry"])
def test_too_many_pairs_are_foreseen(first):
    """All of them would be compared for a minute before the limit of 2^28 is reached."""
    with pytest.raises(ValueError, match=r"more than 268435456 pairs .*, about [67]\.\de\+08 among 1048576"):
        nd.hamming_pairs(np.arange(first, first + (1 << 20), dtype=np.uint64))


def weights(values: np.ndarray) -> np.ndarray:
    return np.unpackbits(values.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1)


@pytest.mark.parametrize("bits", [11, 24, 64])
def test_large_runs_that_fit_are_found_exactly(bits, monkeypatch):
    """Whatever is estimated first: pairs are those of comparing all, and they are refused from one more on."""
    monkeypatch.setattr(row_pairs, "LARGE_RUN", 256)
    rng = np.random.default_rng(bits)
    values = np.unique(rng.integers(0, 1 << min(bits, 14), 2000, dtype=np.uint64)) << np.uint64(bits - min(bits, 14))
    x, y = np.triu_indices(len(values), 1)
    near = weights(values[x] ^ values[y]) <= 2
    expected = set(zip(x[near].tolist(), y[near].tolist(), strict=True))
    for threads in (1, 2):
        found = nd.hamming_pairs(values, max_distance=2, bits=bits, threads=threads)
        assert set(zip(found.a.tolist(), found.b.tolist(), strict=True)) == expected
        assert len(found.a) == len(expected)
    monkeypatch.setattr("ndcore.hamming.all_pairs.MAX_PAIRS", len(expected))
    assert len(nd.hamming_pairs(values, max_distance=2, bits=bits).a) == len(expected)
    monkeypatch.setattr("ndcore.hamming.all_pairs.MAX_PAIRS", len(expected) - 1)
    with pytest.raises(ValueError, match=f"more than {len(expected) - 1} pairs"):
        nd.hamming_pairs(values, max_distance=2, bits=bits)


def test_large_runs_are_the_keys_of_one_prefix(monkeypatch):
    monkeypatch.setattr(row_pairs, "LARGE_RUN", 64)
    sizes = [3, 64, 200, 63, 90, 1]
    keys = np.concatenate([np.arange(size, dtype=np.uint64) + np.uint64(i << 20) for i, size in enumerate(sizes)])
    assert [(int(run[0]) >> 20, len(run)) for run in row_pairs._yield_large_runs(keys, 20)] == [(1, 64), (2, 200), (4, 90)]
    assert [len(run) for run in row_pairs._yield_large_runs(keys, 64)] == [sum(sizes)]
    last = np.arange(100, dtype=np.uint64) + np.uint64((1 << 64) - 100)
    assert [len(run) for run in row_pairs._yield_large_runs(last, 20)] == [100]


def test_neighbours_are_counted():
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 1 << 20, 70_000, dtype=np.uint64)
    queries = rng.integers(0, 1 << 20, 20, dtype=np.uint64)
    expected = [(weights(keys ^ query) <= 5).sum() for query in queries]
    assert _hamming.near_counts(keys, queries, 5).tolist() == expected
    assert _hamming.near_counts(keys[:0], queries, 5).tolist() == [0] * 20
    assert _hamming.near_counts(keys, queries[:0], 5).tolist() == []

