"""Resemblance of sets that are not text: the packages that two machines have installed (Broder et al. 1997, §6).

Any features of any objects will do, once each is a 64-bit hash that is the same everywhere: here BLAKE2b of the name.
"""

import hashlib

import numpy as np

import ndcore as nd

machines = {
    "web-1": {"nginx", "openssl", "python3", "curl", "git", "vim"},
    "web-2": {"nginx", "openssl", "python3", "curl", "git", "nano"},
    "build": {"gcc", "make", "cmake", "python3", "git", "vim"},
}


def hashed(feature: str) -> int:
    return int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")


sets = [[hashed(package) for package in sorted(packages)] for packages in machines.values()]
offsets = np.cumsum([0, *map(len, sets)])
sketches = nd.BottomSketcher(size=200).sketch_hashes(np.array([h for members in sets for h in members], np.uint64), offsets)

names = list(machines)
for i in range(len(names)):
    for j in range(i):
        low, high = sketches.interval(i, j)
        print(f"{names[j]} and {names[i]}: resemblance {sketches.resemblance(i, j):.3f}, between {low:.3f} and {high:.3f}")
