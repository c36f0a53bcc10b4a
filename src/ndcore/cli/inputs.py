"""Read the inputs of a command: files, saved sketches, single documents, and the options of shingles."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ndcore._types import Text
from ndcore.choices import COMPRESSIONS
from ndcore.cli.command import blame_command, option_of
from ndcore.cli.commands import FieldOptions, ReadingOptions, RecordOptions, SettingsOptions, ShingleOptions, TokenOptions
from ndcore.cli.summary import BY_TAGS, nothing_to_read, print_readings
from ndcore.dedup.settings import ENOUGH_ANSWERS, count_answers, settings_beside
from ndcore.files.compression import DamagedData, open_decompressed
from ndcore.files.discovery import find, refuse_overlaps
from ndcore.files.document_fields import Ids, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.field_values import describe_string_order
from ndcore.files.formats import BARE, WHOLE, recognise
from ndcore.files.ndcore_files import COLLECTION, SKETCHES, refuse_own
from ndcore.files.provenance import Place
from ndcore.files.selection import Selection
from ndcore.files.source_reader import decode_source
from ndcore.files.sources import STDIN, Inputs, Source, TextForm, explain_too_long, format_of, is_stream, is_url
from ndcore.files.stream_copies import read_path
from ndcore.human import counted, printable
from ndcore.recipe import Recipe
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.weights import KIND as WEIGHTS
from ndcore.sketch.weights import Idf
from ndcore.storage.container import kind_of
from ndcore.text.inputs import is_by_tags
from ndcore.text.shingling import Shingling

RECORD_FORMATS = "of JSON, CSV, Parquet, Arrow"


# ---- files


def text_field(options: RecordOptions) -> str | list[str]:
    """Return the name of the text field, or the names of several."""
    named = options.text_field or ["text"]
    return named[0] if len(named) == 1 else named


def text_form(options: RecordOptions) -> TextForm:
    """Make the form of text from the options: its encoding, and the delimiter of tables."""
    return TextForm(options.encoding or "", options.delimiter or "")


def find_inputs(
    options: FieldOptions, *groups: tuple[Sequence[str], Collection[str]], unit: str | None = None
) -> list[Inputs]:
    """Find the sources of each group of inputs: paths, and the kinds of ndcore's own files that are accepted among them.

    `unit` is the unit of the shingles, if the options do not have it; of bytes, files that are not text are documents too.
    Raises UsageError if standard input is named twice, groups overlap, or a pattern includes nothing. A pattern that
    excludes nothing is only reported on standard error.
    """
    every = [path for paths, _ in groups for path in paths]
    refuse_stdin_twice(every)
    selection = Selection(options.include, options.exclude, options.hidden)
    in_bytes = (options.unit if isinstance(options, TokenOptions) else unit) == "byte"
    selected = [find(paths, accept, selection, in_bytes, text_form(options)) for paths, accept in groups]
    for inputs in selected:
        inputs.limit(options.max_record)
        inputs.find_archives_in(options.archives)
    refuse_overlaps([path for inputs in selected for path in inputs.paths])
    for pattern in selection.checked(every):
        print(f"ndcore: --exclude {printable(pattern)} left nothing out", file=sys.stderr)
    return selected


def refuse_bare(option: str, sources: Sequence[Source]) -> None:
    """Raise UsageError if an option names a field but a document is a whole file, which has no fields."""
    whole = next((source for source in sources if source.kind in BARE), None)
    if whole is not None:
        kind = "an HTML" if whole.kind == "html" else "a text"
        raise UsageError(f"{option} needs records with fields ({RECORD_FORMATS}): {whole.path} is {kind} file")


def refuse_stdin_twice(paths: Sequence[str]) -> None:
    """Raise UsageError if standard input is named twice."""
    if list(paths).count(STDIN) > 1:
        raise UsageError("standard input (-) can be read once; name it once")


def how_to_read(options: ReadingOptions) -> dict[str, Any]:
    """Return the options for reading as parameters of `FileDocuments` and `SinglePass`."""
    return {"text_field": text_field(options), "id_field": options.id_field or "id",
            "require_id": options.id_field is not None, "html": options.html_part, **options.take("on_error", "threads"),
            "told": None if options.quiet else print_readings}


def open_documents(options: ReadingOptions, inputs: Inputs, **more: Any) -> FileDocuments:
    """Open documents with the options for reading; `more`: parameters of `FileDocuments`, which take precedence."""
    return FileDocuments(inputs, **{**how_to_read(options), **more})


def refuse_nothing_read(documents: FileDocuments, path: str) -> None:
    """Raise DocumentError if no document was read; `path` is the first input."""
    if not documents.read and documents.ignored:
        raise nothing_to_read(path, documents.ignored)
    error = only_rejected(documents)
    if error is not None:
        raise error


def only_rejected(documents: FileDocuments) -> DocumentError | None:
    """Return an error if every document was rejected, else None."""
    if len(documents) or not documents.rejected:
        return None
    first, others = documents.rejected[0], len(documents.rejected) - 1
    more = f" (and {counted(others, 'other document')} could not be read either)" if others else ""
    return DocumentError(first.path, first.number, first.reason + more)


# ---- ids


def ranking_of(keep: tuple[str, str]) -> RankingField | None:
    """Return the field of --keep that ranks the documents; None for another rule."""
    field, order = keep
    return RankingField(field, order == "desc") if order else None


def say_how_ordered(ranking: RankingField | None) -> None:
    """Warn on standard error if --keep compares strings as strings, where dates or numbers may be meant."""
    if ranking is not None and ranking.strings:
        print(f"ndcore: {describe_string_order(ranking.field, ranking.strings)}", file=sys.stderr)


def ids_of(collection: FileDocuments | Sketches) -> Sequence[str | int] | Ids:
    """Return the ids of documents or sketches; positions for sketches that were saved without ids."""
    if isinstance(collection, FileDocuments):
        return collection.ids
    return range(len(collection)) if collection.ids is None else collection.ids


def count_repeated(collection: FileDocuments | Sketches) -> int:
    """Count the documents whose id an earlier document has."""
    if isinstance(collection, FileDocuments):
        return collection.ids.repeated()
    ids = ids_of(collection)
    return len(ids) - len(set(ids))


def uniform(ids: Ids) -> Iterator[Any]:
    """Iterate over the ids in a form that can be saved: all 64-bit integers, or all strings."""
    return iter(ids) if ids.are_numbers() else map(str, ids)


# ---- saved sketches


def all_sketches(sources: Sequence[Source], what: str) -> bool:
    """Tell whether the inputs are saved sketches or collections. Raises UsageError if only some are."""
    saved = [source for source in sources if source.kind in (SKETCHES, COLLECTION)]
    if saved and len(saved) < len(sources):
        raise UsageError(f"{what} mixes documents and saved sketches ({saved[0].path}); sketch all of it, or none")
    return bool(saved)


def load_sketches(paths: Sequence[str]) -> Sketches:
    """Load and concatenate the sketches of several files. Raises RecipeMismatch if they cannot be compared."""
    sketches = load(paths[0])
    for path in paths[1:]:
        sketches = sketches.concat(load(path))
    return sketches


def choose_settings(options: ShingleOptions, saved: Sequence[Any], **numbers: Any) -> tuple[Shingling, dict[str, Any]]:
    """Choose the shingling and the numbers of a sketcher: from saved sketches or weights, else from the options.

    `numbers` are options of the sketcher, such as num_perm and seed, or None; those that are known are returned. Raises
    UsageError if the options differ from the saved recipe, or do not make a valid shingling.
    """
    if not saved:
        return make_shingling(options), {name: value for name, value in numbers.items() if value is not None}
    recipe = saved[0].recipe
    what = "the saved weights" if recipe["kind"] == "idf" else "the saved sketches"
    for other in saved[1:]:
        recipe.check(other.recipe)
    parameters = recipe["shingling"]
    for name, value in {**options.take("unit", "width", "normalize"), **numbers}.items():
        there = parameters[name] if name in parameters else recipe.parameters.get(name)
        if value is not None and value != there:
            raise UsageError(f"{what} were made with {option_of(name)} {there}, not {value}; leave the option out")
    shingling = Shingling.from_recipe(Recipe(parameters))
    if options.stop_words is not None:
        wanted = make_shingling(options, unit=parameters["unit"], normalize=parameters["normalize"])
        if wanted.stop_words != shingling.stop_words:
            raise UsageError(f"{what} were made with other stop words; leave --stop-words out")
    return shingling, {name: recipe[name] for name in numbers if name in recipe}


WithSettings = TypeVar("WithSettings", bound=SettingsOptions)


def with_settings(options: WithSettings, caller: str) -> WithSettings:
    """Add the settings of --settings to the options; `caller` as in `load_settings`. Raises UsageError if that fails."""
    if options.settings is None:
        return options
    fields = {"thresholds": "threshold"}
    given = {fields.get(name, name): names[-1] for name, names in options.list_given()}
    with blame_command():
        taken = settings_beside(options.settings, given, caller)
        answers = count_answers(options.settings)
    if answers is not None and answers < ENOUGH_ANSWERS:
        print(f"ndcore: note: the settings of {printable(options.settings)} come from {counted(answers, 'answer')}; "
              f"{ENOUGH_ANSWERS} choose well: go on with ndcore judge", file=sys.stderr)
    if hasattr(options, "thresholds"):
        taken["thresholds"] = (taken.pop("threshold"),)
    elif taken.get("filter") == "auto":
        del taken["filter"]  # the command has no choice of filters
    return replace(options, **taken)


def load_weights(path: str) -> Idf:
    """Load the weights of shingles. Raises UsageError for any other file, with the command that makes one."""
    if kind_of(path) != WEIGHTS:
        fault = "is not a file of weights" if Path(path).exists() else "does not exist"
        raise UsageError(f"{path} {fault}; ndcore sketch IN -o FILE.nds --kind simhash --learn FILE.ndw makes one")
    return Idf.load(path)


TOKENS = ("unit", "normalize", "stop_words")  # the options of tokens that parameters of `Shingling` have the names of


def make_shingling(options: TokenOptions, **more: Any) -> Shingling:
    """Make a Shingling from the options that were given, and more parameters. Raises UsageError if they are not valid."""
    width = ["width"] if isinstance(options, ShingleOptions) else []
    with blame_command():
        return Shingling(**{name: value for name, value in {**options.take(*width, *TOKENS), **more}.items()
                            if value is not None})


# ---- one document by its name

_HOST = re.compile(r"\w+://[^/]*:\d+")  # a URL that ends with a port


FIELD_OPTIONS = ("--text-field", "--id-field")


def load_document(
    name: str, options: RecordOptions, unit: str | None, advice: str = "", named_by: tuple[str, str] = FIELD_OPTIONS
) -> Text:
    """Load a document: a file, ``-``, or a record of a file, as ``FILE:LINE`` (line, row or record, from 1) or ``FILE#ID``.

    Only with the unit byte it may be anything but text; `advice` ends the message about it. `named_by`: the options that
    name the text and the id of a record, for messages. Raises DocumentError if there is no such document, or it cannot be
    read; UsageError if the file has many.
    """
    record = _split_name(name)
    if record is not None:
        text = _find_record(*record, options, named_by)
    elif name == STDIN or Path(name).exists() or is_url(name):
        text = _load_whole(name, unit, options, advice)
    else:
        reason = "no such file; a record of a file of records, or of an archive, is named FILE:LINE or FILE#ID"
        raise DocumentError(name, None, reason)
    if is_by_tags(text):
        print(f"ndcore: note: {printable(name)} is {BY_TAGS}", file=sys.stderr)
    return text


def path_of(name: str) -> str:
    """Return the file of a document: its name without the line or id of a record."""
    record = _split_name(name)
    return name if record is None else record[0]


def _split_name(name: str) -> tuple[str, str | int] | None:
    """Split ``FILE#ID`` into file and id, ``FILE:LINE`` into file and line; return None for a file and for other names."""
    if name == STDIN or Path(name).exists():
        return None
    for at in [i for i, character in enumerate(name) if character == "#"]:
        if _has_records(name[:at]):
            return name[:at], name[at + 1 :]
    path, _, line = name.rpartition(":")
    if line.isascii() and line.isdigit() and not _HOST.fullmatch(name) and _has_records(path):
        return path, int(line)
    return None


def _has_records(path: str) -> bool:
    """Tell whether a file, or the file that a URL names, consists of records."""
    if not is_url(path):
        return Path(path).is_file() and format_of(path).kind not in WHOLE
    with contextlib.suppress(DocumentError):
        return all(source.kind not in WHOLE for source in find([path]).sources)
    return False


def _load_whole(name: str, unit: str | None, options: RecordOptions, advice: str) -> Text:
    """Load a file or a stream as one document; a stream is always text."""
    in_bytes = unit == "byte"
    if is_url(name) or (name != STDIN and not is_stream(name)):
        refuse_own(name)
        if Path(name).is_dir():
            raise DocumentError(name, None, "is a directory; name one document")
        inputs = find([name], binary=in_bytes, form=text_form(options))
        source = inputs.sources[0]
        _refuse(name, source.problem, advice)
        if source.kind not in WHOLE:
            raise UsageError(f"{name} holds many documents; name one of them: {name}:LINE or {name}#ID")
        inputs.limit(options.max_record)
        with FileDocuments(inputs, html=options.html_part, told=print_readings) as documents:
            return next(documents.batches())[0]
    data = read_path(name, options.max_record)
    format_ = recognise("stdin.txt", io.BytesIO(data), encoding=options.encoding or "")
    _refuse(name, "" if in_bytes and format_.binary else format_.problem, advice)
    if format_.compression:
        try:
            data = open_decompressed(io.BytesIO(data), format_.compression, name).read(options.max_record + 1)
        except (DamagedData, EOFError) as error:
            raise DocumentError(name, None, f"not valid {COMPRESSIONS[format_.compression]} data ({error})") from error
    if len(data) > options.max_record:
        raise DocumentError(name, None, explain_too_long("the text", options.max_record))
    if in_bytes:
        return data
    source = Source(name, name, name, "text", "", "", "", encoding=format_.encoding)
    text = decode_source(source, data)
    print_readings([source])
    return text


def _refuse(name: str, problem: str, advice: str) -> None:
    """Raise DocumentError if there is a problem."""
    if problem:
        raise DocumentError(name, None, f"{problem}{advice}")


def _find_record(path: str, wanted: str | int, options: RecordOptions, named_by: tuple[str, str]) -> Text:
    """Find the document with this id (str), or at this line (int). Raises DocumentError unless there is exactly one."""
    records: list[tuple[Place, Text]] = []
    inputs = find([path], form=text_form(options))
    inputs.limit(options.max_record)
    inputs.find_archives_in(options.archives)
    with FileDocuments(
        inputs,
        text_field=text_field(options),
        id_field=options.id_field or "id",
        require_id=options.id_field is not None and isinstance(wanted, str),
        on_error="skip",
        html=options.html_part,
        told=print_readings,
        named_by=named_by,
    ) as documents:
        position = 0
        for batch in documents.batches():
            for text in batch:
                place = documents.place(position)
                if place.line == wanted:
                    return text
                if str(documents.ids[position]) == wanted:
                    records.append((place, text if not records else ""))
                position += 1
        examples = ", ".join(printable(str(documents.ids[i]), 60) for i in range(min(3, len(documents.ids))))
    if len(records) == 1:
        return records[0][1]
    if records:
        names = ", ".join(str(place) for place, _ in records[:5]) + (", …" if len(records) > 5 else "")
        raise DocumentError(path, None, f"{len(records):,} records have the id {wanted!r}; name one of them: {names}")
    unread = next((item for item in documents.rejected if item.number == wanted or not examples), None)
    if unread is not None:
        raise DocumentError(str(Place(unread.path, unread.number)), None, unread.reason)  # not for --on-error
    if isinstance(wanted, int):
        raise DocumentError(path, None, f"no document is at line, row or record {wanted}")
    raise DocumentError(path, None, f"no record has the id {wanted!r}; ids are like {examples}")
