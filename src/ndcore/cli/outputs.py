"""The outputs of a command: standard output, pages, and the checks before anything is read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TextIO, cast

from ndcore.files.errors import UsageError
from ndcore.files.output_paths import STDOUT, check_output
from ndcore.files.sources import starts_with
from ndcore.storage.container import replacing

__all__ = ["binary", "check_report", "write_page"]


def binary(stream: TextIO) -> IO[bytes]:
    """The binary file below a text stream."""
    below = getattr(stream, "buffer", None)
    if below is None:
        raise UsageError("standard output takes text only here; write to a directory")
    stream.flush()
    return cast("IO[bytes]", below)


def check_report(args: argparse.Namespace, inputs: Sequence[str]) -> None:
    """UsageError where no page can be written to ``args.report``, or should not be."""
    from ndcore.report.html import BEGINNING

    output = getattr(args, "output", None)
    if output not in (None, STDOUT) and Path(args.report).resolve().is_relative_to(Path(output).resolve()):
        raise UsageError(f"the report {args.report} lies in the output {output}; name a file beside it")

    def is_page(path: Path) -> bool:
        return starts_with(str(path), BEGINNING.encode())

    check_output(args.report, "page of ndcore", overwrite=args.overwrite, ours=is_page, inputs=inputs)


def write_page(path: str, page: str) -> None:
    """Write a page as a whole, or not at all."""
    data = page.encode()
    with replacing(path, durable=False, need=len(data)) as file:
        file.write(data)
