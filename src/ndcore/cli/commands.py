"""Every command of the command line: its options, its help, its completion, and the function that does the work.

`ndcore.cli.command` says how to add one. Options that several commands share come first, as classes that commands inherit.
``ndcore --help`` lists the commands in this order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ndcore import choices
from ndcore.cli import values
from ndcore.cli.command import (
    COMMANDS,
    DUPLICATES,
    FAMILIES,
    INPUT,
    OUTPUT,
    RUNNING,
    SHINGLES,
    Options,
    argument,
    command,
    family,
    option,
)
from ndcore.human import enumerated

if TYPE_CHECKING:
    import datetime

    from ndcore.collection.settings import ClusterBy, Method, Policy
    from ndcore.spans.contamination_result import RuleName
    from ndcore.spans.repeats_result import Copies
    from ndcore.text.folding import Fold

__all__ = ["COMMANDS", "FAMILIES"]

# ---- options that several commands share

FORMATS = (
    "Files hold text, JSON lines (.jsonl, .ndjson, .jl), JSON (.json: an array, lines, or one object), CSV or TSV with a "
    "header, HTML (.html, .htm, .xhtml), mail (.eml, .mbox), web archives (.warc, .wet, .arc), indexes of them (.cdx, "
    f".cdxj), all of these also compressed by {enumerated(choices.COMPRESSIONS.values())}, or Parquet, Arrow, Feather"
)
_PLACES = "Inputs are files, directories, URLs such as s3://BUCKET/FOLDER (extra remote), or - for standard input. "
_READ = (
    ". Their first bytes tell the format. Standard input is records of any format, or a web archive. A file that is not "
    "text is an error; in a directory it is passed over and listed."
)
DOCUMENTS = f"{_PLACES}{FORMATS}{_READ}"
INPUTS = f"{_PLACES}{FORMATS}, or the sketches of ndcore sketch{_READ}"
FINGERPRINTS = (
    "Fingerprints are simhashes saved by ndcore sketch, a .npy array, a column of Parquet, or a column of text: decimal "
    "numbers, or hexadecimal ones with 0x; tabs, commas or blanks separate columns, and - is text on standard input. Any "
    "other file has 8 bytes for each fingerprint, little-endian."
)
FINGERPRINT_FORMATS = ("npy", "raw", "parquet", "hex", "decimal")


class TokenOptions(Options):
    """The options of tokens; None for an option that was not given."""

    unit: str | None = option(SHINGLES, "kind of token (default word)", choices=choices.UNITS)
    normalize: str | None = option(SHINGLES,
        "NFKC: Unicode normalization of words and characters; scan: the same of characters, without white space and hyphens "
        "at line ends; words: compare lines, paragraphs and sentences by their words (default none)",
        choices=tuple(choices.NORMALIZED))
    stop_words: values.FileLines | None = option(SHINGLES,
        "words to leave out, one per line (default none)", metavar="FILE", parse=values.lines)


class WidthOptions(Options):
    """The width of shingles."""

    width: int | None = option(SHINGLES, "tokens per shingle (default 5)", metavar="W", parse=values.positive)


class ShingleOptions(TokenOptions, WidthOptions):
    """What a shingle is."""


class SettingsOptions(Options):
    """Settings in a file or by name."""

    settings: str | None = option(DUPLICATES,
        "take threshold, shingles and rules from this file, which ndcore judge writes; or the name noisy: settings for text "
        "with errors in its letters, as of scanned pages", metavar="FILE.toml")


class SeedOptions(Options):
    """The seed of sketches."""

    seed: int | None = option(SHINGLES,
        "seed of the random permutations (default 1)", metavar="N", parse=values.seed)


class RecordOptions(Options):
    """The fields of text and id, and how files are read; None for an option that was not given."""

    text_field: list[str] | None = option(INPUT,
        "field of a record that holds the text (default text). Repeatable: the texts of all fields are joined",
        metavar="FIELD")
    id_field: str | None = option(INPUT, "field that holds the id (default id)", metavar="FIELD")
    html_part: str | None = option(INPUT,
        "text of HTML: the whole page, or its main content (the whole page if none is recognized). With this option the "
        "text fields of records are HTML too (default: page, and text fields are plain text)",
        "--html", parse=values.part, choices=choices.HTML_PARTS)
    max_record: int = option(INPUT,
        "a longer line, row, record or text is an error, or with --on-error skip left out (default 256M; G is 1024^3 "
        "bytes)", metavar="SIZE", parse=values.memory, default=choices.LONGEST_RECORD)
    archives: str | None = option(INPUT,
        "folder of the web archives that an index (.cdx, .cdxj) names (default: the folder of the index)", metavar="DIR",
        parse=values.folder)
    encoding: str | None = option(INPUT,
        "encoding of text, CSV, and HTML files without a byte order mark, and of mail that names none, as cp1252 or "
        "shift_jis (default: detected). JSON is UTF-8", metavar="NAME", parse=values.encoding)
    delimiter: str | None = option(INPUT,
        "character between the fields of CSV and TSV, or tab (default: in .csv detected among , ; tab |)",
        metavar="CHAR", parse=values.delimiter)


class FieldOptions(RecordOptions):
    """How collections are read: records, files of directories, and documents that cannot be read."""

    text_field: list[str] | None = option(INPUT,
        "field or column that holds the text (default text); data.text is the field text of the object data. Repeatable: "
        "the texts of all fields are joined, each on its own line", metavar="FIELD")
    id_field: str | None = option(INPUT,
        "field or column that holds the id; every record must have it (default id, or file:line if there is none). In "
        "archives the id is the URL", metavar="FIELD")
    include: list[str] = option(INPUT,
        "in directories, read only files that match, as '*.txt' or 'docs/**/*.md' (as in .gitignore; repeatable)",
        metavar="GLOB", many=True)
    exclude: list[str] = option(INPUT,
        "in directories, leave out files and folders that match (repeatable)", metavar="GLOB", many=True)
    hidden: bool = option(INPUT, "also read files and folders whose names begin with a dot, as .git")
    on_error: str = option(INPUT,
        "at a document that cannot be read: stop, or skip it and list it (default stop)",
        choices=("stop", "skip"), default="stop")


class RunOptions(Options):
    """Threads, and reports of progress."""

    threads: int | None = option(RUNNING,
        "number of threads (default: all cores); results do not depend on it", metavar="N", parse=values.positive)
    quiet: bool = option(RUNNING, "print no progress and no report", "-q")


class ReadingOptions(FieldOptions, RunOptions):
    """The choice of documents, and how they are read."""


class DocumentOptions(TokenOptions, ReadingOptions):
    """The options of every command that reads a collection; each defines `inputs`, --json and --overwrite itself."""

    inputs: list[str]
    json: bool
    overwrite: bool


class DryRunOptions(DocumentOptions):
    """The options of a command that can estimate the costs of a run."""

    output: str | None
    dry_run: bool = option(RUNNING,
        "read a sample for a few seconds, estimate the number of documents and the time, memory and disk space of the "
        "run, and write nothing")


class StoreOptions(Options):
    """The store of a command."""

    store: str = argument("STORE", "a directory made by ndcore store create")
    json: bool


class KeyOptions(StoreOptions):
    """A page of a store."""

    key: str = argument("KEY", "key of a page: its URL, its id, or its path")


class ChangeOptions(StoreOptions):
    """The options of a command that changes a store."""

    quiet: bool = option(RUNNING, "print no report", "-q")


class FingerprintOptions(RunOptions):
    """The options of a command that reads fingerprints: their columns in the file, and how to run."""

    json: bool
    format: str | None = option(INPUT, "format of the file (default: by its suffix)", choices=FINGERPRINT_FORMATS)
    field: str | None = option(INPUT, "column of the fingerprints: a name in Parquet, a number from 1 in text", metavar="C")
    id_field: str | None = option(INPUT, "column of the ids (default: positions from 0 are the ids)", metavar="C")


class HammingOptions(Options):
    """The fingerprints and their distance; None for an option that was not given."""

    max_distance: int | None = option("fingerprints",
        "bits that may differ, 0 to 10, or 31 of 128 and 256 (default 3)", metavar="K", parse=values.distance)
    bits: int | None = option("fingerprints",
        "bits of a fingerprint, 1 to 64, 128 or 256 (default: as the file has them, else 64)", metavar="F",
        parse=values.fingerprint_bits)


class HammingSearchOptions(FingerprintOptions, HammingOptions):
    """The options of a command that reads fingerprints and searches them."""


# ---- the commands

VERDICTS = "which pairs count, and what a drop costs"
KEYS_OF_TEXTS = enumerated(f"{compared} ({name})" for name, compared in choices.AGREEMENTS.items())
WRITES = ("cleaned", "annotated", "attributes")  # outputs of ndcore repeats
SKETCHES = ("minhash", "bottom", "mod", "simhash", "winnow")


@command("dedup", "keep one document of every cluster of near-duplicates", "dedup.run_dedup", reads=INPUTS,
         epilog="OUTDIR gets kept/ (or annotated/), clusters.jsonl and summary.json. Candidate pairs are found by MinHash "
                "and LSH (ndcore design explains bands and rows). Every dropped document has a Jaccard similarity to its "
                "representative at or above the threshold, computed from the texts. (With saved sketches it is an "
                "estimate; with --clustering components the two may be linked by other documents only; --drop and "
                "--drop-common say what else is compared with the threshold.)"
                "\n\n"
                "With -o - the kept records go to standard output as JSON lines, and the report to standard error. JSON "
                "records are printed as they are, rows of tables as objects of their columns, and texts, pages and "
                'documents of archives as {"id": ..., "text": ...}.')
class DedupOptions(SeedOptions, ShingleOptions, SettingsOptions, DryRunOptions):
    """Keep one document of every cluster of near-duplicates."""

    inputs: list[str] = argument("IN", "input to deduplicate", nargs="+")
    output: str = option(OUTPUT,
        "directory to write; it must not exist. -: print the kept records", "-o", metavar="OUTDIR", required=True)
    overwrite: bool = option(OUTPUT,
        "replace OUTDIR and the page of --report if ndcore wrote them, and any file of --table and --pairs")
    annotate: bool = option(OUTPUT, "write all records, with their verdicts, to annotated/ instead of kept/")
    table: str | None = option(OUTPUT,
        "write every document, kept or not, with its cluster and the cluster size to a .parquet, .csv or .jsonl file",
        metavar="FILE")
    pairs: str | None = option(OUTPUT, "write the accepted pairs to such a file", metavar="FILE")
    report: str | None = option(OUTPUT,
        "write a page for a browser: charts, the largest clusters, texts side by side", metavar="FILE.html")
    json: bool = option(OUTPUT, "print summary.json instead of the report")
    thresholds: tuple[float, ...] = option(DUPLICATES,
        "Jaccard similarity (resemblance) from which documents are near-duplicates; with --drop contained the "
        "containment (default 0.8). With several, as 0.7,0.8,0.9, the inputs are read once, and OUTDIR gets a folder for "
        "each", "--threshold", metavar="T[,T]", parse=values.thresholds, default=(0.8,))
    filter: Any = option(DUPLICATES,
        "how candidate pairs are found. lsh: by MinHash bands, which misses a pair at the threshold with a probability "
        "of at most 0.001. complete: prefix filtering over all shingles, which misses no pair, and takes 8 bytes of "
        "temporary disk for each shingle. auto: the cheaper one, by an estimate from the first documents; --drop "
        "contained always misses none (default auto)", choices=choices.FILTERS, default="auto")
    against: list[str] = option(DUPLICATES,
        "also drop near-duplicates of the documents in this file, directory, file of signatures or collection of "
        "signatures (ndcore cluster --method features); IN stays as it is. Repeatable", metavar="IN", many=True)
    keep: tuple[str, str] = option(DUPLICATES,
        "document to keep of a cluster: first, longest, FIELD:desc or FIELD:asc (default first). Strings that are all "
        "numbers, or all dates (ISO 8601, RFC 2822), are compared as such. Archives have the fields url, host and date",
        metavar="RULE", parse=values.keep, default=("first", ""))
    by: str | None = option(DUPLICATES, "compare only documents with the same value in this field", metavar="FIELD")
    one_per: str | None = option(DUPLICATES,
        "of documents with the same value in this field keep at most one, the first by --keep, even if their texts "
        "differ: --one-per url --keep date:desc keeps the newest capture of every page", metavar="FIELD")
    cluster: Any = option(DUPLICATES,
        "how pairs become clusters (default star)", "--clustering", choices=("star", "components", "greedy"), default="star")
    max_holders: int = option(DUPLICATES,
        "if more than N documents share a feature (an LSH band; of the complete filter a shingle), compare them only "
        "with representatives (default 1000)", metavar="N", parse=values.integer(2), default=1000)
    drop: Any = option(VERDICTS,
        "documents to drop. resembling: those that resemble a kept document. contained: those that are contained in one, "
        "as an excerpt in a longer document: at least the share T of their shingles is in it. Add --keep longest, or an "
        "excerpt that comes first is kept as well (default resembling)", choices=choices.DROPS, default="resembling")
    must_agree: list[str] = option(VERDICTS,
        f"never drop a document for one that differs from it in {KEYS_OF_TEXTS}. Repeatable",
        metavar="NAME", choices=choices.AGREEMENTS, many=True)
    min_shingles: int = option(VERDICTS,
        "leave documents of fewer shingles alone, unless their words equal another's (default 0)",
        metavar="N", parse=values.whole, default=0)
    drop_common: float | None = option(VERDICTS,
        "leave shingles out of the comparison that more than this share of the documents have, and at least 20: "
        "boilerplate, such as menus and legal notices. 0.05 is 5 percent (default: none)",
        metavar="SHARE", parse=values.probability)
    reassign: bool = option(VERDICTS,
        "at the end, move each dropped document to the kept one with the highest score (resemblance or containment), "
        "earlier or later; the same documents are kept")
    lost: bool = option(VERDICTS,
        "count the shingles of each dropped document that no kept document has, and list the largest losses first")
    weights: str | None = option(VERDICTS,
        "count rare shingles more: scores are shares of weight, by FILE.ndw, which ndcore sketch --kind simhash --learn "
        "writes, and with its shingles", metavar="FILE.ndw")
    max_lost: int | None = option(VERDICTS,
        "drop a document only if no run of more than N of its words is lacking in the kept one", metavar="N",
        parse=values.whole)
    num_perm: int | None = option(SHINGLES,
        "length of a MinHash signature (default 84, or more if the threshold needs it)", metavar="N", parse=values.positive)
    memory_limit: int | None = option(RUNNING,
        "spill to disk beyond this size, for instance 2G (G is 1024^3 bytes)", "--memory", metavar="SIZE",
        parse=values.memory)


@command("sketch", "save the sketches of documents", "sketch.run_sketch", reads=INPUTS)
class SketchOptions(SeedOptions, ShingleOptions, DryRunOptions):
    """Save the sketches of documents, with their ids: MinHash signatures for ndcore dedup, bottom and mod sketches for
    ndcore cluster, simhashes for ndcore hamming, winnowed fingerprints with their positions.
    """

    inputs: list[str] = argument("IN", "input to sketch", nargs="+")
    output: str = option(OUTPUT, "file to write; it must not exist", "-o", metavar="FILE.nds", required=True)
    overwrite: bool = option(OUTPUT, "replace FILE.nds and FILE.ndw if ndcore wrote them")
    json: bool = option(OUTPUT, "print the account of the run as one JSON object")
    kind: str = option("kind of sketch",
        "kind of sketch (default minhash: signatures)",
        choices=SKETCHES, default="minhash")
    threshold: float | None = option("kind of sketch",
        "minhash: lowest threshold to serve; without --num-perm it decides the length of a signature (default 0.8)",
        metavar="T", parse=values.threshold)
    num_perm: int | None = option("kind of sketch",
        "minhash: length of a MinHash signature (default 84, or more if the threshold needs it)",
        metavar="N", parse=values.positive)
    size: int | None = option("kind of sketch",
        "bottom: number of smallest values to keep of a document (default 200)", metavar="S", parse=values.positive)
    modulus: Any = option("kind of sketch",
        "mod: keep 1 value in M, or adaptive: 50 to 100 values of each document (default)", metavar="M",
        parse=values.modulus)
    window: int | None = option("kind of sketch",
        "winnow: shingles of a window; a common run of N + W - 1 tokens leaves a fingerprint in common (default 16)",
        metavar="N", parse=values.minima)
    bits: str | None = option("kind of sketch",
        "simhash: bits of a simhash; distances of more bits tell near from far better (default 64)",
        choices=tuple(map(str, choices.SIMHASH_BITS)))
    weights: str | None = option("kind of sketch",
        "simhash: distinct counts each shingle once, which repetitive files need; or a file of weights (default: each "
        "shingle counts as often as it occurs)", metavar="WEIGHTS")
    learn: str | None = option("kind of sketch",
        "simhash: read the documents twice, weigh rare shingles more (idf), and save the weights in FILE.ndw",
        metavar="FILE.ndw")


@command("repeats", "find and cut passages that occur several times in a collection", "repeats.run_repeats",
         reads=DOCUMENTS,
         epilog="OUTDIR gets cleaned/ (or annotated.jsonl, or attributes/), rows.jsonl with the place of each passage and "
                "of its source, empty.jsonl with the documents of which nothing is left, and summary.json. In cleaned/ each "
                "file has its own name, format and compression, and all but the text is unchanged. Pages, mail and "
                'documents of archives go to cleaned.jsonl as {"id": ..., "text": ...}.'
                "\n\n"
                "An interrupted run leaves its work in OUTDIR.unfinished and continues when the same command is given "
                "again.")
class RepeatsOptions(DryRunOptions):
    """Find, exactly, the passages that occur more than once in a collection, and write the documents without the
    repetitions.
    """

    inputs: list[str] = argument("IN", "input to search", nargs="+")
    output: str = option(OUTPUT,
        "directory to write; it must not exist. -: print the documents", "-o", metavar="OUTDIR", required=True)
    overwrite: bool = option(OUTPUT, "replace OUTDIR if ndcore wrote it, and any file of --table")
    write: str = option(OUTPUT,
        "what to write. cleaned: the documents without repeated passages, except where nothing is left. annotated: all "
        "records, with the passages in the field ndcore. attributes: ids and what would be cut, in the format of Dolma, "
        "in a file for each file of JSON lines (default cleaned)",
        choices=WRITES, default=WRITES[0])
    table: str | None = option(OUTPUT,
        "also write the passages and their sources to a .parquet, .csv or .jsonl file", metavar="FILE")
    json: bool = option(OUTPUT, "print summary.json instead of the report")
    min_tokens: int = option("passages",
        "length of the shortest passage, in tokens (default 50)", metavar="L", parse=values.integer(1, 1 << 16), default=50)
    copies: Copies = option("passages",
        "one: keep the first copy of each passage. none: cut all copies (default one)",
        choices=("one", "none"), default="one")
    against: list[str] = option("passages",
        "look for earlier copies only in this input, which stays as it is. Repeatable", metavar="IN", many=True)
    exceptions: list[str] = option("passages",
        "leave passages alone that occur in this input, such as licences. Repeatable", metavar="IN", many=True)
    keep: tuple[str, str] = option("passages",
        "order of the documents, which decides what is earlier: as in the inputs (first), most tokens first (longest), "
        "or by a field, FIELD:desc or FIELD:asc (default first). Strings that are all numbers, or all dates (ISO 8601, "
        "RFC 2822), are compared as such", metavar="RULE", parse=values.keep, default=("first", ""))
    by: str | None = option("passages", "compare only documents with the same value in this field", metavar="FIELD")
    other_documents: bool = option("passages", "ignore earlier copies in the same document")
    min_copies: int = option("passages",
        "find only passages with at least N copies, the first one included (default 2)",
        metavar="N", parse=values.integer(2), default=2)
    max_copies: int | None = option("passages",
        "ignore passages with more than N copies (default: no limit)", metavar="N", parse=values.integer(2))
    memory_limit: int | None = option(RUNNING,
        "sort in temporary files beyond this size, for instance 2G (G is 1024^3 bytes)",
        "--memory", metavar="SIZE", parse=values.memory)


@command("contamination", "find the items of benchmarks that occur in a corpus, and cut them",
         "contamination.run_contamination", reads=DOCUMENTS,
         epilog="OUTDIR gets items.jsonl, benchmarks.jsonl and documents.jsonl, which count what was found by item, by "
                "benchmark and by document of the corpus; places.jsonl, where each item occurs first; passages.jsonl, all "
                "passages of contaminated items in the corpus; and summary.json.")
class ContaminationOptions(DryRunOptions):
    """Find the items of benchmarks, such as test questions, that occur in a corpus, exactly."""

    inputs: list[str] = argument("ITEMS", "items to look for: a record or a text file each", nargs="+")
    output: str = option(OUTPUT, "directory to write; it must not exist", "-o", metavar="OUTDIR", required=True)
    overwrite: bool = option(OUTPUT, "replace OUTDIR if ndcore wrote it, and the page of --report")
    drop: bool = option(OUTPUT,
        "also write the corpus without the documents that hold passages of contaminated items, in kept/. (--drop of "
        "ndcore dedup, which always drops documents, says which: it takes a value)", excludes="one")
    trim: bool = option(OUTPUT,
        "also write the corpus without these passages, each file in its own format, in cleaned/; empty.jsonl lists the "
        "documents of which nothing is left", excludes="one")
    report: str | None = option(OUTPUT,
        "write a page for a browser: benchmarks, contaminated items and where they occur, with the passages marked",
        metavar="FILE.html")
    json: bool = option(OUTPUT, "print summary.json instead of the report")
    rule: RuleName = option("items",
        "when an item is contaminated. any: a run of L tokens of it occurs. gpt-3: a run of 13. palm: 70 % of its "
        "distinct runs of 8 tokens (default any)", choices=("any", "gpt-3", "palm"), default="any")
    min_tokens: int | None = option("items",
        "tokens of a run; a shorter item is one run (default 13, or as of --rule)", metavar="L", parse=values.window)
    item_field: list[str] | None = option("items",
        "field or column of items that holds the text (default text; repeatable, as --text-field)", metavar="FIELD")
    fields: tuple[str, ...] | None = option("items",
        "fields of items to look for one by one, separated by commas, such as question,answers. A field holds a text or an "
        "array of texts, of which one suffices", metavar="FIELDS", parse=values.field_names)
    require: tuple[str, ...] | None = option("items",
        "fields of --fields which must be found, all of them, for an item to be contaminated (default: one of any name; "
        "with --near, all)", metavar="FIELDS", parse=values.field_names)
    near: int | None = option("items",
        "required fields must also occur within this number of tokens, 0 to 65536, of the first field, in a document",
        metavar="TOKENS", parse=values.near)
    gaps: int = option("items",
        "also find near matches: runs with a gap of at most this number of tokens, 0 to 32, between two seeds of L/2 exact "
        "ones (default 0: exact runs only)", metavar="TOKENS", parse=values.gaps, default=0)
    min_rarity: float | None = option("items",
        "rarity in bits from which on an item is contaminated: the sum over its words that are found of log2(documents / "
        "documents with the word), in a sample of the corpus. Also ranks the items of the page. 0: ranks only (default: not "
        "measured)", metavar="BITS", parse=values.bits)
    fold: tuple[Fold, ...] | None = option("items",
        "what is folded in items and corpus before words are compared, separated by commas, or all: "
        + ". ".join(f"{name}: {what}" for name, what in choices.FOLDS.items()), metavar="KINDS", parse=values.folds)
    item_id_field: str | None = option("items",
        "field or column of items that holds the id (default id, or file:line if there is none)", metavar="FIELD")
    benchmark_field: str | None = option("items",
        "field or column of items that names the benchmark (default: the file is a benchmark)", metavar="FIELD")
    corpus: list[str] = option(INPUT,
        "corpus to look in; the options of this group are of it, and of items what they have no option for",
        "--in", metavar="CORPUS", nargs="+", required=True)


@command("sources", "find where the passages of a text occur in a collection", "sources.run_sources", reads=INPUTS,
         epilog="The document itself, where it is in the collection, is left out.")
class SourcesOptions(DocumentOptions):
    """Find the passages of a text that occur in a collection, exactly, and where they occur."""

    inputs: list[str] = argument("FILE",
        "the text: a file, - for standard input, or a record of a file: FILE:LINE or FILE#ID", nargs=1)
    report: str | None = option(OUTPUT,
        "write a page for a browser: the text with its passages marked, and where they occur", metavar="FILE.html")
    overwrite: bool = option(OUTPUT, "replace the page of --report")
    json: bool = option(OUTPUT, "print everything as one JSON object")
    min_tokens: int = option("passages",
        "tokens of the shortest passage (default 8)", metavar="L", parse=values.window, default=8)
    corpus: list[str] = option(INPUT,
        "documents to look in; the other options of this group are of it, and of FILE what it has no option for",
        "--in", metavar="COLLECTION", nargs="+", required=True)
    item_field: list[str] | None = option(INPUT,
        "field or column of FILE that holds the text (default: as --text-field; repeatable)", metavar="FIELD")
    item_id_field: str | None = option(INPUT,
        "field or column of FILE that holds the id (default: as --id-field)", metavar="FIELD")


@command("rank", "rank pairs of programs or essays by what they have in common", "rank.run_rank", reads=DOCUMENTS,
         epilog="OUTDIR gets index.html, the page of the ranking; views/, pages that show the first pairs and groups side "
                "by side; pairs.csv, groups.csv and summary.json. Programs need the extra code.")
class RankOptions(ReadingOptions):
    """Rank the pairs of submissions by the passages that they have in common, for people to look at: copied programs,
    essays, answers. Equal or nearly equal submissions are grouped. In one directory, each file and each folder is a
    submission; of several inputs, each input is one; each record of a file is one.
    """

    inputs: list[str] = argument("IN", "submissions", nargs="+")
    output: str = option(OUTPUT, "directory to write; it must not exist", "-o", metavar="OUTDIR", required=True)
    overwrite: bool = option(OUTPUT, "replace OUTDIR if ndcore wrote it")
    pairs: int = option(OUTPUT, "pairs to list at most, the first ones (default 10000)", metavar="N", parse=values.whole,
        default=10_000)
    views: int = option(OUTPUT, "pairs, and groups, that have a page with both side by side (default 20)", metavar="N",
        parse=values.integer(0, 10_000), default=20)
    json: bool = option(OUTPUT, "print summary.json instead of the report")
    language: str | None = option("ranking",
        "language of all files: text, whose tokens are words, or a language of programs (default: by their suffixes)",
        choices=("text", *choices.LANGUAGES))
    template: list[str] = option("ranking",
        "text or code that was given to all, which does not count", metavar="FILE", nargs="+", many=True)
    by: Literal["larger", "mean"] = option("ranking",
        "order of the pairs: by the larger of both shares of fingerprints in common, or by their mean (default mean)",
        choices=choices.ORDERS[1:], default="mean")
    max_holders: int = option("ranking",
        "what more than N submissions have does not count; a group is one of them (default 10)", metavar="N",
        parse=values.integer(2, 2**32 - 1), default=10)
    group_threshold: float = option("ranking",
        "resemblance of the fingerprints from which submissions are a group (default 0.9)", metavar="T",
        parse=values.threshold, default=0.9)
    width: int | None = option(SHINGLES,
        "tokens per shingle, of which a fingerprint is made (default 5 words, or 12 tokens of a program)", metavar="W",
        parse=values.window)
    window: int | None = option(SHINGLES,
        "fingerprints of which one is kept, at most W: common runs of N + W - 1 tokens are seen for certain (default 4, or "
        "8 of programs)", metavar="N", parse=values.window)
    max_program: int = option("ranking",
        "a longer program is an error, or with --on-error skip left out (default 1M)", metavar="SIZE", parse=values.memory,
        default=1 << 20)


@command("compare", "compare two documents side by side", "compare.run_compare")
class CompareOptions(ShingleOptions, RecordOptions):
    """Compare two documents: their resemblance (Jaccard similarity of their shingles), exact and as sketches estimate
    it, and the passages that they share and do not share, side by side. A document is a file, - for standard input, or a
    record of a file: FILE:LINE or FILE#ID. LINE is the number of a line, of a row, or of a record of an archive; ID is
    its id, in an archive its URL.
    """

    a: str = argument("A", "a document")
    b: str = argument("B", "another document")
    all: bool = option(OUTPUT, "show every passage in full")
    report: str | None = option(OUTPUT, "write a page for a browser: the whole texts side by side", metavar="FILE.html")
    overwrite: bool = option(OUTPUT, "replace the page of --report")
    json: bool = option(OUTPUT, "print everything as one JSON object")
    threshold: float = option(DUPLICATES,
        "resemblance from which they are near-duplicates (default 0.8)", metavar="T", parse=values.threshold, default=0.8)
    labelled: bool = option(SHINGLES,
        "number repeated shingles, so that repetitions count (shingles as a multiset)")


@command("changes", "show how the pages in web archives changed over time", "changes.run_changes",
         reads="Inputs are web archives (.warc, .arc), indexes of them (.cdx, .cdxj), and directories of archives, also "
               "compressed where each record is compressed by itself. Other files of directories are passed over.",
         epilog="Captures of a page have the same URL. Revisit records have the text of the payload that they refer to. "
                "ndcore store history says the same of the pages of a store.")
class ChangesOptions(ShingleOptions, ReadingOptions):
    """List the captures of each page by date, and how each changed since the one before: unchanged (the same text),
    lexical (the same words), near (a resemblance at or above the threshold), other, or gone (404, 410, or moved for ever)
    (Broder et al. 1997, section 6.5).
    """

    inputs: list[str] = argument("IN", "archives to read", nargs="+")
    report: str | None = option(OUTPUT,
        "write a page for a browser: a calendar of days, by how much their pages changed", metavar="FILE.html")
    overwrite: bool = option(OUTPUT, "replace the page of --report")
    json: bool = option(OUTPUT, "print every page with its captures as one JSON object")
    threshold: float = option(DUPLICATES,
        "resemblance from which a change is near (default 0.8)", metavar="T", parse=values.threshold, default=0.8)


@command("design", "choose a filter for a threshold, or examine a given one", "design.run_design",
         epilog="A signature is cut into groups of minima (LSH bands of rows); a pair of documents is a candidate where "
                "it shares at least `need` groups. Costs rest on a model of unrelated documents, misses do not.")
class DesignOptions(Options):
    """Choose the cheapest filter (groups, group size, need) for a threshold, within bounds of error and of storage; or,
    with --groups and --group-size or --preset, show what a given filter does.
    """

    threshold: float | None = option("pairs",
        "resemblance (Jaccard similarity) from which pairs are wanted (default 0.8)", metavar="T", parse=values.threshold)
    collection: int | None = option("pairs",
        "documents in the collection (default 1000000)", metavar="N", parse=values.positive)
    miss: float | None = option("bounds of the search",
        "let at most P of the pairs at the threshold be missed (default 1e-3)", metavar="P", parse=values.probability)
    false_candidates: tuple[float, float] | None = option("bounds of the search",
        "let at most P of the pairs at the lower resemblance R pass, for instance 0.5:0.01",
        metavar="R:P", parse=values.resemblance_and_probability)
    bytes: int | None = option("bounds of the search",
        "at most N bytes of features for a document", metavar="N", parse=values.positive)
    num_perm: int | None = option("bounds of the search",
        "length of a signature (default 84, or up to 200 where needed)", metavar="N", parse=values.positive)
    groups: int | None = option("a given filter", "features of a document (LSH bands)", metavar="K", parse=values.positive)
    group_size: int | None = option("a given filter",
        "minima in a feature (LSH rows of a band)", metavar="S", parse=values.positive)
    need: int | None = option("a given filter",
        "features that a candidate pair shares (default 1)", metavar="R", parse=values.positive)
    preset: str | None = option("a given filter",
        "6 groups of 14, need 2, for 200,000,000 pages at 0.975", choices=("altavista",))
    plot: str | None = option(OUTPUT, "write the curve to a .png, .svg or .pdf file; it must not exist", metavar="FILE")
    overwrite: bool = option(OUTPUT, "replace any file of the name of --plot")
    json: bool = option(OUTPUT, "print one JSON object")


@command("info", "show the installation, or a file of sketches", "info.run_info")
class InfoOptions(Options):
    """Show what is installed, or what a file of sketches holds."""

    file: str | None = argument("FILE", "sketches, instead of the installation", nargs="?")
    json: bool = option(OUTPUT, "print one JSON object")


@command("bench", "measure how fast this machine sketches", "bench.run_bench")
class BenchOptions(Options):
    """Check sketches of generated text against ndcore.reference, then time them: MB of text per second by kind of sketch,
    variant of the kernels and threads.
    """

    seconds: float = option(RUNNING,
        "about how long to measure (default 10)", metavar="S", parse=values.seconds, default=10.0)
    threads: int | None = option(RUNNING,
        "threads of the last columns (default: all cores)", metavar="N", parse=values.positive)
    json: bool = option(OUTPUT, "print the figures as one JSON object")


@command("cluster", "cluster a whole collection, and keep it for queries", "cluster.run_cluster", reads=INPUTS,
         epilog="An interrupted run continues when the same command is given again."
                "\n\n"
                "With a collection as the only input and without -o, its documents are clustered again, from the pairs "
                "that were counted; with -o, another collection is made of its sketches. With a collection and documents, "
                "-o is a collection of both: the new documents come last, and are sketched and clustered like the old "
                "ones, except where options are given.")
class ClusterOptions(SeedOptions, ShingleOptions, SettingsOptions, DryRunOptions):
    """Cluster a collection by the sketches of its documents (Broder et al. 1997). Sketches, sorted entries, pairs and
    clusters are kept in a directory for ndcore query. Texts are not compared: ndcore dedup does that.
    """

    inputs: list[str] = argument("IN", "documents to cluster, a collection, or both", nargs="+")
    output: str | None = option(OUTPUT, "directory to make, or to continue", "-o", metavar="COLLECTION")
    overwrite: bool = option(OUTPUT, "replace COLLECTION if it is one, and the page of --report")
    report: str | None = option(OUTPUT, "write a page for a browser: charts and the largest clusters", metavar="FILE.html")
    json: bool = option(OUTPUT, "print the account of the run as one JSON object")
    threshold: float | None = option("clusters",
        "resemblance (Jaccard similarity) from which documents are clustered together (default 0.5, as in Broder et al. "
        "1997; ndcore dedup, which drops documents, has 0.8)", metavar="T", parse=values.threshold)
    policy: Policy | None = option("clusters",
        "what the threshold applies to; containment: of either document in the other (default resemblance)",
        choices=("resemblance", "containment"))
    cluster: ClusterBy | None = option("clusters",
        "how pairs become clusters (default star)", "--clustering", choices=("star", "components", "greedy", "popular"))
    guard: float | None = option("clusters",
        "with components: make stars where a member resembles its representative less than G", metavar="G",
        parse=values.threshold)
    by: str | None = option("documents that are kept apart",
        "compare only documents with the same value in this field", metavar="FIELD")
    one_per: str | None = option("documents that are kept apart",
        "of documents with the same value in this field compare the first only, such as of captures of one URL; the "
        "others are its versions", metavar="FIELD")
    must_agree: list[str] = option("documents that are kept apart",
        f"keep documents apart that differ in {KEYS_OF_TEXTS}. Repeatable", metavar="NAME", choices=choices.AGREEMENTS,
        many=True)
    min_shingles: int | None = option("documents that are kept apart",
        "leave documents of fewer shingles alone, unless their words equal another's (default 0)", metavar="N",
        parse=values.whole)
    modulus: int | str | None = option(SHINGLES,
        "sketch 1 shingle in M, or adaptive: 50 to 100 of each document (default)", metavar="M", parse=values.modulus)
    method: Method | None = option(SHINGLES,
        "what documents must share to be compared (default shingles: nothing is missed)",
        choices=("shingles", "super-shingles", "features"))
    run_length: int | None = option(SHINGLES,
        "shingles in a super-shingle (default 14)", metavar="N", parse=values.minima)
    max_holders: int | None = option(SHINGLES,
        "shingles in more than N documents propose no pairs (default 1000)", metavar="N", parse=values.positive)
    memory_limit: int | None = option(RUNNING,
        "use about this much memory at a time, for instance 2G (G is 1024^3 bytes)",
        "--memory", metavar="SIZE", parse=values.memory)


@command("clusters", "write the clusters of a collection as a table", "query.run_clusters")
class ClustersOptions(Options):
    """Write a row for each document of a collection: id, cluster (the position of its representative), representative
    (the id of that document), class, resemblance to it, and cluster_size; and the places of both: file and line (row, or
    record), in archives also offset and date.
    """

    collection: str = argument("COLLECTION", "directory that ndcore cluster wrote")
    output: str = option(OUTPUT,
        "a .parquet, .csv or .jsonl file; it must not exist (default -: print JSON lines)",
        "-o", metavar="FILE", default="-")
    overwrite: bool = option(OUTPUT, "replace FILE, even if ndcore did not write it")
    json: bool = option(OUTPUT, "with -o FILE, print the number of rows as a JSON object")
    quiet: bool = option(RUNNING, "do not print the number of rows", "-q")


@command("query", "find the documents of a collection that resemble a text", "query.run_query")
class QueryOptions(RecordOptions):
    """Find the documents of a collection, made by ndcore cluster, that resemble a text or one of its own documents.

    Sketches are compared, not texts: it takes milliseconds.
    """

    collection: str = argument("COLLECTION", "a directory made by ndcore cluster")
    file: str | None = argument("FILE",
        "a text, a page, a record as FILE:LINE or FILE#ID, or - for standard input", nargs="?")
    id: str | None = option("query", "a document of the collection instead of FILE", metavar="ID")
    members: bool = option("query", "with --id: list the cluster of the document")
    threshold: float | None = option("query",
        "resemblance or containment from which documents are found (default: the clusters' threshold)",
        metavar="T", parse=values.threshold)
    policy: Policy = option("query",
        "what the threshold applies to (default resemblance)", choices=("resemblance", "containment"), default="resemblance")
    limit: int | None = option("query", "find at most N documents", metavar="N", parse=values.positive)
    verify: bool = option("query", "check all checksums of the collection first")
    json: bool = option(OUTPUT, "print a list of objects")


@command("collapse", "fold near-duplicates in the answer of a search engine", "collapse.run_collapse",
         epilog="An answer is the JSON of OpenSearch or Elasticsearch (hits.hits) or of Solr (response.docs), or an array "
                "of hits. In it, only hits are left out; all other fields are printed as they are.")
class CollapseOptions(ShingleOptions):
    """Read the answer of a search engine, and print it without hits that nearly duplicate a hit above them. Either the
    texts in the answer are compared with each other, or the hits are folded by the clusters of a collection or a store.
    """

    response: str = argument("ANSWER", "a file of JSON, or - for standard input")
    text_field: str | None = option(INPUT,
        "compare the texts in this field; article.body is the field body of the object article", metavar="FIELD")
    collection: str | None = option(DUPLICATES, "fold by the clusters that ndcore cluster wrote", metavar="COLLECTION")
    store: str | None = option(DUPLICATES, "fold by the clusters of a store", metavar="STORE")
    id_field: str | None = option(INPUT,
        "field with the ids by which the collection or store knows the hits (default: _id of OpenSearch, else id)",
        metavar="FIELD")
    best: str = option(DUPLICATES,
        "which hit of a cluster is printed: the first in rank, the representative of the cluster if it is among them, or, "
        "with --store, the one with the latest version (default rank)",
        choices=("rank", "representative", "latest"), default="rank")
    earlier: list[str] = option(DUPLICATES,
        "what this command printed for an earlier page of the same search: leave out what is like its hits (repeatable)",
        metavar="ANSWER", many=True)
    threshold: float | None = option(DUPLICATES,
        "resemblance from which a hit is left out (default 0.8)", metavar="T", parse=values.threshold)
    drop: str | None = option(DUPLICATES,
        "leave out hits that resemble one above them, or also those contained in one (default resembling)",
        choices=choices.DROPS)
    json: bool = option(OUTPUT, "print one JSON object: what was folded under which hit, and the answer")


family("store", "keep what a crawler has seen: verdicts, clusters, versions of pages",
       "Keep what a crawler has seen in a directory: a verdict for each page as it comes, clusters, versions of each "
       "page, and the latest page of a cluster (lost and found). ndcore store create makes a store, ndcore store decide "
       "adds pages.")


@command("store create", "make an empty store", "store.run_create")
class CreateOptions(SeedOptions, ShingleOptions, SettingsOptions):
    """Make an empty store. Its settings are fixed: another threshold needs another store."""

    store: str = argument("STORE", "directory to make; it must not exist, or be empty")
    threshold: float | None = option(DUPLICATES,
        "resemblance (Jaccard similarity) from which pages are near-duplicates (default 0.8)", metavar="T",
        parse=values.threshold)
    scope: Literal["all", "host"] = option(DUPLICATES,
        "pages that are compared: all, or pages of one host, whose keys are URLs (default all)",
        choices=choices.SCOPES, default="all")
    must_agree: list[str] = option(DUPLICATES,
        f"never take a page for a near-duplicate of one that differs from it in {KEYS_OF_TEXTS}. Repeatable; needs "
        "--evidence text", metavar="NAME", choices=choices.AGREEMENTS, many=True)
    min_shingles: int = option(DUPLICATES,
        "leave pages of fewer shingles alone, unless their words equal another's (default 0)",
        metavar="N", parse=values.whole, default=0)
    keys: Literal["plain", "url"] = option("what is kept",
        "keys of pages: plain, or url: normalised by w3lib, so parameters in another order make the same page (default "
        "plain)", choices=choices.KEYS, default="plain")
    evidence: Literal["text", "shingles", "sketch"] = option("what is kept",
        "what is kept of each page: its text, its shingles, or its sketch alone, with which verdicts are estimates "
        "(default text)", choices=choices.EVIDENCE, default="text")
    num_perm: int | None = option(SHINGLES,
        "length of a MinHash signature (default 84, or more if the threshold needs it)", metavar="N", parse=values.positive)
    json: bool = option(OUTPUT, "print the settings as one JSON object")
    quiet: bool = option(RUNNING, "print no report", "-q")


@command("store decide", "add pages, with a verdict on each", "store_decide.run_decide",
         reads="Inputs are files, directories, or URLs such as s3://BUCKET/FOLDER (extra remote). "
               f"{FORMATS}. Their first bytes tell the format.",
         epilog='With - for IN, each line of standard input is a page, {"key": ..., "text": ..., "date": ...}; date may '
                "be missing. For each line a verdict is written to standard output as one line of JSON, as soon as the "
                "input pauses: a crawler in any language may wait for the answer before it sends the next page.")
class DecideOptions(ReadingOptions, StoreOptions):
    """Add pages to a store, with a verdict on each: new (kept), or identical, lexical, shingle or near, and the page
    that represents it. The key of a page is its URL in archives, the id of a record, the path of a file below the input.
    The same key again is a new version.
    """

    inputs: list[str] = argument("IN", "pages to add; -, alone, for JSON lines from a crawler", nargs="+")
    output: str | None = option(OUTPUT,
        "write the verdicts as a table, .parquet, .csv or .jsonl, or as JSON lines to standard output (-); a file must "
        "not exist", "-o", metavar="FILE")
    overwrite: bool = option(OUTPUT, "replace FILE, even if ndcore did not write it")
    json: bool = option(OUTPUT, "print the account of the run as one JSON object")
    date_field: str | None = option(INPUT,
        "field or column that holds the date of a page; every record must have it (default date, if there is one; in "
        "archives the date of capture)", metavar="FIELD")
    date: datetime.datetime | None = option(INPUT,
        "date of pages that have none, for instance of a whole sweep: 2024-05-01, 2024-05, 2024-05-01T10:00:00Z, "
        "YYYYMMDDhhmmss (default now)", metavar="DATE", parse=values.moment)
    durability: str = option(RUNNING,
        "each: a page is on disk before its verdict is written. batch: pages are on disk at the end; with -, within "
        "about a second (default batch)", choices=("each", "batch"), default="batch")


@command("store query", "give the verdict on a text without adding it, or show the cluster of a page",
         "store.run_query")
class StoreQueryOptions(RecordOptions, StoreOptions):
    """Give the verdict on a text, as ndcore store decide would, and keep nothing; or show the cluster of a page of the
    store. The cluster is listed with the latest date of each of its pages. The verdict of a run over many stores (ndcore
    store carry) on the page, or on the representative of the text, is shown, too.
    """

    file: str | None = argument("FILE",
        "a text, a page, a record as FILE:LINE or FILE#ID, or - for standard input", nargs="?")
    key: str | None = option("query",
        "a page of the store instead of FILE; with FILE, the URL of the text, which a store of --scope host needs",
        metavar="KEY")
    json: bool = option(OUTPUT, "print one JSON object")


@command("store locate", "find the latest page of the cluster of a page: lost and found", "store.run_locate")
class LocateOptions(KeyOptions):
    """Find where a page is now: the key in its cluster whose last version has the latest date (Broder et al. 1997, section
    6.2).
    """

    json: bool = option(OUTPUT, "print one JSON object")


@command("store history", "list the versions of a page, and what changed", "store.run_history")
class HistoryOptions(KeyOptions):
    """List the versions of a page in the order in which they were added: the date of each, whether its text changed (near,
    other), its bytes only (lexical) or nothing (unchanged), and its resemblance to the version before (Broder et al. 1997,
    section 6.5).
    """

    json: bool = option(OUTPUT, "print a list of objects")


@command("store rules", "list rules of URLs that lead to the same page", "store.run_rules")
class RulesOptions(StoreOptions):
    """List rules of the URLs of each host: parameters that change nothing, and substrings that may be replaced by others
    (Bar-Yossef, Keidar, Schonfeld 2009). Each rule has its support, the number of distinct contents that were seen under
    two URLs that it makes equal, and its confidence, their share among all contents whose URLs it makes equal. Pages have
    the same content if they have the same words. Keys that are not URLs are left out. The rules are mined and not yet
    tried: a crawl with NDCORE_RULES tries them on its own pages.
    """

    json: bool = option(OUTPUT, "print a list of objects")


@command("store stats", "describe a store", "store.run_stats")
class StatsOptions(StoreOptions):
    """Print the settings of a store, how much it holds, and what that takes."""

    json: bool = option(OUTPUT, "print one JSON object")


@command("store check", "verify a store", "store.run_check")
class CheckOptions(StoreOptions):
    """Read all of a store, verify its checksums, and compare its indexes with its log.

    The exit code is 1 if something is damaged.
    """

    json: bool = option(OUTPUT, "print one JSON object")


@command("store repair", "save a store that is refused", "store.run_repair")
class RepairOptions(ChangeOptions):
    """Save the readable pages of a store that refuses to open in a new log.

    The old logs stay as they are, and the descriptions are copied. A store that opens is not repaired.
    """

    json: bool = option(OUTPUT, "print what was saved, what was lost, and what was kept")


@command("store backup", "copy a store", "store.run_backup")
class BackupOptions(ChangeOptions):
    """Copy a store as it is now, also while another process writes to it.

    The copy is a complete store, or nothing is written. Files that never change are hard links if the file system allows
    it, so a copy on the same disk takes little space.
    """

    copy: str = argument("DEST", "directory to make; it must not exist, or be empty")
    json: bool = option(OUTPUT, "print the number of pages and the bytes of the copy")


@command("store compact", "write a store anew, without what was removed", "store.run_compact")
class CompactOptions(ChangeOptions):
    """Rewrite the files of a store without removed and replaced pages: no byte of them is left.

    Until it is done it needs as much space again as the remaining pages. A damaged store is refused.
    """

    json: bool = option(OUTPUT, "print the bytes before and after")


@command("store expire", "remove pages that were not seen lately", "store.run_expire")
class ExpireOptions(ChangeOptions):
    """Remove the pages whose last version is older than a date, with all their versions.

    ndcore store compact then frees their space.
    """

    json: bool = option(OUTPUT, "print the number of pages removed, and left")
    before: datetime.datetime = option("pages to remove",
        "remove pages whose last version is older: 2024-05-01, 2024-05, 2024-05-01T10:00:00Z, YYYYMMDDhhmmss",
        metavar="DATE", parse=values.moment, required=True)


@command("store merge", "add the pages of another store", "store.run_merge")
class MergeOptions(ChangeOptions):
    """Decide on all pages of another store, in their order, each with its versions and dates.

    The other store does not change. Both must have the same settings, except the threshold.
    """

    other: str = argument("OTHER", "store whose pages are added")
    json: bool = option(OUTPUT, "print the number of pages before and after")


@command("store export", "write the pages of a store as Parquet files", "store.run_export")
class ExportOptions(ChangeOptions):
    """Write the key and the last text of each page as Parquet files for Spark and other engines.

    A collection on Spark that grows takes exports of many stores as one batch, and finds mirrors across them. The store may
    be written to meanwhile. It must keep texts (--evidence text).
    """

    copy: str = argument("DEST", "directory to make; it must not exist, or be empty")
    name: str | None = option(OUTPUT,
        "the name of the store, in a column of its own, which tells the pages of several stores apart", metavar="NAME")
    json: bool = option(OUTPUT, "print the number of pages and the bytes of the export")


@command("store carry", "take the verdicts of a run over many stores", "store.run_carry")
class CarryOptions(ChangeOptions):
    """Store the verdicts of a run over the exports of many stores for the pages of this store.

    The store's own verdicts do not change; ndcore store query --key shows both. The tables are Parquet, with the columns of
    the export except the text, and the columns of the verdicts. A page whose words have changed since the export is left
    out, and counted. If the command is killed, running it again resumes it. It needs pyarrow (the extra parquet).
    """

    verdicts: list[str] = argument("VERDICTS", "Parquet file, or directory of such", nargs="+")
    run: str = option("verdicts", "the name of the run, which is shown with its verdicts", metavar="NAME", required=True)
    date: datetime.datetime | None = option("verdicts",
        "when the run was: verdicts of a run with a later date stay. Without it, now", metavar="DATE", parse=values.moment)
    name: str | None = option("verdicts", "the name of this store in its export; rows of others are left out",
        metavar="NAME")
    json: bool = option(OUTPUT, "print how many pages have a verdict now, and how many rows were left out, by reason")


@command("store shards", "name the shards of a store that is spread over several servers", "store.run_shards")
class ShardsOptions(Options):
    """Write the map of the shards to a file. Each server gets a copy, as --shard-map of ndcore serve --write.

    A host belongs to the shard with the largest hash of shard name and host, so names of shards never change. An address
    should be a DNS name, so that a shard can move to another computer. Plan more shards than computers.
    """

    map: str = argument("MAP", "file to make")
    shards: list[str] = argument("NAME=URL", "name and address of a shard", nargs="+")
    json: bool = option(OUTPUT, "print the map")


@command("store move", "move the pages of a host to another shard", "store.run_move")
class MoveOptions(Options):
    """Move the pages of a host from its shard to another one, or resume an interrupted move.

    Reads continue, writes to this host wait, and other hosts are not affected. If this command or a shard is killed, the
    same command resumes the move. The token, with the scopes read and admin, is in the environment variable NDCORE_TOKEN;
    all shards must know it. Needs the extra client.
    """

    url: str = argument("URL", "address of a shard; it knows the others")
    host: str = argument("HOST", "host to move")
    shard: str = argument("SHARD", "name of the shard that gets it")
    quiet: bool = option(RUNNING, "print no progress and no report", "-q")
    json: bool = option(OUTPUT, "print the number of pages and the version of the map")


@command("store join", "let a further shard join", "store.run_join")
class JoinOptions(Options):
    """Let a further shard join, or resume a join that was interrupted.

    It serves an empty store, with the settings of the others, and a copy of the map of one of them. Hosts that have pages
    stay where they are (ndcore store move moves them), and the new shard gets its share of new hosts. The token is in the
    environment variable NDCORE_TOKEN, as for ndcore store move. Needs the extra client.
    """

    url: str = argument("URL", "address of a shard; it knows the others")
    shard: str = argument("NAME=URL", "name and address of the new shard")
    quiet: bool = option(RUNNING, "print no progress and no report", "-q")
    json: bool = option(OUTPUT, "print the map")


@command("judge", "ask people which pairs are duplicates, and recommend a threshold", "judge.run_judge", reads=INPUTS)
class JudgeOptions(ReadingOptions):
    """Draw pairs of a collection and show each side by side, in the browser or in the terminal. From the answers, precision,
    recall and F1 are estimated by threshold for several measures; from ten answers on a measure and a threshold are
    recommended, and thirty choose well. DIR gets answers.jsonl, settings.toml, which ndcore dedup --settings reads, and the
    evidence. The same command resumes a session. The page can be opened from this computer only, with the address that is
    printed; Ctrl-C ends it. Needs the extra serve, except with --terminal.
    """

    inputs: list[str] = argument("IN", "input to judge", nargs="+")
    output: str = option(OUTPUT, "directory of the session, new or begun earlier", "-o", metavar="DIR", required=True)
    json: bool = option(OUTPUT, "print what the answers say as one JSON object at the end")
    measures: list[str] = option("pairs",
        "a measure to choose among, as word:5, char:5:scan, word:5:contained, word:5:numbers or word:5:common=0.05. "
        "Repeatable (default: word:5, word:2, word:3, word:8, word:5:contained, word:5:numbers)", "--measure", metavar="M",
        many=True)
    labels: list[str] = option("pairs",
        "take the labels of a CSV file with the columns id, id, and same or different. Repeatable", metavar="FILE",
        many=True)
    seed: int = option("pairs", "seed of the draws (default 0)", metavar="N", parse=values.whole, default=0)
    person: str = option("pairs", "name of who answers, where several people do; all get the same first ten pairs",
        metavar="NAME", default="")
    terminal: bool = option("pairs", "ask in the terminal: 1 same, 2 different, 3 skip, then a note; u undo, q end")
    port: int = option("address",
        "port to listen on (default: any that is free)", metavar="N", parse=values.integer(0, 65535), default=0)


@command("serve", "show a store or a collection in the browser, or let programs write to a store", "serve.run_serve")
class ServeOptions(Options):
    """Serve a store or a collection to a browser on this computer: paste a text or enter a key, and see its cluster, its
    versions and the marked differences; the same as JSON under /api, described in /openapi.json. It only reads, and follows
    a store that is being written to. Other computers cannot reach it; every user of this one can. With --write it has no
    pages for a browser: programs that hold a token send it pages, and it decides on them and keeps them. Ctrl-C ends it.
    Needs the extra serve.
    """

    path: str = argument("STORE|COLLECTION", "a directory made by ndcore store or ndcore cluster")
    port: int = option("address",
        "port to listen on (default 8765); 0 takes any that is free", metavar="N",
        parse=values.integer(0, 65535), default=8765)
    host: str = option("address",
        "127.0.0.1 (default), ::1 or localhost; an address that others can reach needs --write with TLS or --proxy",
        metavar="HOST", default="127.0.0.1")
    write: bool = option("writing", "let programs decide on pages, which the store keeps; needs --tokens")
    tokens: str | None = option("writing", "file of the tokens of these programs: see ndcore token", metavar="FILE")
    tls_certificate: str | None = option("writing", "certificate for TLS, with its chain, as PEM", metavar="FILE")
    tls_key: str | None = option("writing", "key of the certificate, as PEM", metavar="FILE")
    proxy: list[str] = option("writing",
        "address of a proxy that speaks TLS with clients, and sends X-Forwarded-Proto; others are refused. Repeatable",
        metavar="ADDRESS", many=True)
    backups: str | None = option("writing", "directory of the copies that a client with the scope admin can ask for",
        metavar="DIR")
    keep_keys: float = option("writing", "hours for which an idempotency key is known (default 24)", metavar="HOURS",
        parse=values.numbers(0, 87600), default=24.0)
    shard: str | None = option("writing", "the store is this shard of several; needs --shard-map", metavar="NAME")
    shard_map: str | None = option("writing",
        "file of the map of shards, made by ndcore store shards; the server replaces it when a host moves", metavar="FILE")
    log: str | None = option("writing",
        "file to which a line of JSON is added for each request, without what was sent; - for standard error",
        metavar="FILE")
    max_text: int = option("limits",
        "largest text that may be sent (default 16M; G is 1024^3 bytes)", metavar="SIZE",
        parse=values.memory, default=16 << 20)
    timeout: float = option("limits",
        "longest time for an answer (default 30)", metavar="SECONDS", parse=values.numbers(0.1, 3600), default=30.0)
    json: bool = option(OUTPUT, "print the address as a JSON object, once it answers")


@command("token", "make a token for programs that ask ndcore serve --write", "serve.run_token")
class AccessTokenOptions(Options):
    """Make a token, add its digest to a file, and print the token, which is not stored. A missing file is made with mode
    0600. A running server accepts the token within a second, and within a second refuses a token whose line is deleted.
    """

    file: str = argument("FILE", "the file that ndcore serve --write takes as --tokens")
    name: str = argument("NAME", "who holds the token: letters, digits, points, underscores and hyphens")
    scope: list[str] = option("token", "what it allows: read, write, or admin (remove, expire, backup). Repeatable",
        choices=("read", "write", "admin"), many=True, required=True)
    json: bool = option(OUTPUT, "print the token as a JSON object")


family("hamming", "find fingerprints that differ in a few bits",
       "Find fingerprints that differ in at most a few bits (Hamming distance), exactly." f" {FINGERPRINTS}")


@command("hamming build", "make an index", "hamming.run_build", reads=FINGERPRINTS)
class HammingBuildOptions(HammingSearchOptions):
    """Make an index of fingerprints."""

    input: str = argument("IN", "fingerprints")
    output: str = option(OUTPUT, "file to write; it must not exist", "-o", metavar="INDEX", required=True)
    overwrite: bool = option(OUTPUT, "replace INDEX if it is an index")
    json: bool = option(OUTPUT, "print a description of the index as one JSON object")
    compress: bool = option("tables", "take 65 to 75 % of the memory; queries take longer")
    tables: int | None = option("tables",
        "use at most N tables (default: the fastest choice by a cost model)", metavar="N",
        parse=values.positive, excludes="one")
    memory: int | None = option("tables",
        "memory for the tables and their directories, for instance 4G (G is 1024^3 bytes)",
        metavar="SIZE", parse=values.memory, excludes="one")


@command("hamming query", "look fingerprints up in an index", "hamming.run_query")
class HammingQueryOptions(FingerprintOptions):
    """Print query, id and distance of every fingerprint of the index within the distance of a query, nearest first."""

    index: str = argument("INDEX", "a file made by ndcore hamming build")
    fingerprints: list[str] = argument("FINGERPRINT", "decimal, or hexadecimal with 0x", nargs="*")
    json: bool = option(OUTPUT, "print one JSON object a line instead of columns with tabs")
    queries: str | None = option(INPUT, "a file of fingerprints to look up", metavar="FILE")


@command("hamming pairs", "find all pairs within an index or a file", "hamming.run_pairs", reads=FINGERPRINTS)
class HammingPairsOptions(HammingSearchOptions):
    """Print the ids and the distance of all pairs within the distance."""

    input: str = argument("INDEX|IN", "an index, which has its own distance, or fingerprints")
    json: bool = option(OUTPUT, "print one JSON object a line instead of columns with tabs")


@command("hamming join", "look many queries up in a large file, without an index", "hamming.run_join")
class HammingJoinOptions(HammingSearchOptions):
    """Scan a file of fingerprints once, in bounded memory, and print query, position and distance of all within the
    distance of a query.
    """

    queries: str = argument("QUERIES", "fingerprints; memory must hold them several times")
    collection: str = argument("FILE",
        "fingerprints, any number: .npy, 8 bytes each, Parquet (read in parts), text, simhashes, or an index")
    json: bool = option(OUTPUT, "print one JSON object a line instead of columns with tabs")
    collection_field: str | None = option(INPUT, "as --field, for FILE", metavar="C")
    collection_format: str | None = option(INPUT,
        "as --format, for FILE", metavar="FORMAT", choices=FINGERPRINT_FORMATS)


@command("hamming plan", "choose the tables for a collection, and see what they cost", "hamming.run_plan")
class HammingPlanOptions(HammingOptions):
    """Choose the tables for a collection, the fastest by a cost model or as asked, and print what they cost."""

    json: bool = option(OUTPUT, "print one JSON object")
    log2_count: float = option("tables",
        "2^D fingerprints (default 34)", metavar="D", parse=values.numbers(0, 64), default=34)
    min_prefix: int | None = option("tables",
        "fewest tables whose prefixes have P bits or more", metavar="P", parse=values.whole, excludes="one")
    tables: int | None = option("tables",
        "longest prefix with at most N tables", metavar="N", parse=values.positive, excludes="one")
    splits: tuple[int, ...] | None = option("tables",
        "blocks of every level, for instance 4,4", metavar="R,…", parse=values.block_counts, excludes="one")
    memory: int | None = option("tables",
        "memory for the tables and their directories, for instance 500G (G is 1024^3 bytes)",
        metavar="SIZE", parse=values.memory, excludes="one")


@command("hamming info", "describe an index", "hamming.run_info")
class HammingInfoOptions(Options):
    """Describe an index and its tables."""

    index: str = argument("INDEX", "a file made by ndcore hamming build")
    json: bool = option(OUTPUT, "print one JSON object")


@command("completion", "print a script for the completion of the shell", "completion.run_completion",
         epilog='bash: eval "$(ndcore completion bash)" in ~/.bashrc. zsh: ndcore completion zsh > _ndcore, in a '
                "directory of $fpath. fish: ndcore completion fish > ~/.config/fish/completions/ndcore.fish.")
class CompletionOptions(Options):
    """Print a script with which a shell completes the commands, options and choices of ndcore."""

    shell: str = argument("SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish"))
