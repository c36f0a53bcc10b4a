# cython: embedsignature=True, overflowcheck=True
"""Search in postings: the documents that share values, in segments of mapped files and in tables in memory."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

import numpy as np

from ndcore._arrays cimport data_of
from ndcore._pages cimport ask, nd_microseconds
from ndcore._postings cimport (Recent, Segment, check_widths, nd_postings, nd_postings_run, nd_recent, nd_table_hash,
                               nd_table_key, table_key)
from ndcore._signals cimport STRIDE, check_signals, stride


cdef extern from "sort.h" nogil:
    void nd_sort_words(uint64_t *v, uint64_t *scratch, size_t n)


cdef extern from "lookup.h" nogil:
    void nd_lookup_ask(const nd_postings *p, size_t n, const uint64_t *values, size_t groups)
    size_t nd_lookup_locate(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs)
    size_t nd_lookup_unseen(const nd_postings *p, size_t n, const uint64_t *values, size_t groups,
                            const nd_postings_run *runs, size_t *unseen)
    int nd_lookup_verify(const nd_postings *p, uint64_t value, const nd_postings_run *run)
    size_t nd_lookup_part(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs)
    void nd_lookup_match(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs)
    int nd_lookup_gather(const nd_postings *p, nd_postings_run *run, size_t most, const uint8_t *wanted,
                         uint64_t wanted_bits, uint64_t base, uint32_t *documents, size_t *written)
    size_t nd_lookup_shared(uint32_t *documents, uint32_t *scratch, size_t n, size_t need)
    void nd_lookup_tally(const uint32_t *documents, size_t n, uint16_t *counts)
    size_t nd_lookup_tallied(const uint16_t *counts, size_t start, size_t until, size_t need, uint32_t *documents)
    void nd_lookup_recent(const nd_recent *r, const uint64_t *values, uint32_t *heads)
    size_t nd_lookup_chain(const nd_recent *r, size_t group, uint32_t *head, size_t most, const uint8_t *wanted,
                           uint64_t wanted_bits, const int64_t *names, uint32_t *documents)
    size_t nd_lookup_scan(const nd_recent *r, uint32_t *heads, uint32_t *last, size_t most, size_t need,
                          const uint8_t *wanted, uint64_t wanted_bits, const int64_t *names, uint32_t *documents)


cdef enum:
    EVERY = 64  # documents searched for between two checks of signals
    CHAIN = 1024  # documents of a table in memory with one value, between two checks
    SLOW = 300  # microseconds, from which a search most likely waited for pages that had left memory
    ASKING = 256  # searches after it that ask for all pages before they read one
    COUNT_FROM = 4  # entries are counted, not sorted, where they are more than a span / 4


cdef struct Vector:
    int64_t *items
    size_t n
    size_t room


cdef struct Work:
    uint64_t *values
    uint32_t *heads
    nd_postings_run *runs
    size_t *unseen
    uint32_t *documents  # and as much scratch
    size_t room
    const uint8_t *wanted
    uint64_t wanted_bits
    size_t need


cdef int reserve(Work *work, size_t n) except -1 nogil:
    """Make room for n documents; those that are there stay."""
    if n <= work.room:
        return 0
    cdef size_t room = max(n, 2 * work.room)
    cdef uint32_t *made = <uint32_t *> malloc(2 * room * sizeof(uint32_t))
    if made == NULL:
        with gil:
            raise MemoryError
    if work.room:
        memcpy(made, work.documents, work.room * sizeof(uint32_t))
        free(work.documents)
    work.documents, work.room = made, room
    return 0


cdef int push(Vector *v, const uint32_t *documents, size_t n, int64_t base, const int64_t *names) except -1 nogil:
    """Append documents: base + document, or names[document]."""
    cdef size_t i
    cdef int64_t *made
    if v.n + n > v.room:
        made = <int64_t *> realloc(v.items, 2 * (v.n + n) * sizeof(int64_t))
        if made == NULL:
            with gil:
                raise MemoryError
        v.items, v.room = made, 2 * (v.n + n)
    for i in range(n):
        v.items[v.n + i] = base + documents[i] if names == NULL else names[documents[i]]
    v.n += n
    return 0


cdef int put_in_order(Vector *v, size_t start) except -1 nogil:
    """Sort the documents from v.items[start] on."""
    cdef size_t i
    cdef uint64_t *scratch
    for i in range(start + 1, v.n):
        if v.items[i] < v.items[i - 1]:
            scratch = <uint64_t *> malloc((v.n - start) * sizeof(uint64_t))
            if scratch == NULL:
                with gil:
                    raise MemoryError
            nd_sort_words(<uint64_t *> v.items + start, scratch, v.n - start)
            free(scratch)
            return 0
    return 0


cdef class Postings:
    """A search in segments and tables: what a document shares with others.

    segments: of disjoint documents. recents: tables with the same hash. One search may run in each of several threads.
    """
    cdef readonly tuple segments, recents
    cdef readonly size_t groups
    cdef nd_postings *lists
    cdef int64_t *bases
    cdef nd_recent **tables
    cdef int64_t **names
    cdef size_t list_count, table_count
    cdef nd_table_key key
    cdef unsigned value_bits
    cdef int asking  # searches that ask for all pages

    def __cinit__(self, size_t groups, unsigned value_bits, bytes key not None, tuple segments not None,
                  tuple recents not None):
        cdef Segment segment
        cdef Recent recent
        check_widths(groups, value_bits)
        self.groups, self.value_bits, self.key = groups, value_bits, table_key(key)
        self.segments, self.recents = segments, recents
        self.list_count, self.table_count = groups * len(segments), len(recents)
        self.lists = <nd_postings *> calloc(self.list_count + 1, sizeof(nd_postings))
        self.bases = <int64_t *> calloc(len(segments) + 1, sizeof(int64_t))
        self.tables = <nd_recent **> calloc(2 * self.table_count + 1, sizeof(void *))
        if self.lists == NULL or self.bases == NULL or self.tables == NULL:
            raise MemoryError
        self.names = <int64_t **> (self.tables + self.table_count)
        for i, segment in enumerate(segments):
            if segment.groups != groups or segment.value_bits != value_bits:
                raise ValueError(f"segment {i} has {segment.groups} groups with {segment.value_bits} bits")
            memcpy(self.lists + <size_t> i * groups, segment.lists, groups * sizeof(nd_postings))
            self.bases[i] = segment.base
        for i, recent in enumerate(recents):
            if recent.table.groups != groups or recent.table.value_bits != value_bits or recent.key_bytes != key:
                raise ValueError("a table in memory has other groups or another hash")
            self.tables[i], self.names[i] = &recent.table, recent.names

    def __dealloc__(self):
        free(self.lists)
        free(self.bases)
        free(self.tables)

    def search(self, const uint64_t[::1] values not None, size_t need, const uint8_t[::1] wanted):
        """Find the documents that share at least `need` values: int64, ascending. See `search_many`."""
        if <size_t> values.shape[0] != self.groups:
            raise ValueError(f"{values.shape[0]} values; there are {self.groups} groups")
        cdef Vector found
        self.find(&values[0], 1, need, wanted, NULL, &found)
        try:
            made = np.empty(found.n, np.int64)
            if found.n:
                memcpy(data_of(made), found.items, found.n * sizeof(int64_t))
            return made
        finally:
            free(found.items)

    def search_many(self, const uint64_t[:, ::1] values not None, size_t need, const uint8_t[::1] wanted):
        """Find for each row the documents that share at least `need` values with it.

        wanted: a bitmap of the documents to find, document d in bit d mod 8 of byte d / 8; None: all. Documents behind its
        end are not wanted. Values are compared by their hashes, so a few documents more may be found.
        Returns (offsets int64, of one more than rows; documents int64, ascending in a row). Damaged: a list is.
        """
        cdef size_t n = values.shape[0]
        if <size_t> values.shape[1] != self.groups:
            raise ValueError(f"{values.shape[1]} values a row; there are {self.groups} groups")
        cdef Vector found
        offsets = np.zeros(n + 1, np.int64)
        self.find(&values[0, 0] if n else NULL, n, need, wanted, <int64_t *> data_of(offsets), &found)
        try:
            made = np.empty(found.n, np.int64)
            if found.n:
                memcpy(data_of(made), found.items, found.n * sizeof(int64_t))
            return offsets, made
        finally:
            free(found.items)

    cdef int find(self, const uint64_t *values, size_t n, size_t need, const uint8_t[::1] wanted, int64_t *offsets,
                  Vector *found) except -1:
        """Search for n rows of values; the documents of row i end at offsets[i + 1]."""
        cdef Work work
        cdef size_t i, lists = max(<size_t> 1, self.list_count), groups = self.groups
        if need < 1:
            raise ValueError(f"need is {need}; it must be at least 1")
        found.items, found.n, found.room = NULL, 0, 0
        work.need, work.wanted, work.wanted_bits = need, NULL, 0
        if wanted is not None:
            work.wanted, work.wanted_bits = &wanted[0] if wanted.shape[0] else <const uint8_t *> &need, 8 * wanted.shape[0]
        work.documents, work.room = NULL, 0
        work.runs = <nd_postings_run *> malloc(lists * (sizeof(nd_postings_run) + sizeof(size_t)) + groups * 12)
        if work.runs == NULL:
            raise MemoryError
        work.unseen = <size_t *> (work.runs + lists)
        work.values = <uint64_t *> (work.unseen + lists)
        work.heads = <uint32_t *> (work.values + groups)
        try:
            with nogil:
                for i in range(n):
                    if i % EVERY == 0:
                        check_signals()
                    self.find_one(values + i * groups, &work, found)
                    if offsets != NULL:
                        offsets[i + 1] = <int64_t> found.n
        except BaseException:
            free(found.items)
            found.items = NULL
            raise
        finally:
            free(work.runs)
            free(work.documents)
        return 0

    cdef int find_one(self, const uint64_t *values, Work *work, Vector *found) except -1 nogil:
        """Append the documents that share values with one row."""
        cdef size_t n = self.list_count, groups = self.groups, g, at, start = found.n, segment
        cdef int64_t begin
        for g in range(groups):
            work.values[g] = nd_table_hash(&self.key, values[g]) >> (64 - self.value_bits)
        nd_lookup_ask(self.lists, n, work.values, groups)
        at = nd_lookup_locate(self.lists, n, work.values, groups, work.runs)
        if at == n and self.asking > 0:
            self.asking -= 1
            for g in range(n):
                ask(self.lists[g].words, sizeof(uint64_t), work.runs[g].begin, work.runs[g].end)
        begin = nd_microseconds()
        if at == n:
            at = self.verify(work)
        if at == n:
            at = nd_lookup_part(self.lists, n, work.values, groups, work.runs)
        if at < n:
            self.damaged(at)
        nd_lookup_match(self.lists, n, work.values, groups, work.runs)
        if nd_microseconds() - begin > SLOW:
            self.asking = ASKING
        for segment in range(n // groups):
            self.share(segment, work, found)
        self.share_recent(work, found)
        return put_in_order(found, start)

    cdef int damaged(self, size_t at) except -1 nogil:
        """Raise Damaged for a list."""
        with gil:
            (<Segment> self.segments[at // self.groups]).damaged(at % self.groups)

    cdef size_t verify(self, Work *work) noexcept nogil:
        """Verify blocks that were not read yet, all asked for before the first is read; return the first damaged list."""
        cdef nd_postings_run *run
        cdef size_t i, unseen = nd_lookup_unseen(self.lists, self.list_count, work.values, self.groups, work.runs,
                                                 work.unseen)
        for i in range(unseen):
            run = &work.runs[work.unseen[i]]
            ask(self.lists[work.unseen[i]].words, sizeof(uint64_t), run.begin, run.end)
        for i in range(unseen):
            if not nd_lookup_verify(&self.lists[work.unseen[i]], work.values[work.unseen[i] % self.groups],
                                    &work.runs[work.unseen[i]]):
                return work.unseen[i]
        return self.list_count

    cdef int share(self, size_t number, Work *work, Vector *found) except -1 nogil:
        """Append the documents of a segment that are in enough of its runs."""
        cdef const nd_postings *p = self.lists + number * self.groups
        cdef nd_postings_run *runs = work.runs + number * self.groups
        cdef size_t g, n = 0, written = 0, groups_found = 0
        cdef uint16_t *counts = NULL
        for g in range(self.groups):
            groups_found += runs[g].last > runs[g].first
        if groups_found < work.need:
            return 0
        cdef int64_t base = self.bases[number]
        try:
            for g in range(self.groups):
                while runs[g].first < runs[g].last:
                    reserve(work, n + min(runs[g].last - runs[g].first, <size_t> STRIDE))
                    if not nd_lookup_gather(&p[g], &runs[g], STRIDE, work.wanted, work.wanted_bits, base,
                                            work.documents + n, &written):
                        self.damaged(number * self.groups + g)
                    n += written
                    if n > p.span // COUNT_FROM + STRIDE and counts == NULL:
                        counts = <uint16_t *> calloc(p.span, sizeof(uint16_t))
                        if counts == NULL:
                            with gil:
                                raise MemoryError
                    if counts != NULL:
                        nd_lookup_tally(work.documents, n, counts)
                        n = 0
                    if runs[g].first < runs[g].last:
                        check_signals()
            return self.keep_shared(p, counts, n, base, work, found)
        finally:
            free(counts)

    cdef int keep_shared(self, const nd_postings *p, const uint16_t *counts, size_t n, int64_t base, Work *work,
                         Vector *found) except -1 nogil:
        """Append those of the gathered or counted documents that are there often enough."""
        cdef size_t at = 0, here
        if counts == NULL:
            if n >= work.need:
                n = nd_lookup_shared(work.documents, work.documents + work.room, n, work.need)
                push(found, work.documents, n, base, NULL)
            return 0
        while at < p.span:
            check_signals()
            here = stride(at, p.span, STRIDE)
            reserve(work, here)
            n = nd_lookup_tallied(counts, at, at + here, work.need, work.documents)
            push(found, work.documents, n, base, NULL)
            at += here
        return 0

    cdef int share_recent(self, Work *work, Vector *found) except -1 nogil:
        """Append the documents of tables that are in enough groups."""
        cdef size_t g, n, t, walked, most, here
        cdef nd_recent *table
        cdef int64_t *names
        for t in range(self.table_count):
            table, names, n, walked = self.tables[t], self.names[t], 0, 0
            most = table.n // COUNT_FROM + CHAIN
            nd_lookup_recent(table, work.values, work.heads)
            for g in range(self.groups):
                while work.heads[g] and walked <= most:
                    reserve(work, n + CHAIN)
                    here = nd_lookup_chain(table, g, &work.heads[g], CHAIN, work.wanted, work.wanted_bits, names,
                                           work.documents + n)
                    n += here
                    walked += CHAIN if work.heads[g] else here
                    if work.heads[g]:
                        check_signals()
            if walked > most:
                self.scan_recent(table, names, work, found)
            elif n >= work.need:
                n = nd_lookup_shared(work.documents, work.documents + work.room, n, work.need)
                push(found, work.documents, n, 0, names)
        return 0

    cdef int scan_recent(self, const nd_recent *table, const int64_t *names, Work *work, Vector *found) except -1 nogil:
        """Append the documents of a table that are in enough groups, where most of them share a value."""
        cdef uint32_t last = 0
        cdef size_t g, n = 0
        nd_lookup_recent(table, work.values, work.heads)
        for g in range(self.groups):
            last = max(last, work.heads[g])
        while last:
            check_signals()
            reserve(work, n + STRIDE)
            n += nd_lookup_scan(table, work.heads, &last, STRIDE, work.need, work.wanted, work.wanted_bits, names,
                                work.documents + n)
        for g in range(n // 2):
            work.documents[g], work.documents[n - 1 - g] = work.documents[n - 1 - g], work.documents[g]
        push(found, work.documents, n, 0, names)
        return 0
