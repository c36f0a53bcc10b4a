"""The store of a crawler: documents that arrive one by one, with verdicts, clusters, versions and evidence, in a directory.

The source of truth is an append-only log; indexes and columns are derived from it, and rebuilt if they are missing or
damaged. Imports `pairs`, `sketch`, `filters`, `text`, `storage` and the rooms below them.
"""
