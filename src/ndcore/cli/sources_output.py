"""What ``ndcore sources`` prints: the account, the report for people, the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ndcore._types import Ints, Text
from ndcore._version import __version__
from ndcore.alignment.rows import decoded, elided
from ndcore.cli import summary
from ndcore.cli.standing import range_in, standing, united
from ndcore.files.documents import FileDocuments
from ndcore.human import counted, printable
from ndcore.report.marked_passages import Marked, MarkedPage, MarkedText, marked_page
from ndcore.report.model import ROWS, Figure, ReportTable
from ndcore.spans.contamination_result import ContaminatedDocuments as Holders
from ndcore.spans.repeats_result import Repeats
from ndcore.spans.token_places import TokenPlaces
from ndcore.text.shingling import Shingling

__all__ = ["Sources", "account_of", "print_report", "sources_page"]

DOCUMENTS, PASSAGES = 10, 20  # on the terminal
QUOTED = 120  # characters of a passage on the terminal
STANDING = 100  # passages on the page whose source is shown, the longest
PLACED = ("start", "end", *TokenPlaces._fields)


@dataclass(frozen=True)
class Sources:
    """What was found.

    Attributes
    ----------
    name : str
        The text as the user named it.
    text : str or bytes
    documents : Documents
        The collection.
    total : int
        Documents of the collection.
    holders
        The documents that have windows of the text, without the text itself.
    result : Repeats
        The rows of the text, with their sources among the holders.
    shingling : Shingling
    """

    name: str
    text: Text
    documents: FileDocuments
    total: int
    holders: Holders
    result: Repeats
    shingling: Shingling

    def columns(self, prefix: str = "") -> TokenPlaces:
        """Return where rows stand in the text, or, with the prefix "source_", in their sources."""
        return TokenPlaces(*(self.result.columns[f"{prefix}{name}"] for name in TokenPlaces._fields))

    @property
    def sources(self) -> Ints:
        """The position of the source of each row in the collection."""
        found: Ints = self.holders.document[self.result.sources - 1]
        return found


def account_of(sources: Sources) -> dict[str, Any]:
    """Return what --json prints; equal runs, equal bytes."""
    result, documents = sources.result, sources.documents
    listed = zip(*(part.tolist() for part in sources.holders), strict=True)
    names = [*PLACED, *(f"source_{name}" for name in PLACED), "copies"]
    columns = zip(sources.sources.tolist(), *(result.columns[name].tolist() for name in names), strict=True)
    return {
        "ndcore": __version__,
        "document": sources.name,
        "min_tokens": result.min_tokens,
        "tokens": {"all": result.total, "found": result.tokens},
        "counts": {"read": documents.read, "documents": sources.total, "with_passages": len(sources.holders.document),
                   "passages": len(result), "rejected": len(documents.rejected)},
        "documents": [
            {"id": documents.ids[position], **documents.place(position).fields(), "tokens": tokens, "shared": covered,
             "longest": longest} for position, tokens, covered, longest in sorted(listed, key=lambda row: (-row[2], row[0]))
        ],
        "passages": [
            {"source": documents.ids[position], **documents.place(position).fields("source_"),
             **dict(zip(names, values, strict=True))} for position, *values in columns
        ],
        **summary.what_was_read(documents),
    }


# ---- for people


def print_report(sources: Sources, account: dict[str, Any], page: str | None, stream: TextIO) -> None:
    """Print the account for people."""
    tokens, counts = account["tokens"], account["counts"]
    share = 100 * tokens["found"] / tokens["all"]
    print(f"{tokens['found']:,} of {counted(tokens['all'], 'token')} ({share:.1f} %) of {printable(sources.name)} stand in "
          f"{counts['with_passages']:,} of {counted(counts['documents'], 'document')}, in "
          f"{counted(counts['passages'], 'passage')} of {counted(account['min_tokens'], 'token')} or more", file=stream)
    for each in account["documents"][:DOCUMENTS]:
        place = each["file"] if each["line"] is None else f"{each['file']}:{each['line']}"
        print(f"  {each['shared']:8,} of {counted(each['tokens'], 'token')}  {printable(place, 80)}", file=stream)
    _more(len(account["documents"]) - DOCUMENTS, "document", stream)
    if account["passages"]:
        print("Passages, where they stand first", file=stream)
    for at, each in enumerate(account["passages"][:PASSAGES]):
        start, end = range_in(sources.text, sources.columns(), at)
        place = each["source_file"] if each["source_line"] is None else f"{each['source_file']}:{each['source_line']}"
        print(f"  tokens {each['start']:,} to {each['end']:,}: {printable(place, 80)}, "
              f"{counted(each['copies'], 'place')} with its own", file=stream)
        head, middle, tail = elided(" ".join(decoded(sources.text[start:end]).split()), QUOTED)
        print(f'    "{printable(head)}{" … " if middle else ""}{printable(tail)}"', file=stream)
    _more(len(account["passages"]) - PASSAGES, "passage", stream)
    number, noun, what = summary.by_tags_note(len(account["pages_by_tags"]))
    if number:
        print(f"  note: {counted(number, noun)} {what}", file=stream)
    if page is not None:
        print(f"The report for a browser is {printable(page)}", file=stream)


def _more(number: int, noun: str, stream: TextIO) -> None:
    """Print how many are not listed."""
    if number > 0:
        print(f"  and {counted(number, noun)} more; --json lists all", file=stream)


def sources_page(sources: Sources, account: dict[str, Any], command: str) -> str:
    """Render the page. `account`: of `account_of`."""
    result, here = sources.result, sources.columns()
    tokens, counts, documents = account["tokens"], account["counts"], account["documents"]
    longest = np.sort(np.argsort(result.starts - result.ends, kind="stable")[:STANDING])
    there = TokenPlaces(*(column[longest] for column in sources.columns("source_")))
    marks = united(range_in(sources.text, here, at) for at in range(len(result)))
    note = f"{tokens['found']:,} of {tokens['all']:,} tokens stand in the collection"
    rows = tuple((str(each["id"]), each["file"], each["tokens"], each["shared"], each["longest"])
                 for each in documents[:ROWS])
    table = ReportTable("Documents", "Documents with passages of the text, the most tokens in common first.",
                        ("Document", "File", "Tokens", "In the text", "Longest passage"), rows, len(documents))
    unit = sources.shingling.unit
    return marked_page(MarkedPage(
        f"Sources of {sources.name}",
        f"Passages of {result.min_tokens} {unit}s or more, compared exactly. Marked is what stands in the collection.",
        (Figure(tokens["all"], "tokens"), Figure(tokens["found"], "in the collection"),
         Figure(counts["documents"], "documents of the collection"), Figure(counts["with_passages"], "with passages")),
        (table,), "The text, and where its passages stand first",
        [MarkedText(sources.name, note, Marked(sources.text, marks),
                    standing(sources.documents, sources.sources[longest], there), len(result))], 1,
        [("command", command), ("min_tokens", str(result.min_tokens)), ("unit", str(unit))],
    ))
