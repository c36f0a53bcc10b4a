"""Documents in files: recognise formats by their first bytes, read records, archives and pages, write results.

A document comes in through `discovery`, which lists files, `formats`, which recognises them, `source_reader`, which calls
the module of the format, and `documents`, which makes passes over all of them. It goes out through `rewritten_inputs`,
`jsonl_output` and `table_files`.

Imports `dedup`, `pairs`, `text`, `storage`, `store` (only to recognise its directories) and the rooms below them.
"""
