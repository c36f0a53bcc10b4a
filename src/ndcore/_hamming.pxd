"""What the C files of the Hamming search declare."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from ndcore._cpu cimport nd_choice
from ndcore._entries cimport nd_entry
from ndcore._keys cimport nd_keys_order


cdef extern from "hamming.h" nogil:
    enum:
        ND_HAMMING_ROOM
    ctypedef struct nd_hamming_plan:
        const nd_keys_order *order
        size_t tables
        unsigned bits
        unsigned max_distance
    ctypedef struct nd_hamming_pair:
        uint64_t a
        uint64_t b
    ctypedef struct nd_hamming_cursor:
        size_t first
        size_t step
    size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
    void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out)
    size_t nd_hamming_pairs(
        const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c, nd_hamming_pair *out,
        size_t room)
    const nd_choice nd_hamming_choice


cdef extern from "probes.h" nogil:
    ctypedef struct nd_probes_table:
        const uint64_t *keys
        const uint32_t *directory
        const uint8_t *presence
        unsigned directory_bits
        unsigned presence_bits
    ctypedef struct nd_probes:
        nd_hamming_plan plan
        const nd_probes_table *table
        size_t n
    ctypedef struct nd_probes_match:
        uint64_t query
        uint32_t rank
        uint32_t distance
    ctypedef struct nd_probes_cursor:
        size_t table
    uint32_t nd_probes_rank(const nd_probes *h, uint64_t fingerprint)
    size_t nd_probes_search(
        const nd_probes *h, const uint64_t *q, size_t n, nd_probes_cursor *c, nd_probes_match *out, size_t room)


cdef extern from "substrings.h" nogil:
    enum:
        ND_SUBSTRINGS_TABLES
    ctypedef struct nd_substrings_table:
        const uint32_t *begins
        const uint32_t *ranks
        const uint64_t *masks
        size_t probes
        unsigned directory_bits
        unsigned radius
    ctypedef struct nd_substrings:
        const uint64_t *codes
        size_t n
        unsigned words
        unsigned max_distance
        const nd_substrings_table *table
        size_t tables
    ctypedef struct nd_substrings_range:
        pass
    ctypedef struct nd_substrings_cursor:
        size_t query
        size_t done
        size_t after
    void nd_substrings_buckets(
        const uint64_t *codes, size_t n, unsigned words, size_t t, size_t m, unsigned directory_bits, uint32_t *out)
    void nd_substrings_place(nd_substrings_table *table, unsigned words, size_t t, size_t m)
    size_t nd_substrings_search(
        const nd_substrings *h, const uint64_t *q, size_t n, nd_substrings_range *scratch, nd_substrings_cursor *c,
        nd_probes_match *out, size_t room)


cdef extern from "compressed.h" nogil:
    enum:
        ND_COMPRESSED_BLOCK
        ND_COMPRESSED_CODES
        ND_COMPRESSED_LONGEST
        ND_COMPRESSED_SYMBOLS
    ctypedef struct nd_compressed_table:
        const uint8_t *blocks
        const uint64_t *last
        const uint32_t *first
        const uint32_t *codes
        size_t count
    ctypedef struct nd_compressed:
        nd_hamming_plan plan
        const nd_compressed_table *table
    ctypedef struct nd_compressed_match:
        uint64_t query
        uint64_t fingerprint
    ctypedef struct nd_compressed_cursor:
        size_t table
    void nd_compressed_count(const uint64_t *keys, size_t n, uint64_t *counts)
    int nd_compressed_codes(const uint8_t *lengths, uint32_t *codes)
    size_t nd_compressed_blocks(const uint64_t *keys, size_t n, const uint8_t *lengths)
    void nd_compressed_encode(
        const uint64_t *keys, size_t n, const uint8_t *lengths, uint8_t *blocks, uint64_t *last, uint32_t *first)
    size_t nd_compressed_decode(const nd_compressed_table *t, size_t begin, size_t end, uint64_t *out, size_t room)
    size_t nd_compressed_find(const nd_compressed_table *t, size_t from_, uint64_t key)
    void nd_compressed_ranks(const nd_compressed_table *t, const uint64_t *keys, size_t n, int64_t *out)
    size_t nd_compressed_probe(
        const nd_compressed *h, const uint64_t *q, size_t n, nd_entry *queries, nd_compressed_cursor *c,
        nd_compressed_match *out, size_t room)
