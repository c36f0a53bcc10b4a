"""Documents with near-duplicates, and people who answer by a threshold. No test is here."""

from __future__ import annotations

import numpy as np

from ndcore.judge import Session


def versions(seed: int, families: int, each: int = 4, words: int = 60) -> list[str]:
    """Texts of made-up words; the versions of a family differ in more and more of them."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(families):
        base = rng.integers(0, 5000, words)
        for version in range(each):
            made = base.copy()
            changed = rng.random(words) < 0.04 * version
            made[changed] = rng.integers(0, 5000, int(changed.sum()))
            texts.append(" ".join(f"w{number}" for number in made))
    return texts


def answer(session: Session, number: int, threshold: float = 0.55, person: str = "") -> None:
    """Answer questions by the score of the first measure."""
    for _ in range(number):
        question = session.next(person)
        assert question is not None
        score = session.pool.scores[0, session.pool.find(question.a, question.b)]
        session.answer("same" if score >= threshold else "different", person=person)
