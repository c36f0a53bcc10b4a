"""Make a folder of dirty files to practise on: copies of every kind, formats, encodings, templates, broken files.

    python examples/dirty_files.py [FOLDER] [--megabytes 1] [--seed 1]
    python examples/dirty_files.py FOLDER --judge RESULT

Every text is generated from the seed: the same arguments give the same bytes. FOLDER.csv gets a line for each document: its
id as ndcore names it, what it is, and the id of the article that it was made from. With --judge nothing is made: the program
counts the copies that `ndcore dedup FOLDER -o RESULT` has left.
"""

import argparse
import csv
import gzip
import io
import json
import random
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PLACES = [
    a + b + c
    for a in ("Ash", "Bram", "Crow", "Dun", "Elm", "Fal", "Grim", "Hol", "Kel", "Lin", "Mar", "Nor", "Os", "Thorn")
    for b in ("a", "er", "ing", "le", "o", "wel")
    for c in ("by", "dale", "ford", "ham", "mouth", "stead", "wick", "wörth")
]
NOUNS = [
    "bakery", "bridge", "brewery", "canal", "chapel", "choir", "council", "cyclist", "dam", "engineer", "farmer",
    "ferry", "festival", "fire", "fisherman", "garden", "glassworks", "harbour", "hospital", "island", "laboratory",
    "library", "lighthouse", "market", "meadow", "mill", "museum", "nursery", "observatory", "orchard", "orchestra",
    "parliament", "potter", "quarry", "railway", "reservoir", "river", "road", "school", "shipyard", "smithy",
    "stadium", "station", "teacher", "theatre", "tower", "tram", "valley", "vineyard", "warehouse", "weaver",
    "windmill", "workshop",
]
KINDS = [
    "abandoned", "ancient", "blue", "busy", "cautious", "cheerful", "closed", "crowded", "damaged", "distant", "empty",
    "famous", "flooded", "forgotten", "former", "friendly", "generous", "green", "hidden", "large", "local", "lonely",
    "modern", "narrow", "new", "noisy", "old", "open", "painted", "patient", "proud", "quiet", "red", "restored",
    "round", "rural", "rusty", "silent", "small", "steep", "stone", "summer", "sunken", "temporary", "tidy",
    "unfinished", "upper", "wealthy", "wooden", "young",
]
DEEDS = [
    "admired", "bought", "built", "cleaned", "closed", "counted", "defended", "described", "discovered", "drew",
    "enlarged", "examined", "followed", "forgot", "found", "guarded", "heated", "inherited", "inspected", "lent",
    "measured", "mended", "missed", "moved", "opened", "ordered", "painted", "photographed", "praised", "promised",
    "protected", "refused", "renamed", "rented", "repaired", "replaced", "restored", "sold", "studied", "surveyed",
    "thanked", "visited", "watched", "widened",
]
TIMES = [
    "after the storm", "before noon", "during the strike", "for a whole week", "in early spring",
    "in spite of the rain", "last autumn", "on a Sunday", "since the flood", "with borrowed tools", "without a permit",
    "at the request of its neighbours", "under a new contract",
]
MENU = "Home News Sport Weather Culture Letters Archive Contact Sign in"
FOOTER = ("All rights reserved by the publishers of this site. No part of these pages may be copied without permission. "
          "We use cookies to remember your settings and to count our visitors. Subscribe to our newsletter, follow us, "
          "or write to the editors, who read every letter and answer most of them within a fortnight.")
COPIES = ("same bytes", "other layout", "some words changed", "excerpt")  # what becomes of an article a second time
ENCODINGS = ("utf-8", "utf-8", "utf-16", "cp1252")


class Document(NamedTuple):
    """A text, what it is, and the number of the article that it was made from."""

    text: str
    kind: str
    article: int


def sentence(rng: random.Random) -> str:
    """Return a sentence about things and places that do not exist."""
    who, what = (f"the {rng.choice(KINDS)} {rng.choice(NOUNS)} of {rng.choice(PLACES)}" for _ in range(2))
    words = f"{who} {rng.choice(DEEDS)} {what} {rng.choice(TIMES)}"
    return words[0].upper() + words[1:] + rng.choice([".", ".", ".", "!", " – for now."])


def changed(rng: random.Random, text: str, kind: str) -> str:
    """Return a copy of a text: as it is, in another layout, with a word of a hundred replaced, or its middle."""
    words = text.split()
    if kind == "other layout":
        return "\n".join(" ".join(words[i : i + 9]).upper() for i in range(0, len(words), 9))
    if kind == "some words changed":
        for i in rng.sample(range(len(words)), max(1, len(words) // 100)):
            words[i] = rng.choice(NOUNS)
        return " ".join(words)
    if kind == "excerpt":
        return " ".join(words[len(words) // 4 : 3 * len(words) // 4])
    return text


def documents(rng: random.Random, size: int) -> Iterator[Document]:
    """Yield documents of `size` bytes together: articles, and copies of some of the last thousand articles."""
    articles: deque[tuple[int, str]] = deque(maxlen=1000)
    number = 0
    while size > 0:
        if articles and rng.random() < 0.35:
            article, text = rng.choice(articles)
            kind = rng.choice(COPIES)
            made = Document(changed(rng, text, kind), kind, article)
        else:
            made = Document(" ".join(sentence(rng) for _ in range(rng.randint(6, 24))), "article", number)
            articles.append((number, made.text))
        size -= len(made.text.encode())
        number += 1
        yield made


class Folder:
    """The files of the folder, and the id of every document in them."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng, self.ids, self.rows, self.delivered = folder, rng, list[str](), list[str](), 0
        for name in ("deliveries", "notes", "pages"):
            (folder / name).mkdir(parents=True)

    def add(self, number: int, made: Document) -> None:
        """Put a document into a file of its own or among the records of a delivery, in a format by chance."""
        form = self.rng.choices(["record", "note", "page"], [6, 2, 2])[0]
        if form == "record":
            self.ids.append(f"d{number}")
            self.rows.append(json.dumps({"id": self.ids[-1], "text": made.text}, ensure_ascii=False))
            if len(self.rows) == 20_000:
                self.deliver()
        elif form == "note":
            path = self.folder / "notes" / f"note-{number}.txt"
            path.write_bytes(made.text.encode(self.rng.choice(ENCODINGS), "replace"))
            self.ids.append(path.relative_to(self.folder).as_posix())
        else:
            path = self.folder / "pages" / f"page-{number}.html"
            path.write_text(f"<!doctype html><html><head><meta charset=utf-8><title>Page {number}</title></head><body>"
                            f"<nav>{MENU}</nav><p>{made.text}</p><footer>{FOOTER}</footer></body></html>", "utf-8")
            self.ids.append(path.relative_to(self.folder).as_posix())

    def deliver(self) -> None:
        """Write the records at hand: the first third as lines of JSON, the next compressed, the last as a table."""
        third, name = len(self.rows) // 3, f"{self.folder}/deliveries/{self.delivered:03}"
        Path(f"{name}.jsonl").write_text("".join(f"{row}\n" for row in self.rows[:third]), "utf-8")
        packed = "".join(f"{row}\n" for row in self.rows[third : 2 * third]).encode()
        Path(f"{name}-packed.jsonl.gz").write_bytes(gzip.compress(packed, 6, mtime=0))
        table = io.StringIO()
        writer = csv.writer(table, delimiter=";")
        writer.writerow(["id", "text"])
        writer.writerows(json.loads(row).values() for row in self.rows[2 * third :])
        Path(f"{name}-table.csv").write_bytes(table.getvalue().encode("cp1252", "replace"))
        self.rows.clear()
        self.delivered += 1

    def break_some(self) -> None:
        """Add what no program can read: half a gzip file, half a line of JSON, a picture that is called text."""
        whole = gzip.compress(b'{"id": "lost", "text": "the end of this file is missing"}\n' * 50, mtime=0)
        (self.folder / "deliveries" / "cut-off.jsonl.gz").write_bytes(whole[: len(whole) // 2])
        (self.folder / "deliveries" / "half.jsonl").write_text('{"id": "half", "text": "the disk was fu', "utf-8")
        (self.folder / "notes" / "scan.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)))


def make(where: Path, megabytes: float, seed: int) -> None:
    """Make the folder `where`, with that much text, and FOLDER.csv beside it."""
    rng = random.Random(seed)
    folder, kinds = Folder(where, rng), Counter[str]()
    with Path(f"{where}.csv").open("w", encoding="utf-8", newline="") as file:
        truth = csv.writer(file)
        truth.writerow(["id", "kind", "article"])
        for number, made in enumerate(documents(rng, int(megabytes * 1e6))):
            folder.add(number, made)
            truth.writerow([folder.ids[-1], made.kind, folder.ids[made.article]])
            kinds[made.kind] += 1
    folder.deliver()
    folder.break_some()
    files = sum(path.is_file() for path in where.rglob("*"))
    print(f"{kinds.total()} documents in {files} files, and 3 broken files among them")
    for kind, count in kinds.most_common():
        print(f"  {kind:18} {count:5}")


def judge(where: Path, result: Path) -> None:
    """Print how many documents a result keeps, how many of them are copies, and whether an article is lost."""
    with Path(f"{where}.csv").open(encoding="utf-8", newline="") as file:
        article = {row["id"]: row["article"] for row in csv.DictReader(file)}
    with (result / "clusters.jsonl").open(encoding="utf-8") as lines:
        dropped = {row["id"]: row["representative"] for row in map(json.loads, lines)}
    kept = [each for each in article if each not in dropped]
    articles = {article[each] for each in kept}
    unlike = sum(article[each] != article[other] for each, other in dropped.items())
    print(f"{len(kept)} kept: {len(articles)} articles, {len(kept) - len(articles)} copies left; "
          f"{len(set(article.values()) - articles)} articles lost, {unlike} dropped for another article")


def main() -> None:
    """Make the folder and print what is in it, or judge a result."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="?", type=Path, help="(default: dirty in a temporary folder)")
    options.add_argument("--megabytes", type=float, default=1, help="of text (default 1)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--judge", metavar="RESULT", type=Path, help="what ndcore dedup made of FOLDER")
    chosen = options.parse_args()
    if chosen.folder and chosen.judge:
        judge(chosen.folder, chosen.judge)
        return
    with tempfile.TemporaryDirectory() as temporary:
        make(chosen.folder or Path(temporary) / "dirty", chosen.megabytes, chosen.seed)


if __name__ == "__main__":
    main()
