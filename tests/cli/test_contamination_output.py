"""What ``ndcore contamination`` tells people: the most contaminated benchmarks, and what was left out."""

from __future__ import annotations

import io
from typing import Any

from ndcore.cli.account import Account
from ndcore.cli.contamination import tabulate_benchmarks, tell
from ndcore.report.model import ROWS


def printed(benchmarks: int, **changes: Any) -> list[str]:
    """Return the lines for so many benchmarks, the last of which is the most contaminated one."""
    counts = {"items": 200, "contaminated": 1, "with_passages": 0, "documents": 1, "passages": 0, "left_out": 0,
              "shorter_than_a_run": 0, "rejected": 0}
    data = {
        "counts": counts | changes, "rule": "any", "min_tokens": 1, "written": changes.get("written"), "not_utf8": 0,
        "output": "out", "pages_by_tags": [], "items": {"pages_by_tags": []}, "tokens": {"in_passages": 0},
        "benchmarks": [{"benchmark": f"b\n{i}", "items": i, "contaminated": i, "tokens": 9, "covered": 1}
                       for i in range(benchmarks)]}
    stream = io.StringIO()
    Account(data, tell(data, tabulate_benchmarks(data), None)).print_text(stream)
    return stream.getvalue().splitlines()


def test_the_most_contaminated_benchmarks_come_first():
    told = printed(ROWS + 3)
    assert told[0] == "1 of 200 items (0.5 %) are contaminated: rule any, runs of 1 token"
    assert told[1].split()[:3] == [str(ROWS + 2), "of", str(ROWS + 2)]
    assert told[ROWS + 1] == "  and 3 benchmarks more, in benchmarks.jsonl"
    assert told[-1] == "Written: out"


def test_what_was_written_is_told():
    assert "0 documents left out of kept/" in printed(1, written="kept")
    assert "The passages were cut; nothing is left of 1 document" in printed(1, written="cleaned", left_out=1)
    assert not any("left" in line or "note" in line for line in printed(1))
    assert any("note: 2 items with fewer tokens than a run" in line for line in printed(1, shorter_than_a_run=2))
