"""The release script, on a throw-away repository: what it compares, what it demands, what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import ndcore as nd

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
tool = pytest.importorskip("release", reason="tools is not beside the tests")
sys.path.pop(0)

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

DATE = "2027-02-03"
INTERFACE = """ndcore.MinHasher(num_perm: int=84)
ndcore.MinHasher.sketch(text: Text) -> Sketches
ndcore.load(path: AnyPath) -> Sketches
$ ndcore dedup -o/--output DIR required
$ ndcore dedup --threshold T = 0.8
"""
FILES = {
    "CHANGELOG.md": "# Changelog\n\n## 0.1.0 (2027-01-01)\n\n### Added\n\n- Everything.\n",
    "src/ndcore/_version.py": '__version__ = "0.1.0"\n',
    "CITATION.cff": "version: 0.1.0\ndate-released: 2027-01-01\n",
    "SECURITY.md": "Read through for ndcore 0.1.0, 2027-01-01.\n",
    "packaging/conda/recipe.yaml": 'context:\n  version: "0.1.0"\n',
    "src/ndcore/core/ndcore.h": '#define ND_VERSION_STRING "0.1.0"\n',
    "src/ndcore/core/ndcore.pc": "Version: 0.1.0\n",
    "tests/vectors/rabin.json": json.dumps({"cases": [{"in": "a", "out": 1}, {"in": "b", "out": 2}]}),
    "tests/fixtures/answers.json": json.dumps({"texts": {"a": "text"}}),
    "tests/fixtures/sketches-0/minhash.nds": "bytes",
    "tests/package/interface.txt": INTERFACE,
}


class Repository:
    """A repository with a release 0.1.0, whose files a test changes before the next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "-q")
        self.write(FILES)
        self.commit()
        self.git("tag", "v0.1.0")

    def git(self, *arguments: str) -> None:
        names = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        away = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *arguments], cwd=self.path, check=True, env={**os.environ, **names, **away})

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def state(self, version: str, notes: str = "### Fixed\n\n- A thing.\n") -> None:
        """Write a version, the date and a section of the changelog everywhere, and commit."""
        old = FILES["CHANGELOG.md"].partition("\n## ")[2]
        self.write({
            "CHANGELOG.md": f"# Changelog\n\n## {version} ({DATE})\n\n{notes}\n## {old}",
            "src/ndcore/_version.py": f'__version__ = "{version}"\n',
            "CITATION.cff": f"version: {version}\ndate-released: {DATE}\n",
            "SECURITY.md": f"Read through for ndcore {version}, {DATE}.\n",
            "packaging/conda/recipe.yaml": f'context:\n  version: "{version}"\n',
            "src/ndcore/core/ndcore.h": f'#define ND_VERSION_STRING "{version}"\n',
            "src/ndcore/core/ndcore.pc": f"Version: {version}\n",
        })
        self.commit()

    def problems(self, version: str) -> list[str]:
        return tool.problems(tool.asked_for(self.path, version, DATE))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_release_without_changes_is_good(repository):
    repository.state("0.1.1")
    assert repository.problems("0.1.1") == []
    assert tool.asked_for(repository.path, "0.1.1", DATE).last == (0, 1, 0)


def test_the_first_release_has_nothing_to_compare_with(repository):
    repository.git("tag", "-d", "v0.1.0")
    repository.state("0.1.0")
    assert repository.problems("0.1.0") == []


def test_the_tree_is_clean_and_the_tag_is_new(repository):
    repository.state("0.1.1")
    (repository.path / "left over").touch()
    repository.git("tag", "v0.1.1", "HEAD~1")
    found = repository.problems("0.1.1")
    assert any("not clean" in line for line in found) and any("tag v0.1.1 exists" in line for line in found)


@pytest.mark.parametrize("version", ["0.1", "v0.2.0", "0.2.0rc1", "00.1.0", ""])
def test_versions_are_three_numbers(repository, version):
    with pytest.raises(ValueError, match="is not a version"):
        repository.problems(version)


@pytest.mark.parametrize("version", ["0.1.2", "0.3.0", "0.2.1", "2.0.0", "0.0.9"])
def test_a_version_follows_the_last(repository, version):
    repository.state(version)
    assert repository.problems(version) == [f"{version} does not follow 0.1.0; give one of 0.1.1, 0.2.0, 1.0.0"]


@pytest.mark.parametrize("file, text, message", [
    ("CHANGELOG.md", "# Changelog\n\n## 0.1.1 (unreleased)\n", "CHANGELOG.md begins with"),
    ("src/ndcore/_version.py", '__version__ = "0.1.0"\n', "_version.py states"),
    ("CITATION.cff", f"version: 0.1.0\ndate-released: {DATE}\n", "CITATION.cff states"),
    ("CITATION.cff", "version: 0.1.1\n", "CITATION.cff states nothing"),
    ("SECURITY.md", "Read through for ndcore 0.1.1, 2027-01-01.\n", "SECURITY.md states"),
    ("packaging/conda/recipe.yaml", 'context:\n  version: "0.1.0"\n', "recipe.yaml states"),
    ("src/ndcore/core/ndcore.h", '#define ND_VERSION_STRING "0.1.0"\n', "ndcore.h states"),
    ("src/ndcore/core/ndcore.pc", "Version: 0.1.0\n", "ndcore.pc states"),
])
def test_all_files_state_the_same(repository, file, text, message):
    repository.state("0.1.1")
    repository.write({file: text})
    repository.commit()
    [found] = repository.problems("0.1.1")
    assert message in found


def test_the_files_of_this_project_state_its_version():
    root = Path(tool.__file__).parents[1]
    found = {path: re.findall(version, (root / path).read_text("utf-8"), re.M)
             for path, (version, _) in tool.STATED.items() if (root / path).exists()}  # an sdist has no recipe
    assert len(found) >= 3 and set(map(tuple, found.values())) == {(nd.__version__,)}


# ---- values


VECTOR = "tests/vectors/rabin.json"
NOTED = "### Results changed\n\n- `rabin`: fingerprints of empty strings.\n"


@pytest.mark.parametrize("text", [
    json.dumps({"cases": [{"in": "a", "out": 1}, {"in": "b", "out": 3}]}),
    json.dumps({"cases": [{"in": "a", "out": 1}]}),
    json.dumps({"others": []}),
    None,
])
def test_golden_values_change_with_a_note_and_a_major_version_only(repository, text):
    if text is None:
        (repository.path / VECTOR).unlink()
    else:
        repository.write({VECTOR: text})
    repository.state("0.2.0")
    first, second = repository.problems("0.2.0")
    assert first.startswith(f"{VECTOR}: a golden value changed: ") and "'Results changed' with `rabin`" in first
    assert second == "0.2.0 is too small a step for these changes; give 1.0.0 or more"
    repository.state("1.0.0", NOTED)
    assert repository.problems("1.0.0") == []


def test_golden_values_may_be_added(repository):
    cases = [{"in": "a", "out": 1, "more": 0}, {"in": "b", "out": 2}, {"in": "c", "out": 3}]
    repository.write({VECTOR: json.dumps({"cases": cases, "new": 1}), "tests/vectors/new.json": "[]"})
    repository.state("0.1.1")
    assert repository.problems("0.1.1") == []


# ---- formats


def test_fixtures_are_kept_for_good(repository):
    repository.write({"tests/fixtures/sketches-0/minhash.nds": "other bytes"})
    repository.state("1.0.0", "### Formats\n\n- `sketches-0` changed.\n")
    [found] = repository.problems("1.0.0")
    assert "sketches-0/minhash.nds: a fixture changed or is gone; restore it" in found


def test_answers_may_be_added_and_not_changed(repository):
    repository.write({"tests/fixtures/answers.json": json.dumps({"texts": {"a": "text", "b": "more"}})})
    repository.state("0.1.1")
    assert repository.problems("0.1.1") == []
    repository.write({"tests/fixtures/answers.json": json.dumps({"texts": {"a": "another"}})})
    repository.state("1.0.0")
    [found] = repository.problems("1.0.0")
    assert "answers.json: an answer changed: /texts/a is another, not text" in found


def test_new_numbers_of_formats_are_announced(repository):
    repository.write({"tests/fixtures/sketches-1/minhash.nds": "x"})
    repository.state("0.1.1")
    assert repository.problems("0.1.1") == [
        "tests/fixtures/sketches-1: say under 'Formats' what became of `sketches-1`"]
    repository.state("0.1.1", "### Formats\n\n- `sketches-1`: smaller.\n")
    assert repository.problems("0.1.1") == []


def test_a_number_is_dropped_with_a_larger_step(repository):
    shutil.rmtree(repository.path / "tests/fixtures/sketches-0")
    repository.write({"tests/fixtures/sketches-1/minhash.nds": "x"})
    notes = "### Formats\n\n- `sketches-1`: smaller. `sketches-0` is not read any more.\n"
    repository.state("0.1.1", notes)
    assert repository.problems("0.1.1") == ["0.1.1 is too small a step for these changes; give 0.2.0 or more"]
    repository.state("0.2.0", notes)
    assert repository.problems("0.2.0") == []


# ---- the interface


def interface(repository: Repository, old: str, new: str) -> None:
    assert old in INTERFACE
    repository.write({"tests/package/interface.txt": INTERFACE.replace(old, new)})


@pytest.mark.parametrize("old, new, name", [
    ("num_perm: int=84", "num_perm: int=128", "MinHasher"),
    ("ndcore.load(path: AnyPath) -> Sketches\n", "", "load"),
    ("ndcore.MinHasher.sketch(text: Text)", "ndcore.MinHasher.sketch(page: Text)", "MinHasher.sketch"),
    ("--threshold T = 0.8", "--threshold T = 0.9", "dedup --threshold"),
    ("-o/--output DIR required", "-o/--out DIR required", "dedup --output"),
])
def test_a_changed_line_is_named_and_takes_a_step(repository, old, new, name):
    interface(repository, old, new)
    repository.state("0.1.1")
    found = repository.problems("0.1.1")
    assert f"name `{name}` in the changelog" in found[0] and "give 0.2.0 or more" in found[-1]
    added = "- `dedup --out`: a new name.\n" if "--out " in new else ""
    repository.state("0.2.0", f"### Changed\n\n- `{name}`: otherwise.\n{added}")
    assert repository.problems("0.2.0") == []


def test_from_1_0_on_breaks_take_a_major_and_additions_a_minor_version(repository):
    repository.state("1.0.0")
    repository.git("tag", "v1.0.0")
    interface(repository, "$ ndcore dedup -o", "ndcore.new() -> int\n$ ndcore dedup -o")
    repository.state("1.0.1", "### Added\n\n- `new`.\n")
    assert repository.problems("1.0.1") == ["1.0.1 is too small a step for these changes; give 1.1.0 or more"]
    interface(repository, "ndcore.load(path: AnyPath) -> Sketches\n", "")
    repository.state("1.1.0", "### Removed\n\n- `ndcore.load(path)`.\n")
    assert repository.problems("1.1.0") == ["1.1.0 is too small a step for these changes; give 2.0.0 or more"]


def test_additions_are_named_once(repository):
    more = "ndcore.Store(path: AnyPath)\nndcore.Store.decide(key: Key) -> Verdict\n$ ndcore dedup -o"
    interface(repository, "$ ndcore dedup -o", more)
    repository.state("0.1.1")
    assert repository.problems("0.1.1") == [
        "interface: 'ndcore.Store(path: AnyPath)' is new; name `Store` in the changelog"]
    repository.state("0.1.1", "### Added\n\n- `Store`, which decides.\n")
    assert repository.problems("0.1.1") == []


@pytest.mark.parametrize("text, named", [
    ("`load`", True), ("`ndcore.load`", True), ("`load(path)`", True), ("load", False), ("`loaded`", False),
    ("`load-all`", False),
])
def test_names_stand_in_backticks(text, named):
    assert tool.is_named("load", text) is named


# ---- what is run


def test_tools_that_compare_are_run(tmp_path):
    (tmp_path / "tools").mkdir()
    for name in tool.CHECKS:
        code = "sys.exit('rabin.json differs')" if name == "vectors.py" else "assert sys.argv[1:] == ['--check']"
        (tmp_path / "tools" / name).write_text(f"import sys\n{code}\n")
    assert list(tool.check_problems(tmp_path)) == ["tools/vectors.py --check: rabin.json differs"]


def test_the_sdist_has_the_files_of_the_commit(repository, tmp_path):
    pytest.importorskip("setuptools")
    repository.write({
        "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
                          '[project]\nname = "ndcore"\nversion = "0.1.1"\n[tool.setuptools]\npackage-dir = { "" = "src" }\n',
        "MANIFEST.in": "graft src\ngraft tests\ninclude CHANGELOG.md CITATION.cff SECURITY.md\n",
        ".gitignore": "out/\n*.so\n", "src/ndcore/__init__.py": "", "src/ndcore/_x.so": "built",
        "tests/fixtures/mine.py": "",
    })
    repository.state("0.1.1")
    release = tool.asked_for(repository.path, "0.1.1", DATE)
    sdist = tool.build_sdist(release, repository.path / "out")
    assert list(tool.sdist_problems(release, sdist)) == []
    repository.write({"MANIFEST.in": "graft src\ngraft tests\nprune tests/fixtures\ninclude CHANGELOG.md CITATION.cff\n"})
    repository.commit()
    sdist = tool.build_sdist(release, repository.path / "out" / "again")
    assert [line.rpartition(" lacks ")[2] for line in tool.sdist_problems(release, sdist)] == [
        "SECURITY.md", "tests/fixtures/answers.json", "tests/fixtures/mine.py", "tests/fixtures/sketches-0/minhash.nds"]


def test_built_files_in_an_sdist_are_refused(repository, tmp_path):
    release = tool.asked_for(repository.path, "0.2.0", DATE)
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as file:
        for name in ("PKG-INFO", "src/ndcore/_x.c", "src/ndcore/core/x.c", "src/ndcore/_y.so"):
            (tmp_path / "file").write_text("Version: 0.1.0\n")
            file.add(tmp_path / "file", f"ndcore-0.2.0/{name}")
    found = list(tool.sdist_problems(release, tmp_path / "x.tar.gz"))
    assert "states the version ['0.1.0']" in found[0]
    assert [line for line in found if "built" in line] == [
        "x.tar.gz holds the built file src/ndcore/_x.c", "x.tar.gz holds the built file src/ndcore/_y.so"]
