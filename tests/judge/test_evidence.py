"""The evidence: every draw with its probability and answer, and a page that loads and runs nothing."""

from __future__ import annotations

import json

import pytest
from browser import ATTACK, Tree
from judgedpairs import answer, versions

from ndcore.judge import Measure, Session
from ndcore.judge.evidence import evidence_json, evidence_page

TEXTS = versions(2, 12)


@pytest.fixture(scope="module")
def session() -> Session:
    made = Session(TEXTS, [f"{i} {ATTACK}" for i in range(len(TEXTS))], measures=[Measure(width=2), Measure(width=3)])
    answer(made, 14)
    made.next()
    made.answer("same", note=ATTACK, person="")
    return made


def test_the_json_has_what_the_estimates_stand_on(session: Session):
    found = json.loads(json.dumps(evidence_json(session.evidence()), allow_nan=False))
    assert found["pool"]["pairs"] == len(session.pool)
    assert found["pool"]["identity"] == session.pool.identity
    assert [draw["answer"] for draw in found["draws"]] == [draw.label for draw in session.answered]
    assert all(0 < draw["probability"] <= 1 for draw in found["draws"])
    assert [(draw["a"], draw["b"]) for draw in found["draws"]] == [
        tuple(f"{position} {ATTACK}" for position in draw.pair) for draw in session.answered]
    assert len(found["findings"]["curves"]["f1"][0]) == len(found["findings"]["curves"]["thresholds"])


def test_the_page_escapes_everything(session: Session):
    source = evidence_page(session.evidence())
    tree = Tree(source)
    assert "img" not in [tag for tag, _ in tree.elements]
    assert [tag for tag, _ in tree.elements].count("script") == 1
    assert not tree.values("src")
    assert "Recall is" not in source
    assert "recall within the pool" in source
