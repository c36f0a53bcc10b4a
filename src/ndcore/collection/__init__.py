"""Clusters of a whole collection by the four phases of Broder et al. 1997, in memory or in a directory.

Read `cluster` first: it has phases one to three, and `clustering` phase four with the result; `settings` defines the
options, and `shelf` where the phases store their results. `collection` keeps the results in a directory and answers queries.

Imports `pairs`, `sketch`, `filters`, `text`, `storage` and the rooms below them.
"""
