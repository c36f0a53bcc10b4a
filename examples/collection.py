"""A collection of the machine's licences: clustered once, then asked by id, by text, and for other clusters."""

import tempfile
from pathlib import Path

import ndcore as nd

folder = Path("/usr/share/common-licenses")
files = sorted(path for path in folder.glob("*") if path.is_file()) if folder.is_dir() else []
texts = [path.read_bytes() for path in files] or [b"a rose is a rose is a rose", b"a rose is a rose is a rose it is"]
names = [path.name for path in files] or ["one", "two"]

with tempfile.TemporaryDirectory() as work:
    made = nd.Collection.build(Path(work) / "licences", texts, names, threshold=0.5)
    print(made.clustering)
    for members in made.clustering.clusters():
        print("cluster:", ", ".join(names[position] for position in members))

    passage = texts[-1][len(texts[-1]) // 3 : len(texts[-1]) // 2]
    for match in made.query(passage, threshold=0.5, policy="containment")[:3]:
        print(f"{match.text_in_document:.0%} of a passage of {names[-1]} is in {match.id}; cluster {match.cluster}")

    for a, b, containment, sample in zip(*made.clustering.contained(0.9), strict=True):
        print(f"{containment:.0%} of {names[a]} is in {names[b]}, by {sample} shingles of it")

    print(made.rethreshold(0.9).clustering)
