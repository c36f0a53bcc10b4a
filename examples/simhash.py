"""Pages that differ in a banner or a date, found by their simhashes (Manku, Jain, Das Sarma 2007).

Every page of a site has the same words around it. Weights learned from the pages (idf) let what is common count little, so
that two articles are told apart and two copies of one are not.
"""

import numpy as np

import ndcore as nd

frame = "home news sport weather contact imprint privacy cookies follow us subscribe to our newsletter share this page"
articles = [
    "the river rose two metres in a night and the old bridge was closed until the engineers had looked at every pillar",
    "a museum of calculating machines opens in the former mill with four hundred pieces that visitors may try themselves",
    "the orchestra ends its season with a symphony that nobody has heard since its score was found behind an organ",
]
pages = [f"{frame} {article} read on {day}" for article in articles for day in ("monday", "tuesday")]

words = nd.Shingling(width=2)
idf = nd.Idf.learn(pages, words)
for name, weights in (("equal weights", None), ("idf", idf)):
    sketches = nd.SimHasher(weights=weights, shingling=words).sketch_many(pages)
    twins = np.mean([sketches.distance(i, i + 1) for i in (0, 2, 4)])
    others = np.mean([sketches.distance(i, j) for i in (0, 1) for j in (2, 3, 4, 5)])
    print(f"{name}: twins differ in {twins:.1f} bits, pages of the same site in {others:.1f}")

index = nd.HammingIndex(sketches.values[sketches.valid], ids=np.flatnonzero(sketches.valid), max_distance=8)
for a, b, distance in zip(*index.pairs(), strict=True):
    print(f"pages {a} and {b} differ in {distance} bits")
