"""Which documents are near, and which one represents each: steps over plain arrays, which other rooms call.

From the order of documents (`keep_order`) and their sets (`shingle_sets`, `common_shingles`, `shingle_weights`) to
candidate pairs (`candidates`: LSH bands; `prefix_candidates`: the complete filter), to bounds and scores (`verification`,
`scored`, `lost`, `pairs_below`; `long_runs`, where thousands share a feature), to representatives (`representatives`;
`greedy`; `chains`). A step takes arrays and returns arrays; its callers do the reading, arranging and writing. Imports
`sketch`, `filters`, `text`, `storage` and the rooms below them.
"""
