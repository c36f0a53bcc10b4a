"""Designs of tables: some table leads with none of any k bits, and count_tables counts what make_tables makes."""

from itertools import combinations

import pytest

from ndcore.hamming.table_designs import MAX_TABLES, count_tables, list_designs, make_tables, split_evenly


def finds_everything(tables, bits, k):
    """Tell whether for any k differing bits, the prefix of some table has none of them."""
    masks = [table.leading for table in tables]
    return all(any(not mask & sum(1 << b for b in chosen) for mask in masks) for chosen in combinations(range(bits), k))


@pytest.mark.parametrize(("bits", "k"), [(8, 1), (10, 2), (13, 3), (16, 3), (12, 5)])
def test_every_design_finds_everything(bits, k):
    found = list_designs(bits, k)
    assert len({len(tables) for tables in found}) == len(found) > 1
    for tables in found:
        assert finds_everything(tables, bits, k)
        assert tables[0].runs == ((0, bits),)
        assert all(sorted(table.permute(1 << b) for b in range(bits)) == [1 << b for b in range(bits)] for table in tables)


@pytest.mark.parametrize(("bits", "k", "splits"), [(16, 3, (4,)), (16, 3, (5,)), (17, 3, (4, 4)), (11, 2, (3, 4))])
def test_even_splits_find_everything(bits, k, splits):
    tables = list(split_evenly(bits, k, splits))
    assert finds_everything(tables, bits, k)
    if len(splits) == 1:
        assert not finds_everything(tables[1:], bits, k)  # none can be left out


@pytest.mark.parametrize(("bits", "k"), [(12, 2), (20, 3)])
def test_the_tables_are_as_many_as_are_counted(bits, k):
    for prefix in range(bits - k + 1):
        if count_tables(bits, k, prefix) <= MAX_TABLES:
            tables = make_tables(bits, k, prefix)
            assert len(tables) == count_tables(bits, k, prefix)
            assert min(table.prefix for table in tables) >= prefix
