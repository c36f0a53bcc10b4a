"""Which text is contained in which: an excerpt, a page and the book it stands in, by samples of a few shingles in each.

A sketch of fixed size has next to nothing of an excerpt beside a book. A mod sketch keeps the same part of the shingles of
every document, so it does (Broder 1997, §3).
"""

import random

import ndcore as nd

rng = random.Random(1997)
words = [f"{a}{b}{c}" for a in "bdklmnprst" for b in "aeiou" for c in ["", "n", "r", "s", "t"]]
book = [rng.choice(words) for _ in range(60_000)]
page = book[20_000:22_000]
edited = [rng.choice(words) if rng.random() < 0.02 else word for word in page]
texts = {"book": book, "page": page, "edited page": edited, "other book": [rng.choice(words) for _ in range(50_000)]}

documents = [" ".join(text) for text in texts.values()]
sketches = nd.ModSketcher(modulus=25).sketch_many(documents)
low, high = sketches.compare().interval(quantity="containment")
print(f"{len(sketches.values):,} of about {sum(sketches.sizes):,.0f} shingles are kept")
for i, name in enumerate(texts):
    for j, other in enumerate(texts):
        if i != j and sketches.containment(i, j) > 0.2:
            exact = nd.containment(documents[i], documents[j])
            print(f"{name} in {other}: {sketches.containment(i, j):.3f}, between {low[i, j]:.3f} and {high[i, j]:.3f}; "
                  f"exactly {exact:.3f}")

print()
print("Samples needed to know a resemblance of 0.5 within 0.05, 19 times of 20:", nd.sample_size(0.5, 0.05))
for size in (50, 100, 200, 400):
    print(f"  of {size}: within 0.05 with probability {nd.probability_within(size, 0.5, 0.05):.3f}")
