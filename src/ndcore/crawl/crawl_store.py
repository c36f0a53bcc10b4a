"""One store for the pipeline and the middleware of a crawler: each page is decided once, outside the reactor's thread."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from ndcore.checks import check_choice, checked_int, checked_probability
from ndcore.choices import HTML_PARTS
from ndcore.crawl.crawl_rules import CrawlRules, RuleUse, name_content
from ndcore.crawl.held_links import HeldLinks, Turn
from ndcore.crawl.page_text import canonical_url, page_text
from ndcore.store.client import StoreClient
from ndcore.store.keys import normalise_url
from ndcore.store.service_client import ServiceClient
from ndcore.store.sharded import ShardedStore
from ndcore.store.store import Store
from ndcore.store.url_rules import mine_rules
from ndcore.store.verdict import VERDICTS, Verdict
from ndcore.text.inputs import is_by_tags

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

WAITS = "ndcore_waits"  # key of Request.meta: the link was held back and waits; the value is the turn of its page
TURN = "ndcore_turn"  # key of Request.meta: how a link that was held back is followed
USE = "ndcore_rule_use"  # key of Request.meta: how rules of URLs apply to a link that is fetched
STATE, RULES_STATE = "ndcore_held_links", "ndcore_rules"  # keys of Spider.state
LISTED = 50  # most rules of URLs that the log lists at the end
ITEMS = 2000  # most items whose pages are remembered until they reach the pipeline

logger = logging.getLogger("ndcore.crawl")
Value = TypeVar("Value")
_OF_CRAWLERS: WeakKeyDictionary[Crawler, CrawlStore] = WeakKeyDictionary()


@dataclass(frozen=True)
class Decided:
    """A page and its verdict.

    Attributes
    ----------
    chars : int
        Length of its text.
    names_stored : bool
        Whether it names another URL as canonical that the store has.
    by_tags : bool
        Whether it was read by its tags alone, because parsing would take too long (see `html_reader`).
    """

    verdict: Verdict
    chars: int
    names_stored: bool
    by_tags: bool

    @property
    def confirmed(self) -> bool:
        """Whether the page names a canonical URL in the store and its text is a duplicate, too."""
        return self.names_stored and not self.verdict.kept


def crawl_store(crawler: Crawler) -> CrawlStore:
    """Return the store of a crawler; the first call opens it."""
    store = _OF_CRAWLERS.get(crawler)
    if store is None:
        store = _OF_CRAWLERS[crawler] = CrawlStore(crawler)
    return store


class CrawlStore:
    """The store of a crawler, its held links, and the least depth at which this crawl followed the links of each cluster.

    Parameters
    ----------
    crawler : Crawler

    Raises
    ------
    NotConfigured
        The setting NDCORE_STORE is missing.
    BlockingIOError
        Another process writes to the store, and NDCORE_SHARED is not set.
    ConnectionError
        NDCORE_SHARED is set, but no process listens.
    ValueError
        NDCORE_STORE is an address, but the environment variable NDCORE_TOKEN has no token.
    """

    def __init__(self, crawler: Crawler) -> None:
        from scrapy import signals

        assert crawler.stats is not None
        self.settings = CrawlSettings.of(crawler.settings)
        self.stats = crawler.stats
        self._text = self.settings.text or page_text(self.settings.part)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ndcore crawl")    # one: pages are decided in order
        self._store = self._open_store()
        self._flushed = time.monotonic()
        self._followed: dict[int, int] = {}  # hash of the key of a cluster -> least depth at which links were followed
        self.has_pipeline = False
        self._items: OrderedDict[int, tuple[Any, Decided]] = OrderedDict()
        self.has_turns = False  # whether a middleware takes the turns of held links
        self._held = HeldLinks(self.settings.loss, self.settings.sample)
        self.rules = CrawlRules()
        self._name = crawler.request_fingerprinter.fingerprint
        crawler.signals.connect(self._open, signals.spider_opened)
        crawler.signals.connect(self._drop_request, signals.request_dropped)
        crawler.signals.connect(self.close, signals.spider_closed)

    def _open_store(self) -> Store | StoreClient | ServiceClient | ShardedStore:
        """Open the store: in this process, or through the process that has it open, here or on other computers."""
        if self.settings.store.startswith(SERVICES):
            addresses = [address.strip() for address in self.settings.store.split(",")]
            return ServiceClient(addresses[0]) if len(addresses) == 1 else ShardedStore(addresses)
        if self.settings.shared:
            return StoreClient(self.settings.store)
        return Store.open(self.settings.store, **self.settings.options)

    # ---- deciding

    async def page(self, response: Response) -> Decided | None:
        """Decide on the page of a response; None if it is not a page, or if that failed."""
        return await self._decide_and_count(response.url, self._page, response)

    async def item(self, url: str, text: Any) -> Decided | None:
        """Decide on the text of an item; None if that failed."""
        return await self._decide_and_count(url, self._decide, url, text, None)

    async def _decide_and_count(self, url: str, decide: Callable[..., Decided | None], *arguments: Any) -> Decided | None:
        """Decide on the thread, and count the verdict. An error does not stop the crawl: its page counts as undecided."""
        try:
            decided = await run_on_thread(self._thread, decide, *arguments)
        except Exception:
            self.stats.inc_value("ndcore/errors")
            logger.exception("no verdict on <%s>", url)
            return None
        if decided is None:
            self.stats.inc_value("ndcore/responses_without_text")
            return None
        self.stats.inc_value(f"ndcore/pages/{decided.verdict.verdict}")
        if decided.verdict.version is not None:
            self.stats.inc_value(f"ndcore/versions/{decided.verdict.version}")
        if decided.by_tags:
            self.stats.inc_value("ndcore/pages_by_tags")
            logger.info("<%s> is too deeply nested for a parser, or has too many attributes: decided by the text between "
                        "the tags", url)
        if decided.names_stored:
            self.stats.inc_value(f"ndcore/canonical/{'confirmed' if decided.confirmed else 'contradicted'}")
        return decided

    def _page(self, response: Response) -> Decided | None:
        """Decide on a page, on the thread."""
        text = self._text(response)
        return None if text is None else self._decide(response.url, text, canonical_url(response))

    def _decide(self, url: str, text: Any, canonical: str | None) -> Decided:
        """Decide on a text, on the thread."""
        names_stored = canonical is not None and canonical in self._store
        verdict = self._store.decide(url, text)
        if time.monotonic() - self._flushed >= self.settings.flush_seconds:
            self._store.flush()
            self._flushed = time.monotonic()
        return Decided(verdict, len(text), names_stored, is_by_tags(text))

    async def gone(self, url: str) -> None:
        """Record in the store that a page is gone, if it has the page. An error does not stop the crawl."""
        try:
            known = await run_on_thread(self._thread, self._store.mark_gone, url)
        except Exception:
            self.stats.inc_value("ndcore/errors")
            logger.exception("<%s> is gone, and the store could not be told", url)
        else:
            self.stats.inc_value("ndcore/pages/gone", int(known))

    # ---- links

    def holds_links(self, decided: Decided, depth: int) -> bool:
        """Tell whether the links of a page are held back.

        They are held back if links of its cluster were followed in this crawl, at this depth or nearer to the start, and if
        the page is deep and long enough or its canonical URL confirms the verdict.
        """
        if decided.verdict.kept or self._followed.get(hash(decided.verdict.cluster), depth + 1) > depth:
            return False
        return decided.confirmed or (depth >= self.settings.min_depth and decided.chars >= self.settings.min_chars)

    def hold(self, request: Request) -> bool:
        """Let a link of a near-duplicate wait for its turn. False if it waits already."""
        held = self._held.hold(self._name(request))
        if held:
            self.stats.inc_value("ndcore/links/held")
        return held

    def let_go(self, request: Request) -> None:
        """Release a waiting link, to be followed in any case, because a page whose links are followed has it too."""
        if self._held.waiting:
            self._held.let_go(self._name(request))

    async def catch_up(self) -> None:
        """Wait until all pages that have arrived are decided, so that the next turns take them into account."""
        await run_on_thread(self._thread, int)

    def take_turn(self, request: Request) -> bool:
        """Decide on a link whose turn has come, and tell whether it is followed."""
        if self.settings.held == "last":
            self.let_go(request)
        through = request.meta.pop(WAITS)
        turn = self._held.decide(self._name(request), request.url, None if through is None else Turn(*through))
        self.stats.set_value("ndcore/links/followed", self._held.followed)
        self.stats.set_value("ndcore/links/dropped", self._held.dropped)
        if turn is not None:
            request.meta[TURN] = tuple(turn)  # which every queue of Scrapy can write
        return turn is not None

    def learn(self, request: Request, decided: Decided | None, *, failed: bool = False) -> None:
        """Learn from the answer to a request whether it has new content, and where the link led, if it was held back.

        A response without a verdict counts as new content. failed: there is no response, or it is an error.
        """
        new = not failed and (decided is None or decided.verdict.kept)
        self._held.contents += new
        if (turn := request.meta.get(TURN)) is not None:
            self._held.learn(Turn(*turn), new=new)
            self.stats.set_value("ndcore/links/new", self._held.new)

    def links_followed(self, decided: Decided, depth: int) -> None:
        """Record that the links of a page were followed."""
        cluster = hash(decided.verdict.cluster)
        self._followed[cluster] = min(depth, self._followed.get(cluster, depth))

    # ---- rules of URLs

    async def drop_by_rules(self, request: Request) -> bool:
        """Tell whether a link is dropped because it leads to a known page according to rules.

        A link to which rules apply, dropped or not, no longer waits: its outcome says nothing about held links.
        """
        url = _normalise(request.url)
        if not self.rules.has_rules(url):
            return False
        await self.catch_up()
        use = self.rules.decide(url, int(request.meta.get("depth", 0)))
        if use is None:
            return False
        self._drop_request(request)
        request.meta.pop(WAITS, None)
        if not use.dropped:
            request.meta[USE] = tuple(use)  # which every queue of Scrapy can write
        self.stats.set_value("ndcore/rules/dropped", self.rules.dropped)
        return use.dropped

    async def learn_rules(self, response: Response, decided: Decided | None, depth: int) -> None:
        """Learn the content of a page under its URL and the URLs that redirected to it, and mine rules if they are due."""
        content = None if decided is None else name_content(decided.verdict)
        new = decided is None or decided.verdict.kept or (
            decided.verdict.equal is None and decided.verdict.verdict != "lexical")
        use = response.meta.get(USE)
        first, *others = map(_normalise, [*response.meta.get("redirect_urls", ()), response.url])
        self.rules.learn(first, content, depth, None if use is None else RuleUse(*use), new=new)
        for url in others:
            self.rules.learn(url, content, depth)
        url = _normalise(response.url)
        if (due := self.rules.take_pages(url)) is not None:
            pages, known, without, most = due
            mine = partial(mine_rules, pages, known=known, without=without, most=most)
            self.rules.try_rules(url, await run_on_thread(self._thread, mine))
        self._count_rules()

    def _count_rules(self) -> None:
        """Add the counts of rules to the statistics."""
        counts = {"checked": self.rules.checked, "wrong": self.rules.wrong, **self.rules.count_states()}
        for name, count in counts.items():
            self.stats.set_value(f"ndcore/rules/{name}", count)

    # ---- items between the middleware and the pipeline

    def remember(self, item: Any, decided: Decided) -> None:
        """Remember the page of an item, if there is a pipeline that needs it."""
        if not self.has_pipeline:
            return
        self._items[id(item)] = item, decided  # a reference to the item, so that no other object gets its id
        if len(self._items) > ITEMS:
            self._items.popitem(last=False)

    def recall(self, item: Any) -> Decided | None:
        """Return the remembered page of an item, and forget it."""
        remembered = self._items.pop(id(item), None)
        return None if remembered is None else remembered[1]

    # ---- the start and the end

    def _open(self, spider: Spider) -> None:
        """Restore the held links of a paused crawl (JOBDIR)."""
        state = getattr(spider, "state", None)
        if isinstance(state, dict):
            self._held = state.setdefault(STATE, self._held)
            self._held.loss, self._held.sample = self.settings.loss, self.settings.sample
            self.rules = state.setdefault(RULES_STATE, self.rules)

    def _drop_request(self, request: Request) -> None:
        """Release a link that the scheduler refuses or that rules apply to: the crawl has seen it before."""
        if WAITS in request.meta:
            self.let_go(request)
            self.stats.inc_value("ndcore/links/held", -1)

    async def close(self, reason: str = "finished") -> None:
        """Sync everything to disk and close the store; Scrapy waits for this when the spider is closed."""
        if self.settings.held == "drop" and (self._held.followed or self._held.waiting):
            waiting = 0 if reason == "finished" else len(self._held.waiting)
            self._tell_unseen("links", self._held.account(waiting), self._held.unseen())
        if self.settings.rules:
            self._count_rules()
            self._tell_unseen("rules", self.rules.account(), self.rules.unseen())
            for origin, trial in islice(self.rules.iterate_trials(), LISTED):
                logger.info("%s: %s (%s; right for %d contents and wrong on %d pages when tried; %d links dropped)", origin,
                            trial.rule, trial.state, len(trial.right), trial.wrong, trial.dropped)
        await run_on_thread(self._thread, self._store.close)
        self._thread.shutdown(wait=False)

    def _tell_unseen(self, group: str, account: str, unseen: tuple[float, float, float]) -> None:
        """Log the estimated number of contents that the dropped links lead to, and add it to a group of the statistics."""
        logger.info("%s", account)
        for name, value in zip(("unseen", "unseen_low", "unseen_high"), unseen, strict=True):
            self.stats.set_value(f"ndcore/{group}/{name}", round(value))


def _normalise(url: str) -> str:
    """Return the normal form of a URL; without one the URL itself, whose form no other URL has."""
    try:
        return str(normalise_url(url))
    except ValueError:
        return url


async def run_on_thread(thread: ThreadPoolExecutor, function: Callable[..., Value], *arguments: Any) -> Value:
    """Call a function on a thread, and wait without blocking the reactor, whether it uses asyncio or not."""
    future = thread.submit(function, *arguments)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return await _make_deferred(future)  # type: ignore[no-any-return]
    return await asyncio.wrap_future(future)


def _make_deferred(future: Future[Any]) -> Any:
    """Return a Deferred that fires on the thread of the reactor when a future is done."""
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    waiting: Deferred[Any] = Deferred()

    def fire() -> None:
        error = future.exception()
        if error is None:
            waiting.callback(future.result())
        else:
            waiting.errback(error)

    future.add_done_callback(lambda _: reactor.callFromThread(fire))
    return waiting


DUPLICATES = VERDICTS[1:]
HELD = ("drop", "last")
SERVICES = ("http://", "https://")  # prefixes of the address of a service


@dataclass(frozen=True)
class CrawlSettings:
    """The checked settings NDCORE_… of a Scrapy project.

    Attributes
    ----------
    store : str
        NDCORE_STORE, the directory of the store, or the address of ``ndcore serve --write``, or addresses of shards
        separated by commas. The token is in the environment variable NDCORE_TOKEN.
    shared : bool
        NDCORE_SHARED (False). True: another process has the store open and listens (`Store.listen`). An address implies
        True.
    options : mapping
        NDCORE_THRESHOLD and NDCORE_OPTIONS: arguments of `Store.open`.
    drop : frozenset of str
        NDCORE_DROP: verdicts whose items are dropped. False: none (the default), True: all but "kept".
    field : str
        NDCORE_FIELD ("ndcore"), the field of an item in which the verdict is stored.
    url_field, text_field : str
        NDCORE_URL_FIELD ("url") and NDCORE_TEXT_FIELD ("text"), for items of pages that the middleware did not see.
    min_depth : int
        NDCORE_MIN_DEPTH (1). Links of pages nearer to the start are never held back; start pages have depth 0.
    min_chars : int
        NDCORE_MIN_CHARS (300). Links of pages with shorter texts are never held back.
    held : "drop" or "last"
        NDCORE_HELD ("drop"), the treatment of links that are held back, once no other links of their host are left. "drop":
        links that promise no new content are dropped (`HeldLinks`). "last": all are requested.
    loss : float
        NDCORE_LOSS (0.01), the share of contents that may stay unseen, by the estimate.
    sample : int
        NDCORE_SAMPLE (300), the least number of held links that are followed; all, if there are fewer.
    rules : bool
        NDCORE_RULES (False), whether links to known pages are dropped according to rules of URLs (`CrawlRules`).
    part : "page" or "main"
        NDCORE_PART ("page"), the text of HTML that is compared: all of it, or its main content.
    text : callable or None
        NDCORE_TEXT, a function or its import path: it returns the text of a response, or None if there is no text.
    flush_seconds : float
        NDCORE_FLUSH_SECONDS (10). A crash loses the decisions of at most that many seconds.
    """

    store: str
    shared: bool
    options: Mapping[str, Any]
    drop: frozenset[str]
    field: str
    url_field: str
    text_field: str
    min_depth: int
    min_chars: int
    held: str
    loss: float
    sample: int
    rules: bool
    part: str
    text: Callable[[Any], Any] | None
    flush_seconds: float

    @classmethod
    def of(cls, settings: BaseSettings) -> CrawlSettings:
        """Read the settings of a crawler.

        Raises
        ------
        NotConfigured
            NDCORE_STORE is not set: Scrapy then continues without the component, and logs it.
        TypeError, ValueError
            A setting is not accepted.
        """
        from scrapy.exceptions import NotConfigured
        from scrapy.utils.misc import load_object

        store, text = settings.get("NDCORE_STORE"), settings.get("NDCORE_TEXT")
        if isinstance(store, (list, tuple)):
            store = ",".join(map(str, store))
        if not store:
            raise NotConfigured("NDCORE_STORE is not set; give it the directory of the store, or the address of a service")
        options = dict(settings.getdict("NDCORE_OPTIONS"))
        if settings.get("NDCORE_THRESHOLD") is not None:
            options["threshold"] = settings.getfloat("NDCORE_THRESHOLD")
        if "read_only" in options:
            raise ValueError("NDCORE_OPTIONS has read_only; a crawl writes to its store")
        service = str(store).startswith(SERVICES)
        shared = service or _read_bool(settings, "NDCORE_SHARED")
        if shared and options:
            given = "NDCORE_STORE is an address" if service else "NDCORE_SHARED is set"
            raise ValueError(f"{given}, and there is a setting for {', '.join(sorted(options))}; the process that has the "
                             "store open chose its settings: leave NDCORE_THRESHOLD and NDCORE_OPTIONS out")
        if not shared and not _may_hold_store(Path(store)):
            options.setdefault("keys", "url")
        held, part = settings.get("NDCORE_HELD", HELD[0]), settings.get("NDCORE_PART", HTML_PARTS[0])
        check_choice("NDCORE_HELD", held, HELD)
        check_choice("NDCORE_PART", part, HTML_PARTS)
        return cls(
            store=str(store), shared=shared, options=options, drop=_read_drop(settings), held=held, part=part,
            field=settings.get("NDCORE_FIELD", "ndcore"), url_field=settings.get("NDCORE_URL_FIELD", "url"),
            text_field=settings.get("NDCORE_TEXT_FIELD", "text"),
            loss=checked_probability("NDCORE_LOSS", settings.getfloat("NDCORE_LOSS", 0.01), "0.01"),
            sample=checked_int("NDCORE_SAMPLE", settings.getint("NDCORE_SAMPLE", 300), 1),
            rules=_read_bool(settings, "NDCORE_RULES"),
            min_depth=checked_int("NDCORE_MIN_DEPTH", settings.getint("NDCORE_MIN_DEPTH", 1), 0),
            min_chars=checked_int("NDCORE_MIN_CHARS", settings.getint("NDCORE_MIN_CHARS", 300), 0),
            text=None if text is None else load_object(text),
            flush_seconds=settings.getfloat("NDCORE_FLUSH_SECONDS", 10.0))


def _may_hold_store(path: Path) -> bool:
    """Tell whether a store, whose settings are fixed, may be at a path."""
    return path.is_dir() and any(path.iterdir())


def _read_bool(settings: BaseSettings, name: str) -> bool:
    """Read a bool, False by default, as Scrapy does. Raises ValueError, with the name of the setting, for another value."""
    try:
        return settings.getbool(name, False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {settings.get(name)!r:.80}; accepted: True or False") from None


def _read_drop(settings: BaseSettings) -> frozenset[str]:
    """Read NDCORE_DROP: a bool in a form of Scrapy, or verdicts. Raises ValueError for an unknown verdict."""
    try:
        return frozenset(DUPLICATES if settings.getbool("NDCORE_DROP", False) else ())
    except (TypeError, ValueError):
        verdicts = settings.getlist("NDCORE_DROP")
    for verdict in verdicts:
        if verdict not in DUPLICATES:
            raise ValueError(f"NDCORE_DROP has {verdict!r}; it is True, False, or a list of {', '.join(DUPLICATES)}")
    return frozenset(verdicts)
