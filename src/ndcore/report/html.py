"""Pages of HTML that load nothing, and the style of texts side by side on them."""

from __future__ import annotations

import base64
import hashlib

from ndcore.alignment.passages import Passages
from ndcore.alignment.rows import in_same_order, spelt

__all__ = ["BEGINNING", "SCRIPT", "STYLE", "overview", "page", "policy"]

BEGINNING = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta name="generator" content="ndcore">\n'
RIBBONS = 400  # passages in the overview, the longest

STYLE = """
:root { color-scheme: light dark; --page: #fafaf8; --card: #fff; --ink: #1f2328; --faint: #6b7280; --line: #e4e4e0;
  --shared: #1d5fbf; --shared-back: #eaf2fd; --shared-on: #c9defa; --alone: #9a4a00; --alone-back: #fdf0dc;
  --moved: #7a35b8; --moved-back: #f4ecfb; --moved-on: #e2cdf5; }
@media (prefers-color-scheme: dark) { :root { --page: #15171a; --card: #1c1f23; --ink: #e3e5e8; --faint: #959ca6;
  --line: #30343a; --shared: #7db4ff; --shared-back: #1b2b42; --shared-on: #2c4a75; --alone: #f2b366;
  --alone-back: #3a2a12; --moved: #c79bf2; --moved-back: #2f2140; --moved-on: #4c3568; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 92rem; padding: 1.5rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.nd-pair { width: 100%; table-layout: fixed; border-collapse: separate; border-spacing: 0; background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; }
.nd-pair th { position: sticky; top: 0; z-index: 1; padding: .55rem .9rem; background: var(--card); text-align: left;
  font-weight: 600; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; border-radius: 10px 10px 0 0; }
.nd-pair th::before { content: "A · "; } .nd-pair th + th::before { content: "B · "; }
.nd-pair td { vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid var(--line); }
.nd-pair tr:last-child td { border-bottom: 0; }
.nd-pair td + td, .nd-pair th + th { border-left: 1px solid var(--line); }
.nd-shared, .nd-alone { display: grid; grid-template-columns: 3.1rem minmax(0, 1fr); gap: .55rem; padding: .3rem .4rem;
  border-radius: 6px; scroll-margin: 4rem; }
.nd-shared { cursor: pointer; transition: background .15s; }
.nd-text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
.nd-sign { justify-self: end; align-self: start; min-width: 1.7em; padding: 0 .4em; border-radius: 1em; text-align: center;
  font-size: .8em; font-weight: 600; font-variant-numeric: tabular-nums; text-decoration: none; }
.nd-sign small { display: block; font-weight: 400; font-size: .85em; line-height: 1.1; padding-bottom: .2em; }
.nd-shared > .nd-sign { color: var(--shared); background: var(--shared-back); }
.nd-short > .nd-sign, .nd-equal { color: var(--shared); background: none; box-shadow: inset 0 0 0 1px var(--shared); }
.nd-moved > .nd-sign, .nd-again > .nd-sign { color: var(--moved); background: var(--moved-back); border-radius: .7em; }
.nd-moved > .nd-text, .nd-again > .nd-text { box-shadow: -3px 0 0 -1px var(--moved); padding-left: .5rem; }
.nd-alone > .nd-sign, .nd-only { color: var(--alone); background: var(--alone-back); font-size: 1.05em; line-height: 1.35;
  font-weight: 700; }
.nd-alone mark { color: inherit; background: var(--alone-back); text-decoration: underline dashed var(--alone) 1px;
  text-underline-offset: .25em; border-radius: 3px; box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.nd-between { color: var(--faint); }
.nd-code { font: .75em ui-monospace, Menlo, Consolas, monospace; color: var(--faint); border: 1px solid var(--line);
  border-radius: 4px; padding: 0 .25em; margin: 0 .1em; unicode-bidi: isolate; white-space: nowrap; }
.nd-shared.nd-on, .nd-shared:target { background: var(--shared-on); }
.nd-moved.nd-on, .nd-again.nd-on, .nd-moved:target { background: var(--moved-on); }
.nd-pair a:focus-visible, .nd-pair summary:focus-visible { outline: 2px solid currentColor; outline-offset: 2px; }
.nd-pair details { margin: .35rem 0; border-block: 1px dashed var(--line); }
.nd-pair summary { color: var(--faint); font-size: .85em; cursor: pointer; padding: .15rem 0; }
.nd-overview { display: block; width: 100%; height: 84px; margin: .25rem 0; }
.nd-overview .bar { fill: var(--alone-back); stroke: var(--line); vector-effect: non-scaling-stroke; }
.nd-overview .s { fill: var(--shared); } .nd-overview .m { fill: var(--moved); }
.nd-overview .e { fill: var(--shared); opacity: .4; } .nd-overview .ribbon { opacity: .22; }
@media (max-width: 40rem) { .nd-shared, .nd-alone { grid-template-columns: minmax(0, 1fr); gap: .15rem; padding: .2rem; }
  .nd-pair td { padding: .2rem; } .nd-sign { justify-self: start; } }
@media (max-width: 30rem) { .nd-pair, .nd-pair > thead, .nd-pair > tbody, .nd-pair > * > tr, .nd-pair > * > * > * {
  display: block; width: auto; } .nd-pair > tbody > tr > td + td, .nd-pair > thead > tr > th + th { border-left: 0; }
  .nd-pair > thead > tr > th { position: static; } .nd-pair > tbody > tr > td { border-bottom: 0; }
  .nd-pair > tbody > tr { padding: .3rem 0; border-bottom: 1px solid var(--line); }
  .nd-pair > tbody > tr > td:empty { display: none; }
  .nd-pair > tbody > tr > td::before { content: "A"; color: var(--faint); font-size: .8em; font-weight: 600; }
  .nd-pair > tbody > tr > td + td::before { content: "B"; } }
@media print { .nd-pair th { position: static; } }
"""

SCRIPT = """
'use strict';
const passage = event => event.target instanceof Element ? event.target.closest('[data-nd]') : null;
const light = (event, on) => {
  const one = passage(event);
  if (!one) return;
  const all = one.closest('table').querySelectorAll(`[data-nd="${one.dataset.nd}"]`);
  for (const each of all) each.classList.toggle('nd-on', on);
};
for (const type of ['pointerover', 'focusin']) document.addEventListener(type, event => light(event, true));
for (const type of ['pointerout', 'focusout']) document.addEventListener(type, event => light(event, false));
document.addEventListener('click', event => {
  const one = passage(event);
  if (!one || event.target.closest('summary') || String(getSelection())) return;
  const link = one.querySelector('a.nd-sign'), there = document.getElementById(link.hash.slice(1));
  if (!there) return;
  event.preventDefault();
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  there.scrollIntoView({block: 'center', behavior: still ? 'auto' : 'smooth'});
  there.querySelector('a.nd-sign').focus({preventScroll: true});
});
"""


def page(title: str, body: str, style: str = "", script: str = "", forms: bool = False) -> str:
    """Wrap `body` in a page of HTML that loads nothing.

    `style` and `script` follow `STYLE` and `SCRIPT`. The Content-Security-Policy names the two by their hashes, so no other
    style counts and no other script runs, not even in attributes. With `forms`, forms may ask the server of the page.
    """
    styles, scripts = STYLE + style, SCRIPT + script
    return (
        f'{BEGINNING}<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script, forms)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{spelt(title)}</title>\n<style>{styles}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{scripts}</script>\n</body>\n</html>\n"
    )


def policy(style: str = "", script: str = "", forms: bool = False) -> str:
    """Return the Content-Security-Policy of a `page` with the same arguments."""
    allowed = f"style-src {_hash(STYLE + style)}; script-src {_hash(SCRIPT + script)}"
    target = "'self'" if forms else "'none'"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action {target}"


def _hash(source: str) -> str:
    """Hash a style sheet or a script as a Content-Security-Policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def overview(found: Passages) -> str:
    """Draw both texts as bars, a above b, and their shared passages as ribbons between them; an SVG element.

    Widths are in tokens. Short passages are paler, and have no ribbons. Only the longest `RIBBONS` ribbons are drawn.
    """
    lengths = [passages[-1].last if passages else 1 for passages in found]
    firsts = [{p.number: p for p in passages if p.number and not p.repeat and not p.short}
              for passages in found]
    longest = sorted(firsts[0].values(), key=lambda p: p.first - p.last)[:RIBBONS]
    aligned = in_same_order(found)
    shapes = []
    for passages, length, y in zip(found, lengths, (0, 72), strict=True):
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
    label = f"Where the {len(firsts[0])} shared passages stand, A above and B below"
    return (
        f'<svg class="nd-overview" viewBox="0 0 1000 84" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )


def _x(token: int, length: int) -> str:
    """Return the place of a token in a width of 1000."""
    return f"{1000 * token / length:.2f}"
