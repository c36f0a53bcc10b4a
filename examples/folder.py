"""Deduplicate the files of a folder, and explain one pair of near-duplicates.

    python examples/folder.py [FOLDER]

Without FOLDER: the texts in examples/sample/texts.
"""

import sys
from pathlib import Path

import ndcore as nd

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples/sample/texts")
paths = sorted(path for path in folder.iterdir() if path.is_file())
result = nd.near_duplicates([path.read_bytes() for path in paths], threshold=0.5)

# 1. What was dropped: its class, the kept document that represents it, and their Jaccard similarity (resemblance).
for i in result.duplicates:
    print(f"{paths[i].name} is {result.classes[i]} to {paths[result.labels[i]].name}: {result.resemblance[i]:.3f}")

# 2. Why the first accepted pair was accepted.
if len(result.pairs.a):
    print()
    print(result.explain(int(result.pairs.a[0]), int(result.pairs.b[0])))
