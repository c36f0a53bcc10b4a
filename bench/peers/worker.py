"""One peer in a process of its own: requests as lines of JSON on standard input, answers on standard output.

Runs in the peer's environment, so it needs nothing but the standard library and the module by_<peer>.py beside it, which
has VERSIONS, CASES, prepare(case, data) -> (function, bytes, items), and perhaps estimates(case, data, pairs) -> list of
resemblances, and around(case), a context that a run needs and that is not timed. A case is
a dict with who, method, task, number and source; what else it holds is the peer's own. Requests: {"do": "about"},
{"do": "load", "name", "path"}, {"do": "prepare", "case", "input"}, {"do": "run", "key", "loops"}, {"do": "forget"},
{"do": "estimates", "case", "input", "pairs"}. An answer has "error" where it went wrong.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO


class Worker:
    """What one peer was given, and what it is to do."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer
        self.inputs: dict[str, dict[str, Any]] = {}
        self.prepared: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {}

    def about(self, request: dict[str, Any]) -> dict[str, Any]:
        """Versions and cases."""
        return {"versions": self.peer.VERSIONS, "cases": self.peer.CASES}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read an input: a JSON object with texts, raw (the texts before canonicalisation), sets (ready hashes)."""
        self.inputs[request["name"]] = json.loads(Path(request["path"]).read_text())
        return {}

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make ready everything that is not timed; `key` names the result. Runs once to warm up."""
        run, size, items = self.peer.prepare(request["case"], self.inputs.get(request["input"], {}))
        key = json.dumps([request["case"], request["input"]])
        self.prepared[key] = run, request["case"]
        return {"key": key, "bytes": size, "items": items, **self.run({"key": key, "loops": 1})}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Seconds of so many runs."""
        run, case = self.prepared[request["key"]]
        with getattr(self.peer, "around", contextlib.nullcontext)(case):
            start = time.perf_counter()
            for _ in range(request["loops"]):
                run()
            return {"seconds": time.perf_counter() - start}

    def forget(self, request: dict[str, Any]) -> dict[str, Any]:
        """Drop what was prepared."""
        self.prepared = {}
        return {}

    def estimates(self, request: dict[str, Any]) -> dict[str, Any]:
        """Estimated resemblances of pairs of documents."""
        found = self.peer.estimates(request["case"], self.inputs[request["input"]], request["pairs"])
        return {"estimates": [float(value) for value in found]}


def answer_lines(answer: Callable[[dict[str, Any]], dict[str, Any]], answers: TextIO) -> None:
    """Answer requests, each a line of JSON, until standard input ends; an exception becomes an answer with "error"."""
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except Exception as error:  # whatever a foreign package raises
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers, flush=True)


def take_output() -> TextIO:
    """Return standard output for answers; what else is printed must not come between them, and goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def main() -> int:
    """Answer requests until standard input ends. Arguments: the peer, and the CPU to stay on (optional)."""
    if len(sys.argv) > 2 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[2])})
    answers = take_output()
    try:
        worker = Worker(importlib.import_module(f"by_{sys.argv[1]}"))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers, flush=True)
        return 1
    answer_lines(lambda request: getattr(worker, request["do"])(request), answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
