"""The algorithms in plain Python, written from the papers: the oracle of the tests and the baseline of the benchmarks.

Imports nothing of ndcore outside this folder.
"""
