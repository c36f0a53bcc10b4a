"""Passages that two texts share, with their positions in each (greedy string tiling).

Imports `text` and the ground floor.
"""
