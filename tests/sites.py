"""Web sites made from a seed, for crawls: a shop, a forum, a calendar, a wiki and a news site, each on two hosts.

Each has a finite number of contents, some of them behind pages that look alike, and leads to the same contents by many URLs:
a mirror on the other host, session ids, orders of lists, printer versions, forms, months without end. A session id is new on
each page that is fetched, so there is no end of URLs. No test is here; `bench/crawling.py` crawls them, too.
"""

from __future__ import annotations

import functools
import random
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urljoin, urlsplit

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnp" for vowel in "aeiou"]
HREF = re.compile('href="([^"]*)"')


class Page(NamedTuple):
    """A page. content: the name of what it shows, None where it shows another page's content in another form."""

    content: str | None
    html: str


@functools.lru_cache(1 << 14)  # pages of a mirror, and of a second crawl
def prose(seed: str, count: int) -> str:
    """Make up words; texts of different seeds share none but by chance."""
    source = random.Random(seed)
    return " ".join("".join(source.choices(SYLLABLES, k=3)) for _ in range(count))


def page(content: str | None, title: str, text: str, links: dict[str, str], head: str = "") -> Page:
    """Make a page. links: the text of each by its URL; head: more HTML for its head."""
    listed = "".join(f'<li><a href="{url}">{name}</a></li>' for url, name in links.items())
    body = f"<h1>{title}</h1><p>{text}</p><ul>{listed}</ul>"
    return Page(content, f"<html><head><title>{title}</title>{head}</head><body>{body}</body></html>")


class Site:
    """A site. depth: the links from the start to the deepest page that a crawl asks for."""

    depth = 8

    def answer(self, url: str) -> Page | None:
        """Return the page of a URL, None where there is none."""
        parts = urlsplit(url)
        session = md5(url.encode()).hexdigest()[:10]
        try:
            return self.page([name for name in parts.path.split("/") if name], dict(parse_qsl(parts.query)), session)
        except ValueError:
            return None

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        """Make the page of a path and a query. session: an id for the links of this page."""
        raise NotImplementedError

    def contents(self, start: str) -> set[str]:
        """Return the contents that links lead to, in `depth` steps from a page."""
        reached, seen, pages = set[str](), {start}, [start]
        for depth in range(self.depth + 1):
            following = []
            for url in pages:
                if (answer := self.answer(url)) is None:
                    continue
                reached |= {answer.content} - {None}  # type: ignore[operator]
                following += [link for link in links_of(url, answer) if "sid=" not in link] if depth < self.depth else []
            pages = [url for url in dict.fromkeys(following) if url not in seen]
            seen.update(pages)
        return reached


def links_of(url: str, answer: Page) -> list[str]:
    """Return the URLs that a page links to."""
    return [urljoin(url, link) for link in HREF.findall(answer.html)]


class Shop(Site):
    """Categories in pages and in two orders; products that look alike, and a manual behind each; carts and session ids."""

    categories, goods, listed = 8, 30, 10
    depth = 6
    frame = prose("shop", 170)

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        match path:
            case []:
                links = {f"/cat/{c}": f"category {c}" for c in range(self.categories)}
                return page("home", "Shop", prose("shop home", 80), links)
            case ["cat", c]:
                return self._category(int(c), int(query.get("page", 0)), query.get("sort", "name"))
            case ["product", number]:
                i, all_goods = int(number), self.categories * self.goods
                return page(f"product {i}", "Product", f"{self.frame} {prose(f'product {i}', 12)}", {
                    f"/manual/{i}": "manual", f"/cart?add={i}&sid={session}": "buy",
                    f"/product/{(i + 1) % all_goods}?sid={session}": "next",
                    f"/product/{(i * 7 + 3) % all_goods}?sid={session}": "similar"})
            case ["manual", i]:
                return page(f"manual {i}", "Manual", prose(f"manual {i}", 150), {f"/product/{i}": "product"})
            case ["cart"]:
                links = {"/": "home", f"/cart?sid={session}": "again"}
                return page("cart", "Cart", f"{prose('cart', 90)} {query.get('add')}", links)
        return None

    def _category(self, category: int, number: int, order: str) -> Page:
        goods = list(range(category * self.goods, (category + 1) * self.goods))
        if order == "price":
            goods.sort(key=lambda i: md5(str(i).encode()).digest())
        links = {f"/product/{i}": prose(f"name {i}", 3) for i in goods[number * self.listed : (number + 1) * self.listed]}
        links |= {f"/cat/{category}?sort={each}&page={number}": each for each in ("name", "price")}
        if (number + 1) * self.listed < self.goods:
            links[f"/cat/{category}?page={number + 1}{'&sort=price' if order == 'price' else ''}"] = "next"
        return page(f"category {category} {number}" if order == "name" else None, "Category", self.frame, links)


class Forum(Site):
    """Boards, topics of some pages with printer and flat views and forms; members that look alike, and the posts of each."""

    topics, members = 100, 60
    frame = prose("forum", 150)

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        start = int(query.get("start", 0))
        match path:
            case []:
                return page("home", "Forum", prose("forum home", 60), {f"/board/{b}": f"board {b}" for b in range(5)})
            case ["board", b]:
                return self._board(int(b), start, "order" in query)
            case ["topic", t]:
                names = [random.Random(f"{t} {start} {post}").randrange(self.members) for post in range(4)]
                links = {f"/user/{name}": f"user {name}" for name in names}
                links |= {f"/topic/{t}?start={k}": str(k) for k in range(1 + int(t) % 3)}
                links |= {f"/reply?topic={t}&start={start}": "reply", f"/print/{t}?start={start}": "print"}
                links |= {f"/topic/{t}?start={start}&{more}": more for more in (f"sid={session}", "view=flat")}
                return page(f"topic {t} {start}", "Topic", self._posts(t, start), links)
            case ["print", t]:
                return page(None, "Topic", self._posts(t, start), {f"/topic/{t}": "back"})
            case ["reply"]:
                topic = query.get("topic", "0")
                return page("reply", "Reply", self.frame, {f"/topic/{topic}?start={start}&sid={session}": "back",
                                                           f"/help?sid={session}": "help"})
            case ["help"]:
                return page("help", "Help", prose("help", 100), {f"/?sid={session}": "home"})
            case ["user", u]:
                return page(f"user {u}", "User", f"{self.frame} {prose(f'user {u}', 10)}", {
                    f"/posts/{u}": "posts", f"/user/{u}?tab=friends&sid={session}": "friends"})
            case ["posts", u]:
                return page(f"posts {u}", "Posts", prose(f"posts {u}", 120), {f"/user/{u}": "back"})
        return None

    def _board(self, board: int, start: int, descending: bool) -> Page:
        all_topics = range(board * self.topics // 5, (board + 1) * self.topics // 5)
        links = {f"/topic/{t}": prose(f"topic {t}", 5) for t in all_topics[start : start + 10]}
        if start + 10 < len(all_topics):
            links[f"/board/{board}?start={start + 10}"] = "more"
        links[f"/board/{board}?start={start}&order=desc"] = "newest first"
        return page(None if descending else f"board {board} {start}", "Board", prose(f"board {board}", 40), links)

    def _posts(self, topic: str, start: int) -> str:
        return " ".join(prose(f"post {topic} {start} {post}", 40) for post in range(4))


class Calendar(Site):
    """Months that look alike, for ever, with events in the first ones; a page for each day; files for calendars."""

    months, events = 60, 5
    depth = 70

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        match path:
            case []:
                return page("home", "Club", prose("club", 60), {"/calendar/2020/1": "calendar", "/about": "about us"})
            case ["about"]:
                return page("about", "About us", prose("about", 100), {})
            case ["calendar", year, month]:
                return self._month(int(year), int(month))
            case ["day", year, month, day]:
                links = {f"/day/{year}/{month}/{int(day) % 28 + 1}": "next day"}
                return page("day", "Day", f"{prose('day', 100)} {year} {month} {day}", links)
            case ["event", name]:
                return page(f"event {name}", "Event", prose(f"event {name}", 100),
                            {f"/ical/{name}": "file", f"/event/{name}?print=1": "print"})
            case ["ical", name]:
                return page(None, "Event", prose(f"event {name}", 100), {f"/event/{name}": "back"})
        return None

    def _month(self, year: int, month: int) -> Page:
        number = (year - 2020) * 12 + month
        events = [f"{number}-{i}" for i in range(self.events)] if 0 < number <= self.months and number % 3 else []
        links = {f"/event/{name}": f"event {name}" for name in events} | {
            f"/calendar/{year + month // 12}/{month % 12 + 1}": "next", f"/calendar/{year}/{month}?view=week": "weeks",
            f"/calendar/{year - (month == 1)}/{(month - 2) % 12 + 1}": "before",
            f"/day/{year}/{month}/{1 + number % 28}": "day"}
        notes = " ".join(prose(f"note {name}", 3) for name in events)
        return page(f"month {number}" if events else "month without events", "Calendar",
                    f"{prose(str(month), 1)} {year}. {prose('calendar', 110)} {notes}", links)


class Wiki(Site):
    """Articles that link to each other, each with a history that looks like all others, old versions, a form and a list."""

    articles = 200

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        match path:
            case []:
                links = {f"/wiki/{self._title(i)}": self._title(i) for i in range(10)}
                return page("home", "Wiki", prose("wiki", 70), links)
            case ["wiki", title]:
                return self._article(title)
            case ["links", title]:
                return page("links", "What links here", prose("what links here", 120),
                            {f"/wiki/{title}": "back", f"/links/{title}?limit=500": "500"})
            case ["index.php"]:
                return self._view(query.get("title", ""), query.get("action", ""), query.get("oldid"))
        return None

    def _title(self, i: int) -> str:
        return f"{prose(f'title {i}', 1)}_{i}"

    def _article(self, title: str) -> Page:
        i = int(title.rpartition("_")[2])
        source = random.Random(f"links {i}")
        others = {source.randrange(self.articles) for _ in range(4)} | {min(self.articles - 1, 2 * i + k) for k in (1, 2)}
        links = {f"/wiki/{self._title(j)}": self._title(j) for j in sorted(others)}
        links |= {f"/index.php?title={title}&action={action}": action for action in ("history", "edit", "info")}
        links |= {f"/wiki/{title}?printable=yes": "print", f"/links/{title}": "what links here"}
        return page(f"article {i}", title, prose(f"article {i}", 160), links)

    def _view(self, title: str, action: str, old: str | None) -> Page:
        i = int(title.rpartition("_")[2])
        back = {f"/wiki/{title}": "back"}
        if old is not None:
            return page(None, "Old version", f"{prose(f'article {i}', 150)} old {old}", back)
        if action == "history":
            return page("history", "History", f"{prose('history of', 120)} {title}",
                        {f"/index.php?title={title}&oldid={k}": "old version" for k in range(4)})
        if action == "edit":
            return page(None, "Edit", prose(f"article {i}", 160), back)
        return page("info", "Info", f"{prose('information', 100)} {title}", back)


class News(Site):
    """Lists of stories by day and by tag that look alike, for computers and phones; comments that do, and their writers."""

    days, stories, tags = 40, 6, 20
    depth = 12
    frame = prose("news", 140)

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        at, path = ("/m", path[1:]) if path[:1] == ["m"] else ("", path)
        last = self.days * self.stories
        match path:
            case []:
                links = {f"{at}/day/{d}": f"day {d}" for d in range(0, self.days, 8)} | {f"{at}/tag/0": "tags"}
                return page("home", "News", prose("news home", 60), links | ({} if at else {"/m/": "for phones"}))
            case ["day", d]:
                first = int(d) * self.stories
                links = {f"{at}/story/{first + i}": prose(f"headline {d} {i}", 5) for i in range(self.stories)}
                links |= {f"{at}/day/{int(d) + 1}": "older"} if int(d) + 1 < self.days else {}
                return page(f"day {d}", "Stories", self.frame, links | {f"{at}/day/{d}?utm_source=feed": "feed"})
            case ["tag", t]:
                links = {f"{at}/story/{(int(t) * 37 + k * 11) % last}?tag={t}": prose(f"story {k}", 5) for k in range(12)}
                links |= {f"{at}/tag/{int(t) + 1}": "next tag"} if int(t) + 1 < self.tags else {}
                return page(f"tag {t}", "Tag", self.frame, links)
            case ["story", i]:
                return page(f"story {i}", "Story", prose(f"story {i}", 180), {
                    f"{at}/story/{i}?print=1": "print", f"{at}/story/{i}?amp=1": "amp", f"{at}/comments/{i}": "comments",
                    f"{at}/story/{(int(i) * 5 + 2) % last}?ref={i}": "related"})
            case ["comments", i]:
                return page(f"comments {i}", "Comments", f"{self.frame} {prose(f'comments {i}', 4)}",
                            {f"{at}/writer/{i}": "writer"})
            case ["writer", i]:
                return page(f"writer {i}", "Writer", prose(f"writer {i}", 90), {})
        return None


class Opaque(Site):
    """A site whose URLs tell nothing: each is one path with one parameter."""

    def __init__(self, site: Site) -> None:
        self.site, self.depth = site, site.depth

    def answer(self, url: str) -> Page | None:
        parts = urlsplit(url)
        try:
            inner = urljoin(url, bytes.fromhex(parts.query.removeprefix("u=")).decode() or "/")
        except ValueError:
            return None
        answer = self.site.answer(inner)
        if answer is None:
            return None
        return Page(answer.content, HREF.sub(lambda link: f'href="{self._hide(urljoin(inner, link[1]))}"', answer.html))

    @staticmethod
    def _hide(url: str) -> str:
        parts = urlsplit(url)
        inner = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return f"http://{parts.netloc}/x?u={inner.encode().hex()}" if inner != "/" else url


SITES: dict[str, type[Site]] = {site.__name__.lower(): site for site in (Shop, Forum, Calendar, Wiki, News)}


class Server:
    """A site that is served: `asked` has the content and the URL of each request."""

    def __init__(self, site: Site) -> None:
        self.site, self.port = site, 0
        self.asked: list[tuple[str | None, str]] = []

    def starts(self) -> list[str]:
        """Return the start pages, one on each host."""
        return [f"http://127.0.0.1:{self.port}/", f"http://localhost:{self.port}/"]


@contextmanager
def serving(site: Site) -> Iterator[Server]:
    """Serve a site on a free port of this machine, by threads of this process."""
    served = Server(site)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = f"http://{self.headers.get('Host', '')}{self.path}"
            answer = served.site.answer(url)
            if answer is not None:
                served.asked.append((answer.content, url))
            body = (answer.html if answer else "not found").encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
