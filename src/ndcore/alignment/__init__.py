"""Passages that two texts share, and where they stand in each (greedy string tiling).

Imports `text` and the ground floor.
"""
