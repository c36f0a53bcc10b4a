"""``ndcore rank``: rank pairs of programs or essays by their common passages, and show the first side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore._version import __version__
from ndcore.alignment.blocks import TokenBlock
from ndcore.cli import summary
from ndcore.cli.account import Account, Listing, Note, Notes, TextBlock, present, recipe_data
from ndcore.cli.commands import RankOptions
from ndcore.cli.inputs import find_inputs, open_documents, refuse_nothing_read
from ndcore.collection.ranking import Ranking, rank_pairs
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.lexer_processes import LexerProcesses
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.files.sources import Inputs
from ndcore.files.submissions import TEXT, Submission, Submissions, check_languages
from ndcore.files.table_files import WRITERS, Column, Table
from ndcore.human import counted, enumerated, printable
from ndcore.progress import Progress, by_position, reporting
from ndcore.report.elements import three_decimals
from ndcore.report.matched import MatchedBlock, MatchedText, matched_page
from ndcore.report.model import Figure
from ndcore.report.ranking import GROUPS, MEMBERS, NearlyEqual, RankedPair, ranking_page
from ndcore.sketch.winnow import Winnower
from ndcore.spans.token_places import place_ranges
from ndcore.text.shingling import Shingling

LISTED = 10  # pairs and groups on the terminal
PAIR = (Column("a", "string"), Column("b", "string"), Column("a_in_b", "number"), Column("b_in_a", "number"),
        Column("larger", "number"), Column("mean", "number"), Column("common", "integer"), Column("in_a", "integer"),
        Column("in_b", "integer"), Column("page", "string"))
GROUP = (Column("group", "integer"), Column("submission", "string"), Column("first", "string"),
         Column("resemblance", "number"), Column("page", "string"))


@dataclass(frozen=True)
class RankedSubmissions:
    """The result of a run."""

    submissions: Submissions
    ranking: Ranking
    winnower: Winnower
    languages: Sequence[str]  # sorted
    lexer: str | None  # the version of Pygments; None for text
    pairs: int  # listed pairs
    pages: tuple[int, int]  # pages of pairs and of groups

    def list_pairs(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of `PAIR`."""
        names, overlaps = self.submissions.names, self.ranking.pairs.overlaps
        columns = (self.ranking.pairs.a, self.ranking.pairs.b, overlaps.a_in_b, overlaps.b_in_a, overlaps.contained,
                   overlaps.mean, *overlaps)
        for place, (a, b, *values) in enumerate(zip(*(column[: self.pairs].tolist() for column in columns), strict=True)):
            yield names[a], names[b], *values, _name_page("pair", place, self.pages[0])

    def list_groups(self) -> Iterator[tuple[Any, ...]]:
        """Yield the values of `GROUP`: a row for each member."""
        names, resemblances = self.submissions.names, self.ranking.resemblances.tolist()
        for place, group in enumerate(self.ranking.groups):
            page = _name_page("group", place, self.pages[1])
            for member in group.tolist():
                yield place + 1, names[member], names[group[0]], resemblances[member], page


def _name_page(kind: str, place: int, pages: int) -> str | None:
    """Return the path of the page of a pair or a group in the output; None if it has no page."""
    return f"views/{kind}-{place + 1}.html" if place < pages else None


# ---- the account


def rank_account(ranked: RankedSubmissions, options: RankOptions, template: FileDocuments | None) -> Account:
    """Make the account of a run."""
    documents, ranking = ranked.submissions.documents, ranked.ranking
    rejected = [*documents.rejected, *ranked.submissions.rejected]
    groups = ranking.groups
    data = {
        "ndcore": __version__,
        "counts": {
            "read": documents.read, "rejected": len(rejected), "submissions": len(ranked.submissions.names),
            "groups": len(groups), "grouped": sum(map(len, groups)), "pairs": len(ranking), "listed": ranked.pairs,
            "common_fingerprints": len(ranking.common.value), "left_out": len(ranking.left_out),
        },
        "by": options.by, "max_holders": options.max_holders, "group_threshold": options.group_threshold,
        "languages": list(ranked.languages), "pygments": ranked.lexer, "recipe": recipe_data(ranked.winnower.recipe),
        "guaranteed_tokens": ranked.winnower.guaranteed,
        "groups": [{"submissions": [ranked.submissions.names[i] for i in group.tolist()],
                    "files": [ranked.submissions.files(i) for i in group.tolist()],
                    "resemblances": ranking.resemblances[group].tolist()} for group in groups],
        "pairs": [dict(zip((column.name for column in PAIR), row, strict=True)) for row in ranked.list_pairs()],
        "template": [] if template is None else summary.input_counts(template, None),
        **summary.what_was_read(documents), "rejected": summary.rejected_list(rejected),
    }
    return Account(data, tell(data, ranked, options), list(notes_of(data, groups)))


def notes_of(data: dict[str, Any], groups: Sequence[Ints]) -> Iterator[Note]:
    """Yield the notes on a result."""
    counts = data["counts"]
    largest = len(groups[0]) if groups else 0
    most = largest > max(data["max_holders"], counts["submissions"] / 2)
    yield Note(largest if most else 0, "submission", f"of {counts['submissions']:,} are one group: if this text was given "
               "to them, name it with --template")
    yield Note(counts["common_fingerprints"], "fingerprint", f"of more than {data['max_holders']} submissions or groups: "
               "not counted")
    yield Note(counts["pairs"] - counts["listed"], "pair", "left out of the list; --pairs lists more")
    yield Note(counts["rejected"], "document", "could not be read; summary.json lists them")
    yield from summary.left_out(data, "summary.json lists")


def tell(data: dict[str, Any], ranked: RankedSubmissions, options: RankOptions) -> Iterator[str | TextBlock]:
    """Describe for people the first pairs and groups, and where the pages are."""
    counts = data["counts"]
    what = "essays, by words" if ranked.lexer is None else f"programs ({enumerated(ranked.languages, 'and')})"
    yield (f"{counted(counts['submissions'], 'submission')} of {what}: {counted(counts['pairs'], 'pair')} with fingerprints "
           f"in common, {counted(counts['groups'], 'group')} of copies or near copies")
    if data["groups"]:
        yield "Groups, the largest first"
        yield Listing([f"{len(group['submissions']):6,}  {printable(', '.join(group['submissions'][:MEMBERS]), 90)}"
                       for group in data["groups"][:LISTED]], counts["groups"] - LISTED, "group", "; groups.csv has all")
    if data["pairs"]:
        yield f"Pairs by the {options.by} share of fingerprints that both have: of the first, of the second, {options.by}"
        yield Listing([
            "  ".join([*(three_decimals(pair[name]) for name in ("a_in_b", "b_in_a", options.by)),
                       printable(pair["a"], 40), printable(pair["b"], 40)]) for pair in data["pairs"][:LISTED]
        ], counts["listed"] - LISTED, "pair", "; pairs.csv has them")
    yield Notes(notes_of(data, ranked.ranking.groups))
    yield f"Output in {printable(options.output)}: index.html (for a browser), views/, pairs.csv, groups.csv, summary.json"


# ---- the pages


def write_pages(output: OutputDirectory, ranked: RankedSubmissions, account: Account, options: RankOptions) -> None:
    """Write the page of the ranking, and the pages of the first pairs and groups. Their texts are read again."""
    names, groups = ranked.submissions.names, ranked.ranking.groups
    shown = [RankedPair(a, b, in_b, in_a, common, page or "")
             for a, b, in_b, in_a, _, _, common, _, _, page in ranked.list_pairs()]
    lowest = [float(ranked.ranking.resemblances[group].min()) for group in groups[:GROUPS]]
    listed = [NearlyEqual(len(group), [names[i] for i in group[:MEMBERS].tolist()], least,
                          _name_page("group", place, ranked.pages[1]) or "")
              for place, (group, least) in enumerate(zip(groups, lowest, strict=False))]
    counts = account.data["counts"]
    parameters = [
        ("command", options.command_line),
        *((name, str(account.data[name])) for name in ("by", "max_holders", "group_threshold")),
        ("languages", ", ".join(ranked.languages)), *([("Pygments", ranked.lexer)] if ranked.lexer else []),
        ("tokens of a run that is seen for certain", str(ranked.winnower.guaranteed)),
        ("recipe", ranked.winnower.recipe.to_json()),
    ]
    output.below("index.html").write_bytes(ranking_page(
        "Ranked submissions",
        "Pairs have passages in common; people must judge what that means. Shares are of winnowed fingerprints.",
        [Figure(counts["submissions"], "submissions"), Figure(counts["pairs"], "pairs"), Figure(counts["groups"], "groups")],
        [f"{note}." for note in account.notes if note.number], listed, len(groups), shown, len(ranked.ranking), parameters,
    ).encode())
    for place in range(ranked.pages[0]):
        a, b = (int(side[place]) for side in (ranked.ranking.pairs.a, ranked.ranking.pairs.b))
        _write_view(output, f"views/pair-{place + 1}.html", ranked, a, b,
                    f"Place {place + 1:,}: {counted(shown[place].common, 'fingerprint')} in common",
                    (f"{shown[place].share_a:.1%} of its fingerprints are in B.",
                     f"{shown[place].share_b:.1%} of its fingerprints are in A."))
    for place in range(ranked.pages[1]):
        group = groups[place]
        member = int(group[1 + np.argmin(ranked.ranking.resemblances[group[1:]])])  # resembles the first one least
        resemblance = three_decimals(float(ranked.ranking.resemblances[member]))
        _write_view(output, f"views/group-{place + 1}.html", ranked, int(group[0]), member,
                    f"Group {place + 1:,} of {counted(len(group), 'submission')}: the first one, and the least alike "
                    f"(resemblance {resemblance})", ("", ""))


def _write_view(
    output: OutputDirectory, path: str, ranked: RankedSubmissions, a: int, b: int, subtitle: str, notes: tuple[str, str]
) -> None:
    """Write the page of two submissions."""
    loaded = ranked.submissions.load([a, b])
    left, right = (_match(loaded[number], blocks, ranked.winnower.shingling, note)
                   for number, blocks, note in zip((a, b), ranked.ranking.blocks(a, b), notes, strict=True))
    page = matched_page(f"{left.name} and {right.name}", subtitle, left, right, "../index.html")
    output.below(path).write_bytes(page.encode())


def _match(submission: Submission, blocks: Sequence[TokenBlock], shingling: Shingling, note: str) -> MatchedText:
    """Find the characters of blocks of tokens. Raises DocumentError if a text has changed and has fewer tokens."""
    size = len(shingling.tokens(submission.compared))
    firsts, lasts = (np.array([min(bound, size) for bound in bounds], np.int64)
                     for bounds in ([block.first for block in blocks], [block.last for block in blocks]))
    if (firsts == size).any():
        raise DocumentError(submission.files[0].place, None, f"changed while ndcore was reading {submission.name!r:.80}; "
                            "run again when nothing writes to it")
    if submission.lexed is None:
        starts, ends = place_ranges(submission.text, shingling, firsts, lasts)[:2]
    else:
        starts, ends = submission.lexed.starts[firsts], submission.lexed.ends[lasts - 1]
    placed = [MatchedBlock(start, end, block.number, block.repeat)
              for start, end, block in zip(starts.tolist(), ends.tolist(), blocks, strict=True)]
    return MatchedText(submission.name, f"{note} {counted(len(blocks), 'block')}.".strip(), submission.text,
                       submission.files, placed)


# ---- the command


def run_rank(options: RankOptions) -> int:
    output = OutputDirectory(options.output, options.overwrite)
    inputs, given = find_inputs(options, (options.inputs, ()), (options.template, ()))
    output.refuse_overlap([*inputs.sources, *given.sources])
    languages = check_languages([*inputs.sources, *given.sources], options.language, options.on_error == "skip")
    programs = bool(languages - {TEXT})
    winnower = make_winnower(options, programs)
    with contextlib.ExitStack() as stack, output, reporting(not options.quiet) as report:
        lexers = stack.enter_context(LexerProcesses()) if programs else None

        def open_submissions(inputs: Inputs, paths: Sequence[str]) -> Submissions:
            documents = stack.enter_context(open_documents(options, inputs))
            return Submissions(documents, paths, options.language, lexers, options.max_program, options.on_error == "skip",
                               options.threads)

        submissions = open_submissions(inputs, options.inputs)
        template = open_submissions(given, options.template) if options.template else None
        ranking = _rank(submissions, template, winnower, options, report)
        pairs = min(options.pairs, len(ranking))
        pages = min(options.views, pairs), min(options.views, len(ranking.groups))
        ranked = RankedSubmissions(submissions, ranking, winnower, sorted(languages),
                                   None if lexers is None else lexers.version, pairs, pages)
        account = rank_account(ranked, options, None if template is None else template.documents)
        for name, columns, rows in (("pairs.csv", PAIR, ranked.list_pairs()), ("groups.csv", GROUP, ranked.list_groups())):
            WRITERS[".csv"](output.below(name), Table(list(columns), rows))
        write_pages(output, ranked, account, options)
        write_summary(output, account.data)
        output.staging.commit()
        options.outcome.written = True
    return present(options, account)


def make_winnower(options: RankOptions, programs: bool) -> Winnower:
    """Make the sketcher of words, or of the tokens of programs. Raises UsageError if blocks would have gaps."""
    width, window = (12, 8) if programs else (5, 4)
    width = options.width or width
    window = options.window or min(window, width)
    if window > width:
        raise UsageError(f"--window {window} is more than the {width} tokens of a fingerprint (--width): between two "
                         "fingerprints tokens would be compared by none")
    return Winnower(window, Shingling("line" if programs else "word", width=width))


def _rank(
    submissions: Submissions, template: Submissions | None, winnower: Winnower, options: RankOptions, report: Progress
) -> Ranking:
    """Read all submissions and the template, and rank them."""
    exceptions = None
    if template is not None:  # all its fingerprints, since windows at its ends may not select some
        every = Winnower(1, winnower.shingling)
        exceptions = every.sketch_many((each.compared for each in template.read()), threads=options.threads)
        if unread := [*template.documents.rejected, *template.rejected]:
            raise DocumentError(*unread[0])
    documents = submissions.documents
    ranking = rank_pairs(
        (each.compared for each in submissions.read()), winnower, max_holders=options.max_holders, exceptions=exceptions,
        group_threshold=options.group_threshold, by=options.by, threads=options.threads,
        progress=by_position(report, "reading submissions", documents.position),
    )
    refuse_nothing_read(documents, options.inputs[0])
    if not submissions.names and submissions.rejected:
        raise DocumentError(*submissions.rejected[0])
    return ranking
