"""The settings of a crawl with a store: names, defaults and checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcore.checks import check_choice, checked_int
from ndcore.choices import HTML_PARTS
from ndcore.store.verdict import VERDICTS

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["CrawlSettings"]

DUPLICATES = VERDICTS[1:]
HELD = ("drop", "last")


@dataclass(frozen=True)
class CrawlSettings:
    """What the settings NDCORE_… of a Scrapy project say.

    Attributes
    ----------
    store : str
        NDCORE_STORE, the directory of the store.
    shared : bool
        NDCORE_SHARED (False). True: another process has the store open and listens (`Store.listen`).
    options : mapping
        NDCORE_THRESHOLD and NDCORE_OPTIONS: arguments of `Store.open`.
    drop : frozenset of str
        NDCORE_DROP: verdicts whose items are dropped. False: none (the default), True: all but "kept".
    field : str
        NDCORE_FIELD ("ndcore"), the field of an item that gets the verdict.
    url_field, text_field : str
        NDCORE_URL_FIELD ("url") and NDCORE_TEXT_FIELD ("text"), for items of pages that the middleware did not see.
    min_depth : int
        NDCORE_MIN_DEPTH (1). Links of pages nearer to the start are never held back; start pages have depth 0.
    min_chars : int
        NDCORE_MIN_CHARS (300). Links of pages with shorter texts are never held back.
    held : "drop" or "last"
        NDCORE_HELD ("drop"), what becomes of links that are held back. "last": requested after all others of their host.
    part : "page" or "main"
        NDCORE_PART ("page"), which text of HTML is compared: all of it, or its main content.
    text : callable or None
        NDCORE_TEXT, a function, or its import path, from a response to its text, or to None where it has no text.
    flush_seconds : float
        NDCORE_FLUSH_SECONDS (10). A crash loses the decisions of that many seconds at most.
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
    part: str
    text: Callable[[Any], Any] | None
    flush_seconds: float

    @classmethod
    def of(cls, settings: BaseSettings) -> CrawlSettings:
        """Read the settings of a crawler.

        Raises
        ------
        NotConfigured
            NDCORE_STORE is not set: Scrapy then goes on without the component, and says so.
        TypeError, ValueError
            A setting is not accepted.
        """
        from scrapy.exceptions import NotConfigured
        from scrapy.utils.misc import load_object

        store, text = settings.get("NDCORE_STORE"), settings.get("NDCORE_TEXT")
        if not store:
            raise NotConfigured("NDCORE_STORE is not set; give it the directory of the store")
        options = dict(settings.getdict("NDCORE_OPTIONS"))
        if settings.get("NDCORE_THRESHOLD") is not None:
            options["threshold"] = settings.getfloat("NDCORE_THRESHOLD")
        if "read_only" in options:
            raise ValueError("NDCORE_OPTIONS has read_only; a crawl writes to its store")
        shared = settings.getbool("NDCORE_SHARED", False)
        if shared and options:
            raise ValueError(f"NDCORE_SHARED is set, and so is {', '.join(sorted(options))}; the process that has the store "
                             "open chose its settings: leave NDCORE_THRESHOLD and NDCORE_OPTIONS out")
        if not shared and not _is_there(Path(store)):
            options.setdefault("keys", "url")
        held, part = settings.get("NDCORE_HELD", HELD[0]), settings.get("NDCORE_PART", HTML_PARTS[0])
        check_choice("NDCORE_HELD", held, HELD)
        check_choice("NDCORE_PART", part, HTML_PARTS)
        return cls(
            store=str(store), shared=shared, options=options, drop=_dropped(settings), held=held, part=part,
            field=settings.get("NDCORE_FIELD", "ndcore"), url_field=settings.get("NDCORE_URL_FIELD", "url"),
            text_field=settings.get("NDCORE_TEXT_FIELD", "text"),
            min_depth=checked_int("NDCORE_MIN_DEPTH", settings.getint("NDCORE_MIN_DEPTH", 1), 0),
            min_chars=checked_int("NDCORE_MIN_CHARS", settings.getint("NDCORE_MIN_CHARS", 300), 0),
            text=None if text is None else load_object(text),
            flush_seconds=settings.getfloat("NDCORE_FLUSH_SECONDS", 10.0))


def _is_there(path: Path) -> bool:
    """Tell whether a store, whose settings are fixed, may be at a path."""
    return path.is_dir() and any(path.iterdir())


def _dropped(settings: BaseSettings) -> frozenset[str]:
    """Read NDCORE_DROP: a bool, as Scrapy reads one, or verdicts. ValueError for an unknown verdict."""
    try:
        return frozenset(DUPLICATES if settings.getbool("NDCORE_DROP", False) else ())
    except (TypeError, ValueError):
        verdicts = settings.getlist("NDCORE_DROP")
    for verdict in verdicts:
        if verdict not in DUPLICATES:
            raise ValueError(f"NDCORE_DROP has {verdict!r}; it is True, False, or a list of {', '.join(DUPLICATES)}")
    return frozenset(verdicts)
