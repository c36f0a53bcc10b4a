"""Find candidate pairs by one equal value: super-features (Broder 2000, §3) and super-shingles (Broder et al. 1997, §5.3).

A database can join on one equal value, without counting how many values two documents share.
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

import ndcore as nd

sentences = [f"sentence number {i} of a text says something that no other sentence says" for i in range(60)]
texts = {
    "the text": ". ".join(sentences),
    "a word changed": ". ".join([*sentences[:30], sentences[30].replace("says", "said", 1), *sentences[31:]]),
    "a sixth missing": ". ".join(sentences[10:]),
    "another text": " ".join(f"word{i}" for i in range(500)),
}
names = list(texts)


def pairs_with_a_common_value(rows: Iterable[Iterable[int]]) -> list[tuple[int, int]]:
    """Return the pairs of rows that have a value in common: a join on equal values."""
    holders = defaultdict(set)
    for document, values in enumerate(rows):
        for value in values:
            holders[value].add(document)
    return sorted({pair for documents in holders.values() for pair in combinations(sorted(documents), 2)})


# 1. Super-features: one in common means that two of six features are in common.
signatures = nd.MinHasher(num_perm=84).sketch_many(texts.values())
print("one super-feature in common:")
for i, j in pairs_with_a_common_value(nd.super_features(signatures).tolist()):
    print(f"  {names[i]} and {names[j]}: resemblance {nd.resemblance(texts[names[i]], texts[names[j]]):.3f}")

# 2. Super-shingles: one in common means that 14 consecutive members of two bottom sketches are in common.
sketches = nd.BottomSketcher(size=200).sketch_many(texts.values())
values, offsets = nd.super_shingles(sketches, run=14)
print("one super-shingle in common:")
for i, j in pairs_with_a_common_value(values[offsets[i] : offsets[i + 1]].tolist() for i in range(len(names))):
    rho = nd.resemblance(texts[names[i]], texts[names[j]])
    print(f"  {names[i]} and {names[j]}: resemblance {rho:.3f}, found with probability "
          f"{nd.super_shingle_probability(rho, 200, 14):.2f}")
