"""Made-up documents with repeated lines, repeated sentences and test items in them, and what plain Python counts in them.

Words are of letters drawn at random, the k-th with probability proportional to 1 / k; one in sixteen is not ASCII. The same
seed gives the same files on every machine. Each file of documents is JSON lines: id, text, and a source, which some tools
ask for.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np

FILES = 2  # as many as processes at most: most tools give a process whole files
VOCABULARY = 50_000
SITES, MENU = 400, 12  # sites, and lines that a page of a site may have
POOL = 20_000  # documents and sites that are quoted
SENTENCES = 3  # of a window
WORDS = 13  # of a window, as in Brown et al. 2020
ITEMS = 2000
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))
OTHERS = ("é", "ü", "ø", "ж", "ñ", "ő")

Key = Callable[[str], str | None]


class Words:
    """Words by Zipf's law."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        lengths = rng.integers(2, 11, VOCABULARY).tolist()
        self.names = ["".join(rng.choice(LETTERS, length)) for length in lengths]
        for i in range(7, VOCABULARY, 16):
            self.names[i] += OTHERS[i // 16 % len(OTHERS)]
        self.chances = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
        self._drawn: Iterator[int] = iter(())

    def take(self, count: int) -> list[str]:
        """Draw words."""
        words = [self.names[i] for i in islice(self._drawn, count)]
        while len(words) < count:
            drawn = np.searchsorted(self.chances, self.rng.random(200_000) * self.chances[-1])
            self._drawn = iter(drawn.tolist())
            words += [self.names[i] for i in islice(self._drawn, count - len(words))]
        return words

    def sentence(self, least: int, most: int) -> str:
        """Make a sentence of so many words, with a comma now and then."""
        words = self.take(int(self.rng.integers(least, most)))
        if len(words) > 8:
            words[4] += ","
        return " ".join(words).capitalize() + ".!?"[int(self.rng.choice(3, p=(0.9, 0.05, 0.05)))]


def pages(words: Words) -> Iterator[str]:
    """Make pages of sites: some lines of the site's menus and notices, paragraphs, blank lines between them.

    A line of a site stands there as on other pages, in other case, with other punctuation, or with another number.
    """
    rng = words.rng
    sites = [[" | ".join(words.take(int(rng.integers(2, 6)))).title() for _ in range(MENU)] for _ in range(SITES)]
    popular = np.cumsum(1 / np.arange(1, SITES + 1))
    while True:
        site = sites[int(np.searchsorted(popular, rng.random() * popular[-1]))]
        lines = []
        for line, change in zip(site, rng.random(len(site)).tolist(), strict=True):
            if change < 0.7:
                lines.append(line if change > 0.2 else line.upper() if change > 0.1 else line.replace(" | ", "|"))
            elif change < 0.8:
                lines.append(f"{line}: {int(rng.integers(1, 300))}")
        middle = len(lines) // 2
        paragraphs = ["\n" + words.sentence(5, 40) for _ in range(int(rng.integers(3, 40)))]
        yield "\n".join([*lines[:middle], "* * *", *paragraphs, "", *lines[middle:]])


def prose(words: Words, items: Sequence[str]) -> Iterator[str]:
    """Make paragraphs of sentences: a third quote sentences of an earlier document, one in ten the words of an item."""
    rng = words.rng
    pool: list[list[str]] = []
    while True:
        sentences = [words.sentence(4, 20) for _ in range(int(rng.integers(4, 60)))]
        if pool and rng.random() < 1 / 3:
            earlier = pool[int(rng.integers(len(pool)))]
            begin, at = (int(rng.integers(len(each))) for each in (earlier, sentences))
            quoted = earlier[begin : begin + int(rng.integers(2, 9))]
            sentences[at:at] = [sentence.upper() for sentence in quoted] if rng.random() < 0.2 else quoted
        if rng.random() < 1 / 10:
            taken = items[int(rng.integers(len(items)))].split()
            begin = int(rng.integers(len(taken) - WORDS))
            sentences.append(" ".join(taken[begin : begin + int(rng.integers(WORDS - 3, 60))]).capitalize() + ".")
        if len(pool) < POOL:
            pool.append(sentences)
        breaks = rng.random(len(sentences)).tolist()
        yield "".join(sentence + ("\n" if chance < 0.2 else " ") for sentence, chance in zip(sentences, breaks, strict=True))


def write(folder: Path, texts: Iterator[str], size: int) -> int:
    """Write documents until they have `size` bytes of text, to FILES files; return how many."""
    folder.mkdir(parents=True)
    count = 0
    for number in range(FILES):
        written = 0
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            while written < size / FILES:
                text = next(texts)
                file.write(json.dumps({"id": f"d{count}", "text": text, "source": "made"}, ensure_ascii=False) + "\n")
                written += len(text.encode())
                count += 1
    return count


def texts_of(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of each document of files."""
    for path in paths:
        with path.open(encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                yield record["id"], record["text"]


def in_turns(files: Sequence[Iterator[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """Yield the first document of each file, then the second ones, and so on."""
    for together in zip_longest(*files):
        yield from (document for document in together if document is not None)


# ---- which lines are the same


def same_words(line: str) -> str | None:
    """The words of a line in lower case: as ndcore compares with normalize="words"."""
    return " ".join(re.findall(r"\w+", line.casefold())) or None


def same_bytes(line: str) -> str | None:
    """The line itself: as dolma compares."""
    return line if line.strip() else None


def same_but_digits(line: str) -> str | None:
    """Lower case, without punctuation and symbols, all digits 0: as CCNet and text-dedup compare; blanks stay."""
    return re.sub(r"[^\w\s]+", "", re.sub(r"\d", "0", line.strip().lower()))


def same_letters(line: str) -> str | None:
    """The words of a line, without accents, each number 0: as datatrove compares by default."""
    words = unicodedata.normalize("NFD", re.sub(r"\d+", "0", same_words(line) or ""))
    return "".join(each for each in words if unicodedata.category(each) != "Mn") or None


def lines_of(texts: Iterator[tuple[str, str]]) -> Counter[str]:
    """Count the lines that are not blank."""
    return Counter(line.strip() for _, text in texts for line in text.split("\n") if line.strip())


def sentences_of(text: str) -> list[str]:
    """Split a text as it was made: a sentence ends with one of three marks, and has none inside."""
    return [found.strip() for found in re.findall(r"[^.!?]+[.!?]+", text)]


def by_key(counts: Counter[str], key: Key) -> Counter[str]:
    """Sum up counts of lines that are the same; lines without a key are left out."""
    found: Counter[str] = Counter()
    for line, count in counts.items():
        name = key(line)
        if name is not None:
            found[name] += count
    return found


def compared(before: Counter[str], after: Counter[str], key: Key) -> tuple[int, int, int]:
    """Count removed lines, repeated lines that were not removed, and removed ones that were not repeated.

    Of lines that are the same, all but one are repeated, wherever they stand.
    """
    removed = by_key(before - after, key)
    repeated = {name: count - 1 for name, count in by_key(before, key).items()}
    missed = sum(max(0, count - removed[name]) for name, count in repeated.items())
    wrong = sum(max(0, count - repeated[name]) for name, count in removed.items())
    return (before - after).total(), missed, wrong


# ---- windows


def repeated_sentences(texts: Iterator[tuple[str, str]]) -> Counter[str]:
    """Count the sentences that windows of three cover, each of which stands at an earlier place without overlap."""
    first: dict[tuple[str | None, ...], tuple[int, int]] = {}
    found: Counter[str] = Counter()
    for document, (_, text) in enumerate(texts):
        sentences = [same_words(sentence) for sentence in sentences_of(text)]
        covered: set[int] = set()
        for i in range(len(sentences) - SENTENCES + 1):
            before, place = first.setdefault(tuple(sentences[i : i + SENTENCES]), (document, i))
            if before != document or place + SENTENCES <= i:
                covered.update(range(i, i + SENTENCES))
        found.update(str(sentences[i]) for i in covered)
    return found


def windows(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the windows of 13 words of a text."""
    words = re.findall(r"\w+", text.casefold())
    return zip(*(words[i:] for i in range(WORDS)), strict=False)


def contaminated(items: Iterator[tuple[str, str]], texts: Iterator[tuple[str, str]]) -> set[str]:
    """Find the ids of documents that hold a window of an item."""
    wanted = {window for _, text in items for window in windows(text)}
    return {ident for ident, text in texts if any(window in wanted for window in windows(text))}
