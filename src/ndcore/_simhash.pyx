# cython: embedsignature=True, overflowcheck=True
"""Weights of features and what uses them: simhashes, consistent weighted samples, and the counts that weights come from."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

import numpy as np

from ndcore cimport _arrays, _cpu, _minhash
from ndcore._batch cimport allocate
from ndcore._cpu cimport nd_choice
from ndcore._minhash cimport Permutations, Samples, Sink
from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key


cdef extern from "weights.h" nogil:
    ctypedef struct nd_weight:
        pass
    ctypedef struct nd_weights:
        nd_weight *slots
        size_t room
        nd_table_key key
        int32_t missing
    void nd_weights_fill(nd_weights *t, const uint64_t *z, const int32_t *weights, size_t n)
    void nd_weights_find(const nd_weights *t, const uint64_t *z, size_t n, int32_t *out)
    size_t nd_weights_count(uint64_t *values, uint64_t *scratch, size_t n, uint32_t *counts)
    size_t nd_weights_merge(
        const uint64_t *a, const uint32_t *in_a, size_t na, const uint64_t *b, const uint32_t *in_b, size_t nb,
        uint64_t *values, uint32_t *counts)


cdef extern from "simhash.h" nogil:
    const size_t ND_SIMHASH_WORDS
    ctypedef struct nd_simhash_set:
        nd_simhash once
        uint64_t *values
        size_t room
    ctypedef struct nd_simhash_weighted:
        nd_simhash_mix mix
        uint64_t key
        const nd_weights *table
        size_t words
        int any
    void nd_simhash_open(nd_simhash *s)
    void nd_simhash_take(void *to, const uint64_t *f, size_t n)
    void nd_simhash_value(nd_simhash *s, uint64_t *value)
    void nd_simhash_set_open(nd_simhash_set *s)
    void nd_simhash_set_take(void *to, const uint64_t *f, size_t n)
    void nd_simhash_set_value(nd_simhash_set *s, uint64_t *value)
    void nd_simhash_weighted_open(nd_simhash_weighted *s)
    void nd_simhash_weighted_take(void *to, const uint64_t *f, size_t n)
    void nd_simhash_weighted_add(nd_simhash_weighted *s, const uint64_t *f, const int32_t *weights, size_t n)
    void nd_simhash_weighted_value(const nd_simhash_weighted *s, uint64_t *value)
    const nd_choice nd_simhash_choice


cdef extern from "weighted.h" nogil:
    const size_t ND_WEIGHTED_BLOCK
    ctypedef struct nd_weighted:
        size_t k
        size_t room
        double *score
        double *limit
        uint64_t *holder
        int64_t *level
    void nd_weighted_open(nd_weighted *s, double sum)
    void nd_weighted_take(nd_weighted *s, const uint64_t *z, const int64_t *weights, size_t n)
    bint nd_weighted_again(nd_weighted *s)
    void nd_weighted_values(const nd_weighted *s, uint32_t *values)
    const nd_choice nd_weighted_choice


MAX_OCCURRENCES = 1 << 32  # of weighted features in a document: their sums are exact in 64 bits


kernel = _cpu.kernel_of(&nd_simhash_choice)
weighted_kernel = _cpu.kernel_of(&nd_weighted_choice)


cdef void simhash_open(nd_simhash *s, uint64_t key) noexcept nogil:
    """Begin a document: nd_simhash_open for 64 bits, with the kernel and the key set."""
    s.mix, s.key, s.words = _minhash.mix, key, 1
    nd_simhash_open(s)


cdef void simhash_take(void *to, const uint64_t *f, size_t n) noexcept nogil:
    """Export nd_simhash_take, a sink, to other packages."""
    nd_simhash_take(to, f, n)


cdef uint64_t simhash_value(nd_simhash *s) noexcept nogil:
    """Export nd_simhash_value of 64 bits to other packages."""
    cdef uint64_t value
    nd_simhash_value(s, &value)
    return value


cdef object _UINT64 = np.dtype(np.uint64)


cdef class WeightTable:
    """Weights of distinct fingerprints, in units of 2^-16, for one seed; `missing` is the weight of all others."""
    cdef nd_weights table
    cdef uint64_t[::1] slots
    cdef uint64_t key

    def __cinit__(self, const uint64_t[::1] fingerprints not None, const int32_t[::1] weights not None, missing: int,
                  seed: int):
        cdef size_t n = fingerprints.shape[0]
        self.key = Permutations(seed, 0).key
        cdef uint64_t[::1] mixed = np.empty(n, np.uint64)
        self.table.room, self.table.key = nd_table_room(n), random_table_key()
        self.slots = np.empty(self.table.room * sizeof(nd_weight) // 8, np.uint64)
        self.table.slots, self.table.missing = <nd_weight *> &self.slots[0], missing
        with nogil:
            if n:
                _minhash.mix(&fingerprints[0], n, self.key, 0, &mixed[0])
            nd_weights_fill(&self.table, &mixed[0] if n else NULL, &weights[0] if n else NULL, n)

    def find(self, const uint64_t[::1] fingerprints not None):
        """Find the weights of fingerprints; int32 (n,). Expected O(n). Several threads may ask at a time."""
        cdef size_t here, at = 0, n = fingerprints.shape[0]
        cdef uint64_t[::1] mixed = np.empty(n, np.uint64)
        cdef int32_t[::1] out = np.empty(n, np.int32)
        with nogil:
            while at < n:
                check_signals()
                here = stride(at, n, STRIDE)
                _minhash.mix(&fingerprints[at], here, self.key, 0, &mixed[at])
                nd_weights_find(&self.table, &mixed[at], here, &out[at])
                at += here
        return np.asarray(out)


cdef class Sums(Sink):
    """Simhashes: rows uint64 (n,) of one word, else (n, words), 0 without features.

    weights: a byte a document, 1 if a feature has one other than 0.
    """
    cdef size_t words
    cdef uint64_t *values
    cdef uint8_t *has_weight
    cdef readonly object rows
    cdef readonly bytes weights

    def __cinit__(self, n, size_t words, *_):
        if not 1 <= words <= ND_SIMHASH_WORDS:
            raise ValueError(f"a simhash has 1 to {ND_SIMHASH_WORDS} words, got {words}")
        self.words = words
        self.rows, self.weights = np.zeros(n if words == 1 else (n, words), _UINT64), _arrays.zeros(self.n)
        self.values = <uint64_t *> _arrays.data_of(self.rows)
        self.has_weight = <uint8_t *> PyBytes_AS_STRING(self.weights)

    cdef complete(self):
        """Make the rows read-only."""
        self.rows.setflags(False)


cdef class EqualSums(Sums):
    """Simhashes in which every occurrence counts 1."""
    cdef nd_simhash state

    def __cinit__(self, n, size_t words, Permutations drawn not None):
        self.state.mix, self.state.key, self.state.words = drawn.mix, drawn.key, words
        self.take = nd_simhash_take
        self.to = &self.state

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        nd_simhash_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's simhash."""
        nd_simhash_value(&self.state, self.values + row * self.words)
        self.has_weight[row] = self.state.features > 0


cdef class DistinctSums(Sums):
    """Simhashes in which every distinct fingerprint counts 1; counted, int64: their numbers."""
    cdef nd_simhash_set state
    cdef int64_t *distinct
    cdef readonly bytes counted

    def __cinit__(self, n, size_t words, Permutations drawn not None):
        self.counted = _arrays.zeros(self.n * sizeof(int64_t))
        self.distinct = <int64_t *> PyBytes_AS_STRING(self.counted)
        self.state.once.mix, self.state.once.key, self.state.once.words = drawn.mix, drawn.key, words
        self.take = nd_simhash_set_take
        self.to = &self.state

    def __dealloc__(self):
        free(self.state.values)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for the largest document."""
        free(self.state.values)
        self.state.values, self.state.room = NULL, most
        self.state.values = <uint64_t *> allocate(2 * most * sizeof(uint64_t))

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        nd_simhash_set_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's simhash."""
        nd_simhash_set_value(&self.state, self.values + row * self.words)
        self.distinct[row] = <int64_t> self.state.once.features
        self.has_weight[row] = self.state.once.features > 0


cdef class WeightedSums(Sums):
    """Simhashes with weights, from a table or given with the values."""
    cdef nd_simhash_weighted state
    cdef WeightTable table

    def __cinit__(self, n, size_t words, WeightTable table not None, Permutations drawn not None):
        self.table = table
        self.state.mix, self.state.key, self.state.words = drawn.mix, drawn.key, words
        self.state.table = &table.table
        self.take = nd_simhash_weighted_take
        self.to = &self.state

    cdef prepare(self, size_t most, size_t total):
        """Raise ValueError if the sums of a document could overflow."""
        if most > MAX_OCCURRENCES:
            raise ValueError(f"a document may have {most} occurrences of features; weighted sums are exact up to "
                             f"{MAX_OCCURRENCES}: cut it into parts, or use weights=None or 'distinct'")

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        nd_simhash_weighted_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's simhash."""
        nd_simhash_weighted_value(&self.state, self.values + row * self.words)
        self.has_weight[row] = self.state.any

    def take_weighted_sets(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                           const int32_t[::1] weights not None):
        """Sketch sets as `take_sets` does, with a weight in units of 2^-16 for each value."""
        cdef size_t row, at, end, here, n = offsets.shape[0] - 1
        self.prepare(int(np.diff(offsets).max(initial=0)), values.shape[0])
        with nogil:
            for row in range(n):
                if row % STRIDE == 0:
                    check_signals()
                self.start(row)
                at, end = offsets[row], offsets[row + 1]
                self.has_shingles[row] = end > at
                while at < end:
                    here = stride(at, end, STRIDE)
                    nd_simhash_weighted_add(&self.state, &values[at], &weights[at], here)
                    check_signals()
                    at += here
                self.finish(row)
        self.complete()


ctypedef struct collected:
    uint64_t key
    uint64_t *values
    size_t count


cdef void collect(void *to, const uint64_t *f, size_t n) noexcept nogil:
    """Collect the permuted features of a document."""
    cdef collected *state = <collected *> to
    _minhash.mix(f, n, state.key, 0, state.values + state.count)
    state.count += n


cdef class WeightedSignatures(Samples):
    """Consistent weighted samples: rows (n, k) uint32, all ones without features of positive weight.

    The weight of a feature is the sum of its occurrences, each of the weight in the table. `sums`, int64 (n,) in units of
    2^-16: the weights of each document's features together.
    """
    cdef nd_weighted state
    cdef collected features
    cdef WeightTable table
    cdef size_t most
    cdef uint32_t *counts
    cdef int32_t *weights
    cdef int64_t *heavy
    cdef object scores
    cdef readonly object rows
    cdef readonly object sums

    def __cinit__(self, n, size_t k, WeightTable table not None, Permutations drawn not None, rows=None):
        cdef size_t room = (k + ND_WEIGHTED_BLOCK - 1) // ND_WEIGHTED_BLOCK * ND_WEIGHTED_BLOCK
        self.table, self.features.key = table, drawn.key
        self.rows = _minhash.rows_of(rows, self.n, k, np.dtype(np.uint32))
        self.scores = [np.empty(room, np.uint64) for _ in range(4)]
        self.state.k, self.state.room = k, room
        self.state.score = <double *> _arrays.data_of(self.scores[0])
        self.state.limit = <double *> _arrays.data_of(self.scores[1])
        self.state.holder = <uint64_t *> _arrays.data_of(self.scores[2])
        self.state.level = <int64_t *> _arrays.data_of(self.scores[3])
        self.take, self.to = collect, &self.features

    def __dealloc__(self):
        free(self.features.values)
        PyMem_RawFree(self.heavy)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for the largest document, and for all. ValueError if weights could overflow."""
        if most >= MAX_OCCURRENCES:
            raise ValueError(f"a document may have {most} occurrences of features; weights are summed exactly below "
                             f"{MAX_OCCURRENCES}: cut it into parts, or use MinHasher")
        free(self.features.values)
        self.features.values, self.most = NULL, most
        self.features.values = <uint64_t *> allocate((3 * most + 1) * sizeof(uint64_t))
        self.counts = <uint32_t *> (self.features.values + 2 * most)
        self.weights = <int32_t *> (self.counts + most)
        self.prepare_members(total)
        PyMem_RawFree(self.heavy)
        self.heavy = <int64_t *> PyMem_RawMalloc((total + 1) * sizeof(int64_t))
        if self.heavy == NULL:
            raise MemoryError(f"{total} weights of features")

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.features.count = 0

    cdef void finish(self, size_t row) noexcept nogil:
        """Add the weights of a document's occurrences of each feature, and keep those that are positive."""
        cdef uint64_t *members = self.begin(row)
        cdef int64_t *heavy = self.heavy + self.offsets[row]
        cdef size_t i, n = 0, kept = 0
        if self.features.count:
            n = nd_weights_count(self.features.values, self.features.values + self.most, self.features.count, self.counts)
            nd_weights_find(&self.table.table, self.features.values, n, self.weights)
        for i in range(n):
            if self.weights[i] > 0:
                members[kept], heavy[kept] = self.features.values[i], <int64_t> self.counts[i] * self.weights[i]
                kept += 1
        self.end(row, kept)

    cdef complete(self):
        """Sample all documents."""
        self.sign(self.members, self.heavy, self.offsets)
        PyMem_RawFree(self.heavy)
        PyMem_RawFree(self.members)
        self.heavy, self.members = NULL, NULL

    cdef sign(self, const uint64_t *z, const int64_t *weights, const int64_t *offsets):
        """Sample documents, in strides of features between looks at signals, and make the rows read-only."""
        cdef uint32_t *to = <uint32_t *> _arrays.data_of(self.rows)
        cdef size_t row, at, begin, end, here, passed = 0, most = max(1, STRIDE // self.state.room)
        cdef int64_t sum
        cdef int64_t[::1] sums = np.empty(self.n, np.int64)
        with nogil:
            for row in range(self.n):
                begin, end, sum = offsets[row], offsets[row + 1], 0
                for at in range(begin, end):
                    sum += weights[at]
                nd_weighted_open(&self.state, <double> sum)
                for _ in range(2):
                    at = begin
                    while at < end:
                        here = stride(at, end, most)
                        nd_weighted_take(&self.state, z + at, weights + at, here)
                        at += here
                        passed += here * self.state.room
                        if passed >= STRIDE:
                            check_signals()
                            passed = 0
                    if not nd_weighted_again(&self.state):
                        break
                nd_weighted_values(&self.state, to + row * self.state.k)
                sums[row] = sum
        self.rows.setflags(False)
        self.sums = np.asarray(sums)

    def take_weighted_sets(self, uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                           const int64_t[::1] weights not None):
        """Sketch sets whose values differ, each with its positive weight in units. Overwrites the values."""
        cdef size_t row, n = values.shape[0]
        for row in range(self.n):
            self.has_shingles[row] = offsets[row + 1] > offsets[row]
        if n:
            with nogil:
                _minhash.mix(&values[0], n, self.features.key, 0, &values[0])
        self.sign(&values[0] if n else NULL, &weights[0] if n else NULL, &offsets[0])


def count(uint64_t[::1] values not None):
    """Count the occurrences of each value: (distinct values ascending uint64, counts uint32).

    Overwrites the values, fewer than 2^32.
    """
    cdef size_t n = values.shape[0], m = 0
    cdef uint64_t[::1] scratch = np.empty(n, np.uint64)
    cdef uint32_t[::1] counts = np.empty(n, np.uint32)
    if n:
        with nogil:
            m = nd_weights_count(&values[0], &scratch[0], n, &counts[0])
    return np.array(values[:m]), np.array(counts[:m])


def merge(const uint64_t[::1] a not None, const uint32_t[::1] in_a not None,
          const uint64_t[::1] b not None, const uint32_t[::1] in_b not None):
    """Merge two results of `count`."""
    cdef size_t na = a.shape[0], nb = b.shape[0], m = 0
    cdef uint64_t[::1] values = np.empty(na + nb, np.uint64)
    cdef uint32_t[::1] counts = np.empty(na + nb, np.uint32)
    if na + nb:
        with nogil:
            m = nd_weights_merge(&a[0] if na else NULL, &in_a[0] if na else NULL, na,
                                 &b[0] if nb else NULL, &in_b[0] if nb else NULL, nb, &values[0], &counts[0])
    return np.asarray(values)[:m], np.asarray(counts)[:m]
