"""Compare two texts: how similar they are, whether one is in the other, and which passages they share."""

import ndcore as nd

first = ("The old bridge over the river stays closed until Friday. The river rose by two metres in a single night, and "
         "engineers want to inspect every one of the six pillars before traffic returns.")
second = "Breaking: the river rose by two metres in a single night; and engineers want to inspect every one of the pillars."

print(f"resemblance (Jaccard similarity of runs of 5 words): {nd.resemblance(first, second):.3f}")
print(f"share of the second text that is in the first: {nd.containment(second, first):.3f}")
print("passages of the second text; number 0 is nowhere in the first:")
for passage in nd.passages(first, second).b:
    print(f"  {passage.number}: {second[passage.start : passage.end]}")
