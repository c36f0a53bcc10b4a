"""The evidence of a session for a paper or an audit: the pool, each draw with its probability, the answers, the curve."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ndcore._version import __version__
from ndcore.human import counted
from ndcore.judge.answers import Answered
from ndcore.judge.estimates import Agreed, Findings
from ndcore.judge.pool import Pool
from ndcore.report.elements import show_grid, show_making, show_section, show_text, three_decimals
from ndcore.report.html import wrap_page
from ndcore.report.judged import CURVES, curve_chart, measure_table
from ndcore.report.plain_values import plain

LISTED = 2000  # draws on the page; the JSON has all draws


@dataclass(frozen=True)
class SessionEvidence:
    """The parts of a session that its evidence needs; `name_of` returns the id of a document by its position."""

    seed: int
    pool: Pool
    findings: Findings
    answered: Sequence[Answered]
    agreement: Sequence[Agreed]
    name_of: Callable[[int], Any]


def evidence_json(session: SessionEvidence) -> dict[str, Any]:
    """Collect all inputs of the estimates as values of JSON."""
    pool, findings = session.pool, session.findings
    draws = [{
        "number": draw.number, "person": draw.person, "a": plain(session.name_of(draw.pair[0])),
        "b": plain(session.name_of(draw.pair[1])), "probability": draw.probability, "shared": draw.shared,
        "answer": draw.label, "note": draw.note, "scores": [float(s) for s in pool.scores[:, pool.find(*draw.pair)]],
    } for draw in session.answered]
    return {
        "ndcore": __version__, "seed": session.seed,
        "pool": {"pairs": len(pool), "size": pool.size, "complete": pool.complete, "documents": pool.documents,
                 "distinct": pool.distinct, "floor": pool.floor, "identity": pool.identity,
                 "measures": [str(measure) for measure in session.pool.measures]},
        "draws": draws, "findings": plain(findings), "agreement": plain(session.agreement),
    }


def evidence_page(session: SessionEvidence) -> str:
    """Render the evidence as an HTML page that loads nothing."""
    pool, findings = session.pool, session.findings
    pairs = counted(len(pool), "pair") if pool.complete else f"{len(pool):,} pairs, which stand for about {pool.size:,.0f}"
    rows = [
        ("documents", f"{pool.documents:,}, {pool.distinct:,} of them distinct"),
        ("pool", f"{pairs} with a resemblance of {pool.floor:g} or more under one of the measures, copies left out"),
        ("identity of the pool", pool.identity), ("seed", str(session.seed)), ("ndcore", __version__),
    ]
    body = f"<header><h1>Judged pairs</h1><p>{show_text(str(findings)).replace(chr(10), '<br>')}</p></header><main>"
    body += show_section("pool", "The pool", show_making(rows))
    body += show_section("curve", "Precision, recall and F1 by threshold", curve_chart(findings))
    body += show_section("measures", "The measures", measure_table(findings))
    agreed = "".join(f"<tr><td>{show_text(each.first or 'no name')}</td><td>{show_text(each.second or 'no name')}</td>"
                     f'<td class="number">{each.pairs}</td><td class="number">{three_decimals(each.kappa)}</td></tr>'
                     for each in session.agreement)
    if agreed:
        heads = ("One", False), ("Other", False), ("Pairs", True), ("Cohen's kappa", True)
        body += show_section("agreement", "Agreement", show_grid("On the pairs that all people get", heads, agreed))
    return wrap_page("Judged pairs", body + show_section("draws", "Draws", _draws(session)) + "</main>", CURVES)


def _draws(session: SessionEvidence) -> str:
    """Render the table of draws."""
    lines = ""
    for draw in itertools.islice(session.answered, LISTED):
        a, b = (show_text(str(session.name_of(position))) for position in draw.pair)
        score = float(session.pool.scores[0, session.pool.find(*draw.pair)])
        lines += (f'<tr><td class="number">{draw.number + 1}</td><td>{a}</td><td>{b}</td>'
                  f'<td class="number">{draw.probability:.3g}</td><td class="number">{three_decimals(score)}</td>'
                  f"<td>{show_text(draw.label or 'waits')}</td><td>{show_text(draw.person)}</td>"
                  f"<td>{show_text(draw.note)}</td></tr>")
    heads = (("Draw", True), ("A", False), ("B", False), ("Probability", True), ("Score", True), ("Answer", False),
             ("Person", False), ("Note", False))
    more = len(session.answered) - LISTED
    rest = f"<p>{more:,} more draws are in evidence.json.</p>" if more > 0 else ""
    caption = f"Each with its probability among pairs not drawn before, and its {show_text(str(session.pool.measures[0]))}"
    return f'<div class="card wide">{show_grid(caption, heads, lines)}</div>{rest}'
