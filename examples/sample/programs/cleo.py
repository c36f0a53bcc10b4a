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
    """Let the library count."""
    import collections
    import re

    return collections.Counter(re.findall(r"\w+", text.lower())).most_common(limit)
