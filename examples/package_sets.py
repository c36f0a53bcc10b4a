"""Estimate the Jaccard similarity of sets that are not text: the packages installed on three machines.

Any object can be a feature once it is a 64-bit hash that is the same in every process: here BLAKE2b of the name, since
Python's `hash` of a string differs from run to run (Broder et al. 1997, §6).
"""

import hashlib
from itertools import combinations

import numpy as np

import ndcore as nd

machines = {
    "web-1": {"nginx", "openssl", "python3", "curl", "git", "vim"},
    "web-2": {"nginx", "openssl", "python3", "curl", "git", "nano"},
    "build": {"gcc", "make", "cmake", "python3", "git", "vim"},
}


def hashed(name: str) -> int:
    """Return a 64-bit hash of a name."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


# The sets end to end: set i is hashes[offsets[i] : offsets[i + 1]].
hashes = np.array([hashed(name) for packages in machines.values() for name in sorted(packages)], np.uint64)
offsets = np.cumsum([0, *map(len, machines.values())])
sketches = nd.BottomSketcher(size=200).sketch_hashes(hashes, offsets)

# Sets of fewer than 200 members are in the sketch as a whole, so the intervals have no width.
for i, j in combinations(range(len(machines)), 2):
    low, high = sketches.interval(i, j)
    print(f"{list(machines)[i]} and {list(machines)[j]}: similarity {sketches.resemblance(i, j):.3f}, "
          f"between {low:.3f} and {high:.3f}")
