"""Write the Unicode tables of the C core and of the reference from the Unicode Character Database.

    python tools/unicode_tables.py --ucd DIR            write the five generated files
    python tools/unicode_tables.py --ucd DIR --check    write nothing; exit 1 where a file differs

DIR holds UnicodeData.txt, CaseFolding.txt, DerivedCoreProperties.txt, Scripts.txt, ScriptExtensions.txt,
NormalizationTest.txt, GraphemeBreakProperty.txt and emoji-data.txt, each plain or compressed (`.txt.zst`, needs the package
`zstandard`). `tools/ucd` has the part of SentenceBreakProperty.txt that does not follow from these. The five files are

* `src/ndcore/core/unicode_tables.h`: what the word segmenter asks about a code point (case folding and kind);
* `src/ndcore/core/grapheme_tables.h`: what the rules of UAX #29 for grapheme clusters ask about a code point;
* `src/ndcore/core/sentence_tables.h`: Sentence_Break, which the rules of UAX #29 for sentences ask about a code point;
* `src/ndcore/core/nfkc_tables.h`: combining classes, compatibility decompositions, compositions;
* `src/ndcore/reference/unicode_tables.txt`: the same facts for the reference, as properties and not as kinds.

CompositionExclusions.txt is not needed: a character with a canonical decomposition is excluded from composition exactly
where NormalizationTest.txt, which lists every such character, gives it an NFC form other than itself.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from written_file import ROOT, write_files

CODE_POINTS = 0x110000
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
SENTENCE_BREAK = ROOT / "tools" / "ucd"
MKHEDRULI = {*range(0x10D0, 0x10FB), *range(0x10FD, 0x1100)}  # Georgian letters whose case parts no sentences
MTAVRULI = {*range(0x1C90, 0x1CBB), *range(0x1CBD, 0x1CC0)}

# Scripts written without spaces between words: the names of Scripts.txt and the codes of ScriptExtensions.txt.
SPACELESS_SCRIPTS = {
    "Han": "Hani", "Hiragana": "Hira", "Katakana": "Kana", "Bopomofo": "Bopo", "Yi": "Yiii", "Nushu": "Nshu",
    "Tangut": "Tang", "Khitan_Small_Script": "Kits", "Thai": "Thai", "Lao": "Laoo", "Khmer": "Khmr",
    "Myanmar": "Mymr", "Tai_Le": "Tale", "New_Tai_Lue": "Talu", "Tai_Tham": "Lana", "Tai_Viet": "Tavt",
    "Ahom": "Ahom", "Javanese": "Java", "Balinese": "Bali",
}  # fmt: skip

KINDS = {
    "SEPARATOR": "everything else, surrogates and unassigned code points included",
    "IGNORABLE": "Default_Ignorable_Code_Point (of the code point itself; all other kinds are those of the folded one)",
    "MARK": "category M: joins the word directly before it, else dropped",
    "WORD": "category L or N, none of the kinds below: goes on with the run it is in",
    "SPACELESS": "a word of its own (category L or Nl, every script is one of those without spaces)",
    "WORD_TAIL": "Lm, not spaceless, some script is one of those: joins a spaceless word directly before it, else a WORD",
    "SPACELESS_TAIL": "spaceless and Lm: joins a spaceless word directly before it, else begins one",
}
KIND_NAMES = list(KINDS)

CLUSTER_KINDS = {
    "OTHER": "nothing of the following", "CR": "", "LF": "", "CONTROL": "", "EXTEND": "Extend, and InCB Extend",
    "EXTEND_ALONE": "Extend, and InCB None: parts consonants from their linker", "LINKER": "Extend, and InCB Linker",
    "ZWJ": "", "REGIONAL_INDICATOR": "", "PREPEND": "", "SPACING_MARK": "", "L": "", "V": "", "T": "", "LV": "", "LVT": "",
    "PICTOGRAPH": "Other, and Extended_Pictographic", "CONSONANT": "Other, and InCB Consonant",
}  # fmt: skip

SENTENCE_KINDS = {
    "Other": "nothing of the following; bytes that are not well-formed, too",
    "Extend": "Extend and Format: belongs to what is before it", "Sp": "white space, as the next three", "Sep": "",
    "CR": "", "LF": "", "Lower": "", "Upper": "", "OLetter": "", "Numeric": "",
    "SContinue": "goes on with a sentence, as a comma", "ATerm": "may end a sentence: the full stop",
    "STerm": "ends a sentence", "Close": "quotation marks and brackets",
}  # fmt: skip


@dataclass
class Ucd:
    """The properties used here, one entry per code point, or only for those that have one."""

    version: str
    category: list[str]
    fold: dict[int, int] = field(default_factory=dict)
    ignorable: set[int] = field(default_factory=set)
    spaceless: set[int] = field(default_factory=set)
    tail: set[int] = field(default_factory=set)
    combining: dict[int, int] = field(default_factory=dict)
    compatibility: dict[int, tuple[int, ...]] = field(default_factory=dict)
    compositions: list[tuple[int, int, int]] = field(default_factory=list)
    cluster_break: dict[int, str] = field(default_factory=dict)
    pictographs: set[int] = field(default_factory=set)
    conjunct_break: dict[int, str] = field(default_factory=dict)
    sentence_break: dict[int, str] = field(default_factory=dict)

    def kind(self, c: int) -> str:
        """The kind of `c` itself, before folding."""
        if c in self.ignorable:
            return "IGNORABLE"
        if self.category[c].startswith("M"):
            return "MARK"
        if c in self.spaceless:
            return "SPACELESS_TAIL" if c in self.tail else "SPACELESS"
        if c in self.tail:
            return "WORD_TAIL"
        return "WORD" if self.category[c][0] in "LN" else "SEPARATOR"

    def cluster_kind(self, c: int) -> str:
        """What Grapheme_Cluster_Break, Extended_Pictographic and Indic_Conjunct_Break say of `c`, in one word."""
        name = self.cluster_break.get(c, "Other")
        if name == "Other":
            return ("PICTOGRAPH" if c in self.pictographs
                    else "CONSONANT" if self.conjunct_break.get(c) == "Consonant" else "OTHER")  # fmt: skip
        if name == "Extend":
            return {"Linker": "LINKER", "Extend": "EXTEND"}.get(self.conjunct_break.get(c, ""), "EXTEND_ALONE")
        return "SPACING_MARK" if name == "SpacingMark" else name.upper()


# ---- reading


def read_lines(directory: Path, name: str) -> list[str]:
    """The lines of a UCD file, plain or `.zst`; FileNotFoundError naming both where neither exists."""
    plain, compressed = directory / name, directory / f"{name}.zst"
    if plain.exists():
        return plain.read_text(encoding="utf-8").splitlines()
    if not compressed.exists():
        raise FileNotFoundError(f"neither {plain} nor {compressed} exists; give --ucd a Unicode Character Database")
    import zstandard

    with compressed.open("rb") as stream, zstandard.ZstdDecompressor().stream_reader(stream) as reader:
        return reader.read().decode("utf-8").splitlines()


def fields(lines: Iterable[str]) -> Iterator[list[str]]:
    """The fields, stripped, of every line that is not a comment or a part heading."""
    for line in lines:
        content = line.split("#")[0].strip()
        if content and not content.startswith("@"):
            yield [part.strip() for part in content.split(";")]


def code_range(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


def code_points(text: str) -> tuple[int, ...]:
    return tuple(int(part, 16) for part in text.split())


def read_unicode_data(directory: Path) -> tuple[list[str], dict[int, int], dict[int, tuple[bool, tuple[int, ...]]]]:
    """Category and combining class per code point; one-step decompositions as (canonical, code points)."""
    category, combining = ["Cn"] * CODE_POINTS, {}
    decompositions: dict[int, tuple[bool, tuple[int, ...]]] = {}
    start = 0
    for row in fields(read_lines(directory, "UnicodeData.txt")):
        c, name = int(row[0], 16), row[1]
        if name.endswith(", First>"):
            start = c
            continue
        for member in range(start if name.endswith(", Last>") else c, c + 1):
            category[member] = row[2]
        if row[3] != "0":
            combining[c] = int(row[3])
        if row[5]:
            decompositions[c] = (not row[5].startswith("<"), code_points(re.sub("<.*>", "", row[5])))
    return category, combining, decompositions


def read_spaceless(directory: Path, category: list[str]) -> tuple[set[int], set[int]]:
    """The spaceless code points, and the modifier letters with a spaceless script among theirs."""
    codes = set(SPACELESS_SCRIPTS.values())
    scripts: dict[int, set[str]] = {}
    names_seen = set()
    for where, name in fields(read_lines(directory, "Scripts.txt")):
        names_seen.add(name)
        scripts.update((c, {SPACELESS_SCRIPTS.get(name, name)}) for c in code_range(where))
    for where, names in fields(read_lines(directory, "ScriptExtensions.txt")):
        scripts.update((c, set(names.split())) for c in code_range(where))
    unknown = SPACELESS_SCRIPTS.keys() - names_seen
    if unknown:
        raise ValueError(f"Scripts.txt has no script {sorted(unknown)}; correct SPACELESS_SCRIPTS")
    spaceless = {c for c, names in scripts.items() if names <= codes and (category[c][0] == "L" or category[c] == "Nl")}
    tail = {c for c, names in scripts.items() if names & codes and category[c] == "Lm"}
    return spaceless, tail


def read_excluded(directory: Path, decompositions: dict[int, tuple[bool, tuple[int, ...]]],
                  combining: dict[int, int]) -> set[int]:  # fmt: skip
    """Full_Composition_Exclusion among `decompositions`, from the NFC column of NormalizationTest.txt."""
    nfc = {row[0]: row[1] for row in fields(read_lines(directory, "NormalizationTest.txt"))}
    canonical = {c: target for c, (is_canonical, target) in decompositions.items() if is_canonical}
    excluded = {c for c in canonical if nfc[f"{c:04X}"] != f"{c:04X}"}
    implied = {c for c, to in canonical.items() if len(to) == 1 or c in combining or to[0] in combining}
    if not implied <= excluded:
        raise ValueError(f"singletons or non-starter decompositions that compose: {sorted(implied - excluded)}")
    return excluded


def expand(c: int, decompositions: dict[int, tuple[bool, tuple[int, ...]]]) -> tuple[int, ...]:
    """The full compatibility decomposition, canonical ordering not applied."""
    if c not in decompositions:
        return (c,)
    return tuple(part for member in decompositions[c][1] for part in expand(member, decompositions))


def read_sentence_break(category: list[str], core: dict[str, set[int]]) -> dict[int, str]:
    """Sentence_Break other than Other: UAX #29, table 4. `core` has the properties of DerivedCoreProperties.txt."""
    extend = core["Grapheme_Extend"] | {0x200D} | {c for c, name in enumerate(category) if name == "Mc"}
    lower = core["Lowercase"] - core["Grapheme_Extend"] - MKHEDRULI
    upper = (core["Uppercase"] | {c for c, name in enumerate(category) if name == "Lt"}) - MTAVRULI
    found = dict.fromkeys(core["Alphabetic"] | {0x5F3}, "OLetter")
    found.update(dict.fromkeys((c for c, name in enumerate(category) if name == "Cf"), "Format"))
    for name, members in (("Upper", upper), ("Lower", lower), ("Extend", extend)):
        found.update(dict.fromkeys(members, name))
    for where, name in fields(read_lines(SENTENCE_BREAK, "SentenceBreakProperty.txt")):
        found.update(dict.fromkeys(code_range(where), name))
    return found


def read_ucd(directory: Path) -> Ucd:
    header = read_lines(directory, "CaseFolding.txt")[0]
    version = re.fullmatch(r"# CaseFolding-(\d+\.\d+\.\d+)\.txt", header)
    if not version:
        raise ValueError(f"CaseFolding.txt begins with {header!r}, expected '# CaseFolding-<version>.txt'")
    category, combining, decompositions = read_unicode_data(directory)
    ucd = Ucd(version[1], category, combining=combining)
    for row in fields(read_lines(directory, "CaseFolding.txt")):
        if row[1] in ("C", "S"):
            ucd.fold[int(row[0], 16)] = int(row[2], 16)
    core: dict[str, set[int]] = {}
    for row in fields(read_lines(directory, "DerivedCoreProperties.txt")):
        core.setdefault(row[1], set()).update(code_range(row[0]))
        if row[1] == "InCB":
            ucd.conjunct_break.update((c, row[2]) for c in code_range(row[0]))
    ucd.ignorable = core["Default_Ignorable_Code_Point"]
    ucd.sentence_break = read_sentence_break(category, core)
    for where, name in fields(read_lines(directory, "GraphemeBreakProperty.txt")):
        ucd.cluster_break.update((c, name) for c in code_range(where))
    for where, name in fields(read_lines(directory, "emoji-data.txt")):
        if name == "Extended_Pictographic":
            ucd.pictographs.update(code_range(where))
    ucd.spaceless, ucd.tail = read_spaceless(directory, category)
    ucd.compatibility = {c: expand(c, decompositions) for c in decompositions}
    excluded = read_excluded(directory, decompositions, combining)
    ucd.compositions = sorted(
        (to[0], to[1], c) for c, (canonical, to) in decompositions.items() if canonical and c not in excluded
    )
    check_assumptions(ucd)
    return ucd


def check_assumptions(ucd: Ucd) -> None:
    """What the kernel and the reference rely on and the standard does not promise."""
    appearing = set(ucd.fold.values()).union(*(to for c, to in ucd.compatibility.items() if c not in ucd.ignorable))
    if appearing & ucd.ignorable or ucd.ignorable & ucd.fold.keys():
        raise ValueError("an ignorable code point folds, or folding or NFKC makes one: remove them a second time")
    if any(target in ucd.fold for target in ucd.fold.values()):
        raise ValueError("simple case folding is not idempotent")
    if any(c in HANGUL_SYLLABLES for to in ucd.compatibility.values() for c in to):
        raise ValueError("a decomposition holds a Hangul syllable: expand it")
    syllables = {c: "LVT" if (c - HANGUL_SYLLABLES.start) % 28 else "LV" for c in HANGUL_SYLLABLES}
    if syllables != {c: name for c, name in ucd.cluster_break.items() if name in ("LV", "LVT")}:
        raise ValueError("Hangul syllables and the cluster breaks LV and LVT are not the same code points")
    joining = {"Consonant": {"Other"}, "Linker": {"Extend"}, "Extend": {"Extend", "ZWJ"}}
    if any(ucd.cluster_break.get(c, "Other") not in joining[name] for c, name in ucd.conjunct_break.items()):
        raise ValueError("a part of a conjunct has another cluster break than expected: CLUSTER_KINDS need more kinds")
    if any(c in ucd.cluster_break or c in ucd.conjunct_break for c in ucd.pictographs):
        raise ValueError("a pictograph has a cluster or conjunct break: CLUSTER_KINDS need more kinds")
    if any(name == "ZWJ" and ucd.conjunct_break.get(c) != "Extend" for c, name in ucd.cluster_break.items()):
        raise ValueError("ZWJ is no InCB Extend: CLUSTER_KINDS need another kind")


# ---- writing


def two_stages(values: list[int]) -> tuple[list[int], list[list[int]]]:
    """Blocks of 256: values[c] == blocks[stage1[c >> 8]][c & 255]."""
    seen: dict[tuple[int, ...], int] = {}
    stage1 = [seen.setdefault(tuple(values[i : i + 256]), len(seen)) for i in range(0, len(values), 256)]
    return stage1, [list(block) for block in seen]


def wrapped(items: Iterable[str], separator: str, width: int = 112, indent: str = "    ") -> str:
    lines, line = [], ""
    for item in items:
        if line and len(line) + len(item) > width:
            lines.append(line.rstrip())
            line = ""
        line += item + separator
    return "\n".join(indent + text for text in [*lines, line.rstrip()])


def c_array(declaration: str, values: Iterable[int]) -> str:
    return f"static const {declaration} = {{\n{wrapped(map(str, values), ',')}\n}};\n"


def c_two_stages(name: str, kind: str, values: list[int]) -> str:
    stage1, blocks = two_stages(values)
    limits = {"uint8_t": 256, "uint16_t": 65536}
    if len(blocks) > 256 or max(values) >= limits[kind]:
        raise ValueError(f"{name}: {len(blocks)} blocks, largest value {max(values)}: choose wider types")
    rows = ",\n".join("    {\n" + wrapped(map(str, block), ",") + "\n    }" for block in blocks)
    return (c_array(f"uint8_t {name}_STAGE1[0x{len(stage1):X}]", stage1)
            + f"\nstatic const {kind} {name}_STAGE2[{len(blocks)}][256] = {{\n{rows}\n}};\n")  # fmt: skip


def notice(ucd: Ucd, start: str, end: str) -> str:
    lines = (
        f"GENERATED by tools/unicode_tables.py from Unicode {ucd.version} data; do not edit",
        "Unicode Character Database, Copyright (c) 1991-2025 Unicode, Inc., under the Unicode License v3",
    )
    return "".join(f"{start} {line}{end}\n" for line in lines)


def framed(ucd: Ucd, name: str, body: str) -> str:
    """A header with this body."""
    guard = f"ND_{name}_TABLES_H"
    return f"{notice(ucd, '/*', ' */')}\n#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n{body}#endif\n"


def enumerated(prefix: str, notes: Mapping[str, str]) -> str:
    """The lines of an enumeration, each with its note."""
    return "\n".join(f"    {prefix}_{name.upper()}," + (f" /* {note} */" if note else "") for name, note in notes.items())


def longest_run(values: list[int], value: int) -> tuple[int, int]:
    """First and last index of the longest run of `value` between U+0800 and U+FFFF."""
    ends = [c for c in range(0x7FF, 0x10000) if values[c] != value] + [0x10000]
    return max(((a + 1, b - 1) for a, b in itertools.pairwise(ends)), key=lambda run: run[1] - run[0])


def write_code_points(ucd: Ucd) -> str:
    """unicode_tables.h"""
    records = {(0, kind): kind for kind in range(len(KINDS))}
    indexes = []
    for c in range(CODE_POINTS):
        folded = ucd.fold.get(c, c)
        record = (folded - c, KIND_NAMES.index(ucd.kind(folded)))
        indexes.append(records.setdefault(record, len(records)))
    first, last = longest_run(indexes, KIND_NAMES.index("SPACELESS"))
    if len({tuple(indexes[c : c + 256]) for c in range(0, 0x800, 256)}) != 8:
        raise ValueError("two of the first eight blocks are equal: glyph.h looks at them without the first stage")
    defines = "\n".join(f"#define ND_KIND_{name} {value} /* {note} */" for value, (name, note) in enumerate(KINDS.items()))
    rows = wrapped((f"{{{fold}, {kind}}}" for fold, kind in records), ", ")
    return framed(ucd, "UNICODE", f"""\
#define ND_UNICODE_VERSION "{ucd.version}"

{defines}
#define ND_KINDS {len(KINDS)}

/* The longest run of code points of the kind SPACELESS that fold to themselves and take three bytes of UTF-8. */
#define ND_SPACELESS_FIRST 0x{first:X}
#define ND_SPACELESS_LAST 0x{last:X}

/* ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]], c < 0x110000:
   c + fold is c after simple case folding, kind that of c + fold. The first ND_KINDS entries are the kinds of what folds
   to itself, in their order; the first eight blocks of STAGE2 are those of c < 0x800, in their order. */
typedef struct {{
    int32_t fold;
    uint8_t kind;
}} nd_code_point;

static const nd_code_point ND_CODE_POINTS[{len(records)}] = {{
{rows}
}};

{c_two_stages("ND_CODE_POINT", "uint8_t", indexes)}
{write_roles(ucd, indexes)}""")


def write_roles(ucd: Ucd, classes: list[int]) -> str:
    """Two bits for each code point below U+10000, in blocks of 128 code points that vectors look up."""
    plain = {KIND_NAMES.index("SEPARATOR"): 0, KIND_NAMES.index("WORD"): 1, KIND_NAMES.index("MARK"): 2}
    roles = [3 if ucd.category[c] == "Cs" else plain.get(classes[c], 3) for c in range(0x10000)]
    blocks: dict[tuple[int, ...], int] = {}
    numbers = []
    for start in range(0, 0x10000, 128):
        planes = [[sum((roles[start + 8 * i + k] >> bit & 1) << k for k in range(8)) for i in range(16)] for bit in (0, 1)]
        numbers.append(blocks.setdefault(tuple(planes[0] + planes[1]), len(blocks)))
    if len(blocks) > 256:
        raise ValueError(f"{len(blocks)} blocks of roles: choose a wider type")
    rows = ",\n".join("    {\n" + wrapped(map(str, block), ",") + "\n    }" for block in blocks)
    words = [all(roles[c] == 1 for c in range(start, start + 64)) for start in range(0, 0x10000, 64)]
    whole = [[sum(words[64 * lead + 8 * i + k] << k for k in range(8)) for i in range(8)] for lead in range(16)]
    return f"""
/* The role of c < 0x10000 in words: 0 SEPARATOR, 1 WORD, 2 MARK, all of what folds to itself; 3: another, or a surrogate.
   Its low bit is bit c & 7 of ND_ROLE_STAGE2[ND_ROLE_STAGE1[c >> 7]][c >> 3 & 15], its high bit that of the byte 16 places
   on. */
{c_array("uint8_t ND_ROLE_STAGE1[512]", numbers)}
static const uint8_t ND_ROLE_STAGE2[{len(blocks)}][32] = {{
{rows}
}};

/* Whether all of the 64 code points from c on are WORD: bit c >> 6 & 7 of ND_ROLE_WORDS[c >> 12][c >> 9 & 7], and of the
   byte 8 places on. The last 16 bytes are zero. */
static const uint8_t ND_ROLE_WORDS[16][32] = {{
{wrapped(("{" + ",".join(map(str, row + row)) + "}" for row in whole), ", ")}
}};
"""


def composed(points: tuple[int, ...], ucd: Ucd, pairs: dict[tuple[int, int], int]) -> list[int]:
    """Decomposed code points in NFKC, Hangul excepted."""
    kept: list[int] = []
    starter = None
    for c in canonical_order(points, ucd):
        ccc = ucd.combining.get(c, 0)
        adjacent = starter is not None and starter + 1 == len(kept)
        is_open = starter is not None and (adjacent or 0 < ucd.combining.get(kept[-1], 0) < ccc)
        if starter is not None and is_open and (kept[starter], c) in pairs:
            kept[starter] = pairs[kept[starter], c]
            continue
        if ccc == 0:
            starter = len(kept)
        kept.append(c)
    return kept


def canonical_order(points: tuple[int, ...], ucd: Ucd) -> Iterator[int]:
    """The code points, each run of marks sorted by combining class, stably."""
    for _, run in itertools.groupby(points, lambda c: ucd.combining.get(c, 0) > 0):
        yield from sorted(run, key=lambda c: ucd.combining.get(c, 0))


def nfkc_kinds(ucd: Ucd) -> list[int]:
    """What the normal form asks about each code point: a number of ND_NFKC_ names, and ND_NFKC_SECOND."""
    jamo = {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}
    pairs = {(first, second): composite for first, second, composite in ucd.compositions}
    seconds = {second for _, second in pairs} | jamo
    kinds = []
    for c in range(CODE_POINTS):
        folded = ucd.fold.get(c, c)
        parts = ucd.compatibility.get(folded, (folded,))
        stays = (c not in ucd.ignorable and ucd.category[c] != "Cs" and parts[0] not in ucd.combining
                 and parts[0] not in seconds
                 and ((len(parts) == 1 and parts[0] == folded) or composed(parts, ucd, pairs) == [folded]))  # fmt: skip
        kinds.append((0 if not stays else 1 if folded == c else 2) + 4 * (c in seconds))
    return kinds


def write_nfkc(ucd: Ucd) -> str:
    """nfkc_tables.h"""
    pool = [0]
    offsets: dict[tuple[int, ...], int] = {}
    for target in ucd.compatibility.values():
        if target not in offsets:
            offsets[target] = len(pool)
            pool += [len(target), *target]
    indexes = [offsets[ucd.compatibility[c]] if c in ucd.compatibility else 0 for c in range(CODE_POINTS)]
    rows = wrapped((f"{{{a}, {b}, {c}}}" for a, b, c in ucd.compositions), ", ")
    return framed(ucd, "NFKC", f"""\
#define ND_DECOMPOSITIONS_LENGTH {len(pool)}
#define ND_DECOMPOSITION_MAX {max(map(len, offsets))} /* code points in the longest decomposition */
#define ND_COMPOSITIONS_LENGTH {len(ucd.compositions)}
#define ND_FIRST_DECOMPOSABLE {min(ucd.compatibility)} /* code points below have no decomposition */
#define ND_FIRST_COMBINING {min(ucd.combining)} /* code points below are starters (ccc 0) */
#define ND_FIRST_SECOND {min(b for _, b, _ in ucd.compositions)} /* code points below are never `second` */

/* Canonical_Combining_Class: ND_CCC_STAGE2[ND_CCC_STAGE1[c >> 8]][c & 255], c < 0x110000. */
{c_two_stages("ND_CCC", "uint8_t", [ucd.combining.get(c, 0) for c in range(CODE_POINTS)])}
/* Full compatibility decompositions, Hangul syllables excepted (they are algorithmic):
   i = ND_DECOMPOSITION_STAGE2[ND_DECOMPOSITION_STAGE1[c >> 8]][c & 255]; 0: none; otherwise
   ND_DECOMPOSITIONS[i] code points beginning at ND_DECOMPOSITIONS[i + 1], not yet in canonical order. */
{c_two_stages("ND_DECOMPOSITION", "uint16_t", indexes)}
/* Of each code point, ND_NFKC_STAGE2[ND_NFKC_STAGE1[c >> 8]][c & 255]. The lower two bits: */
#define ND_NFKC_CHANGES 0 /* its normal form is another than itself, folded, or depends on its neighbours; surrogates too */
#define ND_NFKC_STAYS 1 /* a text may be cut before it, and it is its own normal form */
#define ND_NFKC_FOLDS 2 /* a text may be cut before it, and what it folds to is its normal form */
/* and, added to one of these: */
#define ND_NFKC_SECOND 4 /* the second of a composition, Hangul included */
{c_two_stages("ND_NFKC", "uint8_t", nfkc_kinds(ucd))}
{c_array("uint32_t ND_DECOMPOSITIONS[ND_DECOMPOSITIONS_LENGTH]", pool)}
/* Primary composites, Hangul syllables excepted, ascending by (first, second). */
typedef struct {{
    uint32_t first, second, composite;
}} nd_composition;

static const nd_composition ND_COMPOSITIONS[ND_COMPOSITIONS_LENGTH] = {{
{rows}
}};

""")


def write_graphemes(ucd: Ucd) -> str:
    """grapheme_tables.h"""
    names = list(CLUSTER_KINDS)
    indexes = [names.index(ucd.cluster_kind(ucd.fold.get(c, c))) for c in range(CODE_POINTS)]
    return framed(ucd, "GRAPHEME", f"""\
/* Grapheme_Cluster_Break, with Extended_Pictographic and Indic_Conjunct_Break (InCB). */
enum {{
{enumerated('ND_CLUSTER', CLUSTER_KINDS)}
    ND_CLUSTER_KINDS
}};

/* The kind of c after simple case folding: ND_CLUSTER_STAGE2[ND_CLUSTER_STAGE1[c >> 8]][c & 255], c < 0x110000. */
{c_two_stages("ND_CLUSTER", "uint8_t", indexes)}
""")


def write_sentences(ucd: Ucd) -> str:
    """sentence_tables.h"""
    names = list(SENTENCE_KINDS)
    breaks = [ucd.sentence_break.get(c, "Other").replace("Format", "Extend") for c in range(CODE_POINTS)]
    return framed(ucd, "SENTENCE", f"""\
/* Sentence_Break. */
enum {{
{enumerated('ND_SB', SENTENCE_KINDS)}
    ND_SB_KINDS
}};

/* ND_SB_STAGE2[ND_SB_STAGE1[c >> 8]][c & 255], c < 0x110000. */
{c_two_stages("ND_SB", "uint8_t", [names.index(name) for name in breaks])}
""")


def sentence_exceptions(ucd: Ucd) -> dict[int, str]:
    """Sentence_Break where it is not what reference/text.py takes it for without an exception."""
    folded = set(ucd.fold.values())

    def usual(c: int) -> str:
        kind = ucd.category[c]
        if kind[0] == "M":
            return "Extend"
        if c in ucd.fold or c in folded:
            return "Upper" if c in ucd.fold else "Lower"
        return "Numeric" if kind == "Nd" else "OLetter" if kind[0] in "LN" else "Other"

    breaks = (ucd.sentence_break.get(c, "Other").replace("Format", "Extend") for c in range(CODE_POINTS))
    return {c: name for c, name in enumerate(breaks) if name != usual(c)}


# The reference's tables are text of differences: a third of the bytes of the code points themselves in a wheel.


def by_value(values: Mapping[int, str | int]) -> Iterator[str]:
    """`value:ranges`, ascending by value."""
    members: dict[str | int, list[int]] = {}
    for c, value in values.items():
        members.setdefault(value, []).append(c)
    return (f"{value}:{','.join(ranges(members[value]))}" for value in sorted(members))


def ranges(members: Iterable[int]) -> Iterator[str]:
    """Ascending code points: of each range what its first adds to the last of the range before, then `+` and the rest."""
    ascending = sorted(members)
    before = 0
    for _, run in itertools.groupby(enumerate(ascending), lambda place: place[1] - place[0]):
        (_, first), *rest = run
        yield f"{first - before:X}" + (f"+{len(rest):X}" if rest else "")
        before = first + len(rest)


def differences(targets: Mapping[int, tuple[int, ...]]) -> Iterator[str]:
    """`from:to,to,...`, ascending; each number is what it adds to the one of its place in the mapping before, or to 0."""
    before, places = 0, ()
    for c, to in sorted(targets.items()):
        parts = (f"{part - other:X}" for part, other in itertools.zip_longest(to, places[: len(to)], fillvalue=0))
        yield f"{c - before:X}:{','.join(parts)}"
        before, places = c, to


def write_reference(ucd: Ucd) -> str:
    """reference/unicode_tables.txt"""
    sets = {
        "IGNORABLE": ("Default_Ignorable_Code_Point", ucd.ignorable),
        "MARK": ("General_Category M", (c for c, name in enumerate(ucd.category) if name[0] == "M")),
        "LETTER_OR_NUMBER": ("General_Category L or N", (c for c, name in enumerate(ucd.category) if name[0] in "LN")),
        "DECIMAL": ("General_Category Nd", (c for c, name in enumerate(ucd.category) if name == "Nd")),
        "SPACELESS": ("L or Nl, every script (Script_Extensions) is one written without spaces", ucd.spaceless),
        "TAIL": ("Lm, at least one script (Script_Extensions) is one written without spaces", ucd.tail),
    }
    texts = [(name, note, ranges(members)) for name, (note, members) in sets.items()]
    texts += [
        ("FOLD", "simple case folding (CaseFolding.txt, C and S)", differences({c: (to,) for c, to in ucd.fold.items()})),
        ("COMBINING_CLASS", "Canonical_Combining_Class other than 0, class:ranges", by_value(ucd.combining)),
        ("DECOMPOSITION", "full compatibility decompositions without Hangul syllables", differences(ucd.compatibility)),
        ("COMPOSITION", "primary composites without Hangul syllables, composite:first,second",
         differences({c: (a, b) for a, b, c in ucd.compositions})),
        ("CLUSTER_BREAK", "Grapheme_Cluster_Break other than Other, without Hangul syllables, value:ranges",
         by_value({c: name for c, name in ucd.cluster_break.items() if c not in HANGUL_SYLLABLES})),
        ("PICTOGRAPH", "Extended_Pictographic", ranges(ucd.pictographs)),
        ("CONJUNCT_BREAK", "Indic_Conjunct_Break other than None, value:ranges", by_value(ucd.conjunct_break)),
        ("SENTENCE_BREAK", "Sentence_Break where it is not what `text` takes it for; Format is Extend: value:ranges",
         by_value(sentence_exceptions(ucd))),
    ]  # fmt: skip
    body = "".join(f'\n= {name}: {note}\n{wrapped(items, " ", indent="")}\n' for name, note, items in texts)
    return f'''{notice(ucd, "#", "")}\
# Hexadecimal differences between blanks, which `text.py` reads. `41+19 47` are two ranges: 26 code points from U+0041 on,
# and U+00A1, which is 0x47 after U+005A, the last of them. `41:61 1:1` are two mappings, of U+0041 to U+0061 and of U+0042
# to U+0062: each number is added to the one of its place in the mapping before.

= UNICODE_VERSION: of all tables
{ucd.version}
{body}'''


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the Unicode tables of the C core and of the reference.")
    parser.add_argument("--ucd", type=Path, required=True, metavar="DIR", help="the folder of the UCD files")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    arguments = parser.parse_args()
    ucd = read_ucd(arguments.ucd)
    package = ROOT / "src" / "ndcore"
    return write_files({
        package / "core" / "unicode_tables.h": write_code_points(ucd),
        package / "core" / "grapheme_tables.h": write_graphemes(ucd),
        package / "core" / "sentence_tables.h": write_sentences(ucd),
        package / "core" / "nfkc_tables.h": write_nfkc(ucd),
        package / "reference" / "unicode_tables.txt": write_reference(ucd),
    }, arguments.check, f"what Unicode {ucd.version} data gives; run tools/unicode_tables.py without --check")


if __name__ == "__main__":
    sys.exit(main())
