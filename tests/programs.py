"""Random programs in Python, Java and C, and copies of them in disguise. No test is here."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

SUFFIXES = {"python": "py", "java": "java", "c": "c"}
_WORDS = ("sum", "count", "left", "right", "total", "index", "width", "height", "score", "limit", "value", "rate", "level")
_OPERATORS = ("+", "-", "*", "%", "&", "|", "^", "<<")


@dataclass(frozen=True)
class Function:
    """A function: its number, its parameters, and its statements, trees of numbers."""

    number: int
    parameters: int
    body: tuple[tuple, ...]


@dataclass(frozen=True)
class Program:
    """Functions in their order, and how they are written: a seed for names and literals, whether with comments."""

    functions: tuple[Function, ...]
    seed: int
    comments: bool = False


def invent(seed: int, functions: int = 6) -> Program:
    """Invent a program."""
    rng = random.Random(f"program {seed}")
    return Program(tuple(_function(rng, number) for number in range(functions)), seed)


def _function(rng: random.Random, number: int) -> Function:
    parameters = rng.randrange(1, 4)
    return Function(number, parameters, tuple(_statement(rng, parameters, 2) for _ in range(rng.randrange(4, 8))))


def _statement(rng: random.Random, names: int, depth: int) -> tuple:
    kind = rng.choice(("set", "set", "call", "if", "while") if depth else ("set", "call"))
    inner = tuple(_statement(rng, names, depth - 1) for _ in range(rng.randrange(1, 4))) if kind in ("if", "while") else ()
    return kind, rng.randrange(names + 2), _expression(rng, names, 3), inner


def _expression(rng: random.Random, names: int, depth: int) -> tuple:
    kind = rng.choice(("name", "number", "call", "two", "two", "two")) if depth else rng.choice(("name", "number"))
    if kind in ("two", "call"):
        return (kind, rng.choice(_OPERATORS), _expression(rng, names, depth - 1), _expression(rng, names, depth - 1))
    return kind, rng.randrange(names + 2)


def disguise(program: Program, seed: int, dead: int = 2) -> Program:
    """Give a program new names, literals and comments, another order of its functions, and statements without use."""
    rng = random.Random(f"disguise {seed}")
    functions = []
    for function in program.functions:
        body = list(function.body)
        for _ in range(dead):
            body.insert(rng.randrange(len(body) + 1), ("set", 3, ("number", 0), ()))
        functions.append(replace(function, body=tuple(body)))
    rng.shuffle(functions)
    return Program(tuple(functions), seed + 10_000, True)


def write(program: Program, language: str) -> str:
    """Write a program in a language of `SUFFIXES`."""
    return _Writer(program, language).text


class _Writer:
    def __init__(self, program: Program, language: str) -> None:
        self.rng = random.Random(f"names {program.seed}")
        self.python, self.comments = language == "python", program.comments
        self.lines: list[str] = []
        indent = 1 if language == "java" else 0
        if language == "java":
            self.lines.append(f"public class {self.name().title()} {{")
        for function in program.functions:
            self.names = [self.name() for _ in range(function.parameters + 2)]
            kind = "" if self.python else "int "
            head = f"{kind}{self.name()}({', '.join(kind + name for name in self.names[:function.parameters])})"
            self.open(("def " if self.python else "static ") + head, indent)
            for statement in function.body:
                self.statement(statement, indent + 1)
            self.add(f"return {self.names[0]}", indent + 1)
            self.close(indent)
        if language == "java":
            self.lines.append("}")
        self.text = "\n".join(self.lines) + "\n"

    def name(self) -> str:
        return f"{self.rng.choice(_WORDS)}{self.rng.choice(_WORDS).title()}{self.rng.randrange(100)}"

    def add(self, text: str, indent: int) -> None:
        if self.comments and self.rng.random() < 0.3:
            said = " ".join(self.rng.choice(_WORDS) for _ in range(5))
            self.lines.append("    " * indent + ("# " if self.python else "// ") + said)
        self.lines.append("    " * indent + text + ("" if self.python else ";"))

    def open(self, head: str, indent: int) -> None:
        self.lines.append("    " * indent + head + (":" if self.python else " {"))

    def close(self, indent: int) -> None:
        self.lines.append("" if self.python else "    " * indent + "}")

    def statement(self, statement: tuple, indent: int) -> None:
        kind, name, value, inner = statement
        if kind in ("if", "while"):
            test = f"{self.names[name % len(self.names)]} < {self.value(value)}"
            self.open(f"{kind} {test}" if self.python else f"{kind} ({test})", indent)
            for each in inner:
                self.statement(each, indent + 1)
            self.close(indent)
        elif kind == "call":
            self.add(f"{self.name()}({self.value(value)})", indent)
        else:
            self.add(f"{self.names[name % len(self.names)]} = {self.value(value)}", indent)

    def value(self, value: tuple) -> str:
        kind = value[0]
        if kind == "name":
            return self.names[value[1] % len(self.names)]
        if kind == "number":
            return str(self.rng.randrange(1000))
        a, b = self.value(value[2]), self.value(value[3])
        return f"{self.name()}({a}, {b})" if kind == "call" else f"({a} {value[1]} {b})"
