from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "minhash.h" nogil:
    ctypedef struct nd_minima32:
        size_t k
        uint64_t key
        const uint32_t *a
        const uint32_t *b
        uint32_t *minima
    ctypedef struct nd_minima64:
        size_t k
        uint64_t key
        const uint64_t *a
        const uint64_t *b
        uint64_t *minima
    ctypedef struct nd_bottom:
        size_t size
        size_t count
        size_t early_size
        uint64_t key
        unsigned shift
        uint64_t *members
        uint64_t *early


cdef extern from "fastsketch.h" nogil:
    const size_t ND_FASTSKETCH_PLACES
    ctypedef struct nd_fastsketch:
        size_t t
        size_t distinct
        uint64_t key
        uint64_t *slots
        uint64_t *kept
        size_t room
        uint16_t *table
        uint32_t *coordinates


cdef void mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z) noexcept nogil
cdef void minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b) noexcept nogil
cdef void minima32_take(void *to, const uint64_t *f, size_t n) noexcept nogil
cdef void minima64_take(void *to, const uint64_t *f, size_t n) noexcept nogil


cdef rows_of(rows, size_t n, size_t num_perm, dtype)


ctypedef void (*mixing)(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z) noexcept nogil


cdef class Permutations:
    cdef readonly size_t k
    cdef readonly uint64_t key
    cdef mixing mix
    cdef uint64_t *a
    cdef uint64_t *b
    cdef uint32_t *a32
    cdef uint32_t *b32


cdef class Sink:
    """Takes the fingerprints of one document after another, by calls of take(to, …) between start(row) and finish(row).

    `prepare` comes first, with bounds of the fingerprints of a document and of all together; `complete` comes last. Who
    calls them sets `has_shingles[row]` of the documents that have shingles.
    """
    cdef size_t n
    cdef uint8_t *has_shingles
    cdef readonly bytes flags
    cdef public object digests  # of the canonical bytes, uint8 (n, 16), or None
    cdef public Py_ssize_t invalid_bytes
    cdef prepare(self, size_t most, size_t total)
    cdef void (*take)(void *, const uint64_t *, size_t) noexcept nogil
    cdef void *to
    cdef void start(self, size_t row) noexcept nogil
    cdef void finish(self, size_t row) noexcept nogil
    cdef complete(self)


cdef class Samples(Sink):
    """Writes the values of documents end to end; document i has values[begins[i] : begins[i + 1]]."""
    cdef readonly object values
    cdef readonly bytes ends  # of `begins`
    cdef int64_t *offsets
    cdef uint64_t *members
    cdef prepare_members(self, size_t room)
    cdef uint64_t *begin(self, size_t row) noexcept nogil
    cdef void end(self, size_t row, size_t count) noexcept nogil
