"""Exact search of fingerprints within a few bits: an index, joins, all pairs.

Up to 64 bits by permuted tables (Manku, Jain, Das Sarma 2007, §3), 128 and 256 bits by substrings (Norouzi, Punjani, Fleet
2012).

Imports `storage` and the ground floor; knows nothing of texts. From the entry points down:

- `index`, `join`, `all_pairs`: the public searches. `results`, `ids`, `fingerprints`: what they return and take.
- `index` grows by a log-structured merge; `index_file`: its file.
- `sorted_tables`, over `plain_tables`, `compressed_tables` or `substring_tables`; `row_pairs`: one set of tables and its
  searches.
- `table_plan`, `table_designs`: how many tables, and which bits lead each. `substring_plan`: how many substrings.

The loops are in the extension `_hamming`: `core/hamming.c` permutes, scans and compares (its table of variants is the place
for a faster scan), `core/probes.c` looks up prefixes in a batch, `core/substrings.c` substrings; `core/compressed.c` decodes
blocks.
"""
