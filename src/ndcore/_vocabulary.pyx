# cython: embedsignature=True, overflowcheck=True
"""Tokens as numbers."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key


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

cdef size_t MOST = 0xFFFFFFFF  # tokens


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
