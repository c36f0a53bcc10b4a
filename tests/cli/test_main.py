"""Standard streams that are full or closed, interrupted imports, and variants that cannot run: one line and an exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LINES = '{"text": "a b c d e f"}\n{"text": "x y z"}\n'
COMMANDS = ["--help", "dedup --help", "--version", "info", "dedup s.jsonl -o - -q", "dedup s.jsonl -o out"]


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "s.jsonl").write_text(LINES)
    command = f'"{sys.executable}" -m ndcore {line}'
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("where", "reason"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")])
@pytest.mark.parametrize("command", COMMANDS)
def test_what_standard_output_does_not_take_is_an_error(tmp_path, command, where, reason):
    done = shell(f"{command} {where}", tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, f"ndcore: standard output: {reason}")
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_other_closed_streams(tmp_path):
    quiet = shell("dedup s.jsonl -o out >&- -q", tmp_path)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    told = shell("dedup s.jsonl -o - 2>&-", tmp_path)
    assert (told.returncode, told.stdout) == (0, LINES)  # and not the report
    read = shell("dedup - -o - -q <&-", tmp_path)
    assert read.returncode == 1 and "-: cannot be read: Bad file descriptor" in read.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a single process here")
@pytest.mark.parametrize("module", ["ndcore.cli.main", "argparse", "ndcore.cli.parser", "ndcore.cli.dedup", "numpy"])
def test_an_interruption_during_an_import(module):
    program = f"""
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["ndcore", "dedup", "missing.jsonl", "-o", "out"]
for name in [*sys.modules]:
    if name.partition(".")[0] in ("argparse", "numpy", "ndcore"):
        del sys.modules[name]
runpy.run_module("ndcore", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "ndcore: interrupted; nothing was written\n")


@pytest.mark.parametrize("words", [["--version"], ["store", "create", "made"]])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("avx2", "NDCORE_VARIANT has 'avx2'; it takes \"portable\" or kernel=variant, separated by commas\n"),
        ("minhash=a\nb", "NDCORE_VARIANT: cannot run minhash=a\\nb: there is no such variant; here minhash has "),
    ],
)
def test_a_wrong_variant_is_one_line(tmp_path, words, value, message):
    script = tmp_path / "ndcore"  # as pip writes it
    script.write_text("import sys\nfrom ndcore.cli.entry import main\nsys.exit(main())\n")
    for begin in (["-m", "ndcore"], [str(script)]):
        done = subprocess.run([sys.executable, *begin, *words], env={**os.environ, "NDCORE_VARIANT": value}, cwd=tmp_path,
                              capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"ndcore: {message}") and [*tmp_path.iterdir()] == [script]
