"""Convert programs to tokens that do not depend on names, literals, comments and layout, by the lexers of Pygments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ndcore._types import Ints
from ndcore.checks import check_choice, imported
from ndcore.choices import LANGUAGES

NAME, NUMBER, STRING, DIRECTIVE, UNKNOWN = "N", "0", "S", "P", "?"  # no keyword is one of these: keywords are in lower case
# Line ends of a language beside CR and LF. Lexers know only LF: code after another line end could be taken for a comment.
_LINE_ENDS = {"javascript": "\u2028\u2029", "typescript": "\u2028\u2029", "csharp": "\x85\u2028\u2029"}


class LexedProgram(NamedTuple):
    """A program as tokens.

    Attributes
    ----------
    text : str
        The symbol of each token, one a line: the document of ``Shingling("line")``.
    starts, ends : ndarray of int64 (tokens,)
        Token i is ``program[starts[i]:ends[i]]``, in characters.
    """

    text: str
    starts: Ints
    ends: Ints


def lex(program: str, language: str) -> LexedProgram:
    """Read a program as tokens, so that it can be compared although names, literals, comments and layout were changed.

    Each name is the symbol N, each number 0, neighbouring strings are one S, and a run of preprocessor directives is one P.
    Keywords (in lower case) and operators are their own symbols, and so is each punctuation mark. Text unknown to the lexer
    is ?. Comments, documentation strings and white space are left out. Lines end with LF, CR, both, or another line end of
    the language.

    Parameters
    ----------
    program : str
    language : str
        A name in `ndcore.choices.LANGUAGES`, such as "python" or "java".

    Returns
    -------
    LexedProgram

    Raises
    ------
    ImportError
        Pygments, of the extra "code", is not installed.
    TypeError, ValueError
        The program is not a str, or there is no such language.

    Notes
    -----
    The tokens depend on the version of Pygments, see `lexer_version`. Its expressions can backtrack on hostile programs:
    ``ndcore rank`` calls this function in a process that ends after some seconds.

    References
    ----------
    Pygments, https://pygments.org/docs/tokens/.

    Examples
    --------
    >>> lex("def area(width): return 2 * width  # twice", "python").text.split()
    ['def', 'N', '(', 'N', ')', ':', 'return', '0', '*', 'N']
    """
    if not isinstance(program, str):
        raise TypeError(f"a program is a str, got {type(program).__name__}")
    check_choice("language", language, LANGUAGES)
    tokens = list(_symbols(_end_lines(program, language), language))
    starts, lasts = np.array([(start, end - 1) for _, start, end in tokens], np.int64).reshape(-1, 2).T
    left_out = np.array([each.start() for each in re.finditer("\r\n", program)], np.int64)
    left_out -= np.arange(len(left_out))  # number of characters that the lexer read before each CR left out
    starts, lasts = (places + np.searchsorted(left_out, places, "right") for places in (starts, lasts))
    return LexedProgram("\n".join(token[0] for token in tokens), starts, lasts + 1)


def lexer_version() -> str:
    """Return the version of Pygments. Raises ImportError if it is not installed."""
    return str(imported("pygments", "reading programs").__version__)


def _end_lines(program: str, language: str) -> str:
    """End all lines of a program with LF, including the last one. A byte order mark becomes an empty line."""
    program = program.replace("\r\n", "\n")
    for end in "\r" + _LINE_ENDS.get(language, ""):
        program = program.replace(end, "\n")
    return f"\n{program[1:]}\n" if program.startswith("\ufeff") else f"{program}\n"


@cache
def _lexer(language: str) -> Any:
    """Return the lexer of a language; making one compiles its expressions."""
    return imported("pygments.lexers", "reading programs").get_lexer_by_name(language)


def _symbols(program: str, language: str) -> Iterator[tuple[str, int, int]]:
    """Yield the symbol of each token, and where it begins and ends."""
    joined, begin, end = "", 0, 0  # a run of tokens with one symbol
    for start, kind, text in _lexer(language).get_tokens_unprocessed(program):
        names = (*map(str, kind), "", "")
        stripped = text.strip()
        directive = names[:2] == ("Comment", "Preproc") or names[:2] == ("Comment", "PreprocFile")
        if not stripped or (names[0] == "Comment" and not directive) or names[:3] == ("Literal", "String", "Doc"):
            continue
        start += text.index(stripped)
        last = start + len(stripped)
        run = DIRECTIVE if directive else STRING if names[:2] == ("Literal", "String") and names[2] != "Interpol" else ""
        if joined and run != joined:
            yield joined, begin, end
        if run:
            begin, end = (begin if run == joined else start), last
        elif names[0] == "Punctuation":
            yield from ((sign, at, at + 1) for at, sign in enumerate(stripped, start) if not sign.isspace())
        else:
            yield _symbol(names, stripped), start, last
        joined = run
    if joined:
        yield joined, begin, end


def _symbol(names: tuple[str, ...], text: str) -> str:
    """Return the symbol of a token that is not part of a run: a single line that is not blank."""
    if names[0] == "Name":
        return NAME
    if names[:2] == ("Literal", "Number"):
        return NUMBER
    return UNKNOWN if names[0] == "Error" else "".join(text.lower().split())
