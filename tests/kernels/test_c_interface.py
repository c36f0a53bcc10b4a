"""ndcore.h, the interface for C programs: a shared library of the installed C files, made by the line in the header, against
the golden vectors and the reference. Programs that include the header are in test_embedding.py."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import math
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generated import splitmix64 as generator

import ndcore as nd
from ndcore.reference import hamming, resemblance
from ndcore.reference.sketches import weight_units
from ndcore.text.shingling import POLYNOMIAL, TOKEN_POLYNOMIAL
from ndcore.text.units import kernel_unit

CORE = Path(nd.get_include())
UNDEFINED = ["-Wl,--no-undefined", "-lm"] if sys.platform == "linux" else []  # every function that is called is there
HEADER = (CORE / "ndcore.h").read_text("utf-8")
PROTOTYPES = re.findall(r"^ND_API ([\w ]+?[ *])(nd_\w+)\(([^;]*)\);", HEADER, re.M)
INTERFACE = Path(__file__).parents[1] / "package" / "interface.txt"
UNITS = {
    "word": 0, "char": 1, "line": 2, "byte": 3, "tokens": 4, "grapheme": 5, "paragraph": 6, "sentence": 7, "line words": 8,
    "paragraph words": 9, "sentence words": 10,
}
LOW = (1 << 64) - 1


class Recipe(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("key_bits", ctypes.c_uint32), ("unit", ctypes.c_uint32), ("width", ctypes.c_uint32),
        ("short_whole", ctypes.c_uint32), ("polynomial", ctypes.c_uint64 * 4), ("token_polynomial", ctypes.c_uint64 * 4),
        ("seed", ctypes.c_uint64), ("num_perm", ctypes.c_uint32), ("minimum_bits", ctypes.c_uint32),
    ]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("key_bits", ctypes.c_uint32), ("max_distance", ctypes.c_uint32),
                ("blocks", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Counts(ctypes.Structure):
    _fields_ = [("tokens", ctypes.c_size_t), ("shingles", ctypes.c_size_t), ("invalid", ctypes.c_size_t)]


MATCH = np.dtype([("query", np.uint64), ("rank", np.uint32), ("distance", np.uint32)])


def c_type(text: str) -> Any:
    """Return the type of a parameter or result."""
    text = text.strip()
    if text == "const char *":
        return ctypes.c_char_p
    name = text.removeprefix("const ").split()[0]
    known = {"int": ctypes.c_int, "unsigned": ctypes.c_uint, "double": ctypes.c_double, "void": None,
             "size_t": ctypes.c_size_t, "uint32_t": ctypes.c_uint32}
    return ctypes.c_void_p if "*" in text or name == "nd_sink" else known[name]


def left_out() -> list[str]:
    """The C files that wheels do not have; none where the project's settings are not at hand."""
    settings = Path(__file__).parents[2] / "pyproject.toml"
    if not settings.is_file():
        return []
    tool = tomllib.loads(settings.read_text("utf-8"))["tool"]["setuptools"]
    return list(tool["exclude-package-data"]["ndcore.core"])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler here")
    folder = tmp_path_factory.mktemp("library")
    line = re.search(r"cc -O3 (-fPIC .*) \*\.c -o libndcore\.so", HEADER)
    assert line, "the header says how a shared library is made"
    files = sorted(file for file in CORE.glob("*.c") if file.name not in left_out())
    command = ["cc", "-O0", *line[1].split(), *map(str, files), *UNDEFINED, "-o", "libndcore.so"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "libndcore.so"


@pytest.fixture(scope="module")
def c(library: Path) -> Any:
    core = ctypes.CDLL(str(library))
    for result, name, parameters in PROTOTYPES:
        function = getattr(core, name)
        function.restype = c_type(result)
        function.argtypes = [c_type(each) for each in re.sub(r"\s+", " ", parameters).split(", ") if each != "void"]
    return core


@pytest.fixture(params=["portable", ""], ids=["portable", "fastest"])
def forms(c: Any, request: pytest.FixtureRequest) -> None:
    assert c.nd_use(request.param.encode()) is None


def drawn_words(seed: int, n: int) -> list[int]:
    return list(itertools.islice(generator(seed), n))


def words(values: Any, dtype: Any = np.uint64) -> np.ndarray[Any, Any]:
    return np.array([int(v, 16) if isinstance(v, str) else v for v in values], dtype)


def recipe(c: Any, **members: Any) -> Recipe:
    made = Recipe()
    c.nd_recipe_init(ctypes.byref(made), ctypes.sizeof(made))
    for name, value in members.items():
        if "polynomial" in name:
            getattr(made, name)[0] = value & LOW
        else:
            setattr(made, name, value)
    return made


class Sketcher:
    """A sketcher in memory of exactly its size."""

    def __init__(self, c: Any, **members: Any) -> None:
        self.c, self.recipe = c, recipe(c, **members)
        size = c.nd_sketcher_size(ctypes.byref(self.recipe))
        self.memory = np.empty(size // 8, np.uint64)
        self.at = self.memory.ctypes.data
        error = c.nd_sketcher_init(self.at, size, ctypes.byref(self.recipe))
        assert error is None, error

    def scratch(self, n: int) -> np.ndarray[Any, Any]:
        return np.empty(self.c.nd_sketcher_scratch(self.at, n), np.uint8)

    def fingerprints(self, text: bytes) -> tuple[list[int], Counts]:
        out, counts = np.empty(self.c.nd_most_tokens(self.at, len(text)), np.uint64), Counts()
        scratch = self.scratch(len(text))
        n = self.c.nd_fingerprints(self.at, text, len(text), scratch.ctypes.data, out.ctypes.data, ctypes.byref(counts))
        return out[:n].tolist(), counts

    def symbols(self, text: bytes) -> list[int]:
        out = np.empty(self.c.nd_most_tokens(self.at, len(text)), np.uint64)
        return out[: self.c.nd_symbols(self.at, text, len(text), out.ctypes.data)].tolist()

    def signature(self, fingerprints: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        minima = np.empty(self.recipe.num_perm, np.dtype(f"u{self.recipe.minimum_bits // 8}"))
        assert self.c.nd_signature_size(self.at) == minima.nbytes
        self.c.nd_signature_begin(self.at, minima.ctypes.data)
        self.c.nd_signature_add(self.at, minima.ctypes.data, fingerprints.ctypes.data, len(fingerprints))
        return minima


def tape(c: Any, tokens: list[bytes]) -> bytes:
    room = ctypes.create_string_buffer(sum(8 + len(token) for token in tokens) + 1)
    at = ctypes.addressof(room)
    for token in tokens:
        at = c.nd_token_put(at, token, len(token))
    return room.raw[: at - ctypes.addressof(room)]


# ---------------------------------------------------------------------------------------------- the interface


def test_the_library_exports_the_header_and_the_list(library):
    """A function that is removed breaks programs: announce it in CHANGELOG.md, then run tools/interface.py."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here to read symbol tables with")
    lines = subprocess.run(["nm", "-g", str(library)], capture_output=True, text=True, check=True).stdout.splitlines()
    exported = {line.split()[-1].removeprefix("_") for line in lines if re.search(r" [A-TV-Z] ", line)}
    assert {name for _, name, _ in PROTOTYPES} == exported
    assert set(re.findall(r"^(nd_\w+)\(", INTERFACE.read_text("utf-8"), re.M)) - {"nd_sink"} == exported


def test_the_version_is_the_package_s(c):
    major, minor, patch = map(int, re.findall(r"#define ND_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER))
    assert nd.__version__.startswith(f"{major}.{minor}.{patch}")
    assert c.nd_version() == major * 1000000 + minor * 1000 + patch
    assert f'#define ND_VERSION_STRING "{nd.__version__}"' in HEADER
    assert f"\nVersion: {nd.__version__}\n" in (CORE / "ndcore.pc").read_text("utf-8")


def test_structs_have_the_sizes_that_programs_were_compiled_with(c):
    """Members are added at the end only, and never change places: these numbers are for ever, or for a major version."""
    assert [ctypes.sizeof(each) for each in (Recipe, Options, Counts)] == [104, 24, 24]
    made = recipe(c)
    assert made.size == 104 and bytes(made)[8:24] == bytes.fromhex("40000000 00000000 05000000 01000000".replace(" ", ""))
    assert (made.polynomial[0], made.token_polynomial[0]) == (POLYNOMIAL & LOW, TOKEN_POLYNOMIAL & LOW)
    assert (made.seed, made.num_perm, made.minimum_bits) == (1, 84, 32)


def test_programs_of_other_versions(c):
    """A newer program has more members. They may be set only if this version knows them."""
    newer = ctypes.create_string_buffer(b"\xff" * 160, 160)
    c.nd_recipe_init(newer, 160)
    assert newer.raw[:8] == (160).to_bytes(8, "little") and newer.raw[104:] == bytes(56)
    assert c.nd_recipe_check(newer) is None and c.nd_sketcher_size(newer) == c.nd_sketcher_size(ctypes.byref(recipe(c)))
    newer[159] = 1
    assert b"members that this version of ndcore does not know" in c.nd_recipe_check(newer)
    assert c.nd_sketcher_size(newer) == 0
    for size in (0, 103, 1 << 40):
        assert b"a size that it never had" in c.nd_recipe_check(ctypes.byref(recipe(c, size=size)))


@pytest.mark.parametrize(("members", "message"), [
    ({"key_bits": 128}, "key_bits is 64"), ({"unit": 11}, "unit is one of"), ({"width": 0}, "width is 1 to 65536"),
    ({"width": 65537}, "width is 1 to 65536"), ({"short_whole": 2}, "short_whole is 0 or 1"),
    ({"num_perm": 0}, "num_perm is 1 to 65536"), ({"num_perm": 65537}, "num_perm is 1 to 65536"),
    ({"minimum_bits": 16}, "minimum_bits is 32 or 64"), ({"polynomial": 2}, "must be irreducible"),
    ({"token_polynomial": 0}, "must be irreducible"), ({"polynomial": TOKEN_POLYNOMIAL}, "must be different"),
    ({"token_polynomial": 0x15F9968BB90FD8193}, "must be different"),
])  # fmt: skip
def test_recipes_that_are_refused(c, members, message):
    refused = recipe(c, **members)
    assert message in c.nd_recipe_check(ctypes.byref(refused)).decode()
    assert c.nd_sketcher_size(ctypes.byref(refused)) == 0
    memory = np.zeros(20_000, np.uint64)
    assert message in c.nd_sketcher_init(memory.ctypes.data, memory.nbytes, ctypes.byref(refused)).decode()
    assert not memory.any()


def test_memory_that_is_refused(c):
    made = recipe(c)
    size = c.nd_sketcher_size(ctypes.byref(made))
    memory = np.zeros(size // 8 + 1, np.uint64)
    for at, bytes_there in ((None, size), (memory.ctypes.data, size - 1), (memory.ctypes.data + 4, size)):
        assert b"needs nd_sketcher_size() bytes, aligned to 8" in c.nd_sketcher_init(at, bytes_there, ctypes.byref(made))
    assert not memory.any()


@pytest.mark.parametrize(("demand", "message"), [
    ("fastest", 'forms are "portable", or'), ("minhash=avx1", "no form of this name"), ("minhash=", "no form of this name"),
    ("portable,text", 'forms are "portable", or'), ("hash=portable", "no kernel of this"), ("=portable", "no kernel"),
])  # fmt: skip
def test_forms_that_are_refused_change_nothing(c, demand, message):
    assert c.nd_use(None) is None
    before = c.nd_running(b"minhash")
    assert message in c.nd_use(("rabin=portable," + demand).encode()).decode()
    assert c.nd_running(b"minhash") == before and c.nd_running(b"hash") is None


def test_forms(c):
    for stem, forms in nd.variants().items():
        if stem in ("bitmaps", "digest", "pairs", "weighted"):  # not of the C interface
            continue
        for name, state in forms.items():
            error = c.nd_use(f" , {stem} =\t{name} ".encode())
            assert (error is None) == (state != "not on this CPU")
            if error is None:
                assert c.nd_running(stem.encode()).decode() == name
    assert c.nd_use(b"portable,") is None
    assert {c.nd_running(name) for name in (b"text", b"rabin", b"hamming")} == {b"portable"}


# ---------------------------------------------------------------------------------------------- golden vectors


def test_texts(c, forms, vectors):
    sketchers = {unit: Sketcher(c, unit=number, width=1) for unit, number in UNITS.items()}
    tried = 0
    for case in vectors("text")["vectors"]:
        if case["normalize"] == "NFKC":
            continue
        unit = kernel_unit(case["unit"], case["normalize"])
        sketcher, text, tried = sketchers[unit], bytes.fromhex(case["input"]), tried + 1
        out = np.empty(c.nd_canonical_size(len(text)), np.uint8)
        n = c.nd_canonical(sketcher.at, text, len(text), out.ctypes.data)
        assert hashlib.blake2b(out[:n].tobytes(), digest_size=16).hexdigest() == case["canonical_digest"], case["note"]
        fingerprints, counts = sketcher.fingerprints(text)
        invalid = 0 if unit in ("line", "paragraph", "sentence", "byte") else case["invalid_bytes"]  # these keep raw bytes
        assert (counts.tokens, counts.shingles, counts.invalid) == (len(case["tokens"]), len(case["tokens"]), invalid)
        assert len(sketcher.symbols(text)) == len(fingerprints) == counts.tokens
    assert tried > 300


def test_symbols_of_tokens(c, vectors):
    data = vectors("shingling")
    for low, known in [(TOKEN_POLYNOMIAL, data["symbols"]), *((int(q, 16), k) for q, k in data["other_symbols"].items())]:
        other = POLYNOMIAL if low != POLYNOMIAL else TOKEN_POLYNOMIAL
        sketcher = Sketcher(c, unit=UNITS["tokens"], token_polynomial=low, polynomial=other)
        text = tape(c, [bytes.fromhex(token) for token in known])
        assert sketcher.symbols(text) == [int(value, 16) for value in known.values()]
        out = np.empty(c.nd_canonical_size(len(text)), np.uint8)
        assert out[: c.nd_canonical(sketcher.at, text, len(text), out.ctypes.data)].tobytes() == text


@pytest.mark.parametrize("unit", ["tokens", "byte"])
def test_fingerprints(c, forms, vectors, same_as, unit):
    data = vectors("shingling")
    sketchers: dict[tuple[Any, ...], Sketcher] = {}
    tried = 0
    for case in data["tokens" if unit == "tokens" else "bytes"]:
        if case["labelled"] or case["short"] == "error":
            continue
        members = case["width"], int(case["short"] == "whole"), int(case["polynomial"], 16)
        if members not in sketchers:
            q = TOKEN_POLYNOMIAL
            sketchers[members] = Sketcher(c, unit=UNITS[unit], width=members[0], short_whole=members[1],
                                          polynomial=members[2], token_polynomial=q)
        text = (tape(c, [bytes.fromhex(token) for token in data["documents"][case["document"]]]) if unit == "tokens"
                else bytes.fromhex(data["inputs"][case["input"]]))
        fingerprints, counts = sketchers[members].fingerprints(text)
        same_as(fingerprints, case["fingerprints"])
        assert counts.shingles == len(fingerprints)
        tried += 1
    assert tried > 150


def test_signatures(c, forms, vectors, same_as):
    data = vectors("minhash")
    sets = {name: words(values) for name, values in data["sets"].items()}
    for case in data["signatures"]:
        sketcher = Sketcher(c, seed=int(case["seed"], 16), num_perm=case["num_perm"], minimum_bits=case["bits"])
        same_as(sketcher.signature(sets[case["set"]]).tolist(), case["values"])


def test_bottom_sketches(c, vectors, same_as):
    data = vectors("minhash")
    sets = {name: words(values) for name, values in data["sets"].items()}
    sketchers = {seed: Sketcher(c, seed=int(seed, 16)) for seed in {case["seed"] for case in data["bottoms"]}}
    scratch = np.empty(c.nd_bottom_scratch(sketchers["0x1"].at, 1 << 12), np.uint64)
    for case in data["bottoms"]:
        if case["bits"] == 64:
            values, at = sets[case["set"]], sketchers[case["seed"]].at
            out = np.empty(case["size"], np.uint64)
            assert c.nd_bottom_scratch(at, case["size"]) <= len(scratch)
            n = c.nd_bottom_sketch(at, values.ctypes.data, len(values), case["size"], scratch.ctypes.data, out.ctypes.data)
            same_as(out[:n].tolist(), case["values"])


def test_features_and_super_features(c, forms, vectors, same_as):
    data = vectors("features")
    signatures = data["signatures"].items()
    rows = {name: (each["bits"], words(each["minima"], f"u{each['bits'] // 8}")) for name, each in signatures}
    sketchers = {bits: Sketcher(c, num_perm=200, minimum_bits=bits) for bits in (32, 64)}
    found = {}
    for case in data["features"]:
        bits, row = rows[case["signature"]]
        out, scratch = np.empty(case["groups"], np.uint64), np.empty(case["group_size"] + 1, np.uint64)
        row = np.resize(row, 200)
        assert c.nd_features_of_signature(sketchers[bits].at, row.ctypes.data, case["groups"], case["group_size"],
                                          scratch.ctypes.data, out.ctypes.data) is None
        same_as(out.tolist(), case["values"])
        found[case["signature"], case["groups"], case["group_size"]] = out
    for case in data["super_features"]:
        features, need = found[case["signature"], case["groups"], case["group_size"]], case["need"]
        out = np.empty(c.nd_super_feature_count(case["groups"], need), np.uint64)
        scratch = np.empty(2 * need + 1, np.uint64)
        assert len(out) == math.comb(case["groups"], need)
        assert c.nd_super_features_of_features(sketchers[32].at, features.ctypes.data, case["groups"], need,
                                               scratch.ctypes.data, out.ctypes.data) is None
        same_as(out.tolist(), case["values"])
    for groups, group_size in ((0, 1), (1, 0), (201, 1), (7, 29), (2**63, 2)):
        assert b"take at most num_perm minima" in c.nd_features_of_signature(sketchers[32].at, None, groups, group_size,
                                                                             None, None)
    for groups, need, count in [(6, 0, 0), (6, 7, 0), (0, 0, 0), (65536, 1, 65536), (65537, 1, 0), (362, 2, 65341),
                                (363, 2, 0), (65536, 65535, 65536), (65536, 32768, 0), (18, 9, 48620), (20, 10, 0)]:
        assert c.nd_super_feature_count(groups, need) == count == (math.comb(groups, need) if count else 0)
    assert b"need is 1 to groups" in c.nd_super_features_of_features(sketchers[32].at, None, 6, 7, None, None)


def test_simhashes(c, forms, vectors):
    data = vectors("simhash")
    bags = {name: words(bag) for name, bag in data["bags"].items()}
    value = ctypes.c_uint64()
    for case in data["simhashes"]:
        bag, at = bags[case["bag"]], Sketcher(c, seed=int(case["seed"], 16)).at
        assert c.nd_simhash_of(at, bag.ctypes.data, None, len(bag), ctypes.byref(value)) == (len(bag) > 0)
        assert hex(value.value) == case["value"]
    sketcher = Sketcher(c)
    for case in data["weighted"]:
        bag, weights = bags[case["bag"]], words([weight_units(weight) for weight in case["weights"]], np.int32)
        found = c.nd_simhash_of(sketcher.at, bag.ctypes.data, weights.ctypes.data, len(bag), ctypes.byref(value))
        assert (found, hex(value.value)) == (int(weights.any()), case["value"])


def test_rabin_fingerprints(c, forms, vectors, same_as):
    data = vectors("rabin")
    inputs = {name: bytes.fromhex(value) for name, value in data["inputs"].items()}
    size = c.nd_fingerprinter_size()
    memory, out = np.empty(size // 8, np.uint64), ctypes.c_uint64()

    def prepared(p: str, window: int = 0) -> bool:
        degree = int(p, 16).bit_length() - 1
        low = ctypes.c_uint64(int(p, 16) ^ 1 << degree)
        if not 1 <= degree <= 64:
            return False
        assert c.nd_fingerprinter_init(memory.ctypes.data, size, ctypes.byref(low), degree, window) is None
        return True

    for case in data["fingerprint"]:
        if prepared(case["p"]):
            for name, value in case["values"].items():
                c.nd_fingerprint(memory.ctypes.data, inputs[name], len(inputs[name]), ctypes.byref(out))
                assert hex(out.value) == value
            assert c.nd_fingerprint_windows(memory.ctypes.data, b"abc", 3, None) == 0
    for case in data["sliding"]:
        if prepared(case["p"], case["window"]):
            text = inputs[case["input"]]
            values = np.empty(len(text) + 1, np.uint64)
            n = c.nd_fingerprint_windows(memory.ctypes.data, text, len(text), values.ctypes.data)
            same_as(values[:n].tolist(), case["values"])
    for case in data["concat"]:
        if prepared(case["p"]):
            a, b = (ctypes.c_uint64(int(case[name], 16)) for name in ("fa", "fb"))
            c.nd_fingerprint_join(memory.ctypes.data, ctypes.byref(a), ctypes.byref(b), case["len_b"], ctypes.byref(out))
            assert hex(out.value) == case["value"]
    for low, degree, message in ((27, 0, "degree is 1 to 64"), (27, 65, "degree is 1 to 64"), (2, 64, "must be irreducible"),
                                 (27, 4, "low below x^degree")):
        refused = c.nd_fingerprinter_init(memory.ctypes.data, size, ctypes.byref(ctypes.c_uint64(low)), degree, 0)
        assert message in refused.decode()
    low = ctypes.c_uint64(27)
    refused = c.nd_fingerprinter_init(memory.ctypes.data, size - 1, ctypes.byref(low), 64, 0)
    assert b"needs nd_fingerprinter_size()" in refused


# ---------------------------------------------------------------------------------------------- the whole way


PAGES = ["", "rose", "A rose is a rose is a rose; " * 300, "𝔘nicode \ufeffof 日本語の文章 here " * 9, "\udcff a b c d e f"]


@pytest.mark.parametrize("bits", [32, 64])
def test_one_call_from_text_to_sketches_as_in_python(c, forms, bits):
    sketcher = Sketcher(c, num_perm=100, minimum_bits=bits)
    hasher, simhasher = nd.MinHasher(100, bits=bits), nd.SimHasher()
    for page in PAGES:
        text, counts, simhash = page.encode("utf-8", "surrogatepass"), Counts(), ctypes.c_uint64()
        minima, scratch = np.empty(100, f"u{bits // 8}"), sketcher.scratch(len(text))
        c.nd_sketch(sketcher.at, text, len(text), scratch.ctypes.data, minima.ctypes.data, ctypes.byref(simhash),
                    ctypes.byref(counts))
        assert minima.tolist() == hasher.sketch(text).values[0].tolist()
        assert simhash.value == simhasher.sketch(text).values[0]
        assert counts.shingles == len(nd.Shingling().fingerprints(text))
        c.nd_sketch(sketcher.at, text, len(text), scratch.ctypes.data, None, None, None)
        alone = np.empty_like(minima)
        c.nd_sketch(sketcher.at, text, len(text), scratch.ctypes.data, alone.ctypes.data, None, None)
        np.testing.assert_array_equal(alone, minima)


def test_unions_and_estimates_of_signatures(c, forms):
    for bits in (32, 64):
        sketcher = Sketcher(c, num_perm=300, minimum_bits=bits)
        values = words(drawn_words(7, 500))
        a, b, both = (sketcher.signature(part) for part in (values[:400], values[100:], values))
        equal = int((a == b).sum())
        assert c.nd_signature_equal_minima(sketcher.at, a.ctypes.data, b.ctypes.data) == equal
        assert c.nd_signature_resemblance(sketcher.at, a.ctypes.data, b.ctypes.data) == equal / 300
        assert abs(equal / 300 - 0.6) < 0.15
        c.nd_signature_unite(sketcher.at, a.ctypes.data, b.ctypes.data)
        np.testing.assert_array_equal(a, both)


def test_sets_and_bottom_sketches_are_compared(c):
    sketcher = Sketcher(c)
    values = drawn_words(9, 600)
    for a, b in ((values[:400], values[200:]), (values[:3], values[1:2]), ([], values[:2]), ([], []),
                 (values[:1], values[1:])):  # fmt: skip
        x, y = words([*a, *a[:5]]), words(b)
        scratch = np.empty(1000, np.uint64)
        nx, ny = (c.nd_set_make(sketcher.at, each.ctypes.data, len(each), scratch.ctypes.data) for each in (x, y))
        assert (x[:nx].tolist(), y[:ny].tolist()) == (sorted(a), sorted(b))
        both = sketcher.at, x.ctypes.data, nx, y.ctypes.data, ny
        assert c.nd_set_common(*both) == len(set(a) & set(b))
        np.testing.assert_equal(c.nd_set_resemblance(*both), resemblance.resemblance(set(a), set(b)))
        np.testing.assert_equal(c.nd_set_containment(*both), resemblance.containment(set(a), set(b)))
        sketches = []
        for values_of in (a, b):
            given, out = words(values_of), np.empty(50, np.uint64)
            room = np.empty(c.nd_bottom_scratch(sketcher.at, 50), np.uint64)
            n = c.nd_bottom_sketch(sketcher.at, given.ctypes.data, len(given), 50, room.ctypes.data, out.ctypes.data)
            sketches.append((out, n))
        (s, ns), (t, nt) = sketches
        hashed = nd.BottomSketcher(50).sketch_hashes([*a, *b], [0, len(a), len(a) + len(b)])
        given = sketcher.at, s.ctypes.data, ns, t.ctypes.data, nt, 50
        np.testing.assert_equal(c.nd_bottom_resemblance(*given), hashed.resemblance(0, 1))
        np.testing.assert_equal(c.nd_bottom_containment(*given), hashed.containment(0, 1))


# ---------------------------------------------------------------------------------------------- Hamming distance


def near_keys(n: int, bits: int, distance: int) -> list[int]:
    """Return n keys; most are near another one, and some are repeated."""
    drawn = drawn_words(n + bits, 2 * n)
    keys: list[int] = []
    for i in range(n):
        fresh = drawn[2 * i] & (1 << bits) - 1
        flips = sum(1 << (drawn[2 * i + 1] >> 6 * j) % bits for j in range(distance)) & (1 << bits) - 1
        keys.append(fresh if i % 3 == 0 or not keys else keys[drawn[2 * i + 1] % len(keys)] ^ (flips if i % 3 == 1 else 0))
    return keys


def searched(c: Any, index: int, queries: np.ndarray[Any, Any], room: int) -> Iterator[tuple[int, int, int]]:
    state, done, out = np.zeros(4, np.uintp), ctypes.c_int(), np.empty(room, MATCH)
    while not done.value:
        n = c.nd_hamming_index_search(index, queries.ctypes.data, len(queries), state.ctypes.data, out.ctypes.data, room,
                                      ctypes.byref(done))
        assert n <= room
        yield from (tuple(map(int, match)) for match in out[:n].tolist())


@pytest.mark.parametrize(("n", "bits", "distance", "blocks"), [
    (0, 64, 3, 0), (1, 64, 3, 0), (700, 64, 3, 0), (700, 64, 3, 6), (700, 64, 0, 0), (300, 40, 2, 5), (300, 64, 1, 64),
    (300, 9, 2, 0), (64, 1, 0, 0), (200, 64, 10, 0), (200, 64, 10, 11), (200, 33, 4, 7),
])  # fmt: skip
def test_an_index_finds_all_near_keys_once(c, forms, n, bits, distance, blocks):
    listed = near_keys(n, bits, distance)
    keys, options = words(listed), Options()
    c.nd_hamming_options_init(ctypes.byref(options), ctypes.sizeof(options))
    assert (options.size, options.key_bits, options.max_distance, options.blocks) == (24, 64, 3, 0)
    options.key_bits, options.max_distance, options.blocks = bits, distance, blocks
    size = c.nd_hamming_index_size(ctypes.byref(options), n)
    index, scratch = np.empty(size // 8, np.uint64), np.empty(c.nd_hamming_index_scratch(n), np.uint8)
    assert c.nd_hamming_index_init(index.ctypes.data, size, ctypes.byref(options), keys.ctypes.data, n,
                                   scratch.ctypes.data) is None
    asked = [*listed[:40], *(key ^ 1 for key in listed[40:60]), *(v & (1 << bits) - 1 for v in drawn_words(1, 10))]
    queries, found = words(asked), set()
    rows = ctypes.c_void_p()
    for query, rank, at_distance in searched(c, index.ctypes.data, queries, 256):
        count = c.nd_hamming_index_rows(index.ctypes.data, rank, ctypes.byref(rows))
        for row in (ctypes.c_uint32 * count).from_address(rows.value):
            assert (query, row, at_distance) not in found
            found.add((query, row, at_distance))
    assert found == {(q, row, d) for q, query in enumerate(asked) for row, d in hamming.within(listed, query, distance)}
    assert c.nd_hamming_index_rows(index.ctypes.data, len(set(listed)), ctypes.byref(rows)) == 0


def test_positions_of_near_keys(c, forms):
    listed = near_keys(1000, 64, 3) + [5] * 700
    keys, out, at, found = words(listed), np.empty(300, np.uintp), ctypes.c_size_t(), ctypes.c_size_t()
    for query in (listed[10], 5):
        expected, positions = [row for row, _ in hamming.within(listed, query, 3)], []
        at.value = 0
        while at.value < len(listed):
            asked = ctypes.byref(ctypes.c_uint64(query))
            assert c.nd_hamming_near(keys.ctypes.data, len(listed), 64, asked, 3, ctypes.byref(at), out.ctypes.data, 300,
                                     ctypes.byref(found)) is None
            positions += out[: found.value].tolist()
        assert positions == expected
    for bits, room, message in ((128, 300, b"key_bits is 64"), (64, 255, b"room is at least 256")):
        assert message in c.nd_hamming_near(None, 0, bits, None, 3, None, None, room, None)


def test_indexes_that_are_refused(c):
    options, keys = Options(), words([1, 2, 3])

    def refusal(**members: int) -> str:
        c.nd_hamming_options_init(ctypes.byref(options), ctypes.sizeof(options))
        for name, value in members.items():
            setattr(options, name, value)
        size, scratch = 1 << 16, np.empty(c.nd_hamming_index_scratch(3), np.uint8)
        index = np.zeros(size // 8, np.uint64)
        error = c.nd_hamming_index_init(index.ctypes.data, size, ctypes.byref(options), keys.ctypes.data, 3,
                                        scratch.ctypes.data)
        assert not index.any()
        if c.nd_hamming_options_check(ctypes.byref(options)):
            assert c.nd_hamming_options_check(ctypes.byref(options)) == error
            assert c.nd_hamming_index_size(ctypes.byref(options), 3) == 0
        return error.decode()

    assert "a size that it never had" in refusal(size=20)
    assert "key_bits is 1 to 64" in refusal(key_bits=0) and "key_bits is 1 to 64" in refusal(key_bits=65)
    assert "max_distance is 0 to 10" in refusal(max_distance=11)
    assert "below key_bits" in refusal(key_bits=3, max_distance=3)
    assert "blocks is 0, or more than max_distance" in refusal(blocks=3) == refusal(blocks=65)
    assert "more than 1024 tables" in refusal(blocks=64)
    assert "reserved is 0" in refusal(reserved=1)
    assert "a key has bits above key_bits" in refusal(key_bits=1, max_distance=0)
    c.nd_hamming_options_init(ctypes.byref(options), ctypes.sizeof(options))
    index = np.zeros(10, np.uint64)
    assert "needs nd_hamming_index_size() bytes" in c.nd_hamming_index_init(
        index.ctypes.data, 80, ctypes.byref(options), keys.ctypes.data, 3, None).decode()
    assert c.nd_hamming_index_size(ctypes.byref(options), 2**32) == 0
    assert "fewer than 2^32 keys" in c.nd_hamming_index_init(index.ctypes.data, 80, ctypes.byref(options), None, 2**32,
                                                             None).decode()


Sink: Callable[..., Any] = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t)


def test_a_sink_gets_all_fingerprints_in_pieces(c):
    sketcher, text = Sketcher(c, width=2), b"a rose is a rose " * 400
    pieces: list[list[int]] = []
    take = Sink(lambda to, values, n: pieces.append(values[:n]))
    scratch = sketcher.scratch(len(text))
    c.nd_shingle_text(sketcher.at, text, len(text), scratch.ctypes.data, take, None, None)
    assert max(map(len, pieces)) <= 1024
    assert [value for piece in pieces for value in piece] == nd.Shingling(width=2).fingerprints(text).tolist()
