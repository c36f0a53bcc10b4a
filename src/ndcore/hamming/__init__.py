"""Exact search of 64-bit fingerprints within a few bits (Manku, Jain, Das Sarma 2007, §3): an index, joins, all pairs.

Imports `storage` and the ground floor; knows nothing of texts. From the entry points down:

- `index`, `join`, `all_pairs`: the public searches. `results`, `ids`, `fingerprints`: what they return and take.
- `index` grows by a log-structured merge; `index_file`: its file.
- `sorted_tables`, over `plain_tables` or `compressed_tables`; `row_pairs`: one set of tables and its searches.
- `table_plan`, `table_designs`: how many tables, and which bits lead each.

The loops are in the extension `_hamming`: `core/hamming.c` permutes, scans and compares (its table of variants is the place
for a faster scan), `core/probes.c` looks up prefixes in a batch, `core/compressed.c` decodes blocks.
"""
