"""Repeated lines, repeated sentences and test items in generated text: ndcore beside other tools in the same run.

All read the same two files of JSON lines and write what is left, or which documents hold an item. What they did is compared
first with a count in plain Python, of the lines and sentences of the whole collection, since tools differ in the copy that
they keep. Where a tool compares lines in its own way, so does the count; the table of definitions says how much they differ.
Every run is a process of its own, in the environment that peers_setup.py made, on one CPU or on two; the tools take turns.
Seconds are without the start of Python and imports; memory is that of the process and all that it starts. Required, else the
exit code is 1: ndcore removes exactly what plain Python counts, and finds exactly its documents.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import passage_texts as made
from measure import Report, Table, options, pinned, usable_cpus
from peers_setup import CUTTERS, LISTED, interpreter
from processes import told, without_paths

SIZES = {"lines": 100, "sentences": 20, "items": 20}  # MB
QUICK = 2
EVERY = 0.2  # seconds between looks at the memory
DEFINITIONS: dict[str, tuple[str, made.Key]] = {
    "words": ("ndcore; datatrove with norm_numbers=False, norm_unicode_diacritics=False", made.same_words),
    "words, all numbers and accents alike": ("datatrove by default", made.same_letters),
    "bytes": ("dolma", made.same_bytes),
    "letters, all digits alike": ("text-dedup, CCNet", made.same_but_digits),
}
COMPARED_BY = {"ndcore": "words", "datatrove": "words", "dolma": "bytes", "text_dedup": "letters, all digits alike"}
RESULTS = {
    "lines": ("lines removed", "missed", "not repeated"), "sentences": ("sentences removed", "missed", "not repeated"),
    "items": ("documents found", "missed", "without such words"),
}
NO_SUFFIX_ARRAY = "needs a program in Rust from GitHub, which no package brings"
TIMES = ("processes", "seconds", "MB/s", "peak memory MB")
TITLES = {
    "lines": "Repeated lines removed, all but one of each",
    "sentences": "Repeated runs of three sentences removed, all but one of each",
    "items": f"Documents with {made.WORDS} words of a test item",
}
NOTES = {
    "lines": "Missed: repeated by the tool's own definition, and still there. Not repeated: removed, and nothing that "
    "counts as the same is left. ndcore writes a table of all passages with their sources too, but for the row that says "
    "otherwise. dolma: paragraphs by a Bloom filter, then the mixer; the rate is that of false positives for which the "
    "filter is made. datatrove: SentenceDedup, n_sentences=1, split_sentences=False.",
    "sentences": "datatrove: SentenceDedup with n_sentences=3 and the sentencizer of a blank spaCy pipeline. To it the "
    "first documents of both files come before the second ones, and so they do in the count that it is compared with.",
    "items": f"Compared with windows of {made.WORDS} words in plain Python. datatrove: NGramsDecontFilter; its indexer asks "
    "for lighteval, so its function for hashes writes the index. decon (package decontaminate): any run of 25 tokens, at "
    "every place; blanks are tokens, so 12 words with blanks around them are enough.",
}


class Tool(NamedTuple):
    """A way of a library to do a task: the environment, the name in the table, the name in peers/cutting.py."""

    environment: str
    who: str
    way: str


TOOLS: dict[str, tuple[Tool, ...]] = {
    "lines": (
        Tool("ndcore", "ndcore", "lines"), Tool("ndcore", "ndcore, what is left alone", "left"),
        Tool("datatrove", "datatrove SentenceDedup", "lines"),
        Tool("dolma", "dolma, rate 0.01", "lines_2"), Tool("dolma", "dolma, rate 0.0001", "lines_4"),
        Tool("text_dedup", "text-dedup, ccnet", "lines"),
    ),
    "sentences": (Tool("ndcore", "ndcore", "sentences"), Tool("datatrove", "datatrove SentenceDedup", "sentences")),
    "items": (Tool("ndcore", "ndcore", "items"), Tool("datatrove", "datatrove NGramsDecont", "items"),
              Tool("decontaminate", "decon", "items")),
}


@dataclass
class Runs:
    """The runs of a tool with so many processes."""

    tool: Tool
    processes: int
    seconds: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    version: str = ""
    result: tuple[Any, ...] = (None, None, None)
    failed: str = ""


# ---- what was done


class Truth:
    """What plain Python counts in the documents of a task."""

    def __init__(self, task: str, folder: Path) -> None:
        self.task, self.folder = task, folder
        self.documents = sorted((folder / "documents").glob("*.jsonl"))
        if task == "lines":
            self.before = made.lines_of(self.texts())
        elif task == "sentences":
            self.before = self._sentences(self.documents)
            self.repeated = made.repeated_sentences(self.texts())
            files = [made.texts_of([path]) for path in self.documents]
            self.repeated_in_turns = made.repeated_sentences(made.in_turns(files))
        else:
            self.holders = made.contaminated(made.texts_of([folder / "items.jsonl"]), self.texts())

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the ids and texts of the documents."""
        return made.texts_of(self.documents)

    @staticmethod
    def _sentences(paths: list[Path]) -> Counter[str]:
        return Counter(str(made.same_words(sentence)) for _, text in made.texts_of(paths)
                       for sentence in made.sentences_of(text))

    def judge(self, tool: Tool, out: Path) -> tuple[int, int, int]:
        """Count what a tool removed or found, what it missed, and what it should not have removed or found."""
        if self.task == "items":
            found = set(json.loads((out / "found.json").read_text()))
            return len(found), len(self.holders - found), len(found - self.holders)
        left = sorted((out / "left").glob("*.jsonl"))
        if self.task == "lines":
            key = DEFINITIONS[COMPARED_BY[tool.environment]][1]
            return made.compared(self.before, made.lines_of(made.texts_of(left)), key)
        removed = self.before - self._sentences(left)
        repeated = self.repeated_in_turns if tool.environment == "datatrove" else self.repeated
        return removed.total(), (repeated - removed).total(), (removed - repeated).total()


def definitions(truth: Truth, table: Table) -> None:
    """Rows of how many lines are repeated by each way to compare them, and how many of them are not by words."""
    def repeated(key: made.Key) -> int:
        return sum(count - 1 for count in made.by_key(truth.before, key).values())

    by_words = repeated(made.same_words)
    for name, (who, key) in DEFINITIONS.items():
        def both(line: str, key: made.Key = key) -> str | None:
            found, words = key(line), made.same_words(line)
            return None if found is None or words is None else f"{found}\n{words}"

        count, common = repeated(key), repeated(both)
        table.add(name, who, count, count - common, by_words - common)


# ---- the runs


def run(runs: Runs, task: str, folder: Path, python: Path, truth: Truth, first: bool) -> None:
    """Run a tool once; judge what it did after the first time."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with pinned(runs.processes):
        answer = told(python, "cutting.py", runs.tool.environment, runs.tool.way, folder, out, runs.processes, every=EVERY)
    if "failed" in answer:
        runs.failed = answer["failed"]
        return
    runs.version = ", ".join(answer["versions"].values())
    runs.seconds.append(answer["seconds"])
    runs.peaks.append(answer["peak"])
    if first:
        runs.result = truth.judge(runs.tool, out)


def measured(report: Report, task: str, folder: Path, repeats: int, pythons: dict[str, Path]) -> None:
    """Run all tools of a task in turns, with one process and with two."""
    truth = Truth(task, folder)
    megabytes = sum(len(text.encode()) for _, text in truth.texts()) / 1e6
    if task == "lines":
        definitions(truth, report.table("passages-definitions", "Repeated lines, by what counts as the same", [
            "compared by", "as", "repeated lines", "of them not by words", "by words only"]))
    tools = [tool for tool in TOOLS[task] if tool.environment in pythons]
    all_runs = [Runs(tool, processes) for tool in tools for processes in range(1, min(2, len(usable_cpus())) + 1)]
    for turn in range(repeats):
        for each in all_runs:
            if not each.failed:
                print(f"{task}: {each.tool.who}, {each.processes}", file=sys.stderr, flush=True)
                run(each, task, folder, pythons[each.tool.environment], truth, turn == 0)
    table = report.table(f"passages-{task}", f"{TITLES[task]}; {megabytes:.0f} MB of generated text", [
        "who", "version", "compared by", *RESULTS[task], *TIMES], NOTES[task])
    for each in all_runs:
        ours = each.tool.environment == "ndcore"
        if each.failed:
            report.require(not ours, f"{task}: {each.failed}")
            table.add(each.tool.who, each.failed, "–", None, None, None, each.processes, None, None, None)
            continue
        report.require(not ours or each.result[1:] == (0, 0), f"{task}: ndcore misses and adds {each.result[1:]}")
        seconds = statistics.median(each.seconds)
        compared = COMPARED_BY[each.tool.environment] if task == "lines" else "words"
        table.add(each.tool.who, each.version, compared, *each.result, each.processes, seconds, megabytes / seconds,
                  max(each.peaks) / 1e6)


def generate(task: str, folder: Path, size: int) -> None:
    """Write the documents of a task, and the items."""
    words = made.Words(np.random.default_rng(1))
    items = [" ".join(words.take(int(words.rng.integers(40, 80)))) for _ in range(made.ITEMS)]
    made.write(folder / "documents", made.pages(words) if task == "lines" else made.prose(words, items), size)
    with (folder / "items.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": f"i{i}", "text": text}, ensure_ascii=False) + "\n" for i, text in enumerate(items))


def main() -> int:
    parser = options(__doc__, repeats=3)
    parser.add_argument("--peers", metavar="FOLDER", type=Path, help="environments that peers_setup.py made")
    parser.add_argument("--task", choices=TITLES, action="append", help="only this (default all)")
    parser.add_argument("--megabytes", type=int, help=f"of text (default {', '.join(map(str, SIZES.values()))})")
    parser.add_argument("--work", metavar="FOLDER", help="for files; six times the text (default: the temporary folder)")
    arguments = parser.parse_args()
    report = Report("passages", arguments)
    pythons = {"ndcore": Path(sys.executable)}
    listed = json.loads((arguments.peers / LISTED).read_text()) if arguments.peers else {}
    report.details["missing"] = {}
    for name in CUTTERS:
        if "versions" in listed.get(name, {}):
            pythons[name] = interpreter(arguments.peers / name)
        else:
            report.details["missing"][name] = without_paths(listed.get(name, {}).get("error", "not installed"))
    report.details["missing"]["text-dedup, suffix array"] = NO_SUFFIX_ARRAY
    for name, reason in report.details["missing"].items():
        print(f"{name}: not measured: {reason}", file=sys.stderr)
    for task in arguments.task or TITLES:
        with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
            generate(task, Path(folder), (arguments.megabytes or (QUICK if arguments.quick else SIZES[task])) * 10**6)
            measured(report, task, Path(folder), 1 if arguments.quick else arguments.repeats, pythons)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
