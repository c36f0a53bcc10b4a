"""Candidates by one equal value: super-features (Broder 2000, §3) and super-shingles (Broder et al. 1997, §5.3)."""

from collections import defaultdict
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


def sharing(values, groups_of):
    """Pairs of documents that hold an equal value: sort by value, and pair what lies together."""
    holders = defaultdict(set)
    for value, document in zip(values, groups_of, strict=True):
        holders[value].add(document)
    return sorted({pair for documents in holders.values() for pair in combinations(sorted(documents), 2)})


signatures = nd.MinHasher(num_perm=84).sketch_many(texts.values())
super_features = nd.super_features(signatures)  # two of six features in common, in one value
documents = [i for i, row in enumerate(super_features) for _ in row]
print("one super-feature in common:")
for i, j in sharing(super_features.ravel().tolist(), documents):
    print(f"  {names[i]} and {names[j]}: resemblance {nd.resemblance(texts[names[i]], texts[names[j]]):.3f}")

sketches = nd.BottomSketcher(size=200).sketch_many(texts.values())
super_shingles = nd.super_shingles(sketches, run=14)
documents = [i for i in range(len(names)) for _ in range(super_shingles.offsets[i], super_shingles.offsets[i + 1])]
print("one super-shingle in common:")
for i, j in sharing(super_shingles.values.tolist(), documents):
    rho = nd.resemblance(texts[names[i]], texts[names[j]])
    print(f"  {names[i]} and {names[j]}: at {rho:.3f} with probability {nd.super_shingle_probability(rho, 200, 14):.2f}")
