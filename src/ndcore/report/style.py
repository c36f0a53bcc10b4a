"""The style of the page of a report, and its script, which sorts and filters a table."""

from __future__ import annotations

__all__ = ["SCRIPT", "STYLE"]

STYLE = """
:root { --p0: #1f9d72; --p1: #1763b0; --p2: #56a8e4; --p3: #c274ac; --p4: #e59f1c; --p5: #7c5cc4; --p6: #a65f3e;
  --p7: #4f8a94; --p8: #8b9098; }
@media (prefers-color-scheme: dark) { :root { --p0: #2fb286; --p1: #3f86d6; --p2: #7cc0f0; --p3: #d490c0; --p4: #edb04a;
  --p5: #a78be8; --p6: #c98a6a; --p7: #7fb9c2; --p8: #7f868f; } }
body { max-width: 76rem; }
header { padding: 1rem 0 .5rem; }
.eyebrow { margin: 0; font-size: .8rem; font-weight: 600; letter-spacing: .09em; text-transform: uppercase;
  color: var(--shared); }
h1 { margin: .2rem 0 .3rem; font-size: clamp(1.5rem, 4vw, 2.2rem); line-height: 1.15; letter-spacing: -.015em;
  text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 2.2rem 0 .8rem; font-size: 1.2rem; letter-spacing: -.005em; }
.faint { color: var(--faint); } p.faint { margin: 0 0 .8rem; max-width: 62rem; } .small { font-size: .87em; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1rem 1.2rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .8rem; margin: 1.4rem 0 0; }
.figures div { display: flex; flex-direction: column; padding: .8rem 1rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; }
.figures dd { margin: 0; font-size: 1.65rem; font-weight: 650; line-height: 1.2; letter-spacing: -.02em;
  font-variant-numeric: tabular-nums; }
.figures dt { color: var(--faint); font-size: .87em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.card > .wide > table, .card.wide > table { width: 100%; }
caption { padding: 0 0 .5rem; text-align: left; color: var(--faint); font-size: .87em; overflow-wrap: anywhere; }
.card th, .card td { padding: .42rem 1.1rem .42rem 0; text-align: left; vertical-align: top; font-weight: 400; }
.card th:last-child, .card td:last-child { padding-right: 0; }
.card thead th { color: var(--faint); font-size: .87em; border-bottom: 1px solid var(--line); white-space: nowrap; }
.card tbody tr + tr > * { border-top: 1px solid var(--line); }
.card tbody th { white-space: nowrap; } .card .number { text-align: right; white-space: nowrap; }
.wide { overflow-x: auto; }
.key { display: inline-block; width: .8em; height: .8em; margin-right: .55em; border-radius: 3px;
  background: var(--own); }
.p0 { --own: var(--p0); } .p1 { --own: var(--p1); } .p2 { --own: var(--p2); } .p3 { --own: var(--p3); }
.p4 { --own: var(--p4); } .p5 { --own: var(--p5); } .p6 { --own: var(--p6); } .p7 { --own: var(--p7); }
.p8 { --own: var(--p8); }
rect[class^="p"] { fill: var(--own); stroke: var(--card); stroke-width: 2px; vector-effect: non-scaling-stroke; }
.stack { display: block; width: 100%; height: 34px; margin: .2rem 0 1rem; border-radius: 8px; overflow: hidden;
  background: var(--line); }
.mini { display: block; width: 100%; min-width: 7rem; height: 8px; margin: .5rem 0 .3rem; border-radius: 4px;
  overflow: hidden; }
.mini rect { stroke-width: 1px; }
.notes { margin: .9rem 0 0; padding-left: 1.2rem; color: var(--faint); } .notes li { margin: .15rem 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem;
  align-items: start; }
figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .4rem; }
.chart { display: block; width: 100%; height: auto; overflow: visible; }
.chart text { fill: var(--faint); font-size: 11px; text-anchor: middle; font-variant-numeric: tabular-nums; }
.chart .count { fill: var(--ink); } .chart .bar { fill: var(--shared); opacity: .85; } .chart .bar:hover { opacity: 1; }
.chart .axis { stroke: var(--line); } path.mark { stroke: var(--alone); stroke-width: 1.5; stroke-dasharray: 4 3; }
.chart text.mark { fill: var(--alone); text-anchor: start; } .chart text.end { text-anchor: end; }
details > summary { cursor: pointer; color: var(--faint); font-size: .87em; }
details > summary:hover { color: var(--ink); }
a { color: var(--shared); } :focus-visible { outline: 2px solid var(--shared); outline-offset: 2px;
  border-radius: 3px; }
.representative { width: 55%; min-width: 14rem; overflow-wrap: anywhere; }
.representative details { margin-top: .3rem; }
.representative details table { width: 100%; margin: .4rem 0 .3rem; font-size: .92em; }
.representative details td:nth-child(2) { white-space: nowrap; }
.representative strong, .view strong { font-weight: 600; }
.snippet { margin: .15rem 0 .3rem; font-size: .92em; line-height: 1.45; color: var(--faint); unicode-bidi: isolate; }
td p, td p.faint { margin: .1rem 0; }
.cut { color: var(--faint); font-style: italic; font-size: .9em; }
.cut-note { margin: .6rem 0 0; color: var(--alone); font-size: .9em; }
.view { margin: .7rem 0; scroll-margin: 1rem; }
.view > summary { color: inherit; font-size: 1em; overflow-wrap: anywhere; }
.view .nd-overview { margin: .8rem 0; } .view .nd-pair th, .view .nd-pair td { padding: .4rem .5rem; }
.view .nd-pair tr + tr > td { border-top: 0; }
.view .nd-pair th { position: static; white-space: normal; font-size: 1em; color: inherit; font-weight: 600; }
tr:target, .view:target { background: var(--shared-back); }
.making th { white-space: nowrap; color: var(--faint); } code { font: .87em ui-monospace, Menlo, Consolas, monospace; }
.making td { width: 100%; overflow-wrap: anywhere; min-width: 12rem; }
.filter { margin: 0 0 .8rem; } .filter[hidden] { display: none; }
.filter input { font: inherit; width: min(100%, 22rem); padding: .35rem .7rem; color: inherit; background: var(--page);
  border: 1px solid var(--line); border-radius: 8px; }
.filter output { color: var(--faint); font-size: .87em; }
.sortable > tbody > tr[hidden] { display: none; } th button { all: unset; cursor: pointer; }
th button:focus-visible { outline: 2px solid var(--shared); outline-offset: 2px; }
th button::after { content: " ↕"; opacity: .45; }
th[aria-sort="descending"] button::after { content: " ↓"; opacity: 1; }
th[aria-sort="ascending"] button::after { content: " ↑"; opacity: 1; }
@media (max-width: 40rem) { body { padding: .8rem .7rem 3rem; } .card { padding: .8rem .8rem; }
  .figures { grid-template-columns: repeat(auto-fit, minmax(6rem, 1fr)); gap: .5rem; }
  .figures div { padding: .55rem .7rem; } .figures dd { font-size: 1.3rem; }
  .card th, .card td { padding-right: .7rem; }
  .sortable, .sortable > thead, .sortable > tbody, .sortable > caption { display: block; }
  .chart text { font-size: 13px; }
  .sortable > thead > tr { display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
  .sortable > thead th { border: 0; padding: 0; }
  .sortable > tbody > tr:not([hidden]) { display: block; padding: .5rem 0; }
  .sortable > tbody > tr > td { display: block; width: auto; min-width: 0; padding: .1rem 0; border: 0; }
  .sortable > tbody > tr > .number { text-align: left; }
  .sortable > tbody > tr + tr > td { border: 0; } .sortable > tbody > tr + tr { border-top: 1px solid var(--line); }
  .sortable > tbody > tr > td:first-child::after { content: " documents"; color: var(--faint); }
  .sortable > tbody > tr > td:last-child::before { content: attr(data-name) " "; color: var(--faint); } }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } .filter { display: none; }
h2 { break-after: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } .card, .figures div { border-color: #bbb; }
  tr, figure { break-inside: avoid; } .nd-pair tr { break-inside: auto; } th button::after { content: none; }
  .wide { overflow: visible; } a { color: inherit; } }
"""

SCRIPT = """
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.toLowerCase();
  const number = column => rows.every(row => 'value' in row.cells[column].dataset);
  const order = (column, down) => {
    const sign = down ? -1 : 1, numeric = number(column);
    const sorted = rows.map((row, place) => [key(row, column), place, row]).sort(([a, i], [b, j]) =>
      (numeric ? sign * (a - b) : sign * (a < b ? -1 : a > b ? 1 : 0)) || i - j);
    body.append(...sorted.map(([, , row]) => row));
    heads.forEach((head, i) => i === column ? head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
      : head.removeAttribute('aria-sort'));
  };
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const now = head.getAttribute('aria-sort');
      order(column, now ? now === 'ascending' : number(column));
    });
  });
  const filter = table.closest('.card').querySelector('.filter'), output = filter.querySelector('output');
  filter.hidden = false;
  filter.querySelector('input').addEventListener('input', event => {
    const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      shown += !row.hidden;
    }
    output.textContent = words.length ? `${shown} of ${rows.length} clusters` : '';
  });
}
const open = () => {
  const there = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (there && there.tagName === 'DETAILS') there.open = true;
};
addEventListener('hashchange', open);
open();
"""
