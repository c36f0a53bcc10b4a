"""Stop a crawler from storing copies: a store on disk says of every page, as it comes, what it repeats.

The store survives crashes and remembers pages between crawls. It decides as `near_duplicates` would on all pages in order.
"""

import tempfile
from pathlib import Path

import ndcore as nd

NOTICE = "The old bridge over the river stays closed until Friday, since the river rose by two metres."
PAGES = {
    "https://town.example/bridge": NOTICE,
    "https://mirror.example/7": NOTICE.upper(),
    "https://town.example/pool": "The swimming pool is closed on Monday for the annual inspection of its filters.",
    "https://town.example/bridge?print=1": f"Print this page: {NOTICE}",
}

with tempfile.TemporaryDirectory() as folder, nd.Store.open(Path(folder) / "pages.store", threshold=0.7) as store:
    for url, text in PAGES.items():
        verdict = store.decide(url, text, "2026-03-01")
        if verdict.verdict == "kept":
            print(f"store   {url}")
        else:
            print(f"skip    {url}: {verdict.verdict} to {verdict.of}")
    print("who has the notice:", *store.cluster("https://town.example/bridge"))
