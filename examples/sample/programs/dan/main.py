"""Exercise: count the words of a text, and print the most frequent ones."""

import heapq
import sys
from pathlib import Path

from words import split_words


def read_text(path):
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


def main():
    """Print the ten most frequent words of each file."""
    for path in sys.argv[1:]:
        for word, count in most_frequent(read_text(path), 10):
            print(f"{count:6} {word}")


def most_frequent(text, limit):
    """Keep the largest counts in a heap."""
    counts = {}
    for word in split_words(text):
        counts[word] = counts.get(word, 0) + 1
    return [(word, count) for count, word in heapq.nlargest(limit, ((n, w) for w, n in counts.items()))]
