"""Look up, add and remove texts in memory: an index that finds what resembles a text, with the exact resemblance."""

import ndcore as nd

index = nd.Index(threshold=0.4)
index.add_many({
    "monday": "the ferry to the island leaves at seven and at nine in the morning and returns at noon",
    "tuesday": "the ferry to the island leaves at seven and at ten in the morning and returns at noon",
    "market": "the market moves to the station for three weeks while the square is paved anew",
}.items())

question = "The ferry to the island leaves at seven, and at nine in the morning, and returns at night."
for match in index.query(question):
    print(f"{match.key}: {match.resemblance:.3f}")

index.remove("monday")
print("after a removal:", [match.key for match in index.query(question)])
