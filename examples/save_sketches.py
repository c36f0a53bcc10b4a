"""Make sketches once, save them, and compare new texts with them later, without the old texts."""

import tempfile
from pathlib import Path

import ndcore as nd

old = ["a rose is a rose is a rose", "the quick brown fox jumps over the lazy dog and runs away into the wood"]
new = ["The quick brown fox jumps over the lazy dog, and runs away into the wood.", "something else entirely"]

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "old.nds"
    sketches = nd.MinHasher(num_perm=128).sketch_many(old)
    sketches.ids = ["rose", "fox"]
    sketches.save(file)
    print(f"{file.stat().st_size} bytes for {len(old)} texts")

    loaded = nd.load(file)
    same = nd.MinHasher.from_recipe(loaded.recipe)      # sketches of different recipes are never compared
    result = nd.near_duplicates(new, against=loaded, num_perm=same.num_perm)
    for text, kept in zip(new, result.mask, strict=True):
        print("new " if kept else "seen", text)
