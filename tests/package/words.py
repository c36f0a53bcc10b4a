"""How the source reads: docstrings that open with a verb, phrases that read as if translated.

Run it on paths to list what to mend:

    python tests/package/words.py src/ndcore/files
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

VERBS = frozenset((Path(__file__).parent / "verbs.txt").read_text(encoding="utf-8").split())  # imperatives
STILTED = {  # sentences that read as if translated
    r"\bthose of\b": "name the thing",
    r"\bthose which\b": "name the thing",
    r"\bthat of\b": "name the thing",
    r"\bso many\b": "say how many, or of what",
    r"\bof equal\b": "with the same",
    r"(?<!there )(?<!There )\bis no\b": "is not a",
    r"(?<!there )(?<!There )\bare no\b": "are not",
    r"\bmet lately\b": "seen recently",
    r"\bin so far as\b": "where",
    r"\bsave for\b": "except",
    r"\bwhatever the\b": "for any",
    r"# # ": "one mark of a comment",
}


class Definition(NamedTuple):
    """A function or method: where it is, and its docstring."""

    where: str
    docstring: str | None
    is_property: bool
    is_public: bool


def code_lines(source: str) -> set[int]:
    """Return the numbers of lines that hold code: no blank lines, comments or docstrings."""
    found: set[int] = set()
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
            tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skip:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) \
                and isinstance(body[0].value.value, str):
            found -= set(range(body[0].lineno, (body[0].end_lineno or body[0].lineno) + 1))
    return found


def definitions(path: Path) -> Iterator[Definition]:
    """Yield the functions and methods of a file, nested ones too."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
        yield Definition(f"{path}:{node.lineno} {node.name}", ast.get_docstring(node),
                         bool(decorators & {"property", "cached_property", "getter"}), not node.name.startswith("_"))


def opens_with_a_verb(docstring: str) -> bool:
    word = re.match(r"[A-Za-z]+", docstring)
    return word is not None and word.group().lower() in VERBS


def python_files(places: list[Path]) -> list[Path]:
    return sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))


def main(places: list[Path]) -> None:
    verbs = docstrings = code = 0
    for path in python_files(places):
        source = path.read_text(encoding="utf-8")
        code += len(code_lines(source))
        for pattern, advice in STILTED.items():
            for found in re.finditer(pattern, source):
                print(f"{path}:{source.count(chr(10), 0, found.start()) + 1}: {found.group()!r}: {advice}")
        for found in definitions(path):
            if found.docstring is None or found.is_property:
                continue
            docstrings += 1
            if opens_with_a_verb(found.docstring):
                verbs += 1
            else:
                print(f"{found.where}: {found.docstring.splitlines()[0][:80]!r}")
    print(f"{code} lines of code; {verbs} of {docstrings} docstrings open with a verb "
          f"({100 * verbs / max(1, docstrings):.0f} %)")


if __name__ == "__main__":
    main([Path(place) for place in sys.argv[1:] or ["src/ndcore"]])
