"""Find the documents that inputs name: files, directories, streams and URLs.

A directory becomes one source for each regular file in it, sorted by path. No input is read twice, and each has a unique
name in the output.
"""

# Paths stay the strings that the user gave, and a large directory has no Path for each of its files.
# ruff: noqa: PTH100, PTH110, PTH112, PTH120, PTH206
# ruff: noqa: PTH110, PTH112, PTH114, PTH115, PTH118

from __future__ import annotations

import errno
import io
import os
import posixpath
import re
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ndcore import _short
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.formats import HEAD, Format, guess_from_name
from ndcore.files.ndcore_files import (
    COLLECTION,
    NAMES,
    OUTPUT,
    SEARCH,
    STORE,
    is_own_file,
    own_directory,
    own_remote,
    refuse_own,
)
from ndcore.files.remote import expand_pattern, list_files, read_beginnings
from ndcore.files.selection import Selection
from ndcore.files.sources import (
    STDIN,
    STDIN_NAME,
    TOGETHER,
    Ignored,
    Inputs,
    Source,
    TextForm,
    format_of,
    is_stream,
    is_url,
    recognise_source,
)


def refuse_overlaps(inputs: Sequence[str]) -> None:
    """Raise UsageError if an input is given twice or lies inside another: its documents would be read twice.

    Patterns of URLs must be expanded before.
    """
    local = [re.sub(r"^(?:file|local)://", "", path) if is_url(path) else path for path in inputs]
    real = [path if path == STDIN else os.path.realpath(path) for path in local]
    seen: dict[str, str] = {}
    for path, resolved in zip(inputs, real, strict=True):
        if resolved in seen:
            raise UsageError(f"the input {path!r} is given twice (also as {seen[resolved]!r}); name it once")
        seen[resolved] = path
    for path, resolved in zip(inputs, real, strict=True):
        parent = "" if path == STDIN else os.path.dirname(resolved)
        while parent and parent != os.path.dirname(parent):
            if parent in seen:
                raise UsageError(f"the input {path!r} lies inside the input {seen[parent]!r}; name only one of them")
            parent = os.path.dirname(parent)


def name_inputs(inputs: Sequence[str]) -> list[str]:
    """Name each input by the end of its path: the shortest one that is unique and not below another name.

    >>> name_inputs(["2024/a.jsonl", "2025/a.jsonl", "b.jsonl"])
    ['2024/a.jsonl', '2025/a.jsonl', 'b.jsonl']
    """
    parts = [_split_path(path) for path in inputs]
    depth = [1] * len(parts)
    while True:
        names = [tuple(p[-d:]) for p, d in zip(parts, depth, strict=True)]
        clashes = _find_clashes(names)
        grown = [i for i in clashes if depth[i] < len(parts[i])]
        if not grown:
            return ["/".join(name) for name in names]
        for i in grown:
            depth[i] += 1


def _split_path(path: str) -> list[str]:
    """Split the path of an input into its components; standard input and streams get a name with a suffix."""
    if path == STDIN:
        return [STDIN_NAME]
    if is_url(path):
        path = re.sub(r"^.*://|[?#].*$", "/", path)
    parts = [part for part in os.path.abspath(path).split(os.sep) if part] or ["root"]
    if not os.path.isdir(path) and os.path.exists(path) and is_stream(path) and guess_from_name(path)[0] in ("", "text"):
        parts[-1] += ".jsonl"
    return parts


def _find_clashes(names: list[tuple[str, ...]]) -> list[int]:
    """Find the names that occur twice, or that lie below another name."""
    owners: dict[tuple[str, ...], list[int]] = {}
    for i, name in enumerate(names):
        owners.setdefault(name, []).append(i)
    clashing = {i for group in owners.values() if len(group) > 1 for i in group}
    for i, name in enumerate(names):
        for length in range(1, len(name)):
            if name[:length] in owners:
                clashing.update(owners[name[:length]], [i])
    return sorted(clashing)


_EXCLUDED = "excluded"
_OWN = {COLLECTION: "collection of ndcore", OUTPUT: "output of ndcore", SEARCH: "unfinished search of ndcore",
        STORE: "store of ndcore"}
_ARTICLES = {COLLECTION: "a", OUTPUT: "an", SEARCH: "an", STORE: "a"}


def find(
    inputs: Sequence[str], accept: Collection[str] = (), selection: Selection | None = None, binary: bool = False,
    form: TextForm | None = None,
) -> Inputs:
    """Find the sources of `inputs`, in the order given; directories are walked and sorted by path.

    Symbolic links to files are followed, links to directories are not (they are listed as ignored). The format of a file is
    recognised by its first bytes (`recognise`). In directories, files that are not text are ignored, and so are indexes of
    web archives: the archives themselves are read. URLs of files, directories and patterns are read through fsspec.

    Parameters
    ----------
    inputs : sequence of str
    accept : collection of str
        Outputs of ndcore that are accepted as inputs: "sketches" (files) and "collection" (directories); each is a source
        of that kind.
    selection : Selection, optional
        The files of directories to read. None: all but hidden ones.
    binary : bool
        Files that are not text are documents too, as bytes.
    form : TextForm, optional
        The encoding and the delimiter of text. None: they are detected.

    Raises
    ------
    DocumentError
        An input does not exist or a directory cannot be listed.
    UsageError
        An input is given twice, or lies inside another one; or it is an output of ndcore and not accepted.
    """
    selection, form = Selection() if selection is None else selection, form or TextForm()
    inputs = [item for path in inputs for item in (expand_pattern(path) if is_url(path) else [path])]
    for path in inputs:
        if path != STDIN and not is_url(path) and not os.path.exists(path):
            raise DocumentError(path, None, _explain_missing(path))
    refuse_overlaps(inputs)
    names = name_inputs(inputs)
    inputs_read = Inputs([], paths=inputs)
    for path, name in zip(inputs, names, strict=True):
        if is_url(path):
            _find_remote(path, name, f"{name}/" if len(inputs) > 1 else "", inputs_read, selection, binary, form)
            continue
        own = None if path == STDIN else refuse_own(path, accept)
        if own is not None:
            inputs_read.sources.append(Source(path, name, name, own, "", path, ""))
        elif path != STDIN and os.path.isdir(path):
            prefix = f"{name}/" if len(inputs) > 1 else ""
            _find_in_directory(path, name, prefix, inputs_read, selection, binary, form)
        else:
            inputs_read.sources.append(_make_single_source(path, name, binary, form))
    for source in inputs_read.sources:
        source.form, source.as_bytes = form, binary
    return inputs_read


def _explain_missing(path: str) -> str:
    """Explain why a path does not exist."""
    if os.path.islink(path):
        leads = "leads back to itself" if _is_link_loop(path) else "does not exist"
        return f"symbolic link to {os.readlink(path)}, which {leads}"
    return "no such file or directory"


def _is_link_loop(path: str) -> bool:
    """Tell whether a path is in a loop of links."""
    try:
        Path(path).stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _make_single_source(path: str, name: str, binary: bool, form: TextForm) -> Source:
    """Make the source of an input that is a file or a stream."""
    if is_stream(path):
        kind, compression = guess_from_name(name)
        return Source(path, name, name, kind or "text", compression, "", compression)
    return _make_source(path, name, name, format_of(path, binary, form.encoding), True)


def _make_source(path: str, name: str, label: str, file_format: Format, named: bool, size: int | None = None) -> Source:
    """Make a source of a file with a known format, and with a known size if it is given."""
    return Source(
        path, name, label, file_format.kind, file_format.compression, path, file_format.compression,
        encoding=file_format.encoding, problem=file_format.problem, named=named, size=size,
    )


def _find_remote(
    url: str, name: str, prefix: str, result: Inputs, selection: Selection, binary: bool, form: TextForm
) -> None:
    """Find the files of a URL. They are treated as streams: the first pass copies them."""

    def formats(urls: list[str]) -> Iterator[tuple[Format, int | None]]:
        for path, head in zip(urls, read_beginnings(urls), strict=True):
            yield recognise_source(posixpath.basename(path), io.BytesIO(head), binary, form.encoding), None

    below = list_files(url)
    if below is None:
        result.sources.append(replace(_make_source(url, name, name, next(formats([url]))[0], True), location=""))
        return
    own = _own_folders(url, below, selection)
    result.ignored.extend(Ignored(path, _OWN[kind]) for path, kind in own.values())
    entries = [
        (path, relative, _explain_exclusion(relative, selection))
        for path, relative in below
        if not any(relative.startswith(folder) for folder in own)
    ]
    before = len(result.sources)
    _add_files(entries, name, prefix, result, formats)
    for source in result.sources[before:]:
        source.location = ""


def _find_in_directory(
    directory: str, name: str, prefix: str, result: Inputs, selection: Selection, binary: bool, form: TextForm
) -> None:
    """Find the files of a local directory."""
    entries = [(os.path.join(directory, relative), relative, why) for relative, why in sorted(_walk(directory, selection))]
    _add_files(entries, name, prefix, result, lambda paths: _read_formats(paths, binary, form.encoding))


def _read_formats(paths: list[str], binary: bool, encoding: str) -> Iterator[tuple[Format, int | None]]:
    """Yield the format of each file, and the size of those so short that their beginning is all of them."""
    for start in range(0, len(paths), TOGETHER):
        together = paths[start : start + TOGETHER]
        for path, text in zip(together, _short.read(together, HEAD)[0], strict=True):
            if text is None:
                yield format_of(path, binary, encoding), None
            else:
                yield recognise_source(path, io.BytesIO(text), binary, encoding), len(text)


def _add_files(
    entries: list[tuple[str, str, str]],
    name: str,
    prefix: str,
    result: Inputs,
    formats: Callable[[list[str]], Iterator[tuple[Format, int | None]]],
) -> None:
    """Add the files of a directory, given as (path, path below the directory, reason to skip it or an empty string).

    `formats` yields the format of each path, and its size if that is known.
    """
    descriptions = _find_descriptions([relative for _, relative, ignored in entries if not ignored])
    formats_of_files = formats([path for path, relative, ignored in entries if not ignored and relative not in descriptions])
    for path, relative, ignored in entries:
        if ignored == _EXCLUDED:
            result.excluded += 1
        elif ignored:
            result.ignored.append(Ignored(path, ignored))
        elif relative in descriptions:
            result.companions.append((path, f"{name}/{relative}"))
            result.ignored.append(Ignored(path, "description of a dataset"))
        else:
            kind, size = next(formats_of_files)
            if kind.binary:
                result.ignored.append(Ignored(path, kind.binary))
            elif kind.kind == "cdx":  # its archives are in the directory, or elsewhere
                result.ignored.append(Ignored(path, "index of web archives"))
            else:
                result.sources.append(_make_source(path, f"{name}/{relative}", f"{prefix}{relative}", kind, False, size))


def _own_folders(url: str, below: Sequence[tuple[str, str]], selection: Selection) -> dict[str, tuple[str, str]]:
    """Map the outermost folders that ndcore wrote, each with a final ``/``, to (URL, kind).

    UsageError where the directory itself is one.
    """
    marks = [pair for pair in below if posixpath.basename(pair[1]) in NAMES]
    own: dict[str, tuple[str, str]] = {}
    heads = read_beginnings([path for path, _ in marks])
    for (path, relative), head in sorted(zip(marks, heads, strict=True), key=lambda item: item[0][1].count("/")):
        folder, _, name = relative.rpartition("/")
        kind = own_remote(name, head)
        if kind is None or not _is_searched(folder, selection) or any(relative.startswith(outer) for outer in own):
            continue
        if not folder:
            hint = "its documents are below kept/ or annotated/: name that" if kind == OUTPUT else "name the documents"
            raise UsageError(f"{url} is {_ARTICLES[kind]} {_OWN[kind]}, and no folder of documents; {hint}")
        own[f"{folder}/"] = path.removesuffix(f"/{name}"), kind
    return own


def _explain_exclusion(relative: str, selection: Selection) -> str:
    """Explain by its path why a file of a directory is not read; empty if it is read."""
    if not selection.hidden and any(part.startswith(".") for part in relative.split("/")):
        return "hidden file"
    return "" if _is_searched(posixpath.dirname(relative), selection) and selection.reads(relative) else _EXCLUDED


def _is_searched(folder: str, selection: Selection) -> bool:
    """Tell whether a folder is searched: neither it nor a folder above it is excluded or hidden."""
    parts = folder.split("/") if folder else []
    if not selection.hidden and any(part.startswith(".") for part in parts):
        return False
    return all(selection.enters("/".join(parts[:depth])) for depth in range(1, len(parts) + 1))


def _find_descriptions(files: list[str]) -> set[str]:
    """Find the descriptions of Arrow files beside them, as written by ``save_to_disk`` of Hugging Face's ``datasets``."""
    datasets = {posixpath.dirname(file) for file in files if file.endswith(".arrow")}
    splits = {posixpath.dirname(folder) for folder in datasets if folder}
    candidates = {posixpath.join(folder, name) for folder in datasets for name in ("state.json", "dataset_info.json")}
    candidates |= {posixpath.join(folder, "dataset_dict.json") for folder in splits}
    return candidates & set(files)


def _walk(directory: str, selection: Selection) -> Iterator[tuple[str, str]]:
    """Yield (relative path, reason to skip it or an empty string) of files below `directory`, in no particular order.

    A folder that is not searched is yielded as one path.
    """
    pending = [""]
    while pending:
        below = pending.pop()
        here = os.path.join(directory, below) if below else directory
        try:
            entries = list(os.scandir(here))
        except OSError as error:
            raise DocumentError(here, None, f"cannot be listed: {error.strerror or error}") from error
        own = own_directory(Path(here), {entry.name for entry in entries} & NAMES) if below else None
        if own is not None:
            yield below, _OWN[own]
            continue
        for entry in entries:
            relative = f"{below}/{entry.name}" if below else entry.name
            folder, regular = entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)
            if not selection.hidden and entry.name.startswith("."):
                yield relative, "hidden folder" if folder else "hidden file"
            elif not (selection.enters(relative) if folder else selection.reads(relative)):
                yield relative, _EXCLUDED
            elif folder:
                pending.append(relative)
            elif is_own_file(entry.path):
                yield relative, "file of ndcore"
            else:
                yield relative, "" if regular or _is_dangling(entry) or entry.is_file() else _name_special(entry)


def _name_special(entry: os.DirEntry[str]) -> str:
    """Name the kind of an entry that is neither a file nor a directory."""
    if entry.is_dir():
        return "link to a directory"
    mode = entry.stat().st_mode
    return "FIFO" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"


def _is_dangling(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a link to nothing, or to itself: a document that cannot be read, and must be reported."""
    return entry.is_symlink() and not os.path.exists(entry.path)
