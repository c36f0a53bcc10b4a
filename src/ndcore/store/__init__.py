"""What a crawler keeps: documents that come one at a time, their verdicts, clusters, versions and evidence, in a directory.

The truth is an append-only log; indexes and columns are derived from it, and made again where they are missing or damaged.

Imports `pairs`, `sketch`, `filters`, `text`, `storage` and what these stand on.
"""
