"""Plans of tables: the paper's designs, the optimum over whole bits, and no misses within k bits."""

import copy
import pickle
import random
from dataclasses import replace
from itertools import combinations
from math import comb, inf

import numpy as np
import pytest

from ndcore import HammingIndex, hamming_join, hamming_pairs
from ndcore.hamming.table_designs import MAX_TABLES, PermutedTable, find_missed_bits
from ndcore.hamming.table_plan import JOIN_ROOM, TablePlan, checked_search, plan_join, plan_pairs, plan_tables, presence_bits
from ndcore.reference import hamming as reference

# Manku et al. 2007, Example 3.1, at d = 34: splits, tables, p_i, fingerprints that a probe meets at most.
EXAMPLE = [((6,), 20, {31, 32, 33}, 8), ((4, 4), 16, {28}, 64), ((5,), 10, {25, 26}, 512), ((4,), 4, {16}, 256 * 1024)]


@pytest.mark.parametrize(("splits", "tables", "prefixes", "matches"), EXAMPLE)
def test_the_designs_of_the_paper(splits, tables, prefixes, matches):
    plan = plan_tables(64, 3, 34, splits=splits)
    assert (len(plan.tables), set(plan.prefixes), plan.matches) == (tables, prefixes, matches)


@pytest.mark.parametrize(("splits", "tables", "prefixes", "matches"), EXAMPLE)
def test_the_designs_of_the_paper_are_the_optimum_for_their_prefix_and_for_their_number(splits, tables, prefixes, matches):
    for plan in (plan_tables(64, 3, 34, min_prefix=min(prefixes)), plan_tables(64, 3, 34, max_tables=tables)):
        assert (len(plan.tables), plan.prefix) == (tables, min(prefixes))


def test_single_probe_of_all_variations_is_prohibitive():
    assert comb(64, 3) == 41664  # §3: probes where no bit is free


@pytest.mark.parametrize("bits", [1, 2, 7, 16, 24, 33, 64])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_numbers_of_tables_are_those_of_the_reference(bits, k):
    for prefix in range(bits - k + 1):
        least = reference.least_tables(bits, k, prefix)
        assert least < inf
        if k >= bits or least > MAX_TABLES:
            continue
        plan = plan_tables(bits, k, 10, min_prefix=prefix)
        assert len(plan.tables) == least
        assert plan.prefix >= prefix


@pytest.mark.parametrize("splits", [(6,), (4, 4), (5,), (4,), (7, 4), (4, 5, 4)])
def test_tables_are_those_of_the_reference(splits):
    plan = plan_tables(64, 3, 34, splits=splits)
    expected = reference.tables_of(64, 3, splits)
    values = random.Random(5).sample(range(1 << 62), 20)
    assert plan.prefixes == tuple(p for p, _ in expected)
    for table, (_, permutation) in zip(plan.tables, expected, strict=True):
        assert [table.permute(v) for v in values] == [reference.permute(v, permutation) for v in values]
        assert table.leading == sum(1 << position for position in permutation[:table.prefix])


@pytest.mark.parametrize(("bits", "k", "asked"), [
    (64, 3, {"splits": (6,)}), (64, 3, {"splits": (4, 4)}), (64, 3, {"splits": (5,)}), (64, 3, {}),
    (16, 4, {"min_prefix": 5}), (16, 4, {"max_tables": 40}), (13, 2, {"min_prefix": 7}), (7, 6, {}), (5, 0, {}), (1, 0, {}),
    (64, 2, {"min_prefix": 40}), (20, 5, {"memory": 1e5}),
])
def test_wherever_k_bits_differ_some_table_leads_with_none_of_them(bits, k, asked):
    leading = [table.leading for table in plan_tables(bits, k, 10, **asked).tables]
    for positions in combinations(range(bits), k):
        differing = sum(1 << p for p in positions)
        assert any(not mask & differing for mask in leading), positions


@pytest.mark.parametrize(("bits", "k"), [(64, 3), (64, 10), (61, 7), (32, 5), (9, 1)])
def test_a_table_holds_every_bit_once_and_the_first_keeps_their_order(bits, k):
    plan = plan_tables(bits, k, 20)
    assert plan.tables[0].runs == ((0, bits),)
    for table in plan.tables:
        assert sorted(low + i for low, width in table.runs for i in range(width)) == list(range(bits))


def test_more_tables_for_more_fingerprints():
    numbers = [len(plan_tables(log2_count=d).tables) for d in range(8, 41)]
    assert numbers == sorted(numbers)
    assert numbers[0] < numbers[-1]


def test_the_plan_takes_the_least_time_of_all_within_the_memory():
    free = plan_tables(log2_count=34)
    tight = plan_tables(log2_count=34, memory=free.memory / 2)
    assert tight.memory <= free.memory / 2
    assert tight.nanoseconds > free.nanoseconds
    for splits in ((6,), (4, 4), (5,), (4,)):
        paper = plan_tables(log2_count=34, splits=splits)
        assert free.nanoseconds <= paper.nanoseconds
        if paper.memory <= free.memory / 2:
            assert tight.nanoseconds <= paper.nanoseconds


def test_expected_candidates_are_met():
    rng = random.Random(11)
    values = [rng.getrandbits(24) for _ in range(1 << 12)]
    plan = plan_tables(24, 2, 12, splits=(4,))
    met = 0
    for query in (rng.getrandbits(24) for _ in range(400)):
        for table in plan.tables:
            key = table.permute(query) >> 24 - table.prefix
            met += sum(table.permute(v) >> 24 - table.prefix == key for v in values[:512])
    # 6 tables of 12 bits: 400 · 6 · 512 / 4096 = 300 on average, of a Poisson-like sum: 5 standard deviations
    assert plan.candidates == pytest.approx(6 * 2 ** (12 - 12))
    assert abs(met - 300) < 5 * 300**0.5


def test_memory_counts_keys_and_directories():
    plan = plan_tables(64, 3, 20, splits=(5,))
    assert plan.memory == 10 * (8 * 2**20 + 4 * 2**18 + 2**23 / 8)
    assert plan_tables(64, 3, 40, splits=(4,)).memory == 4 * (8 * 2**40 + 4 * 2**16)


def test_a_join_looks_up_in_the_cache():
    """Expect longer prefixes, which most fingerprints share with no query, in tables that fit into a cache."""
    plan = plan_join(64, 3, 20)
    assert len(plan.tables) == 10
    assert all(presence_bits(p, 20, JOIN_ROOM) == 25 for p in plan.prefixes)
    for splits in ((6,), (4, 4), (5,), (4,)):
        assert plan.join_nanoseconds <= plan_tables(64, 3, 20, splits=splits).join_nanoseconds


def test_presence_is_known_where_it_is_worth_it():
    assert presence_bits(26, 20.5) == 23
    assert presence_bits(21, 20) == 21
    assert presence_bits(20, 20) == presence_bits(2, 0) == 0


def test_a_plan_prints_what_it_costs():
    printed = str(plan_tables(64, 3, 34, splits=(5,)))
    assert "10 tables of 2^34 fingerprints of 64 bits: exact within 3" in printed
    assert "25 to 26 bits" in printed
    assert "512" in printed
    assert isinstance(plan_tables(), TablePlan)


def test_a_table_moves_runs():
    table = PermutedTable(3, ((4, 2), (0, 4)))
    assert table.permute(0b10_0111) == 0b10_0111
    assert PermutedTable(4, ((0, 4), (4, 2))).permute(0b10_0111) == 0b0111_10
    assert table.leading == 0b11_1000


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"bits": 0}, ValueError, "bits is 0; fingerprints have 1 to 64"),
    ({"bits": 65}, ValueError, "bits is 65"),
    ({"bits": 6.0}, TypeError, "bits is 6.0 of type float; it must be an int"),
    ({"max_distance": -1}, ValueError, "max_distance is -1; 0 to 10"),
    ({"max_distance": 11}, ValueError, "max_distance is 11; 0 to 10"),
    ({"bits": 3, "max_distance": 3}, ValueError, "3 of 3 bits: every fingerprint is that near"),
    ({"log2_count": -1}, ValueError, "log2_count is -1"),
    ({"log2_count": float("nan")}, ValueError, "log2_count is nan"),
    ({"min_prefix": -1}, ValueError, "min_prefix is -1"),
    ({"min_prefix": 62}, ValueError, "no more than 61 can be sure to match"),
    ({"min_prefix": 61}, ValueError, "more than 1024 tables"),
    ({"max_tables": 0}, ValueError, "max_tables is 0; it must be at least 1"),
    ({"splits": (3,)}, ValueError, "every level needs at least 4 blocks"),
    ({"splits": (60,)}, ValueError, "34220 tables; at most 1024"),
    ({"splits": (4, 4, 4, 4, 4), "bits": 11}, ValueError, "3 bits are left for a level of 4 blocks"),
    ({"memory": 10.0}, ValueError, "memory is 10.0; 2\\^34 fingerprints in one table take"),
    ({"memory": 1e15, "max_tables": 3}, ValueError, "give one of max_tables and memory"),
])
def test_what_cannot_work_is_refused_with_the_reason(arguments, error, message):
    with pytest.raises(error, match=message):
        plan_tables(**arguments)


@pytest.mark.parametrize(("log2_count", "tables"), [(0, 1), (20, 4), (23, 4), (26, 10), (30, 10)])
def test_the_plan_for_pairs_counts_the_tables_it_makes(log2_count, tables):
    """Expect fewer tables than for queries, for each is built for this search; no design takes less time."""
    plan = plan_pairs(64, 3, log2_count)
    assert len(plan.tables) == tables
    assert all(plan.pair_nanoseconds <= plan_tables(64, 3, log2_count, max_tables=n).pair_nanoseconds for n in range(4, 60))


@pytest.mark.parametrize(("arguments", "message"), [
    ({"bits": "64"}, "bits is '64' of type str; it must be an int"),
    ({"max_distance": None}, "max_distance is None of type NoneType; it must be an int"),
    ({"log2_count": "34"}, "log2_count is '34'; it must be a number"), ({"log2_count": None}, "log2_count is None"),
    ({"min_prefix": 1.5}, "min_prefix is 1.5 of type float; it must be an int"),
    ({"max_tables": 4.0}, "max_tables is 4.0 of type float; it must be an int"),
    ({"memory": "4G"}, "memory is '4G'; it must be a number of bytes"),
    ({"splits": 5}, "splits is 5; it must be a sequence"),
    ({"splits": "44"}, "splits is '44'; it must be a sequence"), ({"splits": [4.5]}, "a number of blocks in splits is 4.5"),
])
def test_parameters_of_another_type_are_named(arguments, message):
    with pytest.raises(TypeError, match=message):
        plan_tables(**arguments)


def test_splits_are_any_numbers_that_can_be_walked_through():
    for splits in ((4, 4), [4, 4], np.array([4, 4]), range(4, 5)):
        assert plan_tables(splits=splits) == plan_tables(splits=tuple(map(int, splits)))


def with_tables(tables, bits=64, k=3):
    return TablePlan(bits, k, 10, tuple(tables))


IDENTITY = PermutedTable(1, ((0, 64),))


@pytest.mark.parametrize(("tables", "said"), [
    ([], "1 to 1024 tables"), ([IDENTITY] * 1025, "1 to 1024 tables"),
    ([PermutedTable(65, ((0, 64),))], "table 0 leads with 65 bits"),
    ([PermutedTable(-1, ((0, 64),))], "table 0 leads with -1 bits"),
    ([IDENTITY, PermutedTable(8, ((0, 63),))], "table 1 is not a permutation of 64 bits"),
    ([IDENTITY, PermutedTable(8, ((0, 64), (0, 64)))], "table 1 is not a permutation"),
    ([IDENTITY, PermutedTable(8, ((0, 32), (0, 32)))], "table 1 is not a permutation"),
    ([IDENTITY, PermutedTable(8, ((32, 33), (0, 31)))], "table 1 is not a permutation"),
    ([IDENTITY, PermutedTable(8, ((0, 0), (0, 64)))], "table 1 is not a permutation"),
    ([IDENTITY, PermutedTable(8, ((0, 1 << 70), (0, 64)))], "table 1 is not a permutation"),
    ([PermutedTable(8, ((0, 32), (32, 32))), IDENTITY], "the first table does not keep the bits in their order"),
])
def test_a_plan_whose_tables_do_not_permute_the_bits_cannot_be_made(tables, said):
    with pytest.raises(ValueError, match=said):
        with_tables(tables)
    with pytest.raises(ValueError, match=said):
        replace(plan_tables(64, 3, 10), tables=tuple(tables))


@pytest.mark.parametrize("tables", [
    5, [5], [PermutedTable(1, 5)], [PermutedTable("a", ((0, 64),))], [PermutedTable(1, ((0.5, 64),))], ["ab"],
])
def test_a_plan_of_no_tables_is_a_type_error(tables):
    with pytest.raises(TypeError, match="pairs of a prefix and runs"):
        TablePlan(64, 3, 10, tables)


def test_numbers_of_a_plan_are_checked():
    tables = plan_tables(64, 3, 10).tables
    for numbers, wrong in [((0, 3, 10), ValueError), ((64, 11, 10), ValueError), ((64, 3, 65), ValueError),
                           (("a", 3, 10), TypeError)]:
        with pytest.raises(wrong):
            TablePlan(*numbers, tables)


def test_tables_given_as_lists_cannot_be_changed_later():
    runs = [[0, 64]]
    plan = TablePlan(64, 3, 10, [(16, runs)])
    runs[0][1] = 200
    assert plan.tables == (PermutedTable(16, ((0, 64),)),)
    assert pickle.loads(pickle.dumps(plan)) == plan == copy.copy(plan)


def test_a_plan_changed_by_force_is_refused_where_it_is_used(tmp_path):
    values = np.arange(100, dtype=np.uint64)
    values.tofile(tmp_path / "values")
    for runs in (((0, 64), (0, 64)), ((0, 3),), ((60, 60),)):
        plan = plan_tables(64, 3, 10)
        object.__setattr__(plan, "tables", (plan.tables[0], PermutedTable(40, runs), *plan.tables[1:]))
        for compress in (False, True):
            with pytest.raises(ValueError, match="table 1 is not a permutation"):
                HammingIndex(values, plan=plan, compress=compress)
        for search in (hamming_join, lambda _, *rest, **options: hamming_pairs(*rest, **options)):
            with pytest.raises(ValueError, match="table 1 is not a permutation"):
                search(values, tmp_path / "values", plan=plan)


@pytest.mark.parametrize(("bits", "k", "asked"), [(64, 3, {"splits": (4, 4)}), (64, 2, {}), (16, 4, {"max_tables": 40})])
def test_a_plan_that_misses_some_fingerprints_is_refused(bits, k, asked):
    plan = plan_tables(bits, k, 10, **asked)
    assert checked_search(bits, k, plan) == (bits, k)
    fewer = [plan.tables[:-1]] if len(plan.tables) > 1 else []
    longer = [(*plan.tables[:-1], plan.tables[-1]._replace(prefix=bits))]
    for tables in fewer + longer:
        with pytest.raises(ValueError, match=f"does not find all fingerprints within {k} bits"):
            checked_search(bits, k, replace(plan, tables=tables))
    with pytest.raises(ValueError, match=f"does not find all fingerprints within {k + 1} bits"):
        checked_search(bits, k + 1, replace(plan, max_distance=k + 1))


@pytest.mark.parametrize(("bits", "k"), [(7, 2), (8, 3), (6, 1)])
def test_missed_bits_are_those_that_all_choices_find(bits, k):
    rng = random.Random(3)
    for _ in range(200):
        tables = []
        for _ in range(rng.randrange(1, 12)):
            order = rng.sample(range(bits), bits)
            tables.append(PermutedTable(rng.randrange(bits), tuple((position, 1) for position in order)))
        missed = [chosen for chosen in combinations(range(bits), k)
                  if all(table.leading & sum(1 << p for p in chosen) for table in tables)]
        found = find_missed_bits(bits, k, tuple(tables))
        assert (found is None) == (not missed)
        if found is not None:
            assert len(found) <= k
            assert all(table.leading & sum(1 << p for p in found) for table in tables)
