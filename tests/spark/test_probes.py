"""Rare shingles on Spark: an input that changes between two readings is refused, for a pair could be missed."""

from __future__ import annotations

import pytest

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.filters.prefix import PrefixFilter
from ndcore.spark.probes import ReadTexts, count_shingles, find_probes
from ndcore.text.inputs import digest


@pytest.mark.slow
def test_counts_and_another_reading(spark, work):
    texts = [b"a b c", b"b c d", b"", b"c", b"a b c"]
    rows = [((i,), text) for i, text in enumerate(texts)]
    df = spark.createDataFrame(rows, "key struct<id:int>, text binary").repartition(3)
    shingling, read = nd.Shingling(width=1), ReadTexts()
    counts = count_shingles(work, df, shingling, read)
    probes = find_probes(work, df, PrefixFilter(1.0, "contained"), shingling, read, counts)
    found = {letter: int(probes.counts.at(shingling.fingerprints(letter))[0]) for letter in "abcdx"}
    assert found == {"a": 2, "b": 3, "c": 4, "d": 1, "x": 0}  # of 2^23 counters
    assert probes.marks is not None and 1 <= sum(map(int.bit_count, probes.marks.cells.tolist())) <= 4
    for second, message in ((texts[::-1], None), (texts[:4], "5 texts were read at first, and 4, or others, when"),
                            ([*texts[:4], b"a b d"], "5 texts were read at first, and 5, or others, when")):
        rows = spark.createDataFrame([(digest(text),) for text in second], "bytes binary")
        if message is None:
            read.check(rows)
        else:
            with pytest.raises(ValueError, match=message):
                read.check(rows)
