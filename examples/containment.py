"""Estimate which text is contained in which: a page, its edited copy, and the book that it comes from (Broder 1997, §3).

A sketch of fixed size keeps few of the shingles that a book shares with a page. A mod sketch keeps the same fraction of
the shingles of every document, so it estimates containment at any ratio of lengths.
"""

import random

import ndcore as nd

# 1. Make a book of 60,000 words, a page of it, the page with 2 % of its words changed, and an unrelated book.
rng = random.Random(1997)
words = [f"{a}{b}{c}" for a in "bdklmnprst" for b in "aeiou" for c in ["", "n", "r", "s", "t"]]
book = [rng.choice(words) for _ in range(60_000)]
page = book[20_000:22_000]
edited = [rng.choice(words) if rng.random() < 0.02 else word for word in page]
other = [rng.choice(words) for _ in range(50_000)]
texts = {"book": book, "page": page, "edited page": edited, "other book": other}
documents = [" ".join(text) for text in texts.values()]

# 2. Keep one shingle in 25, and compare all documents with all.
sketches = nd.ModSketcher(modulus=25).sketch_many(documents)
comparison = sketches.compare()
low, high = comparison.interval(quantity="containment")
print(f"{len(sketches.values):,} of about {sum(sketches.sizes):,.0f} shingles are kept")
for i, name in enumerate(texts):
    for j, container in enumerate(texts):
        if i != j and comparison.containment[i, j] > 0.2:
            exact = nd.containment(documents[i], documents[j])
            print(f"{name} in {container}: {comparison.containment[i, j]:.3f} "
                  f"({low[i, j]:.3f} to {high[i, j]:.3f}), exact {exact:.3f}")

# 3. How many samples does a given error need?
print("\nSamples for a resemblance of 0.5 within 0.05, 19 times of 20:", nd.sample_size(0.5, 0.05))
for size in (50, 100, 200, 400):
    print(f"  {size}: within 0.05 with probability {nd.probability_within(size, 0.5, 0.05):.3f}")
