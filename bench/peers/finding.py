"""A library's search of documents by their simhashes, in a process of its own, in the environment of that library.

Arguments: the environment, a file with a document on each line, how many of the last documents are asked for, k, and how
often to repeat. Features are the words, as often as they occur; one thread. Writes one line of JSON: the versions, the
`fingerprints` of all documents, and a list of methods, each with `who`, the seconds of sketching and indexing all documents,
of a query with one document (median over 2000) and of all queries together (absent: it has no such thing), the least of the
repeats, and what the queries found: `found`, [query, position].
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from common import versions_of
from searching import ONLINE, each, timed

Answer = tuple[list[int], list[dict[str, Any]]]


def ndcore(documents: list[str], asked: list[str], k: int, repeats: int) -> Answer:
    """By its own plan."""
    import ndcore as library

    sketcher = library.SimHasher(shingling=library.Shingling(width=1))

    def values(texts: list[str]) -> Any:
        return sketcher.sketch_many(texts, threads=1).values

    build, index = timed(lambda: library.HammingIndex(values(documents), max_distance=k, threads=1), repeats)
    one = each(lambda document: index.query(int(sketcher.sketch(document).values[0])), asked[:ONLINE])
    asking, matches = timed(lambda: index.query_many(values(asked), threads=1), repeats)
    found = list(zip(matches.query.tolist(), matches.id.tolist(), strict=True))
    return values(documents).tolist(), [{"who": "ndcore", "build": build, "one": one, "asking": asking, "found": found}]


def gaoya(documents: list[str], asked: list[str], k: int, repeats: int) -> Answer:
    """Version 0.2.2 finds what differs in fewer bits than `hamming_distance`; its documentation says: as many or fewer."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    from gaoya.simhash import SimHashStringIndex

    def filled(distance: int, blocks: int) -> Any:
        made = SimHashStringIndex(hash_size=64, num_blocks=blocks, hamming_distance=distance)
        made.index.par_bulk_insert_docs(list(range(len(documents))), documents)
        return made

    rows = []
    for distance, blocks in ((k, k + 3), (k + 1, k + 2), (k + 1, k + 3)):
        build, index = timed(lambda distance=distance, blocks=blocks: filled(distance, blocks), repeats)
        one = each(index.query, asked[:ONLINE])
        asking, answers = timed(lambda index=index: index.par_bulk_query(asked), repeats)
        found = [(query, position) for query, positions in enumerate(answers) for position in positions]
        rows.append({"who": f"gaoya, hamming_distance={distance}, {blocks} blocks", "build": build, "one": one,
                     "asking": asking, "found": found})
    return index.index.par_bulk_doc2signatures(documents), rows


def leonsim(documents: list[str], asked: list[str], k: int, repeats: int) -> Answer:
    """Single queries only."""
    from simhash import Simhash, SimhashIndex

    def sketch(document: str) -> Any:
        return Simhash(document.split())

    build, index = timed(lambda: SimhashIndex([(str(i), sketch(document)) for i, document in enumerate(documents)], k=k))
    one = each(lambda document: index.get_near_dups(sketch(document)), asked[:ONLINE])
    found = [(query, int(i)) for query, document in enumerate(asked) for i in index.get_near_dups(sketch(document))]
    row = {"who": "simhash (Python), SimhashIndex", "build": build, "one": one, "found": found}
    return [sketch(document).value for document in documents], [row]


LIBRARIES = {"ndcore": (ndcore, "ndcore"), "gaoya": (gaoya, "gaoya"), "leonsim": (leonsim, "simhash")}


def main() -> int:
    name, file, count, k, repeats = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    find, package = LIBRARIES[name]
    documents = file.read_text().splitlines()
    fingerprints, rows = find(documents, documents[-count:], k, repeats)
    print(json.dumps({"versions": versions_of(package), "fingerprints": fingerprints, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
