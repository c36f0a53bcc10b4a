"""``ndcore store``: its commands, and ``create``; the others stand in ``store_*.py``."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ndcore.cli.commands import CreateOptions
from ndcore.cli.inputs import checked_shingling
from ndcore.cli.options import TokenOptions
from ndcore.cli.store_access import described, print_json
from ndcore.files.errors import UsageError
from ndcore.human import printable
from ndcore.store.store import Store

__all__ = ["run_create"]


def run_create(options: CreateOptions) -> int:
    """Run ``ndcore store create``."""
    place = Path(options.store)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{options.store} exists already; name another directory, or add pages to a store with ndcore "
                         "store decide")
    if options.must_agree and options.evidence != "text":
        raise UsageError(f"--must-agree compares keys of the texts, and --evidence {options.evidence} keeps no texts")
    if options.min_shingles and options.evidence == "sketch":
        raise UsageError("--min-shingles counts shingles, and --evidence sketch keeps none")
    tokens = {field.name: getattr(options, field.name) for field in dataclasses.fields(TokenOptions)}
    shingling = checked_shingling(**{name: tokens[name] for name in ("width", "unit", "normalize", "stop_words")})
    with Store.open(
        options.store, threshold=options.threshold, shingling=shingling, num_perm=options.num_perm, seed=options.seed,
        evidence=options.evidence, scope=options.scope, keys=options.keys, min_shingles=options.min_shingles,
        must_agree=options.must_agree,
    ) as store:
        found = described(store)
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, **found})
    elif not options.quiet:
        print(f"Made the store {printable(options.store)}; ndcore store decide {printable(options.store)} IN adds pages")
    return 0
