# cython: embedsignature=True, overflowcheck=True
"""Shingling and sketching of batches: the loop over documents runs without the GIL."""

from cpython.buffer cimport PyBUF_READ
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from ndcore cimport _rabin, _text
from ndcore._batch cimport Batch, allocate
from ndcore._minhash cimport Sink
from ndcore._rabin cimport nd_rabin, nd_rabin_byte_window, nd_rabin_symbol_window
from ndcore._signals cimport check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key
from ndcore._text cimport (
    ND_BYTE, ND_CHAR, ND_GRAPHEME, ND_LINE, ND_TOKENS, ND_WORD, nd_text, nd_text_table, nd_text_tape_size, nd_unit)


cdef extern from "stops.h" nogil:
    ctypedef struct nd_stop:
        pass
    ctypedef struct nd_stops:
        nd_stop *slots
        size_t room
        nd_table_key key
    void nd_stops_fill(nd_stops *s, const uint8_t *tape, const uint64_t *symbols, size_t n)


cdef extern from "pipeline.h" nogil:
    ctypedef struct nd_kernels:
        void (*open)(nd_text *, nd_unit, const nd_text_table *, const uint8_t *, size_t, uint8_t *) noexcept
        size_t (*symbols)(nd_text *, uint64_t *, size_t) noexcept
        void (*windows)(
            const nd_rabin *, const nd_rabin_symbol_window *, size_t, const uint64_t *, size_t, uint64_t *) noexcept
        void (*sliding)(
            const nd_rabin *, const nd_rabin_byte_window *, size_t, const uint8_t *, size_t, uint64_t *) noexcept
        uint64_t (*bytes)(const nd_rabin *, uint64_t, const uint8_t *, size_t) noexcept
        uint64_t (*words)(const nd_rabin *, const uint64_t *, size_t) noexcept
    ctypedef struct nd_shingling:
        nd_kernels run
        nd_unit unit
        size_t width
        nd_text_table token_table
        nd_stops stops
        int short_whole
        nd_rabin rabin
        nd_rabin_symbol_window symbol_window
        nd_rabin_byte_window byte_window
        uint64_t lead
    ctypedef struct nd_shingled:
        size_t tokens
        size_t shingles
        size_t invalid
    ctypedef struct nd_collected:
        uint64_t *values
        size_t n
    ctypedef void (*nd_sink)(void *, const uint64_t *, size_t) noexcept
    ctypedef struct nd_shingle_reading:
        nd_shingled done
    size_t nd_shingle_most(nd_unit unit, size_t n)
    size_t nd_shingle_scratch_size(nd_unit unit, size_t width, size_t n)
    void nd_shingle_open(
        nd_shingle_reading *r, const nd_shingling *s, const uint8_t *text, size_t n, uint64_t *scratch, uint8_t *tape)
    bint nd_shingle_next(nd_shingle_reading *r, nd_sink take, void *to)
    size_t nd_shingle_taped(const nd_shingle_reading *r)
    void nd_collect(void *to, const uint64_t *fingerprints, size_t n) noexcept
    ctypedef struct nd_label_slot:
        pass
    void nd_label(uint64_t *f, size_t n, const nd_table_key *key, nd_label_slot *slots)


UNITS = {
    "word": ND_WORD, "char": ND_CHAR, "grapheme": ND_GRAPHEME, "line": ND_LINE, "byte": ND_BYTE, "tokens": ND_TOKENS,
}


cdef enum:
    BLOCK = 1024  # fingerprints that a sink takes at a time
    KEPT = 65536  # canonical bytes that wait to be hashed, at most
    WAITING = 512  # documents that they are of


cdef void connect(nd_kernels *run) noexcept:
    """Set the kernels of the extensions that have their variants."""
    run.open = _text.text_open
    run.symbols = _text.text_symbols
    run.windows = _rabin.rabin_symbols
    run.sliding = _rabin.rabin_sliding
    run.bytes = _rabin.rabin_bytes
    run.words = _rabin.rabin_words


cdef class Shingler:
    """The tables of a shingling. The caller checks arguments and documents (str or bytes).

    normal: None, or whether NFKC removes default ignorable code points first. stop_words: canonical bytes, each after its
    length, all different.
    """
    cdef nd_shingling how
    cdef bytes stop_words
    cdef bint labelled, normal, remove

    def __cinit__(
        self, unit: str, width: int, short_whole: bool, labelled: bool, polynomial: int, token_polynomial: int,
        normal: bool | None, stop_words: bytes = b"",
    ):
        connect(&self.how.run)
        self.how.unit = UNITS[unit]
        self.how.width = width
        self.how.short_whole = short_whole
        self.labelled = labelled
        self.normal = normal is not None
        self.remove = bool(normal)
        _text.text_table_init(&self.how.token_table, <uint64_t> (token_polynomial & 0xFFFFFFFFFFFFFFFF))
        _rabin.rabin_init(&self.how.rabin, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF), 64)
        self._set_stop_words(stop_words)
        _rabin.rabin_symbol_window_init(&self.how.symbol_window, &self.how.rabin, width)
        _rabin.rabin_byte_window_init(&self.how.byte_window, &self.how.rabin, width)
        self.how.lead = _rabin.rabin_shift(&self.how.rabin, _rabin.rabin_bytes(&self.how.rabin, 0, b"\x01", 1), width)

    def __dealloc__(self):
        free(self.how.stops.slots)

    cdef _set_stop_words(self, bytes stop_words):
        """Fill the table of stop words."""
        cdef const uint8_t *tape = stop_words
        cdef size_t n, room = len(stop_words) // 9 + 1
        cdef uint64_t[::1] symbols = np.empty(room, np.uint64)
        cdef nd_text reading
        if not stop_words:
            return
        self.stop_words = stop_words
        self.how.run.open(&reading, ND_TOKENS, &self.how.token_table, tape, <size_t> len(stop_words), NULL)
        n = self.how.run.symbols(&reading, &symbols[0], room)
        self.how.stops.room, self.how.stops.key = nd_table_room(n), random_table_key()
        self.how.stops.slots = <nd_stop *> allocate(self.how.stops.room * sizeof(nd_stop))
        nd_stops_fill(&self.how.stops, tape, &symbols[0], n)

    cdef size_t _most(self, Batch batch, size_t size) noexcept nogil:
        """Bound the shingles of a document of `size` bytes: one a byte, if another thread may change it meanwhile."""
        return size + 1 if batch.borrowed else nd_shingle_most(self.how.unit, size)

    def batch(self, documents) -> Batch:
        """Make a Batch of documents, normalized as this shingling asks."""
        return Batch(documents, normal=self.normal, remove=self.remove)

    def fingerprints(self, Batch batch not None):
        """Compute the fingerprints of all documents, in order, end to end.

        Returns (values uint64, shingles int64 (n,), tokens int64 (n,), invalid bytes).
        """
        cdef size_t i, room = 0
        for i in range(batch.count):
            room += self._most(batch, batch.sizes[i])
        cdef uint64_t[::1] values = np.empty(room, np.uint64)
        cdef int64_t[:, ::1] counts = np.zeros((2, batch.count), np.int64)
        cdef nd_collected all
        cdef size_t invalid = 0
        cdef Work work = Work(self, batch)
        all.values = &values[0] if room else NULL
        all.n = 0
        with nogil:
            for i in range(batch.count):
                work.one(i, nd_collect, &all)
                counts[0, i], counts[1, i] = <int64_t> work.done.shingles, <int64_t> work.done.tokens
                invalid += work.done.invalid
        return np.array(values[:all.n]), np.asarray(counts[0]), np.asarray(counts[1]), invalid

    def sketch(self, Batch batch not None, Sink sink not None, hashing=None):
        """Give every document's shingles to a sink, and its canonical bytes to `hashing`, if that is given.

        Returns (shingles int64 (n,), tokens int64 (n,), invalid bytes, [hashing(memoryview)]). The canonical bytes are each
        token's length as u64 big-endian, then the token.
        """
        cdef size_t i, room = 0, invalid = 0
        cdef int64_t[:, ::1] counts = np.zeros((2, batch.count), np.int64)
        cdef Work work = Work(self, batch)
        cdef bint hashed = hashing is not None
        results = []
        for i in range(batch.count):
            room += self._most(batch, batch.sizes[i])
        sink.prepare(self._most(batch, batch.longest), room)
        if hashed:
            work.begin_tape()
        with nogil:
            for i in range(batch.count):
                sink.start(i)
                work.one(i, sink.take, sink.to)
                sink.finish(i)
                counts[0, i], counts[1, i] = <int64_t> work.done.shingles, <int64_t> work.done.tokens
                invalid += work.done.invalid
                if hashed and not work.keep(i):
                    with gil:
                        work.hash(i, hashing, results)
        work.hash_kept(hashing, results)
        sink.complete()
        return np.asarray(counts[0]), np.asarray(counts[1]), invalid, results

    def canonical(self, Batch batch not None, hashing, positions=None):
        """Call hashing(memoryview of the canonical bytes) of documents at these positions, or of all; list of results."""
        cdef Py_ssize_t k
        cdef int64_t[::1] which = np.arange(batch.count) if positions is None else np.array(positions, np.int64)
        cdef Work work = Work(self, batch)
        results = []
        for k in range(which.shape[0]):
            if not 0 <= which[k] < <int64_t> batch.count:
                raise IndexError(f"document {which[k]} of {batch.count}")
        work.begin_tape()
        with nogil:
            for k in range(which.shape[0]):
                work.one(<size_t> which[k], ignore, NULL)
                if not work.keep(<size_t> which[k]):
                    with gil:
                        work.hash(<size_t> which[k], hashing, results)
        work.hash_kept(hashing, results)
        return results


cdef object view_of(const uint8_t *data, size_t n):
    """Return n bytes as something to hash."""
    return PyMemoryView_FromMemory(<char *> data, <Py_ssize_t> n, PyBUF_READ) if n else b""


cdef void ignore(void *to, const uint64_t *f, size_t n) noexcept nogil:
    """Take fingerprints and do nothing with them."""


cdef class Work:
    """Scratch memory for one pass over a batch; `done` has the counts of the last document."""
    cdef Shingler shingler
    cdef nd_shingled done
    cdef size_t blocks
    cdef Batch batch
    cdef uint64_t *scratch
    cdef uint64_t *unlabelled
    cdef nd_label_slot *slots
    cdef nd_table_key key
    cdef uint8_t *tape
    cdef size_t taped
    cdef uint8_t *kept
    cdef size_t *ends
    cdef size_t waiting

    def __cinit__(self, Shingler shingler not None, Batch batch not None):
        cdef size_t most
        self.shingler, self.batch = shingler, batch
        self.scratch = <uint64_t *> allocate(
            nd_shingle_scratch_size(shingler.how.unit, shingler.how.width, batch.longest) * sizeof(uint64_t))
        if shingler.how.stops.room:
            self.begin_tape()
        if shingler.labelled:
            self.key = random_table_key()
            most = shingler._most(batch, batch.longest)
            self.slots = <nd_label_slot *> allocate(nd_table_room(most) * sizeof(nd_label_slot))
            self.unlabelled = <uint64_t *> allocate(most * sizeof(uint64_t))

    def __dealloc__(self):
        free(self.scratch)
        free(self.slots)
        free(self.unlabelled)
        free(self.tape)
        free(self.kept)
        free(self.ends)

    cdef begin_tape(self):
        """Write the canonical bytes of the documents from now on."""
        if self.tape == NULL:
            self.tape = <uint8_t *> allocate(nd_text_tape_size(self.batch.longest))

    cdef const uint8_t *canonical(self, size_t i, size_t *n) noexcept nogil:
        """Return the canonical bytes of document i, which `one` read last; documents of the unit "tokens" are canonical."""
        cdef bint given = self.shingler.how.unit == ND_TOKENS
        n[0] = self.batch.sizes[i] if given else self.taped
        return self.batch.texts[i] if given else self.tape

    cdef bint keep(self, size_t i) except -1 nogil:
        """Keep the canonical bytes of document i, which `one` read last, to be hashed with others; False without room.

        So threads that hash short documents seldom wait for the GIL.
        """
        cdef size_t n = 0, used = 0
        cdef const uint8_t *canonical = self.canonical(i, &n)
        if self.waiting:
            used = self.ends[self.waiting - 1]
        if n > KEPT - used or self.waiting == WAITING:
            return False
        if self.kept == NULL:
            with gil:
                self.kept = <uint8_t *> allocate(KEPT)
                self.ends = <size_t *> allocate(WAITING * sizeof(size_t))
        if n:
            memcpy(self.kept + used, canonical, n)
        self.ends[self.waiting] = used + n
        self.waiting += 1
        return True

    cdef hash_kept(self, hashing, list results):
        """Append hashing(memoryview) of the documents that were kept to the results."""
        cdef size_t k, begin = 0
        for k in range(self.waiting):
            results.append(hashing(view_of(self.kept + begin, self.ends[k] - begin)))
            begin = self.ends[k]
        self.waiting = 0

    cdef hash(self, size_t i, hashing, list results):
        """Append the results for the documents that were kept and for document i, for which there was no room."""
        cdef size_t n = 0
        cdef const uint8_t *canonical
        self.hash_kept(hashing, results)
        canonical = self.canonical(i, &n)
        results.append(hashing(view_of(canonical, n)))

    cdef int one(self, size_t i, nd_sink take, void *to) except -1 nogil:
        """Give the shingles of document i to a sink."""
        cdef nd_collected all
        cdef size_t at = 0
        if not self.shingler.labelled:
            return self.read(i, take, to)
        all.values, all.n = self.unlabelled, 0
        self.read(i, nd_collect, &all)
        nd_label(all.values, all.n, &self.key, self.slots)
        while at < all.n:
            take(to, all.values + at, stride(at, all.n, BLOCK))
            at += BLOCK
            self.look()
        return 0

    cdef int read(self, size_t i, nd_sink take, void *to) except -1 nogil:
        """Give the unlabelled shingles of document i to a sink."""
        cdef nd_shingle_reading reading
        nd_shingle_open(
            &reading, &self.shingler.how, self.batch.texts[i], self.batch.sizes[i], self.scratch, self.tape)
        while nd_shingle_next(&reading, take, to):
            self.look()
        self.taped, self.done = nd_shingle_taped(&reading), reading.done
        return 0

    cdef int look(self) except -1 nogil:
        """Check for signals after every fourth block; a short document is a block."""
        self.blocks += 1
        if self.blocks % 4 == 0:
            check_signals()
        return 0
