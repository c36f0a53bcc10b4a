# cython: embedsignature=True, overflowcheck=True
"""Postings: packed lists of documents by their values in mapped files, and tables of them in memory."""

from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from ndcore._arrays cimport data_of
from ndcore._pages cimport ask
from ndcore._signals cimport STRIDE, check_signals, stride


cdef extern from "sort.h" nogil:
    void nd_sort_words(uint64_t *v, uint64_t *scratch, size_t n)


cdef enum:
    MOST_GROUPS = 4096
    AHEAD = 262144  # words of a list that are prefetched before a merge reads them
    EVERY = 256  # documents added between two checks of signals

cdef int64_t MOST_DOCUMENT = <int64_t> 1 << 60

KEY_BYTES = sizeof(nd_table_key)
MOST_SPAN = 1 << (ND_POSTINGS_DOCUMENT_BITS - 1)  # of document numbers in a segment
VALUE_BITS = ND_POSTINGS_LEAST_VALUE_BITS, ND_POSTINGS_VALUE_BITS  # at least and at most


class Damaged(ValueError):
    """A list has contents that no writer gives it: (segment, group)."""


cdef nd_table_key table_key(bytes key) except *:
    """Return the key of the hash of values."""
    cdef nd_table_key made
    if len(key) != sizeof(made):
        raise ValueError(f"the key has {len(key)} bytes; it must have {sizeof(made)}")
    memcpy(&made, <const char *> key, sizeof(made))
    return made


cdef int check_widths(size_t groups, unsigned value_bits) except -1:
    """Raise ValueError unless values of this width can be kept for this number of groups."""
    if not 1 <= groups <= MOST_GROUPS:
        raise ValueError(f"groups is {groups}; it must be from 1 to {MOST_GROUPS}")
    if not ND_POSTINGS_LEAST_VALUE_BITS <= value_bits <= ND_POSTINGS_VALUE_BITS:
        raise ValueError(f"value_bits is {value_bits}; it must be from {VALUE_BITS[0]} to {VALUE_BITS[1]}")
    return 0


def block_bits(unsigned value_bits, size_t n, uint64_t span):
    """Return the leading bits of values that are the block, in lists of n documents from b to b + span - 1."""
    return nd_postings_plan(value_bits, n, span).block_bits


cdef class Recent:
    """Documents in memory, at most `capacity` of them: a table of the values of each group.

    One thread may add while others search.
    """

    def __cinit__(self, size_t groups, size_t capacity, unsigned value_bits, bytes key not None):
        check_widths(groups, value_bits)
        if not 1 <= capacity < <size_t> 1 << (ND_POSTINGS_LEAST_VALUE_BITS - 2):
            raise ValueError(f"capacity is {capacity}; it must be from 1 to {(1 << ND_POSTINGS_LEAST_VALUE_BITS - 2) - 1}")
        self.key, self.key_bytes = table_key(key), key
        self.table.groups, self.table.capacity, self.table.value_bits = groups, capacity, value_bits
        self.table.room_bits = max(2, (2 * capacity - 1).bit_length())
        self.table.slots = <uint64_t *> calloc(groups << self.table.room_bits, sizeof(uint64_t))
        self.table.next = <uint32_t *> malloc(capacity * groups * sizeof(uint32_t))
        self.names = <int64_t *> malloc(capacity * sizeof(int64_t))
        self.hashed = <uint64_t *> malloc(groups * sizeof(uint64_t))
        self.low, self.high = MOST_DOCUMENT, -1
        if self.table.slots == NULL or self.table.next == NULL or self.names == NULL or self.hashed == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.table.slots)
        free(self.table.next)
        free(self.names)
        free(self.hashed)

    def __len__(self):
        return self.table.n

    @property
    def capacity(self):
        return self.table.capacity

    @property
    def nbytes(self):
        return (self.table.groups << self.table.room_bits) * 8 + self.table.capacity * (4 * self.table.groups + 8)

    @property
    def documents(self):
        """The documents, in the order in which they were added: int64, copied."""
        cdef size_t n = self.table.n
        made = np.empty(n, np.int64)
        if n:
            memcpy(data_of(made), self.names, n * sizeof(int64_t))
        return made

    def add(self, const int64_t[::1] documents not None, const uint64_t[:, ::1] values not None, size_t first):
        """Add documents from the first on, with their values, one of each group; return the end of what was added.

        It is less than all where the table is full, or where documents would have a range of more than MOST_SPAN.
        """
        cdef size_t n = documents.shape[0], groups = self.table.groups, i, g
        cdef int64_t low = self.low, high = self.high
        if <size_t> values.shape[0] != n or <size_t> values.shape[1] != groups or first > n:
            raise ValueError(f"{n} documents of {groups} groups have values of shape ({values.shape[0]}, {values.shape[1]})")
        with nogil:
            for i in range(first, n):
                if i % EVERY == 0:
                    check_signals()
                if not 0 <= documents[i] < MOST_DOCUMENT:
                    with gil:
                        raise ValueError(f"documents are from 0 to 2^60 - 1, got {documents[i]}")
                low, high = min(self.low, documents[i]), max(self.high, documents[i])
                if self.table.n == self.table.capacity or high - low >= <int64_t> 1 << (ND_POSTINGS_DOCUMENT_BITS - 1):
                    n = i
                    break
                self.low, self.high = low, high
                for g in range(groups):
                    self.hashed[g] = nd_table_hash(&self.key, values[i, g]) >> (64 - self.table.value_bits)
                self.names[self.table.n] = documents[i]
                nd_recent_add(&self.table, self.hashed)
        return n

    def grown(self, size_t capacity):
        """Copy the documents to a larger table."""
        cdef Recent made = Recent(self.table.groups, capacity, self.table.value_bits, self.key_bytes)
        cdef size_t at, here, room = <size_t> 1 << self.table.room_bits, n = self.table.n
        if capacity < n:
            raise ValueError(f"{n} documents do not fit in {capacity}")
        memcpy(made.names, self.names, n * sizeof(int64_t))
        memcpy(made.table.next, self.table.next, n * self.table.groups * sizeof(uint32_t))
        with nogil:
            for g in range(self.table.groups):
                at = 0
                while at < room:
                    check_signals()
                    here = stride(at, room, STRIDE)
                    nd_recent_copy(&self.table, &made.table, g, at, at + here)
                    at += here
        made.table.n, made.low, made.high = n, self.low, self.high
        return made

    def packed(self, size_t group, int64_t base, uint64_t span):
        """Pack the entries of a group: returns (directory, words). Documents are from base to base + span - 1."""
        cdef size_t n = self.table.n, written = 0, i
        if not (group < self.table.groups and 1 <= span <= <uint64_t> MOST_SPAN):
            raise ValueError(f"group {group} of {self.table.groups}, span {span} of at most {MOST_SPAN}")
        for i in range(n):
            if not base <= self.names[i] or <uint64_t> (self.names[i] - base) >= span:
                raise ValueError(f"document {self.names[i]} is not from {base} to {base + span - 1}")
        cdef Packer packer = Packer(self.table.value_bits, n, span)
        packer.need_room(n)
        with nogil:
            written = nd_recent_entries(&self.table, group, 0, <size_t> 1 << self.table.room_bits, self.names, base,
                                        packer.entries)
            packer.take(written, 0, nd_postings_blocks(&packer.form))
        return packer.finish()


cdef class Packer:
    """Packs sorted entries of a group to a list."""
    cdef nd_postings_form form
    cdef uint64_t *entries
    cdef uint64_t *scratch
    cdef size_t room, at, most
    cdef object directory_array, words_array
    cdef uint32_t *directory
    cdef uint64_t *words

    def __cinit__(self, unsigned value_bits, size_t n, uint64_t span):
        self.form = nd_postings_plan(value_bits, n, span)
        self.most = nd_postings_most_words(&self.form, n)
        self.directory_array = np.empty(nd_postings_blocks(&self.form) + 1, np.uint32)
        self.words_array = np.empty(self.most, np.uint64)
        self.directory = <uint32_t *> data_of(self.directory_array)
        self.words = <uint64_t *> data_of(self.words_array)

    def __dealloc__(self):
        free(self.entries)
        free(self.scratch)

    cdef int need_room(self, size_t n) except -1 nogil:
        """Make room for n entries; those that are there are lost."""
        if n > self.room:
            free(self.entries)
            free(self.scratch)
            self.room = 0
            self.entries, self.scratch = <uint64_t *> malloc(8 * n), <uint64_t *> malloc(8 * n)
            if self.entries == NULL or self.scratch == NULL:
                with gil:
                    raise MemoryError
            self.room = n
        return 0

    cdef int take(self, size_t n, size_t block, size_t until) noexcept nogil:
        """Sort the first n entries and write them as these blocks."""
        nd_sort_words(self.entries, self.scratch, n)
        self.at = nd_postings_write(&self.form, self.entries, n, block, until, self.directory, self.words, self.at)
        return 0

    cdef object finish(self):
        self.directory[nd_postings_blocks(&self.form)] = <uint32_t> self.at
        self.words[self.at] = 0
        return self.directory_array, self.words_array[: self.at + 1]


cdef class Segment:
    """The lists of documents from `base` to base + span - 1, one for each group: immutable, in memory or mapped.

    lists: for each group (directory uint32, words uint64), as `Recent.packed` and `merged` return them.
    ValueError if their sizes do not fit.
    """

    def __cinit__(self, list lists not None, int64_t base, uint64_t span, unsigned value_bits, unsigned block_bits):
        cdef const uint32_t[::1] directory
        cdef const uint64_t[::1] words
        cdef uint8_t[::1] seen
        cdef nd_postings *p
        check_widths(len(lists), value_bits)
        if not (0 <= base < 1 << 62 and 1 <= span <= <uint64_t> MOST_SPAN):
            raise ValueError(f"documents from {base} on, {span} of them, are not a segment")
        cdef nd_postings_form form
        form.document_bits, form.block_bits = (<object> (span - 1)).bit_length(), block_bits
        if block_bits > value_bits - ND_POSTINGS_PART_BITS:
            raise ValueError(f"values of {value_bits} bits have no blocks by {block_bits}")
        form.rest_bits = value_bits - ND_POSTINGS_PART_BITS - block_bits
        if not 1 <= form.rest_bits + form.document_bits <= 57:
            raise ValueError(f"fields of {form.rest_bits + form.document_bits} bits: they must have from 1 to 57")
        self.groups, self.base, self.span, self.value_bits = len(lists), base, span, value_bits
        self.lists = <nd_postings *> calloc(self.groups, sizeof(nd_postings))
        if self.lists == NULL:
            raise MemoryError
        self.alive = []
        for i, (directory, words) in enumerate(lists):
            if <size_t> directory.shape[0] != nd_postings_blocks(&form) + 1 or words.shape[0] == 0:
                raise ValueError(f"group {i} has a directory of {directory.shape[0]} and {words.shape[0]} words")
            seen = np.zeros(directory.shape[0], np.uint8)
            p = &self.lists[i]
            p.directory, p.words, p.seen, p.size = &directory[0], &words[0], &seen[0], words.shape[0]
            p.span, p.form = span, form
            self.alive.append((directory, words, seen))

    def __dealloc__(self):
        free(self.lists)

    @property
    def nbytes(self):
        return sum(directory.nbytes + words.nbytes for directory, words, _ in self.alive)

    cdef int damaged(self, size_t group) except -1:
        """Raise Damaged for one of the lists."""
        raise Damaged(f"the list of group {group} of the documents from {self.base} on is damaged")

    def entries(self, size_t group):
        """Read all entries of a group: (values uint64, documents int64), in order of value. Damaged: a block is."""
        cdef nd_postings *p
        if group >= self.groups:
            raise IndexError(f"there is no group {group} of {self.groups}")
        p = &self.lists[group]
        cdef size_t most = nd_postings_most(p, 0, nd_postings_blocks(&p.form)), n = 0
        if most == SIZE_MAX:
            self.damaged(group)
        made = np.empty(most + 1, np.uint64)
        cdef uint64_t *entries = <uint64_t *> data_of(made)
        with nogil:
            n = nd_postings_read(p, 0, nd_postings_blocks(&p.form), 0, entries, most)
        if n == SIZE_MAX:
            self.damaged(group)
        return (made[:n] >> np.uint64(ND_POSTINGS_DOCUMENT_BITS),
                (made[:n] & np.uint64((1 << ND_POSTINGS_DOCUMENT_BITS) - 1)).astype(np.int64) + self.base)


cdef size_t read_range(Segment source, size_t group, unsigned bits, size_t piece, int64_t base, Packer packer,
                       size_t at) except? 1 nogil:
    """Read the entries whose values begin with the `bits` bits of a piece, to entries[at:]; return how many."""
    cdef nd_postings *p = &source.lists[group]
    cdef unsigned finer = p.form.block_bits - bits
    cdef size_t found = nd_postings_read(p, piece << finer, (piece + 1) << finer, <uint64_t> (source.base - base),
                                         packer.entries + at, packer.room - at)
    if found == SIZE_MAX:
        with gil:
            source.damaged(group)
    return found


cdef int ask_ahead(const nd_postings *p, size_t at, size_t *asked) noexcept nogil:
    """Ask for the words that are read after word `at`, AHEAD of them at a time."""
    if at + AHEAD > asked[0] and asked[0] < p.size and at < p.size:
        asked[0] = max(asked[0], at)
        ask(p.words, sizeof(uint64_t), asked[0], min(p.size, asked[0] + AHEAD))
        asked[0] += AHEAD
    return 0


def merged(list segments not None, size_t group, int64_t base, uint64_t span, size_t n):
    """Merge the lists of one group of several segments.

    n: documents of all segments. Documents are from base to base + span - 1. Returns (directory, words). Damaged: a list is.
    """
    cdef Segment source
    cdef nd_postings *p
    cdef unsigned bits = 64
    cdef size_t piece, pieces, most, here, at, total = 0, count = len(segments)
    if not (segments and base >= 0 and 1 <= span <= <uint64_t> MOST_SPAN):
        raise ValueError(f"{count} segments, documents from {base} on, {span} of them")
    for source in segments:
        if (group >= source.groups or source.value_bits != (<Segment> segments[0]).value_bits
                or not base <= source.base <= source.base + <int64_t> source.span <= base + <int64_t> span):
            raise ValueError(f"documents from {source.base} on, {source.span} of them, do not fit with the others")
        bits = min(bits, source.lists[group].form.block_bits)
    cdef Packer packer = Packer((<Segment> segments[0]).value_bits, n, span)
    bits = min(bits, packer.form.block_bits)
    pieces = <size_t> 1 << bits
    cdef size_t[::1] asked = np.zeros(count, np.uintp)  # words of each list
    for piece in range(pieces):
        most = 0
        for i, source in enumerate(segments):
            p = &source.lists[group]
            ask_ahead(p, p.directory[piece << (p.form.block_bits - bits)], &asked[i])
            here = nd_postings_most(p, piece << (p.form.block_bits - bits), (piece + 1) << (p.form.block_bits - bits))
            if here == SIZE_MAX:
                source.damaged(group)
            most += here
        packer.need_room(most + most // 4 + 1 if most > packer.room else most)
        at = 0
        for source in segments:
            with nogil:
                check_signals()
                at += read_range(source, group, bits, piece, base, packer, at)
        total += at
        if total > n:
            raise Damaged(f"segments have {total} documents or more, and should have {n}")
        with nogil:
            packer.take(at, piece << (packer.form.block_bits - bits), (piece + 1) << (packer.form.block_bits - bits))
    if total != n:
        raise Damaged(f"segments have {total} documents, and should have {n}")
    return packer.finish()
