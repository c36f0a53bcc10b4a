"""Which documents are near, and which one represents each: steps over plain arrays, which other rooms call.

From sets (`shingle_sets`, `common_shingles`) to candidate pairs (`candidates`: LSH bands; `prefix_candidates`: the complete
filter), to bounds and scores (`verification`, `scored`, `lost`, `pairs_below`), to representatives (`representatives`, with
the long runs of thousands that share a feature; `greedy`; `chains`). A step takes arrays and returns arrays; its callers do
the reading, arranging and writing. Imports `sketch`, `filters`, `text`, `storage` and the rooms below them.
"""
