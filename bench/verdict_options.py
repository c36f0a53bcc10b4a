"""The effect of the options of near_duplicates on corpora, each counted against labels or exact sets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from corpus import Corpus
from generating import DOCUMENTATION
from labelled import Labelled, curve
from measure import Report, Table
from numpy.typing import NDArray
from overlaps import Overlaps
from verdict_cases import Case, judge

from ndcore import Shingling

THRESHOLD, FEWEST, SHARE = 0.8, 20, 0.05
KEYS = ("numbers", "title", "negations")
EXCERPT_WORDS, BOOK_WORDS = 30, 20_000
AGREE = ["corpus", "must agree in", "dropped", "of another label", "dropped then", "of another label then",
         "drops avoided", "avoided, of one label"]
SHORT = ["corpus", f"documents below {FEWEST} shingles", "dropped among them", "of another label",
         f"dropped with min_shingles={FEWEST}", "drops avoided"]
COMMON = ["corpus", "common shingles", "share of a document's shingles %", "threshold", "pairs", "precision", "recall",
          "pairs without common shingles", "precision without", "recall without"]
LOST = ["corpus", "dropped", "nothing lost %", "median lost", "median % of the document", "90th percentile lost %",
        "most lost %"]
REASSIGNED = ["corpus", "dropped", "moved", "moved %", "mean score before", "mean score after"]
CHAINED = ["corpus", "stars: kept", "components: kept", "chained", "of the dropped %", "lowest score", "of another label"]
EXCERPTS = ["excerpts of 30 words", "number", "contained at 0.8", "found by drop=resembling", "found by drop=contained"]

Bools = NDArray[np.bool_]


def percent(part: float, whole: float) -> float:
    """Return part of whole in %; 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def strangers(case: Case, dropped: Bools, labels: NDArray[np.int64]) -> int | None:
    """Count the dropped documents whose representative has another label; None where the corpus has no labels."""
    own, theirs = case.codes[dropped], case.codes[labels[dropped]]
    wrong = int(np.count_nonzero((own >= 0) & (theirs >= 0) & (own != theirs)))
    return wrong if (case.codes >= 0).any() else None


def show_agreement(table: Table, case: Case) -> None:
    """Count the drops that must_agree avoids, and how many of them were between documents of different labels."""
    before = judge(case.texts, THRESHOLD)
    wrong = strangers(case, before.moved, before.result.labels)
    for key in KEYS:
        after = judge(case.texts, THRESHOLD, must_agree=key)
        kept = np.zeros(len(case.texts), np.bool_)
        kept[after.result.kept] = True
        gone = ~np.isin(before.result.classes, ("kept", "identical"))
        avoided = gone & kept
        own = case.codes[avoided] == case.codes[before.result.labels[avoided]]
        table.add(case.name, key, int(np.count_nonzero(before.moved)), wrong, int(np.count_nonzero(after.moved)),
                  strangers(case, after.moved, after.result.labels),
                  int(np.count_nonzero(avoided)),
                  int(np.count_nonzero(own & (case.codes[avoided] >= 0))) if (case.codes >= 0).any() else None)


def show_short(table: Table, case: Case) -> None:
    """Count the drops of short documents, with and without min_shingles."""
    short = case.sets.sizes < FEWEST
    before, after = judge(case.texts, THRESHOLD), judge(case.texts, THRESHOLD, min_shingles=FEWEST)
    wrong = strangers(case, before.moved & short, before.result.labels)
    dropped = int(np.count_nonzero(before.moved & short))
    left = int(np.count_nonzero(after.moved & short))
    table.add(case.name, int(np.count_nonzero(short)), dropped, wrong, left, dropped - left)


def show_common(table: Table, case: Case, thresholds: Sequence[float]) -> None:
    """Compare precision and recall of pairs with and without the common shingles."""
    labelled = Labelled(case.corpus, case.codes)
    first = labelled.first
    for threshold in thresholds:
        row: list[object] = []
        for share in (None, SHARE):
            verdict = judge(case.texts, threshold, filter="complete", drop_common=share, max_holders=len(case.texts) + 2)
            pairs = verdict.result.pairs
            blank = np.ones(len(pairs.a), np.int64)
            leads = first & (case.leaders == np.arange(len(case.leaders)))
            both = Overlaps(pairs.a, pairs.b, blank, blank, blank)
            found = curve(both, labelled, leads, [0.0])
            row += [found.found[0], found.precision[0], found.recall[0]]
        result = verdict.result
        table.add(case.name, result.common_shingles, common_share(case), threshold, *row)


def common_share(case: Case) -> float:
    """Return the median % of a document's shingles that more than SHARE of the documents have."""
    values, offsets = case.sets
    _, number, count = np.unique(values, return_inverse=True, return_counts=True)
    documents = int(np.count_nonzero(case.sets.sizes))
    held = np.concatenate([[0], np.cumsum(count[number] > SHARE * documents)])
    some = case.sets.sizes > 0
    shares = (held[offsets[1:]] - held[offsets[:-1]])[some] / case.sets.sizes[some]
    return 100 * float(np.median(shares)) if len(shares) else 0.0


def show_lost(report: Report, table: Table, case: Case) -> None:
    """Show how many shingles of the dropped documents no kept document has; a sample is counted again."""
    verdict = judge(case.texts, THRESHOLD, lost=True)
    lost, moved = verdict.result.lost, verdict.moved
    assert lost is not None
    values, offsets = case.sets
    held = np.unique(np.concatenate([values[:0], *(values[offsets[k] : offsets[k + 1]]
                                                   for k in verdict.result.kept.tolist())]))
    for i in np.flatnonzero(moved)[:: max(1, int(np.count_nonzero(moved)) // 100)].tolist():
        own = values[offsets[i] : offsets[i + 1]]
        right = len(np.setdiff1d(own, held, assume_unique=True))
        report.require(int(lost[i]) == right, f"{case.name}: document {i} lost {lost[i]} shingles, counted again {right}")
    count, shares = lost[moved], 100 * lost[moved] / np.maximum(1, case.sets.sizes[moved])
    if not len(count):
        return
    table.add(case.name, len(count), percent(float(np.count_nonzero(count == 0)), len(count)), float(np.median(count)),
              float(np.median(shares)), float(np.quantile(shares, 0.9)), float(shares.max()))


def show_reassigned(report: Report, table: Table, case: Case) -> None:
    """Count the dropped documents that join another representative with reassign."""
    before, after = judge(case.texts, THRESHOLD), judge(case.texts, THRESHOLD, reassign=True)
    same = np.array_equal(before.result.kept, after.result.kept)
    report.require(same, f"{case.name}: reassign changes which documents are kept")
    old, new = before.result, after.result
    moved, dropped = old.labels != new.labels, before.moved
    table.add(case.name, int(np.count_nonzero(dropped)), int(np.count_nonzero(moved & dropped)),
              percent(float(np.count_nonzero(moved & dropped)), float(np.count_nonzero(dropped))),
              float(old.score[dropped].mean()) if dropped.any() else None,
              float(new.score[dropped].mean()) if dropped.any() else None)


def show_chained(table: Table, case: Case) -> None:
    """Count the members of connected components that do not resemble their representative."""
    star, joined = judge(case.texts, THRESHOLD), judge(case.texts, THRESHOLD, cluster="components")
    result = joined.result
    chained = result.classes == "chained"
    table.add(case.name, len(star.result.kept), len(result.kept), int(np.count_nonzero(chained)),
              percent(float(np.count_nonzero(chained)), float(np.count_nonzero(joined.moved))),
              float(result.score[chained].min()) if chained.any() else None, strangers(case, chained, result.labels))


def books_with_excerpts(texts: Sequence[str], books: int, each: int, words: int, seed: int = 1) -> tuple[list[str], Bools]:
    """Make long documents of real ones, and excerpts of EXCERPT_WORDS words; in those chosen, one word is another."""
    rng = np.random.default_rng(seed)
    shingling = Shingling(width=1)
    made: list[list[str]] = [[]]
    for text in texts:
        made[-1] += shingling.tokens(text)
        if len(made[-1]) >= words:
            made.append([])
    if len(made[-1]) < EXCERPT_WORDS:
        del made[-1]
    found: list[str] = []
    changed: list[bool] = []
    for book in made[:books]:
        for _ in range(each):
            at = int(rng.integers(0, max(1, len(book) - EXCERPT_WORDS)))
            excerpt = book[at : at + EXCERPT_WORDS]
            changed.append(bool(rng.random() < 0.5))
            if changed[-1]:
                excerpt[int(rng.integers(0, len(excerpt)))] = f"changed{len(found)}"
            found.append(" ".join(excerpt))
    return [" ".join(book) for book in made[:books]] + found, np.array(changed, np.bool_)


def show_excerpts(report: Report, table: Table, texts: Sequence[str], quick: bool) -> None:
    """Plant excerpts among long documents, and count how many every way of dropping finds."""
    words, each = (2_000, 3) if quick else (BOOK_WORDS, 20)
    documents, changed = books_with_excerpts(texts, 50, each, words)
    case = Case(Corpus("books", [str(i) for i in range(len(documents))], documents), np.full(len(documents), -1, np.int64))
    planted = np.arange(len(documents) - len(changed), len(documents))
    pairs = case.pairs
    true = np.zeros(len(documents), np.bool_)
    for a, b, share in ((pairs.a, pairs.b, pairs.a_in_b), (pairs.b, pairs.a, pairs.b_in_a)):
        true[a[(share >= THRESHOLD) & (case.sets.sizes[b] > case.sets.sizes[a])]] = True
    found = []
    for drop in ("resembling", "contained"):
        result = judge(documents, THRESHOLD, keep="longest", drop=drop).result
        dropped = result.labels != np.arange(len(documents))
        below = case.containment(np.flatnonzero(dropped), result.labels[dropped]) < THRESHOLD
        report.require(not below.any(), f"excerpts with drop={drop}: {int(below.sum())} drops are unjust")
        found.append(dropped)
    missed = int(np.count_nonzero(true & ~found[-1]))
    report.require(missed == 0, f"excerpts: drop=contained misses {missed}")
    for name, chosen in (("word for word", planted[~changed]), ("one word changed", planted[changed])):
        table.add(name, len(chosen), int(true[chosen].sum()), *(int(which[chosen].sum()) for which in found))


def copyright_files(least: int = 20) -> Case | None:
    """Return the machine's files of copyright in Debian's format, labelled by the licences they name; None without them.

    Two of one label name the same licences, in the same order.
    """
    texts, terms = [], []
    for path in sorted(DOCUMENTATION.glob("*/copyright")):
        text = "" if path.is_symlink() else path.read_bytes().decode("utf-8", "replace")
        named = re.findall(r"^License: *(\S.*)$", text, re.MULTILINE)
        if named:
            texts.append(text)
            terms.append(" / ".join(dict.fromkeys(name.strip().lower() for name in named)))
    if len(texts) < least:
        return None
    numbers = {name: i for i, name in enumerate(Counter(terms))}
    return Case(Corpus("copyright files", [str(i) for i in range(len(texts))], texts),
                np.array([numbers[name] for name in terms], np.int64))

