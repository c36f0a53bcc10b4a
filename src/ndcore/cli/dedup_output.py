"""Show the findings of ``ndcore dedup``: the account, the page of ``--report``, and the tables."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.cli import summary
from ndcore.cli.account import Account, Figures, Listing, Note, Notes, TextBlock, files_written
from ndcore.cli.dedup_findings import DedupFindings
from ndcore.cli.outputs import ASSIGNED, place_columns
from ndcore.dedup.classes import CLASSES, describe_classes
from ndcore.dedup.filter_choice import FilterChoice
from ndcore.files.document_fields import Ids
from ndcore.files.formats import ARCHIVED
from ndcore.files.json_values import finite_all
from ndcore.files.outputs import STDOUT
from ndcore.files.table_files import ABSENT, BATCH, Blocks, Column, Table
from ndcore.files.verdicts import NamedVerdicts
from ndcore.human import counted, human_bytes, printable
from ndcore.pairs.common_shingles import COMMON_CLASSES
from ndcore.report.dedup import explain_estimates, explain_misses, from_near_duplicates
from ndcore.report.model import ROWS, ReportTable
from ndcore.report.page import render

MEANING = {
    "identical": "the same text as its representative, character for character",
    "lexical": "the same words in the same order",
    "shingle": "the same set of shingles",
    "version": "another document of the same value of --one-per comes first",
}
BARE = "without shingles (empty, or without words), kept unless equal to the byte (of HTML: the page)"
SHOWN = 5  # clusters and losses on the terminal
FLAGS = ("against", "estimated")  # written only if True
RULES = ("threshold", "filter", "drop", "must_agree", "min_shingles", "drop_common", "weights", "max_lost",
         "reassign")  # as in reports


# ---- the account


def dedup_account(findings: DedupFindings, data: dict[str, Any], written: Sequence[str]) -> Account:
    """Make the account of a run from its ``summary.json``; `written` are the tables that it wrote."""
    options = findings.run.options
    notes = notes_of(data, options.output)
    text = _tell_thresholds if len(options.thresholds) > 1 else _tell

    def tell() -> Iterator[str | TextBlock]:
        yield from text(findings, data, notes)
        yield from files_written(options.report, written)

    return Account(data, tell(), notes, list(_tabulate(data, summary.lists(options.output))))


def _tell(findings: DedupFindings, data: dict[str, Any], notes: Sequence[Note]) -> Iterator[str | TextBlock]:
    """Describe the result at one threshold: counts, notes, the largest clusters, the files, and the next commands."""
    parameters, totals, output = data["parameters"], data["counts"], findings.run.options.output
    contained = parameters["drop"] == "contained"
    weighted = parameters["weights"] is not None
    measure = "weighted resemblance" if weighted else "resemblance"
    what = "Documents contained in another at" if contained else f"Near-duplicates at {measure}"
    yield f"{what} {parameters['threshold']:g} or more ({_describe_shingles(data)})"
    yield from _tell_rules(data)
    common = parameters["drop_common"] is not None
    meanings = MEANING | describe_classes(contained=contained, common=common, weighted=weighted)
    unread = f"could not be read; {summary.lists(output)} them" if totals["rejected"] else ""
    yield Figures([
        ("read", totals["read"], ""), ("kept", totals["kept"], ""),
        *((name, number, f"dropped: {meanings[name]}") for name, number in totals["dropped_by_class"].items()),
        ("rejected", totals["rejected"], unread),
    ])
    yield Notes(notes)
    yield from _tell_clusters(findings)
    yield from _tell_losses(findings, data["lost"])
    yield from _tell_where(data, output)
    yield promise(data)
    if steps := [step for step in data["pairs_below"] or () if step["pairs"] >= 0.5]:
        listed = ", ".join(f"{step['pairs']:,.0f} ± {2 * step['error']:,.0f} at {step['low']:g} to {step['high']:g}"
                           for step in reversed(steps))
        judge = shlex.join(["ndcore", "judge", *parameters["inputs"], "-o", "judged"])
        yield f"Pairs below, estimated: {listed}. To judge some: {judge}"
    if data["estimated"]:
        yield ("Where a text was not at hand, pairs were judged by sketches alone; "
               f"{data['expected_spurious']:.2g} spurious matches are expected of fingerprints that collide. "
               f"{explain_estimates(data['missed_by_estimate'])}")
    if example := findings.example():
        yield example


def _tell_thresholds(findings: DedupFindings, data: dict[str, Any], notes: Sequence[Note]) -> Iterator[str | TextBlock]:
    """Describe for people what each of several thresholds keeps and drops."""
    lines = data["thresholds"]
    what = "Contained documents" if data["parameters"]["drop"] == "contained" else "Near-duplicates"
    yield f"{what} of {data['counts']['read']:,} documents at {len(lines)} thresholds ({_describe_shingles(data)})"
    yield from _tell_rules(data)
    yield (f"  {counted(data['exact_copies'], 'exact copy', 'exact copies')} of other documents, dropped at each threshold; "
           "the classes count what is dropped besides")
    dropped = [name for name in CLASSES if any(name in line["besides_exact_copies"] for line in lines)]
    lost = ["lost"] if data["lost"] is not None else []  # shingles
    heads = ["threshold", "kept", "dropped", *dropped, "clusters", *("shingles lost" for _ in lost)]
    rows = [
        [f"{line['threshold']:g}", *(f"{line[name]:,}" for name in ("kept", "dropped")),
         *(f"{line['besides_exact_copies'].get(name, 0):,}" for name in dropped),
         *(f"{line[name]:,}" for name in ("clusters", *lost))]
        for line in lines
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    yield Listing("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows])
    yield Notes(notes)
    folders = ", ".join(f"{line['folder']}/" for line in lines)
    yield (f"Output in {printable(findings.run.options.output)}: {folders} (a folder for each threshold), and summary.json")


def _describe_shingles(data: dict[str, Any]) -> str:
    """Describe the shingles that were compared."""
    kind = "estimated from sketches" if data["estimated"] else "exact"
    return f"{data['parameters']['unit']} shingles of {data['parameters']['width']}, {kind}"


def _tell_rules(data: dict[str, Any]) -> Iterator[str]:
    """Yield a line about the rules, besides the threshold, that decide which pairs count, if there are any."""
    parameters, rules = data["parameters"], []
    if parameters["must_agree"]:
        rules.append(f"{' and '.join(parameters['must_agree'])} must agree")
    if parameters["min_shingles"]:
        rules.append(f"documents of fewer than {counted(parameters['min_shingles'], 'shingle')} are left alone")
    if parameters["drop_common"] is not None:
        number, share = data["common_shingles"], 100 * parameters["drop_common"]
        rules.append(f"{counted(number, 'shingle')} in more than {share:g}% of the documents, and in at least "
                     f"{COMMON_CLASSES}, {'counts' if number == 1 else 'count'} for nothing")
    if parameters["weights"] is not None:
        rules.append(f"rare shingles count more, by the weights of {printable(parameters['weights'])}")
    if parameters["max_lost"] is not None:
        rules.append(f"no drop loses a run of more than {counted(parameters['max_lost'], 'word')}")
    if parameters["reassign"]:
        rules.append("each dropped document is listed under the kept one with the highest score")
    if rules:
        yield f"  rules: {'; '.join(rules)}"


def notes_of(data: Mapping[str, Any], output: str) -> list[Note]:
    """List the notes on unusual findings; `output` as on the command line."""
    shared = "shingle" if data["filter"]["kind"] == "prefix" else "feature"
    others = Counter(data.get("records_not_documents", {}))
    lists = summary.lists(output)
    return [
        Note(data["without_shingles"], "document", BARE),
        Note(data["pages_without_main_content"], "page", summary.NO_MAIN),
        summary.by_tags_note(data, lists),
        Note(data["invalid_utf8_bytes"], "byte", "outside of well-formed UTF-8, read as a bound between words"),
        Note(data["blank_lines"], "blank line", "passed over"),
        Note(data["without_keep_field"], "document",
             "without a value in the field of --keep, last in the order of keeping"),
        Note(others.total(), "record", f"of archives kept untouched, not being a document ({summary.commonest(others)})"),
        Note(data.get("payloads_decoded_already", 0), "payload",
             "read as stored, without the coding that its headers name"),
        Note(data["repeated_ids"], "document", "with the id of an earlier one; file and line tell them apart"),
        *summary.left_out(data, lists),
        Note(len(data["common"]), shared, "so common that documents holding it are paired with representatives only"),
    ]


def _tell_clusters(findings: DedupFindings) -> Iterator[str | TextBlock]:
    """Describe the largest clusters for people, if there are any."""
    verdicts: NamedVerdicts = findings.verdicts
    if not (largest := verdicts.largest(SHOWN)):
        return
    total, lines = verdicts.clusters(), []
    for cluster in largest:
        classes = ", ".join(f"{number:,} {name}" for name, number in cluster.classes.items())
        place = " (in --against)" if cluster.against else ""
        lowest = "" if cluster.lowest is None else f"; lowest {cluster.lowest:.3f}"
        name = findings.name_document(cluster.representative)
        lines.append(f"{cluster.dropped:>6,} dropped for {name}{place}: {classes}{lowest}")
    yield "The only cluster" if total == 1 else f"Largest of {total:,} clusters"
    yield Listing(lines)


def _tell_losses(findings: DedupFindings, losses: dict[str, Any] | None) -> Iterator[str | TextBlock]:
    """Describe the losses of the drops for people, if they were counted: the total, and the largest ones."""
    if losses is None:
        return
    if not losses["shingles"]:
        yield "The drops cost nothing: every shingle is in a kept document"
        return
    verdicts, shown, lines = findings.verdicts, findings.name_document, []
    for position in verdicts.by_loss()[: min(SHOWN, losses["documents"])].tolist():
        verdict, representative = verdicts.describe(position), shown(int(verdicts.labels[position]))
        lines.append(f"{verdict['lost']:>6,} of {shown(position)}, {verdict['class']}: dropped for {representative}")
    more = "" if findings.run.options.output == STDOUT else "; clusters.jsonl begins with the largest losses"
    yield (f"The drops cost {counted(losses['shingles'], 'shingle')} of {counted(losses['documents'], 'document')} that no "
           f"kept document has{more}")
    yield Listing(lines)


def _tell_where(data: dict[str, Any], output: str) -> Iterator[str]:
    """Name the files with the documents and the verdicts."""
    annotated = data["parameters"]["annotate"]
    if output == STDOUT:
        if data["replaced_bytes"]:
            yield f"U+FFFD stands for bytes that are not UTF-8 in the text of {counted(data['replaced_bytes'], 'document')}"
        yield (f"{'All' if annotated else 'The kept'} records are on standard output; with -o OUTDIR, clusters.jsonl says "
               "what was dropped, and for what")
    else:
        rejected = ", rejected/" if any(item.get("saved_in") for item in data["rejected"]) else ""
        yield (f"Output in {printable(output)}: {'annotated' if annotated else 'kept'}/{rejected}, clusters.jsonl (what was "
               "dropped, and for what), summary.json")


def promise(data: dict[str, Any]) -> str:
    """Say which pairs the filter may have missed, and the cost of a complete filter."""
    miss, complete = data["filter"]["miss"], data["complete_filter"]
    if not miss:
        choice = data["filter"]["choice"]
        why = "" if choice is None else f" It was chosen because {FilterChoice(**choice)}."
        return f"No pair at or above the threshold is missed: the filter is complete.{why}"
    sentence = explain_misses(miss, data["estimated"])
    if complete is None:
        return sentence
    looked_up, size = complete["looked_up_of_100"], human_bytes(complete["shingle_bytes"])
    costs = f"it reads about {size} of shingles, and looks up {looked_up:.0f} of 100."
    return f"{sentence}\n--filter complete misses none: {costs}"


# ---- the page


def dedup_page(findings: DedupFindings, account: Account) -> str:
    """Render the page of a run."""
    data, options = account.data, findings.run.options
    words = {name: " ".join(map(str, value)) if isinstance(value, list) else str(value)
             for name, value in data["parameters"].items() if value not in (None, [], False) and name not in RULES}
    return render(from_near_duplicates(
        findings.result,
        name=findings.name_document if data["repeated_ids"] else lambda position: str(findings.verdicts.name(position)),
        rejected=data["counts"]["rejected"],
        notes=[f"{note}." for note in account.notes if note.number and note.what != BARE],  # the report has that one
        tables=account.tables, parameters=list(words.items()), command=options.command_line,
    ))


def _tabulate(data: dict[str, Any], lists: str) -> Iterator[ReportTable]:
    """Yield the tables of thresholds, if there are several, of files, and of rejected documents, which `lists` lists."""
    if lines := data.get("thresholds", []):
        columns = ("kept", "dropped", "clusters", *(["lost"] if lines[0]["lost"] is not None else []))
        rows: tuple[tuple[str | int | float, ...], ...] = tuple(
            (f"{line['threshold']:g}", *(int(line[column]) for column in columns)) for line in lines)
        heads = ("Threshold", *("Shingles lost" if column == "lost" else column.capitalize() for column in columns))
        text = "What is kept and dropped at each; all else on this page is of the lowest."
        yield ReportTable("Thresholds", text, heads, rows, len(rows))
    yield _tabulate_inputs("Inputs", data["inputs"])
    if (known := data["against"]) is not None:
        yield _tabulate_inputs("Compared against", known.get("inputs", [{"name": "saved sketches", "read": known["read"]}]))
    if rejected := data["rejected"]:
        rows = tuple((item["path"], str(item["line"] or ""), item["reason"]) for item in rejected[:ROWS])
        text = f"Documents that could not be read; {lists} all of them."
        yield ReportTable("Rejected", text, ("Path", "Line, row or record", "Reason"), rows, len(rejected))


def _tabulate_inputs(title: str, inputs: list[dict[str, Any]]) -> ReportTable:
    """Make the table of the files that were read."""
    columns = [column for column in ("read", "rejected", "kept", "dropped") if any(column in line for line in inputs)]
    rows = tuple((line["name"], *(int(line.get(column, 0)) for column in columns)) for line in inputs[:ROWS])
    return ReportTable(title, "What was read.", ("File", *(column.capitalize() for column in columns)), rows, len(inputs))


# ---- the tables


def documents_of(findings: DedupFindings) -> Table:
    """Make a row for each document of a deduplication, kept or dropped."""
    run, places = findings.run, _Places(findings)
    columns = [Column("id", "id"), *places.columns(""), Column("cluster", "integer"), Column("representative", "id"),
               *places.columns("representative_"), *ASSIGNED]
    more = [] if findings.verdicts.score is None else [Column("score", "number")]
    more += [] if findings.verdicts.lost is None else [Column("lost", "integer")]
    more += [Column("against", "truth")] if run.known is not None else []
    more += [Column("estimated", "truth")] if run.estimated else []
    rows = Blocks(_iterate_documents(findings, places, [column.name for column in more]))
    return Table([*columns, *more], rows, _are_numbers(findings))


def pairs_of(findings: DedupFindings) -> Table:
    """Make a row for each pair of `NearDuplicates.pairs`."""
    places = _Places(findings)
    columns = [
        Column("a", "integer"), Column("a_id", "id"), *places.columns("a_"),
        Column("b", "integer"), Column("b_id", "id"), *places.columns("b_"),
        Column("class", "string"), Column("resemblance", "number"), Column("estimated", "truth"),
        *([Column("score", "number")] if findings.result.rules.scored else []),
    ]
    return Table(columns, Blocks(_iterate_pairs(findings, places)), _are_numbers(findings))


class _Places:
    """The columns for the places of documents: all that the inputs or the documents of --against have."""

    def __init__(self, findings: DedupFindings) -> None:
        self.verdicts = findings.verdicts
        documents = [side for side in findings.run.sides if not side.sketched]
        archives = any(source.kind in ARCHIVED for side in documents for source in side.sources)
        self.kinds = place_columns(archives) if documents else []

    def columns(self, prefix: str) -> list[Column]:
        """Return the columns, with a prefix before their names."""
        return [Column(prefix + column.name, column.kind) for column in self.kinds]

    def of(self, positions: Ints) -> list[list[Any]]:
        """Return the values of the columns for documents."""
        return self.verdicts.places(positions)[: len(self.kinds)] if self.kinds else []


def _iterate_documents(findings: DedupFindings, places: _Places, more: list[str]) -> Iterator[list[list[Any]]]:
    """Yield the columns of `documents_of`, some rows at a time; `more` are the names of the last columns."""
    verdicts = findings.verdicts
    for start in range(0, len(verdicts), BATCH):
        positions = np.arange(start, min(start + BATCH, len(verdicts)))
        labels, said = verdicts.labels[positions], verdicts.columns(positions)
        yield [
            verdicts.names(positions), *places.of(positions), labels.tolist(), said["representative"], *places.of(labels),
            said["class"], said["resemblance"], said["cluster_size"],
            *([value is not ABSENT for value in said[name]] if name in FLAGS else said[name] for name in more),
        ]


def _iterate_pairs(findings: DedupFindings, places: _Places) -> Iterator[list[list[Any]]]:
    """Yield the columns of `pairs_of`, some rows at a time."""
    result, names = findings.result, findings.verdicts.names
    for start in range(0, len(result.estimated), BATCH):
        part = slice(start, start + BATCH)
        a, b, resemblance = (column[part] for column in result.pairs)
        scores = [finite_all(result.pair_scores[part])] if result.rules.scored else []
        yield [
            a.tolist(), names(a), *places.of(a), b.tolist(), names(b), *places.of(b), result.pair_classes[part].tolist(),
            finite_all(resemblance), result.estimated[part].tolist(), *scores,
        ]


def _are_numbers(findings: DedupFindings) -> bool:
    """Tell whether all ids are 64-bit integers."""
    return all(
        ids.are_numbers() if isinstance(ids, Ids)
        else all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in ids)
        for ids in (findings.verdicts.ids, findings.verdicts.against)
    )
