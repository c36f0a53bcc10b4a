"""The inputs of a command: files that are found and read, saved sketches, and how documents become shingles."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ndcore.cli.options import DocumentOptions, FieldOptions, RecordOptions, TokenOptions
from ndcore.cli.summary import nothing_found, print_readings
from ndcore.files.discovery import find, refuse_overlaps
from ndcore.files.document_fields import Ids, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.field_values import describe_string_order
from ndcore.files.formats import BARE
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.selection import Selection
from ndcore.files.sources import STDIN, Inputs, Source, TextForm
from ndcore.human import counted, printable
from ndcore.recipe import Recipe
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import Shingling

__all__ = [
    "COLLECTION", "RECORD_FORMATS", "SKETCHES", "all_sketches", "checked_shingling", "choose_settings", "find_inputs",
    "ids_of", "load_sketches", "only_rejected", "open_documents", "refuse_bare", "refuse_nothing_read",
    "refuse_stdin_twice", "repeated", "select_inputs", "text_field", "text_form", "uniform",
]

RECORD_FORMATS = "of JSON, CSV, Parquet, Arrow"


# ---- files


def text_field(options: RecordOptions) -> str | list[str]:
    """Return the name of the field that holds the text, or the names of several."""
    named = options.text_field or ["text"]
    return named[0] if len(named) == 1 else named


def text_form(options: RecordOptions) -> TextForm:
    """Return what the options say of text: its encoding, and the delimiter of tables."""
    return TextForm(options.encoding or "", options.delimiter or "")


def find_inputs(options: DocumentOptions, *groups: tuple[Sequence[str], Collection[str]]) -> list[Inputs]:
    """Find the sources of each group of inputs, as `select_inputs` does, for the unit of the options."""
    return select_inputs(options, *groups, binary=options.unit == "byte")


def select_inputs(
    options: FieldOptions, *groups: tuple[Sequence[str], Collection[str]], binary: bool = False
) -> list[Inputs]:
    """Find the sources of each group of inputs.

    Parameters
    ----------
    groups : tuple
        Paths, and the kinds of ndcore's own files that are accepted among them.
    binary : bool
        Files that are not text are documents too: their bytes.

    Raises
    ------
    UsageError
        Standard input is named twice, inputs of two groups overlap, or a pattern includes nothing. A pattern that
        excludes nothing is reported on standard error. `find` raises for the rest.
    """
    every = [path for paths, _ in groups for path in paths]
    refuse_stdin_twice(every)
    selection = Selection(options.include, options.exclude, options.hidden)
    found = [find(paths, accept, selection, binary, text_form(options)) for paths, accept in groups]
    for inputs in found:
        inputs.limit(options.max_record)
    refuse_overlaps([path for inputs in found for path in inputs.paths])
    for pattern in selection.checked(every):
        print(f"ndcore: --exclude {printable(pattern)} left nothing out", file=sys.stderr)
    return found


def refuse_bare(option: str, sources: Sequence[Source]) -> None:
    """Raise UsageError where an option names a field, and a document is a whole file, which has none."""
    whole = next((source for source in sources if source.kind in BARE), None)
    if whole is not None:
        kind = "an HTML" if whole.kind == "html" else "a text"
        raise UsageError(f"{option} needs records with fields ({RECORD_FORMATS}): {whole.path} is {kind} file")


def refuse_stdin_twice(paths: Sequence[str]) -> None:
    """Raise UsageError where standard input is named twice."""
    if list(paths).count(STDIN) > 1:
        raise UsageError("standard input (-) can be read once; name it once")


def open_documents(options: DocumentOptions, found: Inputs, **more: Any) -> FileDocuments:
    """Open documents to be read as the options say; `more` are other parameters of `FileDocuments`, or replace these."""
    reading = {
        "text_field": text_field(options),
        "id_field": options.id_field or "id",
        "require_id": options.id_field is not None,
        "on_error": options.on_error,
        "html": options.html_part,
        "threads": options.threads,
        "told": None if options.quiet else print_readings,
    }
    return FileDocuments(found, **{**reading, **more})


def refuse_nothing_read(documents: FileDocuments, path: str) -> None:
    """Raise DocumentError where no document was read; `path` is the first input."""
    if not documents.read and documents.ignored:
        raise nothing_found(path, documents.ignored)
    error = only_rejected(documents)
    if error is not None:
        raise error


def only_rejected(documents: FileDocuments) -> DocumentError | None:
    """Return the error that every document was rejected, or None."""
    if len(documents) or not documents.rejected:
        return None
    first, others = documents.rejected[0], len(documents.rejected) - 1
    more = f" (and {counted(others, 'other document')} could not be read either)" if others else ""
    return DocumentError(first.path, first.number, first.reason + more)


# ---- ids


def say_how_ordered(ranking: RankingField | None) -> None:
    """Say on standard error that --keep compares strings as strings, if it does: dates and numbers may be meant."""
    if ranking is not None and ranking.strings:
        print(f"ndcore: {describe_string_order(ranking.field, ranking.strings)}", file=sys.stderr)


def ids_of(collection: FileDocuments | Sketches) -> Sequence[str | int] | Ids:
    """Return the ids of documents or sketches; positions where sketches were saved without ids."""
    if isinstance(collection, FileDocuments):
        return collection.ids
    return range(len(collection)) if collection.ids is None else collection.ids


def repeated(collection: FileDocuments | Sketches) -> int:
    """Count the documents with the id of an earlier one."""
    if isinstance(collection, FileDocuments):
        return collection.ids.repeated()
    ids = ids_of(collection)
    return len(ids) - len(set(ids))


def uniform(ids: Ids) -> Iterator[Any]:
    """Iterate over the ids as they can be saved: all integers of 64 bits, or all strings."""
    return iter(ids) if ids.are_numbers() else map(str, ids)


# ---- saved sketches


def all_sketches(sources: Sequence[Source], what: str) -> bool:
    """Tell whether all inputs are saved sketches or collections; raise UsageError where only some are."""
    saved = [source for source in sources if source.kind in (SKETCHES, COLLECTION)]
    if saved and len(saved) < len(sources):
        raise UsageError(f"{what} mixes documents and saved sketches ({saved[0].path}); sketch all of it, or none")
    return bool(saved)


def load_sketches(paths: Sequence[str]) -> Sketches:
    """Load the sketches of several files, one after another. Raises RecipeMismatch where they cannot be compared."""
    sketches = load(paths[0])
    for path in paths[1:]:
        sketches = sketches.concat(load(path))
    return sketches


def choose_settings(options: TokenOptions, saved: Sequence[Any], **numbers: Any) -> tuple[Shingling, dict[str, Any]]:
    """Choose the shingling, and the numbers of a sketcher: as of saved sketches or weights, else by the options.

    Parameters
    ----------
    saved : sequence
        Sketches or weights that the sketcher must agree with. None: the options decide.
    numbers : optional
        Options of the sketcher, as `num_perm` and `seed`; None where one was not given.

    Returns
    -------
    shingling : Shingling
    numbers : dict
        The numbers that are known.

    Raises
    ------
    UsageError
        The options differ from the saved recipe, or no shingling is like that.
    """
    given = {"unit": options.unit, "width": options.width, "normalize": options.normalize}
    if not saved:
        known = {name: value for name, value in numbers.items() if value is not None}
        return checked_shingling(**given, stop_words=options.stop_words), known
    recipe = saved[0].recipe
    what = "the saved weights" if recipe["kind"] == "idf" else "the saved sketches"
    for other in saved[1:]:
        recipe.check(other.recipe)
    parameters = recipe["shingling"]
    for name, value in {**given, **numbers}.items():
        there = parameters[name] if name in parameters else recipe.parameters.get(name)
        if value is not None and value != there:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{what} were made with {option} {there}, not {value}; leave the option out")
    shingling = Shingling.from_recipe(Recipe(parameters))
    if options.stop_words is not None:
        asked = checked_shingling(unit=parameters["unit"], normalize=parameters["normalize"], stop_words=options.stop_words)
        if asked.stop_words != shingling.stop_words:
            raise UsageError(f"{what} were made with other stop words; leave --stop-words out")
    return shingling, {name: recipe[name] for name in numbers if name in recipe}


def checked_shingling(**parameters: Any) -> Shingling:
    """Make a Shingling of the parameters that are not None. Raises UsageError where there is none."""
    try:
        return Shingling(**{name: value for name, value in parameters.items() if value is not None})
    except ValueError as error:
        raise UsageError(str(error)) from error
