# cython: embedsignature=True, overflowcheck=True
"""Repeated passages: tokens as numbers, anchors and fingerprints of windows, runs of places, rows.

Arrays are checked here, at linear cost.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

from ndcore cimport _bounds, _rabin
from ndcore._entries cimport nd_entry
from ndcore._rabin cimport nd_rabin, nd_rabin_symbol_window
from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key


cdef extern from "repeats.h" nogil:
    enum:
        ND_RANGE_BITS
    ctypedef struct nd_repeat_run:
        uint64_t place
        uint64_t first
        uint64_t windows
    ctypedef struct nd_repeat_node:
        pass
    ctypedef struct nd_repeat_row:
        pass
    ctypedef struct nd_repeat_rows:
        const nd_repeat_run *units
        const nd_repeat_node *nodes
        const uint32_t *leaf
        const uint64_t *bases
        size_t n
        size_t documents
        uint64_t tokens
        uint64_t fewest
        uint64_t sources
        int within
        size_t unit
        size_t document
        uint64_t done
    size_t nd_repeats_anchors(
        const uint64_t *f, size_t n, size_t window, uint64_t key, uint64_t label, uint64_t place, uint64_t *mixed,
        nd_entry *out)
    void nd_repeats_part(const nd_entry *e, size_t n, unsigned shift, size_t parts, size_t *starts, nd_entry *out)
    size_t nd_repeats_shared(const nd_entry *e, size_t n, nd_entry *out)
    size_t nd_repeats_firsts(
        const nd_entry *e, size_t n, uint64_t fewest, uint64_t most, uint64_t exempt, nd_entry *out)
    size_t nd_repeats_join(const nd_entry *e, size_t n, nd_repeat_run *open, nd_repeat_run *out)
    void nd_repeats_breaks(const nd_repeat_run *runs, size_t n, uint64_t *bits)
    size_t nd_repeats_units(
        const nd_repeat_run *runs, size_t n, const uint64_t *bits, size_t *at, uint64_t *done, nd_repeat_run *out,
        size_t room)
    void nd_repeats_classes(const nd_repeat_run *units, size_t begin, size_t end, uint32_t *classes)
    uint64_t nd_repeats_symbols(const nd_repeat_run *units, size_t n, uint32_t *classes, uint32_t *work)
    void nd_repeats_shared_units(const nd_repeat_run *units, const uint32_t *order, size_t n, uint32_t *shared)
    size_t nd_repeats_nodes(
        const uint32_t *order, const uint32_t *shared, size_t n, nd_repeat_node *nodes, uint32_t *leaf)
    size_t nd_repeats_ascend(
        const nd_repeat_rows *r, size_t begin, size_t end, nd_repeat_node *nodes, uint32_t *leaf)
    size_t nd_repeats_rows(nd_repeat_rows *r, nd_repeat_row *out, size_t room)


cdef extern from "suffixes.h" nogil:
    int nd_suffixes_sort(
        const uint32_t *text, size_t n, size_t symbols, uint32_t *order, uint32_t *counts, uint64_t *kinds,
        int (*stop)() except -1 nogil) except -1


cdef enum:
    PARTS = 256     # groups that entries are parted into, at most
    UNITS = 65536   # units whose nodes are looked for between two checks of signals
    MANY = 4096     # rows made between two checks of signals
    WINDOW = 65536  # fingerprints that an anchor represents, at most: 2^ND_RANGE_BITS

cdef size_t MOST = 0xFFFFFFFF  # numbers of 32 bits: units, and different tokens

RANGE_BITS = ND_RANGE_BITS
MAX_WINDOW = WINDOW


cdef class Windows:
    """Fingerprints of windows of consecutive values, of several widths, by one irreducible polynomial of degree 64."""
    cdef nd_rabin rabin
    cdef nd_rabin_symbol_window slide
    cdef size_t width

    def __cinit__(self, size_t width, polynomial: int):
        if not 1 <= width <= MAX_WINDOW:
            raise ValueError(f"a window has 1 to {MAX_WINDOW} values, got {width}")
        _rabin.rabin_init(&self.rabin, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF), 64)
        _rabin.rabin_symbol_window_init(&self.slide, &self.rabin, width)
        self.width = width

    cdef size_t _windows(self, const int64_t[::1] offsets, size_t i) noexcept nogil:
        """Count the windows of document i."""
        cdef size_t tokens = <size_t> (offsets[i + 1] - offsets[i])
        return tokens - self.width + 1 if tokens >= self.width else 0

    cdef _check(self, const uint64_t[::1] values, const int64_t[::1] offsets, size_t labels, size_t places):
        """Check the documents of a call."""
        cdef size_t n = labels
        _bounds.check_lengths("labels and places", (labels, places))
        if not _bounds.cut(offsets, n, values.shape[0]):
            raise ValueError(f"{offsets.shape[0]} offsets do not cut {values.shape[0]} values into {n} documents")

    def anchors(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                const uint64_t[::1] labels not None, const uint64_t[::1] places not None, size_t window, uint64_t key):
        """Return the anchors of windows of `window` fingerprints, as entries (mixed fingerprint, range), uint64 (n, 2).

        Document i has values[offsets[i] : offsets[i + 1]], the first of them at places[i]. See nd_repeats_anchors.
        """
        cdef size_t i, n, at, here, found = 0, room = 0, longest = 1
        self._check(values, offsets, labels.shape[0], places.shape[0])
        if not 1 <= window <= MAX_WINDOW:
            raise ValueError(f"an anchor represents windows of 1 to {MAX_WINDOW} fingerprints, got {window}")
        for i in range(<size_t> labels.shape[0]):
            n = self._windows(offsets, i)
            longest, room = max(longest, n), room + (n - window + 1 if n >= window else 0)
        cdef uint64_t[:, ::1] out = np.empty((room + 1, 2), np.uint64)
        cdef uint64_t[::1] f = np.empty(longest, np.uint64), mixed = np.empty(longest, np.uint64)
        with nogil:
            for i in range(<size_t> labels.shape[0]):
                n = self._windows(offsets, i)
                if n < window:
                    continue
                self._slide(&values[offsets[i]], n, &f[0])
                at = 0
                while at + window <= n:
                    check_signals()
                    here = stride(at, n - window + 1, STRIDE)
                    found += nd_repeats_anchors(
                        &f[at], here + window - 1, window, key, labels[i], places[i] + at, &mixed[0],
                        <nd_entry *> &out[found, 0])
                    at += here
        return np.asarray(out)[:found].copy()

    cdef int _slide(self, const uint64_t *values, size_t n, uint64_t *f) except -1 nogil:
        """Compute the fingerprints of n windows."""
        cdef size_t at = 0, here
        while at < n:
            check_signals()
            here = stride(at, n, STRIDE + 16 * self.width)
            _rabin.rabin_symbols(&self.rabin, &self.slide, self.width, values + at, here + self.width - 1, f + at)
            at += here
        return 0

    def taken(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
              const uint64_t[::1] labels not None, const uint64_t[::1] places not None,
              const uint64_t[::1] ranges not None, const int64_t[::1] ends not None):
        """Return the windows in ranges as entries (fingerprint ^ label, place), uint64 (n, 2).

        ranges[ends[i] : ends[i + 1]] are of document i, (first window << RANGE_BITS | number - 1) each.
        """
        cdef size_t i, n, k, j, first, many, found = 0, room = 0, longest = 1
        self._check(values, offsets, labels.shape[0], places.shape[0])
        if not _bounds.cut(ends, labels.shape[0], ranges.shape[0]):
            raise ValueError(f"{ends.shape[0]} ends do not cut {ranges.shape[0]} ranges")
        for i in range(<size_t> labels.shape[0]):
            n = self._windows(offsets, i)
            longest = max(longest, n)
            for k in range(<size_t> ends[i], <size_t> ends[i + 1]):
                many = (ranges[k] & (WINDOW - 1)) + 1
                if (ranges[k] >> ND_RANGE_BITS) + many > n:
                    raise IndexError(f"a range of windows ends behind window {n - 1}, the last of its document")
                room += many
        cdef uint64_t[:, ::1] out = np.empty((room, 2), np.uint64)
        cdef uint64_t[::1] f = np.empty(longest, np.uint64)
        with nogil:
            for i in range(<size_t> labels.shape[0]):
                if ends[i] == ends[i + 1]:
                    continue
                self._slide(&values[offsets[i]], self._windows(offsets, i), &f[0])
                for k in range(<size_t> ends[i], <size_t> ends[i + 1]):
                    first = ranges[k] >> ND_RANGE_BITS
                    many = (ranges[k] & (WINDOW - 1)) + 1
                    for j in range(first, first + many):
                        out[found, 0] = f[j] ^ labels[i]
                        out[found, 1] = places[i] + j
                        found += 1
        return np.asarray(out)


def part(const uint64_t[:, ::1] entries not None, unsigned shift, size_t parts):
    """Group entries by key >> shift, which is below `parts`; return (entries, starts int64 (parts + 1,))."""
    cdef size_t i, n = entries.shape[0]
    cdef uint64_t most = 0
    _bounds.check_entries(entries)
    for i in range(n):
        most = max(most, entries[i, 0])
    if not 1 <= parts <= PARTS or shift > 63 or most >> shift >= parts:
        raise ValueError(f"a key of {most} shifted by {shift} is not among {parts} parts, at most {PARTS}")
    cdef uint64_t[:, ::1] out = np.empty((n, 2), np.uint64)
    cdef size_t[::1] starts = np.empty(parts + 1, np.uintp)
    cdef const nd_entry *e = <const nd_entry *> &entries[0, 0] if n else NULL
    with nogil:
        nd_repeats_part(e, n, shift, parts, &starts[0], <nd_entry *> &out[0, 0] if n else NULL)
    return np.asarray(out), np.asarray(starts).astype(np.int64)


def shared(const uint64_t[:, ::1] entries not None):
    """Return the sorted entries whose key occurs twice or more, as (id, key), uint64 (n, 2)."""
    cdef size_t found, n = entries.shape[0]
    _bounds.check_entries(entries)
    cdef uint64_t[:, ::1] out = np.empty((n + 1, 2), np.uint64)
    cdef const nd_entry *e = <const nd_entry *> &entries[0, 0] if n else NULL
    with nogil:
        found = nd_repeats_shared(e, n, <nd_entry *> &out[0, 0])
    return np.asarray(out)[:found].copy()


def firsts(uint64_t[:, ::1] entries not None, uint64_t fewest, uint64_t most, uint64_t exempt):
    """Return (place, first place) of sorted entries (fingerprint, place), uint64 (n, 2), a view of the
    entries, which are overwritten.

    Only fingerprints count that occur `fewest` to `most` times, and not at a place below `exempt`.
    """
    cdef size_t found, n = entries.shape[0]
    _bounds.check_entries(entries)
    cdef nd_entry *e = <nd_entry *> &entries[0, 0] if n else NULL
    with nogil:
        found = nd_repeats_firsts(e, n, fewest, most, exempt, e)
    return np.asarray(entries)[:found]


def join(const uint64_t[:, ::1] entries not None, uint64_t[::1] last not None):
    """Join entries (place, first place), ascending by place, to runs (place, first place, windows), uint64 (n, 3).

    last, uint64 (3,): the run that the entries before ended with, windows = 0 for none; set to the one that these end with.
    """
    cdef size_t found, n = entries.shape[0]
    _bounds.check_entries(entries)
    if last.shape[0] != 3:
        raise ValueError(f"a run has three numbers, got {last.shape[0]}")
    cdef uint64_t[:, ::1] out = np.empty((n, 3), np.uint64)
    if n:
        with nogil:
            found = nd_repeats_join(
                <const nd_entry *> &entries[0, 0], n, <nd_repeat_run *> &last[0], <nd_repeat_run *> &out[0, 0])
        return np.asarray(out)[:found].copy()
    return np.asarray(out)


cdef const nd_repeat_run *_runs(const uint64_t[:, ::1] runs) except? NULL:
    """Return the first of runs; ValueError if they do not have three columns."""
    if runs.shape[1] != 3:
        raise ValueError(f"runs are rows of a place, a first place and a number of windows, got {runs.shape[1]} columns")
    return <const nd_repeat_run *> &runs[0, 0] if runs.shape[0] else NULL


def units(const uint64_t[:, ::1] runs not None, uint64_t places, empty=np.empty):
    """Cut runs of windows, all below `places`, into units: windows that always occur together; uint64 (n, 3).

    The runs themselves, if they are units. empty(shape, dtype) makes the array.
    """
    cdef const nd_repeat_run *given = _runs(runs)
    cdef size_t i, n = runs.shape[0], at = 0, count = 0
    cdef uint64_t done = 0, wrong = 0
    for i in range(n):
        wrong |= runs[i, 1] > runs[i, 0] or runs[i, 0] >= places or runs[i, 2] == 0 or runs[i, 2] > places - runs[i, 0]
    if wrong:
        raise IndexError(f"a run is not within {places} places, or begins before its first place")
    cdef uint64_t[::1] bits = np.zeros(places // 64 + 1, np.uint64)
    cdef uint64_t[:, ::1] out
    with nogil:
        while at < n:
            check_signals()
            nd_repeats_breaks(given + at, stride(at, n, STRIDE), &bits[0])
            at += stride(at, n, STRIDE)
        at = 0
        while at < n:
            check_signals()
            count += nd_repeats_units(given, n, &bits[0], &at, &done, NULL, STRIDE)
    if count == n:
        return np.asarray(runs)
    out = empty((count, 3), np.uint64)
    at = i = 0
    with nogil:
        while at < n:
            check_signals()
            i += nd_repeats_units(given, n, &bits[0], &at, &done, <nd_repeat_run *> &out[i, 0], stride(i, count, STRIDE))
    return np.asarray(out)


def classes(const uint64_t[:, ::1] units not None, empty=np.empty):
    """Return for each unit of `units` the index of the first one with its windows, uint32 (n,). n < 2^32.

    empty(shape, dtype) makes the array.
    """
    cdef const nd_repeat_run *given = _runs(units)
    cdef size_t at = 0, n = units.shape[0]
    if n > MOST:
        raise OverflowError(f"{n} units are more than {MOST}")
    cdef uint32_t[::1] out = empty(n, np.uint32)
    with nogil:
        while at < n:
            check_signals()
            nd_repeats_classes(given, at, at + stride(at, n, STRIDE), &out[0])
            at += stride(at, n, STRIDE)
    return np.asarray(out)


def differing(const uint8_t[::1] numbers not None, size_t size, const int64_t[::1] a not None,
              const int64_t[::1] b not None, const int64_t[::1] lengths not None):
    """Compare numbers of `size` bytes: return the first i whose `lengths[i]` numbers from a[i] and b[i] on differ, or -1."""
    cdef size_t i, n = a.shape[0], count, here, done
    cdef int64_t length, found = -1
    _bounds.check_lengths("a, b and lengths", (n, b.shape[0], lengths.shape[0]))
    if size == 0:
        raise ValueError("a number has at least one byte")
    count = numbers.shape[0] // size
    for i in range(n):
        length = lengths[i]
        if length < 0 or not 0 <= a[i] <= <int64_t> count - length or not 0 <= b[i] <= <int64_t> count - length:
            raise IndexError(f"{length} numbers from {a[i]} and {b[i]} on are not among {count}")
    with nogil:
        for i in range(n):
            done = 0
            while found < 0 and done < <size_t> lengths[i] * size:
                check_signals()
                here = stride(done, <size_t> lengths[i] * size, STRIDE)
                if memcmp(&numbers[a[i] * size + done], &numbers[b[i] * size + done], here):
                    found = <int64_t> i
                done += here
            if found >= 0:
                break
    return found


cdef _check_classes(const uint64_t[:, ::1] units, const uint32_t[::1] classes):
    """Raise IndexError unless each class is the first unit with the same windows."""
    cdef size_t i, n = units.shape[0], first
    cdef bint wrong = False
    for i in range(n):
        first = classes[i]
        if first > i or (i and units[i, 0] < units[i - 1, 0] + units[i - 1, 2]):
            raise IndexError(f"unit {i} of {n} does not follow on the one before, or its class {first} is behind it")
        wrong |= (units[first, 0] != units[i, 1] or units[first, 1] != units[i, 1] or units[first, 2] != units[i, 2])
    if wrong:
        raise IndexError(f"not each of {n} units has the windows that begin at its first place")


cdef uint32_t[::1] _sort_units(const nd_repeat_run *units, uint32_t[::1] classes, empty):
    """Sort the suffixes of units that follow each other, equal ones by position; classes are overwritten."""
    cdef size_t n = classes.shape[0]
    cdef uint64_t symbols
    cdef uint32_t[::1] order = empty(n, np.uint32), counts = empty(n, np.uint32)
    cdef uint64_t[::1] kinds = np.empty(n // 32 + 64, np.uint64)
    if n:
        with nogil:
            symbols = nd_repeats_symbols(units, n, &classes[0], &counts[0])
        if n >= MOST or symbols > MOST:
            raise OverflowError(f"{n} units with {symbols} symbols are more than {MOST}")
        if symbols > n:
            counts = empty(symbols, np.uint32)
        with nogil:
            nd_suffixes_sort(&classes[0], n, symbols, &order[0], &counts[0], &kinds[0], check_signals)
    return order


cdef class Rows:
    """Rows of units, in keep order.

    Parameters
    ----------
    units : ndarray of uint64, shape (n, 3)
        Of `units`, ascending by place.
    classes : ndarray of uint32, shape (n,)
        Of `classes`; it is overwritten, and must not change afterwards.
    bases : ndarray of uint64
        The place of the first token of each document, ascending; the first is 0.
    tokens, fewest, sources, within
        See nd_repeat_rows in repeats.h.
    empty : callable
        Gets a shape and a dtype; makes the arrays.
    """
    cdef nd_repeat_rows how
    cdef object alive
    cdef readonly size_t passed  # nodes of the suffix tree, on the ways to those that rows may take

    def __cinit__(self, const uint64_t[:, ::1] units not None, uint32_t[::1] classes not None,
                  const uint64_t[::1] bases not None, uint64_t tokens, uint64_t fewest, uint64_t sources, bint within,
                  empty=np.empty):
        cdef size_t n = units.shape[0]
        cdef const nd_repeat_run *given = _runs(units)
        _bounds.check_lengths("units and classes", (n, classes.shape[0]))
        if bases.shape[0] == 0 or bases[0] != 0 or tokens == 0:
            raise ValueError("rows need a document that begins at place 0, and windows of at least one token")
        _check_classes(units, classes)
        cdef uint32_t[::1] order = _sort_units(given, classes, empty)
        cdef uint32_t[::1] leaf = classes if n else np.empty(1, np.uint32)  # replaces what suffixes have in common
        cdef uint32_t[:, ::1] nodes = empty((n + 1, 4), np.uint32)
        if n:
            with nogil:
                nd_repeats_shared_units(given, &order[0], n, &classes[0])
                check_signals()
                nd_repeats_nodes(&order[0], &classes[0], n, <nd_repeat_node *> &nodes[0, 0], &leaf[0])
        self.alive = units, nodes, leaf, bases
        self.how.units, self.how.nodes, self.how.leaf = given, <const nd_repeat_node *> &nodes[0, 0], &leaf[0]
        self.how.bases, self.how.documents, self.how.n = &bases[0], bases.shape[0], n
        self.how.tokens, self.how.fewest, self.how.sources, self.how.within = tokens, fewest, sources, within
        cdef size_t end = n, here
        with nogil:
            while end:
                check_signals()
                here = min(end, UNITS)
                self.passed += nd_repeats_ascend(&self.how, end - here, end, <nd_repeat_node *> &nodes[0, 0], &leaf[0])
                end -= here

    def next(self, size_t room):
        """Return the next rows, at most `room`: (document, start, end, place of the source, copies), uint64 (n, 5)."""
        cdef uint64_t[:, ::1] out = np.empty((max(room, <size_t> 1), 5), np.uint64)
        cdef size_t found = 0, got = 1
        with nogil:
            while got and found < room:
                check_signals()
                got = nd_repeats_rows(
                    &self.how, <nd_repeat_row *> &out[found, 0], room - found if room - found < MANY else MANY)
                found += got
        return np.asarray(out)[:found].copy()


# ---- tokens as numbers

cdef extern from "nd.h" nogil:
    uint64_t nd_load_be64(const uint8_t *at)


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
    ctypedef struct nd_vocabulary_ranges:
        const int64_t *firsts
        const int64_t *counts
        const int64_t *places
        const uint32_t *numbers
        uint64_t range
        uint64_t differing
    void nd_vocabulary_longest(const nd_vocabulary_ranges *r, size_t begin, size_t end, uint64_t *marks)
    void nd_vocabulary_compare(const nd_vocabulary *v, nd_vocabulary_ranges *r, const uint8_t *tape, const uint64_t *at,
                               size_t begin, size_t end, uint64_t *marks)
    void nd_vocabulary_same(const nd_vocabulary_ranges *r, size_t tokens, size_t begin, size_t end, uint64_t *marks,
                            uint8_t *same)


cdef enum:
    LENGTH = 8    # bytes before a token
    LEAST = 1024  # tokens there is room for at first


cdef class Vocabulary:
    """Distinct tokens, each with a number: equal numbers exactly for equal bytes.

    `number` is for one thread, while no other calls anything; `same` for several.
    """
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

    def number(self, const uint8_t[::1] tapes not None, const int64_t[::1] ends not None, const int64_t[::1] bounds not None,
               const int64_t[::1] firsts not None, const int64_t[::1] lasts not None):
        """Number the tokens firsts[k] to lasts[k] − 1 of a tape, for all k, end to end; uint32.

        Tape i is tapes[ends[i] : ends[i + 1]], and has the ranges bounds[i] to bounds[i + 1] − 1, which ascend and do not
        overlap. A tape has each token's length as u64 big-endian, then the token. ValueError for other ranges, or a tape
        that is cut.
        """
        cdef size_t i, k, n = <size_t> max(ends.shape[0], 1) - 1, total = 0, wanted
        cdef uint64_t token, begin, end
        cdef int64_t before
        cdef const uint8_t *data = &tapes[0] if tapes.shape[0] else NULL
        cdef const uint8_t *at
        if firsts.shape[0] != lasts.shape[0]:
            raise ValueError(f"{firsts.shape[0]} ranges begin and {lasts.shape[0]} end")
        if not _bounds.cut(ends, n, tapes.shape[0]) or not _bounds.cut(bounds, n, firsts.shape[0]):
            raise ValueError(f"{ends.shape[0]} ends and {bounds.shape[0]} bounds do not cut tapes of {tapes.shape[0]} bytes "
                             f"and {firsts.shape[0]} ranges into {n}")
        for i in range(n):
            before = 0
            for k in range(<size_t> bounds[i], <size_t> bounds[i + 1]):
                if not before <= firsts[k] <= lasts[k]:
                    raise ValueError(f"tokens {firsts[k]} to {lasts[k]} of tape {i} do not follow on those before {before}")
                before, total = lasts[k], total + <size_t> (lasts[k] - firsts[k])
            if <size_t> before > _cut(tapes[ends[i] : ends[i + 1]], NULL):
                raise ValueError(f"tape {i} of {ends[i + 1] - ends[i]} bytes is cut, or has fewer than {before} tokens")
        self._reserve(0, tapes.shape[0])
        cdef uint32_t[::1] out = np.empty(total + 1, np.uint32)
        total = 0
        with nogil:
            for i in range(n):
                token, at = 0, data + ends[i] if data != NULL else NULL
                for k in range(<size_t> bounds[i], <size_t> bounds[i + 1]):
                    begin, end = <uint64_t> firsts[k], <uint64_t> lasts[k]
                    while token < end:
                        check_signals()
                        wanted = min(token + STRIDE, end)
                        if self.how.count + (wanted - token) > self.tokens:  # they may all be new
                            with gil:
                                self._reserve(wanted - token, 0)
                        at = nd_vocabulary_number(&self.how, at, &token, begin, wanted, &out[total])
                        total += wanted - begin if wanted > begin else 0
                        begin = max(begin, wanted)
        return np.asarray(out)[:total]

    def same(self, const uint8_t[::1] tape not None, const int64_t[::1] firsts not None,
             const int64_t[::1] counts not None, const uint32_t[::1] numbers not None,
             const int64_t[::1] places not None):
        """Tell for each i whether the counts[i] tokens of a tape from firsts[i] on have the numbers from places[i] on; bool.

        Ranges that share a token of the tape must expect the same number of it. O(bytes of the tape + n). ValueError for
        tokens that the tape does not have, or numbers that are not there.
        """
        cdef size_t i, n = firsts.shape[0], size = tape.shape[0], given = numbers.shape[0]
        cdef uint64_t[::1] at = np.empty(size // LENGTH + 1, np.uint64)
        cdef size_t tokens = _cut(tape, &at[0])
        cdef uint64_t[::1] marks = np.zeros(tokens + 1, np.uint64)
        cdef uint8_t[::1] same = np.ones(n, np.uint8)
        cdef nd_vocabulary_ranges ranges
        if <size_t> counts.shape[0] != n or <size_t> places.shape[0] != n:
            raise ValueError(f"{n} ranges begin, {counts.shape[0]} have sizes and {places.shape[0]} have places")
        for i in range(n):
            if not (0 <= firsts[i] <= <int64_t> tokens and 0 <= counts[i] <= <int64_t> tokens - firsts[i]
                    and 0 <= places[i] <= <int64_t> given and counts[i] <= <int64_t> given - places[i]):
                raise ValueError(f"{counts[i]} tokens from {firsts[i]} on and numbers from {places[i]} on: the tape has "
                                 f"{tokens} tokens, and there are {given} numbers")
        if n == 0 or given == 0:
            return np.asarray(same).view(np.bool_)
        ranges.firsts, ranges.counts, ranges.places, ranges.numbers = &firsts[0], &counts[0], &places[0], &numbers[0]
        ranges.range = ranges.differing = 0
        with nogil:
            i = 0
            while i < n:
                check_signals()
                nd_vocabulary_longest(&ranges, i, i + stride(i, n, STRIDE), &marks[0])
                i += STRIDE
            i = 0
            while i < tokens:
                check_signals()
                nd_vocabulary_compare(&self.how, &ranges, &tape[0], &at[0], i, i + stride(i, tokens, STRIDE), &marks[0])
                i += STRIDE
            i = 0
            while i < n:
                check_signals()
                nd_vocabulary_same(&ranges, tokens, i, i + stride(i, n, STRIDE), &marks[0], &same[0])
                i += STRIDE
        return np.asarray(same).view(np.bool_)


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
