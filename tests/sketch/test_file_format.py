"""Files of sketches: round trips, ids, packed values, damage, and contents that do not fit together."""

from __future__ import annotations

import numpy as np
import pytest
from sketch_samples import DOCUMENTS, check_same, either, labelled

import ndcore as nd
from ndcore.storage import container


@either
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("extras", [{}, {"ids": False}, {"digests": False}])
def test_round_trip(sketcher, mmap, extras, tmp_path):
    made = labelled(sketcher, **extras)
    made.save(tmp_path / "s.nds")
    check_same(nd.load(tmp_path / "s.nds", mmap=mmap), made)
    check_same(nd.load(str(tmp_path / "s.nds")), made)
    made[:0].save(str(tmp_path / "empty.nds"))
    check_same(nd.load(tmp_path / "empty.nds"), made[:0])


@pytest.mark.parametrize("ids", [[], ["", "a", "é\ud800", "\0", "5", "x" * 1000], [0, -1, 2**63 - 1, -(2**63), 7, 7]])
def test_ids_come_back(ids, tmp_path):
    made = nd.MinHasher(4).sketch_many(DOCUMENTS[: len(ids)])
    made.ids = ids
    made.save(tmp_path / "s")
    assert nd.load(tmp_path / "s").ids == ids


@pytest.mark.parametrize("ids", [["a", 1, "b"], [1.5, 2, 3], [2**63, 1, 2], [None, "a", "b"]])
def test_ids_that_cannot_be_saved(ids, tmp_path):
    made = nd.MinHasher(4).sketch_many(DOCUMENTS[:3])
    made.ids = ids
    with pytest.raises(TypeError, match="all str or all integers of 64 bits"):
        made.save(tmp_path / "s")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("sketcher", "revision"), [
    (nd.MinHasher(4), 0), (nd.BottomSketcher(4), 0), (nd.ModSketcher(4), 0), (nd.SimHasher(64), 0),
    (nd.Winnower(4), 1), (nd.WeightedMinHasher(4), 2), (nd.SimHasher(128), 2), (nd.PackageSimHasher("1e0ng"), 2),
], ids=lambda value: type(value).__name__)
def test_files_have_the_revision_of_their_kind(sketcher, revision, tmp_path):
    """The numbers of DESIGN.md, "Formats": an older ndcore reads whatever has the revision that it knows."""
    sketcher.sketch_many(DOCUMENTS).save(tmp_path / "s.nds")
    assert container.peek(tmp_path / "s.nds").revision == revision


def split_here(text):
    return text.split()


def test_only_callables_with_a_name_can_be_saved(tmp_path):
    nd.MinHasher(4, shingling=nd.Shingling(split_here)).sketch("A b").save(tmp_path / "named")
    assert "split_here" in nd.load(tmp_path / "named").recipe["shingling"]["unit"]
    with pytest.raises(ValueError, match="unnamed callable cannot be saved"):
        nd.MinHasher(4, shingling=nd.Shingling(lambda text: text.split())).sketch("a").save(tmp_path / "unnamed")
    assert not (tmp_path / "unnamed").exists()


@either
def test_every_damaged_byte_is_noticed(sketcher, tmp_path):
    path = tmp_path / "s.nds"
    labelled(sketcher).save(path)
    data = path.read_bytes()
    for at in [*range(80), *range(80, len(data), 41), len(data) - 1]:
        spoilt = bytearray(data)
        spoilt[at] ^= 1 << at % 8
        path.write_bytes(spoilt)
        with pytest.raises(nd.CorruptFile, match=r"s\.nds: "):
            nd.load(path)
    for size in (0, 1, 8, 63, 64, 100, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(nd.CorruptFile, match=r"s\.nds: "):
            nd.load(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(nd.CorruptFile, match="should have"):
        nd.load(path)


def rewritten(path, sketcher, **changes) -> None:
    """Write a file with right checksums whose contents do not fit together; None leaves an array out."""
    labelled(sketcher).save(path)
    header, arrays = container.read(path)
    for name, value in changes.items():
        target = header if name in header else arrays
        if value is None:
            del target[name]
        else:
            target[name] = value
    container.write(path, "sketches", header, arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"values": None}, {"sizes": None}, {"valid": None}, {"sizes_exact": None}, {"recipe": None},
        {"recipe": "{"}, {"recipe": "[]"}, {"recipe": "{}"}, {"recipe": nd.Shingling().recipe.to_json()},
        {"recipe": nd.MinHasher(17).recipe.to_json()}, {"recipe": nd.MinHasher(16, 64).recipe.to_json()},
        {"recipe": nd.BottomSketcher().recipe.to_json()},
        {"values": np.zeros((6, 16), np.uint64)}, {"values": np.zeros((6, 15), np.uint32)},
        {"values": np.zeros(6, np.uint32)},
        {"values": np.zeros((6, 16), np.int32)}, {"values": np.zeros((5, 16), np.uint32)},
        {"offsets": np.zeros(7, np.int64)},
        {"sizes": np.zeros(5)}, {"valid": np.ones(7, np.bool_)}, {"digests": np.zeros((3, 32), np.uint8)},
        {"id_offsets": None}, {"id_bytes": np.zeros(3, np.uint8)}, {"id_offsets": np.arange(7)},
        {"id_bytes": np.full(60, 0xFF, np.uint8), "id_offsets": np.arange(0, 70, 10)},
    ],
    ids=lambda changes: ",".join(f"{k}={'none' if v is None else type(v).__name__}" for k, v in changes.items()),
)  # fmt: skip
def test_signatures_that_do_not_fit_together(changes, tmp_path):
    rewritten(tmp_path / "s", nd.MinHasher(16), **changes)
    with pytest.raises(nd.CorruptFile, match="/s: the sketches in it do not fit together"):
        nd.load(tmp_path / "s")


@pytest.mark.parametrize(
    "changes",
    [
        {"digests": np.zeros((6, 31), np.uint8)}, {"digests": np.zeros((6, 32), np.float64)},
        {"digests": np.zeros(6, np.uint8)},
        {"valid": np.full(6, 2, np.uint8)}, {"sizes_exact": np.ones(6)}, {"sizes": np.zeros((6, 2))},
        {"sizes": np.zeros(6, np.bool_)},
    ],
    ids=lambda changes: ",".join(f"{k}-{v.dtype}-{v.shape}" for k, v in changes.items()),
)  # fmt: skip
def test_arrays_of_wrong_kinds_do_not_fit_together(changes, tmp_path):
    rewritten(tmp_path / "s", nd.MinHasher(16), **changes)
    with pytest.raises(nd.CorruptFile, match="/s: the sketches in it do not fit together"):
        nd.load(tmp_path / "s")


@pytest.mark.parametrize(
    "changes",
    [
        {"moduli": None}, {"moduli": np.full(6, 3, np.uint64)}, {"moduli": np.zeros(6, np.uint64)},
        {"moduli": np.ones(5, np.uint64)}, {"moduli": np.ones(6, np.int64)}, {"offsets": None},
        {"offsets": np.array([0, 1, 2, 3, 4, 5, 99])}, {"values": np.zeros(7, np.uint32)},
        {"recipe": nd.ModSketcher(2).recipe.to_json()}, {"recipe": nd.BottomSketcher().recipe.to_json()},
    ],
    ids=lambda changes: ",".join(f"{k}={'none' if v is None else type(v).__name__}" for k, v in changes.items()),
)  # fmt: skip
def test_adaptive_sketches_that_do_not_fit_together(changes, tmp_path):
    rewritten(tmp_path / "s", nd.ModSketcher("adaptive"), **changes)
    with pytest.raises(nd.CorruptFile, match="do not fit together"):
        nd.load(tmp_path / "s")


@pytest.mark.parametrize("changed", [{"modulus": 0}, {"modulus": -2}, {"modulus": True}, {"modulus": "many"}, {"size": 1}])
def test_recipes_of_mod_sketches_that_nobody_has(changed, tmp_path):
    recipe = nd.Recipe({**nd.ModSketcher(1, size=50).recipe.parameters, **changed})
    rewritten(tmp_path / "s", nd.ModSketcher(1, size=50), recipe=recipe.to_json(), recipe_id=recipe.id)
    with pytest.raises(nd.CorruptFile, match=r"recipe's modulus is|moduli belong|at most the recipe's size"):
        nd.load(tmp_path / "s")


@pytest.mark.parametrize(
    "changes",
    [
        {"offsets": None}, {"offsets": np.zeros(0, np.int64)}, {"offsets": np.array([0, 3, 2, 4, 5, 5, 5])},
        {"offsets": np.array([0, 1, 2, 3, 4, 5, 99])}, {"offsets": np.array([0, 0, 0, 0, 0, 0, 4])},
        {"offsets": np.zeros(7, np.uint64)}, {"values": np.zeros(7, np.uint32)}, {"values": np.zeros((7, 1), np.uint64)},
        {"recipe": nd.BottomSketcher(2).recipe.to_json()}, {"recipe": nd.MinHasher().recipe.to_json()},
    ],
    ids=lambda changes: ",".join(f"{k}={'none' if v is None else type(v).__name__}" for k, v in changes.items()),
)  # fmt: skip
def test_bottom_sketches_that_do_not_fit_together(changes, tmp_path):
    rewritten(tmp_path / "s", nd.BottomSketcher(3), **changes)
    with pytest.raises(nd.CorruptFile, match="do not fit together"):
        nd.load(tmp_path / "s")


def test_other_files(tmp_path):
    (tmp_path / "text").write_text("a text of some length, which is not a file of sketches at all, to be sure")
    with pytest.raises(nd.CorruptFile, match="not a file of ndcore"):
        nd.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        nd.load(tmp_path / "none")
    with pytest.raises(nd.CorruptFile, match="not a regular file"):
        nd.load(tmp_path)
    container.write(tmp_path / "index", "index", {}, {})
    with pytest.raises(ValueError, match="holds 'index', not 'sketches'"):
        nd.load(tmp_path / "index")


@pytest.mark.parametrize("bits", [32, 40, 64])
def test_fewer_bits_take_fewer_bytes_in_a_file(bits, tmp_path):
    texts = [" ".join(f"w{i}x{j}" for j in range(300)) for i in range(20)]
    sketches = nd.BottomSketcher(100, bits=bits).sketch_many(texts)
    sketches.save(tmp_path / "sketches")
    _, arrays = container.read(tmp_path / "sketches")
    assert arrays["values"].nbytes == len(sketches.values) * bits // 8
    loaded = nd.load(tmp_path / "sketches")
    assert loaded.values.dtype == np.uint64
    assert loaded.values.tolist() == sketches.values.tolist()
    assert max(sketches.values.tolist()).bit_length() <= bits


@pytest.mark.parametrize(("bits", "message"), [(24, "bits are 24, not 32, 40 or 64"), (40, r"uint8 \(2000, 5\)")])
def test_packed_values_that_do_not_fit_their_recipe_are_refused(bits, message, tmp_path):
    texts = [" ".join(f"w{i}x{j}" for j in range(300)) for i in range(20)]
    nd.BottomSketcher(100, bits=32).sketch_many(texts).save(tmp_path / "sketches")
    _, arrays = container.read(tmp_path / "sketches")
    recipe = nd.Recipe(nd.load(tmp_path / "sketches").recipe.parameters | {"bits": bits})
    container.write(tmp_path / "sketches", "sketches", {"recipe": recipe.to_json(), "recipe_id": recipe.id}, arrays)
    with pytest.raises(nd.CorruptFile, match=message):
        nd.load(tmp_path / "sketches")
