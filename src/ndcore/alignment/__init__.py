"""Passages that two texts share, with their places in each (greedy string tiling).

Imports `text` and the ground floor.
"""
