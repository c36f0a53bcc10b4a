# cython: embedsignature=True, overflowcheck=True
"""Windows of tokens of given items, looked for in many documents."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import os

import numpy as np

from ndcore cimport _arrays, _bounds
from ndcore._batch cimport allocate
from ndcore._minhash cimport Samples
from ndcore._signals cimport check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key


cdef extern from "held.h" nogil:
    ctypedef struct nd_held:
        uint64_t *values
        size_t before
        size_t taken
    size_t nd_held_room(size_t before)


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
    ctypedef struct nd_gram_hits:
        uint64_t *positions
        uint32_t *numbers
        size_t count
    ctypedef struct nd_grams_scan:
        const nd_grams *grams
        nd_held held
        nd_gram_hits *hits
    size_t nd_grams_stride(size_t length)
    size_t nd_grams_filter_size(size_t windows)
    unsigned nd_grams_filter_shift(size_t windows)
    size_t nd_grams_room(size_t windows)
    void nd_grams_add(nd_grams *g, size_t begin, size_t end)
    size_t nd_grams_before(size_t length)
    void nd_grams_open(nd_grams_scan *s)
    void nd_grams_take(nd_grams_scan *s, const uint64_t *symbols, size_t n)
    void nd_grams_close(nd_grams_scan *s)


cdef extern from "shorts.h" nogil:
    enum:
        ND_SHORTS_COUNTS
        ND_SHORTS_PLACES
    ctypedef struct nd_shorts_slot:
        pass
    ctypedef struct nd_shorts:
        const nd_grams *indexes
        size_t shortest
        size_t longest
        nd_table_key key
        uint64_t *filter
        unsigned filter_shift
        nd_shorts_slot *slots
        size_t room
        const uint32_t *ways
        const uint8_t *place_of
        uint64_t *sums
        uint32_t *before
    ctypedef struct nd_shorts_scan:
        const nd_shorts *shorts
        nd_held held
        nd_gram_hits *hits
    void nd_shorts_count(const nd_table_key *key, const uint64_t *symbols, size_t n, size_t step, uint32_t *counts)
    size_t nd_shorts_rarest(const nd_table_key *key, const uint32_t *counts, const uint64_t *item, size_t length)
    uint64_t nd_shorts_name(const nd_table_key *key, const uint64_t *item, size_t length, size_t place)
    void nd_shorts_add(nd_shorts *s, uint64_t name, uint32_t begin, uint32_t end)
    void nd_shorts_link(nd_shorts *s, const nd_grams *g, size_t window)
    size_t nd_shorts_before(size_t longest)
    void nd_shorts_open(nd_shorts_scan *s)
    void nd_shorts_take(nd_shorts_scan *s, const uint64_t *symbols, size_t n)
    void nd_shorts_close(nd_shorts_scan *s)


MAX_LENGTH = 1024  # of a window: a window that occurs is hashed at a cost of as many products
MAX_WINDOWS = (1 << 31) - 1  # of all items
MAX_TOKENS = (1 << 32) - 2  # of all items

cdef enum:
    WINDOWS = 4096      # that are numbered between two looks at signals
    COUNTED = 1048576   # symbols that are counted, about, to know which are rare


cdef class Grams:
    """The distinct windows of items.

    Item i has the symbols[offsets[i] : offsets[i + 1]]. Its windows have `length` symbols; an item with fewer is one window.
    starts: where the windows of each item begin, int64 (n + 1,). places: where each number occurs first, uint64.
    numbers: of the window of each item that begins at a symbol, + 1, uint32 (symbols + 1,); 0: none begins there.
    """
    cdef nd_grams *indexes  # one for each length of windows, ascending
    cdef size_t count
    cdef nd_grams *whole    # the index of `length`; NULL: no item has so many symbols
    cdef nd_shorts shorts   # of the others; longest 0: there are none
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
        self._build(np.asarray(offsets), np.minimum(sizes, <int64_t> length), windows, length)

    def __dealloc__(self):
        free(self.indexes)

    cdef _build(self, offsets, widths, windows, length):
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
            marked = total if width == length else 0  # the others are not looked for by their runs
            filter = np.zeros(nd_grams_filter_size(marked), np.uint64)
            slots, places = np.zeros(nd_grams_room(total), np.uint32), np.empty(total, np.uint64)
            self._memory += [filter, slots, places]
            g.words, g.symbols, g.numbers = &words[0], &symbols[0], &numbers[0]
            g.filter, g.slots, g.places = &filter[0], &slots[0], &places[0]
            g.filter_shift, g.room = nd_grams_filter_shift(marked), nd_grams_room(total)
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
        if row and self.indexes[row - 1].length == length:
            row -= 1
            self.whole = &self.indexes[row]
        if row:
            self._build_shorts(row)

    cdef _build_shorts(self, size_t n):
        """Find the rarest pair of symbols of each window that has one of the first n lengths."""
        cdef const uint64_t[::1] symbols = self.symbols, entered
        cdef uint32_t[::1] counts = np.zeros(ND_SHORTS_COUNTS, np.uint32)
        cdef size_t i, j, place, row = 0, total = 0
        cdef nd_shorts *s = &self.shorts
        cdef nd_grams *g
        cdef const int64_t[::1] begins
        s.key, s.indexes = random_table_key(), self.indexes
        s.shortest, s.longest = self.indexes[0].length, self.indexes[n - 1].length
        for i in range(n):
            total += self.indexes[i].count
        cdef uint64_t[::1] names = np.empty(total, np.uint64)
        cdef uint32_t[::1] ways = np.empty(total, np.uint32)
        cdef uint8_t[::1] places = np.empty(total, np.uint8)
        with nogil:
            nd_shorts_count(&s.key, &symbols[0], symbols.shape[0], 1 + symbols.shape[0] // COUNTED, &counts[0])
            for i in range(n):
                g = &self.indexes[i]
                for j in range(g.count):
                    place = nd_shorts_rarest(&s.key, &counts[0], &symbols[g.places[j]], g.length)
                    names[row] = nd_shorts_name(&s.key, &symbols[g.places[j]], g.length, place)
                    ways[row], places[row] = <uint32_t> (ND_SHORTS_PLACES * i + place), <uint8_t> place
                    row += 1
        order = np.lexsort((ways, names))
        sorted_names, sorted_ways = np.asarray(names)[order], np.asarray(ways)[order]
        first = np.append(True, (np.diff(sorted_names) != 0) | (np.diff(sorted_ways) != 0))
        ways = sorted_ways[first]
        entered, starts = np.unique(sorted_names[first], return_index=True)
        begins = np.append(starts, len(ways)).astype(np.int64)
        cdef uint64_t[::1] filter = np.zeros(nd_grams_filter_size(entered.shape[0]), np.uint64)
        cdef uint64_t[:, ::1] slots = np.zeros((nd_table_room(entered.shape[0]), 2), np.uint64)
        s.filter, s.filter_shift = &filter[0], nd_grams_filter_shift(entered.shape[0])
        s.slots, s.room = <nd_shorts_slot *> &slots[0, 0], slots.shape[0]
        s.ways, s.place_of = &ways[0], &places[0]
        self._memory += [ways, filter, slots, places]
        for i in range(<size_t> entered.shape[0]):
            nd_shorts_add(s, entered[i], <uint32_t> begins[i], <uint32_t> begins[i + 1])
        cdef uint64_t[::1] sums = np.empty(total, np.uint64)
        cdef uint32_t[::1] before = np.empty(total, np.uint32)
        s.sums, s.before = &sums[0], &before[0]
        self._memory += [sums, before]
        with nogil:
            for i in range(n):
                for j in range(self.indexes[i].count):
                    nd_shorts_link(s, &self.indexes[i], j)
                    if j % WINDOWS == 0:
                        check_signals()

    def length_of(self, numbers):
        """Return how many symbols the windows of these numbers have, int64."""
        if len(self._widths) == 1:
            return np.full(len(numbers), self._widths[0])
        return self._widths[np.searchsorted(self._firsts, numbers, "right") - 1]


cdef struct Look:
    nd_grams_scan whole
    nd_shorts_scan shorts
    nd_gram_hits hits
    size_t room     # for hits
    size_t lengths  # of items that are shorter than a window
    size_t lacking  # hits for which there was no memory; nothing is looked up any more
    size_t tokens


cdef bint reserve(Look *state, size_t n) noexcept nogil:
    """Make room for all hits that the next n symbols can give; return whether there is memory.

    Each position that is not decided yet has one window at most, and one of each length of the shorter items.
    """
    cdef size_t need = (n + state.whole.held.before + state.lengths * (n + state.shorts.held.before) + 1)
    cdef size_t room = state.hits.count + need
    cdef void *memory
    if state.lacking or room <= state.room:
        return not state.lacking
    room = max(room, 2 * state.room)
    memory = PyMem_RawRealloc(state.hits.positions, room * sizeof(uint64_t))
    if memory != NULL:
        state.hits.positions = <uint64_t *> memory
        memory = PyMem_RawRealloc(state.hits.numbers, room * sizeof(uint32_t))
    if memory == NULL:
        state.lacking = room
        return False
    state.hits.numbers, state.room = <uint32_t *> memory, room
    return True


cdef void look(void *to, const uint64_t *symbols, size_t n) noexcept nogil:
    """Look up the windows of a document; a sink."""
    cdef Look *state = <Look *> to
    state.tokens += n
    if not reserve(state, n):
        return
    if state.whole.grams != NULL:
        nd_grams_take(&state.whole, symbols, n)
    if state.shorts.shorts != NULL:
        nd_shorts_take(&state.shorts, symbols, n)


cdef class GramHits(Samples):
    """The windows of items that occur in documents: numbers uint32, positions uint64 in tokens, end to end in no order.

    `begins` has where the hits of each document begin; counted: tokens of each document, int64 (n,) as bytes.
    """
    cdef Grams grams
    cdef Look state
    cdef int64_t *sizes
    cdef readonly bytes counted
    cdef readonly object positions
    cdef readonly object numbers

    def __cinit__(self, n, Grams grams not None):
        self.grams = grams
        self.counted = _arrays.zeros(self.n * sizeof(int64_t))
        self.sizes = <int64_t *> PyBytes_AS_STRING(self.counted)
        self.state.whole.hits = &self.state.hits
        self.state.shorts.hits = &self.state.hits
        if grams.whole != NULL:
            self.state.whole.grams = grams.whole
            hold(&self.state.whole.held, nd_grams_before(grams.whole.length))
        if grams.shorts.longest:
            self.state.shorts.shorts = &grams.shorts
            self.state.lengths = grams.count
            hold(&self.state.shorts.held, nd_shorts_before(grams.shorts.longest))
        self.take, self.to = look, &self.state

    def __dealloc__(self):
        free(self.state.whole.held.values)
        free(self.state.shorts.held.values)
        self._free()

    cdef prepare(self, size_t most, size_t total):
        """Forget all hits. Memory is allocated as hits are found."""
        self._free()
        self.state.lacking = 0

    cdef void _free(self) noexcept:
        """Free the memory of hits."""
        PyMem_RawFree(self.state.hits.positions)
        PyMem_RawFree(self.state.hits.numbers)
        self.state.hits.positions, self.state.hits.numbers, self.state.hits.count = NULL, NULL, 0
        self.state.room = 0

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.tokens = 0
        nd_grams_open(&self.state.whole)
        nd_shorts_open(&self.state.shorts)

    cdef void finish(self, size_t row) noexcept nogil:
        """Look up the last windows of a document."""
        if reserve(&self.state, 0):
            if self.state.whole.grams != NULL:
                nd_grams_close(&self.state.whole)
            if self.state.shorts.shorts != NULL:
                nd_shorts_close(&self.state.shorts)
        self.sizes[row] = <int64_t> self.state.tokens
        self.offsets[row + 1] = <int64_t> self.state.hits.count

    cdef complete(self):
        """Copy the hits."""
        cdef nd_gram_hits *hits = &self.state.hits
        if self.state.lacking:
            raise MemoryError(f"{self.state.lacking} places of windows; give the items in parts")
        self.positions, self.numbers = np.empty(hits.count, np.uint64), np.empty(hits.count, np.uint32)
        if hits.count:
            memcpy(_arrays.data_of(self.positions), hits.positions, hits.count * sizeof(uint64_t))
            memcpy(_arrays.data_of(self.numbers), hits.numbers, hits.count * sizeof(uint32_t))
        self._free()


cdef int hold(nd_held *held, size_t before) except -1:
    """Make room for symbols."""
    held.before = before
    held.values = <uint64_t *> allocate(nd_held_room(before) * sizeof(uint64_t))
    return 0
