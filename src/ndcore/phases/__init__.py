"""The main job in phases: functions from Arrow record batches to Arrow record batches, for engines that move rows.

Imports `dedup`, `collection` and the rooms below them, and pyarrow (the extra `parquet`), but no engine. An engine sorts
and groups rows between two phases, and may run a phase again: the output of a phase depends only on its input.
"""
