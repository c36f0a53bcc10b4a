"""A session: pairs to judge, their answers, and the measure and threshold that follow from them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ndcore._types import AnyPath, Closing, Text
from ndcore.checks import check_choice, check_ids, checked_int, checked_memory_limit
from ndcore.dedup.settings import write_settings
from ndcore.files.json_values import to_json
from ndcore.judge.answers import LABELS, MOST_NOTE, Answered, AnswerLog, read_labels
from ndcore.judge.curves import MeasureFit
from ndcore.judge.draws import STRATIFIED, Draw, Drawer
from ndcore.judge.estimates import Agreed, Answers, Findings, evaluate, kappa
from ndcore.judge.evidence import SessionEvidence, evidence_json, evidence_page
from ndcore.judge.measures import Measure, checked_measures
from ndcore.judge.pool import Pool, gather
from ndcore.progress import Progress, reporting
from ndcore.storage.container import replacing
from ndcore.storage.lock import CannotLock, Lock
from ndcore.text.corpus import Corpus, as_corpus, indexed_texts

LOG, SETTINGS, EVIDENCE = "answers.jsonl", "settings.toml", "evidence"
ADVICE = "another session has this directory: end it, or take another directory"


@dataclass(frozen=True)
class Question:
    """A pair to judge.

    Attributes
    ----------
    number : int
        The number of the draw in the log.
    a, b : int
        Positions of the documents.
    id_a, id_b
        Their ids, or positions if there are no ids.
    text_a, text_b : str or bytes
    probability : float
        The probability of the draw, among the pairs not drawn before.
    shared : bool
        Whether every person gets this pair.
    """

    number: int
    a: int
    b: int
    id_a: Any
    id_b: Any
    text_a: Text
    text_b: Text
    probability: float
    shared: bool


class Session(Closing):
    """Ask people which pairs of a collection are duplicates, and find the measure and threshold that agree with them.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, or a Corpus
    ids : sequence, optional
        Names of the documents.
    directory : path, optional
        The directory of the answers, from which a session resumes. None: answers are kept in memory.
    measures : iterable of Measure, optional
        The measures to choose among; None: words in runs of 2, 3, 5 and 8, containment, and agreement in numbers.
    seed : int
        The seed of the draws. Equal texts, measures, seeds and answers give equal draws.
    threads, memory_limit, progress
        As for `near_duplicates`.

    Attributes
    ----------
    pool : Pool
        The pairs from which draws are made.
    torn : int
        Bytes of an incomplete last line of the log that a killed process left; they were dropped.

    Raises
    ------
    ValueError
        A parameter is not accepted, there are no pairs to judge, or the directory has answers about another pool.
    BlockingIOError
        Another process uses the directory.

    Notes
    -----
    The texts are read once for each kind of shingle among the measures, and again for the documents of each question.
    An answer takes some milliseconds.

    >>> session = Session(["a b c d e f g", "a b c d e f h", "a b c d e x y", "p q r s t u v"], measures=[Measure(width=2)])
    >>> question = session.next()
    >>> session.answer("same").answers
    1
    """

    def __init__(
        self, texts: Iterable[Text] | Corpus, ids: Sequence[Any] | None = None, *, directory: AnyPath | None = None,
        measures: Iterable[Measure] | None = None, seed: int = 0, threads: int | None = None,
        memory_limit: int | str | None = None, progress: bool | Progress | None = None,
    ) -> None:
        self.seed = checked_int("seed", seed, 0)
        self.measures = checked_measures(measures)
        self._corpus = as_corpus(texts)
        self._lock: Lock | None = None
        self.directory = None if directory is None else Path(directory)
        limit = checked_memory_limit(memory_limit)
        with reporting(progress) as report:
            self.pool: Pool = gather(self._corpus, self.measures, seed=seed, threads=threads, memory_limit=limit,
                                     report=report)
        if ids is not None:
            check_ids(ids, self.pool.documents)
        self.ids = ids
        if not len(self.pool):
            raise ValueError(f"there is nothing to judge: none of the {self.pool.distinct:,} distinct documents resembles "
                             f"another at {self.pool.floor:g} or more under one of the measures")
        self._fits = [MeasureFit(scores, self.pool.weight) for scores in self.pool.scores]
        self._drawers: dict[int, Drawer] = {}
        self._findings: Findings | None = None
        self._log = self._open_log()
        self._shared = self._draw_shared()

    def _open_log(self) -> AnswerLog:
        """Open the log, and write the identity of the pool, or check it."""
        if self.directory is not None:
            self.directory.mkdir(parents=True, exist_ok=True)
            try:
                self._lock = Lock(self.directory, ADVICE)
            except (ImportError, CannotLock):
                self._lock = None  # no locks here: other processes are not noticed
        try:
            log = AnswerLog(None if self.directory is None else self.directory / LOG)
            header = log.state.header
            if header is None:
                log.add({"kind": "pool", "version": 1, "identity": self.pool.identity, "seed": self.seed,
                         "pairs": len(self.pool), "size": self.pool.size, "documents": self.pool.documents,
                         "floor": self.pool.floor, "measures": [str(measure) for measure in self.measures]})
            elif header.get("version") != 1 or header.get("identity") != self.pool.identity:
                raise ValueError(f"{self.directory} has answers about another pool: the texts or the measures have changed; "
                                 "take another directory, or give the same again")
            elif header.get("seed") != self.seed:
                raise ValueError(f"{self.directory} was begun with seed={header.get('seed')!r:.40}; seed={self.seed} would "
                                 "draw other pairs")
        except BaseException:
            self.close()
            raise
        return log

    @property
    def torn(self) -> int:
        """The number of bytes of an incomplete last line of the log, which were dropped."""
        return self._log.torn

    @property
    def answered(self) -> tuple[Answered, ...]:
        """All draws so far, with their answers."""
        return tuple(self._log.state.draws)

    def close(self) -> None:
        """Close the log, and release the directory for other processes."""
        log = getattr(self, "_log", None)
        if log is not None:
            log.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # ---- questions

    def next(self, person: str = "") -> Question | None:
        """Return the next pair that a person is to judge; None if all pairs of the pool were drawn.

        The draw is logged before it is shown. A pair that has no answer yet is shown again.
        """
        waiting = self._log.state.open_draw(_check_name(person))
        if waiting is None:
            own = sum(draw.person == person for draw in self._log.state.draws)
            shared = own < len(self._shared)
            draw = self._shared[own] if shared else self._draw(person, own)
            if draw is None:
                return None
            pair = [int(self.pool.a[draw.pair]), int(self.pool.b[draw.pair])]
            self._log.add({"kind": "draw", "number": len(self._log.state.draws), "person": person, "pair": pair,
                           "probability": draw.probability, "shared": shared})
            waiting = self._log.state.draws[-1]
        return self._question(waiting)

    def _draw_shared(self) -> list[Draw]:
        """Draw the pairs that all people get; they depend on the seed alone."""
        drawn: dict[int, Draw] = {}
        for number in range(STRATIFIED):
            draw = self._drawer(0).draw(drawn, np.random.default_rng([self.seed, 1, number]), stratified=True)
            if draw is not None:
                drawn[draw.pair] = draw
        return list(drawn.values())

    def _draw(self, person: str, own: int) -> Draw | None:
        """Draw the next pair where the F1 of the recommended threshold is least certain."""
        drawn = {self.pool.find(*draw.pair) for draw in self._log.state.draws} | {draw.pair for draw in self._shared}
        rng = np.random.default_rng([self.seed, 2, own, *person.encode("utf-8", "surrogatepass")])
        return self._drawer(self.measures.index(self.findings().measure)).draw(drawn, rng, stratified=False)

    def _drawer(self, number: int) -> Drawer:
        """Make the drawer for the scores of a measure."""
        if number not in self._drawers:
            self._drawers[number] = Drawer(self._fits[number], self.pool.weight)
        return self._drawers[number]

    def _question(self, draw: Answered) -> Question:
        a, b = draw.pair
        wanted = np.zeros(self.pool.documents, np.bool_)
        wanted[[a, b]] = True
        texts: dict[int, Text] = {}
        for positions, part in indexed_texts([self._corpus], [0], wanted):
            texts.update(zip(positions.tolist(), part, strict=True))
            if len(texts) == 2:
                break
        return Question(draw.number, a, b, self.name_of(a), self.name_of(b), texts[a], texts[b], draw.probability,
                        draw.shared)

    def name_of(self, position: int) -> Any:
        """Return the id of a document, or its position if there are no ids."""
        return position if self.ids is None else self.ids[position]

    # ---- answers

    def answer(self, label: str, note: str = "", person: str = "", number: int | None = None) -> Findings:
        """Record a person's answer to the pair last shown, and return the findings from all answers.

        Parameters
        ----------
        label : "same", "different" or "skip"
            A skipped pair is not shown again, and does not count.
        note : str
            A remark that is stored with the answer.
        person : str
        number : int, optional
            The number of the question; raises ValueError if another question is open by now.
        """
        check_choice("label", label, LABELS)
        if not isinstance(note, str) or len(note) > MOST_NOTE:
            raise ValueError(f"note is a str of at most {MOST_NOTE:,} characters")
        waiting = self._log.state.open_draw(_check_name(person))
        if waiting is None:
            raise ValueError("no pair waits for an answer; call next first")
        if number is not None and number != waiting.number:
            raise ValueError(f"pair {number!r:.20} does not wait for an answer, pair {waiting.number} does")
        self._log.add({"kind": "answer", "number": waiting.number, "person": person, "label": label, "note": note})
        self._findings = None
        return self.findings()

    def undo(self, person: str = "") -> Question | None:
        """Take back a person's last answer, and return its pair, which is open again; None without an answer.

        A pair that was shown in the meantime keeps its draw, and is shown next.
        """
        last = self._log.state.last_answer(_check_name(person))
        if last is None:
            return None
        self._log.add({"kind": "undo", "number": last.number, "person": person})
        self._findings = None
        return self._question(last)

    def load_labels(self, path: AnyPath) -> tuple[int, int]:
        """Load labels from a CSV file with the columns id, id, and "same" or "different" (or 1 or 0).

        These pairs were not drawn, so they have no probability: the label curves use them, but the weighted estimate does
        not. Labels that were selected by anything but scores, such as only easy cases, distort the curves.

        Returns
        -------
        int, int
            The number of labels of pairs in the pool, and of others, which do not count.
        """
        positions: dict[str, list[int]] = {}
        for position in range(self.pool.documents):
            positions.setdefault(str(self.name_of(position)), []).append(position)
        labels = list(read_labels(path, positions))
        inside = [(a, b, same) for a, b, same in labels if self.pool.find(a, b) >= 0]
        for a, b, same in inside:
            self._log.add({"kind": "label", "pair": [a, b], "label": "same" if same else "different",
                           "source": Path(os.fsdecode(path)).name})
        self._findings = None
        return len(inside), len(labels) - len(inside)

    def answers(self) -> Answers:
        """Return the pairs that have an answer, with the share of people who said "same"."""
        votes: dict[int, list[bool]] = {}
        chances: dict[int, float] = {}
        for draw in self._log.state.draws:
            if draw.label in ("same", "different"):
                pair = self.pool.find(*draw.pair)
                votes.setdefault(pair, []).append(draw.label == "same")
                chances[pair] = draw.probability
        for (a, b), same in self._log.state.labels.items():
            pair = self.pool.find(a, b)
            if pair not in votes:
                votes[pair], chances[pair] = [same], np.nan
        return Answers(
            np.array(list(votes), np.int64), np.array([np.mean(each) for each in votes.values()], np.float64),
            np.array([chances[pair] for pair in votes], np.float64))

    def findings(self) -> Findings:
        """Compute the findings from the answers: the recommended measure and threshold, with intervals."""
        if self._findings is None:
            answers = self.answers()
            for fit in self._fits:
                fit.update(answers.pairs, answers.same)
            self._findings = evaluate(self.measures, self._fits, self.pool.weight, answers)
        return self._findings

    def agreement(self) -> tuple[Agreed, ...]:
        """Compute Cohen's kappa of every two people, on the pairs that all people get."""
        given: dict[str, dict[tuple[int, int], bool]] = {}
        for draw in self._log.state.draws:
            if draw.shared and draw.label in ("same", "different"):
                given.setdefault(draw.person, {})[draw.pair] = draw.label == "same"
        agreements = []
        for (first, one), (second, two) in itertools.combinations(sorted(given.items()), 2):
            both = sorted(one.keys() & two.keys())
            agreements.append(Agreed(first, second, len(both), kappa([one[p] for p in both], [two[p] for p in both])))
        return tuple(agreements)

    # ---- results

    def settings(self) -> dict[str, Any]:
        """Return the recommended options, for ``near_duplicates(texts, **settings)``.

        Raises ValueError if there are too few answers.
        """
        findings = self.findings()
        if not findings.ready:
            raise ValueError(f"there are {findings.answers} answers, too few to recommend settings")
        return findings.measure.options(findings.threshold)

    def evidence(self) -> SessionEvidence:
        """Return the evidence: the pool, every draw with its probability and answer, the findings."""
        return SessionEvidence(self.seed, self.pool, self.findings(), self.answered, self.agreement(), self.name_of)

    def save(self) -> tuple[Path, ...]:
        """Write the evidence, and the settings if there are enough answers, into the directory; return the paths."""
        if self.directory is None:
            raise ValueError("the session has no directory; give it one: Session(texts, directory=…)")
        findings = self.findings()
        evidence = self.evidence()
        files = {f"{EVIDENCE}.json": to_json(evidence_json(evidence)),
                 f"{EVIDENCE}.html": evidence_page(evidence).encode("utf-8", "replace")}
        if findings.ready:
            notes = {"answers": findings.answers, "f1": round(findings.f1.value, 3), "f1_low": round(findings.f1.low, 3),
                     "f1_high": round(findings.f1.high, 3), "pool": self.pool.identity}
            files[SETTINGS] = write_settings(self.settings(), notes).encode()
        for name, content in files.items():
            with replacing(self.directory / name, durable=False) as file:
                file.write(content)
        return tuple(self.directory / name for name in files)


def _check_name(person: str) -> str:
    if not isinstance(person, str) or len(person) > 100:
        raise ValueError(f"person is a name of at most 100 characters, got {person!r:.120}")
    return person
