"""The manners of the command line: help, suggestions, whole names, one name for one thing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcore.cli import commands
from ndcore.cli.main import main
from ndcore.cli.parser import Parser, commands_of, nearest, parser


def walked(top: Parser, *names: str) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Yield (words of the command, its parser), the program itself first."""
    yield names, top
    for name, below in commands_of(top).items():
        assert isinstance(below, Parser)
        yield from walked(below, *names, name)


ALL = dict(walked(parser()))
COMMANDS_OF_THE_HELP = {words.split()[0]: command.line for words, command in commands.COMMANDS.items()}
COMMANDS_OF_THE_HELP |= {word: line for word, (line, _) in commands.FAMILIES.items()}
COMMANDS = {names: below for names, below in ALL.items() if not commands_of(below)}


def failed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command whose arguments are at fault, and return what it writes to standard error."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


# ---- help


def test_the_tree_is_walked() -> None:
    assert {("dedup",), ("cluster",), ("hamming", "build"), ("hamming", "info")} <= set(COMMANDS)


@pytest.mark.parametrize("names", ALL, ids=" ".join)
def test_help_of_every_command(names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*names, "--help"])
    assert stop.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith(" ".join(["usage: ndcore", *names]))
    assert "Exit codes: 0 done; 1 an input or an output is at fault; 2 the command line" in told
    for action in ALL[names]._actions:
        assert action.help, f"{action.option_strings or action.dest} has no help"
        assert " ".join(action.help.split()) in told, f"{action.option_strings} is told otherwise than it is written"


def test_a_command_and_its_help_stand_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    told = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("    ")]
    listed = {words[0]: words[1] for words in told if len(words) == 2 and words[0] in COMMANDS_OF_THE_HELP}
    assert list(listed) == list(COMMANDS_OF_THE_HELP)
    assert all(COMMANDS_OF_THE_HELP[name].startswith(text) for name, text in listed.items())


@pytest.mark.parametrize("words", ["--version", "--help", "design --help", "hamming plan --help", "help dedup"])
def test_help_imports_no_command_and_no_numpy(words: str) -> None:
    code = (
        "import contextlib, sys; from ndcore.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(sys.argv[1:])\n"
        "print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split("MODULES")[1].split())
    runs = {f"ndcore.cli.{command.run.partition('.')[0]}" for command in commands.COMMANDS.values()}
    assert "ndcore.cli.main" in modules
    assert not modules & {*runs, "numpy", "ndcore.cli.inputs", *(["ndcore.cli.commands"] if words == "--version" else [])}


# ---- what is mistyped


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_no_abbreviations(names: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for option in [o for action in COMMANDS[names]._actions for o in action.option_strings if o.startswith("--")]:
        short = option[:-1]
        told = failed(capsys, *names, short)
        known = [o for o in COMMANDS[names]._option_string_actions if o.startswith(short)]
        meant = min(known) if len(short) > len("--i") else option  # of one letter the most similar is meant
        assert told.startswith(f"ndcore {' '.join(names)}: there is no option {short}; did you mean {meant}?\n")
        assert f"Help: ndcore {' '.join(names)} --help" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("dedup", "x", "-o", "y", "--thresh", "0.9"), "no option --thresh; did you mean --threshold?"),
        (("dedup", "x", "-o", "y", "--thresh=0.9"), "no option --thresh; did you mean --threshold?"),
        (("dedup", "--tresholds", "0.9", "x", "-o", "y"), "no option --tresholds; did you mean --threshold?"),
        (("dedup", "x", "--ouput", "y"), "no option --ouput; did you mean --output?"),
        (("dedup", "x", "-o", "y", "-Z"), "no option -Z\n"),
        (("design", "--bands", "20"), "no option --bands; did you mean --groups?"),
        (("dedup", "x", "-o", "y", "--memory-limit", "1G"), "no option --memory-limit; did you mean --memory?"),
        (("cluster", "x", "-o", "y", "--cluster", "star"), "no option --cluster; did you mean --clustering?"),
        (("compare", "x", "y", "--html", "page.html"), "--report page.html writes a page for a browser"),
        (("compare", "x", "y", "--html-text", "main"), "no option --html-text; did you mean --html?"),
        (("dedup", "x", "-o", "y", "--verbose"), "no option --verbose; progress and report are shown unless -q is given\n"),
        (("dedup", "x", "-o", "y", "--unit", "wrod"), "line, paragraph, sentence, byte; did you mean word?"),
        (("dedpu", "x"), "there is no command 'dedpu'; did you mean dedup? (commands: dedup, "),
        (("hamming", "pair", "x"), "there is no command 'pair'; did you mean pairs? (commands: build, "),
        (("nonsense",), "there is no command 'nonsense' (commands: "),
        (("--thread", "2", "dedup"), "ndcore: there is no option --thread"),
    ],
)
def test_suggestions(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in failed(capsys, *arguments)


def test_words_after_two_dashes_are_no_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("--thresh").write_text("a text that is called like an option")
    assert main(["dedup", "-q", "-o", "out", "--", "--thresh"]) == 0
    assert Path("out", "kept", "--thresh").exists()


def test_nearest() -> None:
    assert nearest("--th", ["--text", "--threshold"]) == "; did you mean --threshold?"
    assert nearest("--xyz", ["--text", "--threshold"]) == ""
    assert nearest("", ["a"]) == nearest("--", ["--a"]) == ""


def test_names_of_other_tools_lead_somewhere() -> None:
    from ndcore.cli.parser import OTHER_NAMES

    options = {option for below in ALL.values() for option in below._option_string_actions}
    assert set(OTHER_NAMES.values()) <= options
    assert not options & set(OTHER_NAMES)
    assert all(re.fullmatch(r"--[a-z0-9-]+", option) for option in options if option.startswith("--"))


# ---- one name for one thing


GROUPS = {"options", "positional arguments", "output", "near-duplicates", "shingles and sketches", "input", "running"}


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_options_stand_in_named_groups(names: tuple[str, ...]) -> None:
    """Expect only --help under "options", and a shared option in the same group of every command."""
    for group in COMMANDS[names]._action_groups:
        options = [action.dest for action in group._group_actions if action.option_strings]
        assert group.title != "options" or options == ["help"]
        assert group.title in GROUPS or options, group.title


def test_an_option_has_one_meaning_and_one_group() -> None:
    shared = dict.fromkeys(("--output", "--overwrite", "--report", "--json"), "output")
    shared |= dict.fromkeys(("--threads", "--quiet"), "running")
    shared |= dict.fromkeys(("--text-field", "--id-field", "--html", "--on-error"), "input")
    shared |= dict.fromkeys(("--width", "--unit", "--stop-words"), "shingles and sketches")
    for names, below in COMMANDS.items():
        for group in below._action_groups:
            for option in [o for action in group._group_actions for o in action.option_strings if o in shared]:
                assert group.title == shared[option], (names, option)


def test_every_command_speaks_json() -> None:
    silent = [names for names, below in COMMANDS.items() if "--json" not in below._option_string_actions]
    assert silent == [("completion",)]


def test_every_output_can_be_overwritten_and_nothing_else() -> None:
    for names, below in COMMANDS.items():
        writes = {"--output", "--report", "--plot", "--learn"} & set(below._option_string_actions)
        wanted = bool(writes) and names != ("judge",)  # its directory goes on, and is never replaced
        assert wanted == ("--overwrite" in below._option_string_actions), names


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import ndcore

    for option in ("--version", "-V"):
        with pytest.raises(SystemExit) as stop:
            main([option])
        assert stop.value.code == 0
        assert capsys.readouterr().out == f"ndcore {ndcore.__version__}\n"


@pytest.mark.parametrize(("words", "usage"), [((), "usage: ndcore ["), (("dedup",), "usage: ndcore dedup"),
                                              (("hamming", "build"), "usage: ndcore hamming build")])
def test_help_is_a_word_too(words: tuple[str, ...], usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["help", *words])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(usage)


@pytest.mark.parametrize(("words", "message"), [
    ("compare A B C", "ndcore compare: too many arguments, from C on"),
    ("version", "there is no command 'version'; did you mean ndcore --version?"),
    ("-v", "there is no option -v; did you mean --version?"),
    ("dedup -v", "there is no option -v; progress and report are shown unless -q is given"),
    ("dedup --\x1b[31m", r"ndcore dedup: there is no option --\x1b[31m"),
    ("help nothing", "there is no command 'nothing'"),
])
def test_what_newcomers_type(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in failed(capsys, *words.split())


def test_an_interruption_before_the_command_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The modules of the command are imported then."""
    def interrupted(given: object) -> Parser:
        raise KeyboardInterrupt

    monkeypatch.setattr("ndcore.cli.main.parser", interrupted)
    assert main(["dedup", "a"]) == 130
    assert capsys.readouterr().err == "ndcore: interrupted; nothing was written\n"
