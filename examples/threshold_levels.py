"""See what each threshold would drop, and the pairs below and above it, before you choose one.

The texts are the notices in examples/notices.jsonl. A threshold is right where you would call all pairs above it the same.
"""

import json
from pathlib import Path

import ndcore as nd

lines = Path("examples/notices.jsonl").read_text("utf-8").splitlines()
ids, texts = zip(*((notice["id"], notice["text"]) for notice in map(json.loads, lines)), strict=True)
lowest = nd.near_duplicates(texts, threshold=0.3, filter="complete")

print("threshold  kept  dropped")
for threshold in (0.3, 0.5, 0.7, 0.8, 0.9):
    found = nd.near_duplicates(texts, threshold=threshold, filter="complete")
    print(f"{threshold:9}  {len(found.kept):4}  {len(found.duplicates):7}")

print("pairs, the least similar first:")
for a, b, resemblance in sorted(lowest.pairs.rows(), key=lambda row: row[2]):
    if resemblance < 1:
        print(f"  {resemblance:.3f}  {ids[a]} and {ids[b]}")
