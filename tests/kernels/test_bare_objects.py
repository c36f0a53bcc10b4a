"""Objects of the extensions that nobody has made properly: they cannot be made, or what they are asked raises or answers.

The classes of an extension are tried in a process of its own, for what fails here kills it.
"""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ndcore

EXTENSIONS = sorted({path.name.split(".")[0] for path in Path(ndcore.__file__).parent.glob("_*.so")}
                    | {path.name.split(".")[0] for path in Path(ndcore.__file__).parent.glob("_*.pyd")})


def classes(module):
    """The classes that an extension defines."""
    return sorted(name for name, each in vars(module).items()
                  if isinstance(each, type) and each.__module__ == module.__name__)


CASES = [(module, name) for module in EXTENSIONS for name in classes(importlib.import_module(f"ndcore.{module}"))]

TRIAL = """
import copy, importlib, inspect, itertools, pickle, sys
import numpy as np
module = importlib.import_module(f"ndcore.{sys.argv[1]}")


def tried(what, *arguments):
    print("now", getattr(what, "__name__", what), arguments, file=sys.stderr, flush=True)
    try:
        return what(*arguments)
    except (Exception, KeyboardInterrupt):
        return None


def asked(bare):
    given = [None, 0, 1, -1, 1 << 70, b"", "", [], [None], np.empty(0, np.uint64), np.arange(3, dtype=np.uint64),
             np.arange(3), np.zeros(3, np.uint8), np.zeros((3, 2), np.uint64), bare]
    for each in dir(bare):
        if each in ("__class__", "__new__", "__init_subclass__", "__subclasshook__"):
            continue
        member = tried(getattr, bare, each)
        if callable(member):
            if each == "__init__":
                tried(member)
                continue
            for count in range(3):
                for arguments in itertools.product(given, repeat=count):
                    tried(member, *arguments)
            for count in (3, 4, 5, 6):
                for one in given:
                    tried(member, *[one] * count)
    for use in (repr, len, iter, list, hash, copy.copy, copy.deepcopy, pickle.dumps):
        tried(use, bare)


for name in sys.argv[2:]:
    cls = getattr(module, name)
    bare = tried(cls.__new__, cls)
    if bare is not None:
        asked(bare)
    print("after", name, flush=True)
"""


@pytest.mark.parametrize("module", sorted({module for module, _ in CASES}))
def test_what_is_made_without_arguments_does_not_crash(module):
    names = [name for other, name in CASES if other == module]
    done = subprocess.run([sys.executable, "-c", TRIAL, module, *names], capture_output=True, text=True, timeout=300)
    lived = [line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("after ")]
    assert lived == names, f"{done.returncode}: {done.stderr.splitlines()[-1:]}"


def test_all_classes_of_the_extensions_are_tried():
    assert {("_candidates", "Judge"), ("_entries", "Counts"), ("_batch", "Batch"), ("_pipeline", "Shingler"),
            ("_rabin", "Rabin"), ("_hamming", "Searcher"), ("_minhash", "Sink"), ("_simhash", "WeightTable"),
            ("_arrow", "ArrowTexts")} <= set(CASES)
