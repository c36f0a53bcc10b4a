"""People judge pairs: a pool of pairs, their answers, and the measure and threshold that agree best with them.

Imports `dedup` and the rooms below it, `report` for the page of evidence, and `files` for JSON.
"""

from __future__ import annotations

from ndcore.judge.estimates import Agreed, Estimate, Findings
from ndcore.judge.measures import DEFAULT, Measure
from ndcore.judge.pool import Pool
from ndcore.judge.session import Question, Session

__all__ = ["DEFAULT", "Agreed", "Estimate", "Findings", "Measure", "Pool", "Question", "Session"]
