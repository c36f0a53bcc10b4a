"""``ndcore store rules``: list rules of URLs that lead to the same page, mined from the pages of a store."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from ndcore.cli.account import Account, TextBlock, TextTable, present
from ndcore.cli.commands import RulesOptions
from ndcore.cli.store_access import open_store
from ndcore.human import counted, printable
from ndcore.store.store import Store
from ndcore.store.url_rules import MinedRule, mine_rules, origin_of


def run_rules(options: RulesOptions) -> int:
    """Run ``ndcore store rules``."""
    with open_store(options.store) as store:
        hosts, others = _group_pages(store)
    rules = [(host, mined) for host, pages in sorted(hosts.items()) for mined in mine_rules(pages)]
    data = [{"host": host, "rule": str(mined.rule), **mined.rule._asdict(), "support": mined.support,
             "against": mined.against, "confidence": mined.confidence, "examples": mined.examples} for host, mined in rules]
    return present(options, Account(data, _tell_rules(rules, sum(map(len, hosts.values())), len(hosts), others)))


def _group_pages(store: Store) -> tuple[dict[str, list[tuple[str, Hashable]]], int]:
    """Group the URLs and contents of the pages of a store by host, in order; also count the keys that are not URLs.

    Takes some 300 bytes of memory for each page.
    """
    hosts: dict[str, list[tuple[str, Hashable]]] = {}
    others = 0
    for key, first in store.classes():
        if isinstance(key, str) and "://" in key:
            hosts.setdefault(origin_of(key), []).append((key, first))
        else:
            others += 1
    return hosts, others


def _tell_rules(rules: list[tuple[str, MinedRule]], pages: int, hosts: int, others: int) -> Iterator[str | TextBlock]:
    """Describe the rules of each host for people, each with its first example."""
    yield f"{counted(len(rules), 'rule')} of {counted(pages, 'page')} on {counted(hosts, 'host')}"
    if others:
        yield f"{counted(others, 'key')} left out: not a URL"
    if rules:
        yield TextTable(("support", "confidence", "host", "rule", "example"), [_make_row(*each) for each in rules])


def _make_row(host: str, mined: MinedRule) -> tuple[Any, ...]:
    """Make the row of a rule in the table."""
    changed, same = (printable(url.removeprefix(host), 100) for url in mined.examples[0])
    return (f"{mined.support:,}", f"{mined.confidence:.3f}", printable(host), printable(str(mined.rule)),
            f"{changed} is {same}")
