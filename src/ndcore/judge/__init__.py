"""What people call duplicates: pairs of a pool, answers to them, and the measure and threshold that agree with these.

Imports `dedup` and what it stands on, `report` for its page of evidence, and `files` for JSON.
"""

from __future__ import annotations

from ndcore.judge.estimates import Agreed, Estimate, Findings
from ndcore.judge.measures import DEFAULT, Measure
from ndcore.judge.pool import Pool
from ndcore.judge.session import Question, Session

__all__ = ["DEFAULT", "Agreed", "Estimate", "Findings", "Measure", "Pool", "Question", "Session"]
