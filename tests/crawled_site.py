"""A web site on this machine for crawls, made from a seed: real pages, and what leads crawlers astray. No test is here.

Distinct contents: sections, their articles, two short hubs, a list in parts, a calendar with events. The same contents
again: a mirror on another host and one in a folder, printer versions, a shop with session ids, months without events for
ever, and a trap of relative links.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

SECTIONS, ARTICLES, GOODS, EVENTFUL, PARTS = 2, 5, 5, 3, 3
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnp" for vowel in "aeiou"]


def prose(seed: str, count: int) -> str:
    """Make up words; texts of different seeds share none but by chance."""
    source = random.Random(seed)
    return " ".join("".join(source.choices(SYLLABLES, k=3)) for _ in range(count))


def page(title: str, text: str, links: dict[str, str], head: str = "") -> str:
    """Make HTML. links: the text of each by its URL."""
    listed = "".join(f'<li><a href="{url}">{name}</a></li>' for url, name in links.items())
    body = f"<h1>{title}</h1><p>{text}</p><ul>{listed}</ul>"
    return f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>"


@dataclass
class Site:
    """The site: `log` has the content and the URL of every page that was asked for; `port` is set by `serving`."""

    port: int = 0
    log: list[tuple[str, str]] = field(default_factory=list)

    def start(self) -> list[str]:
        """Return the start pages: the home page on two hosts."""
        return [f"http://127.0.0.1:{self.port}/", f"http://localhost:{self.port}/"]

    def contents(self) -> set[str]:
        """Return the distinct contents that were reached."""
        return {content for content, _ in self.log}

    def answer(self, host: str, url: str) -> str | None:
        """Return the page of a URL, and log it; None where there is none."""
        parts = urlsplit(url)
        prefix = "/mirror" if parts.path.startswith("/mirror/") else ""
        path = parts.path.removeprefix(prefix)
        session = parse_qs(parts.query).get("sid", [""])[0]
        made = self._page(prefix, [part for part in path.split("/") if part], session)
        if made is None:
            return None
        content, html = made
        self.log.append((content, f"http://{host}{url}"))
        return html

    def _page(self, at: str, path: list[str], session: str) -> tuple[str, str] | None:
        """Return (content, HTML) of a path below the mirror `at`."""
        match path:
            case []:
                links = {f"{at}/section/{s}": f"section {s}" for s in range(SECTIONS)}
                others = ("hub/one", "hub/two", "list/0", "calendar/2026/1", "shop/0", "trap/", "about")
                links |= {f"{at}/{name}": name.partition("/")[0] for name in others}
                return "home", page("Home", prose("home", 60), links | ({} if at else {"/mirror/": "mirror"}))
            case ["about"]:  # names the home page as its canonical URL, wrongly, and leads on
                return "about", page("About", prose("about", 90), {f"{at}/article/history": "history"},
                                     f'<link rel="canonical" href="http://127.0.0.1:{self.port}/">')
            case ["section", s]:
                links = {f"{at}/article/{s}-{i}": prose(f"title {s} {i}", 8) for i in range(ARTICLES)}
                return f"section {s}", page(f"Section {s}", prose(f"section {s}", 70), links)
            case ["article", name]:
                return f"article {name}", page("Article", self._article(name), {f"{at}/print/{name}": "print"})
            case ["print", name]:
                links = {f"{at}/print/{other}": other for other in self._related(name)}
                return f"article {name}", page("Article", self._article(name), links,
                                               f'<link rel="canonical" href="{at}/article/{name}">')
            case ["hub", name]:  # too short to judge: the same words, and different links
                links = {f"{at}/article/{name}-{i}": str(i) for i in range(3)}
                return f"hub {name}", page("Welcome", "Please choose.", links)
            case ["list", number]:
                links = {f"{at}/article/list{number}-{i}": prose(f"list {number} {i}", 9) for i in range(4)}
                more = {f"{at}/list/{int(number) + 1}": "more"} if int(number) + 1 < PARTS else {}
                return f"list {number}", page("All articles", "", links | more)
            case ["calendar", year, month]:
                return self._month(at, int(year), int(month))
            case ["event", name]:
                return f"event {name}", page("Event", prose(f"event {name}", 100), {})
            case ["shop", good]:  # every page that is fetched gets new session ids into its links
                new = hashlib.md5(f"{at} {good} {session}".encode()).hexdigest()[:12]
                others = ((int(good) + step) % GOODS for step in (1, -1))
                links = {f"{at}/shop/{other}?sid={new}": f"good {other}" for other in others}
                return f"good {good}", page("Shop", prose(f"good {good}", 90), links)
            case ["trap", *_]:
                return "trap", page("Documents", prose("trap", 90), {"more/": "more", "other/": "other"})
        return None

    def _article(self, name: str) -> str:
        """Return the text of an article."""
        return prose(f"article {name}", 120)

    def _related(self, name: str) -> list[str]:
        """Return the articles beside one of a section."""
        section, _, number = name.partition("-")
        return [f"{section}-{i}" for i in range(ARTICLES)] if section.isdigit() and number else []

    def _month(self, at: str, year: int, month: int) -> tuple[str, str]:
        """Return a month of the calendar: events in the first months, for ever none in the others."""
        number = (year - 2026) * 12 + month
        events = [f"{number}-{i}" for i in range(2)] if number <= EVENTFUL else []
        notes = " ".join(prose(f"note {name}", 40) for name in events)
        text = f"{prose(str(month), 1)} {year}. {prose('calendar', 110)} {notes}"
        following = f"{at}/calendar/{year + month // 12}/{month % 12 + 1}"
        links = {f"{at}/event/{name}": f"event {name}" for name in events} | {following: "next month"}
        return f"month {number}" if events else "month without events", page("Calendar", text, links)


@contextmanager
def serving() -> Iterator[Site]:
    """Serve a site on a free port of this machine, by threads of this process."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            html = site.answer(self.headers.get("Host", ""), self.path)
            body = (html or "not found").encode()
            self.send_response(200 if html else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
