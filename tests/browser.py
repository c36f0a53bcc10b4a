"""Pages parsed and opened in a browser, and texts that attack them. No test is here."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

from devtools import tab

HOSTILE = "<script>alert(1)</script> & \"'</td></table> \u202evil\u2066 \x00\x1b[31m one two three \ud800 ]]> <!-- --> &amp;"
VOID = {"meta", "br", "input", "img"}


class Tree(HTMLParser):
    """All elements of a page: each is closed in order; their attributes and the text outside of scripts and styles."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, attributes in self.elements if (value := attributes.get(name)) is not None]


def browse(path: Path, width: int | None = None, until: str = "true") -> tuple[str, list[str]]:
    """Return what the browser makes of a page opened from disk, and its messages about the page. A skip where there is none.

    width: of the window, in pixels. until: an expression of JavaScript that is waited for.
    """
    with tab(path.parent) as page:
        if width is not None:
            page.resize(width)
        page.open(path.as_uri())
        page.wait(until)
        return str(page.evaluate("document.documentElement.outerHTML")), page.messages


class Grids(Tree):
    """The tables of a page: caption and rows of cells, as text; inner tables are no part of the outer ones' cells."""

    def __init__(self, source: str) -> None:
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.stack: list[tuple[list[str], list[list[str]]]] = []
        super().__init__(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        if tag == "table":
            self.stack.append(([], []))
        elif tag == "tr":
            self.stack[-1][1].append([])
        elif tag in ("td", "th"):
            self.stack[-1][1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if tag == "table":
            caption, rows = self.stack.pop()
            self.tables.append(("".join(caption), rows))

    def handle_data(self, data: str) -> None:
        super().handle_data(data)
        if self.stack and "caption" in self.open[-4:]:
            self.stack[-1][0].append(data)
        elif self.stack and self.stack[-1][1] and self.stack[-1][1][-1]:
            self.stack[-1][1][-1][-1] += data

    def table(self, caption: str) -> list[list[str]]:
        [rows] = [rows for name, rows in self.tables if name.startswith(caption)]
        return rows[1:]
RUN_THIS = "document.title='ran'"
ATTACK = f'{HOSTILE}</title></style></script></svg><img src=x onerror="{RUN_THIS}"><script>{RUN_THIS}</script>'


def count_aligned(page: str) -> int:
    """Check that numbers stand to the right, and so do the heads above them; return the number of tables."""
    tables = re.findall("<table(?:(?!<table).)*?</table>", page, re.DOTALL)  # without those that hold tables
    for table in tables:
        head, *rows = re.findall("<tr.*?</tr>", table, re.DOTALL)
        of_head, *of_rows = (["number" in cell for cell in re.findall("<t[hd]([^>]*)>", row)] for row in (head, *rows))
        assert of_rows and all(cells == of_head for cells in of_rows), head
    return len(tables)


def opened(source: str, tmp_path: Path) -> tuple[list[str], list[str]]:
    """Title after the page has run, and the messages of the browser, for the page as it is."""
    (tmp_path / "page.html").write_text(source, encoding="utf-8")
    dom, messages = browse(tmp_path / "page.html")
    return [html.unescape(title) for title in re.findall("<title>(.*?)</title>", dom)[:1]], messages
