"""What ``ndcore store decide`` says at the end: counts of verdicts and of versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol, TextIO

from ndcore._version import __version__
from ndcore.cli.summary import by_tags_list, by_tags_note, ignored_list, left_out, rejected_list
from ndcore.files.single_pass import SinglePass
from ndcore.human import counted

__all__ = ["Counts", "account", "print_account"]

_MEANING = {
    "kept": "new",
    "identical": "the same text as an earlier page, character for character",
    "lexical": "the same words in the same order",
    "shingle": "the same set of shingles",
    "near": "resemblance at or above the threshold",
}
_CHANGES = {
    "unchanged": "the same text", "lexical": "the same words", "near": "a small change", "other": "another text",
}


class Counts(Protocol):
    """What was decided: pages by verdict, and pages whose key was known by what changed."""

    found: Counter[str]
    versions: Counter[str]
    pages: SinglePass


def account(store: str, run: Counts, live: int, excluded: int) -> dict[str, Any]:
    """Make what ``--json`` prints.

    Parameters
    ----------
    store : str
        Path of the store.
    run : Counts
    live : int
        Pages in the store now.
    excluded : int
        Paths that patterns left out.
    """
    pages = run.pages
    return {
        "ndcore": __version__, "store": store,
        "counts": {"read": pages.read, "decided": run.found.total(), "rejected": len(pages.rejected)},
        "verdicts": _ordered(run.found, _MEANING), "versions": _ordered(run.versions, _CHANGES), "live": live,
        "rejected": rejected_list(pages.rejected), "ignored": ignored_list(pages.ignored), "excluded": excluded,
        "pages_by_tags": by_tags_list(pages),
    }


def _ordered(counts: Counter[str], names: Mapping[str, str]) -> dict[str, int]:
    return {name: counts[name] for name in names}


def print_account(run: Counts, live: int, excluded: int, stream: TextIO) -> None:
    """Print the account for people; parameters as of `account`."""
    pages = run.pages
    rejected = [("rejected", len(pages.rejected), "could not be read; standard error lists them")] if pages.rejected else []
    rows = [*((name, run.found[name], meaning) for name, meaning in _MEANING.items()), *rejected]
    width = max(len(f"{number:,}") for _, number, _ in rows)
    print(f"Decided {counted(run.found.total(), 'page')}", file=stream)
    for name, number, meaning in rows:
        print(f"  {name:<10} {number:>{width},}  {meaning}", file=stream)
    if run.versions:
        parts = ", ".join(f"{run.versions[name]:,} {name} ({meaning})" for name, meaning in _CHANGES.items()
                          if run.versions[name])
        many = run.versions.total() != 1
        known = "pages are new versions of pages" if many else "page is a new version of a page"
        print(f"  {run.versions.total():,} {known} in the store: {parts}", file=stream)
    kinds: Counter[str] = Counter(item.kind for item in pages.ignored)
    for number, noun, what in (*left_out(excluded, kinds, "--json lists"), by_tags_note(len(pages.by_tags))):
        if number:
            print(f"  note: {counted(number, noun)} {what}", file=stream)
    print(f"The store has {counted(live, 'page')}", file=stream)
