"""Write tests/package/interface.txt: every public name with its parameters and defaults, every option of the command, and
the functions, members and enumerators of ndcore.h.

    python tools/interface.py [--check]

It reads the source and imports only the command line, so that the lines are the same for every Python and without extras. A
changed line shows in review; `tools/release.py` compares the lines with the last release.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from written_file import ROOT, SOURCE, write_or_check

INTERFACE = ROOT / "tests" / "package" / "interface.txt"
HEADER = SOURCE / "ndcore" / "core" / "ndcore.h"
MODULES = (  # DESIGN.md §2, "Public modules"
    "ndcore", "ndcore.chains", "ndcore.clusterreport", "ndcore.clustering", "ndcore.crawl.scrapy", "ndcore.judge",
    "ndcore.nearreport", "ndcore.plots", "ndcore.progress", "ndcore.reportpage", "ndcore.spark", "ndcore.stemming",
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Found(NamedTuple):
    """A definition and the module it is in."""

    module: str
    nodes: list[ast.stmt]  # several of an overloaded function


def tree_of(module: str) -> ast.Module:
    """Parse a module; where it has a stub, as extensions have, the stub."""
    path = SOURCE.joinpath(*module.split("."))
    for candidate in (path / "__init__.pyi", path / "__init__.py", path.with_suffix(".pyi"), path.with_suffix(".py")):
        if candidate.exists():
            return ast.parse(candidate.read_text(encoding="utf-8"))
    raise FileNotFoundError(f"{module} is neither a module nor an extension with a .pyi below {SOURCE}")


def names_of(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [ast.unparse(node.target)]
    return [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []


def find(module: str, name: str) -> Found:
    """Find the definition of a name of a module, through imports."""
    nodes: list[ast.stmt] = []
    for node in tree_of(module).body:
        if name in names_of(node):
            nodes.append(node)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ndcore"):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return find(node.module, alias.name)
    if not nodes:
        raise LookupError(f"{module} has no {name}")
    return Found(module, nodes)


def decorators(node: Function | ast.ClassDef) -> set[str]:
    return {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}


def signature(node: Function, module: str, bound: bool) -> str:
    """Return parameters and result, without the first parameter of a method; defaults that are constants by their values."""
    arguments = node.args
    if bound and "staticmethod" not in decorators(node):
        (arguments.posonlyargs or arguments.args).pop(0)
    arguments.defaults = [value_of(default, module) for default in arguments.defaults]
    arguments.kw_defaults = [default and value_of(default, module) for default in arguments.kw_defaults]
    result = "" if node.returns is None or node.name == "__init__" else f" -> {ast.unparse(node.returns)}"
    return f"({ast.unparse(arguments)}){result}"


def value_of(default: ast.expr, module: str) -> ast.expr:
    """Return the value of a default that names a constant; any other default as it is."""
    if not isinstance(default, ast.Name):
        return default
    try:
        value = getattr(find(module, default.id).nodes[-1], "value", None)
    except LookupError:
        return default
    return value if isinstance(value, ast.Constant) else default


def function_lines(path: str, found: Found, bound: bool) -> Iterator[str]:
    """Describe a function: its overloads, or else itself."""
    functions = [node for node in found.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    overloads = [node for node in functions if "overload" in decorators(node)]
    for node in overloads or functions[-1:]:
        kinds = decorators(node)
        if kinds & {"property", "cached_property"}:
            yield f"{path}: {'Any' if node.returns is None else ast.unparse(node.returns)}"
        elif not kinds & {"setter", "deleter"}:
            yield ("async " if isinstance(node, ast.AsyncFunctionDef) else "") + path + signature(node, found.module, bound)


def bases(found: Found) -> Iterator[Found]:
    """Yield a class and the classes of ndcore that it inherits from, the nearest first."""
    yield found
    node = found.nodes[-1]
    for base in node.bases if isinstance(node, ast.ClassDef) else []:
        try:
            yield from bases(find(found.module, ast.unparse(base).partition("[")[0]))
        except LookupError:
            continue  # of another package


def class_lines(path: str, found: Found) -> Iterator[str]:
    """Describe a class: how it is made, its fields, its public methods, with what it inherits within ndcore."""
    members: dict[str, Found] = {}
    for each in bases(found):
        own: dict[str, Found] = {}
        node = each.nodes[-1]
        for statement in node.body if isinstance(node, ast.ClassDef) else []:
            for name in names_of(statement):
                own.setdefault(name, Found(each.module, [])).nodes.append(statement)
        members = {**own, **members}
    outside = [ast.unparse(base) for each in bases(found) for base in getattr(each.nodes[-1], "bases", ())
               if not base_is_ours(each.module, base)]
    made = members.pop("__init__", None)
    fields = ", ".join(name for name, member in members.items() if isinstance(member.nodes[-1], ast.AnnAssign))
    yield from function_lines(path, made, True) if made else [f"{path}({fields})"]
    if outside:
        yield f"{path}: {', '.join(sorted(set(outside)))}"
    for name, member in sorted(members.items()):
        if name.startswith("_"):
            continue
        member = source_of(member)
        if isinstance(member.nodes[-1], (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from function_lines(f"{path}.{name}", member, True)
        else:
            yield f"{path}.{field(member.nodes[-1])}"


def source_of(member: Found) -> Found:
    """Return the method that a method is made from, as in ``decide = remote(Store.decide)``; any other member as it is."""
    match member.nodes[-1]:
        case ast.Assign(value=ast.Call(func=ast.Name("remote"), args=[ast.Attribute(ast.Name(owner), name)])):
            made = find(member.module, owner)
            body = getattr(made.nodes[-1], "body", [])
            return Found(made.module, [node for node in body if name in names_of(node)])
        case _:
            return member


def base_is_ours(module: str, base: ast.expr) -> bool:
    try:
        return bool(find(module, ast.unparse(base).partition("[")[0]))
    except LookupError:
        return False


def field(node: ast.stmt) -> str:
    """Describe a field or a constant by its annotation and value."""
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node)
    return ast.unparse(node) if isinstance(node, ast.Assign) else names_of(node)[0]


def public_names(module: str) -> list[str]:
    """List the names in ``__all__``; of a stub without it, the names that it defines, or imports from modules of ndcore."""
    try:
        listed: list[str] = ast.literal_eval(find(module, "__all__").nodes[-1].value)  # type: ignore[attr-defined]
    except LookupError:
        body = tree_of(module).body
        listed = [name for node in body for name in names_of(node)]
        imports = [node for node in body if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ndcore.")]
        listed += [alias.asname for node in imports for alias in node.names if alias.asname]
    return sorted({name for name in listed if not name.startswith("_")})


def module_lines(module: str) -> Iterator[str]:
    for name in public_names(module):
        path, found = f"{module}.{name}", find(module, name)
        if isinstance(found.nodes[-1], ast.ClassDef):
            yield from class_lines(path, found)
        elif isinstance(found.nodes[-1], (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from function_lines(path, found, False)
        else:
            yield f"{module}.{field(found.nodes[-1])}"


def command_lines(parser: argparse.ArgumentParser, words: str) -> Iterator[str]:
    """Describe the arguments of a command and of its subcommands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from command_lines(below, f"{words} {name}")
        elif not isinstance(action, argparse._HelpAction):
            names = "/".join(action.option_strings) or str(action.metavar or action.dest)
            takes = "" if action.nargs == 0 or not action.option_strings else f" {action.metavar or action.dest.upper()}"
            many = f" ({action.nargs})" if action.nargs in ("*", "+", "?") else ""
            chosen = f" of {', '.join(map(str, action.choices))}" if action.choices else ""
            default = "" if action.default in (None, False, argparse.SUPPRESS) else f" = {action.default}"
            yield f"$ {words} {names}{takes}{many}{chosen}{default}" + (" required" if action.required and takes else "")


def header_lines(header: str) -> Iterator[str]:
    """Describe a header of C: functions, members of structs with their places, enumerators with their values."""
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", header, flags=re.S))
    for result, name, parameters in re.findall(r"(?:ND_API|typedef) ((?:const )?\w+ \*?)(nd_\w+)\(([^)]*)\);", text):
        yield f"{name}({parameters}) -> {result.strip()}"
    for body, name in re.findall(r"typedef struct \{([^}]*)\} (nd_\w+);", text):
        declared = [declaration.strip().partition(" ") for declaration in body.split(";") if declaration.strip()]
        members = [(kind, member.strip()) for kind, _, listed in declared for member in listed.split(",")]
        for place, (kind, member) in enumerate(members):
            yield f"{name}.{member}: {kind} = member {place}"
    for body, name in re.findall(r"typedef enum \{([^}]*)\} (nd_\w+);", text):
        for value, enumerator in enumerate(body.split(",")):
            yield f"{name}.{enumerator.strip()} = {value}"


def interface() -> str:
    """Return the content of interface.txt."""
    from ndcore.cli.parser import parser

    lines = [line for module in MODULES for line in module_lines(module)]
    lines += sorted(command_lines(parser(), "ndcore"))
    return "\n".join([*lines, *sorted(header_lines(HEADER.read_text(encoding="utf-8")))]) + "\n"


if __name__ == "__main__":
    raise SystemExit(write_or_check(__doc__, INTERFACE, interface, "tools/interface.py"))
