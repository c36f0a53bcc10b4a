"""Near-duplicates of a corpus: one pass for signatures, candidates by a filter, exact resemblance, one result.

Imports `pairs`, `sketch`, `filters`, `text` and the rooms below them.
"""
