"""``ndcore dedup --dry-run``: the costs of a deduplication."""

from __future__ import annotations

import math

from ndcore.cli.dedup_options import DedupOptions
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import choose_settings
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import STDOUT
from ndcore.files.sources import Inputs, sizes
from ndcore.filters.prefix import SHINGLE_BYTES
from ndcore.filters.search import design_filter
from ndcore.sketch.minhash import MinHasher

__all__ = ["estimate"]


def estimate(options: DedupOptions, found: Inputs, known: Inputs) -> int:
    """Estimate what the run would take; documents of --against are read too."""
    shingling, numbers = choose_settings(options, [], num_perm=options.num_perm, seed=options.seed)
    try:
        num_perm = design_filter(options.thresholds[0], num_perm=numbers.get("num_perm", 84)).num_perm
    except ValueError as error:
        raise UsageError(str(error)) from error
    sketcher = MinHasher(num_perm, 32, numbers.get("seed", 1), shingling)
    limit = math.inf if options.memory_limit is None else options.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        return min(documents * 4 * num_perm, limit) + 330 * documents

    copied = 0 if options.output == STDOUT else sum(sizes(found.sources))
    several, sets = len(options.thresholds), _needs_all_sets(options)
    again = Range(0.3 * several + sets, 1.5 + 0.5 * several + sets)  # the sets of all documents take a reading of their own
    costs = Costs(memory, lambda *_: Range(0, several * copied), again, 20, SHINGLE_BYTES if sets else 0)
    return dry_run(options, Inputs([*found.sources, *known.sources]), sketcher, costs, options.output)


def _needs_all_sets(options: DedupOptions) -> bool:
    """Tell whether the shingle sets of all documents are formed, not only of candidates."""
    complete = options.filter == "complete" or options.drop == "contained"
    return complete or options.drop_common is not None or options.lost
