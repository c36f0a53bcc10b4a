"""A web site on this machine for crawls, made from a seed: real pages, and what leads crawlers astray. No test is here.

Distinct contents: sections, their articles, two short hubs, a list in parts, a calendar with events. The same contents
again: a mirror on another host and one in a folder, printer versions, a shop with session ids, months without events for
ever, and a trap of relative links.
"""

from __future__ import annotations

from sites import Page, Site, page, prose

SECTIONS, ARTICLES, GOODS, EVENTFUL, PARTS = 2, 5, 5, 3, 3


class CrawledSite(Site):
    """The site, with a mirror of it in a folder; a server has it on two hosts."""

    depth = 5

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        at, path = ("/mirror", path[1:]) if path[:1] == ["mirror"] else ("", path)
        match path:
            case []:
                links = {f"{at}/section/{s}": f"section {s}" for s in range(SECTIONS)}
                others = ("hub/one", "hub/two", "list/0", "calendar/2026/1", "shop/0", "trap/", "about")
                links |= {f"{at}/{name}": name.partition("/")[0] for name in others}
                return page("home", "Home", prose("home", 60), links | ({} if at else {"/mirror/": "mirror"}))
            case ["about"]:  # names the home page as its canonical URL, wrongly, and leads on
                return page("about", "About", prose("about", 90), {f"{at}/article/history": "history"},
                            '<link rel="canonical" href="/">')
            case ["section", s]:
                links = {f"{at}/article/{s}-{i}": prose(f"title {s} {i}", 8) for i in range(ARTICLES)}
                return page(f"section {s}", f"Section {s}", prose(f"section {s}", 70), links)
            case ["article", name]:
                return page(f"article {name}", "Article", self._article(name), {f"{at}/print/{name}": "print"})
            case ["print", name]:
                links = {f"{at}/print/{other}": other for other in self._related(name)}
                return page(f"article {name}", "Article", self._article(name), links,
                            f'<link rel="canonical" href="{at}/article/{name}">')
            case ["hub", name]:  # too short to judge: the same words, and different links
                links = {f"{at}/article/{name}-{i}": str(i) for i in range(3)}
                return page(f"hub {name}", "Welcome", "Please choose.", links)
            case ["list", number]:
                links = {f"{at}/article/list{number}-{i}": prose(f"list {number} {i}", 9) for i in range(4)}
                more = {f"{at}/list/{int(number) + 1}": "more"} if int(number) + 1 < PARTS else {}
                return page(f"list {number}", "All articles", "", links | more)
            case ["calendar", year, month]:
                return self._month(at, int(year), int(month))
            case ["event", name]:
                return page(f"event {name}", "Event", prose(f"event {name}", 100), {})
            case ["shop", good]:  # every page that is fetched gets new session ids into its links
                others = ((int(good) + step) % GOODS for step in (1, -1))
                links = {f"{at}/shop/{other}?sid={session}": f"good {other}" for other in others}
                return page(f"good {good}", "Shop", prose(f"good {good}", 90), links)
            case ["trap", *_]:
                return page("trap", "Documents", prose("trap", 90), {"more/": "more", "other/": "other"})
        return None

    def _article(self, name: str) -> str:
        """Return the text of an article."""
        return prose(f"article {name}", 120)

    def _related(self, name: str) -> list[str]:
        """Return the articles beside one of a section."""
        section, _, number = name.partition("-")
        return [f"{section}-{i}" for i in range(ARTICLES)] if section.isdigit() and number else []

    def _month(self, at: str, year: int, month: int) -> Page:
        """Return a month of the calendar: events in the first months, for ever none in the others."""
        number = (year - 2026) * 12 + month
        events = [f"{number}-{i}" for i in range(2)] if number <= EVENTFUL else []
        notes = " ".join(prose(f"note {name}", 40) for name in events)
        text = f"{prose(str(month), 1)} {year}. {prose('calendar', 110)} {notes}"
        following = f"{at}/calendar/{year + month // 12}/{month % 12 + 1}"
        links = {f"{at}/event/{name}": f"event {name}" for name in events} | {following: "next month"}
        return page(f"month {number}" if events else "month without events", "Calendar", text, links)
