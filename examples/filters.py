"""Choose an LSH filter (bands and rows) for a threshold, and see which pairs it passes (Broder 2000, §3 and §4)."""

import ndcore as nd

# 1. The cheapest filter for each threshold, with at most 0.1 % of the pairs at the threshold missed.
for threshold in (0.5, 0.7, 0.8, 0.9, 0.95):
    print(f"{threshold}: {nd.design_filter(threshold)}")

# 2. AltaVista's filter: 6 groups (bands) of 14 minima (rows). A candidate pair shares at least 2 groups.
print("\nAltaVista's 6 x 14, need 2:")
for resemblance in (0.5, 0.77, 0.909, 0.975, 0.99):
    print(f"  pairs at resemblance {resemblance} become candidates with probability {nd.pass_probability(resemblance):.3g}")
print(f"  half of the pairs pass at {nd.ALTAVISTA.half:.3f}; {nd.ALTAVISTA.bytes_per_document} bytes a document")

# 3. The same filter, found from its bounds.
print("\n48 bytes a document, at most 1.1 % missed at 0.975 and 1 % passed at 0.77:")
design = nd.design_filter(0.975, miss=0.011, bytes_per_document=48, false_candidates=(0.77, 0.01), documents=200_000_000)
print(f"  {design}")


# 4. The filter of least error where every resemblance is equally frequent, within 64 bytes a document.
def uniform(resemblance: float) -> float:
    """Return the density of pairs at this resemblance."""
    return 1.0


print("\nLeast error for uniform resemblances, 64 bytes a document:")
design = nd.design_filter(0.9, bytes_per_document=64, prior=uniform)
print(f"  {design}")
print(f"  {design.errors(uniform)}")
