"""Clusters of a whole collection by the four phases of Broder et al. 1997, in memory or in a directory.

Read `cluster` first: it has phases one to three, and `clustering` phase four with the result; `settings` says what is done,
and `shelf` where the phases put what they make. `collection` keeps the outcome in a directory and answers queries.

Imports `pairs`, `sketch`, `filters`, `text`, `storage` and what these stand on.
"""
