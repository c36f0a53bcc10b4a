"""What noise does to near-duplicates: texts beside copies with seeded errors, by words, characters and the settings noisy.

    python bench/noise.py --data FOLDER reuters21578 biblio_asysd

Of each corpus, or of made-up texts, come documents of 400 to 6,000 characters, of which no two resemble each other by 0.5 or
more in characters. Each gets a copy in which a share of the characters is hit: replaced by another letter, left out, taken
for one that looks alike, followed by a character of no width or by a blank, or written as an entity of HTML. Then the copy
is wrapped at a width of its own, with words divided at the ends of lines. A pair is right if it is a text and its own copy.
"""

from __future__ import annotations

import argparse
import json
import random
import textwrap
import time
from pathlib import Path
from typing import Any

from corpus import Corpus, load, natural

import ndcore as nd

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2)
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8)
ALIKE = dict(zip("oliecasbgnmhtu", ["0", "1", "1", "c", "e", "o", "5", "6", "9", "ri", "rn", "b", "f", "ii"], strict=True))
ENTITIES = {"&": "&amp;", "<": "&lt;", '"': "&quot;", "'": "&#39;"}
WAYS: dict[str, dict[str, Any]] = {
    "words in runs of 5": {"filter": "complete"},
    "characters in runs of 5": {"shingling": nd.Shingling("char"), "filter": "complete"},
    "noisy": nd.load_settings("noisy"),
}


def spoilt(text: str, share: float, rng: random.Random) -> str:
    """Hit a share of the characters, and break the lines anew."""
    left = []
    for c in text:
        hit = rng.randrange(5) if rng.random() < share else -1
        left.append([
            rng.choice("abcdefghijklmnopqrstuvwxyz"), "", ALIKE.get(c.lower(), c + "."), c + rng.choice("\u200b\u00ad"),
            ENTITIES.get(c, c + " "), c,
        ][hit])
    return divided("".join(left).split(), rng.randrange(45, 90))


def divided(words: list[str], width: int) -> str:
    """Fill lines of a width with words; one that is too long for the rest of its line is divided by a hyphen."""
    lines = [""]
    for word in words:
        room = width - len(lines[-1]) - 2
        if room >= len(word):
            lines[-1] += f" {word}"
        elif 2 <= room < len(word) - 2 and len(word) > 5:
            lines[-1] += f" {word[:room]}-"
            lines.append(word[room:])
        else:
            lines.append(word)
    return "\n".join(lines)


def chosen(corpus: Corpus, count: int) -> list[str]:
    """Choose texts of middle length that do not resemble each other."""
    texts = [text for text in corpus.texts if 400 <= len(text) <= 6000][: 4 * count]
    found = nd.near_duplicates(texts, **{**WAYS["noisy"], "threshold": 0.5})
    return [texts[i] for i in found.keep_indices][:count]


def rows(name: str, texts: list[str]) -> list[dict[str, Any]]:
    """Measure a corpus; a row for each share and way."""
    measured = []
    for share in SHARES:
        rng = random.Random(f"{name} {share}")
        documents = [*texts, *(spoilt(text, share, rng) for text in texts)]
        for way, options in WAYS.items():
            begun = time.process_time()
            pairs = nd.near_duplicates(documents, **{**options, "threshold": THRESHOLDS[0]}, threads=1).pairs
            row: dict[str, Any] = {"corpus": name, "documents": len(documents), "share": share, "way": way,
                                   "seconds": round(time.process_time() - begun, 3)}
            right = abs(pairs.a.astype(int) - pairs.b.astype(int)) == len(texts)
            for threshold in THRESHOLDS:
                at = pairs.resemblance >= threshold
                row[f"recall {threshold}"] = round(float((right & at).sum() / len(texts)), 4)
                row[f"precision {threshold}"] = round(float((right & at).sum() / max(1, at.sum())), 4)
            measured.append(row)
    return measured


def main() -> None:
    """Run from the command line."""
    summary = textwrap.shorten(__doc__ or "", 200)
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("corpora", nargs="*", help="corpora of the folder; without them, made-up texts")
    parser.add_argument("--data", type=Path, help="the folder of corpora")
    parser.add_argument("--count", type=int, default=1000, help="documents that get a copy")
    given = parser.parse_args()
    if bool(given.corpora) != bool(given.data):
        parser.error("corpora and --data go together")
    for corpus in (load(name, given.data) for name in given.corpora) if given.data else [natural(1, 2000, 4_000_000)]:
        for row in rows(corpus.name, chosen(corpus, given.count)):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
