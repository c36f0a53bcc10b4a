"""Cluster a collection once, save it, and query it by text and by id (Broder et al. 1997, §4).

    python examples/collection.py [FOLDER]

Without FOLDER: the texts in examples/sample/texts.
"""

import sys
import tempfile
from pathlib import Path

import ndcore as nd

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples/sample/texts")
files = sorted(path for path in folder.glob("*") if path.is_file())
texts, names = [path.read_bytes() for path in files], [path.name for path in files]

with tempfile.TemporaryDirectory() as work:
    # 1. Sketch, count shared shingles, cluster. Everything is saved in the directory.
    collection = nd.Collection.build(Path(work) / "collection", texts, names, threshold=0.5)
    print(collection.clustering)
    for members in collection.clustering.clusters():
        print("cluster:", ", ".join(names[position] for position in members))

    # 2. Which documents contain this passage?
    passage = texts[-1][len(texts[-1]) // 3 : len(texts[-1]) // 2]
    for match in collection.query(passage, threshold=0.5, policy="containment")[:3]:
        print(f"{match.text_in_document:.0%} of a passage of {names[-1]} is in {match.id}; cluster {match.cluster}")

    # 3. Which documents resemble the first one of the largest cluster?
    largest = next(collection.clustering.clusters())
    for match in collection.resembling(names[largest[0]]):
        print(f"{match.id} resembles {names[largest[0]]}: {match.resemblance:.3f}")

    # 4. Which documents are contained in others?
    for a, b, containment, sample in zip(*collection.clustering.contained(0.9), strict=True):
        print(f"{containment:.0%} of {names[a]} is in {names[b]}, estimated from {sample} shingles")

    # 5. Other clusters from the pairs that were counted. No text is read again.
    print(collection.rethreshold(0.9).clustering)
