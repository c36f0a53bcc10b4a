"""Exercise: count the words of a text, and print the most frequent ones."""

import sys


def read_text(path):
    """Read a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    """Print the ten most frequent words of each file."""
    for path in sys.argv[1:]:
        for word, count in most_frequent(read_text(path), 10):
            print(f"{count:6} {word}")
