"""Crawls of four generated sites with rules of URLs, with and without the dropping of held links, to the same depth.

The sites (`rule_sites`) were made after the rules and had no part in choosing any number of theirs. The share that is saved
after 10 % of the crawl is of the requests that Scrapy alone makes after its first tenth. Required: no way of dropping links
loses more than 1 in 200 of the contents that Scrapy alone reaches. The order of requests saves some, too: with "rules", held
links are followed last.
"""

from __future__ import annotations

import sys
from typing import Any

import rule_sites
from crawling import crawl
from measure import Report, options

NDCORE: dict[str, Any] = {
    "ADDONS": {"ndcore.crawl.scrapy.NearDuplicateAddon": 500}, "NDCORE_STORE": "pages.store", "NDCORE_HELD": "last"}
WAYS: dict[str, dict[str, Any]] = {
    "rules": {**NDCORE, "NDCORE_RULES": True}, "held links": {**NDCORE, "NDCORE_HELD": "drop"},
    "held links and rules": {**NDCORE, "NDCORE_HELD": "drop", "NDCORE_RULES": True},
}
FREE, LOST = 0.1, 1 / 200  # the share of a crawl in which nothing need be saved; the share of contents that may be lost


def main() -> int:
    arguments = options(__doc__, repeats=1).parse_args()
    report = Report("ruling", arguments)
    table = report.table("ruling", "Generated sites, crawled by Scrapy alone and with rules of URLs to the same depth", [
        "site", "what drops links", "requests", "saved after 10 %", "contents", "lost", "rules in use", "dropped by rules",
        "checked", "wrong"])
    for name, kind in list(rule_sites.SITES.items())[: 1 if arguments.quick else None]:
        everything, _, _ = crawl(site := kind())
        contents = {content for content, _ in everything} - {None}
        table.add(name, "nothing", len(everything), 0.0, len(contents), 0, 0, 0, 0, 0)
        for way, more in WAYS.items():
            asked, stats, seconds = crawl(site, **more)
            reached = {content for content, _ in asked} & contents
            lost, saved = len(contents - reached), 1 - len(asked) / len(everything)
            rules = [int(stats.get(f"ndcore/rules/{each}", 0)) for each in ("used", "dropped", "checked", "wrong")]
            table.add(name, way, len(asked), saved / (1 - FREE), len(reached), lost, *rules)
            report.require(lost <= LOST * len(contents), f"{name}, {way}: {lost} contents lost")
            print(f"{name}, {way}: {len(asked):,} requests in {seconds:.0f} s", file=sys.stderr, flush=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
