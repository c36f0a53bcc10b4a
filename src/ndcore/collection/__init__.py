"""Clusters of a whole collection by the four phases of Broder et al. 1997, in memory or in a directory.

Imports `clusters`, `sketch`, `filters`, `text`, `storage` and what these stand on.
"""
