"""How far two genomes have drifted apart, from sketches of their k-mers (Broder et al. 1997, §6: features of any objects).

A feature here is a string of 21 bases, on either strand: of a k-mer and its reverse complement the smaller fingerprint
stands for both. From the resemblance j of two sets of k-mers follows the rate of mutation, ln((1 + j) / 2j) / k
(Ondov et al., "Mash", 2016). Genomes are generated: an ancestor, and descendants with single bases changed.
"""

import math
import random

import numpy as np

import ndcore as nd

K = 21
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
rabin = nd.Rabin()


def kmers(genome: bytes) -> np.ndarray:
    """A 64-bit value for each k-mer, the same for both strands. O(bases)."""
    forward = rabin.sliding(genome, K)
    backward = rabin.sliding(genome.translate(COMPLEMENT)[::-1], K)[::-1]
    return np.minimum(forward, backward)


def mutated(genome: bytes, rate: float) -> bytes:
    return bytes(random.choice(b"ACGT".replace(bytes([base]), b"")) if random.random() < rate else base for base in genome)


random.seed(1)
ancestor = bytes(random.choices(b"ACGT", k=50_000))
rates = {"ancestor": 0.0, "sister": 0.001, "cousin": 0.01, "stranger": 0.05}
genomes = [mutated(ancestor, rate) for rate in rates.values()]
genomes[2] = genomes[2].translate(COMPLEMENT)[::-1]  # read from the other strand: the same k-mers

sets = [kmers(genome) for genome in genomes]
sketches = nd.BottomSketcher(size=1000).sketch_hashes(np.concatenate(sets), np.cumsum([0, *map(len, sets)]))

for i, (name, rate) in enumerate(rates.items()):
    low, high = sketches.interval(0, i)
    j = sketches.resemblance(0, i)
    distance = math.log((1 + j) / (2 * j)) / K
    print(f"{name}: resemblance {j:.3f} ({low:.3f} to {high:.3f}), mutated {distance:.4f}, in truth {rate}")
