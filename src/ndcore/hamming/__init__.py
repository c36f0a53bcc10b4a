"""Search of 64-bit fingerprints within a few bits (Manku, Jain, Das Sarma 2007, §3): indexes, joins, all pairs.

Imports `storage` and the ground floor; knows nothing of texts.
"""
