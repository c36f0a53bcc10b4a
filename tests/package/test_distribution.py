"""What wheels and sdists promise: systems, SBOM, the same bytes; and the workflow that builds them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from ndcore import __version__
from ndcore._text import UNICODE_VERSION

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SYSTEMS = ["manylinux-x86_64", "musllinux-x86_64", "manylinux-aarch64", "musllinux-aarch64", "macos-arm64", "macos-x86_64",
           "windows-x86_64", "windows-arm64"]  # fmt: skip

pytest.importorskip("Cython", reason="tools/distribution.py builds with Cython")
pytest.importorskip("setuptools.command.bdist_wheel", reason="tools/distribution.py builds with setuptools 77")
sys.path.insert(0, str(ROOT / "tools"))
tool = pytest.importorskip("distribution", reason="tools is not beside the tests")
sys.path.pop(0)


def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def workflow(name):
    for path in WORKFLOWS:
        if path.name == name:
            return path.read_text("utf-8")
    pytest.skip("an sdist has no workflows")


@pytest.mark.parametrize(
    ("pointer", "order", "machine", "says"),
    [(4, "little", "i686", "32-bit and little-endian (i686)"), (8, "big", "s390x", "64-bit and big-endian (s390x)"),
     (4, "big", "mips", "32-bit and big-endian (mips)")])  # fmt: skip
def test_other_systems_are_refused_by_name(pointer, order, machine, says):
    message = tool.refusal(pointer, order, machine)
    assert says in message and "Install a 64-bit Python" in message


def test_64_bit_little_endian_systems_are_accepted():
    assert tool.refusal(8, "little", "x86_64") is None


def test_the_sbom_lists_what_is_compiled_in():
    bill = json.loads(tool.sbom_of_this())
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
    parts = {part["name"]: part for part in bill["components"]}
    assert sorted(parts) == ["Cython", "Unicode Character Database"]
    assert parts["Unicode Character Database"]["version"] == UNICODE_VERSION
    assert parts["Cython"]["version"] == importlib.metadata.version("cython")
    licences = {part["licenses"][0]["license"]["id"] for part in [*parts.values(), bill["metadata"]["component"]]}
    assert licences == set(settings()["project"]["license"].split(" AND "))
    references = {part["bom-ref"] for part in parts.values()}
    assert set(bill["dependencies"][0]["dependsOn"]) == references
    assert not {"serialNumber", "timestamp"} & {*bill, *bill["metadata"]}  # they would differ from build to build


def test_an_installed_wheel_has_its_sbom():
    try:
        files = importlib.metadata.files("ndcore") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("ndcore is not installed")
    sboms = [file for file in files if file.parent.name == "sboms"]
    if not any(file.name == "WHEEL" for file in files) or not any(file.name == "__init__.py" for file in files):
        pytest.skip("ndcore is installed from its sources in place")
    bill = json.loads(next(file for file in sboms if file.name == "ndcore.cdx.json").read_text())
    assert bill["metadata"]["component"]["purl"] == f"pkg:pypi/ndcore@{__version__}"


def test_a_wheel_has_the_headers_that_its_files_include():
    """Tables that only other C files include are in the sdist alone."""
    left_out = settings()["tool"]["setuptools"]["exclude-package-data"]["ndcore.core"]
    core = ROOT / "src/ndcore/core"
    assert left_out and all((core / name).is_file() for name in left_out)
    held = [path.read_text("utf-8") for path in core.glob("*.[ch]") if path.name not in left_out]
    held += [path.read_text("utf-8") for path in (ROOT / "src/ndcore").glob("*.pxd")]
    included = {Path(name).name for text in held for name in re.findall(r'(?:#\s*include|extern from) "([^"]+)"', text)}
    tables = {path.name for path in core.glob("*_tables.h")}
    assert tables - included == {name for name in left_out if name.endswith(".h")}


def test_an_sdist_has_the_same_bytes_from_every_folder(tmp_path, monkeypatch):
    from setuptools import Distribution

    made = []
    for folder, names, mode, date in [("first", "abc", 0o640, 1_000_000_000), ("other", "cba", 0o664, 1_700_000_000)]:
        monkeypatch.chdir((tmp_path / folder).mkdir() or tmp_path / folder)
        Path("ndcore-1").mkdir()
        for name in names:
            file = Path("ndcore-1", name)
            file.write_text(name)
            file.chmod(mode)
            os.utime(file, (date, date))
        command = tool.Sdist(Distribution({"name": "ndcore", "version": "1"}))
        made.append(Path(command.make_archive("dist/ndcore-1", "gztar", base_dir="ndcore-1")).read_bytes())
    assert made[0] == made[1]


def test_other_formats_of_sdists_are_refused():
    from setuptools import Distribution

    command = tool.Sdist(Distribution({"name": "ndcore", "version": "1"}))
    with pytest.raises(SystemExit, match="gztar, not 'zip'"):
        command.make_archive("ndcore-1", "zip", base_dir="ndcore-1")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_jobs_ask_for_little(path):
    text = path.read_text("utf-8")
    used = [line for line in re.findall(r"uses: (.+)", text) if not line.startswith("./")]
    assert used and [line for line in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line)] == []
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)
    granted = re.findall(r"^ {6}(\S+): (read|write)", text, re.MULTILINE)
    assert {grant for grant in granted if grant[1] == "write"} <= {("id-token", "write")}
    assert "secrets." not in text and text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_wheels_are_built_from_the_sdist_and_published_from_a_tag_only():
    text = workflow("wheels.yml")
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text[text.index("\njobs:") :], re.MULTILINE))
    assert list(jobs) == ["sdist", "wheels", "extras", "publish"]
    assert "needs: sdist" in jobs["wheels"] and "dist/*.tar.gz" in jobs["wheels"] and "checkout" not in jobs["wheels"]
    assert re.findall(r"- name: (\S+)\n +runner", jobs["wheels"]) == SYSTEMS
    assert "id-token" not in jobs["sdist"] + jobs["wheels"]
    publish = jobs["publish"]
    assert "github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')" in publish
    assert "needs: [sdist, wheels, extras]" in publish
    assert "environment: release" in publish and "attestations: true" in publish


def test_every_extra_is_tried_alone_nightly_and_before_a_release():
    text = workflow("extras.yml")
    (tried,) = re.findall(r"^ +extra: \[(.+)\]$", text, re.MULTILINE)
    extras = sorted({*settings()["project"]["optional-dependencies"]} - {"test", "bench", "lint", "docs"})
    assert tried.split(", ") == extras
    script = (ROOT / "tools" / "extras_check.sh").read_text("utf-8")
    assert re.findall(r"^all=\((.+)\)$", script, re.MULTILINE) == [" ".join(extras)]
    assert "schedule:" in text and "workflow_call:" in text
    assert "uses: ./.github/workflows/extras.yml" in workflow("wheels.yml")


def test_every_python_with_a_wheel_is_a_classifier_and_documented():
    project = settings()
    assert project["tool"]["cibuildwheel"]["build"] == ["cp31[1-5]-*", "cp31[45]t-*"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["project"]["classifiers"]))
    assert versions == ["3.11", "3.12", "3.13", "3.14", "3.15"]
    page = (ROOT / "docs" / "installing.md").read_text("utf-8")
    assert "CPython 3.11 to 3.15" in page and "3.14t and 3.15t" in page
    for system in SYSTEMS:
        assert f"| {system.replace('-', ', ', 1)} |" in page
