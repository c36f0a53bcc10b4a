"""Filters of candidate pairs: LSH bands and rows, their errors, the search for the cheapest; the complete filter.

Imports `stats` and the argument checks.
"""
