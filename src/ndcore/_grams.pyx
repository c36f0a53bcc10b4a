# cython: embedsignature=True, overflowcheck=True
"""Tokens as numbers, and windows of tokens of given items, looked for in many documents."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import os

import numpy as np

from ndcore cimport _arrays, _bounds
from ndcore._batch cimport allocate
from ndcore._minhash cimport Samples
from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key


cdef extern from "nd.h" nogil:
    uint64_t nd_load_be64(const uint8_t *at)


cdef extern from "grams.h" nogil:
    ctypedef struct nd_grams:
        size_t length
        size_t stride
        size_t width
        const uint64_t *words
        const uint64_t *symbols
        uint32_t *numbers
        uint64_t *filter
        unsigned filter_shift
        uint32_t *slots
        size_t room
        uint64_t *places
        uint32_t first
        uint32_t count
    ctypedef struct nd_grams_scan:
        const nd_grams *grams
        uint64_t *held
        uint64_t *positions
        uint32_t *numbers
        size_t *count
    ctypedef struct nd_grams_sink:
        nd_grams_scan *scans
        size_t n
        size_t tokens
        size_t hits
    size_t nd_grams_stride(size_t length)
    size_t nd_grams_filter_size(size_t windows)
    unsigned nd_grams_filter_shift(size_t windows)
    size_t nd_grams_room(size_t windows)
    void nd_grams_add(nd_grams *g, size_t begin, size_t end)
    size_t nd_grams_scan_size(size_t length)
    void nd_grams_open(nd_grams_scan *s)
    void nd_grams_take_symbols(void *to, const uint64_t *symbols, size_t n)
    void nd_grams_close(nd_grams_scan *s)


cdef extern from "vocabulary.h" nogil:
    ctypedef struct nd_vocabulary_slot:
        pass
    ctypedef struct nd_vocabulary:
        nd_table_key key
        nd_vocabulary_slot *slots
        size_t room
        uint64_t *at
        uint8_t *pool
        size_t count
        size_t used
    void nd_vocabulary_move(nd_vocabulary *v, nd_vocabulary_slot *slots, size_t room)
    const uint8_t *nd_vocabulary_number(
        nd_vocabulary *v, const uint8_t *tape, uint64_t *token, uint64_t first, uint64_t last, uint32_t *out)
    int nd_vocabulary_same(const nd_vocabulary *v, const uint8_t *tape, const uint64_t *at, size_t n, const uint32_t *)


MAX_LENGTH = 1024  # of a window: a window that occurs is hashed at a cost of as many products
MAX_WINDOWS = (1 << 31) - 1  # of all items
MAX_TOKENS = (1 << 32) - 2  # of all items

cdef enum:
    WINDOWS = 4096  # that are numbered between two looks at signals
    LENGTH = 8      # bytes before a token
    LEAST = 1024    # tokens there is room for at first

cdef size_t MOST = 0xFFFFFFFF  # tokens


cdef class Vocabulary:
    """Distinct tokens, each with a number: equal numbers exactly for equal bytes. For one thread."""
    cdef nd_vocabulary how
    cdef size_t tokens
    cdef uint64_t[:, ::1] slots
    cdef uint64_t[::1] at
    cdef uint8_t[::1] pool

    def __cinit__(self):
        self.how.key = random_table_key()
        self.slots, self.at = np.zeros((1, 2), np.uint64), np.empty(1, np.uint64)
        self.pool = np.empty(1, np.uint8)
        self.how.slots, self.how.room = <nd_vocabulary_slot *> &self.slots[0, 0], 1

    def __len__(self):
        return self.how.count

    cdef _reserve(self, size_t tokens, size_t size):
        """Make room for more tokens and bytes."""
        cdef uint64_t[:, ::1] slots
        cdef uint64_t[::1] at
        cdef uint8_t[::1] pool
        tokens, size = tokens + self.how.count, size + self.how.used
        if tokens > MOST:
            raise OverflowError(f"there are more than {MOST} different tokens in repeated passages; take the texts in parts")
        if tokens > self.tokens:
            self.tokens = max(<size_t> LEAST, tokens + tokens // 2)
            slots = np.zeros((nd_table_room(self.tokens), 2), np.uint64)
            at = np.empty(self.tokens, np.uint64)
            at[: self.how.count] = self.at[: self.how.count]
            nd_vocabulary_move(&self.how, <nd_vocabulary_slot *> &slots[0, 0], slots.shape[0])
            self.slots, self.at, self.how.at = slots, at, &at[0]
        if size > <size_t> self.pool.shape[0]:
            pool = np.empty(size + size // 2, np.uint8)
            memcpy(&pool[0], &self.pool[0], self.how.used)
            self.pool, self.how.pool = pool, &pool[0]

    def number(self, const uint8_t[::1] tape not None, const int64_t[::1] firsts not None,
               const int64_t[::1] lasts not None):
        """Number the tokens firsts[i] to lasts[i] − 1 of a tape, for all i, end to end; uint32.

        The tape has each token's length as u64 big-endian, then the token. The ranges ascend and do not overlap. ValueError
        for other ranges, or a tape that is cut.
        """
        cdef size_t i, n = firsts.shape[0], total = 0, size = tape.shape[0], wanted
        cdef uint64_t token = 0, begin, end
        cdef int64_t before = 0
        cdef const uint8_t *at
        if firsts.shape[0] != lasts.shape[0]:
            raise ValueError(f"{firsts.shape[0]} ranges begin and {lasts.shape[0]} end")
        for i in range(n):
            if not before <= firsts[i] <= lasts[i]:
                raise ValueError(f"tokens {firsts[i]} to {lasts[i]} do not follow on those before {before}")
            before, total = lasts[i], total + <size_t> (lasts[i] - firsts[i])
        if <size_t> before > _cut(tape, NULL):
            raise ValueError(f"the tape of {size} bytes is cut, or has fewer than {before} tokens")
        self._reserve(total, size)
        cdef uint32_t[::1] out = np.empty(total + 1, np.uint32)
        total, at = 0, &tape[0] if size else NULL
        with nogil:
            for i in range(n):
                begin, end = <uint64_t> firsts[i], <uint64_t> lasts[i]
                while token < end:
                    check_signals()
                    wanted = min(token + STRIDE, end)
                    at = nd_vocabulary_number(&self.how, at, &token, begin, wanted, &out[total])
                    total += wanted - begin if wanted > begin else 0
                    begin = max(begin, wanted)
        return np.asarray(out)[:total]

    def same(self, const uint8_t[::1] tape not None, const int64_t[::1] firsts not None,
             const int64_t[::1] counts not None, const uint32_t[::1] numbers not None,
             const int64_t[::1] places not None):
        """Tell for each i whether the counts[i] tokens of a tape from firsts[i] on have the numbers from places[i] on; bool.

        A range that begins in an equal one, at the same number, costs its new tokens only. ValueError for tokens that the
        tape does not have, or numbers that are not there.
        """
        cdef int64_t known
        cdef size_t i, n = firsts.shape[0], size = tape.shape[0], given = numbers.shape[0]
        cdef uint64_t[::1] at = np.empty(size // LENGTH + 1, np.uint64)
        cdef size_t tokens = _cut(tape, &at[0])
        cdef uint8_t[::1] found = np.ones(n, np.uint8)
        if <size_t> counts.shape[0] != n or <size_t> places.shape[0] != n:
            raise ValueError(f"{n} ranges begin, {counts.shape[0]} have sizes and {places.shape[0]} have places")
        for i in range(n):
            if not (0 <= firsts[i] <= <int64_t> tokens and 0 <= counts[i] <= <int64_t> tokens - firsts[i]
                    and 0 <= places[i] <= <int64_t> given and counts[i] <= <int64_t> given - places[i]):
                raise ValueError(f"{counts[i]} tokens from {firsts[i]} on and numbers from {places[i]} on: the tape has "
                                 f"{tokens} tokens, and there are {given} numbers")
        with nogil:
            for i in range(n):
                known = 0  # tokens of the range that were compared with the one before
                if i and found[i - 1] and firsts[i] - firsts[i - 1] == places[i] - places[i - 1] >= 0:
                    known = min(max(0, firsts[i - 1] + counts[i - 1] - firsts[i]), counts[i])
                if known < counts[i]:
                    check_signals()
                    found[i] = nd_vocabulary_same(&self.how, &tape[0], &at[firsts[i] + known],
                                                  <size_t> (counts[i] - known), &numbers[places[i] + known])
        return np.asarray(found).view(np.bool_)


cdef size_t _cut(const uint8_t[::1] tape, uint64_t *begins):
    """Count the tokens of a tape, those before the first that does not fit; begins: NULL, or where they begin and end."""
    cdef size_t n = tape.shape[0], at = 0, found = 0
    cdef const uint8_t *data = &tape[0] if n else NULL
    cdef uint64_t size
    with nogil:
        while True:
            if begins != NULL:
                begins[found] = at
            if at + LENGTH > n:
                break
            size = nd_load_be64(data + at)
            if size > n - at - <size_t> LENGTH:
                break
            at += LENGTH + <size_t> size
            found += 1
    return found


cdef class Grams:
    """The distinct windows of items.

    Item i has the symbols[offsets[i] : offsets[i + 1]]. Its windows have `length` symbols; an item with fewer is one window.
    starts: where the windows of each item begin, int64 (n + 1,). places: where each number stands first, uint64.
    numbers: of the window of each item that begins at a symbol, + 1, uint32 (symbols + 1,); 0: none begins there.
    """
    cdef nd_grams *indexes
    cdef size_t count  # of indexes: one for each length of windows
    cdef readonly object symbols
    cdef readonly object numbers
    cdef readonly object starts
    cdef object _widths  # of windows, ascending, and their first numbers
    cdef object _firsts
    cdef readonly object places
    cdef object _words
    cdef list _memory

    def __cinit__(self, const uint64_t[::1] symbols not None, const int64_t[::1] offsets not None, size_t length):
        cdef size_t n = max(1, offsets.shape[0]) - 1
        if not 1 <= length <= MAX_LENGTH:
            raise ValueError(f"a window has 1 to {MAX_LENGTH} tokens, got {length}")
        if (not offsets.shape[0] or not _bounds.cut(offsets, n, symbols.shape[0]) or offsets[0]
                or offsets[n] != symbols.shape[0]):
            raise ValueError(f"offsets do not ascend from 0 to {symbols.shape[0]}, the number of symbols")
        if symbols.shape[0] > MAX_TOKENS:
            raise ValueError(f"the items have {symbols.shape[0]} tokens, and {MAX_TOKENS} are accepted; give them in parts")
        self.symbols = np.array(symbols, np.uint64)  # a copy, which nobody else can change
        sizes = np.diff(np.asarray(offsets))
        windows = np.where(sizes >= length, sizes - <int64_t> length + 1, sizes > 0)
        self.starts = np.concatenate([[0], np.cumsum(windows)]).astype(np.int64)
        if self.starts[n] > MAX_WINDOWS:
            raise ValueError(f"the items have {self.starts[n]} windows, and {MAX_WINDOWS} are accepted; give them in parts")
        self.numbers = np.zeros(symbols.shape[0] + 1, np.uint32)
        self._words = np.frombuffer(os.urandom(8 * (length + 2)), np.uint64)
        self._memory = []
        self._build(np.asarray(offsets), np.minimum(sizes, <int64_t> length), windows)

    def __dealloc__(self):
        free(self.indexes)

    cdef _build(self, offsets, widths, windows):
        """Number the windows of all items, one length after the other."""
        cdef const uint64_t[::1] symbols = self.symbols, words = self._words
        cdef const int64_t[::1] begins = np.array(offsets, np.int64), starts = self.starts
        cdef const int64_t[::1] items
        cdef uint32_t[::1] numbers = self.numbers
        cdef uint64_t[::1] filter, places
        cdef uint32_t[::1] slots
        cdef size_t i, at, end, here, added = 0, first = 0, row = 0
        cdef nd_grams *g
        distinct = [int(width) for width in np.unique(widths) if width]
        self.indexes = <nd_grams *> allocate(len(distinct) * sizeof(nd_grams))
        places_of, firsts = [], []
        for width in distinct:
            chosen = np.flatnonzero(widths == width)
            items = chosen
            total = int(windows[chosen].sum())
            g = &self.indexes[row]
            g.length, g.stride = width, nd_grams_stride(width)
            g.width = g.length - g.stride + 1
            filter = np.zeros(nd_grams_filter_size(total), np.uint64)
            slots, places = np.zeros(nd_grams_room(total), np.uint32), np.empty(total, np.uint64)
            self._memory += [filter, slots, places]
            g.words, g.symbols, g.numbers = &words[0], &symbols[0], &numbers[0]
            g.filter, g.slots, g.places = &filter[0], &slots[0], &places[0]
            g.filter_shift, g.room = nd_grams_filter_shift(total), nd_grams_room(total)
            g.first, g.count = <uint32_t> first, 0
            with nogil:
                for i in range(<size_t> items.shape[0]):
                    at = <size_t> begins[items[i]]
                    end = at + <size_t> (starts[items[i] + 1] - starts[items[i]])
                    while at < end:
                        here = stride(at, end, WINDOWS)
                        nd_grams_add(g, at, at + here)
                        at += here
                        added += here
                        if added >= WINDOWS:
                            check_signals()
                            added = 0
            first += g.count
            row += 1
            self.count = row
            places_of.append(np.asarray(places)[: g.count])
            firsts.append(g.first)
        self.places = places_of[0] if len(places_of) == 1 else np.concatenate([np.empty(0, np.uint64), *places_of])
        self._widths, self._firsts = np.array(distinct, np.int64), np.array(firsts, np.int64)

    def length_of(self, numbers):
        """Return how many symbols the windows of these numbers have, int64."""
        if len(self._widths) == 1:
            return np.full(len(numbers), self._widths[0])
        return self._widths[np.searchsorted(self._firsts, numbers, "right") - 1]


cdef class GramHits(Samples):
    """The windows of items that occur in documents: numbers uint32, positions uint64 in tokens, end to end in no order.

    `begins` has where the hits of each document begin; counted: tokens of each document, int64 (n,) as bytes.
    """
    cdef Grams grams
    cdef nd_grams_sink state
    cdef uint64_t *held
    cdef uint64_t *places
    cdef uint32_t *found
    cdef int64_t *sizes
    cdef readonly bytes counted
    cdef readonly object positions
    cdef readonly object numbers

    def __cinit__(self, n, Grams grams not None):
        cdef size_t i, room = 0
        self.grams = grams
        self.counted = _arrays.zeros(self.n * sizeof(int64_t))
        self.sizes = <int64_t *> PyBytes_AS_STRING(self.counted)
        for i in range(grams.count):
            room += nd_grams_scan_size(grams.indexes[i].length)
        self.state.scans = <nd_grams_scan *> allocate(grams.count * sizeof(nd_grams_scan))
        self.state.n = grams.count
        self.held = <uint64_t *> allocate(room * sizeof(uint64_t))
        room = 0
        for i in range(grams.count):
            self.state.scans[i].grams, self.state.scans[i].held = &grams.indexes[i], self.held + room
            self.state.scans[i].count = &self.state.hits
            room += nd_grams_scan_size(grams.indexes[i].length)
        self.take, self.to = nd_grams_take_symbols, &self.state

    def __dealloc__(self):
        free(self.state.scans)
        free(self.held)
        PyMem_RawFree(self.places)
        PyMem_RawFree(self.found)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all hits; pages that are never written take none."""
        cdef size_t i, room = total * self.grams.count + 1
        PyMem_RawFree(self.places)
        PyMem_RawFree(self.found)
        self.found = NULL
        self.places = <uint64_t *> PyMem_RawMalloc(room * sizeof(uint64_t))
        self.found = <uint32_t *> PyMem_RawMalloc(room * sizeof(uint32_t))
        if self.places == NULL or self.found == NULL:
            raise MemoryError(f"{room} places of windows")
        self.state.hits = 0
        for i in range(self.grams.count):
            self.state.scans[i].positions, self.state.scans[i].numbers = self.places, self.found

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        cdef size_t i
        self.state.tokens = 0
        for i in range(self.grams.count):
            nd_grams_open(&self.state.scans[i])

    cdef void finish(self, size_t row) noexcept nogil:
        """Look up the last windows of a document."""
        cdef size_t i
        for i in range(self.grams.count):
            nd_grams_close(&self.state.scans[i])
        self.sizes[row] = <int64_t> self.state.tokens
        self.offsets[row + 1] = <int64_t> self.state.hits

    cdef complete(self):
        """Copy the hits."""
        self.positions, self.numbers = np.empty(self.state.hits, np.uint64), np.empty(self.state.hits, np.uint32)
        if self.state.hits:
            memcpy(_arrays.data_of(self.positions), self.places, self.state.hits * sizeof(uint64_t))
            memcpy(_arrays.data_of(self.numbers), self.found, self.state.hits * sizeof(uint32_t))
        PyMem_RawFree(self.places)
        PyMem_RawFree(self.found)
        self.places, self.found = NULL, NULL
