"""Ask about every page of a crawl, as it comes, whether a similar page has been seen (Manku, Jain, Das Sarma 2007, §1).

Each page becomes a simhash of 64 bits, is looked up, and is added if it is new. That takes some tens of microseconds. The
index is saved with the recipe of its simhashes, so a later crawler, which opens it, makes the same ones.
"""

import tempfile
from pathlib import Path

import ndcore as nd

RIVER = (
    "the river rose two metres in a night and the old bridge was closed until the engineers had looked at every one of its "
    "pillars; ferries carry passengers but no cars until friday"
)
MUSEUM = (
    "a museum of calculating machines opens in the former mill with four hundred pieces, from an abacus to the relay "
    "computer of the local insurance company, that visitors may try themselves"
)
PAGES = {
    "news.example/river": RIVER,
    "news.example/museum": MUSEUM,
    "mirror.example/river": RIVER.capitalize().replace(";", ".") + "!",
    "news.example/river?print=1": f"print this page: {RIVER}",
}


def crawl(index: nd.HammingIndex, fetched: dict[str, str]) -> None:
    """Look up every page, and add the new ones to the index."""
    sketcher = nd.SimHasher.from_recipe(index.recipe)
    for url, text in fetched.items():
        sketch = sketcher.sketch(text)
        if not sketch.valid[0]:
            print(f"{url}: no words")
            continue
        fingerprint = int(sketch.values[0])
        similar, distances = index.query(fingerprint)
        if len(similar):
            print(f"{url}: like {similar[0]}, {distances[0]} of 64 bits differ")
        else:
            index.add([fingerprint], [url])
            print(f"{url}: new")


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "seen.ndh"

    # Today: begin with an empty index. Single words are the features, since short pages have few phrases.
    hasher = nd.SimHasher(shingling=nd.Shingling(width=1))
    index = nd.HammingIndex([], ids=[], max_distance=8, recipe=hasher.recipe)
    crawl(index, PAGES)
    index.save(file)

    # Tomorrow: open the saved index and go on.
    index = nd.HammingIndex.open(file)
    crawl(index, {"news.example/museum?ref=home": MUSEUM, "news.example/empty": ""})
    print(index)
