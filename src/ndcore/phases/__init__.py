"""The main job in phases: functions from Arrow record batches to Arrow record batches, for engines that move rows.

Imports `dedup`, `collection` and what they stand on, and pyarrow (the extra `parquet`); no engine. An engine sorts and
groups rows between two phases, and may run a phase again: the rows of a phase depend on its input only.
"""
