"""Completion in the shell: the script gives the commands, the options and the choices that there are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ndcore.cli.main import main

pytest.importorskip("shtab")


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_name_commands_and_options(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = script(shell, capsys)
    for name in ("dedup", "hamming", "join", "clustering", "max-distance", "containment"):
        assert name in made


@pytest.fixture
def completed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Return what bash offers for the last of some words."""
    if shutil.which("bash") is None:
        pytest.skip("no bash here")
    (tmp_path / "complete.bash").write_text(script("bash", capsys), encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text("")

    def offered(*words: str) -> set[str]:
        asked = " ".join(f"'{word}'" for word in ("ndcore", *words))
        lines = [
            "source complete.bash", f"COMP_WORDS=({asked}); COMP_CWORD={len(words)}; COMP_LINE=\"${{COMP_WORDS[*]}}\"",
            "COMP_POINT=${#COMP_LINE}", "\"$(complete -p ndcore | sed 's/.*-F \\([^ ]*\\).*/\\1/')\"",
            "printf '%s\\n' \"${COMPREPLY[@]}\"",
        ]
        done = subprocess.run(
            ["bash", "--norc", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return set(done.stdout.split())

    return offered


def test_bash_offers_what_there_is(completed) -> None:
    assert completed("ded") == {"dedup"}
    assert {"dedup", "cluster", "hamming", "completion"} <= completed("")
    assert completed("dedup", "--thr") == {"--threshold", "--threads"}
    assert "--threshold" not in completed("info", "--th")
    assert completed("hamming", "bu") == {"build"}
    assert "--max-distance" in completed("hamming", "pairs", "--max")


def test_bash_offers_choices_and_files(completed) -> None:
    assert completed("dedup", "--must-agree", "n") == {"numbers", "names", "negations"}
    assert completed("dedup", "--filter", "c") == {"complete"}
    assert completed("dedup", "--drop", "") == {"resembling", "contained"}
    assert completed("dedup", "--clustering", "") == {"star", "components", "greedy"}
    assert completed("dedup", "--html", "ma") == {"main"}
    assert "corpus.jsonl" in completed("dedup", "co")
    assert "corpus.jsonl" in completed("dedup", "corpus.jsonl", "--against", "co")


def test_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["completion", "bsh"])
    assert stop.value.code == 2
    assert "'bsh' is none of bash, zsh, fish; did you mean bash?" in capsys.readouterr().err
