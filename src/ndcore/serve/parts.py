"""Parts of the pages of the server: the frame of a page, links by keys, dates, forms and pagers. Everything is escaped."""

from __future__ import annotations

import html
from typing import Any

from ndcore.alignment.rows import spelt
from ndcore.report import comparison_page, style
from ndcore.report.elements import plain_name, show_name, show_text, three_decimals
from ndcore.report.html import page, policy
from ndcore.serve.answers import ListPage
from ndcore.serve.keys import Key, address, name_of

__all__ = [
    "PAGE_POLICY", "framed", "key_form", "key_link", "link", "pager", "show_change", "show_date", "show_key", "show_score",
    "show_setting",
]

STYLE = comparison_page.STYLE + style.STYLE + """
.top { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1.2rem; padding: 0 0 .9rem;
  border-bottom: 1px solid var(--line); }
.top .eyebrow { flex: none; } .top nav { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; }
.top form { margin-left: auto; display: flex; gap: .4rem; min-width: 0; }
.top input { width: 15rem; }
nav a[aria-current] { color: inherit; font-weight: 600; text-decoration: none; }
.card p { color: inherit; } .card p.faint, .card .snippet { color: var(--faint); }
.field { display: block; margin: 0 0 .7rem; } .field > span { display: block; font-size: .87em; color: var(--faint); }
input[type="text"], input[type="search"], textarea { font: inherit; color: inherit; background: var(--page); width: 100%;
  min-width: 0; padding: .4rem .7rem; border: 1px solid var(--line); border-radius: 8px; }
textarea { display: block; min-height: 11rem; resize: vertical; line-height: 1.45; }
button { font: inherit; font-weight: 600; color: var(--card); background: var(--shared); padding: .4rem 1rem;
  cursor: pointer; border: 1px solid transparent; border-radius: 8px; white-space: nowrap; }
button:hover { filter: brightness(1.1); } .top button { color: var(--shared); background: var(--shared-back); }
.asks { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem;
  align-items: start; }
.asks .tall { grid-row: span 3; } .asks h3 { margin: 0 0 .5rem; font-size: 1rem; }
.pager { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .8rem 0 0; color: var(--faint); font-size: .93em; }
.own { font-weight: 650; } td bdi, th bdi { overflow-wrap: anywhere; } .card > .wide { margin-bottom: 0; }
.card td.plain, .card time { white-space: nowrap; } .card td.keys { min-width: 9rem; }
.card .number:first-child { width: 7rem; text-align: left; }
.bar { display: inline-block; width: 4.5rem; height: 6px; margin-left: .6rem; vertical-align: .1em; }
.bar .all { fill: var(--line); } .bar .part { fill: var(--shared); opacity: .75; }
.legend-line { margin: .2rem 0 .8rem; } .excerpt { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate;
  max-height: 26rem; overflow: auto; margin: 0; }
.answer { font-size: 1.15rem; margin: .2rem 0 .8rem; } .answer strong { font-weight: 650; }
@media (max-width: 40rem) { .top form { margin-left: 0; width: 100%; } .top input { width: 100%; }
  .card tbody th { white-space: normal; } .bar { display: none; }
  .card td.plain, .card time { white-space: normal; } time > span { white-space: nowrap; }
  .card .number:first-child { width: auto; } }
"""
PAGE_POLICY = policy(STYLE, "", True) + "; frame-ancestors 'none'"

PAGES = (("about", "Overview"), ("clusters", "Clusters"))
CHANGES = {  # change of a version -> colour and words
    "unchanged": ("p1", "unchanged", "the same text"),
    "lexical": ("p2", "lexical only", "the same tokens in the same order"),
    "near": ("p4", "real", "a near-duplicate of the version before"),
    "other": ("p6", "real", "another text"),
}


def framed(title: str, main: str, heading: str = "", lead: str = "", route: str = "") -> str:
    """Put the content of a page below the links to other pages and the field for a key; `main` is HTML."""
    links = "".join(
        f'<a href="{"/" if name == "about" else "/" + name}"{" aria-current=page" if name == route else ""}>{words}</a>'
        for name, words in PAGES
    )
    head = (
        f'<div class="top"><p class="eyebrow">ndcore serve</p><nav aria-label="Pages">{links}'
        '<a href="/openapi.json">API</a></nav><form action="/document" method="get" role="search">'
        '<input type="search" name="key" required placeholder="key" aria-label="Key of a document" autocomplete="off">'
        "<button>Look up</button></form></div>"
    )
    top = f'<header><h1>{heading}</h1>{lead and f"<p class=faint>{lead}</p>"}</header>' if heading else ""
    return page(f"{plain_name(title)} · ndcore", f"{head}\n{top}\n<main>\n{main}\n</main>", STYLE, "", True)


def show_key(key: Key) -> str:
    """Render a key."""
    return show_name(name_of(key))


def link(href: str | None, words: str, current: bool = False) -> str:
    """Link HTML to an address; without one, or to the page itself, return it as it is."""
    if href is None or current:
        return f'<span class="own">{words}</span>' if current else words
    return f'<a href="{html.escape(href)}">{words}</a>'


def key_link(key: Key, current: bool = False) -> str:
    """Link a key to its page."""
    return link(address("document", key=key), show_key(key), current)


def show_date(date: str | None) -> str:
    """Render a date of ISO 8601 to the second."""
    if date is None:
        return "–"
    day, _, clock = spelt(date[:19]).partition("T")
    return f'<time datetime="{spelt(date)}"><span>{day}</span> {clock}</time>'


def show_change(change: str | None) -> str:
    """Render what changed in a version."""
    if change not in CHANGES:
        return "first version" if change is None else show_text(change)
    colour, words, meaning = CHANGES[change]
    return f'<i class="key {colour}"></i>{words}<span class="faint small">: {meaning}</span>'


def pager(shown: ListPage, route: str, name: str = "page", what: str = "Pages", **values: Key | None) -> str:
    """Render the links to the pages before and after; nothing where there is one page."""
    if shown.number == 1 and not shown.more:
        return ""
    size = shown.size if shown.size != 50 else None

    def to(number: int, words: str, wanted: bool) -> str:
        return link(address(route, **values, **{name: str(number), "size": None if size is None else str(size)}), words) \
            if wanted else f"<span>{words}</span>"

    pages = "" if shown.total is None else f" of {max(1, -(-shown.total // shown.size)):,}"
    return (
        f'<nav class="pager" aria-label="{what}">{to(shown.number - 1, "← previous", shown.number > 1)}'
        f"<span>page {shown.number:,}{pages}</span>{to(shown.number + 1, 'next →', shown.more)}</nav>"
    )


def key_form(action: str, title: str, text: str, button: str, fields: tuple[tuple[str, str], ...]) -> str:
    """Render a form that asks for keys; `fields` are names and labels."""
    inputs = "".join(
        f'<label class="field"><span>{label}</span><input type="text" name="{name}" required autocomplete="off"></label>'
        for name, label in fields
    )
    return (
        f'<form class="card" action="/{action}" method="get"><h3>{title}</h3><p class="faint small">{text}</p>{inputs}'
        f"<button>{button}</button></form>"
    )


def show_score(value: float | None, bar: bool = False) -> str:
    """Write a resemblance with three decimals, and draw it."""
    if value is None or value != value:
        return "–"
    drawn = (
        f'<svg class="bar" aria-hidden="true"><rect class="all" width="100%" height="6" rx="3"/>'
        f'<rect class="part" width="{min(max(value, 0.0), 1.0):.1%}" height="6" rx="3"/></svg>'
    )
    return three_decimals(value) + (drawn if bar else "")


def show_setting(value: Any) -> str:
    """Write a setting or a figure."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
