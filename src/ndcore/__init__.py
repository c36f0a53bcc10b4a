"""Find near-duplicate documents.

MinHash signatures, other sketches, LSH filters, exact Jaccard similarity (resemblance) and clusters as Broder (1997,
2000) and Broder et al. (1997) define them; simhash and its search as Manku et al. (2007) define them. `near_duplicates`
does the main job; its parts are public.
"""

from pathlib import Path

from ndcore._rabin import Rabin, is_irreducible, random_irreducible
from ndcore._version import __version__
from ndcore.alignment.passages import Passage, Passages, passages
from ndcore.clusters.greedy import greedy_clusters
from ndcore.collection.cluster import cluster
from ndcore.collection.clustering import Clustering
from ndcore.collection.collection import Collection
from ndcore.dedup.collapse import Collapsed, collapse
from ndcore.dedup.near_duplicates import near_duplicates
from ndcore.dedup.result import NearDuplicates
from ndcore.filters.design import ALTAVISTA, FilterDesign, pass_probability
from ndcore.filters.search import design_filter
from ndcore.hamming.all_pairs import hamming_pairs
from ndcore.hamming.fingerprints import hamming_distances
from ndcore.hamming.index import HammingIndex
from ndcore.hamming.join import hamming_join
from ndcore.hamming.results import Matches, Pairs
from ndcore.hamming.table_plan import TablePlan, plan_tables
from ndcore.kernels import using, variants
from ndcore.recipe import Recipe, RecipeMismatch
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.comparison import Comparison
from ndcore.sketch.features import features
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.mod import ModSketcher
from ndcore.sketch.simhash import SimHasher, Simhashes
from ndcore.sketch.sketches import Sketches, load
from ndcore.sketch.super_features import super_features
from ndcore.sketch.super_shingles import meta_sketches, super_shingle_probability, super_shingles
from ndcore.sketch.weights import Idf
from ndcore.stats.collisions import expected_distinct, expected_spurious, fingerprint_bits, fingerprint_error
from ndcore.stats.sample_size import probability_within, sample_size
from ndcore.storage.container import CorruptFile
from ndcore.store.client import StoreClient
from ndcore.store.resample import Resampled
from ndcore.store.store import Store
from ndcore.store.verdict import Verdict, Version
from ndcore.text.resemblance import containment, jaccard, resemblance
from ndcore.text.shingling import POLYNOMIAL, Shingling


def get_include() -> str:
    """Return the directory of the C headers, for programs that embed the kernels."""
    return str(Path(__file__).parent / "core")


__all__ = [
    "ALTAVISTA",
    "POLYNOMIAL",
    "BottomSketcher",
    "Clustering",
    "Collapsed",
    "Collection",
    "Comparison",
    "CorruptFile",
    "FilterDesign",
    "HammingIndex",
    "Idf",
    "Matches",
    "MinHasher",
    "ModSketcher",
    "NearDuplicates",
    "Pairs",
    "Passage",
    "Passages",
    "Rabin",
    "Recipe",
    "RecipeMismatch",
    "Resampled",
    "Shingling",
    "SimHasher",
    "Simhashes",
    "Sketches",
    "Store",
    "StoreClient",
    "TablePlan",
    "Verdict",
    "Version",
    "__version__",
    "cluster",
    "collapse",
    "containment",
    "design_filter",
    "expected_distinct",
    "expected_spurious",
    "features",
    "fingerprint_bits",
    "fingerprint_error",
    "get_include",
    "greedy_clusters",
    "hamming_distances",
    "hamming_join",
    "hamming_pairs",
    "is_irreducible",
    "jaccard",
    "load",
    "meta_sketches",
    "near_duplicates",
    "pass_probability",
    "passages",
    "plan_tables",
    "probability_within",
    "random_irreducible",
    "resemblance",
    "sample_size",
    "super_features",
    "super_shingle_probability",
    "super_shingles",
    "using",
    "variants",
]
