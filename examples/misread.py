"""Measure what wrong characters, as of a scanned page, do to the resemblance of a text and its copy.

Each character is misread with a given probability: mostly as a look-alike or not at all, else as a blank or with a speck
behind it. The texts are generated, and everything is seeded.
"""

import random
from itertools import pairwise

from dirty_files import sentence

import ndcore as nd

LOOK_ALIKES = {"m": "rn", "l": "1", "o": "0", "e": "c", "c": "e", "h": "b", "i": "l", "u": "n", "n": "u", "B": "8", "S": "5"}
UNITS = {
    "5 words": nd.Shingling(width=5),
    "3 words": nd.Shingling(width=3),
    "5 characters, scan": nd.Shingling("char", width=5, normalize="scan"),
}
SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


def misread(rng: random.Random, text: str, share: float) -> str:
    """Return the text as a program might read it from a bad scan, with this share of characters wrong."""
    changes = [LOOK_ALIKES.get, lambda letter, _: "", lambda letter, _: " ", lambda letter, _: f"{letter}."]
    return "".join(rng.choices(changes, [5, 3, 1, 1])[0](letter, "x") if rng.random() < share else letter for letter in text)


def measure(copies: int = 40) -> dict[str, list[float]]:
    """Return the mean resemblance of texts and their copies for each of `SHARES`, and of unrelated texts, by unit."""
    rng = random.Random(7)
    texts = [" ".join(sentence(rng) for _ in range(20)) for _ in range(copies)]
    pairs = [[(text, misread(rng, text, share)) for text in texts] for share in SHARES]
    pairs.append(list(pairwise(texts)))
    return {name: [sum(nd.resemblance(a, b, unit) for a, b in made) / len(made) for made in pairs]
            for name, unit in UNITS.items()}


if __name__ == "__main__":
    print("wrong characters", *UNITS, sep="  ")
    labels = [*(f"{share:.1%}" for share in SHARES), "another text"]
    for label, *row in zip(labels, *measure().values(), strict=True):
        print(f"{label:>16}", *(f"{value:{len(name)}.2f}" for name, value in zip(UNITS, row, strict=True)), sep="  ")
