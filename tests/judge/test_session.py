"""Sessions: they go on where they stopped, take back answers, serve several people, and end in settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from judgedpairs import answer, versions

from ndcore import load_settings, near_duplicates
from ndcore.judge import DEFAULT, Measure, Session

TEXTS = versions(1, 20)
SMALL: dict[str, Any] = {"measures": [Measure(width=3)]}


def test_a_session_goes_on_where_it_stopped(tmp_path: Path):
    with Session(TEXTS, directory=tmp_path, **SMALL) as whole:
        answer(whole, 12)
        shown = whole.next()
        expected = str(whole.findings())
    with Session(TEXTS, directory=tmp_path, **SMALL) as again:
        assert str(again.findings()) == expected
        assert again.next() == shown
    with Session(TEXTS, **SMALL) as memory:
        answer(memory, 12)
        assert memory.next() == shown


def test_a_session_makes_its_folder_and_a_new_log_is_whole(tmp_path: Path):
    with Session(TEXTS, directory=tmp_path / "of" / "mine", **SMALL) as session:
        assert session.torn == 0 and (tmp_path / "of" / "mine").is_dir()
    assert Session(TEXTS, **SMALL).torn == 0


def test_a_killed_process_loses_no_answer(tmp_path: Path):
    program = ("import os, sys; sys.path.insert(0, sys.argv[2])\n"
               "from judgedpairs import *; from ndcore.judge import Measure\n"
               "s = Session(versions(1, 20), directory=sys.argv[1], measures=[Measure(width=3)]); answer(s, 7)\n"
               "os.kill(os.getpid(), 9)")
    subprocess.run([sys.executable, "-c", program, str(tmp_path), str(Path(__file__).parents[1])], check=False)
    with Session(TEXTS, directory=tmp_path, **SMALL) as again:
        assert again.findings().answers == 7


def test_other_texts_measures_or_seeds_are_refused(tmp_path: Path):
    Session(TEXTS, directory=tmp_path, **SMALL).close()
    with pytest.raises(ValueError, match="another pool"):
        Session(TEXTS[:-1], directory=tmp_path, **SMALL)
    with pytest.raises(ValueError, match="another pool"):
        Session(TEXTS, directory=tmp_path, measures=[Measure(width=2)])
    with pytest.raises(ValueError, match="seed=3 would draw other pairs"):
        Session(TEXTS, directory=tmp_path, seed=3, **SMALL)


def test_one_process_at_a_time(tmp_path: Path):
    with Session(TEXTS, directory=tmp_path, **SMALL), pytest.raises(BlockingIOError, match="another session"):
        Session(TEXTS, directory=tmp_path, **SMALL)


def test_undo_takes_back_the_last_answer_of_a_person():
    session = Session(TEXTS, **SMALL)
    assert session.undo() is None
    answer(session, 3)
    before = session.findings()
    question = session.next()
    session.answer("skip")
    assert session.findings().answers == before.answers
    assert session.undo() == question
    assert session.next() == question
    session.answer("same", note="after all", number=question.number if question else None)
    assert session.answered[-1].note == "after all"
    assert session.undo("another") is None


def test_answers_that_are_not_accepted():
    session = Session(TEXTS, **SMALL)
    with pytest.raises(ValueError, match="call next first"):
        session.answer("same")
    session.next()
    with pytest.raises(ValueError, match="label"):
        session.answer("maybe")
    with pytest.raises(ValueError, match="pair 5 does not wait"):
        session.answer("same", number=5)
    with pytest.raises(ValueError, match="note"):
        session.answer("same", note="x" * 10_001)
    with pytest.raises(ValueError, match="person"):
        session.next("x" * 101)


def test_several_people_share_the_first_pairs():
    session = Session(TEXTS, **SMALL)
    answer(session, 15, person="ann")
    answer(session, 15, threshold=0.7, person="bo")
    shared = {person: [draw.pair for draw in session.answered if draw.person == person and draw.shared]
              for person in ("ann", "bo")}
    assert shared["ann"] == shared["bo"]
    assert len(shared["ann"]) == 10
    own = [draw.pair for draw in session.answered if not draw.shared]
    assert len(set(own)) == len(own) == 10
    [agreed] = session.agreement()
    assert (agreed.first, agreed.second, agreed.pairs) == ("ann", "bo", 10)
    assert -1 <= agreed.kappa <= 1
    assert session.findings().answers == 20
    assert {float(share) for share in session.answers().same} <= {0.0, 0.5, 1.0}


def test_labels_from_elsewhere(tmp_path: Path):
    session = Session(TEXTS, [f"d{i}" for i in range(len(TEXTS))], **SMALL)
    (tmp_path / "labels.csv").write_text("d0,d1,same\nd0,d79,different\n")
    assert session.load_labels(tmp_path / "labels.csv") == (1, 1)
    assert session.findings().answers == 1


def test_it_ends_in_settings_and_evidence(tmp_path: Path):
    with Session(TEXTS, directory=tmp_path / "judged") as session:
        with pytest.raises(ValueError, match="too few"):
            session.settings()
        assert [path.name for path in session.save()] == ["evidence.json", "evidence.html"]
        answer(session, 25)
        assert {path.name for path in session.save()} == {"evidence.json", "evidence.html", "settings.toml"}
        assert load_settings(tmp_path / "judged" / "settings.toml") == session.settings()
        near_duplicates(TEXTS, **session.settings())


def test_all_pairs_can_be_judged():
    session = Session(TEXTS[:6], measures=DEFAULT[:2])
    answer(session, len(session.pool))
    assert session.next() is None


def test_nothing_to_judge():
    with pytest.raises(ValueError, match="nothing to judge"):
        Session(["one two three", "four five six"], **SMALL)
    with pytest.raises(ValueError, match="no directory"):
        Session(TEXTS, **SMALL).save()
