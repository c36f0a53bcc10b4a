"""README.md and docs/: every block of code runs as printed, beside the files that it names; every link leads somewhere."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import forked
import pytest

import ndcore as nd
from ndcore.cli.main import main

ROOT = Path(__file__).parents[2]

sys.path.insert(0, str(ROOT / "tools"))
from pages import PRINTED, make_environment, read_blocks, run_shell  # noqa: E402

sys.path.pop(0)

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = ROOT / "examples" / "README.md"
WITH_LINKS = [*PAGES, EXAMPLES, ROOT / "CONTRIBUTING.md", ROOT / "DESIGN.md", ROOT / "SECURITY.md"]
LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
LONGEST_README = 900  # words
RUN_BY_CI = {"<!-- command: try -->", "<!-- command: test -->"}  # .ci/run reads these two from the page
NOT_RUN = {  # commands in blocks of text, and why they are not in blocks of sh, which are run
    "pip": "installs from a network", "uvx": "installs from a network", "pypi-attestations": "asks a network",
    "chromium": "a browser", "curl": "asks a server on a port that others may use",
    "ndcore serve": "runs until it is stopped", "ndcore store move": "asks servers",
    "ndcore store join": "asks servers", "ndcore judge": "asks a person",
    "ndcore dedup documents.jsonl -o clean --settings": "needs the answers of a person",
    "PYSPARK_PYTHON=./env/bin/python spark-submit": "needs a cluster",
    "python -m ndcore.spark": "needs Java", "ndcore store carry": "needs a table that Spark made",
}
SAMPLE_BYTES = 60_000
ASKING = {"service", "shards"}  # pages whose Python and Java ask a server: tests/serve/test_service_page.py and so on


@pytest.fixture(scope="module")
def made_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the examples, as in a checkout, and the programs that the pages show."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for page in PAGES:
        for block in read_blocks(page):
            if block.language in ("c", "cython"):  # the first line names the file
                (folder / re.findall(r"\w+\.\w+", block.text)[0]).write_text(block.text)
    return folder


@pytest.fixture
def files(made_files: Path, tmp_path: Path) -> Path:
    """Copy these files: every page begins anew."""
    return Path(shutil.copytree(made_files, tmp_path / "files"))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Start what stands in for Python: most blocks take less time than its start and imports."""
    with forked.start(str(tmp_path_factory.mktemp("python"))) as command:
        yield command


@pytest.mark.slow
def test_what_stands_in_for_python(python: list[str], tmp_path: Path) -> None:
    """Words, streams, pipes, folder, environment, exit status and a signal are the command's, as with Python itself."""
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    script = r"""
        printf 'one\ntwo\n' | PYTHON -c 'import sys; print(sys.argv, __name__, *sys.stdin)' a 'b  c' '' | tr a-z A-Z
        mkdir folder && cd folder
        VALUE=ü PYTHON -c 'import os, sys; print(os.getcwd(), os.environ["VALUE"], sys.path[0])' > file; cat file
        PYTHON -c 'import sys; print("here"); print("there", file=sys.stderr); sys.exit(3)' || echo $?
        PYTHON -c 'import sys; sys.exit("why")' || echo $?
        { PYTHON -c 'import os; os.kill(os.getpid(), 9)'; } 2> /dev/null || echo $?
        echo 'import sys; print(__name__, sys.argv, sys.path[0])' > module.py; PYTHON -m module a
        PYTHON -m ndcore --version | cat; PYTHON -c '1 / 0' 2>&1 | tail -n 1"""
    runs = []
    for command in (shlex.join(python), sys.executable):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            words = ["bash", "-uc", script.replace("PYTHON", command)]
            done = subprocess.run(words, cwd=folder, env=make_environment(), capture_output=True, text=True, check=True)
            runs.append([text.replace(folder, "") for text in (done.stdout, done.stderr)])
    assert runs[0] == runs[1] and runs[0][0].startswith("['-C', 'A', 'B  C', ''] __MAIN__ ONE\n TWO\n")


RUNNER = """
import doctest, json, sys
names = {"__name__": "__main__"}
for language, place, text in json.load(sys.stdin):
    if language == "python":
        exec(compile(text, place, "exec"), names)
    else:
        session = doctest.DocTestParser().get_doctest(text, names, place, None, 0)
        session.globs = names
        if doctest.DocTestRunner(verbose=False).run(session, clear_globs=False).failed:
            sys.exit(1)
"""


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in ASKING], ids=lambda page: page.stem)
def test_python_runs_in_order_and_prints_what_is_shown(page: Path, files: Path, python: list[str]) -> None:
    """Run blocks of python, and compare what blocks of pycon print; the blocks of a page share their names."""
    for module, extra in (("matplotlib", "plot"), ("Stemmer", "stem"), ("polars", "test"), ("pandas", "test")):
        pytest.importorskip(module, reason=f"the extra {extra} is not installed")
    parts = [(block.language, f"{page.name}:{block.line}", block.text) for block in read_blocks(page)
             if block.language in ("python", "pycon")]
    done = subprocess.run(
        [*python, "-c", RUNNER], input=json.dumps(parts), cwd=files, env=make_environment(), capture_output=True, text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_shell_blocks_run_in_order_and_print_what_is_shown(page: Path, files: Path, python: list[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("no bash")
    if page.stem == "embedding" and not (shutil.which("cc") and shutil.which("make")):
        pytest.skip("no C compiler or no make")
    if page.stem == "choosing-a-filter":
        pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    for module, extra in (("zstandard", "cli"), ("pyarrow", "parquet"), ("resiliparse", "web")):
        pytest.importorskip(module, reason=f"the extra {extra} is not installed")
    printed = ""
    for block in read_blocks(page):
        if block.language == "sh" and block.before not in RUN_BY_CI:
            done = run_shell(block.text, files, python)
            assert done.returncode == 0, f"{page.name}:{block.line}: {done.stderr}"
            printed = done.stdout
        elif block.before == PRINTED:
            assert printed == block.text, f"{page.name}:{block.line}"


def test_every_block_has_a_language_that_is_run_or_shown() -> None:
    """Accept known languages: blocks of c and cython are files for the blocks of sh, blocks of text show an output."""
    known = {"python", "pycon", "sh", "c", "cython", "text", "json"}
    for page in PAGES:
        assert {block.language for block in read_blocks(page)} <= known | ({"java"} if page.stem in ASKING else set())


def test_commands_that_are_not_run_have_a_reason() -> None:
    """Every command is in a block of sh, which is run, or begins as one that is listed with its reason."""
    lines = [line.strip() for page in PAGES for block in read_blocks(page) if block.language == "text"
             for line in block.text.replace("\\\n", " ").splitlines()]
    begins = re.compile(rf"(?:{'|'.join(map(re.escape, NOT_RUN))}|ndcore|python|pipx|cat|cp|mv|mkdir|gzip) (?![|:=])")
    shown = [line for line in lines if begins.match(line)]
    for line in shown:
        assert any(line.startswith(f"{name} ") for name in NOT_RUN), f"not run, and no reason is given: {line}"
    told = {name for name in NOT_RUN if any(line.startswith(f"{name} ") for line in shown)}
    assert told == NOT_RUN.keys()


def test_the_sample_is_small_and_every_file_is_used() -> None:
    shell = "".join(block.text for page in PAGES for block in read_blocks(page) if block.language in ("sh", "text"))
    named = [ROOT / path for path in re.findall(r"examples/sample/[\w./*-]*", shell)]
    used = {file for path in named for place in ROOT.glob(str(path.relative_to(ROOT)))
            for file in ([place] if place.is_file() else place.rglob("*"))}
    files = {path for path in (ROOT / "examples" / "sample").rglob("*") if path.is_file()}
    assert all(any(ROOT.glob(str(path.relative_to(ROOT)))) for path in named)
    assert files <= used and sum(path.stat().st_size for path in files) < SAMPLE_BYTES


@pytest.mark.parametrize("page, command", [
    ("README.md", "dedup examples/notices.jsonl -o notices"),
    ("docs/comparing.md", "compare examples/sample/draft.txt examples/sample/final.txt --width 3"),
])
def test_what_commands_print(page: str, command: str, files: Path) -> None:
    text = (ROOT / page).read_text("utf-8")
    shown = text.split(f"`ndcore {command}` prints\n\n```text\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-m", "ndcore", *command.split()], cwd=files, env=make_environment(), capture_output=True,
        text=True, check=True,
    )
    assert done.stdout == shown


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """Return the commands that have an option, by option, as `--help` lists them."""
    found: dict[str, set[str]] = {}

    def help_of(*command: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*command, "--help"])
        return printed.getvalue()

    listed = re.compile(r"^    (\w+)  ", re.MULTILINE)
    for command in listed.findall(help_of()):
        parts = listed.findall(help_of(command)) if command in ("hamming", "store") else []
        for name in [(command, part) for part in parts] or [(command,)]:
            for option in re.findall(r"^  (?:-\w(?: \S+)?, )?(--[\w-]+)", help_of(*name), re.MULTILINE):
                found.setdefault(option, set()).add(" ".join(name))
    return found


def test_the_page_on_the_command_line_has_the_options_of_help(options: dict[str, set[str]]) -> None:
    text = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    told: dict[str, set[str]] = {}
    for names, commands in re.findall(r"^\| ((?:`-[^|]*)) \| ([^|]*) \|", text, re.MULTILINE):
        for option in re.findall(r"--[\w-]+", names):
            told.setdefault(option, set()).update(re.findall(r"`([^`]+)`", commands))
    assert told == {option: commands for option, commands in options.items() if option != "--help"}
    listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)
    assert set(re.findall(r"\w+", " ".join(listed))) == {name.split()[0] for name in options["--help"]}


def test_the_line_of_clusters(files: Path) -> None:
    lines = [block.text for block in read_blocks(ROOT / "docs" / "reading-results.md") if '"representative"' in block.text]
    command = [sys.executable, "-m", "ndcore", "dedup", "examples/notices.jsonl", "-o", "notices", "-q", "--overwrite"]
    for shown, options in zip(lines, ([], ["--drop", "contained", "--keep", "longest", "--lost"]), strict=True):
        subprocess.run([*command, *options], cwd=files, env=make_environment(), check=True)
        assert shown in (files / "notices" / "clusters.jsonl").read_text("utf-8")


# ---------------------------------------------------------------------------------------------- the pages as a whole


def test_the_page_on_installing_lists_the_extras() -> None:
    text = (ROOT / "docs" / "installing.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert sorted([*listed, "test", "bench", "lint", "docs"]) == sorted(declared)
    for page in [*PAGES, *(ROOT / "src" / "ndcore").rglob("*.py")]:
        for extras in re.findall(r"ndcore\[([a-z,]+)\]", page.read_text("utf-8")):
            assert set(extras.split(",")) <= set(declared), page.name


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").split()) <= LONGEST_README


def test_the_speed_in_the_text_is_the_one_in_the_table() -> None:
    text = README.read_text("utf-8")
    [told] = re.findall(r"at (\d+) MB/s", text)
    assert f"| ndcore | independent permutations | {told} |" in text


def test_the_finding_on_thresholds_is_the_one_in_the_table() -> None:
    """The sentence says nearly all for a precision of 97 % or more, half for a recall of 40 to 60 %."""
    text = README.read_text("utf-8")
    assert "At 0.8, the default, nearly all pairs found are right; half of the right ones are missed." in text
    [(precision, recall)] = re.findall(r"\| 0\.8 \| (\d+) % \| (\d+) % \|", text)
    assert int(precision) >= 97 and 40 <= int(recall) <= 60


def test_every_page_begins_with_what_it_is_for() -> None:
    wrong = []
    for page in PAGES:
        title, sentence = page.read_text("utf-8").split("\n\n")[:2]
        if not title.startswith("# "):
            wrong.append(f"{page.relative_to(ROOT)}:1: {title!r} is not a title")
        if page != README and not sentence.startswith("This page "):
            wrong.append(f"{page.relative_to(ROOT)}:3: {sentence!r} does not say what the page is for")
    assert not wrong, "\n".join(wrong)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[tuple[str, Path, str, int]]:
    """Return the relative links of a page: as written, the file, the anchor, and the line."""
    code = r"^ *```.*?^ *```|`[^`\n]*`"
    text = re.sub(code, lambda match: "\n" * match[0].count("\n"), page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for match in LINK.finditer(text):
        link = match[1]
        if "://" not in link:
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor, text.count("\n", 0, match.start()) + 1


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in WITH_LINKS:
        for link, target, anchor, line in links(page):
            where = f"{page.relative_to(ROOT)}:{line}: {link}"
            if not (target.exists() and target.is_relative_to(ROOT)):
                wrong.append(f"{where}: there is no such file")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{where}: {target.name} has {sorted(anchors(target))}")
    assert not wrong, "\n".join(wrong)


def test_names_of_the_package_exist() -> None:
    """Find `nd.NAME` in pages and examples, in text and in code."""
    wrong = [f"{page.relative_to(ROOT)}: nd.{name}" for page in [*WITH_LINKS, *ROOT.glob("examples/*.py")]
             for name in re.findall(r"\bnd\.(?!h\b)(\w+)", page.read_text("utf-8"))  # nd.h is a file
             if not hasattr(nd, name)]
    assert not wrong, "\n".join(wrong)


def test_every_page_can_be_reached() -> None:
    reached, waiting = {README}, [README]
    while waiting:
        for _, target, *_ in links(waiting.pop()):
            if target.suffix == ".md" and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert set(PAGES) <= reached


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    assert set(PAGES) - {README, index} <= {target for _, target, *_ in links(index)}


def test_the_list_of_examples_is_complete() -> None:
    listed = {EXAMPLES.parent / target.relative_to(EXAMPLES.parent).parts[0] for _, target, *_ in links(EXAMPLES)
              if target.is_relative_to(EXAMPLES.parent)}
    folders = {path for path in EXAMPLES.parent.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert listed == {path for path in EXAMPLES.parent.iterdir() if path.suffix in (".py", ".jsonl")} | folders


def test_every_citation_has_its_reference() -> None:
    """Find "Name 2000", "Name and Name (2000)" and "Name, Name, Name 2000" in the sources and pages."""
    name = r"[A-Z](?=[^\W\d_]*[a-zß-ÿ])[^\W\d_]*+"  # not the capitals of a venue, as STOC 2002
    cited = re.compile(rf"\b({name})(?:(?:, | and |, and ){name})*(?: et al\.)?,? \(?((?:19|20)\d\d)\b(?!-)")
    references = (ROOT / "docs" / "references.md").read_text("utf-8").split("\n- ")
    sources = [path for ending in ("*.py", "*.pyx", "*.h", "core/*.c") for path in (ROOT / "src" / "ndcore").rglob(ending)]
    for path in [*sources, *ROOT.glob("examples/*.py"), *PAGES, ROOT / "DESIGN.md"]:
        text = re.sub(r"\s*\n[ #*/]*", " ", path.read_text("utf-8"))
        for author, year in cited.findall(text) if path.name != "benchmarks.md" else ():
            if author == "May":  # the month of an example
                continue
            assert any(author in entry and year in entry for entry in references), f"{path.name} cites {author} {year}"
        for identifier in re.findall(r"doi:(10\.[^\s)\]>\"',;]*\w)", text):
            assert any(identifier.lower() in entry.lower() for entry in references), f"{path.name} cites {identifier}"


def test_pictures_are_small() -> None:
    assert all(picture.stat().st_size < 150_000 for picture in (ROOT / "docs").glob("*.png"))
