"""``ndcore hamming``: files of every kind, output to the line, refusals with their exit codes."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest

import ndcore as nd
from ndcore.cli.main import main
from ndcore.reference import hamming as reference

VALUES = [5, 4, 7, 2**63 + 5, 5, 10 << 40]
QUERIES = [5, 2**63]
PAIRS = [(i, j, reference.distance(a, b)) for i, a in enumerate(VALUES) for j, b in enumerate(VALUES)
         if i < j and reference.distance(a, b) <= 1]


def run(*arguments):
    return main(["hamming", *(str(argument) for argument in arguments)])


def refused(capsys, code, *arguments):
    try:
        assert run(*arguments) == code
    except SystemExit as stop:
        assert stop.code == code
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def rows(text):
    return [tuple(line.split("\t")) for line in text.splitlines()]


@pytest.fixture
def files(tmp_path):
    """Write the same fingerprints to files of every kind; return them with the options to read them."""
    array = np.array(VALUES, np.uint64)
    np.save(tmp_path / "f.npy", array)
    array.astype("<u8").tofile(tmp_path / "f.u64")
    (tmp_path / "hex.txt").write_text("".join(f"id{i},{v:#x}\n\n" for i, v in enumerate(VALUES)))
    (tmp_path / "bare.hex").write_text("".join(f"{v:016x}\n" for v in VALUES))
    (tmp_path / "decimal.tsv").write_text("".join(f"{v}\tid {i}\n" for i, v in enumerate(VALUES)))
    found = {"f.npy": [], "f.u64": [], "hex.txt": ["--field", 2], "bare.hex": ["--format", "hex"], "decimal.tsv": []}
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return tmp_path, found
    parquet.write_table(pa.table({"name": [f"id{i}" for i in range(6)], "f": array}), tmp_path / "f.parquet")
    return tmp_path, found | {"f.parquet": ["--field", "f"]}


def test_every_kind_of_file_gives_the_same_pairs(files, capsys):
    folder, options = files
    for name, how in options.items():
        assert run("pairs", folder / name, *how, "--max-distance", 1) == 0
        assert rows(capsys.readouterr().out) == [tuple(map(str, row)) for row in PAIRS], name


def test_build_query_and_info(files, capsys):
    folder, _ = files
    assert run("build", folder / "decimal.tsv", "--id-field", 2, "-o", folder / "index", "--max-distance", 1) == 0
    assert "Indexed 6 fingerprints" in capsys.readouterr().out
    assert run("query", folder / "index", "5", "0x8000000000000000") == 0
    assert rows(capsys.readouterr().out) == [
        ("5", "id 0", "0"), ("5", "id 4", "0"), ("5", "id 1", "1"), ("5", "id 2", "1"), ("5", "id 3", "1")]
    (folder / "q.txt").write_text("a 5\nb 4\n")
    assert run("query", folder / "index", "--queries", folder / "q.txt", "--field", 2, "--id-field", 1, "--json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found[0] == {"query": "a", "id": "id 0", "distance": 0}
    assert {row["query"] for row in found} == {"a", "b"}
    assert run("info", folder / "index") == 0
    told = capsys.readouterr().out
    assert "6 fingerprints of 64 bits" in told
    assert "exact within 1" in told


def test_a_compressed_index_answers_the_same_and_is_smaller(tmp_path, capsys):
    rng = random.Random(9)
    np.save(tmp_path / "f.npy", np.array([rng.getrandbits(64) for _ in range(20_000)], np.uint64))
    for name, how in {"plain": [], "compressed": ["--compress"]}.items():
        assert run("build", tmp_path / "f.npy", "-o", tmp_path / name, "-q", *how) == 0
    assert (tmp_path / "compressed").stat().st_size < 0.9 * (tmp_path / "plain").stat().st_size
    found = []
    for name in ("plain", "compressed"):
        assert run("query", tmp_path / name, "--queries", tmp_path / "f.npy") == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert found[0].count("\n") >= 20_000


def test_join_is_the_index_the_other_way_round(tmp_path, capsys):
    rng = random.Random(4)
    values = [rng.getrandbits(64) for _ in range(500)]
    np.save(tmp_path / "all.npy", np.array(values, np.uint64))
    np.save(tmp_path / "some.npy", np.array(values[::50], np.uint64))
    assert run("join", tmp_path / "some.npy", tmp_path / "all.npy", "-q") == 0
    assert rows(capsys.readouterr().out) == [(str(i), str(50 * i), "0") for i in range(10)]


def test_plan_prints_the_designs_of_the_paper(capsys):
    assert run("plan", "--splits", "6") == 0
    assert capsys.readouterr().out.startswith("20 tables of 2^34 fingerprints of 64 bits: exact within 3\n")
    assert run("plan", "--tables", 10, "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert len(plan["tables"]) == 10
    assert plan["matches"] == 512
    assert nd.plan_tables(splits=(5,)).prefixes == tuple(table["prefix"] for table in plan["tables"])


def test_files_of_other_bits_are_named(tmp_path, capsys):
    """Refuse, before anything is compared, fingerprints of other words than the option, the queries or the index have."""
    narrow, wide, index = tmp_path / "n.npy", tmp_path / "w.npy", tmp_path / "w.ndh"
    np.save(narrow, np.arange(8, dtype=np.uint64))
    np.save(wide, np.arange(8, dtype=np.uint64).reshape(4, 2))
    assert run("build", wide, "-o", index, "-q") == 0
    for arguments, path, bits, asked in (
        (["pairs", wide, "--bits", 64], wide, 128, 64), (["pairs", narrow, "--bits", 128], narrow, 64, 128),
        (["build", wide, "--bits", 256, "-o", tmp_path / "x"], wide, 128, 256), (["join", narrow, wide], wide, 128, 64),
        (["join", wide, narrow], narrow, 64, 128), (["join", narrow, index], index, 128, 64),
        (["query", index, "--queries", narrow], narrow, 64, 128),
    ):
        assert run(*arguments) in (1, 2)
        assert f"{path} holds fingerprints of {bits} bits; asked are {asked}" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["query", "none", "5"], 2, "there is no none"),
    (["query", "f.npy", "5"], 2, "f.npy is not an index; make one with ndcore hamming build"),
    (["query", "index"], 2, "give fingerprints to look for"),
    (["query", "index", "zz"], 2, "'zz' is not a decimal number below 2^64; write hexadecimal ones with 0x"),
    (["query", "index", "0x1ffffffffffffffff"], 2, "is not a hexadecimal number below 2^64"),
    (["build", "f.npy", "-o", "index"], 2, "exists already"),
    (["build", "f.npy", "-o", "nowhere/index"], 2, "there is no directory"),
    (["build", "absent.npy", "-o", "new"], 1, "No such file"),
    (["build", "f.npy", "--field", "2", "-o", "new"], 2, "has no columns"),
    (["build", "decimal.tsv", "--field", "x", "-o", "new"], 2, "columns are numbered from 1"),
    (["build", "decimal.tsv", "--field", "9", "-o", "new"], 1, "decimal.tsv:1: 2 columns; there must be 9"),
    (["build", "bare.hex", "--format", "decimal", "-o", "new"], 1, "bare.hex:6: '00000a0000000000' is not a"),
    (["build", "f.npy", "--memory", "1", "-o", "new"], 2, "allow more"),
    (["plan", "--splits", "3"], 2, "every level needs at least 4 blocks"),
    (["plan", "--splits", "x"], 2, "is not a list of numbers of blocks"),
    (["plan", "--max-distance", "11"], 2, "0 to 10"),
    (["pairs", "f.npy", "--max-distance", "70"], 2, "from 0 to 31"),
])
def test_what_is_refused(files, capsys, monkeypatch, arguments, code, message):
    folder, _ = files
    monkeypatch.chdir(folder)
    nd.HammingIndex(VALUES).save("index")
    assert message in refused(capsys, code, *arguments)


def test_the_format_counts_not_the_suffix(files, capsys):
    folder, _ = files
    array = (folder / "f.npy").read_bytes()
    for name in ("array", "F.NPY"):
        (folder / name).write_bytes(array)
        for options in (["--format", "npy"], []):
            assert run("pairs", folder / name, *options, "--max-distance", 1, "-q") == 0
            assert rows(capsys.readouterr().out) == [tuple(map(str, row)) for row in PAIRS]
    (folder / "raw.npy").write_bytes((folder / "f.u64").read_bytes())
    assert run("pairs", folder / "raw.npy", "--format", "raw", "--max-distance", 1, "-q") == 0
    assert rows(capsys.readouterr().out) == [tuple(map(str, row)) for row in PAIRS]


@pytest.mark.parametrize(("content", "message"), [
    (b"\x93NUMPY\x01\0", "no sound array of NumPy"), (b"PAR1\0\0\0\0", "begins like Parquet"),
    (b"\x1f\x8b\x08\0\0\0\0\0", "begins like a compressed file"),
    (b"\x28\xb5\x2f\xfd\0\0\0\0", "begins like a compressed file"),
    (b"\x89NDCORE\n", "cut short"),
])
def test_other_files_are_not_taken_for_raw_ones(tmp_path, capsys, content, message):
    (tmp_path / "some").write_bytes(content)
    assert message in refused(capsys, 1, "build", tmp_path / "some", "-o", tmp_path / "new")
    assert message in refused(capsys, 1, "join", tmp_path / "some", tmp_path / "some")
    assert run("build", tmp_path / "some", "--format", "raw", "-o", tmp_path / "new", "-q") == 0


def test_pairs_of_an_index_take_no_other_distance(tmp_path, capsys):
    nd.HammingIndex(VALUES, max_distance=1).save(tmp_path / "index")
    for option, value in (("--max-distance", 1), ("--bits", 64), ("--format", "hex"), ("--field", 1), ("--id-field", 1)):
        assert f"is an index, which keeps the distance and the bits it was made for; leave {option} out" in refused(
            capsys, 2, "pairs", tmp_path / "index", option, value)
    assert run("pairs", tmp_path / "index") == 0
    assert rows(capsys.readouterr().out) == [tuple(map(str, row)) for row in PAIRS]


def test_a_closed_standard_output_is_an_error(tmp_path, monkeypatch, capsys):
    np.save(tmp_path / "f.npy", np.array(VALUES, np.uint64))
    monkeypatch.setattr(sys, "stdout", None)
    assert run("pairs", tmp_path / "f.npy") == 1
    assert "standard output: Bad file descriptor" in capsys.readouterr().err


@pytest.mark.parametrize(("content", "message"), [
    (b"", "no array of NumPy"), (b"junkjunk", "no array of NumPy"), (b"\x93NUMPY", "no sound array of NumPy"),
])
def test_arrays_that_are_none(tmp_path, capsys, content, message):
    (tmp_path / "f.npy").write_bytes(content)
    assert f"f.npy: {message}" in refused(capsys, 1, "pairs", tmp_path / "f.npy")
    np.save(tmp_path / "f.npy", np.array(VALUES, np.uint64))
    (tmp_path / "f.npy").write_bytes((tmp_path / "f.npy").read_bytes()[:-1])
    assert "f.npy: no sound array of NumPy" in refused(capsys, 1, "pairs", tmp_path / "f.npy")


@pytest.mark.parametrize(("text", "options", "expected"), [
    ("\ufeff5\r\n4\r\n", [], [("0", "1", "1")]), ("0XfF\n0xFE\n", [], [("0", "1", "1")]),
    ("FF\nfe\n", ["--format", "hex"], [("0", "1", "1")]),
    ("\t5\t9\nb\t4\t1\n", ["--field", 2, "--id-field", 1], [("", "b", "1")]),
    ("a, 5 ,9\n,4,1\n", ["--field", 2, "--id-field", 1], [("a", "", "1")]), ("  5   x\n\n 4 y\n", [], [("0", "1", "1")]),
])
def test_text_of_all_kinds(tmp_path, capsys, text, options, expected):
    (tmp_path / "f.txt").write_bytes(text.encode())
    assert run("pairs", tmp_path / "f.txt", *options, "-q") == 0
    assert rows(capsys.readouterr().out) == expected


def test_text_that_is_none(tmp_path, capsys):
    (tmp_path / "f.txt").write_bytes("5\n4\n".encode("utf-16"))
    assert "f.txt:1: byte 0xff is not UTF-8; text is read as UTF-8" in refused(capsys, 1, "pairs", tmp_path / "f.txt")
    (tmp_path / "f.txt").write_text("9" * 6000)
    assert len(refused(capsys, 1, "pairs", tmp_path / "f.txt")) < 300
    (tmp_path / "f.txt").write_text("5 a\0\n")
    assert "column '2': ids do not end with a NUL" in refused(capsys, 1, "pairs", tmp_path / "f.txt", "--id-field", 2)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_text(tmp_path, name):
    (tmp_path / "f.txt").write_text("5\n0x4\n12345\n12344\n")
    np.save(tmp_path / "f.npy", np.array([4], np.uint64))

    def piped(*arguments):
        command = [sys.executable, "-m", "ndcore", "hamming", *map(str, arguments)]
        with (tmp_path / "f.txt").open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
            done = subprocess.run(command, stdin=cat.stdout, capture_output=True, text=True, timeout=60)
        return done.returncode, rows(done.stdout), done.stderr

    how = [] if name == "-" else ["--format", "decimal"]
    if name == "-":
        assert piped("pairs", name, "--max-distance", 1, "-q")[1] == [("0", "1", "1"), ("2", "3", "1")]
        assert piped("join", tmp_path / "f.npy", name, "--max-distance", 0, "-q")[1] == [("0", "1", "0")]
        assert "name it once" in piped("join", name, name)[2]
    assert piped("pairs", name, "--format", "raw")[::2] == (
        2, f"ndcore: {name} is not a regular file, and raw is mapped; save it first, or give --format hex or decimal\n")
    (tmp_path / "f.txt").write_text("5\n4\n12345\n12344\n")
    assert piped("join", name, tmp_path / "f.npy", *how, "--max-distance", 0, "-q")[1] == [("1", "0", "0")]


def test_an_output_that_is_no_index_is_not_replaced(files, capsys):
    folder, _ = files
    before = (folder / "f.npy").read_bytes()
    told = refused(capsys, 2, "build", folder / "f.u64", "-o", folder / "f.npy", "--overwrite")
    assert "exists and is not an index" in told
    assert (folder / "f.npy").read_bytes() == before
    for _ in range(2):
        assert run("build", folder / "f.u64", "-o", folder / "new", "--overwrite", "-q") == 0


def test_memory_is_that_of_as_many_as_there_are(tmp_path, capsys):
    np.save(tmp_path / "f.npy", np.arange(1 << 15, dtype=np.uint64) << np.uint64(40))
    plan = nd.plan_tables(log2_count=15, max_tables=4)
    assert run("build", tmp_path / "f.npy", "-o", tmp_path / "index", "-q", "--memory", int(plan.memory)) == 0
    assert nd.HammingIndex.open(tmp_path / "index").tables.prefixes == plan.prefixes


def test_options_of_columns_are_not_dropped_in_silence(files, capsys):
    folder, _ = files
    nd.HammingIndex(VALUES).save(folder / "index")
    for option in (["--collection-field", 2], ["--collection-format", "hex"]):
        assert "is an index, which has no columns" in refused(capsys, 2, "join", folder / "f.npy", folder / "index", *option)


def test_an_interruption_says_what_there_is(files, capsys, monkeypatch):
    folder, _ = files
    monkeypatch.setattr("ndcore.cli.hamming.ROWS_AT_ONCE", 2)

    def printable(text):
        if text == "4":
            raise KeyboardInterrupt
        return text

    monkeypatch.setattr("ndcore.cli.hamming.printable", printable)
    assert run("pairs", folder / "f.npy", "--max-distance", 1, "-q") == 130
    told = capsys.readouterr()
    assert rows(told.out) == [tuple(map(str, row)) for row in PAIRS[:2]]
    assert told.err == "ndcore: interrupted; the output ends early\n"


def test_ids_of_parquet(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"large": pa.array([1, 2**64 - 1], pa.uint64()), "nulls": ["a", None], "float": [1.0, 2.0], "list": [[1], [2]],
               "nul": ["a\0", "b"], "dictionary": pa.array(["x", "y"]).dictionary_encode(), "int": [-1, 2]}
    parquet.write_table(pa.table({"f": pa.array([5, 4], pa.uint64()), **columns}), tmp_path / "f.parquet")
    nd.HammingIndex([5], max_distance=0).save(tmp_path / "index")
    for name, expected in {"large": [1, 2**64 - 1], "dictionary": ["x", "y"], "int": [-1, 2], "f": [5, 4]}.items():
        how = [tmp_path / "f.parquet", "--field", "f", "--id-field", name, "--json", "-q"]
        assert run("pairs", *how) == 0
        assert json.loads(capsys.readouterr().out) == {"a": expected[0], "b": expected[1], "distance": 1}
        assert run("query", tmp_path / "index", "--queries", *how) == 0
        assert json.loads(capsys.readouterr().out) == {"query": expected[0], "id": 0, "distance": 0}
    for name, got in {"nulls": "None", "float": "1.0", "list": "[1]", "nul": r"'a\x00'"}.items():
        for command in (["pairs"], ["query", tmp_path / "index", "--queries"]):
            message = refused(capsys, 1, *command, tmp_path / "f.parquet", "--field", "f", "--id-field", name)
            assert f"f.parquet: the column '{name}': ids" in message
            assert f"got {got}" in message
    twice = pa.Table.from_arrays([pa.array([5], pa.uint64())] * 2, names=["f", "f"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    assert "several columns 'f'" in refused(capsys, 2, "pairs", tmp_path / "twice.parquet", "--field", "f")
    (tmp_path / "f.parquet").write_bytes(b"PAR1" + bytes(99))
    assert "f.parquet: not a readable Parquet file" in refused(capsys, 1, "pairs", tmp_path / "f.parquet", "--field", "f")


def test_parquet_columns_are_named(files, capsys):
    folder, options = files
    if "f.parquet" not in options:
        pytest.skip("pyarrow is not installed")
    assert "name the one with the fingerprints by --field" in refused(capsys, 2, "pairs", folder / "f.parquet")
    assert "no column 'g'; it has name, f" in refused(capsys, 2, "pairs", folder / "f.parquet", "--field", "g")
    assert "'name' is string" in refused(capsys, 1, "pairs", folder / "f.parquet", "--field", "name")
    assert run("pairs", folder / "f.parquet", "--field", "f", "--id-field", "name", "--max-distance", 0) == 0
    assert rows(capsys.readouterr().out) == [("id0", "id4", "0")]


def test_join_reads_collections_of_every_kind(files, capsys, monkeypatch):
    folder, options = files
    np.save(folder / "asked.npy", np.array(QUERIES, np.uint64))
    monkeypatch.setattr("ndcore.files.fingerprint_files.ROWS", 2)  # Parquet in three parts
    expected = sorted((i, distance, j) for i, a in enumerate(QUERIES) for j, b in enumerate(VALUES)
                      if (distance := reference.distance(a, b)) <= 3)
    for name, how in options.items():
        named = [f"--collection-{option[2:]}" if str(option).startswith("--") else option for option in how]
        assert run("join", folder / "asked.npy", folder / name, *named, "-q") == 0
        found = [tuple(map(int, row)) for row in rows(capsys.readouterr().out)]
        assert [(query, distance, position) for query, position, distance in found] == expected, name
    index = nd.HammingIndex(VALUES, [f"id{i}" for i in range(len(VALUES))])
    index.save(folder / "saved.ndh")
    assert run("join", folder / "asked.npy", folder / "saved.ndh", "-q") == 0
    assert [row[1] for row in rows(capsys.readouterr().out)] == [f"id{j}" for _, _, j in expected]


@pytest.mark.parametrize(("options", "told"), [
    (("--max-distance", 11), "0 to 10 of up to 64 bits are searched for"), (("--max-distance", 32), "from 0 to 31"),
    (("--bits", 256, "--max-distance", 40), "from 0 to 31"), (("--bits", 200), "from 1 to 64"),
    (("--bits", 65), "from 1 to 64"), (("--bits", 0), "from 1 to 64"),
    (("--bits", 3, "--max-distance", 3), "--max-distance 3 of --bits 3"),
])
def test_searches_that_cannot_be_asked_for(tmp_path, capsys, options, told):
    (tmp_path / "f.txt").write_text("1\n2\n")
    commands = [("build", "-o", tmp_path / "i", tmp_path / "f.txt"), ("pairs", tmp_path / "f.txt"),
                ("join", tmp_path / "f.txt", tmp_path / "f.txt")]
    for command in commands:
        assert told in refused(capsys, 2, *command, *options)
    refused(capsys, 2, "plan", *options)
    assert not (tmp_path / "i").exists()


def test_fingerprints_of_256_bits(tmp_path, capsys):
    """Files of every kind, an index of them, queries in hexadecimal, and what is refused."""
    rng = random.Random(3)
    values = [rng.getrandbits(256) for _ in range(40)]
    values += [value ^ 0b111 << 100 for value in values[:5]]
    pairs = [(str(i), str(i + 40), "3") for i in range(5)]
    words = np.array([[value >> shift & 2**64 - 1 for shift in (192, 128, 64, 0)] for value in values], np.uint64)
    np.save(tmp_path / "f.npy", words)
    words.astype("<u8").tofile(tmp_path / "f.u64")
    (tmp_path / "f.hex").write_text("".join(f"{value:064x}\n" for value in values))
    asked = {"f.npy": [], "f.u64": ["--bits", 256], "f.hex": ["--bits", 256, "--format", "hex"]}
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        pass
    else:
        column = pa.array([value.to_bytes(32, "big") for value in values], pa.binary(32))
        parquet.write_table(pa.table({"f": column}), tmp_path / "f.parquet")
        asked["f.parquet"] = []
    for name, how in asked.items():
        assert run("pairs", tmp_path / name, *how, "--max-distance", 31, "-q") == 0
        assert rows(capsys.readouterr().out) == pairs, name
        assert run("join", tmp_path / name, tmp_path / name, *how, *(
            ["--collection-format", "hex"] if name == "f.hex" else []), "--max-distance", 2, "-q") == 0
        assert rows(capsys.readouterr().out) == [(str(i), str(i), "0") for i in range(45)], name
    assert run("build", tmp_path / "f.npy", "-o", tmp_path / "index", "--max-distance", 31, "-q") == 0
    capsys.readouterr()
    assert run("query", tmp_path / "index", hex(values[2])) == 0
    assert rows(capsys.readouterr().out) == [(hex(values[2]), "2", "0"), (hex(values[2]), "42", "3")]
    assert run("info", tmp_path / "index", "--json") == 0
    assert json.loads(capsys.readouterr().out)["bits"] == 256
    assert run("plan", "--bits", 256, "--max-distance", 31, "--log2-count", 23) == 0
    assert "substrings of 2^23 fingerprints of 256 bits: exact within 31" in capsys.readouterr().out
    assert "--tables is for permuted tables" in refused(capsys, 2, "plan", "--bits", 256, "--tables", 4)
    assert "leave --compress out" in refused(
        capsys, 2, "build", tmp_path / "f.npy", "-o", tmp_path / "i", "--compress")
    assert "a hexadecimal number below 2^64" in refused(capsys, 1, "pairs", tmp_path / "f.hex", "--format", "hex")
    assert "0 to 10 of up to 64 bits are searched for" in refused(capsys, 2, "plan", "--max-distance", 31)
