"""What noise does to near-duplicates: texts beside copies with seeded errors, by words, characters and the settings noisy.

    python bench/noise.py --data FOLDER reuters21578 biblio_asysd
    python bench/noise.py --data FOLDER --ocr --count 100 reuters21578

Of each corpus, or of made-up texts, come documents of 400 to 6,000 characters, of which no two resemble each other by 0.5 or
more in characters. Each gets a copy in which a share of the characters is hit: replaced by another letter, left out, taken
for one that looks alike, followed by a character of no width or by a blank, or written as an entity of HTML. Then the copy
is wrapped at a width of its own, with words divided at the ends of lines. With --ocr the copy is what tesseract reads from
an image of the text: in several resolutions, turned, as JPEG with speckles, in two columns. A pair is right if it is a text
and its own copy.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from corpus import Corpus, load, natural

import ndcore as nd

SHARES = (0.0, 0.01, 0.05, 0.1, 0.2)
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8)
ALIKE = dict(zip("oliecasbgnmhtu", ["0", "1", "1", "c", "e", "o", "5", "6", "9", "ri", "rn", "b", "f", "ii"], strict=True))
ENTITIES = {"&": "&amp;", "<": "&lt;", '"': "&quot;", "'": "&#39;"}
Noise: TypeAlias = Callable[[str, list[str]], Iterator[tuple[str, list[str]]]]
WAYS: dict[str, dict[str, Any]] = {
    "words in runs of 5": {"filter": "complete"},
    "characters in runs of 5": {"shingling": nd.Shingling("char"), "filter": "complete"},
    "noisy": nd.load_settings("noisy"),
}


@dataclass(frozen=True)
class Scan:
    """How a page is printed and scanned: letters of 10 points, degrees, quality of JPEG with speckles, columns."""

    dpi: int
    turned: float = 0
    jpeg: int | None = None
    columns: int = 1


SCANS = {
    "150 dpi": Scan(150), "100 dpi": Scan(100), "72 dpi": Scan(72),
    "150 dpi, turned by 2 degrees": Scan(150, turned=2), "100 dpi, JPEG 20, speckles": Scan(100, jpeg=20),
    "150 dpi, two columns": Scan(150, columns=2),
}


def scanned(text: str, scan: Scan, rng: random.Random) -> str:
    """Return what tesseract reads from an image of a text."""
    from PIL import Image, ImageDraw, ImageFont

    size = round(scan.dpi * 10 / 72)
    font, step, margin = ImageFont.load_default(size), size * 5 // 4, scan.dpi // 2
    lines = divided(text.split(), 90 // scan.columns - 6 * (scan.columns - 1)).split("\n")
    rows = -(-len(lines) // scan.columns)
    across = 7 * scan.dpi // scan.columns
    page = Image.new("L", (7 * scan.dpi + 2 * margin, rows * step + 2 * margin), 255)
    draw = ImageDraw.Draw(page)
    for i, line in enumerate(lines):
        draw.text((margin + i // rows * across, margin + i % rows * step), line.strip(), fill=0, font=font)
    page = page.rotate(scan.turned, Image.Resampling.BICUBIC, fillcolor=255)
    data = io.BytesIO()
    if scan.jpeg is None:
        page.save(data, "PNG")
    else:
        for _ in range(page.width * page.height // 200):
            page.putpixel((rng.randrange(page.width), rng.randrange(page.height)), rng.randrange(256))
        page.save(data, "JPEG", quality=scan.jpeg)
    read = subprocess.run(["tesseract", "-", "-", "--dpi", str(scan.dpi)], input=data.getvalue(), capture_output=True,
                          check=True, env=os.environ | {"OMP_THREAD_LIMIT": "1"})
    return read.stdout.decode("utf-8")


def scans(name: str, texts: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield ways to scan, and the copies of the texts that they give."""
    for quality, scan in SCANS.items():
        def copy(numbered: tuple[int, str], quality: str = quality, scan: Scan = scan) -> str:
            return scanned(numbered[1], scan, random.Random(f"{name} {quality} {numbered[0]}"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield quality, list(pool.map(copy, enumerate(texts)))


def seeded(name: str, texts: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield shares of characters that are hit, and the copies of the texts that they give."""
    for share in SHARES:
        rng = random.Random(f"{name} {share}")
        yield str(share), [spoilt(text, share, rng) for text in texts]


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


def rows(name: str, texts: list[str], noise: Noise) -> Iterator[dict[str, Any]]:
    """Measure a corpus; a row for each kind of noise and way."""
    for kind, copies in noise(name, texts):
        documents = [*texts, *copies]
        for way, options in WAYS.items():
            begun = time.process_time()
            pairs = nd.near_duplicates(documents, **{**options, "threshold": THRESHOLDS[0]}, threads=1).pairs
            row: dict[str, Any] = {"corpus": name, "documents": len(documents), "noise": kind, "way": way,
                                   "seconds": round(time.process_time() - begun, 3)}
            right = abs(pairs.a.astype(int) - pairs.b.astype(int)) == len(texts)
            for threshold in THRESHOLDS:
                at = pairs.resemblance >= threshold
                row[f"recall {threshold}"] = round(float((right & at).sum() / len(texts)), 4)
                row[f"precision {threshold}"] = round(float((right & at).sum() / max(1, at.sum())), 4)
            yield row


def main() -> None:
    """Run from the command line."""
    summary = textwrap.shorten(__doc__ or "", 200)
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("corpora", nargs="*", help="corpora of the folder; without them, made-up texts")
    parser.add_argument("--data", type=Path, help="the folder of corpora")
    parser.add_argument("--count", type=int, default=1000, help="documents that get a copy")
    parser.add_argument("--ocr", action="store_true", help="tesseract reads the copies from images; needs Pillow too")
    given = parser.parse_args()
    if bool(given.corpora) != bool(given.data):
        parser.error("corpora and --data go together")
    if given.ocr and shutil.which("tesseract") is None:
        parser.error("--ocr needs the program tesseract on the PATH: apt-get install tesseract-ocr")
    for corpus in (load(name, given.data) for name in given.corpora) if given.data else [natural(1, 2000, 4_000_000)]:
        for row in rows(corpus.name, chosen(corpus, given.count), scans if given.ocr else seeded):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
