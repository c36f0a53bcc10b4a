"""What may be chosen by name, and limits, where the library and the command line share them.

The help of a command shows these, so this module imports neither NumPy nor anything else that takes time.
"""

from __future__ import annotations

from typing import Final

# Kinds of tokens, and how some kinds may be normalised.
UNITS: Final = ("word", "char", "grapheme", "line", "paragraph", "sentence", "byte")
NORMALIZED: Final = {
    "NFKC": ("word", "char", "grapheme"), "scan": ("char", "grapheme"), "words": ("line", "paragraph", "sentence"),
}

# Settings by name, as in a file of settings; see `load_settings`. docs/which-threshold.md says why noisy has these.
SETTINGS: Final = {"noisy": {
    "format": "ndcore settings", "version": 1, "near_duplicates": {
        "threshold": 0.3, "filter": "complete", "shingling": {"unit": "char", "width": 5, "normalize": "scan"}},
}}

FILTERS = ("auto", "lsh", "complete")  # how candidate pairs of near-duplicates are sought
DROPS = ("resembling", "contained")  # which documents are dropped

# Keys in which near-duplicates must agree -> what of a text is compared.
AGREEMENTS: Final = {
    "numbers": "the sequence of its words with a digit", "amounts": "the sequence of its numbers with their units",
    "title": "its title or first line", "names": "the set of its words with a capital inside a sentence",
    "negations": "the sequence of its words of negation",
}

SIMHASH_BITS: Final = (64, 128, 256)

ORDERS = ("common", "larger", "mean")  # of ranked pairs: by the number in common, by the larger share, by the mean share

# Languages of programs, by their names in Pygments, and the suffixes of their files; suffixes of files of text.
LANGUAGES: Final = {
    "python": ("py", "pyw", "pyi"), "java": ("java",), "c": ("c", "h"),
    "cpp": ("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx"), "csharp": ("cs",), "javascript": ("js", "mjs", "cjs"),
    "typescript": ("ts",), "go": ("go",), "rust": ("rs",), "ruby": ("rb",), "php": ("php",), "kotlin": ("kt", "kts"),
    "swift": ("swift",), "scala": ("scala",), "haskell": ("hs",), "ocaml": ("ml", "mli"), "lua": ("lua",),
    "perl": ("pl", "pm"), "r": ("r",), "julia": ("jl",), "sql": ("sql",), "bash": ("sh", "bash"), "scheme": ("scm",),
    "racket": ("rkt",),
}
TEXT_SUFFIXES = ("txt", "text", "md", "markdown", "rst", "tex")

# Differences between words that are removed before they are compared, and how; `text.folding`.
FOLDS: Final = {
    "entities": "character references of HTML become their characters",
    "letters": "Greek, Cyrillic and other letters that look like one of a to z become that letter",
    "accents": "accents of Latin, Greek and Cyrillic letters are left out",
}

COMPRESSIONS: Final = {"gz": "gzip", "zst": "zstd", "bz2": "bzip2", "xz": "xz"}  # of files, by suffix

HTML_PARTS = ("page", "main")  # what is text in HTML
LONGEST_RECORD = 256 << 20  # bytes of a record, a line or a text, unless an option says otherwise

# Choices of a store: the keys of pages, the evidence kept of a page, the pages that are compared.
KEYS = ("plain", "url")
EVIDENCE = ("text", "shingles", "sketch")
SCOPES = ("all", "host")
