"""Let several crawling processes write to one store: each content is new once, whichever process fetched it first.

One process has the store open and listens; the others decide through its local socket. Workers of another language may talk
to `ndcore store decide STORE -` through pipes instead.
"""

import multiprocessing
import sys
import tempfile
from collections import Counter
from pathlib import Path

import ndcore as nd

WORKERS = 3
SENTENCES = [
    "the ferry to the island leaves at nine and returns at six unless the wind comes from the north",
    "tickets are sold on board and bicycles travel free of charge from monday to friday",
    "the harbour office answers the telephone in the morning and closes on public holidays",
    "dogs must be kept on a lead and luggage may be left beside the stairs at your own risk",
]


def fetched(worker: int) -> list[tuple[str, str]]:
    """Return the pages that a worker fetches: a page of its own, and mirrors of the pages that all workers find."""
    site = f"http://mirror{worker}.example"
    own = " and ".join(f"word {worker} {i}" for i in range(40))
    shared = [(f"{site}/{i}", " ".join(SENTENCES[i:] + SENTENCES[:i])) for i in range(len(SENTENCES))]
    return [(f"{site}/about", own), *shared]


def work(store: str, worker: int, answers: "multiprocessing.Queue[tuple[str, str, str | None]]") -> None:
    """Ask the store about each page as it comes. A crawler would now parse, index or drop the page."""
    with nd.StoreClient(store) as client:
        for url, text in fetched(worker):
            verdict = client.decide(url, text)
            answers.put((url, verdict.verdict, verdict.of))


def main(folder: str) -> None:
    """Crawl with several workers, and print what the store says in the end."""
    path = str(Path(folder, "seen"))
    processes = multiprocessing.get_context("spawn")  # no thread of the store is copied into a worker
    answers = processes.Queue()
    with nd.Store.open(path, durability="each") as store, store.listen():
        workers = [processes.Process(target=work, args=(path, number, answers)) for number in range(WORKERS)]
        for worker in workers:
            worker.start()
        found = [answers.get(timeout=120) for _ in range(WORKERS * (len(SENTENCES) + 1))]
        for worker in workers:
            worker.join()
        counts = Counter(verdict for _, verdict, _ in found)
        print(f"{len(found)} pages from {WORKERS} workers: {dict(sorted(counts.items()))}")
        for members in store.clusters():
            print(f"{len(members)} x {members[0]}")
        print(f"problems: {store.check()}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as made:
            main(made)
