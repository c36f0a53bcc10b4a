"""Make HTML pages that load nothing, with the style of texts side by side."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from ndcore.alignment.passages import Passages
from ndcore.alignment.rows import in_same_order, spell_text

BEGINNING = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="ndcore">\n'
RIBBONS = 400  # ribbons in the overview, of the longest passages


def read_beside(module: str, name: str) -> str:
    """Read a style sheet or a script from the folder of a module."""
    return Path(module).with_name(name).read_text(encoding="utf-8")


STYLE = read_beside(__file__, "page.css")

SCRIPT = read_beside(__file__, "page.js")
REPORT_STYLE = read_beside(__file__, "report.css")
REPORT_SCRIPT = read_beside(__file__, "report.js")  # sorts and filters a table


def wrap_page(title: str, body: str, style: str = "", script: str = "", forms: bool = False) -> str:
    """Wrap `body` in an HTML page that loads nothing.

    `style` and `script` follow `STYLE` and `SCRIPT`. The Content-Security-Policy names both by their hashes, so no other
    style applies and no other script runs, not even in attributes. With `forms`, forms may send requests to the server of
    the page.
    """
    styles, scripts = STYLE + style, SCRIPT + script
    return (
        f'{BEGINNING}<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{content_policy(style, script, forms)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{spell_text(title)}</title>\n<style>{styles}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{scripts}</script>\n</body>\n</html>\n"
    )


def content_policy(style: str = "", script: str = "", forms: bool = False) -> str:
    """Return the Content-Security-Policy of a `wrap_page` with the same arguments."""
    allowed = f"style-src {_hash(STYLE + style)}; script-src {_hash(SCRIPT + script)}"
    target = "'self'" if forms else "'none'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action {target}"


def _hash(source: str) -> str:
    """Hash a style sheet or a script for a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def draw_overview(both: Passages) -> str:
    """Draw both texts as bars, a above b, and their shared passages as ribbons between them; an SVG element.

    Widths are in tokens. Short passages are paler and have no ribbons. Only the longest `RIBBONS` ribbons are drawn.
    """
    lengths = [passages[-1].last if passages else 1 for passages in both]
    firsts = [{p.number: p for p in passages if p.number and not p.repeat and not p.short}
              for passages in both]
    longest = sorted(firsts[0].values(), key=lambda p: p.first - p.last)[:RIBBONS]
    aligned = in_same_order(both)
    shapes = []
    for passages, length, y in zip(both, lengths, (0, 72), strict=True):
        shapes.append(f'<rect class="bar" y="{y}" width="1000" height="12"/>')
        for name, short in (("s", False), ("e", True)):
            ends = [(_x(p.first, length), _x(p.last, length)) for p in passages if p.number and p.short is short]
            if ends or not short:
                drawn = "".join(f"M{start} {y}H{end}v12H{start}z" for start, end in ends)
                shapes.append(f'<path class="{name}" d="{drawn}"/>')
    for p in longest:
        q = firsts[1][p.number]
        x1, x2 = _x(p.first, lengths[0]), _x(p.last, lengths[0])
        x3, x4 = _x(q.first, lengths[1]), _x(q.last, lengths[1])
        shapes.append(
            f'<path class="ribbon {"s" if p.number in aligned else "m"}" d="M{x1} 12C{x1} 42 {x3} 42 {x3} 72H{x4}'
            f'C{x4} 42 {x2} 42 {x2} 12z"/>'
        )
    label = f"Where the {len(firsts[0])} shared passages are, A above and B below"
    return (
        f'<svg class="nd-overview" viewBox="0 0 1000 84" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )


def _x(token: int, length: int) -> str:
    """Scale the position of a token to a width of 1000."""
    return f"{1000 * token / length:.2f}"
