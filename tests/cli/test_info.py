"""``ndcore info``: the installation, and a file of sketches."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from commands import run

import ndcore as nd
from ndcore.checks import EXTRAS


def lines(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, str]:
    """Return the lines that the command prints, by their names."""
    assert run("info", *arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    width = max(line.index("  ", len(line) - len(line.lstrip())) for line in printed)
    return {line[:width].rstrip(): line[width:].strip() for line in printed}


def test_the_installation(capsys: pytest.CaptureFixture[str]) -> None:
    told = lines(capsys)
    assert told["ndcore"].startswith(f"{nd.__version__} (Python ")
    assert {f"kernel {name}" for name in nd.variants()} | set(EXTRAS) <= set(told)


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXTRAS, "no-such-package", "web")
    assert lines(capsys)["no-such-package"] == "not installed: pip install 'ndcore[web]'"


def test_a_file_of_sketches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sketches"
    nd.ModSketcher("adaptive").sketch_many(["a b", ""]).save(path)
    told = lines(capsys, path)
    assert (told["documents"], told["  kind"], told["  modulus"], told["  size"]) == ("2", "mod", "adaptive", "None")


def test_every_package_of_an_extra_is_listed() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages: dict[str, set[str]] = {}
    for extra in set(EXTRAS.values()):
        for requirement in extras[extra]:
            if not requirement.startswith("ndcore["):
                packages.setdefault(requirement.partition(">")[0], set()).add(extra)
    del packages["pandas"]  # to_pandas needs it alone, and not Spark, which needs it too
    assert set(packages) == set(EXTRAS)
    assert all(EXTRAS[package] in named for package, named in packages.items())  # zstandard is in two
