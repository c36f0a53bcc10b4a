"""Find pages that differ only in a date, by their simhashes, with weights learned from the corpus (Manku et al. 2007).

Every page of a site has the same words around its article. Inverse document frequency (idf) lets these common words count
little, so two articles lie farther apart and two copies of one article closer together.
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

# 1. Compare the distances with equal weights and with idf. Pages 0 and 1, 2 and 3, 4 and 5 are copies.
words = nd.Shingling(width=2)
idf = nd.Idf.learn(pages, words)
for name, weights in (("equal weights", None), ("idf", idf)):
    sketches = nd.SimHasher(weights=weights, shingling=words).sketch_many(pages)
    copies = np.mean([sketches.distance(i, i + 1) for i in (0, 2, 4)])
    others = np.mean([sketches.distance(i, j) for i in (0, 1) for j in (2, 3, 4, 5)])
    print(f"{name}: copies differ in {copies:.1f} bits, other pages of the site in {others:.1f}")

# 2. Find all pairs within 8 bits.
index = nd.HammingIndex(sketches.values[sketches.valid], ids=np.flatnonzero(sketches.valid), max_distance=8)
for a, b, distance in zip(*index.pairs(), strict=True):
    print(f"pages {a} and {b} differ in {distance} bits")
