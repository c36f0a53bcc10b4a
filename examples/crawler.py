"""A crawler that asks about every page, as it comes, whether it has seen one like it (Manku, Jain, Das Sarma 2007, §1).

Each page is sketched, looked up and, if it is new, added: some tens of microseconds. The index is saved with the recipe of
its simhashes, so that tomorrow's crawler, which opens it, makes the same ones.
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
pages = {
    "news.example/river": RIVER,
    "news.example/museum": MUSEUM,
    "mirror.example/river": RIVER.capitalize().replace(";", ".") + "!",
    "news.example/river?print=1": f"print this page: {RIVER}",
}


def crawl(index: nd.HammingIndex, fetched: dict[str, str]) -> None:
    """Keep what is new."""
    sketcher = nd.SimHasher.from_recipe(index.recipe)
    for url, text in fetched.items():
        sketch = sketcher.sketch(text)
        if not sketch.valid[0]:
            print(f"{url}: nothing to compare")
            continue
        fingerprint = int(sketch.values[0])
        seen, distance = index.query(fingerprint)
        if len(seen):
            print(f"{url}: like {seen[0]}, {distance[0]} of 64 bits differ")
        else:
            index.add([fingerprint], [url])
            print(f"{url}: new")


with tempfile.TemporaryDirectory() as folder:
    seen = Path(folder) / "seen.ndh"
    words = nd.SimHasher(shingling=nd.Shingling(width=1))  # single words: short pages have few phrases
    today = nd.HammingIndex(ids=[], max_distance=8, recipe=words.recipe)
    crawl(today, pages)
    today.save(seen)

    tomorrow = nd.HammingIndex.open(seen)
    crawl(tomorrow, {"news.example/museum?ref=home": MUSEUM, "news.example/empty": ""})
    print(tomorrow)
