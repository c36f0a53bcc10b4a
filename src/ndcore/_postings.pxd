"""Segments and tables of postings, for the search in them."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "table.h" nogil:
    ctypedef struct nd_table_key:
        pass
    uint64_t nd_table_hash(const nd_table_key *key, uint64_t x)


cdef extern from "postings.h" nogil:
    enum:
        ND_POSTINGS_DOCUMENT_BITS
        ND_POSTINGS_PART_BITS
        ND_POSTINGS_LEAST_VALUE_BITS
        ND_POSTINGS_VALUE_BITS
    ctypedef struct nd_postings_form:
        uint32_t block_bits
        uint32_t rest_bits
        uint32_t document_bits
    ctypedef struct nd_postings:
        const uint32_t *directory
        const uint64_t *words
        uint8_t *seen
        size_t size
        uint64_t span
        nd_postings_form form
    ctypedef struct nd_postings_run:
        size_t begin
        size_t end
        size_t fields
        size_t first
        size_t last
    nd_postings_form nd_postings_plan(unsigned value_bits, size_t n, uint64_t span)
    size_t nd_postings_blocks(const nd_postings_form *f)
    size_t nd_postings_most_words(const nd_postings_form *f, size_t n)
    size_t nd_postings_write(const nd_postings_form *f, const uint64_t *entries, size_t n, size_t block, size_t until,
                             uint32_t *directory, uint64_t *words, size_t at)
    size_t nd_postings_most(const nd_postings *p, size_t block, size_t until)
    size_t nd_postings_read(const nd_postings *p, size_t block, size_t until, uint64_t shift, uint64_t *entries, size_t room)


cdef extern from "recent.h" nogil:
    ctypedef struct nd_recent:
        uint64_t *slots
        uint32_t *next
        size_t groups
        size_t capacity
        size_t n
        uint32_t room_bits
        uint32_t value_bits
    void nd_recent_add(nd_recent *r, const uint64_t *values)
    size_t nd_recent_entries(const nd_recent *r, size_t group, size_t start, size_t until, const int64_t *names,
                             int64_t base, uint64_t *entries)
    void nd_recent_copy(const nd_recent *r, nd_recent *to, size_t group, size_t start, size_t until)


cdef class Recent:
    cdef nd_recent table
    cdef nd_table_key key
    cdef int64_t *names
    cdef uint64_t *hashed
    cdef int64_t low, high  # of the documents
    cdef readonly bytes key_bytes


cdef class Segment:
    cdef nd_postings *lists
    cdef readonly size_t groups
    cdef readonly int64_t base
    cdef readonly uint64_t span
    cdef unsigned value_bits
    cdef object alive

    cdef int damaged(self, size_t group) except -1


cdef nd_table_key table_key(bytes key) except *
cdef int check_widths(size_t groups, unsigned value_bits) except -1
