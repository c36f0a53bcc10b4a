"""Write the tables of options in docs/command-line.md, from the dataclasses of the commands.

    python tools/command_line.py [--check]

An option of several commands with the same meaning is one row.
"""

from __future__ import annotations

import re

from written_file import ROOT, write_or_check

PAGE = ROOT / "docs" / "command-line.md"
BEGIN = "<!-- The tables down to the end mark are written by tools/command_line.py. -->\n"
END = "<!-- End of the tables. -->\n"


def tables() -> str:
    """Return a table of the options of each group, in the order of the help."""
    from ndcore.cli.command import LAST, OUTPUT, option_names, specs
    from ndcore.cli.commands import COMMANDS

    rows: dict[str, dict[tuple[str, str], list[str]]] = {}
    for words, command in COMMANDS.items():
        for each, spec in specs(command.options):
            if spec.group:
                *short, name = option_names(each, spec)
                value = f" {spec.metavar}" if spec.metavar else ""
                shown = ", ".join(f"`{one}`" for one in [*short, name + value])
                meaning = (f"{spec.help}{': ' + ', '.join(spec.choices) if spec.choices else ''}"
                           f"{'. Required' if spec.required else ''}")
                rows.setdefault(spec.group, {}).setdefault((shown, meaning), []).append(words)
    own = [group for group in rows if group not in (OUTPUT, *LAST)]
    return "\n".join(line for group in (OUTPUT, *own, *LAST) for line in _table(group, rows[group]))


def _table(group: str, rows: dict[tuple[str, str], list[str]]) -> list[str]:
    lines = [f"### Options: {group}", "", "| option | of | meaning |", "|---|---|---|"]
    for (shown, meaning), commands in rows.items():
        told, cell = ", ".join(f"`{words}`" for words in commands), re.sub(r"([|*])", r"\\\1", meaning)
        lines.append(f"| {shown} | {told} | {cell} |")
    return [*lines, ""]


def page() -> str:
    """Return the page with its tables as the commands say."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{PAGE.name} lacks the marks between which the tables are written")
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    raise SystemExit(write_or_check(__doc__, PAGE, page, "tools/command_line.py"))
