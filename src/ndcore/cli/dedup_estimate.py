"""``ndcore dedup --dry-run``: the costs of a deduplication."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ndcore.cli.dedup_options import DedupOptions
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import choose_settings
from ndcore.dedup.comparison import SOUGHT
from ndcore.dedup.filter_choice import ROOM_RATIO
from ndcore.dedup.rules import Rules
from ndcore.files.errors import UsageError
from ndcore.files.outputs import STDOUT
from ndcore.files.sources import Inputs, get_sizes
from ndcore.filters.prefix import SHINGLE_BYTES, PrefixFilter
from ndcore.filters.search import design_filter
from ndcore.pairs.prefix_candidates import ENTRY_BYTES, MEMORY
from ndcore.pairs.shingle_sets import SETS_IN_MEMORY
from ndcore.sketch.minhash import MinHasher

__all__ = ["estimate"]


def estimate(options: DedupOptions, found: Inputs, known: Inputs) -> int:
    """Estimate what the run would take; documents of --against are read too."""
    shingling, numbers = choose_settings(options, [], num_perm=options.num_perm, seed=options.seed)
    rules = _rules(options)
    num_perm: int = numbers.get("num_perm", 84)
    if rules.prefix is None:
        try:
            num_perm = design_filter(options.thresholds[0], num_perm=num_perm).num_perm
        except ValueError as error:
            raise UsageError(str(error)) from error
    sketcher = MinHasher(num_perm, 32, numbers.get("seed", 1), shingling)
    limit = math.inf if options.memory_limit is None else options.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        return min(documents * 4 * num_perm, limit) + 330 * documents

    copied = 0 if options.output == STDOUT else sum(get_sizes(found.sources))
    several = len(options.thresholds)
    reading = int(rules.needs_all_sets and not rules.forms_sets)  # of its own for the sets of all documents
    again = Range(0.3 * several + reading, 1.5 + 0.5 * several + reading)
    sets = partial(_sets, rules, limit, num_perm) if rules.needs_all_sets or rules.chooses else None
    costs = Costs(memory, lambda *_: Range(0, several * copied), again, 20, sets)
    return dry_run(options, Inputs([*found.sources, *known.sources]), sketcher, costs, options.output)


def _rules(options: DedupOptions) -> Rules:
    """Return the rules of the run, as far as its costs depend on them."""
    return Rules(options.thresholds[0], options.filter, options.drop, drop_common=options.drop_common, lost=options.lost)


def _sets(rules: Rules, limit: float, num_perm: int, shingles: float, documents: float) -> tuple[Range, Range]:
    """Return the bytes of memory and of temporary files that the sets of all documents take.

    Past a limit the sets are in a temporary file. The prefix filter has counters and entries of the shingles that are
    looked up; the count of losses has the shingles of dropped documents, in parts. Where the filter is chosen later, all of
    this may be needed, or nothing.
    """
    size = SHINGLE_BYTES * shingles
    if rules.chooses and size > ROOM_RATIO * 4 * num_perm * documents:
        return Range(0, 0), Range(0, 0)  # LSH, whatever it costs
    low, high = min(size, SETS_IN_MEMORY), min(size, SETS_IN_MEMORY)
    prefix = PrefixFilter(rules.threshold) if rules.chooses else rules.prefix
    if prefix is not None:
        entries = 1.0 if rules.contained else prefix.probe_length(np.array([100]))[0] / 100
        low, high = low + min(2 * shingles, limit), high + min((4 + ENTRY_BYTES * entries) * shingles, limit, MEMORY)
    if rules.lost:
        high += 5 * SHINGLE_BYTES * min(shingles, SOUGHT)
    spilled = size if size > SETS_IN_MEMORY else 0.0
    return Range(0 if rules.chooses else low, high), Range(0 if rules.chooses else spilled, spilled)
