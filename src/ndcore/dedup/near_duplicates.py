"""The main job: find the near-duplicates of a collection, and choose which documents to keep.

The steps: plan the filter, read the documents, find equal ones, prepare the shingle sets of the others, find candidate
pairs, verify them, choose representatives, conclude the result. A step takes arrays and returns arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Ints
from ndcore.checks import check_ids, checked_memory_limit
from ndcore.dedup.documents import Documents, as_sides, find_leaders, read_documents
from ndcore.dedup.filter_choice import FilterChooser
from ndcore.dedup.result import Basis, NearDuplicates, conclude
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.filters.search import design_filter
from ndcore.pairs.candidates import Candidates, Search, find_candidates
from ndcore.pairs.common_shingles import find_common, without_common
from ndcore.pairs.keep_order import KeepOrder, Leaders
from ndcore.pairs.long_runs import add_run_pairs
from ndcore.pairs.lost import LostRuns
from ndcore.pairs.pairs_below import count_by_resemblance
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.representatives import choose_representatives
from ndcore.pairs.shingle_sets import SETS_IN_MEMORY, ShingleSets
from ndcore.pairs.shingle_weights import ShingleWeights
from ndcore.pairs.verification import Verifier
from ndcore.progress import Progress, reporting
from ndcore.sketch.loading import load
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.weights import Idf, checked_weights
from ndcore.text.agreement import Agreement, MustAgree
from ndcore.text.corpus import Corpus
from ndcore.text.shingling import Shingling

Priorities = ArrayLike | Callable[[], ArrayLike]


def near_duplicates(
    texts: Iterable[str | bytes] | Corpus | Sketches,
    ids: Sequence[Any] | None = None,
    *,
    threshold: float = 0.8,
    shingling: Shingling | None = None,
    num_perm: int = 84,
    seed: int = 1,
    filter: Literal["auto", "lsh", "complete"] | FilterDesign = "auto",
    drop: Literal["resembling", "contained"] = "resembling",
    against: Iterable[str | bytes] | Corpus | Sketches | str | os.PathLike[str] | None = None,
    keep: Literal["first", "longest"] | Priorities = "first",
    cluster: Literal["star", "greedy", "components"] = "star",
    max_holders: int = 1000,
    verify: Literal["fingerprints", "tokens"] = "fingerprints",
    memory_limit: int | str | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
    by: ArrayLike | Callable[[], ArrayLike] | None = None,
    one_per: ArrayLike | Callable[[], ArrayLike] | None = None,
    must_agree: MustAgree = None,
    min_shingles: int = 0,
    drop_common: float | None = None,
    lost: bool = False,
    reassign: bool = False,
    max_lost: int | None = None,
    weights: Idf | None = None,
) -> NearDuplicates:
    """Find near-duplicate documents, and choose which of them to keep.

    Identical and lexically equivalent documents (the same canonical tokens) are collapsed first. Among the rest, pairs that
    share features of their signatures (LSH bands), or rare shingles (filter="complete"), are candidate pairs; a pair is
    accepted only by its exact resemblance (Jaccard similarity). Then, in keep order, each document joins the representative
    it resembles most, or becomes one. So every dropped document resembles a kept one at or above the threshold, and two kept
    ones do only if the filter missed the pair. Options compare another score, or keep documents apart that resemble each
    other.

    Parameters
    ----------
    texts : iterable of str or bytes, a column of them, a Corpus, or Sketches
        Texts are read again, so an iterator is first written to a compressed temporary file. Sketches (of a MinHasher)
        stand for texts that are gone: resemblances are then estimates, and identical documents are found only by stored
        digests.
    ids : sequence, optional
        Names of the documents, for the result.
    threshold : float
        Resemblance (Jaccard similarity) in (0, 1] from which two documents are near-duplicates; with drop="contained" the
        containment.
    shingling : Shingling, optional
        None: words, 5 to a shingle; with sketches, the shingling of their recipe.
    num_perm, seed : int
        Length and seed of the signatures. filter="auto" and "lsh" raise num_perm if they must. Sketches bring their own.
    filter : "auto", "lsh", "complete" or FilterDesign
        How candidate pairs are found. "lsh": by LSH bands and rows of design_filter(threshold), which misses a pair at the
        threshold with a probability of at most 0.001. "complete": by prefix filtering over the shingles of all documents,
        which misses none. "auto": the cheaper of the two, by an estimate from the first documents (see
        `NearDuplicates.filter_choice`); LSH for fewer than 2,048 texts, with sketches, and where another option needs it.
    drop : "resembling" or "contained"
        "contained": a document is dropped if an earlier one in keep order, which is kept, has at least `threshold` of its
        shingles (the containment); among several it joins the one that has most. Only with cluster="star". The complete
        filter is always used, so no pair is missed.
    against : as texts, or path of saved sketches, optional
        An existing collection: its documents come first in keep order and are never dropped.
    keep : "first", "longest" (in bytes), or priorities
        Keep order: the first of several near-duplicates is kept. Priorities: one per document, smallest first, ties by
        position; an array, or a callable that returns it after the texts were read.
    cluster : "star", "greedy" or "components"
        See `ndcore.pairs.representatives.represent`. Components may join documents by chains of others.
    max_holders : int
        Of documents that share a feature (with the complete filter: a shingle) with more than this many, only pairs with a
        representative are listed; see `NearDuplicates.common`. It changes no label.
    verify : "fingerprints" or "tokens"
        Compare shingles as fingerprints, or as tuples of tokens: then forged fingerprints drop no document that should be
        kept, and with filter="complete" they hide no pair.
    memory_limit : int or str, optional
        Bytes, or a size such as "2G", for signatures and sort entries. Beyond it they go to temporary files and are sorted
        in parts, with the same result.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total).
    by : array, optional
        A label per document, or a callable that returns them after the texts were read: documents with different labels
        are never compared. Not with `against`. None and NaN raise ValueError, here and in `one_per`.
    one_per : array, optional
        A label per document, such as the URL of a capture, or a callable that returns them after the texts were read. Only
        the first document with a label, in keep order, is compared with others. The rest are dropped as its versions,
        without regard to their texts; see `NearDuplicates.classes`.
    must_agree : str, callable, or sequence of these, optional
        Documents with different keys are never near-duplicates, nor lexically equivalent; identical ones always are. Names
        of keys: "numbers", the words with digits, in order; "amounts", the numbers with their units, in order; "title", the
        title of an HTML page, or the first line; "names", the words with a capital that do not only begin sentences;
        "negations", words such as "not" in 18 languages, in order. A callable returns the key of a text: None, a bool,
        int, float, str or bytes, or a tuple of these.
    min_shingles : int
        Documents of fewer distinct shingles are duplicates only if they are identical or lexically equivalent.
    drop_common : float, optional
        A share such as 0.05: shingles of more than this share of the documents (with `by`: of the documents with the
        label), in at least 20 classes of distinct documents, are ignored in the comparison. See `NearDuplicates.score`.
    lost : bool
        True: count the shingles of each dropped document that no kept one has; see `NearDuplicates.lost`.
    reassign : bool
        True: at the end each dropped document moves to the kept one, earlier or later, with which it has the highest score
        among the accepted pairs. The same documents are kept.
    max_lost : int, optional
        A document is dropped only for a kept one that lacks no run of more than this many of its words (tokens of the unit).
        A word is lacking if the kept document has none of the shingles that it is in. Only with cluster="star".
    weights : Idf, optional
        Weights of shingles, so that rare ones count more: the score of a pair is the weight of their common shingles over
        the weight of all, with drop="contained" over the weight of one document. See `NearDuplicates.score`. Without
        `shingling`, the one of the weights is taken. The complete filter is always used, so no pair is missed.

    Returns
    -------
    NearDuplicates

    Raises
    ------
    TypeError, ValueError
        A parameter or a text is not accepted, or parameters exclude each other. Sketches in place of texts exclude
        filter="complete", drop="contained", must_agree, min_shingles, drop_common, lost and weights.
    RecipeMismatch
        Sketches have different recipes, or they or the weights another shingling than the one given.

    Notes
    -----
    Takes O(bytes) to read all texts, and candidates again, O(groups · n) to sort, and one comparison per candidate pair:
    an exact one, or, where there are many, a few nanoseconds for most, whose bitmaps rule them out. Memory: below 1 KB per
    document for signatures, digests and entries, 8 bytes per candidate pair, and bounded batches of texts and shingle sets.
    filter="complete", drop="contained", drop_common, lost and weights hold the shingle sets of all documents, at 8 bytes for
    each shingle, beyond 64 MB in a temporary file; weights take 4 bytes more, and 40 bytes for each shingle of the Idf.

    References
    ----------
    Broder, "Identifying and filtering near-duplicate documents", 2000. DOI 10.1007/3-540-45123-4_1.
    Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997. DOI 10.1016/S0169-7552(97)00031-7.
    Bayardo, Ma, Srikant, "Scaling up all pairs similarity search", 2007, §3. DOI 10.1145/1242572.1242591.

    >>> res = near_duplicates(["a rose is a rose is a rose", "A rose is a rose, is a rose!", "something else entirely"])
    >>> res.labels.tolist(), res.classes.tolist()
    ([0, 0, 2], ['kept', 'lexical', 'kept'])
    """
    if ids is not None:
        check_ids(ids, None)
    agreement = Agreement.of(must_agree)
    rules = Rules.of(
        agreement, filter, threshold=threshold, drop=drop, cluster=cluster, min_shingles=min_shingles,
        drop_common=drop_common, lost=lost, reassign=reassign, max_lost=max_lost, weights=weights, max_holders=max_holders,
        verify=verify,
    )
    if by is not None and against is not None:
        raise ValueError("by=… cannot be combined with against=…: the documents of `against` have no labels")
    memory = checked_memory_limit(memory_limit, 2)  # half for signatures, half for sort entries
    given = load(against) if isinstance(against, (str, os.PathLike)) else against
    both = [texts] if given is None else [texts, given]
    sketcher, design = plan_sketches(both, rules, shingling, num_perm, seed, filter)
    sides = as_sides(both)
    chooser = FilterChooser.of(sides, rules, sketcher, design)
    with reporting(progress) as report:
        documents, lengths, sets = read_documents(
            sides, sketcher, agreement, form_sets=chooser or rules.forms_sets,
            shared=by is None and one_per is None and isinstance(keep, str), threads=threads, memory_limit=memory,
            report=report,
        )
        if chooser is not None and sets is not None:
            rules, design = replace(rules, filter="complete"), PrefixFilter(rules.threshold)
        if ids is not None:
            check_ids(ids, documents.n)
        order = KeepOrder.of(keep, documents.n, len(documents) - documents.n, lengths)
        del lengths
        leaders = find_leaders(documents, order, by, one_per, threads=threads, report=report)
        compared = prepare_sets(documents, sets, leaders, rules, threads=threads, report=report)
        search = find_pairs(documents, compared, leaders, rules, design, threads=threads, memory_limit=memory, report=report)
        verifier = prepare_verifier(documents, compared, search, leaders, rules, threads=threads, report=report)
        pairs = verifier.verify_all(search, rules.threshold, report)
        pairs = add_run_pairs(pairs, search, verifier, order, report, threshold=rules.threshold, cluster=rules.cluster,
                              reassign=rules.reassign)
        labels = choose_representatives(pairs, order, rules.threshold, rules.cluster, rules.reassign)
        return conclude(labels, documents, leaders, Basis.of(pairs, search, verifier, rules), rules, filter=design, ids=ids,
                        filter_choice=None if chooser is None else chooser.choice)


def plan_sketches(
    sides: Sequence[Any], rules: Rules, shingling: Shingling | None, num_perm: int, seed: int,
    filter: str | FilterDesign,
) -> tuple[MinHasher, FilterDesign | PrefixFilter]:
    """Choose the sketcher, by the recipe of given sketches, and the filter; sides are in any of their forms.

    Raises ValueError if a rule needs texts but only sketches are given.
    """
    given = next((side for side in sides if isinstance(side, Sketches)), None)
    if given is not None:
        rules.refuse_sketches()
    if rules.weights is not None:
        shingling = shingling or rules.weights.shingling
        checked_weights(rules.weights, shingling)
    threshold, prefix = rules.threshold, rules.prefix
    if prefix is not None:
        return MinHasher(num_perm, 32, seed, shingling), prefix
    if isinstance(filter, FilterDesign):
        num_perm = max(num_perm, filter.groups * filter.group_size)
    elif given is None:
        num_perm = design_filter(threshold, num_perm=num_perm).num_perm
    sketcher = MinHasher(num_perm, 32, seed, shingling) if given is None else MinHasher.from_recipe(given.recipe, shingling)
    if not isinstance(filter, FilterDesign):
        return sketcher, design_filter(threshold, num_perm=sketcher.num_perm, max_num_perm=sketcher.num_perm)
    design = FilterDesign.of(
        filter.groups, filter.group_size, filter.need, threshold=threshold, num_perm=sketcher.num_perm
    )
    return sketcher, design


class ComparedSets(NamedTuple):
    """The documents that are compared, and their shingle sets.

    Attributes
    ----------
    active : int64, ascending
        The documents that are compared.
    sets : ShingleSets or None
        None: only candidates need their sets.
    counted : ShingleSets or None
        The sets without common shingles, of which there are `common_shingles`; None: all shingles count.
    weights : ShingleWeights or None
        The weights of the shingles that count; None: each weighs 1.
    """

    active: Ints
    sets: ShingleSets | None
    counted: ShingleSets | None
    common_shingles: int
    weights: ShingleWeights | None


def prepare_sets(
    documents: Documents, formed: ShingleSets | None, leaders: Leaders, rules: Rules, *, threads: int | None,
    report: Progress,
) -> ComparedSets:
    """Prepare the shingle sets of the documents to compare, if a rule needs them before candidates are sought.

    `formed` are the sets of the first pass; None: the needed sets are read now.
    """
    compared, sets = documents.valid & leaders.compared, formed
    active = np.flatnonzero(compared)
    if sets is None and rules.needs_all_sets:
        leading = documents.valid & (leaders.leader == np.arange(len(documents)))
        sets = documents.form_sets(leading if rules.lost else compared, tokens=rules.verify == "tokens", threads=threads,
                                   report=report)
    counted, weights, common_shingles = None, None, 0
    if sets is not None and rules.drop_common is not None:
        common = find_common(sets, leaders, documents.valid, rules.drop_common)
        counted, common_shingles = without_common(sets, common, leaders), len(common)
        active = active[counted.sizes(active) > 0]
    if sets is not None and rules.weights is not None:
        weights = ShingleWeights(sets if counted is None else counted, rules.weights.feature_weights)
    return ComparedSets(active, sets, counted, common_shingles, weights)


def find_pairs(
    documents: Documents, compared: ComparedSets, leaders: Leaders, rules: Rules, filter: FilterDesign | PrefixFilter, *,
    threads: int | None, memory_limit: int | None, report: Progress,
) -> Search:
    """Find the candidate pairs among the compared documents."""
    sets, rows = compared.sets if compared.counted is None else compared.counted, documents.rows
    if isinstance(filter, PrefixFilter):
        assert sets is not None
        return find_prefix_candidates(
            sets, compared.active, filter, weights=compared.weights, max_holders=rules.max_holders,
            first_fixed=documents.n, by=leaders.group, memory_limit=memory_limit, threads=threads, report=report,
        )
    if sets is not None:
        rows = sets.signatures(documents.sketcher, memory_limit)
    assert rows is not None
    return find_candidates(
        rows, compared.active, filter, max_holders=rules.max_holders, first_fixed=documents.n, by=leaders.group,
        memory_limit=memory_limit, threads=threads, report=report,
    )


def prepare_verifier(
    documents: Documents, compared: ComparedSets, search: Search, leaders: Leaders, rules: Rules, *, threads: int | None,
    report: Progress,
) -> Verifier:
    """Make the verifier of the candidates; read their shingle sets, if there are none, and what `max_lost` needs."""
    sets = compared.sets
    wanted = np.zeros(len(documents), np.bool_)
    wanted[search.documents if isinstance(search, Candidates) else compared.active] = True
    if sets is None:
        sets = documents.form_sets(wanted, tokens=rules.verify == "tokens", threads=threads, report=report)
    lost_runs = rejected = None
    if rules.max_lost is not None:
        lost_runs = LostRuns(documents.shingling, len(documents), SETS_IN_MEMORY)
        lost_runs.read(documents.texts(wanted), threads)
    if (isinstance(search, Candidates) and compared.counted is None and not len(search.runs.groups)
            and documents.has_text(compared.active).all()):  # every candidate is compared exactly
        rejected = count_by_resemblance(np.empty(0))
    return Verifier(sets, compared.counted, compared.common_shingles, compared.weights, documents.rows, leaders.keep.rank,
                    rules.contained, rules.min_shingles, lost_runs, rules.max_lost, rejected)
