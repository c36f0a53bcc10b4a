"""Which documents are near, and which one stands for each: steps over plain arrays, which other rooms call.

From sets (`shingle_sets`, `common_shingles`) to candidate pairs (`candidates`: LSH bands; `prefix_candidates`: the complete
filter), to bounds and scores (`verification`, `scored`, `lost`, `pairs_below`), to representatives (`representatives`, with
the long runs of thousands that share a feature; `greedy`; `chains`). A step takes arrays and returns arrays; whoever calls
it reads, arranges and writes. Imports `sketch`, `filters`, `text`, `storage` and what these stand on.
"""
