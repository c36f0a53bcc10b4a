"""Four web sites made from a seed that rules of URLs were not made with: a library, jobs, travel and manuals of software.

Each leads to the same pages by many URLs, as the sites of `sites` do, and has what rules are to leave alone: session ids in
the path, rooms that look alike with an offer behind each, versions of a manual that agree on some pages, one page for all
who are not logged in.
"""

from __future__ import annotations

from hashlib import md5
from urllib.parse import parse_qsl, urlsplit

from sites import Page, Site, page, prose


class Library(Site):
    """Books with a printer version and a link from each list that names it; index.html of authors; sessions in paths."""

    books, authors = 240, 40

    def answer(self, url: str) -> Page | None:
        path, _, session = urlsplit(url).path.partition(";jsessionid=")
        names = [name for name in path.split("/") if name and name != "index.html"]
        try:
            return self._find(names, md5(url.encode()).hexdigest()[:8] if session else "0", path)
        except ValueError:
            return None

    def _find(self, path: list[str], session: str, whole: str) -> Page | None:
        match path:
            case []:
                return page("home", "Library", prose("library", 70), {
                    **{f"/author/{a}/": f"author {a}" for a in range(0, self.authors, 4)}, "/shelf/0": "shelves"})
            case ["author", a]:
                mine = range(int(a), self.books, self.authors)
                links = {f"/book/{b}?from=author-{a}": prose(f"book {b}", 3) for b in mine}
                links |= {f"/author/{(int(a) + 1) % self.authors}/index.html": "next author",
                          f"/author/{(int(a) * 3 + 1) % self.authors}/": "like this one"}
                return page(f"author {a}", "Author", prose(f"author {a}", 90), links)
            case ["shelf", s]:
                mine = range(int(s) * 12, min(self.books, int(s) * 12 + 12))
                links = {f"/book/{b}?from=shelf-{s}": prose(f"book {b}", 3) for b in mine}
                links |= {f"/shelf/{int(s) + 1}": "next"} if (int(s) + 1) * 12 < self.books else {}
                return page(f"shelf {s}", "Shelf", prose(f"shelf {s}", 40), links)
            case ["book", b, *rest]:
                if int(b) >= self.books or rest not in ([], ["print"]):
                    return None
                links = {f"/book/{b}/print": "print", f"/book/{b}": "link", f"/review/{b}": "review",
                         f"/book/{(int(b) * 7 + 5) % self.books}?from=book-{b}": "similar",
                         f"/author/{int(b) % self.authors}/index.html": "author",
                         f"/loan/{b};jsessionid={session}{b}": "lend"}
                return page(f"book {b}", "Book", prose(f"book {b}", 130), links)
            case ["review", b]:
                return page(f"review {b}", "Review", prose(f"review {b}", 110), {f"/book/{b}?from=review": "book"})
            case ["loan", b]:
                return page(f"loan {b}", "Lend", f"{prose('lend', 100)} {prose(f'lend {b}', 4)}",
                            {f"/book/{b};jsessionid={session}{b}": "book", f"/loan/{b};jsessionid={session}x": "again"})
        return None


class Jobs(Site):
    """Offers under two addresses, whose text counts the visits; campaigns; companies; forms with a token."""

    offers, companies = 300, 50

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        match path:
            case []:
                return page("home", "Jobs", prose("jobs", 60), {f"/list?page={p}": f"page {p}" for p in range(5)})
            case ["list"]:
                p = int(query.get("page", 0))
                links = {f"/job?id={i}&utm_campaign=list": prose(f"job {i}", 4) for i in range(p * 10, p * 10 + 10)}
                links |= {f"/list?page={p + 1}": "next"} if (p + 1) * 10 < self.offers else {}
                return page(f"list {p}", "List", prose(f"list {p}", 50), links)
            case ["job"] | ["job", _]:
                return self._offer(int(path[1] if len(path) > 1 else query.get("id", "x")), session)
            case ["company", c]:
                links = {f"/job/{i}": prose(f"job {i}", 4) for i in range(int(c), self.offers, self.companies)}
                return page(f"company {c}", "Company", prose(f"company {c}", 100), links)
            case ["apply"]:
                again = f"/apply?job={query.get('job')}&token={session}"
                return page("apply", "Apply", prose("apply", 110), {again: "again"})
            case ["salary", i]:
                return page(f"salary {i}", "Salary", prose(f"salary {i}", 90), {f"/job/{i}?utm_campaign=salary": "job"})
        return None

    def _offer(self, i: int, session: str) -> Page | None:
        if i >= self.offers:
            return None
        return page(f"job {i}", "Job", f"{prose(f'job {i}', 140)} seen {int(session, 16) % 5000} times", {
            f"/company/{i % self.companies}": "company", f"/salary/{i}": "salary",
            f"/apply?job={i}&token={session}": "apply",
            f"/job/{(i * 11 + 3) % self.offers}?utm_campaign=similar&utm_source={i % 7}": "similar", f"/job?id={i}": "link"})


class Travel(Site):
    """Hotels in currencies and languages; rooms with two views that look alike, and an offer behind each."""

    hotels = 60

    def page(self, path: list[str], query: dict[str, str], session: str) -> Page | None:
        currency, language = query.get("cur", "eur"), query.get("lang", "en")
        match path:
            case []:
                return page("home", "Travel", prose("travel", 60), {f"/town/{t}": f"town {t}" for t in range(10)})
            case ["town", t]:
                return page(f"town {t}", "Town", prose(f"town {t}", 80), {
                    f"/hotel/{h}?from=town": prose(f"hotel {h}", 3) for h in range(int(t), self.hotels, 10)})
            case ["hotel", h]:
                links = {f"/hotel/{h}?lang={language}&cur={other}": other for other in ("eur", "usd", "gbp")}
                links |= {f"/hotel/{h}?lang={other}": other for other in ("en", "de", "fr")}
                links |= {f"/room/{h}/{r}?view={view}": f"room {r} {view}" for r in range(3) for view in ("sea", "garden")}
                links |= {f"/hotel/{(int(h) * 7 + 1) % self.hotels}?sid={session}": "similar"}
                price = f"{prose(f'price {h}', 1)} {currency}"
                return page(f"hotel {h} {language}" if currency == "eur" else None, "Hotel",
                            f"{prose(f'hotel {h} {language}', 120)} {price}", links)
            case ["room", h, r]:
                room = f"{h} {r} {query.get('view', 'sea')}"
                return page(f"room {room}", "Room", f"{prose(f'room {h} {r}', 150)} {prose(f'view {room}', 3)}", {
                    f"/offer/{h}/{r}/{query.get('view', 'sea')}": "offer", f"/hotel/{h}?sid={session}": "hotel"})
            case ["offer", h, r, view]:
                return page(f"offer {h} {r} {view}", "Offer", prose(f"offer {h} {r} {view}", 90), {f"/hotel/{h}": "hotel"})
        return None


class Manuals(Site):
    """A manual in three versions, the latest under two names; sought words; one page for all who may not edit."""

    pages = 150

    def answer(self, url: str) -> Page | None:
        parts = urlsplit(url)
        names = [name for name in parts.path.split("/") if name]
        try:
            return self._find(names, dict(parse_qsl(parts.query)))
        except ValueError:
            return None

    def _find(self, path: list[str], query: dict[str, str]) -> Page | None:
        match path:
            case []:
                links = {f"/docs/{version}/0.html": version for version in ("latest", "3.0", "2.0")}
                return page("home", "Manuals", prose("manuals", 60), links)
            case ["docs", version, name] if name.endswith(".html") and version in ("latest", "3.0", "2.0"):
                i = int(name.removesuffix(".html"))
                if i >= self.pages:
                    return None
                older = "2.0" if version == "2.0" and i % 3 == 0 else ""
                at = f"/docs/{version}"
                links = {f"{at}/{min(self.pages - 1, 2 * i + k)}.html": f"part {k}" for k in (1, 2)}
                links |= {f"{at}/{(i * 5 + 2) % self.pages}.html?highlight={prose(f'word {i}', 1)}": "see also",
                          f"{at}/{i}.html?print=yes": "print", f"/edit/{i}?version={version}": "edit",
                          f"/source/{i}.txt": "source"}
                links |= {f"/docs/{other}/{i}.html": other for other in ("latest", "3.0", "2.0") if other != version}
                return page(f"page {i} {older}", "Manual", prose(f"manual {i} {older}", 140), links)
            case ["edit", _]:
                return page("log in", "Log in", prose("log in", 80), {"/": "home"})
            case ["source", name]:
                return page(f"source {name}", "Source", prose(f"source {name}", 100), {})
        return None


SITES: dict[str, type[Site]] = {site.__name__.lower(): site for site in (Library, Jobs, Travel, Manuals)}
