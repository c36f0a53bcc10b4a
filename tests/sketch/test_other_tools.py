"""Values of other tools: vectors, the reference, the tools themselves where they are installed, files, hostile input."""

from __future__ import annotations

import hashlib
import pickle
import re
import struct

import numpy as np
import pytest
from generated import hashes, splitmix64
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import other_tools as plain
from ndcore.sketch import scanoss
from ndcore.sketch.loading import sketcher_of

SCHEMES = ("legacy", "affine32", "affine64")
PACKAGES = ("1e0ng", "seomoz")
HASHERS = [*(nd.DatasketchHasher(9, 7, scheme) for scheme in SCHEMES), *map(nd.PackageSimHasher, PACKAGES),
           nd.ScanossWinnower()]
every_hasher = pytest.mark.parametrize("hasher", HASHERS, ids=lambda hasher: str(hasher.recipe["method"]))
ALPHABET = b"ab1Z _\n\r\x80"
sources = st.binary(max_size=300) | st.lists(st.sampled_from(list(ALPHABET)), max_size=700).map(bytes)


def joined(sets):
    return np.array([h for each in sets for h in each], np.uint64), np.cumsum([0, *map(len, sets)])


def rows(sk: nd.Winnowed) -> list[list[tuple[int, int]]]:
    """Return (line, fingerprint) of all documents."""
    pairs = list(zip(sk.positions.tolist(), sk.values.tolist(), strict=True))
    return [pairs[begin:end] for begin, end in zip(sk.offsets, sk.offsets[1:], strict=False)]


def made_by(hasher) -> nd.Sketches:
    """Sketch four documents: two that are equal, one that is not, and an empty one."""
    if isinstance(hasher, nd.ScanossWinnower):
        lines = b"".join(b"int value_%d = compute(%d);\n" % (i, i) for i in range(40))
        return hasher.sketch_many([lines, lines.upper(), lines[300:] + b"return 0;\n" * 30, b""])
    return hasher.sketch_tokens([["to", "be", "or", "not"], ["or", "be", "not", "to"], ["to", "be", "here"], []])


# ---------------------------------------------------------------------------------------------- vectors


def test_vectors_of_datasketch(vectors, same_as):
    data = vectors("othertools")
    for case in data["signatures"]:
        found = [int(h, 16) for h in data["sets"][case["set"]]]
        if case["scheme"] == "affine32":
            found = [h % 2**32 for h in found]
        sk = nd.DatasketchHasher(case["num_perm"], case["seed"], case["scheme"]).sketch_hashes(*joined([found]))
        assert sk.values.dtype == (np.uint64 if case["scheme"] == "affine64" else np.uint32)
        assert sk.valid.tolist() == [bool(found)]
        same_as(sk.values[0].tolist(), case["values"])


def test_vectors_of_hashes(vectors):
    data = vectors("othertools")["tokens"]
    hashers = [nd.DatasketchHasher(1), nd.DatasketchHasher(1, scheme="affine64"), *map(nd.PackageSimHasher, PACKAGES)]
    for column, hasher in enumerate(hashers):
        expected = [expected[column] for expected in data.values()]
        assert [hex(h) for h in hasher.hash_tokens(data).tolist()] == expected
        assert hasher.hash_tokens(token.encode() for token in data).tolist() == [int(h, 16) for h in expected]


def test_vectors_of_scanoss(vectors):
    data = vectors("othertools")
    made = nd.ScanossWinnower().sketch_many([bytes.fromhex(source) for source in data["sources"].values()])
    expected = [[(line, int(value, 16)) for line, value in found] for found in data["scanoss"].values()]
    assert rows(made) == expected
    assert sum(map(len, expected)) > 100
    assert made.valid.tolist() == [bool(found) for found in expected]


# ---------------------------------------------------------------------------------------------- by hand


def test_permutations_are_those_of_numpy():
    """The reference draws from MT19937 as written in 1998; ndcore from NumPy: neither knows the other."""
    for seed in (0, 3, 2**32 - 1):
        state = np.random.RandomState(seed)
        a, b = plain.datasketch_permutations("affine32", 5, seed)
        assert a == (state.randint(0, 2**31, 5, dtype=np.uint32) * 2 + 1).tolist()
        assert b == state.randint(0, 2**32, 5, dtype=np.uint32).tolist()


def test_the_fold_of_legacy_at_its_edges():
    """Products next to multiples of 2^61 − 1, where a sum of two parts has another residue than each."""
    prime = 2**61 - 1
    drawn = ((seed, *plain.datasketch_permutations("legacy", 1, seed)) for seed in range(20))
    seed, (a,), (b,) = next(each for each in drawn if each[1][0] % 2)
    inverse = pow(a, -1, 2**64)
    wanted = [k * prime + d for k in range(8) for d in (-1, 0, 1, 7) if k * prime + d >= 0] + [2**61, 2**64 - 1, 2**64 - 8]
    sets = [[(y - b) * inverse % 2**64] for y in wanted]
    found = nd.DatasketchHasher(1, seed, "legacy").sketch_hashes(*joined(sets))
    assert found.values[:, 0].tolist() == [y % prime % 2**32 for y in wanted]


def test_crc32c_is_that_of_the_rfc():
    """RFC 3720, B.4: 32 zeros, 32 ones, 0 … 31."""
    for data, crc in ((bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E)):
        assert scanoss.crc32c_windows(data, 32).tolist() == [crc] == [plain.crc32c(data)]
    assert scanoss.crc32c_windows(b"x123456789", 9).tolist()[1] == 0xE3069283
    assert scanoss.crc32c_windows(b"12345678", 9).tolist() == []


@pytest.mark.parametrize("n", [scanoss.BLOCK - 1, scanoss.BLOCK, scanoss.BLOCK + 1, 3 * scanoss.BLOCK])
def test_windows_over_the_blocks(n):
    data = b"".join(x.to_bytes(8, "big") for x, _ in zip(splitmix64(n), range(n // 8 + 2), strict=False))[: n + 3]
    found = scanoss.crc32c_windows(data, 4)
    for at in {0, 1, n - 1, min(n - 1, scanoss.BLOCK - 2), min(n - 1, scanoss.BLOCK)}:
        assert found[at] == plain.crc32c(data[at : at + 4])


def test_a_source_by_hand():
    """93 letters are the first with 64 grams; the line is at the last of them."""
    [first], [second] = rows(nd.ScanossWinnower().sketch_many([b"x\n" * 92 + b"y", b"x\n" * 92 + b"\n"]))[0], [None]
    grams = [plain.crc32c(b"x" * 30), plain.crc32c(b"x" * 29 + b"y")]
    assert first == (93, plain.crc32c(min(grams).to_bytes(4, "little"))) and second is None


# ---------------------------------------------------------------------------------------------- the reference


@given(st.lists(st.lists(hashes | st.integers(0, 3), max_size=30), min_size=1, max_size=4), st.sampled_from(SCHEMES),
       st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_datasketch_as_the_reference(sets, scheme, num_perm, seed):
    if scheme == "affine32":
        sets = [[h % 2**32 for h in each] for each in sets]
    found = nd.DatasketchHasher(num_perm, seed, scheme).sketch_hashes(*joined(sets))
    assert found.values.tolist() == [plain.datasketch_signature(each, scheme, num_perm, seed) for each in sets]


@given(st.lists(sources, max_size=3))
def test_sources_as_the_reference(documents):
    assert rows(nd.ScanossWinnower().sketch_many(documents)) == [plain.scanoss_fingerprints(each) for each in documents]


def test_threads_change_nothing():
    documents = [bytes(ALPHABET[x % 9] for x, _ in zip(splitmix64(n), range(n), strict=False)) for n in range(0, 3000, 100)]
    one = nd.ScanossWinnower().sketch_many(documents, threads=1)
    assert rows(one) == rows(nd.ScanossWinnower().sketch_many(documents, threads=3))
    texts = [document.decode("latin-1") for document in documents]
    hasher = nd.PackageSimHasher("1e0ng")
    assert hasher.sketch_many(texts, 1).values.tolist() == hasher.sketch_many(texts, 3).values.tolist()


# ---------------------------------------------------------------------------------------------- the tools themselves


@pytest.mark.parametrize("scheme", SCHEMES)
def test_values_of_datasketch_itself(scheme):
    datasketch = pytest.importorskip("datasketch", minversion="2.0")
    documents = [[b"w%d" % (i * x % 997) for i in range(x)] for x in (0, 1, 5, 300)]
    theirs = datasketch.MinHash.bulk(documents, num_perm=128, seed=5, scheme=scheme)
    hasher = nd.DatasketchHasher(128, 5, scheme)
    ours = hasher.sketch_tokens(documents)
    assert ours.values.tolist() == [m.hashvalues.tolist() for m in theirs]
    read = hasher.read_values([m.hashvalues for m in theirs])
    assert read.values.tolist() == ours.values.tolist() and read.valid.tolist() == ours.valid.tolist()
    assert ours.resemblance(2, 3) == theirs[2].jaccard(theirs[3])
    union = datasketch.MinHash.union(theirs[2], theirs[3])
    assert ours.union(2, 3).values[0].tolist() == union.hashvalues.tolist()
    for byteorder in ("@", "=", "<", ">", "!"):
        buffers = []
        for m in map(datasketch.LeanMinHash, theirs):
            buffers.append(bytearray(m.bytesize(byteorder)))
            m.serialize(buffers[-1], byteorder)
        lean = nd.DatasketchHasher.read_lean(buffers, byteorder)
        assert lean.recipe == hasher.recipe and lean.values.tolist() == ours.values.tolist()
        assert nd.DatasketchHasher.read_lean(b"".join(buffers), byteorder).values.tolist() == ours.values.tolist()


def test_values_of_scanoss_itself():
    winnowing = pytest.importorskip("scanoss.winnowing")
    theirs = winnowing.Winnowing(all_extensions=True)
    documents = [bytes(ALPHABET[x % 9] for x, _ in zip(splitmix64(n), range(n), strict=False)) for n in (0, 300, 5000)]
    found = [[(int(line), int(value, 16)) for line, listed in re.findall(r"(?m)^(\d+)=(.*)$", theirs.wfp_for_contents(
        "x.c", False, document)) for value in listed.split(",")] for document in documents]
    assert rows(nd.ScanossWinnower().sketch_many(documents)) == found


# ---------------------------------------------------------------------------------------------- the house's machinery


@every_hasher
def test_sketches_compare_and_are_saved(hasher, tmp_path):
    made = made_by(hasher)
    made.ids = ["a", "b", "c", "d"]
    assert made.valid.tolist() == [True, True, True, False]
    path = tmp_path / "s.nds"
    made.save(path)
    for loaded in (nd.load(path), nd.load(path, mmap=True), nd.load(path, verify=False)):
        assert type(loaded) is type(made) and loaded.recipe == made.recipe and loaded.ids == made.ids
        assert loaded.values.tolist() == made.values.tolist()
        assert (loaded.positions is None) == (made.positions is None)
        assert made.positions is None or loaded.positions.tolist() == made.positions.tolist()
        if isinstance(made, nd.Simhashes):
            assert loaded.distance(0, 1) == 0 and np.isnan(loaded.distance(0, 3))
        else:
            assert loaded.resemblance(0, 1) == 1 and 0 < loaded.resemblance(0, 2) < 1
            assert np.isnan(loaded.resemblance(0, 3))
            np.testing.assert_array_equal(loaded[1:].compare(other=made).resemblance, made.compare([[1], [2], [3]],
                                                                                                   [0, 1, 2, 3]).resemblance)
    assert len(made.concat(made)) == 8


@every_hasher
def test_a_recipe_makes_its_sketcher(hasher):
    again = sketcher_of(nd.Recipe.from_json(hasher.recipe.to_json()))
    assert again == hasher == pickle.loads(pickle.dumps(hasher)) and hash(again) == hash(hasher)
    assert type(again) is type(hasher)
    assert made_by(again).values.tolist() == made_by(hasher).values.tolist()
    assert repr(hasher).startswith(f"<{type(hasher).__name__}, recipe ")


@pytest.mark.parametrize("hasher", [nd.ScanossWinnower(), nd.PackageSimHasher("1e0ng"), nd.PackageSimHasher("seomoz")],
                         ids=repr)
def test_values_without_a_seed_have_the_seed_0(hasher):
    assert hasher.seed == hasher.recipe["seed"] == 0


def test_no_recipes_are_equal():
    assert len({hasher.recipe.id for hasher in HASHERS}) == len(HASHERS)
    with pytest.raises(nd.RecipeMismatch, match="method is 'datasketch-legacy' here and 'permutations' there"):
        made_by(HASHERS[0]).compare(other=nd.MinHasher(9, seed=7).sketch_many(["a"]))
    with pytest.raises(nd.RecipeMismatch):
        made_by(HASHERS[3]).concat(made_by(HASHERS[4]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_index_of_bands(scheme, tmp_path):
    """Cluster and query by LSH: signatures alone, and new ones of the same recipe."""
    hasher = nd.DatasketchHasher(128, scheme=scheme)
    documents = [[f"{i}-{j}" for j in range(60)] for i in range(30)]
    documents += [[*document[:57], "x", "y", "z"] for document in documents]
    signatures = hasher.sketch_tokens(documents)
    signatures.ids = [f"d{i}" for i in range(60)]
    index = nd.Collection.build(tmp_path / "c", signatures, threshold=0.7, method="features")
    assert index.clustering.labels.tolist() == [*range(30), *range(30)]
    found = index.query(hasher.sketch_tokens([[*documents[4][:59], "new"]]))
    assert [each.id for each in found] == ["d4", "d34"] and found[0].resemblance > 0.9
    assert nd.features(signatures, 16, 8).shape == (60, 16)
    with pytest.raises(ValueError, match="one document, got 2 sketches"):
        index.query(signatures[:2])
    with pytest.raises(nd.RecipeMismatch):
        index.query(nd.DatasketchHasher(128, 2, scheme).sketch_tokens([["a"]]))
    with pytest.raises(TypeError, match="DatasketchHasher has no rule by which texts become features"):
        index.query("a text")


def test_fingerprints_are_ranked():
    made = made_by(nd.ScanossWinnower())
    ranking = nd.rank_pairs(made)
    assert (ranking.pairs.a[0], ranking.pairs.b[0]) == (0, 1)
    with pytest.raises(TypeError, match="lines"):
        ranking.blocks(0, 1)


def test_values_of_variants(each_variant_of_minhash):
    sets = [[h % 2**32 for h, _ in zip(splitmix64(1), range(700), strict=False)], [1]]
    for scheme in SCHEMES:
        for k in (1, 3, 33, 65):
            found = nd.DatasketchHasher(k, 3, scheme).sketch_hashes(*joined(sets)).values.tolist()
            assert found == [plain.datasketch_signature(each, scheme, k, 3) for each in sets]


@pytest.fixture(params=nd.variants()["minhash"])
def each_variant_of_minhash(request):
    try:
        with nd.using(minhash=request.param):
            yield
    except (ValueError, RuntimeError) as error:
        pytest.skip(str(error))


# ---------------------------------------------------------------------------------------------- reading


def lean(seed, minima, code=0, order="<"):
    """Serialize by the definition: seed, number (negative with a code), code, minima."""
    head = struct.pack(f"{order}qi", seed, -len(minima) if code else len(minima)) + bytes([code] if code else [])
    return head + struct.pack(f"{order}{len(minima)}{'Q' if code == 2 else 'I'}", *minima)


@pytest.mark.parametrize("code, scheme", [(0, "legacy"), (1, "affine32"), (2, "affine64")])
@pytest.mark.parametrize("order", ["<", ">", "!", "="])
def test_lean_bytes_by_the_definition(code, scheme, order):
    most = 2**64 - 1 if code == 2 else 2**32 - 1
    data = [lean(5, [1, 2, most], code, order), lean(5, [most] * 3, code, order)]
    for given_as in (data, b"".join(data), bytearray(b"".join(data)), memoryview(data[0] + data[1]), iter(data)):
        sk = nd.DatasketchHasher.read_lean(given_as, order, ids=[7, 8])
        assert sk.values.tolist() == [[1, 2, most], [most] * 3] and sk.valid.tolist() == [True, False]
        assert sk.recipe == nd.DatasketchHasher(3, 5, scheme).recipe and sk.ids == [7, 8]


def test_lean_bytes_with_padding():
    """Native order aligns: 3 bytes before minima of affine32 and affine64."""
    for code, width in ((1, "I"), (2, "Q")):
        data = struct.pack(f"@qiB2{width}", 1, -2, code, 3, 4)
        assert len(data) == 16 + 2 * struct.calcsize(width)
        assert nd.DatasketchHasher.read_lean(data).values.tolist() == [[3, 4]]


@pytest.mark.parametrize("data, message", [
    ([], "there are no bytes of a LeanMinHash"), (b"", "there are no bytes"),
    (b"\0" * 11, "at least 12 bytes, got 11"),
    (lean(1, [1, 2])[:-1], r"buffers\[0\] has 19 bytes; a LeanMinHash of 2 minima by 'legacy' has 20"),
    ([lean(1, [1, 2]), b""], r"buffers\[1\] has 0 bytes"), ([lean(1, [1, 2]), lean(1, [1])], r"buffers\[1\] has 16 bytes"),
    ([lean(1, [1, 2]), lean(2, [1, 2])], "sketch 1 has seed 2, 2 minima and scheme 'legacy', the first one 1, 2"),
    (lean(1, []), r"minima must be an int of 1 to 65536, got 0: is byteorder='<' right\?"),
    (lean(1, [1], 3), "code 1 or 2, got 3"), (struct.pack("<qi", 1, -5), "at least 12 bytes, got 12"),
    (struct.pack("<qi", 1, 2**31 - 1), "got 2147483647"), (struct.pack("<qib", 1, -(2**31), 2), "got 2147483648"),
    (lean(-1, [1]), "the seed is -1"), (lean(2**40, [1]), r"the seed is 1099511627776; .* 4294967295"),
    (lean(1, [1, 2], order=">"), "byteorder='<' right"),
])
def test_lean_bytes_that_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        nd.DatasketchHasher.read_lean(data, "<")


def test_values_that_are_refused():
    hasher = nd.DatasketchHasher(2)
    for values, error, message in (
        ([1, 2], ValueError, r"shape \(n, 2\), got \(2,\)"), ([[1, 2, 3]], ValueError, r"got \(1, 3\)"),
        ([[1, -1]], ValueError, "32 bits, got -1"), ([[1, 2**32]], ValueError, "32 bits, got 4294967296"),
        ([[0.5, 1]], TypeError, "got float64"),
    ):
        with pytest.raises(error, match=message):
            hasher.read_values(values)
    assert len(hasher.read_values(np.empty((0, 2), np.uint32))) == 0
    wide = nd.DatasketchHasher(2, scheme="affine64").read_values(np.array([[1, 2**64 - 1]], np.uint64))
    assert wide.values.tolist() == [[1, 2**64 - 1]]
    with pytest.raises(ValueError, match="32 bits, got 4294967296; give the low 32 bits"):
        hasher.sketch_hashes([1, 2**32], [0, 2])
    for arguments in ((0,), (65537,), (2, -1), (2, 2**32), (2, 1, "affine16")):
        with pytest.raises(ValueError, match=r"num_perm|seed|scheme"):
            nd.DatasketchHasher(*arguments)
    with pytest.raises(ValueError, match="package must be one of 1e0ng, seomoz, got 'x'"):
        nd.PackageSimHasher("x")
    with pytest.raises(ValueError, match="unsigned 64-bit integers, got -1"):
        nd.PackageSimHasher("1e0ng").read_values([-1])
    assert nd.PackageSimHasher("1e0ng").read_values([0, 2**64 - 1]).valid.tolist() == [False, True]


def test_features_that_are_refused():
    hasher = nd.DatasketchHasher(2)
    with pytest.raises(TypeError, match=r"documents\[1\] is a str, a single text; give its tokens"):
        hasher.sketch_tokens([["a"], "a b"])
    with pytest.raises(TypeError, match=r"documents\[0\]\[1\] is a int; features are str or bytes"):
        hasher.sketch_tokens([["a", 1]])
    with pytest.raises(TypeError, match="tokens is a bytes"):
        hasher.hash_tokens(b"a b")
    for refused in (hasher, nd.PackageSimHasher("seomoz")):
        for call in (lambda r: r.sketch("a b"), lambda r: r.sketch_many(["a b"]), lambda r: r.shingling):
            with pytest.raises(TypeError, match="no rule by which texts become features"):
                call(refused)
    with pytest.raises(ValueError, match="text 1 is not UTF-8"):
        nd.PackageSimHasher("1e0ng").sketch_many(["a", b"\xff"])
    for call in (lambda r: r.sketch_hashes([1], [0, 1]), lambda r: r.sketch_tokens([["a"]]), lambda r: r.hash_tokens(["a"])):
        with pytest.raises(TypeError, match="lines of a source, which hashes do not tell"):
            call(nd.ScanossWinnower())


WFP = """component={md5},archive.zip
file={md5},5000,src/a, b.c
fh2={md5}
hpsm=00ff
4=579be9fb
5=9d9eefda,58533be6
5=6bb11697

file={md5},12,naïve.bin
file={md5},900,c.py
start_line=3
7=00000001
""".format(md5="cae3ae667a54d731ca934e2867b32aaa")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_fingerprints(end, tmp_path):
    path = tmp_path / "x.wfp"
    path.write_bytes(WFP.replace("\n", end).encode() + b"")
    read = nd.ScanossWinnower().read_wfp(path)
    assert read.ids == ["src/a, b.c", "naïve.bin", "c.py"] and read.valid.tolist() == [True, False, True]
    assert rows(read) == [[(4, 0x579BE9FB), (5, 0x9D9EEFDA), (5, 0x58533BE6), (5, 0x6BB11697)], [], [(7, 1)]]
    assert np.isnan(read.sizes[0]) and read.sizes[1] == 0
    read.save(tmp_path / "x.nds")
    assert rows(nd.load(tmp_path / "x.nds")) == rows(read)


def test_fingerprints_that_were_written_are_read(tmp_path):
    """Write a WFP of what was computed, line by line, and compare."""
    made = made_by(nd.ScanossWinnower())
    text = ""
    for i, found in enumerate(rows(made)):
        text += f"file={hashlib.md5(b'').hexdigest()},1,f{i}\n" + "".join(f"{line}={value:08x}\n" for line, value in found)
    path = tmp_path / "x.wfp"
    path.write_text(text)
    read = nd.ScanossWinnower().read_wfp(str(path))
    assert rows(read) == rows(made) and read.recipe == made.recipe
    assert read.compare([0, 2], [0, 2], other=made).resemblance.tolist() == [1, 1]


@pytest.mark.parametrize("line, message", [
    ("3=579be9fb", r"line 13: b'3=579be9fb' follows line 7; lines ascend from 1"), ("0=579be9fb", "follows line 7"),
    ("8=579be9f", "is not a line of a WFP"), ("8=579be9fb,", "is not a line"), ("8=", "is not a line"),
    ("x", "is not a line"), ("9" * 19 + "=579be9fb", "is not a line"), ("file=abc,1,x", "is not a line"),
    ("-1=579be9fb", "is not a line"),
    ("8=579be9fg", "is not a line"),
])
def test_lines_that_are_refused(line, message, tmp_path):
    path = tmp_path / "x.wfp"
    path.write_text(WFP + line + "\n")
    with pytest.raises(ValueError, match=message):
        nd.ScanossWinnower().read_wfp(path)
    path.write_text("4=579be9fb\n")
    with pytest.raises(ValueError, match="line 1: b'4=579be9fb' comes before the first file= line"):
        nd.ScanossWinnower().read_wfp(path)


@pytest.mark.parametrize("change, message", [
    ({"method": "datasketch-other"}, "method is 'datasketch-other'"), ({"method": "scanoss"}, "method is 'scanoss'"),
])
def test_files_of_unknown_methods_are_refused(change, message, tmp_path):
    made = made_by(HASHERS[0])
    made.recipe = nd.Recipe({**made.recipe.parameters, **change})
    made.save(tmp_path / "x.nds")
    with pytest.raises(nd.CorruptFile, match=message):
        nd.load(tmp_path / "x.nds")


@pytest.mark.parametrize("lines, values", [([3, 2], [1, 1]), ([0, 1], [1, 1]), ([1, 1], [1, 2**32])])
def test_forged_lines_are_refused(lines, values, tmp_path):
    forged = nd.Winnowed(np.array(values, np.uint64), nd.ScanossWinnower().recipe, offsets=np.array([0, 2]),
                         sizes=np.array([np.nan]), sizes_exact=np.array([False]), valid=np.array([True]),
                         positions=np.array(lines))
    forged.save(tmp_path / "x.nds")
    with pytest.raises(nd.CorruptFile, match=r"lines of a document|32 bits"):
        nd.load(tmp_path / "x.nds")
