"""Exercise: count the words of a text, and print the most frequent ones."""

import sys
from pathlib import Path


def read_text(path):
    """Read a file."""
    return Path(path).read_text(encoding="utf-8")


def main():
    """Print the ten most frequent words of each file."""
    for path in sys.argv[1:]:
        for word, count in most_frequent(read_text(path), 10):
            print(f"{count:6} {word}")


def most_frequent(text, limit):
    """Count the words, and sort them by their counts."""
    counts = {}
    word = ""
    for letter in text + " ":
        if letter.isalpha():
            word += letter.lower()
        elif word:
            if word not in counts:
                counts[word] = 0
            counts[word] = counts[word] + 1
            word = ""
    pairs = [(word, counts[word]) for word in counts]
    pairs.sort(key=lambda pair: (-pair[1], pair[0]))
    return pairs[:limit]
