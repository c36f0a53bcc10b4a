"""``ndcore serve`` and ``ndcore token``: serve a store or a collection to browsers, or a store to programs that write."""

from __future__ import annotations

import json
from pathlib import Path

from ndcore.cli.command import blame_command, option_of
from ndcore.cli.commands import AccessTokenOptions, ServeOptions
from ndcore.files.errors import UsageError
from ndcore.human import printable
from ndcore.serve.access import TokenAccess
from ndcore.serve.request_log import RequestLog
from ndcore.serve.server import bind, check_installed, check_tls, opened, opened_for_writing, serve, serve_writing
from ndcore.serve.tokens import TokenFile, add_token


def run_serve(options: ServeOptions) -> int:
    check_installed()
    from ndcore.serve.app import Limits

    limits = Limits(options.max_text, options.timeout)

    def ready(url: str) -> None:
        options.outcome.message = "the server has stopped"
        kind, name = ("store", Path(options.path).resolve().name) if options.write else (source.kind, source.name)
        if options.json:
            print(json.dumps({"url": url, "kind": kind, "name": name}), flush=True)
        else:
            print(f"{printable(name)} is at {url} (Ctrl-C ends it)", flush=True)

    if not options.write:
        for name, given in options.take("tokens", "tls_certificate", "tls_key", "proxy", "backups", "shard", "shard_map",
                                        "log").items():
            if given:
                raise UsageError(f"{option_of(name)} needs --write: without it the server only reads, and answers this "
                                 "computer only")
        source = opened(options.path, options.timeout)
        with blame_command():
            bound = bind(options.host, options.port)
        with bound:
            serve(source, bound, limits, ready)
        return 0
    with blame_command():
        if options.tokens is None:
            raise ValueError("--write needs --tokens FILE; make the file with ndcore token FILE NAME --scope write")
        access = TokenAccess(TokenFile(options.tokens), options.proxy)
        if (options.shard is None) != (options.shard_map is None):
            raise ValueError("a shard needs both --shard NAME and --shard-map FILE; make the file with ndcore store shards")
        tls = _tls(options)
        log = None if options.log is None else RequestLog(options.log)
        bound = bind(options.host, options.port, anywhere=bool(tls or options.proxy))
    with bound:
        shard = None if options.shard is None or options.shard_map is None else (options.shard, options.shard_map)
        written = opened_for_writing(options.path, options.timeout, options.keep_keys * 3600, options.backups, shard)
        serve_writing(written, access, bound, limits, ready, tls, log)
    return 0


def run_token(options: AccessTokenOptions) -> int:
    with blame_command():
        token = add_token(options.file, options.name, options.scope)
    print(json.dumps({"name": options.name, "token": token}) if options.json else token)
    return 0


def _tls(options: ServeOptions) -> tuple[str, str] | None:
    """Return the files of the certificate and of its key; None without TLS."""
    if options.tls_certificate is None and options.tls_key is None:
        return None
    if options.tls_certificate is None or options.tls_key is None:
        raise ValueError("TLS needs both --tls-certificate FILE and --tls-key FILE")
    check_tls(options.tls_certificate, options.tls_key)
    return options.tls_certificate, options.tls_key
