"""``ndcore serve``: a store or a collection in the browser, on this computer only."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ndcore.checks import parsed_size
from ndcore.cli.door import Options
from ndcore.cli.options import OUTPUT, SIZES, Commands, add_json
from ndcore.cli.values import bounded, integer, memory
from ndcore.files.errors import UsageError
from ndcore.human import printable
from ndcore.serve.server import bind, check_installed, opened, serve

__all__ = ["add_serve"]


def add_serve(commands: Commands) -> None:
    """Add ``ndcore serve`` to the commands."""
    p = commands.add_parser(
        "serve",
        description="Serve a store or a collection to a browser on this computer: paste a text or enter a key, and see its "
        "cluster, its versions and the marked differences; the same as JSON under /api, described in /openapi.json. It only "
        "reads, and follows a store that is being written. Other computers cannot reach it; every user of this one can. "
        "Ctrl-C ends it. Needs the extra serve.",
    )
    p.set_defaults(run=run_serve, options=ServeOptions)
    p.add_argument("path", metavar="STORE|COLLECTION", help="a directory made by ndcore store or ndcore cluster")
    address = p.add_argument_group("address")
    address.add_argument("--port", type=integer(0, 65535), default=8765, metavar="N",
                         help="port to listen on (default 8765); 0 takes any that is free")
    address.add_argument("--host", default="127.0.0.1", metavar="HOST",
                         help="127.0.0.1 (default), ::1 or localhost; addresses that others can reach are refused")
    limits = p.add_argument_group("limits")
    limits.add_argument("--max-text", type=memory, default=parsed_size("16M"), metavar="SIZE",
                        help=f"largest text that may be sent (default 16M; {SIZES})")
    limits.add_argument("--timeout", type=bounded(0.1, 3600), default=30.0, metavar="SECONDS",
                        help="longest time for an answer (default 30)")
    add_json(p.add_argument_group(OUTPUT), "print the address as a JSON object, once it answers")


@dataclass(frozen=True, kw_only=True)
class ServeOptions(Options):
    """Options of ``ndcore serve``."""

    path: str
    port: int
    host: str
    max_text: int
    timeout: float
    json: bool


def run_serve(options: ServeOptions) -> int:
    """Run ``ndcore serve`` until a signal ends it."""
    check_installed()
    from ndcore.serve.app import Limits

    source = opened(options.path, options.timeout)
    try:
        bound = bind(options.host, options.port)
    except ValueError as error:
        raise UsageError(str(error)) from error

    def ready(url: str) -> None:
        options.outcome.message = "the server has stopped"
        if options.json:
            print(json.dumps({"url": url, "kind": source.kind, "name": source.name}), flush=True)
        else:
            print(f"{printable(source.name)} is at {url} (Ctrl-C ends it)", flush=True)

    with bound:
        serve(source, bound, Limits(options.max_text, options.timeout), ready)
    return 0
