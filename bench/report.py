"""The newest results as docs/benchmarks.md with its plots, and as tables between markers in README.md and docs/*.md.

A table NAME replaces the text between ``<!-- bench:NAME -->`` and ``<!-- /bench -->``; besides the tables of the
results there are the short ones of `derived`. Results of runs whose checks failed, and of --quick runs, are left out.
With --check nothing is written, and the exit code says whether anything would be. What is written by hand on the page is
remarks.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import RESULTS, shown
from plots import PLOTS, draw, rows_of

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
REMARKS = Path(__file__).parent / "remarks.md"
TITLES = {  # of the results, in their order on the page; behind each its own of --cluster
    "against": "ndcore and other libraries", "pipeline": "Text to sketches", "job": "From files to clusters",
    "templates": "Pages of one template", "store_templates": "Pages of one template in a store",
    "verdicts_speed": "What the options of the verdict cost", "quality": "Are the results right?",
    "containment": "Containment from sketches", "altavista": "AltaVista, 1996, again",
    "clustering": "Clusters of sketches beside the truth", "nearness": "Simhash and near-duplicates",
    "hamming": "Fingerprints within 3 bits", "wide": "Fingerprints of 256 bits within 31 bits",
    "pairing": "All pairs of fingerprints", "joining_file": "Fingerprints on disk",
    "repeats": "Repeated passages", "passages": "Passages, beside other tools",
    "contamination": "Benchmark text in a corpus", "ranking": "Copied programs", "store": "What a crawler keeps",
    "crawling": "Crawls with and without ndcore", "ruling": "Crawls with rules of URLs",
    "service": "A store over HTTP",
    "service_followed": "A million pages over HTTP, with a follower", "service_templates": "Pages of one template over HTTP",
    "shards": "A store in shards",
    "spark": "Spark on one machine", "spark_shapes": "Hard collections on one machine",
    "spark_quality": "Three ways on Spark", "spark_growing": "Crawl after crawl on one machine",
    "spark_skew": "Runs of ten billion documents", "verdicts": "Which sketch finds which pairs",
    "kernels": "Kernels", "calls": "What a call costs",
}
ELSEWHERE = ("verdicts_labels", "verdicts_options")  # results that are in docs/thresholds.md
CLUSTER = "_cluster"  # the end of the name of a result on two workers
RATIOS = ("× time of ndcore", "× time of ndcore fast")
AGAINST = ("against", "against-kernels", "against-single", "against-strings")
PEERS = ("ndcore", "ndcore, fast", "gaoya, with insertion into its index",
         "datasketch 2.x, with xxh32 for SHA-1", "rensa, ordinary", "Daft, column at hand")  # in the README
SHORT: dict[str, tuple[str, str, list[str], Callable[[dict[str, Any]], bool]]] = {  # name -> source, title, columns, rows
    "short-peers": (
        "against", "128 minima from text at equal work, one core", ["who", "method", "MB/s", RATIOS[0]],
        lambda row: row["input"] == "documents" and row["sketch"] == "128 minima" and row["who"] in PEERS),
    "short-altavista": (
        "altavista", "seconds, two threads; 1 shingle of 10 words in 25, resemblance 50 %, connected components",
        ["documents", "GB of text", "sketching and digests", "million entries", "entries to clusters", "GB of memory",
         "GB of disk"], lambda row: True),
    "short-verdicts": (
        "verdicts", "mean of ten labelled corpora, at the best threshold of each",
        ["method", "bytes", "F1", "recall at 0.95", "lowest F1", "of", "MB/s"],
        lambda row: row["bytes"] in ("all", 8, 32, 128)),
    "short-hamming": (
        "hamming-peers", "10 million fingerprints within 3 bits, one core; half of the queries match; all find the same",
        ["who", "query µs", "1000 queries/s", "pairs s, sorting included"],
        lambda row: row["fingerprints"] == 10**7 and row["finds"] == "all"),
}
MARKED = re.compile(r"<!-- bench:([\w-]+) -->\n.*?<!-- /bench -->", re.DOTALL)
HEAD = """# Benchmarks

This page shows the speed and the accuracy of ndcore, beside other libraries, and the cases where ndcore loses. `python
bench/report.py` writes it from the newest files in `bench/results` and from `bench/remarks.md`; do not edit it.
[bench/README.md](../bench/README.md) says how to run everything yourself and how to read the figures; `ndcore bench` is
the short form.
"""


def newest(folder: Path, quick: bool = False) -> list[dict[str, Any]]:
    """The last sound result of every benchmark; file names begin with the date. `quick`: of quick runs too."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text())
        if result["failures"] or (result["arguments"].get("quick") and not quick):
            print(f"left out: {path.name}", file=sys.stderr)
            continue
        found[result["name"]] = result
    order = {name: i for i, name in enumerate(TITLES)}
    shown_here = [result for name, result in found.items() if name not in ELSEWHERE]
    return sorted(shown_here, key=lambda result: (order[result["name"].removesuffix(CLUSTER)], result["name"]))


def title_of(name: str) -> str:
    """The title of a result."""
    title = TITLES[name.removesuffix(CLUSTER)]
    return title.replace("one machine", "two workers") if name.endswith(CLUSTER) else title


def markdown(table: dict[str, Any]) -> str:
    """A table as Markdown; figures to the right."""
    def cell(value: Any) -> str:
        return shown(value).replace("|", "\\|")

    columns, rows = table["columns"], table["rows"]
    numeric = [bool(rows) and all(not isinstance(row[i], str) for row in rows) for i in range(len(columns))]
    lines = [columns, ["--:" if right else "---" for right in numeric], *([cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def origin(result: dict[str, Any]) -> str:
    """When, where and of what a result is."""
    machine = result["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    forms = machine["variants"].items()
    running = ", ".join(f"{stem} {name}" for stem, known in forms for name in known if known[name] == "running")
    lines = [f"{machine['date']}; {machine['cpu']}, {machine['cpus']} CPUs; {machine['system']}; {machine['compiler']}; "
             f"Python {machine['python']}; {packages}; variants {running}."]
    lines += [f"Input {i['corpus']}: {i['documents']:,} documents, {i['bytes']:,} bytes, SHA-256 `{i['sha256'][:16]}…`."
              for i in result["inputs"]]
    return "\n".join(f"{line}  " for line in lines)


def peers_of(result: dict[str, Any]) -> str:
    """Which versions of the peers a result is about, and who is missing."""
    lines = [f"{name}: " + ", ".join(f"{package} {number}" for package, number in versions.items())
             for name, versions in result["details"].get("peers", {}).items()]
    lines += [f"{name}: not measured: {reason}" for name, reason in result["details"].get("missing", {}).items()]
    lines += [f"{who}, {task}, {where}: left out: {reason}"
              for who, task, where, reason in result["details"].get("left out", [])]
    return "\n".join(f"- {line}" for line in lines)


def page(results: list[dict[str, Any]]) -> str:
    """Remarks, and all tables of all results with their plots."""
    parts = [HEAD, REMARKS.read_text()]
    for table in (losses(tables_of(results)), slow_fast(tables_of(results))):
        if table["rows"]:
            parts += [f"## {table['title']}\n\n{markdown(table)}\n"]
    for result in results:
        parts += [f"## {title_of(result['name'])}\n", origin(result) + "\n"]
        if peers_of(result):
            parts += [peers_of(result) + "\n"]
        for table in result["tables"]:
            parts += [f"### {table['title']}\n"]
            if table["name"] in PLOTS:
                file, what, _ = PLOTS[table["name"]]
                parts += [f"![{what}]({file})\n"]
            parts += [markdown(table) + "\n"]
            if table.get("note"):
                parts += [table["note"] + "\n"]
    return "\n".join(parts)


# ---- tables made of others


def tables_of(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """All tables by name."""
    return {table["name"]: table for result in results for table in result["tables"]}


def comparisons(tables: dict[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(title, row as a dictionary) of all tables that compare ndcore with something."""
    for table in (tables[name] for name in AGAINST if name in tables):
        for cells in rows_of(table):
            yield table["title"], {"sketch": f"{cells.get('bytes')} bytes", "input": None, "method": None, **cells}


def losses(tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Every case in which something else took less time than ndcore, by permutations or fast; worst first."""
    rows: list[list[Any]] = []
    for title, cells in comparisons(tables):
        found = [cells.get(name) for name in RATIOS]
        if not cells["who"].startswith("ndcore") and any(ratio is not None and ratio < 1 for ratio in found):
            rows.append([title, cells["input"], cells["sketch"], cells["who"], cells["method"], *found])
    rows.sort(key=lambda row: min(ratio for ratio in row[-2:] if ratio is not None))
    return {"title": "Where ndcore loses", "columns": ["table", "input", "task", "who", "method", *RATIOS], "rows": rows}


def slow_fast(tables: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Every case in which ndcore's fast sketch took longer than its permutations."""
    rows = [[title, cells["input"], cells["sketch"], cells["who"], cells[RATIOS[0]]]
            for title, cells in comparisons(tables)
            if cells["who"].startswith("ndcore, fast") and "portable" not in cells["who"] and (cells[RATIOS[0]] or 0) > 1]
    return {"title": 'Where method="fast" is slower than permutations',
            "columns": ["table", "input", "task", "who", RATIOS[0]], "rows": rows}


def derived(results: list[dict[str, Any]]) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Short tables for the README and pages of docs: name -> (table, the result it is from)."""
    found = {}
    sources = {table["name"]: (table, result) for result in results for table in result["tables"]}
    for name, (source, title, columns, wanted) in SHORT.items():
        if source in sources:
            table, result = sources[source]
            rows = [[row[column] for column in columns] for row in rows_of(table) if wanted(row)]
            found[name] = {"title": title, "columns": columns, "rows": rows}, result
    if "pipeline" in sources:
        table, result = sources["pipeline"]
        rows = [[row[0], row[1], row[3]] for row in table["rows"] if row[2] == "best"]
        inputs, sketches = (list(dict.fromkeys(row[i] for row in rows)) for i in (0, 1))
        speeds = {(row[0], row[1]): row[2] for row in rows}
        found["short-pipeline"] = {
            "title": "MB/s from text to sketches, one core", "columns": ["input", *sketches],
            "rows": [[name, *(speeds.get((name, sketch)) for sketch in sketches)] for name in inputs],
        }, result
    return found


def filled(text: str, results: list[dict[str, Any]]) -> str:
    """The text with the tables of the results between its markers; a marker without a table stays as it is."""
    tables = {table["name"]: (table, result) for result in results for table in result["tables"]} | derived(results)

    def replacement(match: re.Match[str]) -> str:
        if match[1] not in tables:
            return match[0]
        table, result = tables[match[1]]
        source = f"{result['machine']['date'][:10]}, {result['machine']['cpu']}, {result['machine']['cpus']} CPUs"
        return f"<!-- bench:{match[1]} -->\n{markdown(table)}\n\n{table['title']}; {source}.\n<!-- /bench -->"

    return MARKED.sub(replacement, text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", metavar="FOLDER", default=str(RESULTS))
    parser.add_argument("--page", metavar="FILE", default=str(PAGE), help="the page of all tables")
    parser.add_argument("--readme", metavar="FILE", default=str(ROOT / "README.md"), help="the file with markers")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where something would change")
    parser.add_argument("--quick", action="store_true", help="take results of --quick runs too, to try this out")
    arguments = parser.parse_args()
    results = newest(Path(arguments.results), arguments.quick)
    if not results:
        print(f"no sound results in {arguments.results}; run the benchmarks first", file=sys.stderr)
        return 1
    readme, target = Path(arguments.readme), Path(arguments.page)
    wanted = {target: page(results)}
    for path in (readme, *sorted(target.parent.glob("*.md"))):
        if path != target and path.is_file():
            wanted[path] = filled(path.read_text(), results)
    changed = [path for path, text in wanted.items() if not path.is_file() or path.read_text() != text]
    for path in changed:
        print(f"{'would change' if arguments.check else 'wrote'} {path.name}")
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
    if not arguments.check:
        for path in draw(tables_of(results), target.parent):
            print(f"drew {path.name}")
    return int(arguments.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
