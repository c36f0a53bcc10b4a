"""Estimate how far genomes have diverged, from sketches of their k-mers, as Mash does (Ondov et al. 2016).

A feature is a string of 21 bases on either strand: the smaller of the fingerprints of a k-mer and its reverse complement.
From the Jaccard similarity j of two sets of k-mers follows the mutation rate, ln((1 + j) / 2j) / k. The genomes are
made up: an ancestor, and descendants with single bases changed.
"""

import math
import random

import numpy as np

import ndcore as nd

K = 21
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
rabin = nd.Rabin()


def kmers(genome: bytes) -> np.ndarray:
    """Return a 64-bit value for each k-mer, the same for both strands, in O(bases)."""
    forward = rabin.sliding(genome, K)
    backward = rabin.sliding(reverse_complement(genome), K)[::-1]
    return np.minimum(forward, backward)


def reverse_complement(genome: bytes) -> bytes:
    """Return the other strand."""
    return genome.translate(COMPLEMENT)[::-1]


def mutate(genome: bytes, rate: float) -> bytes:
    """Replace each base by another one with probability `rate`."""
    return bytes(random.choice(b"ACGT".replace(bytes([base]), b"")) if random.random() < rate else base for base in genome)


# 1. Make the genomes. The third is read from the other strand, which has the same k-mers.
random.seed(1)
ancestor = bytes(random.choices(b"ACGT", k=50_000))
rates = {"ancestor": 0.0, "sister": 0.001, "cousin": 0.01, "stranger": 0.05}
genomes = [mutate(ancestor, rate) for rate in rates.values()]
genomes[2] = reverse_complement(genomes[2])

# 2. Sketch the sets of k-mers: 1000 values each.
sets = [kmers(genome) for genome in genomes]
sketches = nd.BottomSketcher(size=1000).sketch_hashes(np.concatenate(sets), np.cumsum([0, *map(len, sets)]))

# 3. Estimate similarity, and from it the mutation rate.
for i, (name, rate) in enumerate(rates.items()):
    j = sketches.resemblance(0, i)
    low, high = sketches.interval(0, i)
    print(f"{name}: similarity {j:.3f} ({low:.3f} to {high:.3f}), "
          f"mutation rate {math.log((1 + j) / (2 * j)) / K:.4f}, true rate {rate}")
