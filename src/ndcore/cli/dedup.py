"""What the subcommands of ``ndcore`` do. Each takes the parsed arguments and returns the exit code."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ndcore._version import __version__
from ndcore.cli import compare_text, comparison, summary, thresholds
from ndcore.cli.dedup_run import Run, binary, ids_of, load_sketches, refuse
from ndcore.cli.inputs import COLLECTION, SKETCHES, find_inputs, refuse_stdin_twice, text_field
from ndcore.cli.summary import printable
from ndcore.files.documents import Documents
from ndcore.files.errors import UsageError
from ndcore.files.ndcore_files import refuse_own
from ndcore.files.output_directory import OutputDirectory
from ndcore.files.output_paths import STDOUT, check_output
from ndcore.files.sources import starts_with
from ndcore.files.table_files import TableFile, check_apart
from ndcore.human import counted
from ndcore.sketch.sketches import Sketches
from ndcore.storage.container import kind_of, replacing

EXTRAS = {
    "msgspec": "cli",
    "rich": "cli",
    "shtab": "cli",
    "zstandard": "cli",
    "pyarrow": "parquet",
    "matplotlib": "plot",
    "fsspec": "remote",
    "fastwarc": "web",
    "resiliparse": "web",
}


def dedup(args: argparse.Namespace) -> int:
    """``ndcore dedup``."""
    begun = time.monotonic()
    args.threshold = args.thresholds[0]  # the others follow from what is found for the lowest
    if len(args.thresholds) > 1:
        _refuse_several(args)
    if args.output == STDOUT and args.json:
        raise UsageError("--json and -o - both write to standard output; give a directory, or leave --json out")
    if args.output == STDOUT:
        binary(sys.stdout)  # or it is refused, before anything is read
    output = None if args.output == STDOUT else OutputDirectory(args.output, args.overwrite)
    found, known = find_inputs(args, (args.inputs, {SKETCHES}), (args.against, {SKETCHES, COLLECTION}))
    if output is not None:
        output.refuse_overlap([*found.sources, *known.sources])
    if args.report is not None:
        check_report(args, [*args.inputs, *args.against])
    tables = _tables(args)
    refuse(args, found, known)
    if args.dry_run:
        from ndcore.cli.dry_run import of_dedup

        return of_dedup(args, found, known)
    with contextlib.ExitStack() as stack:
        run = Run(args, found, known, stack)
        if output is not None:
            stack.enter_context(output)
        for table in tables:
            stack.enter_context(table)
        run.find_duplicates()
        _write_tables(run, tables)
        account = _write(run, output)
        page = _report(run, account) if args.report is not None else None
        if output is not None:
            output.commit()
        for table in tables:
            table.commit()
        args.outcome.written = True
    if page is not None:
        write_page(args.report, page)
    stream = sys.stderr if output is None else sys.stdout
    if args.json:
        print(json.dumps(account, indent=2))
    elif not args.quiet:
        if len(args.thresholds) > 1:
            thresholds.print_table(account, summary.notes(account, args.output), args.output, stream)
        else:
            summary.report(account, run.verdicts, args.output, stream, run.shown, run.example())
        if page is not None:
            print(f"The report for a browser is {printable(args.report)}", file=stream)
        for table in tables:
            print(f"A table for other programs is {printable(table.path)}", file=stream)
        if sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - begun:.1f} seconds", file=sys.stderr)
    return 0


def _refuse_several(args: argparse.Namespace) -> None:
    """UsageError for outputs that hold the result of one threshold."""
    for option, given in (("-o -", args.output == STDOUT), ("--table", args.table), ("--pairs", args.pairs)):
        if given:
            raise UsageError(f"{option} is of one threshold; give one, or leave {option} out")


def _write(run: Run, output: OutputDirectory | None) -> dict[str, Any]:
    """Write the result to standard output, or below a directory; of several thresholds, to a folder each."""
    if output is None:
        return run.print()
    several = run.args.thresholds
    return thresholds.write_each(run, output, several) if len(several) > 1 else run.write(output)


def _tables(args: argparse.Namespace) -> list[TableFile]:
    """The files of --table and --pairs."""
    paths = [path for path in (args.table, args.pairs) if path is not None]
    check_apart([args.output, args.report, *paths])
    return [TableFile(path, args.overwrite, [*args.inputs, *args.against]) for path in paths]


def _write_tables(run: Run, tables: list[TableFile]) -> None:
    from ndcore.cli.dedup_tables import documents_of, pairs_of

    for table in tables:
        table.write(documents_of(run) if table.path == run.args.table else pairs_of(run))


def _report(run: Run, account: dict[str, Any]) -> str:
    from ndcore.cli.dedup_page import dedup_page

    return dedup_page(run, account)


_NEXT = {
    "minhash": "ndcore dedup {0} -o OUTDIR, or ndcore dedup IN -o OUTDIR --against {0}",
    "bottom": "ndcore cluster {0} -o COLLECTION",
    "mod": "ndcore cluster {0} -o COLLECTION",
    "simhash": "ndcore hamming pairs {0}, or ndcore hamming build {0} -o INDEX",
}


def sketch(args: argparse.Namespace) -> int:
    """``ndcore sketch``."""
    from ndcore.cli.sketch import planned_sketcher, sketch_documents

    check_output(args.output, "file of sketches", overwrite=args.overwrite, ours=_is("sketches"), inputs=args.inputs)
    if args.learn is not None:
        _check_learned(args)
    (found,) = find_inputs(args, (args.inputs, {SKETCHES}))
    if args.dry_run:
        from ndcore.cli.dry_run import of_sketch

        return of_sketch(args, found, planned_sketcher(args, found))
    documents, sketches = sketch_documents(args, found)
    args.outcome.written = True
    summary.print_rejected(documents.rejected, sys.stderr)  # no other file lists them
    if args.json:
        print(json.dumps(_sketched(args, documents, sketches), indent=2))
    elif not args.quiet:
        size = Path(args.output).stat().st_size
        empty = len(sketches) - int(sketches.valid.sum())
        without = f", {empty:,} of them without shingles," if empty else ""
        name = printable(args.output)
        print(f"Sketched {counted(len(sketches), 'document')}{without} to {name} ({size:,} bytes)")
        ignored = Counter(item.kind for item in documents.ignored)
        for number, noun, what in summary.left_out(documents.excluded, ignored, "--json lists"):
            if number:
                print(f"  note: {counted(number, noun)} {what}")
        if documents.without_main:
            print(f"  note: {counted(documents.without_main, 'page')} {summary.NO_MAIN}")
        print(f"Next: {_NEXT[args.kind].format(name)}")
    return 0


def _sketched(args: argparse.Namespace, documents: Documents, sketches: Sketches) -> dict[str, Any]:
    """The account of ``ndcore sketch``; equal runs, equal bytes."""
    return {
        "ndcore": __version__,
        "output": args.output,
        "file_bytes": Path(args.output).stat().st_size,
        "counts": {
            "read": documents.read,
            "sketched": len(sketches),
            "without_shingles": len(sketches) - int(sketches.valid.sum()),
            "rejected": len(documents.rejected),
        },
        "recipe": {"id": sketches.recipe.id, "parameters": json.loads(sketches.recipe.to_json())},
        "inputs": summary.input_counts(documents, None),
        "rejected": summary.rejected_list(documents.rejected),
        "ignored": summary.ignored_list(documents.ignored),
        "excluded": documents.excluded,
    }


def _check_learned(args: argparse.Namespace) -> None:
    """UsageError where ``--learn`` cannot write its weights, or should not."""
    if args.weights is None and Path(args.learn).is_file() and not args.overwrite:
        raise UsageError(f"{args.learn} exists already: take its weights with --weights {args.learn}, or --overwrite it")
    check_output(args.learn, "file of weights", overwrite=args.overwrite, ours=_is("idf"), inputs=args.inputs)


def _is(kind: str) -> Callable[[Path], bool]:
    return lambda path: kind_of(path) == kind


def compare(args: argparse.Namespace) -> int:
    """``ndcore compare``."""
    refuse_stdin_twice([args.a, args.b])
    if args.report is not None:
        check_report(args, [name.partition("#")[0] for name in (args.a, args.b)])
    shingling = comparison.shingling_of(args)
    advice = "" if args.unit == "byte" else ", or compare with --unit byte"
    a, b = (
        comparison.load(name, text_field(args), args.id_field, args.unit, args.html_part, advice)
        for name in (args.a, args.b)
    )
    found = comparison.compare(a, b, (args.a, args.b), shingling, args.threshold)
    if args.report is not None:
        from ndcore.cli.compare_page import compare_page

        write_page(args.report, compare_page(found))
        args.outcome.written = True
    if args.json:
        print(json.dumps(comparison.as_json(found), indent=2))
    elif args.report is not None:
        print(f"{found.sentence[:1].upper()}{found.sentence[1:]}; the page is {printable(args.report)}")
    else:
        compare_text.report(found, sys.stdout, args.all)
    return 0


def write_page(path: str, page: str) -> None:
    """Write a page as a whole, or not at all."""
    data = page.encode()
    with replacing(path, durable=False, need=len(data)) as file:
        file.write(data)


def check_report(args: argparse.Namespace, inputs: Sequence[str]) -> None:
    """UsageError where no page can be written to ``args.report``, or should not be."""
    from ndcore.report.html import BEGINNING

    output = getattr(args, "output", None)
    if output not in (None, STDOUT) and Path(args.report).resolve().is_relative_to(Path(output).resolve()):
        raise UsageError(f"the report {args.report} lies in the output {output}; name a file beside it")

    def is_page(path: Path) -> bool:
        return starts_with(str(path), BEGINNING.encode())

    check_output(args.report, "page of ndcore", overwrite=args.overwrite, ours=is_page, inputs=inputs)


def info(args: argparse.Namespace) -> int:
    """``ndcore info``."""
    if args.json:
        print(json.dumps(summary.plain(_installed() if args.file is None else _described(args.file)), indent=2))
        return 0
    lines = _installation() if args.file is None else _sketches(args.file)
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")
    return 0


def _installed() -> dict[str, Any]:
    """The installation for programs: of a package that is missing, null."""
    import ndcore

    versions: dict[str, str | None] = dict.fromkeys(EXTRAS)
    for package in EXTRAS:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "ndcore": ndcore.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": processor(),
        "cores": _cores(),
        "kernels": ndcore.variants(),
        "packages": versions,
    }


def _described(path: str) -> dict[str, Any]:
    """A file of sketches for programs."""
    refuse_own(path, {SKETCHES})
    sketches = load_sketches([path])
    return {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "documents": len(sketches),
        "without_shingles": int((~sketches.valid).sum()),
        "ids": sketches.ids is not None,
        "recipe": {"id": sketches.recipe.id, "parameters": json.loads(sketches.recipe.to_json())},
    }


def _installation() -> list[tuple[str, str]]:
    import ndcore

    lines = [
        (
            "ndcore",
            f"{ndcore.__version__} (Python {platform.python_version()}, {platform.system()} {platform.machine()})",
        ),
        ("processor", processor()),
        ("cores", str(_cores())),
    ]
    variants: dict[str, Any] = ndcore.variants()
    lines += [(f"kernel {name}", _variant(value)) for name, value in variants.items()]
    for package, extra in EXTRAS.items():
        try:
            lines.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            lines.append((package, f"not installed: pip install 'ndcore[{extra}]'"))
    return lines


def _variant(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(str(item) for item in value) if isinstance(value, Sequence) else str(value)


def processor() -> str:
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _sketches(path: str) -> list[tuple[str, str]]:
    refuse_own(path, {SKETCHES})
    sketches = load_sketches([path])
    recipe = sketches.recipe
    ids = ids_of(sketches)
    lines = [
        ("file", f"{printable(path)} ({Path(path).stat().st_size:,} bytes)"),
        ("documents", f"{len(sketches):,}"),
        ("without shingles", f"{int((~sketches.valid).sum()):,}"),
        ("ids", f"{printable(str(ids[0]), 60)} to {printable(str(ids[-1]), 60)}" if len(ids) else "none"),
        ("recipe id", recipe.id),
    ]
    return lines + [(f"  {name}", value) for name, value in _flat(recipe.parameters)]


def _flat(parameters: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, dict) and all(item is True for item in value.values()):
            found.append((f"{prefix}{name}", printable(" ".join(value), 60)))
        elif isinstance(value, dict):
            found += _flat(value, f"{prefix}{name}.")
        else:
            shown = hex(value) if isinstance(value, int) and abs(value) >= 1 << 32 else str(value)
            found.append((f"{prefix}{name}", shown))
    return found
