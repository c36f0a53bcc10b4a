"""Refuse a release whose values, formats or interface changed without a word; build and check the sdist. Uploads nothing.

    python tools/release.py VERSION [--date YYYY-MM-DD] [--output FOLDER]

The last release is the newest tag ``vX.Y.Z`` that this commit descends from. What must hold:

- The tree is clean, and VERSION follows the last release as its changes demand. Other golden values need a new major
  version. So does a public line that was removed or changed, and a format's number that was dropped; before 1.0 they need a
  new minor version. A line that was added needs a new minor version, before 1.0 any. docs/versions.md has the promise.
- Golden values (tests/vectors) and fixtures (tests/fixtures) hold what they held.
- CHANGELOG.md has a section ``## VERSION (date)`` that names, in backticks, every public name or option that changed; other
  golden values are under "Results changed", new numbers of formats under "Formats".
- Version and date are the same in `_version.py`, CHANGELOG.md, CITATION.cff, SECURITY.md, the conda recipe, ndcore.h and
  ndcore.pc.
- The generated files are what their tools write, and the sdist holds every file of the commit that belongs in it.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
VECTORS, FIXTURES, INTERFACE = "tests/vectors", "tests/fixtures", "tests/package/interface.txt"
ANSWERS = f"{FIXTURES}/answers.json"
CHECKS = ("vectors.py", "fixtures.py", "interface.py")
STATED = {  # file: what its version, and its date, must look like
    "src/ndcore/_version.py": (r'^__version__ = "(.+)"$', None),
    "CITATION.cff": (r'^version: "?([^"\n]+)"?$', r'^date-released: "?([^"\n]+)"?$'),
    "SECURITY.md": (r"^Read through for ndcore (\S+),", r"^Read through for ndcore \S+, (\S+)\.$"),
    "packaging/conda/recipe.yaml": (r'^  version: "(.+)"$', None),
    "src/ndcore/core/ndcore.h": (r'^#define ND_VERSION_STRING "(.+)"$', None),
    "src/ndcore/core/ndcore.pc": (r"^Version: (.+)$", None),
}
NOT_IN_SDIST = ("bench/results/", ".ci/", ".github/", ".gitignore", "packaging/")
PATCH, MINOR, MAJOR = range(3)


class Version(NamedTuple):
    """A version X.Y.Z."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse X.Y.Z. ValueError for anything else."""
        match = re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", text)
        if not match:
            raise ValueError(f"{text!r} is not a version; give three numbers, as 0.2.0")
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return ".".join(map(str, self))

    def following(self) -> list[Version]:
        """Return the versions that may come next: of a patch, minor and major release."""
        return [Version(self.major, self.minor, self.patch + 1), Version(self.major, self.minor + 1, 0),
                Version(self.major + 1, 0, 0)]


class Release(NamedTuple):
    """A release that is asked for, and the one before."""

    root: Path
    version: Version
    date: str
    last: Version | None

    @property
    def breaking(self) -> int:
        """The level that a break of the interface demands. Before 1.0 a minor version may."""
        return MAJOR if self.last and self.last.major else MINOR

    @property
    def adding(self) -> int:
        """The level that an addition demands."""
        return MINOR if self.last and self.last.major else PATCH

    def git(self, *arguments: str) -> str:
        """Run git and return what it prints."""
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def before(self, path: str) -> str | None:
        """Return a file of the last release; None where it had none."""
        if self.last is None or not self.git("ls-tree", "--name-only", f"v{self.last}", "--", path):
            return None
        return self.git("show", f"v{self.last}:{path}")

    def changed(self, folder: str) -> list[tuple[str, str]]:
        """Return (M, D or A, path) of the files of a folder that differ from the last release."""
        if self.last is None:
            return []
        listed = self.git("diff", "--name-status", "--no-renames", f"v{self.last}", "HEAD", "--", folder).splitlines()
        return [(line.split("\t")[0], line.split("\t")[1]) for line in listed]

    def section(self, heading: str | None = None) -> str:
        """Return the section of this version in CHANGELOG.md, or what is in it below a heading."""
        text = (self.root / "CHANGELOG.md").read_text(encoding="utf-8")
        found = re.search(rf"^## {re.escape(str(self.version))} \([^)]*\)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        below = found[1] if found else ""
        if heading is None:
            return below
        part = re.search(rf"^### {heading}\n(.*?)(?=^### |\Z)", below, re.M | re.S)
        return part[1] if part else ""


def asked_for(root: Path, version: str, date: str) -> Release:
    """Find the last release of the repository at `root`."""
    tags = Release(root, Version.parse(version), date, None).git("tag", "--merged", "HEAD", "--list", "v*").split()
    found = [Version.parse(tag[1:]) for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]
    return Release(root, Version.parse(version), date, max(found, default=None))


# ---- what changed, each as (least level of the version, what is wrong or None)


Finding = tuple[int, str | None]


def values_changed(release: Release) -> Iterator[Finding]:
    """Compare golden values: what the last release had must be there, unchanged."""
    noted = release.section("Results changed")
    for _, path in [change for change in release.changed(VECTORS) if change[0] != "A"]:
        now = release.root / path
        lost = "it is gone" if not now.exists() else first_loss(
            json.loads(release.before(path) or ""), json.loads(now.read_text(encoding="utf-8")), "")
        if lost:
            name = Path(path).stem
            yield MAJOR, None if f"`{name}`" in noted else (
                f"{path}: a golden value changed: {lost}; restore it, or say so under 'Results changed' with `{name}`")


def first_loss(old: Any, new: Any, place: str) -> str | None:
    """Find a value of `old` that is not in `new`; keys and elements may be added. Return it in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        losses = (first_loss(value, new[key], f"{place}/{key}") if key in new else f"{place}/{key} is gone"
                  for key, value in old.items())
        return next(filter(None, losses), None)
    if isinstance(old, list) and isinstance(new, list):
        if len(new) < len(old):
            return f"{place} has {len(new)} elements, not {len(old)}"
        pairs = enumerate(zip(old, new, strict=False))
        return next(filter(None, (first_loss(a, b, f"{place}/{i}") for i, (a, b) in pairs)), None)
    return None if old == new else f"{place} is {str(new)[:40]}, not {str(old)[:40]}"


def formats_changed(release: Release) -> Iterator[Finding]:
    """Compare fixtures: none may change, a number is dropped as a whole, and new numbers are announced."""
    noted, changes = release.section("Formats"), release.changed(FIXTURES)
    for how, path in changes:
        gone = not (release.root / FIXTURES / path.split("/")[2]).exists()
        if path == ANSWERS:
            lost = "it is gone" if gone else first_loss(
                json.loads(release.before(path) or "{}"), json.loads((release.root / path).read_text(encoding="utf-8")), "")
            if lost:
                yield MAJOR, f"{path}: an answer changed: {lost}; restore it"
        elif how != "A" and not gone:
            yield MAJOR, f"{path}: a fixture changed or is gone; restore it: another format gets another number"
    if release.last is None:
        return
    listed = release.git("ls-tree", "-d", "--name-only", f"v{release.last}", "--", f"{FIXTURES}/").split()
    before = {path.rpartition("/")[2] for path in listed}
    now = {path.name for path in (release.root / FIXTURES).iterdir() if path.is_dir()}
    for name in sorted(before ^ now):
        level = release.breaking if name in before else release.adding
        yield level, None if f"`{name}`" in noted else f"{FIXTURES}/{name}: say under 'Formats' what became of `{name}`"


def interface_changed(release: Release) -> Iterator[Finding]:
    """Compare the public lines: each that was removed, changed or added is named in the changelog."""
    old = release.before(INTERFACE)
    if old is None:
        return
    now, section = (release.root / INTERFACE).read_text(encoding="utf-8"), release.section()
    removed, added = set(old.splitlines()) - set(now.splitlines()), set(now.splitlines()) - set(old.splitlines())
    for line in sorted(removed):
        yield release.breaking, None if is_named(subject(line), section) else (
            f"interface: {line!r} changed or is gone; restore it, or name `{subject(line)}` in the changelog")
    owners = {subject(line) for line in added} - {subject(line) for line in old.splitlines()}
    for line in sorted(added):
        name = subject(line)
        new_owner = any(owner != name and name.startswith(f"{owner}.") for owner in owners)  # a new class has its methods
        if name not in map(subject, removed) and not new_owner:
            yield release.adding, None if is_named(name, section) else (
                f"interface: {line!r} is new; name `{name}` in the changelog")


def subject(line: str) -> str:
    """Return the name that a line of the interface is about: ``cluster``, ``Store.decide``, ``dedup --threshold``."""
    if not line.startswith("$ ndcore "):
        return re.split(r"[(: =]", line.removeprefix("async "))[0].removeprefix("ndcore.")
    words = line.removeprefix("$ ndcore ").split(" ")
    first = next(i for i, word in enumerate(words) if not re.fullmatch("[a-z]+", word))
    return " ".join([*words[:first], max(words[first].split("/"), key=len)])


def is_named(name: str, section: str) -> bool:
    """Tell whether a section names something in backticks, alone, with its owner, or with what follows it."""
    quoted = re.findall(r"`([^`]+)`", section)
    wanted = [name, f"ndcore.{name}", f"ndcore {name}"] + ([name.rpartition(" ")[2]] if "--" in name else [])
    return any(re.match(rf"{re.escape(each)}(?![\w-])", text) for each in wanted for text in quoted)


# ---- what must hold


def problems(release: Release) -> list[str]:
    """List everything that speaks against a release."""
    changes = [*values_changed(release), *formats_changed(release), *interface_changed(release)]
    level = max((least for least, _ in changes), default=PATCH)
    return [*tree_problems(release), *stated_problems(release), *(problem for _, problem in changes if problem),
            *version_problems(release, level)]


def tree_problems(release: Release) -> Iterator[str]:
    if release.git("status", "--porcelain"):
        yield "the tree is not clean: commit or remove what `git status` lists"
    if release.git("tag", "--list", f"v{release.version}"):
        yield f"the tag v{release.version} exists"


def stated_problems(release: Release) -> Iterator[str]:
    """Compare the versions and dates that files state."""
    changelog = (release.root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (\S+) \((.*)\)$", changelog, re.M)
    if not headings or headings[0] != (str(release.version), release.date):
        yield f"CHANGELOG.md begins with {headings[:1]}, not with '## {release.version} ({release.date})'"
    for path, patterns in STATED.items():
        text = (release.root / path).read_text(encoding="utf-8")
        for pattern, wanted in zip(patterns, (str(release.version), release.date), strict=True):
            stated = re.findall(pattern, text, re.M) if pattern else [wanted]
            if stated != [wanted]:
                yield f"{path} states {stated or 'nothing'} where {wanted} is wanted"


def version_problems(release: Release, level: int) -> Iterator[str]:
    """Compare the version with the level that the changes demand."""
    if release.last is None:
        return
    following = release.last.following()
    if release.version not in following:
        yield f"{release.version} does not follow {release.last}; give one of {', '.join(map(str, following))}"
    elif following.index(release.version) < level:
        yield f"{release.version} is too small a step for these changes; give {following[level]} or more"


def check_problems(root: Path) -> Iterator[str]:
    """Run the tools that compare generated files."""
    for name in CHECKS:
        command = [sys.executable, str(root / "tools" / name), "--check"]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(root / "src")})
        if done.returncode:
            yield f"tools/{name} --check: {(done.stderr or done.stdout).strip()}"


# ---- the sdist


def build_sdist(release: Release, output: Path) -> Path:
    """Build the sdist of the commit, from an export of it, and return its path."""
    output.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", str(release.root), "archive", "HEAD"], check=True, capture_output=True).stdout
    seconds = release.git("log", "-1", "--format=%ct").strip()
    script = "from setuptools import build_meta; import sys; print(build_meta.build_sdist(sys.argv[1]))"
    with tempfile.TemporaryDirectory() as export:
        subprocess.run(["tar", "-x", "-C", export], input=archive, check=True)
        done = subprocess.run([sys.executable, "-c", script, str(output.resolve())], cwd=export, capture_output=True,
                              text=True, env={**os.environ, "SOURCE_DATE_EPOCH": seconds})
    if done.returncode:
        raise RuntimeError(f"the sdist was not built: {done.stderr[-2000:]}")
    return output / done.stdout.split()[-1]


def sdist_problems(release: Release, sdist: Path) -> Iterator[str]:
    """Compare the files of an sdist with those of the commit."""
    with tarfile.open(sdist) as file:
        names = {member.name.partition("/")[2] for member in file.getmembers() if member.isfile()}
        info = file.extractfile(next(member for member in file.getmembers() if member.name.count("/") == 1
                                     and member.name.endswith("/PKG-INFO")))
        stated = re.findall(r"^Version: (.+)$", info.read().decode() if info else "", re.M)
    if stated != [str(release.version)]:
        yield f"{sdist.name} states the version {stated}"
    wanted = {path for path in release.git("ls-files").splitlines() if not path.startswith(NOT_IN_SDIST)}
    yield from (f"{sdist.name} lacks {path}" for path in sorted(wanted - names))
    built = re.compile(r"\.(so|pyd|o|pyc)$|(^|/)src/ndcore/_\w+\.c$")
    yield from (f"{sdist.name} holds the built file {name}" for name in sorted(names) if built.search(name))


NEXT = """
{sdist} is good, sha256 {digest}. Nothing was uploaded. Next:
  1. git tag -s v{version} -m 'ndcore {version}' && git push origin v{version}
  2. .github/workflows/wheels.yml builds and tests the wheels of the tag, and publishes once they pass.
  3. When the sdist is on PyPI: put this sha256 into packaging/conda/recipe.yaml, and the recipe into the feedstock."""


def main(given: list[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("version")
    options.add_argument("--date", default=dt.date.today().isoformat(), help="of the release; default: today")
    options.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the sdist; default: dist")
    found = options.parse_args(given)
    release = asked_for(ROOT, found.version, found.date)
    wrong = [*problems(release), *check_problems(ROOT)]
    if not wrong:
        sdist = build_sdist(release, found.output)
        wrong = list(sdist_problems(release, sdist))
        with tempfile.TemporaryDirectory() as again:
            if build_sdist(release, Path(again)).read_bytes() != sdist.read_bytes():
                wrong.append(f"{sdist.name}: a second build has other bytes")
    for line in wrong:
        print(f"refused: {line}", file=sys.stderr)
    if wrong:
        return 1
    print(f"compared with {release.last or 'nothing: this is the first release'}")
    print(NEXT.format(sdist=sdist, digest=hashlib.sha256(sdist.read_bytes()).hexdigest(), version=release.version))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
