"""Do ranked pairs find copied programs? Modules of Python's standard library among disguised copies of some of them.

A copy has no comments and docstrings, other names of all but imports and keyword arguments, and its functions, methods and
classes in another order. With `--other FOLDER`, the library of another version of Python, modules of the same path are a
second set of labels. Required, else the exit code is 1: by a lexer the best pairs have as many copies as by words.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import random
import sys
import sysconfig
import time
import tokenize
from pathlib import Path

from measure import Report, options

import ndcore as nd

SEED = 7
BYTES = (4_000, 60_000)  # of a module
LEFT_OUT = frozenset(["site-packages", "idlelib", "test", "tests"])
COPIED = 200
KINDS = {tokenize.NAME: "name", tokenize.NUMBER: "0", tokenize.STRING: "''"}
SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
          tokenize.ENDMARKER}
WAYS = {
    "words": nd.Winnower(8, nd.Shingling(width=8)),
    "characters": nd.Winnower(32, nd.Shingling("char", width=32)),
}


def lexer(program: str) -> list[str]:
    """Read a program: names are one token, numbers and strings others, comments and the layout none."""
    tokens = tokenize.generate_tokens(io.StringIO(program).readline)
    return [token.string if keyword.iskeyword(token.string) else KINDS.get(token.type, token.string)
            for token in tokens if token.type not in SILENT]


class Disguise(ast.NodeTransformer):
    """Other names, another order, and no docstrings."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names: dict[str, str] = {}

    def _name(self, name: str) -> str:
        if hasattr(builtins, name) or name.startswith("__"):
            return name
        return self.names.setdefault(name, f"x{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._name(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._name(node.arg)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._name(node.attr)
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            node.name = self._name(node.name)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and len(body) > 1:
                del body[0]
            places = [i for i, each in enumerate(body) if isinstance(each, (ast.FunctionDef, ast.ClassDef))]
            for i, each in zip(places, self.rng.sample([body[i] for i in places], len(places)), strict=True):
                body[i] = each
        return super().generic_visit(node)


def modules(folder: Path) -> dict[str, str]:
    """Read the modules of a library by their path."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if BYTES[0] <= path.stat().st_size <= BYTES[1] and not LEFT_OUT & set(path.parts):
            text = path.read_text(encoding="utf-8", errors="replace")
            try:
                ast.parse(text)
                lexer(text)
            except (SyntaxError, tokenize.TokenError, ValueError):
                continue
            found[name] = text
    return found


def measure(report: Report, title: str, texts: list[str], labelled: set[tuple[int, int]]) -> dict[str, int]:
    """Rank pairs by words, characters and tokens of the language; count the labelled ones among the best."""
    headline = f"{title}: {len(texts):,} programs, {len(labelled)} labelled pairs"
    table = report.table(f"ranking_{title.split()[0]}", headline, [
        "tokens", "guaranteed", "found among as many", "found among twice as many", "found at all", "pairs", "seconds"])
    found = {}
    for name, winnower in {**WAYS, "lexer": nd.Winnower(16, nd.Shingling(lexer, width=16))}.items():
        start = time.perf_counter()
        pairs = nd.rank_pairs(texts, winnower).pairs
        seconds = time.perf_counter() - start
        hits = [pair in labelled for pair in zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)]
        found[name] = sum(hits[: len(labelled)])
        table.add(name, winnower.guaranteed, found[name], sum(hits[: 2 * len(labelled)]), sum(hits), len(hits), seconds)
    return found


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--other", metavar="FOLDER", help="the standard library of another version of Python")
    arguments = parser.parse_args()
    report = Report("ranking", arguments)
    library = modules(Path(sysconfig.get_path("stdlib")))
    names = list(library)[: 40 if arguments.quick else None]
    texts = [library[name] for name in names]
    rng = random.Random(SEED)
    copied = sorted(rng.sample(range(len(texts)), min(COPIED, len(texts) // 4)))
    copies = [ast.unparse(Disguise(SEED + i).visit(ast.parse(texts[i]))) for i in copied]
    labelled = {(i, len(texts) + j) for j, i in enumerate(copied)}
    found = measure(report, "copies in disguise", [*texts, *copies], labelled)
    report.require(found["lexer"] >= found["words"], f"found {found['lexer']} copies by a lexer, {found['words']} by words")
    if arguments.other:
        other = modules(Path(arguments.other))
        both = [name for name in names if name in other]
        measure(report, "versions", [*texts, *(other[name] for name in both)],
                {(names.index(name), len(texts) + j) for j, name in enumerate(both)})
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
