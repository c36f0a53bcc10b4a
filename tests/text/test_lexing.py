"""Programs as tokens: what changes them and what does not, and where each is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.choices import LANGUAGES, TEXT_SUFFIXES
from ndcore.text.lexing import lex, lexer_version

pytest.importorskip("pygments", reason="the extra code is not installed")


def symbols(program: str, language: str) -> list[str]:
    return lex(program, language).text.split("\n")


@pytest.mark.parametrize(("language", "program", "disguised"), [
    ("python", "def area(width):\n    return width * 2 + f('a')\n",
     'def f(x) :\n\n    """Double it."""\n    return x*0x10+g("another", )  # mine\n'.replace(", )", ")")),
    ("java", "int sum(int[] xs) { int s = 0; for (int x : xs) s += x; return s; }",
     "/** Adds. */ int total(int[] values)\n{\n  int t = 100; // start\n  for (int v : values)\n    t += v; return t;\n}"),
    ("c", '#include <stdio.h>\nint main(void) { puts("a" "b"); return 0; }',
     "#include <stdlib.h>\n\nint run(void) {\n  /* hello */ puts(\"other\\n\"); return 42;\n}"),
])
def test_a_disguise_changes_no_symbol(language, program, disguised):
    assert symbols(program, language) == symbols(disguised, language)


def test_symbols():
    assert symbols("#define N 10\nif (s[0]>='x') { a->b = 1.5; } @", "c") == [
        "P", "if", "(", "N", "[", "0", "]", ">", "=", "S", ")", "{", "N", "-", ">", "N", "=", "0", ";", "}", "?"]
    assert symbols("x not in [None, f'a{b!r}c']", "python") == [
        "N", "not", "in", "[", "none", ",", "S", "{", "N", "!r}", "S", "]"]
    assert symbols("f({});", "lua") == ["N", "(", "{", "}", ")", ";"]  # Pygments gives these marks as one token
    assert symbols("SELECT x FROM y", "sql") == symbols("select u from v", "sql")


PREFIXES = {"php": "<?php\n"}
COMMENTS = dict.fromkeys(["haskell", "lua", "sql"], "--") | dict.fromkeys(["scheme", "racket"], ";") | dict.fromkeys(
    ["python", "ruby", "perl", "r", "julia", "bash"], "#")


@pytest.mark.parametrize(("language", "end"), [
    *((language, end) for language in LANGUAGES if language not in ("ocaml", "text") for end in ("\r", "\r\n")),
    *((language, end) for language in ("javascript", "typescript", "csharp") for end in "\u2028\u2029"), ("csharp", "\x85"),
])
def test_code_behind_a_comment_is_read_whatever_ends_its_line(language, end):
    """Else one comment and another end of line would hide a program, as a lexer takes it all for this comment."""
    comment = COMMENTS.get(language, "//")
    program = f"{PREFIXES.get(language, '')}{comment} mine\nalpha = beta + gamma\n{comment} more\n"
    other = program.replace("\n", end)
    expected, lexed = lex(program, language), lex(other, language)
    assert lexed.text == expected.text
    read = [[text[i:j] for i, j in zip(each.starts.tolist(), each.ends.tolist(), strict=True)]
            for text, each in ((program, expected), (other, lexed))]
    assert read[1] == read[0] and "gamma" in read[0]
    assert lex(program[:-1], language).text == expected.text, "the last line does not end"


def test_a_directive_goes_on_behind_any_end_of_a_line():
    program = "#define A(x) \\\n  f(x); \\\n  g(x)\nint a;"
    assert symbols(program, "c") == symbols(program.replace("\n", "\r\n"), "c") == ["P", "int", "N", ";"]


def test_a_byte_order_mark_is_no_token():
    lexed = lex("\ufeff#include <a.h>\nint b;", "c")
    assert lexed.text.split("\n") == ["P", "int", "N", ";"] and lexed.starts.tolist() == [1, 16, 20, 21]


def test_a_change_of_the_program_changes_symbols():
    assert symbols("a = b + c", "python") != symbols("a = b - c", "python")
    assert symbols("while x: pass", "python") != symbols("if x: pass", "python")


@given(st.text(alphabet="ab1'\"#/*{}()[];=<>\\ \n\t\r\x85\u2028é\u0000@$:.,", max_size=60),
       st.sampled_from(sorted(LANGUAGES)))
def test_places_and_lines_of_any_program(program, language):
    """Tokens are apart and in order; each is one token of unit line."""
    lexed = lex(program, language)
    assert (lexed.starts < lexed.ends).all() and (lexed.ends[:-1] <= lexed.starts[1:]).all()
    assert (lexed.ends <= len(program)).all()
    assert all(not program[i].isspace() and not program[j - 1].isspace()
               for i, j in zip(lexed.starts.tolist(), lexed.ends.tolist(), strict=True))
    assert len(nd.Shingling("line").tokens(lexed.text)) == len(lexed.starts)


def test_every_language_has_a_lexer_and_suffixes_are_of_one():
    suffixes = [suffix for named in LANGUAGES.values() for suffix in named]
    assert len(suffixes) == len(set(suffixes))
    for language in LANGUAGES:
        assert len(lex("a = 1", language).starts)


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match=r"language must be one of python, java, .*got 'text'"):
        lex("a", "text")
    with pytest.raises(TypeError, match="a program is a str, got bytes"):
        lex(b"a", "python")  # type: ignore[arg-type]
    assert lexer_version()[0].isdigit()
    monkeypatch.setitem(sys.modules, "pygments", None)
    with pytest.raises(ImportError, match=r"reading programs needs pygments: pip install 'ndcore\[code\]'"):
        lexer_version()


def test_the_page_lists_all_languages():
    page = (Path(__file__).parents[2] / "docs" / "ranking.md").read_text("utf-8")
    table = page.partition("<!-- languages -->")[2].partition("<!-- /languages -->")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    assert rows[0][0] == "text" and rows[0][1].startswith(" ".join(f".{suffix}" for suffix in TEXT_SUFFIXES))
    assert rows[1:] == [[name, " ".join(f".{suffix}" for suffix in suffixes)] for name, suffixes in LANGUAGES.items()]
