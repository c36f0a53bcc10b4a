"""The newest results as Markdown: docs/benchmarks.md, and the tables between markers in README.md.

A table NAME replaces what stands between ``<!-- bench:NAME -->`` and ``<!-- /bench -->``. Results of runs whose checks
failed, and of --quick runs, are left out. With --check nothing is written, and the exit code says whether it would be.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from measure import RESULTS, shown

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
ORDER = ("quality", "job", "pipeline", "kernels", "calls")
MARKED = re.compile(r"<!-- bench:([\w-]+) -->\n.*?<!-- /bench -->", re.DOTALL)
HEAD = """# Benchmarks

Written by `python bench/report.py` from the newest files in `bench/results`; do not edit. How the figures come about,
and how to read them, is in `bench/README.md`. On another machine compare ratios, not seconds.
"""


def newest(folder: Path) -> list[dict[str, Any]]:
    """The last sound result of every benchmark; file names begin with the date."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text())
        if result["failures"] or result["arguments"].get("quick"):
            print(f"left out: {path.name}", file=sys.stderr)
            continue
        found[result["name"]] = result
    return sorted(found.values(), key=lambda result: (*ORDER, result["name"]).index(result["name"]))


def markdown(table: dict[str, Any]) -> str:
    """A table as Markdown; figures to the right."""
    def cell(value: Any) -> str:
        return shown(value).replace("|", "\\|")

    columns, rows = table["columns"], table["rows"]
    numeric = [all(not isinstance(row[i], str) for row in rows) for i in range(len(columns))]
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


def page(results: list[dict[str, Any]]) -> str:
    """All tables of all results."""
    parts = [HEAD]
    for result in results:
        parts += [f"## {result['name'].capitalize()}\n", origin(result) + "\n"]
        parts += [f"### {table['title']}\n\n{markdown(table)}\n" for table in result["tables"]]
    return "\n".join(parts)


def filled(text: str, results: list[dict[str, Any]]) -> str:
    """The text with the tables of the results between its markers; a marker without a table stays as it is."""
    tables = {table["name"]: (table, result) for result in results for table in result["tables"]}

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
    arguments = parser.parse_args()
    results = newest(Path(arguments.results))
    if not results:
        print(f"no sound results in {arguments.results}; run the benchmarks first", file=sys.stderr)
        return 1
    readme, target = Path(arguments.readme), Path(arguments.page)
    wanted = {target: page(results)}
    if readme.is_file():
        wanted[readme] = filled(readme.read_text(), results)
    changed = [path for path, text in wanted.items() if not path.is_file() or path.read_text() != text]
    for path in changed:
        print(f"{'would change' if arguments.check else 'wrote'} {path.name}")
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
    return int(arguments.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
