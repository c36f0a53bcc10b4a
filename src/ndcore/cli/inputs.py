"""The inputs of a command, as its arguments name them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from typing import Any

from ndcore.cli.summary import printable
from ndcore.files.document_fields import Ids
from ndcore.files.documents import Documents
from ndcore.files.errors import UsageError
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.selection import Selection
from ndcore.files.sources import STDIN, Inputs, Source, find, refuse_overlaps
from ndcore.recipe import Recipe

__all__ = [
    "COLLECTION", "SKETCHES", "all_sketches", "find_inputs", "ids_of", "load_sketches", "open_documents",
    "refuse_stdin_twice", "repeated", "settings", "text_field", "uniform",
]

_DEFAULTS: dict[str, Any] = {"unit": "word", "width": 5, "normalize": None}


def text_field(args: argparse.Namespace) -> str | list[str]:
    """Return the field that holds the text, or all of several."""
    named: list[str] = args.text_field or ["text"]
    return named[0] if len(named) == 1 else named


def find_inputs(args: argparse.Namespace, *groups: tuple[Sequence[str], Collection[str]]) -> list[Inputs]:
    """Find the sources of each group of inputs; with it, what of ndcore's own is accepted there.

    Raises as `find` does; UsageError too where standard input is named twice, inputs of two groups overlap, or a pattern
    includes nothing. A pattern that excludes nothing is told on standard error.
    """
    every = [path for paths, _ in groups for path in paths]
    refuse_stdin_twice(every)
    selection = Selection(args.include, args.exclude, args.hidden)
    found = [find(paths, accept, selection, args.unit == "byte") for paths, accept in groups]
    refuse_overlaps([path for inputs in found for path in inputs.paths])
    for pattern in selection.checked(every):
        print(f"ndcore: --exclude {printable(pattern)} left nothing out", file=sys.stderr)
    return found


def refuse_stdin_twice(paths: Sequence[str]) -> None:
    """UsageError where standard input is named twice."""
    if list(paths).count(STDIN) > 1:
        raise UsageError("standard input (-) can be read once; name it once")


def all_sketches(sources: Sequence[Source], what: str) -> bool:
    """Whether all inputs are saved sketches, or collections of them; UsageError where some are."""
    kinds = {source.kind in (SKETCHES, COLLECTION) for source in sources}
    if kinds == {True, False}:
        sketches = next(source.path for source in sources if source.kind in (SKETCHES, COLLECTION))
        raise UsageError(f"{what} mixes documents and saved sketches ({sketches}); sketch all of it, or none")
    return kinds == {True}


def open_documents(args: argparse.Namespace, found: Inputs, **options: Any) -> Documents:
    """Documents read as the command line says."""
    return Documents(
        found,
        text_field=text_field(args),
        id_field=args.id_field or "id",
        require_id=args.id_field is not None,
        on_error=args.on_error,
        html=args.html_part,
        **options,
    )


def load_sketches(paths: Sequence[str]) -> Any:
    """The sketches of some files, one after another. Raises RecipeMismatch where they cannot be compared."""
    from ndcore.sketch.sketches import load

    sketches = load(paths[0])
    for path in paths[1:]:
        sketches = sketches.concat(load(path))
    return sketches


def ids_of(collection: Any) -> Sequence[str | int] | Ids:
    """Ids of documents or sketches; positions where sketches were saved without."""
    if isinstance(collection, Documents):
        return collection.ids
    ids: Sequence[str | int] | None = collection.ids
    return range(len(collection)) if ids is None else ids


def repeated(collection: Any) -> int:
    """Documents with the id of an earlier one."""
    if isinstance(collection, Documents):
        return collection.ids.repeated()
    ids = ids_of(collection)
    return len(ids) - len(set(ids))


def settings(
    args: argparse.Namespace, sketches: Sequence[Any], names: Sequence[str] = ("num_perm", "seed")
) -> tuple[Any, dict[str, Any]]:
    """The Shingling, and the numbers of these names where known: of saved sketches, of the command line, or by default.

    Raises
    ------
    UsageError
        The command line asks for something else than the sketches were made with, or for what no Shingling can be.
    """
    from ndcore.text.shingling import Shingling

    asked = {name: getattr(args, name) for name in _DEFAULTS}
    numbers = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if sketches:
        recipe = sketches[0].recipe
        what = "the saved weights" if recipe["kind"] == "idf" else "the saved sketches"
        for other in sketches[1:]:
            recipe.check(other.recipe)
        made = recipe["shingling"]
        for name, value in {**asked, **numbers}.items():
            there = made[name] if name in made else recipe.parameters.get(name)
            if value is not None and value != there:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{what} were made with {option} {there}, not {value}; leave the option out")
        shingling = Shingling.from_recipe(Recipe(made))
        words = args.stop_words
        if words is not None and _made(normalize=made["normalize"], stop_words=words).stop_words != shingling.stop_words:
            raise UsageError(f"{what} were made with other stop words; leave --stop-words out")
        return shingling, {name: recipe[name] for name in names if name in recipe}
    chosen = {name: _DEFAULTS[name] if value is None else value for name, value in asked.items()}
    return _made(**chosen, stop_words=args.stop_words), numbers


def _made(**parameters: Any) -> Any:
    from ndcore.text.shingling import Shingling

    try:
        return Shingling(**parameters)
    except ValueError as error:
        raise UsageError(str(error)) from error


def uniform(ids: Ids) -> list[Any]:
    """The ids as they can be saved: all integers of 64 bits, or all strings."""
    listed = list(ids)
    if all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in listed):
        return listed
    return [str(ident) for ident in listed]
