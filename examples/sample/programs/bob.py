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


# My own solution of the exercise.
def most_frequent(content, maximum):
    seen = {}  # how often each was seen
    current = ""
    length = 0
    for character in content + "\n":
        if character.isalpha():
            current += character.lower()
        elif current:
            # a new one
            if current not in seen:
                seen[current] = 0
            seen[current] = seen[current] + 1
            current = ""

    length = max(length, len(content))
    result = [(entry, seen[entry]) for entry in seen]
    result.sort(key=lambda entry: (-entry[1], entry[0]))
    return result[:maximum]
