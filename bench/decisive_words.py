"""What `must_agree` separates where one word decides: licences, and descriptions of packages, with labels.

    python bench/decisive_words.py licences scancode_toolkit_mini-32.5.0-cp311-none-any.whl
    python bench/decisive_words.py descriptions /var/lib/apt/lists --suites bullseye bookworm trixie

*Licences*: the wheel is on PyPI; the label is the identifier. *Descriptions*: the lists that `apt-get update` fetched for
these suites of Debian; the label is the name of the package, so `libfoo-dev` and `libfoo1` are two products. Texts are
dropped for one with the same label or for one with another. Each line has the shares of both that remain with a choice of
keys; a text that agrees with another kept one goes there, so there can be more than 100 %. A seeded hash of the identifier,
or of the source package, chooses what is held out.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ndcore as nd

WORDS = {"licences": 80, "descriptions": 40}  # texts with fewer are left out
KEYS = ("numbers", "amounts", "title", "names", "negations")
CHOICES: list[dict[str, Any]] = [
    *({"must_agree": [key]} for key in KEYS), {"must_agree": ["amounts", "negations"]}, {"max_lost": 4},
    {"must_agree": ["amounts", "negations"], "max_lost": 4}, {"must_agree": ["title", "amounts"]},
    {"must_agree": ["names", "amounts"]}, {"must_agree": ["names", "amounts", "negations"]},
    {"must_agree": ["names", "amounts", "negations"], "max_lost": 4},
]


class Labelled(NamedTuple):
    """A text, its label, and what is held out or looked at together with it."""

    label: str
    text: str
    family: str


def licences(wheel: Path) -> Iterator[Labelled]:
    """Read the texts and rules with one identifier, without those that are deprecated."""
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if not re.match(r"licensedcode/data/(?!.*inactive).*\.(LICENSE|RULE)$", name):
                continue
            parts = re.match(r"---\n(.*?)\n---\n(.*)", packed.read(name).decode("utf-8", "replace"), re.DOTALL)
            key = parts and re.search(r"^(?:key|license_expression): (\S+)$", parts[1], re.MULTILINE)
            if parts and key and "is_deprecated: yes" not in parts[1]:
                yield Labelled(key[1], parts[2], key[1])


def descriptions(folder: Path, suites: list[str]) -> Iterator[Labelled]:
    """Read the descriptions of packages in each suite, the short one as the first line; equal ones of a package once."""
    seen = set[tuple[str, str]]()
    for suite in suites:
        sources = dict[str, str]()
        for paragraph in stanzas(folder, f"*_dists_{suite}_main_binary-*_Packages*"):
            if name := re.search(r"^Package: (.*)$", paragraph, re.MULTILINE):
                source = re.search(r"^Source: (\S+)", paragraph, re.MULTILINE)
                sources[name[1]] = (source or name)[1]
        for paragraph in stanzas(folder, f"*_dists_{suite}_main_i18n_Translation-en*"):
            parts = re.match(r"Package: (.*)\nDescription-md5: .*\nDescription-en: (.*)", paragraph, re.DOTALL)
            if parts and parts[1] in sources:
                text = re.sub(r"\n (\.(?=\n|$))?", "\n", parts[2])
                if (parts[1], text) not in seen:
                    seen.add((parts[1], text))
                    yield Labelled(parts[1], text, sources[parts[1]])


def stanzas(folder: Path, pattern: str) -> list[str]:
    """Read the paragraphs of the one list of this name, as apt has compressed it."""
    names = [str(path) for path in folder.glob(pattern)]
    if len(names) != 1:
        raise SystemExit(f"{folder} has {len(names)} lists {pattern}; apt-get update fetches them, for one architecture")
    done = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", *names], capture_output=True, check=True)
    return done.stdout.decode("utf-8").split("\n\n")


def is_held_out(family: str) -> bool:
    """Tell whether texts of this family are held out: half of the families, by a seeded hash."""
    return hashlib.blake2b(b"32 " + family.encode(), digest_size=8).digest()[0] % 2 == 1


def count_drops(texts: list[Labelled], threshold: float, **options: Any) -> tuple[int, int]:
    """Count the texts that are dropped for one of the same label, and of another; identical texts are left out."""
    result = nd.near_duplicates([each.text for each in texts], threshold=threshold, threads=1, **options)
    dropped = np.flatnonzero(result.labels != np.arange(len(texts)))
    same = [texts[i].label == texts[result.labels[i]].label for i in dropped if result.classes[i] != "identical"]
    return sum(same), len(same) - sum(same)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("collection", choices=WORDS)
    parser.add_argument("path", type=Path, help="the wheel, or the folder of apt's lists")
    parser.add_argument("--suites", nargs="+", default=["bullseye", "bookworm", "trixie"])
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--part", choices=("all", "looked-at", "held-out"), default="all")
    given = parser.parse_args()
    texts = [each for each in (licences(given.path) if given.collection == "licences" else
                               descriptions(given.path, given.suites))
             if len(each.text.split()) >= WORDS[given.collection]
             and given.part in ("all", "held-out" if is_held_out(each.family) else "looked-at")]
    same, other = count_drops(texts, given.threshold)
    labels, families = ({getattr(each, name) for each in texts} for name in ("label", "family"))
    print(f"{len(texts)} texts, {len(labels)} labels, {len(families)} families; "
          f"dropped: {same} for the same label, {other} for another")
    for options in CHOICES:
        left = count_drops(texts, given.threshold, **options)
        print(f"{options}: {100 * left[0] / same:.0f} % of the same, {100 * left[1] / other:.0f} % of another", flush=True)


if __name__ == "__main__":
    main()
