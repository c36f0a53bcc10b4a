"""Progress: what is reported where."""

import builtins
import importlib.util
import io
import sys
from types import SimpleNamespace

import pytest
from clocks import clock_with

import ndcore as nd
from ndcore import progress
from ndcore.progress import Bytes, by_position, reporting, resolve


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream, modules={}))  # pytest replaces sys.stderr itself
    return stream


@pytest.fixture
def without_rich(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "rich" else real(name, *rest))


@pytest.fixture
def clock(monkeypatch):
    """Time that the test moves."""
    now = [100.0]
    monkeypatch.setattr(progress, "time", clock_with(monotonic=lambda: now[0]))
    return now


@pytest.mark.parametrize("choice", [None, False])
def test_silence(choice, capsys):
    report = resolve(choice)
    report("sketch", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_callable_is_used_as_it_is():
    calls = []

    def report(*call):
        calls.append(call)

    assert resolve(report) is report
    with reporting(report) as given:
        given("sketch", 1, None)
    assert calls == [("sketch", 1, None)]


def test_true_is_silent_where_there_is_no_terminal(monkeypatch, capsys):
    resolve(True)("sketch", 1, 2)
    assert capsys.readouterr() == ("", "")
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed, io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        resolve(True)("sketch", 1, 2)


def test_a_line_without_rich(terminal, without_rich, clock):
    report = resolve(True)
    report("sketch", 0, 2000)
    clock[0] += 0.05
    report("sketch", 500, 2000)  # too soon to be drawn
    clock[0] += 0.2
    report("sketch", 1000, 2000)
    report("sketch", 2000, 2000)
    assert terminal.getvalue().split("\r") == [
        "", "sketch: 0 of 2,000 (0%)", "sketch: 1,000 of 2,000 (50%)", "sketch: 2,000 of 2,000 (100%)\n"]


def test_a_stage_of_unknown_length_ends_with_the_next(terminal, without_rich, clock):
    report = resolve(True)
    report("read", 1, None)
    report("read", 7, None)
    report("verify", 1, 1)
    assert terminal.getvalue() == "\rread: 1\rread: 7\n\rverify: 1 of 1 (100%)\n"


def test_a_shorter_line_covers_the_longer(terminal, without_rich, clock):
    report = resolve(True)
    report("read", 1000, 2000)
    clock[0] += 1
    report("read", 5, None)
    assert terminal.getvalue().endswith("\r" + "read: 5".ljust(len("read: 1,000 of 2,000 (50%)")))


def test_an_empty_stage(terminal, without_rich):
    resolve(True)("read", 0, 0)
    assert terminal.getvalue() == "\rread: 0\n"


def test_reporting_ends_the_bar_on_an_exception(terminal, without_rich):
    with pytest.raises(RuntimeError), reporting(True) as report:
        report("read", 1, 3)
        report("read", 2, 3)
        raise RuntimeError
    assert terminal.getvalue() == "\rread: 1 of 3 (33%)\rread: 2 of 3 (67%)\n"


def test_with_rich(terminal, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm")
    with reporting(True) as report:
        report("read [red]", 3, None)
        report("sketch", 1, 2)
        report("sketch", 2, 2)
    text = terminal.getvalue()
    assert "read [red]" in text and "sketch" in text and "2 of 2 (100%)" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")  # the cursor is shown again


def test_rich_is_imported_only_for_a_terminal(monkeypatch, capsys):
    real = builtins.__import__

    def no_rich(name, *rest):
        assert not name.startswith("rich")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_rich)
    for choice in (None, False, True, print):
        resolve(choice)


@pytest.mark.parametrize("wrong", [3, "yes", 1, 0, []])
def test_anything_else_is_refused(wrong):
    with pytest.raises(TypeError, match=r"progress is True, False, None or a callable of \(stage, done, total\), not"):
        resolve(wrong)


@pytest.mark.parametrize(("done", "total", "seconds", "told"), [
    (5, None, 0.5, "5"),
    (5, None, 9.0, "5"),
    (5, 20, 0.5, "5 of 20 (25%)"),
    (5, 20, 2.0, "5 of 20 (25%), 0:06 left"),
    (20, 20, 2.0, "20 of 20 (100%)"),
    (0, 20, 2.0, "0 of 20 (0%)"),
    (1000, 10_000_000, 9.0, "1,000 of 10,000,000 (0%), 24 h 59 min left"),
    (Bytes(30_000_000), Bytes(120_000_000), 0.1, "30.0 MB of 120.0 MB (25%)"),
    (Bytes(30_000_000), Bytes(120_000_000), 2.0, "30.0 MB of 120.0 MB (25%), 15 MB/s, 0:06 left"),
    (Bytes(120_000_000), Bytes(120_000_000), 2.0, "120.0 MB of 120.0 MB (100%), 60 MB/s"),
    (Bytes(0), Bytes(0), 2.0, "0 bytes"),
])
def test_what_is_told(done, total, seconds, told):
    assert progress._describe_progress(done, total, seconds) == told


def test_bytes_of_the_stage_that_reads(terminal, without_rich, clock):
    """Other stages are told as they are; a stage whose files have been read is not done yet."""
    places = iter([None, (10, 40), (40, 40), (40, 40)])
    with reporting(True) as bar:
        report = by_position(bar, "sketching", lambda: next(places))
        for done in (7, 8, 9, 10):
            clock[0] += 2
            report("sketching", done, None)
        report("pairing", 1, 2)
    first, second, _ = terminal.getvalue().split("\n")
    drawn = [line.rstrip() for line in first.split("\r")[1:]]
    assert drawn[:2] == ["sketching: 7", "sketching: 10 bytes of 40 bytes (25%), 5e-06 MB/s, 0:06 left"]
    assert drawn[-1].startswith("sketching: 40 bytes of 40 bytes (100%), ")
    assert second == "\rpairing: 1 of 2 (50%)"


def test_a_callable_gets_bytes_as_numbers():
    calls = []
    report = by_position(lambda *call: calls.append(call), "sketching", lambda: (3, 9))
    report("sketching", 1, None)
    report("sketching", 1, 5)
    report("writing", 1, None)
    assert calls == [("sketching", 3, 9), ("sketching", 1, 5), ("writing", 1, None)]
    assert by_position(resolve(None), "sketching", lambda: 1 / 0) is resolve(None)  # nobody asks where nobody listens


class Display:
    """What a notebook shows below a cell: an entry for each display, which updates replace."""

    def __init__(self):
        self.shown, self.draws = [], 0

    def __call__(self, bar, *, display_id):
        assert display_id is True
        self.shown.append(bar)
        self.draws += 1
        return SimpleNamespace(update=self._updater(len(self.shown) - 1))

    def _updater(self, place):
        def update(bar):
            self.shown[place] = bar
            self.draws += 1

        return update


@pytest.fixture
def notebook(monkeypatch):
    """Run in a kernel of IPython, whose standard error is not a terminal."""
    display = Display()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    display.shell = shell
    return display


def test_a_bar_in_a_notebook(notebook, clock):
    with reporting(True) as report:
        report("reading <b>", 0, None)
        report("reading <b>", 5, None)
        report("pairing", 0, 4)
        clock[0] += 0.2
        report("pairing", 2, 4)
        clock[0] += 0.01
        report("pairing", 3, 4)  # too soon to be drawn
        drawn = notebook.draws
        report("pairing", 4, 4)
    assert (drawn, notebook.draws) == (4, 5)  # a display for each stage
    assert [repr(bar) for bar in notebook.shown] == ["reading <b>: 5", "pairing: 4 of 4 (100%)"]
    assert [bar._repr_html_() for bar in notebook.shown] == [
        "<div>reading &lt;b&gt;: 5</div>",
        '<div><progress value="4" max="4"></progress> pairing: 4 of 4 (100%)</div>']


def test_a_job_shows_its_progress_in_a_notebook(notebook):
    nd.MinHasher(4).sketch_many(["a", "b", "c"], progress=True)
    assert [repr(bar) for bar in notebook.shown] == ["sketching: 3 of 3 (100%)"]


def test_ipython_in_a_terminal_has_no_display(notebook, capsys):
    notebook.shell.kernel = None
    resolve(True)("sketch", 1, 2)
    assert notebook.shown == [] and capsys.readouterr() == ("", "")
