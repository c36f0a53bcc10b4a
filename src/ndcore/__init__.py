"""Find near-duplicate documents.

`near_duplicates` does the main job: MinHash signatures and LSH propose pairs, exact Jaccard similarity (resemblance, Broder
1997) decides. ``help(ndcore.NAME)`` has the parameters, errors, costs and examples of a name below. ``nd`` is ndcore.

Every day
    nd.near_duplicates(texts).kept          positions of the texts to keep; .clusters() has the copies
    nd.jaccard(a, b)                        exact similarity of two texts; nd.containment(a, b): the share of a that b has
    nd.passages(a, b)                       the passages that two texts share, and what is in one alone
    nd.collapse(results)                    a ranked list, each near-duplicate folded under a result above it
    nd.collapse_hits(answer, text="body")   the same of what a search engine or retriever gives, by texts or by a store
    nd.Index(0.8)                           texts in memory: add, query, remove at any time
    nd.Store.open(path)                     pages on disk, each decided as it comes; for crawlers
    nd.cluster(texts)                       clusters of a whole collection by its sketches; on disk: nd.Collection
    nd.repeats(texts, 50)                   passages of 50 tokens or more that a collection repeats
    nd.contamination(items, texts, 13)      test questions in training data
    nd.MinHasher(128).sketch_many(texts)    signatures: .compare(), .union(), .save(path)
    nd.load(path)                           sketches that were saved
    nd.SimHasher().sketch_many(texts)       fingerprints for nd.HammingIndex, a search within a few bits

What a text is: Shingling (units, width, stop words), POLYNOMIAL, lex and LexedProgram (programs).

Results
    NearDuplicates, Collapsed               of near_duplicates and collapse
    CollapsedHits, CollapsedKeys            of collapse_hits, and of the method collapse of a Store or a Collection
    Passages, Passage                       of passages
    Clustering                              of cluster, and of a Collection
    Ranking                                 of rank_pairs: pairs and groups of copied work
    Repeats                                 of repeats
    Contamination, FieldContamination       of contamination, and of field_contamination: question and answer by themselves
    SimilarText                             of Index.query
    Comparison                              of Sketches.compare: estimates with intervals
    Matches, Pairs                          of Hamming searches
    Verdict, Version                        of a Store

Sketches
    MinHasher, BottomSketcher, ModSketcher  signatures, bottom-k sketches, mod sketches of sets
    Winnower, SimHasher                     fingerprints with their places; bits of weighted features, weights: Idf
    WeightedMinHasher                       signatures in which rare shingles count more
    b_bit, BBitSketches                     1, 2, 4 or 8 bits of each minimum
    IMatcher, BucketSketcher, TermSignatures
                                            equal lists of words: I-Match, checksum buckets
    DatasketchHasher, PackageSimHasher, ScanossWinnower
                                            values of other tools
    Sketches, Simhashes, Winnowed           what they make; meta_sketches makes sketches of sketches
    Recipe, RecipeMismatch, CorruptFile     how sketches were made; sketches that do not fit together; damaged files
    greedy_clusters                         clusters around representative sketches
    resemblance                             another name of jaccard
    sample_size, probability_within         the size of a sketch for an error, and the reverse
    fingerprint_bits, fingerprint_error, expected_distinct, expected_spurious
                                            what collisions of fingerprints change

Filters (LSH bands and rows)
    design_filter, FilterDesign, ALTAVISTA  groups and their sizes for a threshold
    pass_probability                        of a pair, by its resemblance
    features, super_features                values whose equality proposes a pair
    super_shingles, super_shingle_probability

Hamming distance
    HammingIndex, plan_tables, TablePlan    search within k bits; which tables it takes
    hamming_pairs, hamming_join, hamming_distances

Stores and services
    StoreClient, ServiceClient, AsyncServiceClient, ShardedStore
                                            one store from other processes, over HTTP, in shards
    Resampled                               samples drawn anew, against copies made to escape

Settings and machine
    load_settings                           settings that `ndcore judge` or a file has, as keywords
    variants, using                         which variant of each kernel runs here
    Rabin, is_irreducible, random_irreducible, get_include
                                            fingerprints of bytes; the C headers

Modules
    ndcore.plots, ndcore.stemming, ndcore.progress, ndcore.judge, ndcore.spark, ndcore.crawl.scrapy
                                            pictures, stems, bars, people's judgements, Spark, Scrapy
    ndcore.chains, ndcore.clustering        names of clusters
    ndcore.reportpage, ndcore.nearreport, ndcore.clusterreport
                                            reports as pages of HTML
    ndcore.reference                        the definitions in plain Python
"""

import functools
import importlib
import os
import sys

from ndcore._version import __version__ as __version__

# The public names are listed in `__init__.pyi`, which this module and type checkers read. Each is imported when it is first
# used (PEP 562), so a program that reads only `ndcore.__version__` does not load NumPy, sockets and asyncio.


# Folders that users take for functions, because commands have these names -> the functions they look for.
_SOUGHT = {
    "collection": "Collection.build", "dedup": "near_duplicates", "hamming": "hamming_pairs",
    "sketch": "MinHasher().sketch_many", "store": "Store.open",
}


class _Module(type(sys)):  # type: ignore[misc]
    """A module that is pickled by its name, so that functions which name it can go to tasks of Spark, Dask or Ray."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return importlib.import_module, (self.__name__,)


class _Folder(_Module):
    """A folder of modules that, when called, raises an error with the name of the function that is meant."""

    def __call__(self, *_: object, **__: object) -> None:
        raise TypeError(f"{self.__name__} is a folder of modules, not a function; did you mean "
                        f"ndcore.{_SOUGHT[self.__name__.rpartition('.')[2]]}?")


class _Package(_Module):
    """The class of this module; a folder in `_SOUGHT` becomes a `_Folder` when an import sets it here."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _SOUGHT and type(value) is type(sys):
            value.__class__ = _Folder
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def get_include() -> str:
    """Return the directory of the C headers, for programs that embed the kernels."""
    from pathlib import Path  # takes three times as long to import as this module

    return str(Path(__file__).parent / "core")


@functools.cache
def _homes() -> dict[str, str]:
    """Read the module of every public name from the stub; "." is the home of public modules."""
    stub = f"{__path__[0]}{os.sep}__init__.pyi"
    try:
        lines = __spec__.loader.get_data(stub).decode().splitlines()
    except OSError as error:
        raise ImportError(f"cannot read {stub}, the list of ndcore's names: {error.strerror}; install ndcore again, or let "
                          "the tool that copied its modules copy its data files, too") from error
    return {name: home for _, home, _, name, *_ in (line.split() for line in lines if line.startswith("from "))}


def __getattr__(name: str) -> object:
    """Import a public name, or make `__all__`, when it is first used."""
    homes = {} if name.startswith("_") and name != "__all__" else _homes()
    if name == "__all__":
        if sys._getframe(1).f_code.co_filename.endswith("pydoc.py"):
            # Without `__all__`, `help(ndcore)` is the map above; with it, pydoc would print every class of it, 7,000 lines.
            raise AttributeError("pydoc shows the docstring in place of __all__", name=name, obj=sys.modules[__name__])
        return sorted([*(public for public, home in homes.items() if home != "."), "get_include"])
    value: object
    if name not in homes:
        meant = f"; did you mean ndcore.{_SOUGHT[name]}?" if name in _SOUGHT else ""
        raise AttributeError(f"module 'ndcore' has no attribute {name!r}{meant}", name=name, obj=sys.modules[__name__])
    elif homes[name] == ".":
        value = importlib.import_module(f"ndcore.{name}")
    else:
        value = getattr(importlib.import_module(homes[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *_homes()})


def _choose_variants() -> None:
    """Choose the variants of NDCORE_VARIANT. A demand that cannot be met stops the import; the command ends with code 2."""
    try:
        importlib.import_module("ndcore.kernels")
    except ValueError as error:
        from pathlib import Path

        from ndcore.human import printable

        as_module = sys.argv[:1] == ["-m"] and any(word.endswith("ndcore") for word in sys.orig_argv)  # python -m ndcore
        if not as_module and Path(*sys.argv[:1]).stem != "ndcore":
            raise
        print(printable(f"ndcore: {error}"), file=sys.stderr)
        sys.exit(2)


if os.environ.get("NDCORE_VARIANT"):
    _choose_variants()
