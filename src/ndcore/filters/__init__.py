"""Filters, as LSH bands and rows: their probabilities, their errors, and the search for the cheapest one.

Imports `stats` and the argument checks.
"""
