"""Render the answers of the server as pages, in the style of the reports."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

from ndcore.alignment.rows import spell_text, visible
from ndcore.human import counted, human_bytes
from ndcore.report import comparison_page
from ndcore.report.comparison_page import show_comparison, title_of
from ndcore.report.elements import (
    fit,
    plain_name,
    show_grid,
    show_name,
    show_section,
    show_share,
    show_text,
    show_value,
    three_decimals,
)
from ndcore.report.html import REPORT_STYLE, content_policy, draw_overview, read_beside, wrap_page
from ndcore.report.side_by_side import LEGEND, show_side_by_side
from ndcore.serve.answers import (
    About,
    Cluster,
    Clusters,
    Compared,
    DocumentAnswer,
    History,
    ListedCluster,
    ListPage,
    Located,
    Match,
    OverallAnswer,
    Peeked,
    Values,
)
from ndcore.serve.keys import Key, name_of, write_address

PAGE_BYTES = 4_000_000  # largest page of a comparison
PASTED = 200_000  # characters of a pasted text that its page repeats in the form

FIGURES = {"forgotten": "replaced or removed", "log_bytes": "of log", "derived_bytes": "of indexes"}
VERDICTS = {
    "kept": "new: nothing like it is stored",
    "identical": "identical: the same text, character for character",
    "lexical": "lexically equivalent: the same tokens in the same order",
    "shingle": "shingle-equivalent: the same set of shingles",
    "near": "near-duplicate",
}


# ---- the frame of a page, links to keys, dates, forms and pagers; all text is escaped

STYLE = comparison_page.STYLE + REPORT_STYLE + read_beside(__file__, "serve.css")
PAGE_POLICY = content_policy(STYLE, "", True) + "; frame-ancestors 'none'"

PAGES = (("about", "Overview"), ("clusters", "Clusters"))
CHANGES = {  # change of a version -> colour and words
    "unchanged": ("p1", "unchanged", "the same text"),
    "lexical": ("p2", "lexical only", "the same tokens in the same order"),
    "near": ("p4", "real", "a near-duplicate of the version before"),
    "other": ("p6", "real", "another text"),
    "gone": ("p8", "gone", "the server had the page no more"),
}


def wrap_served(title: str, main: str, heading: str = "", lead: str = "", route: str = "") -> str:
    """Put the HTML `main` into the frame of all pages, which has links and a field for a key."""
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
    return wrap_page(f"{plain_name(title)} · ndcore", f"{head}\n{top}\n<main>\n{main}\n</main>", STYLE, "", True)


def show_key(key: Key) -> str:
    """Render a key."""
    return show_name(name_of(key))


def link(href: str | None, words: str, current: bool = False) -> str:
    """Make HTML a link to an address; return it unchanged without an address, or if that is the page itself."""
    if href is None or current:
        return f'<span class="own">{words}</span>' if current else words
    return f'<a href="{html.escape(href)}">{words}</a>'


def link_key(key: Key, current: bool = False) -> str:
    """Link a key to its page."""
    return link(write_address("document", key=key), show_key(key), current)


def show_date(date: str | None) -> str:
    """Render a date of ISO 8601 to the second."""
    if date is None:
        return "–"
    day, _, clock = spell_text(date[:19]).partition("T")
    return f'<time datetime="{spell_text(date)}"><span>{day}</span> {clock}</time>'


def show_change(change: str | None) -> str:
    """Render the change of a version."""
    if change not in CHANGES:
        return "first version" if change is None else show_text(change)
    colour, words, meaning = CHANGES[change]
    return f'<i class="key {colour}"></i>{words}<span class="faint small">: {meaning}</span>'


def show_pager(shown: ListPage, route: str, name: str = "page", what: str = "Pages", **values: Key | None) -> str:
    """Render the links to the previous and next pages; nothing if there is only one page."""
    if shown.number == 1 and not shown.more:
        return ""
    size = str(shown.size) if shown.size != 50 else None

    def to(number: int, words: str, wanted: bool) -> str:
        if not wanted:
            return f"<span>{words}</span>"
        return link(write_address(route, **values, **{name: str(number), "size": size}), words)

    pages = "" if shown.total is None else f" of {max(1, -(-shown.total // shown.size)):,}"
    return (
        f'<nav class="pager" aria-label="{what}">{to(shown.number - 1, "← previous", shown.number > 1)}'
        f"<span>page {shown.number:,}{pages}</span>{to(shown.number + 1, 'next →', shown.more)}</nav>"
    )


def show_key_form(action: str, title: str, text: str, button: str, fields: tuple[tuple[str, str], ...]) -> str:
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
    """Render a resemblance with three decimals and a bar."""
    if value is None or value != value:
        return "–"
    drawn = (
        f'<svg class="bar" aria-hidden="true"><rect class="all" width="100%" height="6" rx="3"/>'
        f'<rect class="part" width="{min(max(value, 0.0), 1.0):.1%}" height="6" rx="3"/></svg>'
    )
    return three_decimals(value) + (drawn if bar else "")


def show_setting(value: Any) -> str:
    """Render a setting or a figure."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


# ---- the overview


def show_about(answer: About, values: Values) -> str:
    """Render the overview: figures, settings, and the forms for requests."""
    numbers = {"documents": answer.documents, **{
        name: value for name, value in answer.figures.items() if type(value) is int and name != "documents"
    }}
    figures = "".join(f"<div><dd>{human_bytes(value) if name.endswith('bytes') else f'{value:,}'}</dd>"
                      f"<dt>{show_text(_name_figure(name))}</dt></div>" for name, value in list(numbers.items())[:8])
    main = f'<dl class="figures">{figures}</dl>' + show_section("ask", "Ask", _show_forms(answer))
    rest = {**answer.settings, **{name: value for name, value in answer.figures.items() if name not in numbers}}
    lines = "".join(f'<tr><th scope="row">{show_text(_name_figure(name))}</th>'
                    f"<td>{show_value(show_setting(value))}</td></tr>" for name, value in rest.items())
    heads = ("Setting", False), ("Value", False)
    table = show_grid("What decides the verdicts", heads, lines, "making")
    main += show_section("settings", "Settings", f'<div class="card wide">{table}</div>')
    lead = f"A {answer.kind}, served read-only on this computer."
    return wrap_served(answer.name, main, show_text(answer.name), lead, "about")


def _name_figure(name: str) -> str:
    """Return the words for a figure."""
    return FIGURES.get(name, name.replace("_", " "))


def _show_forms(answer: About) -> str:
    """Render the forms."""
    text = _show_text_form("", "" if answer.settings.get("scope") == "host" else None)
    if answer.kind == "collection":
        look = show_key_form("document", "Look up an id", "Its cluster, and the documents that resemble it.", "Look up",
                        (("key", "Id"),))
        return f'<div class="asks">{text}{look}</div>'
    look = show_key_form("document", "Look up a key", "Its cluster, its versions, and its text.", "Look up",
                         (("key", "Key"),))
    lost = show_key_form("locate", "Lost and found", "Where the content of a key was seen last.", "Find", (("key", "Key"),))
    pair = show_key_form("compare", "Compare two", "The marked differences of two stored texts.", "Compare",
                    (("a", "Key A"), ("b", "Key B")))
    return f'<div class="asks">{text}{look}{lost}{pair}</div>{_show_pair_form()}'


def _show_text_form(text: str, host: str | None) -> str:
    """Render the form for a text, with a field for its URL if only pages of one host are compared.

    Browsers drop a line end after the tag <textarea>, so one is added.
    """
    url = "" if host is None else (
        '<label class="field"><span>URL of the page: it is compared with pages of its host</span><input type="text" '
        f'name="key" required autocomplete="off" value="{escape_field(host)}"></label>'
    )
    return (
        '<form class="card tall" action="/peek" method="post"><h3>Paste a text</h3>'
        '<p class="faint small">Its verdict, as if a crawler had fetched it now. Nothing is kept.</p>'
        f'<label class="field"><span>Text</span><textarea name="text" required spellcheck="false">\n{escape_field(text)}'
        f'</textarea></label>{url}<input type="hidden" name="differences" value="1"><button>What is it?</button></form>'
    )


def escape_field(text: str) -> str:
    """Escape a text for a field of a form."""
    return html.escape(text).replace("\x00", "\ufffd")


def _show_pair_form() -> str:
    """Render the form for two texts."""
    fields = "".join(
        f'<label class="field"><span>Text {side.upper()}</span><textarea name="text_{side}" required spellcheck="false">'
        "</textarea></label>" for side in ("a", "b")
    )
    return (
        '<details class="card view"><summary>Compare two pasted texts</summary>'
        f'<form action="/compare" method="post"><div class="pair">{fields}</div><button>Compare</button></form></details>'
    )


# ---- documents and clusters


def show_document(answer: DocumentAnswer, values: Values) -> str:
    """Render a document: its cluster, versions and text."""
    key, cluster = answer.key, answer.cluster
    alone = cluster.documents == 1
    own = "represents itself" if cluster.representative == key else f"represented by {link_key(cluster.representative)}"
    lead = f"{own}; {'alone' if alone else counted(cluster.documents, 'document')} in its cluster"
    main = show_section("cluster", "Cluster", _show_cluster(cluster, key, answer.text is not None, "document"))
    if answer.located is not None:
        main += show_section("located", "Lost and found", _show_located(answer.located))
    if answer.overall is not None:
        main += show_section("overall", "Over all stores", _show_overall(answer.overall))
    if answer.history is not None:
        main += show_section("history", "Versions", _show_history(answer.history, "document"))
    if answer.resembling is not None:
        main += show_section("resembling", "Documents that resemble it", _show_matches(answer.resembling))
    if answer.text is not None:
        more = f", of {answer.text.length:,}" if answer.text.cut else ""
        caption = f"{counted(len(answer.text.text), answer.text.unit)}{more}"
        main += show_section("text", "Text", f'<div class="card"><p class="faint small">{caption}</p>'
                        f'<div class="excerpt" dir="auto">{visible(answer.text.text)}</div></div>')
    return wrap_served(name_of(key), main, show_key(key), lead)


def _show_cluster(cluster: Cluster, key: Key | None, texts: bool, route: str | None) -> str:
    """Render the members of a cluster; `route`: where the list is paged, None for a link to it."""
    dated = any(member.versions is not None for member in cluster.members)
    heads = [("Document", False)]
    heads += [("Versions", True), ("Last seen (UTC)", False)] if dated else [("Class", False), ("Resemblance", True)]
    heads += [("", False)] if texts else []
    other = key if key is not None and key != cluster.representative else cluster.representative
    lines = ""
    for member in cluster.members:
        note = ' <span class="faint small">representative</span>' if member.key == cluster.representative else ""
        cells = f'<td class="keys">{link_key(member.key, member.key == key)}{note}</td>'
        if dated:
            cells += f'<td class="number">{member.versions or 0:,}</td><td class="plain">{show_date(member.date)}</td>'
        else:
            score = show_score(member.resemblance, True)
            cells += f'<td>{show_text(member.verdict or "")}</td><td class="number">{score}</td>'
        if texts:
            to = None if member.key == other else write_address("compare", a=other, b=member.key)
            cells += f'<td class="plain">{link(to, "differences") if to else ""}</td>'
        lines += f"<tr>{cells}</tr>"
    table = show_grid(f"{counted(cluster.documents, 'document')}, the representative first", heads, lines)
    if route is None:
        more = link(write_address("document", key=cluster.representative), "all documents of the cluster")
        below = f'<p class="small">{more}</p>' if cluster.page.more else ""
        return f'<div class="card"><div class="wide">{table}</div>{below}</div>'
    pages = show_pager(cluster.page, route, "page", "Pages of the cluster", key=key)
    return f'<div class="card"><div class="wide">{table}</div>{pages}</div>'


def show_clusters(answer: Clusters, values: Values) -> str:
    """Render a list of clusters."""
    if not answer.clusters:
        words = "There are none: no document stands for another." if answer.page.number == 1 else "There is no such page."
        alone = link("/clusters?least=1", "All documents")
        main = f'<p class="faint">{words}</p><p>{alone}</p>{show_pager(answer.page, "clusters")}'
        return wrap_served("Clusters", main, "Clusters", "", "clusters")
    lines = "".join(map(_show_listed_cluster, answer.clusters))
    heads = ("Documents", True), ("Representative", False), ("Others", False)
    least = values.get("least", 2)
    total = "Clusters" if answer.page.total is None else counted(answer.page.total, "cluster")
    table = show_grid(total if least == 1 else f"{total} of {least:,} documents or more", heads, lines)
    pages = show_pager(answer.page, "clusters", what="Pages of clusters", least=None if least == 2 else str(least))
    other = link("/clusters", "two or more documents only") if least == 1 else \
        link("/clusters?least=1", "single documents, too")
    main = f'<div class="card"><div class="wide">{table}</div>{pages}</div>'
    return wrap_served("Clusters", main, "Clusters", f"Documents by the one that represents them. Show {other}.", "clusters")


def _show_listed_cluster(cluster: ListedCluster) -> str:
    """Render the row of a cluster."""
    others = "<br>".join(link_key(key) for key in cluster.members[1:])
    left = cluster.documents - len(cluster.members)
    more = f'<p class="faint small">and {left:,} more</p>' if left else ""
    return (f'<tr><td class="number">{cluster.documents:,}</td><td class="keys">{link_key(cluster.representative)}</td>'
            f"<td>{others}{more}</td></tr>")


# ---- versions, and where the content of a key was seen last


def show_history(answer: History, values: Values) -> str:
    """Render the versions of a key."""
    lead = f"Versions of {link_key(answer.key)}"
    return wrap_served(f"Versions of {name_of(answer.key)}", _show_history(answer, "history"), "Versions", lead)


def _show_history(history: History, route: str) -> str:
    """Render a list of versions and its pager."""
    lines = "".join(
        f'<tr><td class="number">{version.number:,}</td><td class="plain">{show_date(version.date)}</td>'
        f'<td>{show_change(version.change)}</td><td class="number">{show_score(version.resemblance, True)}</td></tr>'
        for version in history.versions
    )
    heads = ("Version", True), ("Date (UTC)", False), ("Change", False), ("Resemblance", True)
    assert history.page.total is not None  # all versions are counted
    versions = counted(history.page.total, "version")
    table = show_grid(f"{versions}, the latest first, each compared with the one before", heads, lines)
    pages = show_pager(history.page, route, "versions", "Pages of versions", key=history.key)
    return f'<div class="card"><div class="wide">{table}</div>{pages}</div>'


def show_located(answer: Located, values: Values) -> str:
    """Render where the content of a key was seen last."""
    lead = f"Where the content of {link_key(answer.key)} was seen last"
    return wrap_served(f"Lost and found: {name_of(answer.key)}", _show_located(answer), "Lost and found", lead)


def _show_located(located: Located) -> str:
    """Render the latest document of a cluster."""
    same = located.key == located.located
    words = "this document itself" if same else link_key(located.located)
    to = None if same else write_address("compare", a=located.key, b=located.located)
    return (f'<div class="card"><p class="answer">Seen last: <strong>{words}</strong></p>'
            f'<p class="faint">on {show_date(located.date)} UTC, of all documents of its cluster'
            f'{" · " + link(to, "differences") if to else ""}</p></div>')


def _show_overall(overall: OverallAnswer) -> str:
    """Render the result of the last run over many stores for a document."""
    words = "represents itself"
    if overall.of is not None:
        store = "" if overall.store is None else f"{show_text(overall.store)}: "
        representative = link_key(overall.of) if overall.here else show_key(overall.of)
        score = "" if overall.resemblance is None else f", resemblance {show_score(overall.resemblance, True)}"
        words = f"{show_text(overall.verdict)}{score}, represented by <strong>{store}{representative}</strong>"
    return (f'<div class="card"><p class="answer">{words}</p>'
            f'<p class="faint">by the run {show_text(overall.run)} of {show_date(overall.date)} UTC</p></div>')


# ---- texts


def show_peeked(answer: Peeked, values: Values) -> str:
    """Render the verdict on a pasted text."""
    main, heading = "", "Text"
    judged = answer.judgement
    if judged is not None:
        heading = show_text(VERDICTS.get(judged.verdict, judged.verdict))
        heading = heading[:1].upper() + heading[1:]
        main = f'<div class="card">{_show_judgement(answer)}</div>'
    elif answer.resembling is not None:
        heading = counted(len(answer.resembling), "document") + " found" if answer.resembling else "Nothing resembles it"
        main = _show_matches(answer.resembling)
    if answer.located is not None:
        main += show_section("located", "Lost and found", _show_text_located(answer.located))
    if answer.differences is not None:
        main += show_section("differences", "Marked differences", fit(_make_marker(answer.differences), 200_000, PAGE_BYTES))
    if answer.cluster is not None:
        main += show_section("cluster", "Its cluster", _show_cluster(answer.cluster, None, False, None))
    text = values.get("text", "")
    if isinstance(text, str) and len(text) <= PASTED:
        main += show_section("again", "Ask again", f'<div class="asks">{_show_text_form(text, values.get("key"))}</div>')
    return wrap_served("A pasted text", main, heading, "The verdict on the pasted text, which is not kept.")


def _show_judgement(answer: Peeked) -> str:
    """Render the figures of a verdict."""
    judged = answer.judgement
    assert judged is not None
    if judged.of is None:
        return '<p class="answer">No document resembles it enough to represent it.</p>'
    about = "" if judged.exact else " (estimated from sketches)"
    rows = [
        ("representative", link_key(judged.of)),
        ("resemblance" + about, show_score(judged.resemblance, True)),
        ("share of the text that is in the representative", _show_share(judged.contained)),
        ("share of the representative that is in the text", _show_share(judged.containing)),
        ("the same text", "–" if judged.equal is None else link_key(judged.equal)),
    ]
    lines = "".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
    return f'<div class="wide">{show_grid("Verdict", (("Figure", False), ("Value", False)), lines)}</div>'


def _show_text_located(located: Located) -> str:
    where = f"<strong>{link_key(located.located)}</strong>"
    return (f'<div class="card"><p class="answer">Its content was seen last at {where}</p>'
            f'<p class="faint">on {show_date(located.date)} UTC</p></div>')


def _make_marker(compared: Compared) -> Callable[[int], str]:
    """Make a function that renders both texts side by side, up to a number of characters of each."""
    def marked(limit: int) -> str:
        shown = compared.found.shortened(limit)
        notes = "; ".join(f"{each.name}: {each.note}" for each in (shown.a, shown.b) if each.note)
        legend = f'<p class="faint legend-line">{LEGEND}</p>'
        note = f'<p class="cut-note">{show_text(notes)}</p>' if notes else ""
        names = (shown.a.name, shown.b.name)
        both = show_side_by_side(shown.a.shown, shown.b.shown, shown.passages, names)
        return f"{legend}{note}{draw_overview(shown.passages)}{both}"

    return marked


def show_compared(answer: Compared, values: Values) -> str:
    """Render two texts side by side with all figures."""
    body = fit(lambda limit: show_comparison(answer.found.shortened(limit)), 200_000, PAGE_BYTES)
    return wrap_served(title_of(answer.found), f"<br>{body}")


def _show_matches(matches: list[Match]) -> str:
    """Render documents of a collection that resemble a text."""
    if not matches:
        return '<p class="faint">No document resembles it at the threshold of the clusters.</p>'
    lines = "".join(
        f'<tr><td class="keys">{link_key(each.key)}</td><td class="number">{show_score(each.resemblance, True)}</td>'
        f'<td class="number">{_show_share(each.text_in_document)}</td>'
        f'<td class="number">{_show_share(each.document_in_text)}</td>'
        f"<td>{link_key(each.cluster)}</td></tr>" for each in matches
    )
    heads = (("Document", False), ("Resemblance", True), ("Text in it", True), ("It in the text", True),
             ("Cluster of", False))
    table = show_grid("Most similar first; estimated from sketches", heads, lines)
    return f'<div class="card wide">{table}</div>'


def _show_share(value: float | None) -> str:
    return "–" if value is None or value != value else show_share(value)


SHOW: Mapping[str, Callable[[Any, Values], str]] = {
    "about": show_about, "peek": show_peeked, "document": show_document, "clusters": show_clusters, "history": show_history,
    "locate": show_located, "compare": show_compared,
}


def show_problem(status: int, title: str, detail: str) -> str:
    """Render the reason why a request was refused."""
    words = show_text(detail[:1].upper() + detail[1:])
    main = f'<div class="card"><p>{words}.</p><p><a href="/">To the overview</a></p></div>'
    return wrap_served(f"{status} {title}", main, f"{status} {show_text(title)}")
