"""``ndcore serve``: a store or a collection in the browser, on this computer only."""

from __future__ import annotations

import json

from ndcore.cli.command import blame_command
from ndcore.cli.commands import ServeOptions
from ndcore.human import printable
from ndcore.serve.server import bind, check_installed, opened, serve


def run_serve(options: ServeOptions) -> int:
    """Run ``ndcore serve`` until a signal ends it."""
    check_installed()
    from ndcore.serve.app import Limits

    source = opened(options.path, options.timeout)
    with blame_command():
        bound = bind(options.host, options.port)

    def ready(url: str) -> None:
        options.outcome.message = "the server has stopped"
        if options.json:
            print(json.dumps({"url": url, "kind": source.kind, "name": source.name}), flush=True)
        else:
            print(f"{printable(source.name)} is at {url} (Ctrl-C ends it)", flush=True)

    with bound:
        serve(source, bound, Limits(options.max_text, options.timeout), ready)
    return 0
