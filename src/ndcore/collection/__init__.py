"""Clusters of a whole collection by the four phases of Broder et al. 1997, in memory or in a directory.

Read `cluster` first: it runs the phases, `phase1_sketches` to `phase4_clusters`, over the shelf that `slots` describes.
`collection` keeps the outcome in a directory (`build`, `stored`) and answers queries (`query`).

Imports `clusters`, `sketch`, `filters`, `text`, `storage` and what these stand on.
"""
