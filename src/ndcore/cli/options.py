"""Options that several commands share, as dataclasses that commands inherit."""

from __future__ import annotations

from ndcore.choices import COMPRESSIONS, HTML_PARTS, LONGEST_RECORD, NORMALIZED, UNITS
from ndcore.cli import values
from ndcore.cli.command import DUPLICATES, INPUT, RUNNING, SHINGLES, Options, argument, option
from ndcore.human import enumerated

FORMATS = (
    "Files hold text, JSON lines (.jsonl, .ndjson, .jl), JSON (.json: an array, lines, or one object), CSV or TSV with a "
    "header, HTML (.html, .htm, .xhtml), mail (.eml, .mbox), web archives (.warc, .wet, .arc), indexes of them (.cdx, "
    f".cdxj), all of these also compressed by {enumerated(COMPRESSIONS.values())}, or Parquet, Arrow, Feather"
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

    unit: str | None = option(SHINGLES, "kind of token (default word)", choices=UNITS)
    normalize: str | None = option(SHINGLES,
        "NFKC: Unicode normalization of words and characters; scan: the same of characters, without white space and hyphens "
        "at line ends; words: compare lines, paragraphs and sentences by their words (default none)",
        choices=tuple(NORMALIZED))
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
        "--html", parse=values.part, choices=HTML_PARTS)
    max_record: int = option(INPUT,
        "a longer line, row, record or text is an error, or with --on-error skip left out (default 256M; G is 1024^3 "
        "bytes)", metavar="SIZE", parse=values.memory, default=LONGEST_RECORD)
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
    """The fingerprints and their distance."""

    max_distance: int = option("fingerprints",
        "bits that may differ, 0 to 10, or 31 of 128 and 256 (default 3)", metavar="K", parse=values.distance, default=3)
    bits: int | None = option("fingerprints",
        "bits of a fingerprint, 1 to 64, 128 or 256 (default: as the file has them, else 64)", metavar="F",
        parse=values.fingerprint_bits)
