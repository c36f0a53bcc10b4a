"""`ndcore bench` in its smallest form: it checks, it prints a figure for everything it names, and it refuses nonsense."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ndcore as nd
from ndcore.cli import bench
from ndcore.cli.main import main


def test_prints_a_figure_for_every_sketch_and_variant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0", "--threads", "2"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^sketch +1 thread +portable +2 threads +scaling$", printed, re.MULTILINE), printed
    for name in bench.sketchers():
        assert re.search(rf"^{name} +\d+ +\d+ +\d+ +\d\.\d\d×$", printed, re.MULTILINE), (name, printed)
    for stem, states in nd.variants().items():
        for name, state in states.items() if len(states) > 1 else ():
            figure = "–" if state == "not on this CPU" else r"\d+"
            assert re.search(rf"^{stem} +{name} +{figure}", printed, re.MULTILINE), (stem, name, printed)


def test_one_thread_has_no_scaling(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0", "--threads", "1"]) == 0
    assert "scaling" not in capsys.readouterr().out


def test_chosen_variants_are_put_back() -> None:
    before = nd.variants()
    assert main(["bench", "--seconds", "0"]) == 0
    assert nd.variants() == before


def test_wrong_sketches_are_not_timed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(*arguments: Any) -> list[int]:
        return [1]

    monkeypatch.setattr(bench, "reference", wrong)
    assert main(["bench", "--seconds", "0"]) == 1
    printed = capsys.readouterr()
    assert "differ from ndcore.reference" in printed.err
    assert "scaling" not in printed.out


@pytest.mark.parametrize("seconds", ["-1", "soon", "nan", "1e9"])
def test_nonsense_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", f"--seconds={seconds}"])
    assert stopped.value.code == 2
    assert "; give a number of seconds from 0 to 3600" in capsys.readouterr().err


@pytest.mark.parametrize("letters", [bench.LATIN, bench.CYRILLIC])
def test_generated_text_has_about_the_size(letters: tuple[int, int]) -> None:
    texts = bench.generate(letters, 300_000)
    assert 200_000 < sum(len(text.encode()) for text in texts) < 400_000
    assert texts == bench.generate(letters, 300_000)
