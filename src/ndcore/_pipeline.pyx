# cython: embedsignature=True, overflowcheck=True
"""Documents to tokens, fingerprints and sketches: the loop over documents runs without the GIL."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from ndcore cimport _rabin, _text
from ndcore._arrow cimport ArrowTexts
from ndcore._minhash cimport Sink
from ndcore._rabin cimport nd_rabin, nd_rabin_byte_window, nd_rabin_symbol_window
from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key
from ndcore._text cimport (
    ND_BYTE, ND_CHAR, ND_GRAPHEME, ND_LINE, ND_TOKENS, ND_WORD, nd_text, nd_text_table, nd_text_tape_size, nd_unit)

from ndcore._text import normalize


cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030C0000
    #define ND_READY(text) PyUnicode_READY(text)
    #else
    #define ND_READY(text) 0 /* every str is */
    #endif
    """
    int ND_READY(object text) except -1


cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)


cdef extern from "utf8.h" nogil:
    size_t nd_utf8_size(unsigned unit, const void *points, size_t n)
    size_t nd_utf8(unsigned unit, const void *points, size_t n, uint8_t *out)


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


cdef void *allocate(size_t size) except NULL:
    cdef void *memory = malloc(size if size else 1)
    if memory == NULL:
        raise MemoryError(f"{size} bytes for a document")
    return memory


cdef void connect(nd_kernels *run) noexcept:
    run.open = _text.text_open
    run.symbols = _text.text_symbols
    run.windows = _rabin.rabin_symbols
    run.sliding = _rabin.rabin_sliding
    run.bytes = _rabin.rabin_bytes
    run.words = _rabin.rabin_words


cdef class Batch:
    """Documents as bytes that stay where they are while this object lives; str by UTF-8 with surrogatepass.

    bytes, ASCII str and texts of Arrow are read in place; other str, and all of them with `normal`, from buffers of this
    object, so that nothing is cached in the caller's objects.
    """
    cdef object alive
    cdef const uint8_t **texts
    cdef size_t *sizes
    cdef const uint8_t **own_texts
    cdef size_t *own_sizes
    cdef uint8_t *utf8
    cdef bint borrowed  # from buffers that somebody else may write to
    cdef readonly size_t count
    cdef readonly size_t longest
    cdef readonly size_t total

    def __cinit__(self, documents, *, normal=False, remove=False):
        cdef size_t i
        if isinstance(documents, ArrowTexts):
            self._borrow(documents)
        else:
            self._hold(list(documents))
        if normal:
            self._normalize(remove)
        for i in range(self.count):
            self.longest = max(self.longest, self.sizes[i])
            self.total += self.sizes[i]

    cdef _borrow(self, ArrowTexts documents):
        self.alive, self.count, self.borrowed = documents, <size_t> documents.n, True
        self.texts, self.sizes = documents.starts, documents.sizes

    cdef _own(self):
        self.texts = self.own_texts = <const uint8_t **> allocate(self.count * sizeof(uint8_t *))
        self.sizes = self.own_sizes = <size_t *> allocate(self.count * sizeof(size_t))

    cdef _hold(self, list documents):
        cdef size_t i
        cdef uint8_t *units
        cdef bint encode = False
        self.alive, self.count, self.borrowed = documents, <size_t> len(documents), False
        self._own()
        units = <uint8_t *> allocate(self.count)
        try:
            for i, document in enumerate(documents):
                units[i] = 0
                if isinstance(document, bytes):
                    self.texts[i] = <const uint8_t *> PyBytes_AS_STRING(document)
                    self.sizes[i] = <size_t> PyBytes_GET_SIZE(document)
                elif isinstance(document, str):
                    ND_READY(document)
                    self.texts[i] = <const uint8_t *> PyUnicode_DATA(document)
                    self.sizes[i] = <size_t> PyUnicode_GET_LENGTH(document)
                    if not PyUnicode_IS_ASCII(document):
                        units[i] = <uint8_t> PyUnicode_KIND(document)
                        encode = True
                else:
                    raise TypeError(f"document {i} is of type {type(document).__name__}; texts are str or bytes")
            if encode:
                self._encode(units)
        finally:
            free(units)

    cdef _encode(self, const uint8_t *units):
        """Documents in units of 1, 2 or 4 bytes, where that is not 0, to UTF-8."""
        cdef size_t i, done, here, size, room = 0
        cdef const uint8_t *points
        cdef uint8_t *at
        with nogil:
            for i in range(self.count):
                done = 0 if units[i] else self.sizes[i]
                while done < self.sizes[i]:
                    here = stride(done, self.sizes[i], STRIDE)
                    room += nd_utf8_size(units[i], self.texts[i] + done * units[i], here)
                    done += here
                    if here == STRIDE:
                        check_signals()
        self.utf8 = at = <uint8_t *> allocate(room)
        with nogil:
            for i in range(self.count):
                if not units[i]:
                    continue
                points = self.texts[i]
                self.texts[i] = at
                done = size = 0
                while done < self.sizes[i]:
                    here = stride(done, self.sizes[i], STRIDE)
                    size += nd_utf8(units[i], points + done * units[i], here, at + size)
                    done += here
                    if here == STRIDE:
                        check_signals()
                self.sizes[i] = size
                at += size

    cdef _normalize(self, bint remove):
        cdef const uint8_t **texts = self.texts
        cdef size_t *sizes = self.sizes
        cdef size_t i
        results = [normalize(PyBytes_FromStringAndSize(<const char *> texts[i], <Py_ssize_t> sizes[i]), remove)
                   for i in range(self.count)]
        free(self.own_texts)
        free(self.own_sizes)
        free(self.utf8)
        self.own_texts, self.own_sizes, self.utf8 = NULL, NULL, NULL
        self._hold(results)

    def hashed(self, hashing, positions=None):
        """[hashing(memoryview of the bytes)] of the documents at these positions, or of all."""
        cdef Py_ssize_t i
        results = []
        for i in range(self.count) if positions is None else positions:
            if not 0 <= i < <Py_ssize_t> self.count:
                raise IndexError(f"document {i} of {self.count}")
            results.append(hashing(<const uint8_t[:self.sizes[i]]> self.texts[i]) if self.sizes[i] else hashing(b""))
        return results

    def lengths(self):
        """Bytes of every document; int64 (n,)."""
        return np.array([self.sizes[i] for i in range(self.count)], np.int64)

    def __dealloc__(self):
        free(self.own_texts)
        free(self.own_sizes)
        free(self.utf8)


def text_lengths(list documents not None):
    """Bytes, or code points of a str, of every document, −1 where it is neither str nor bytes; int64 (n,)."""
    cdef Py_ssize_t i
    cdef int64_t[::1] out = np.empty(len(documents), np.int64)
    for i in range(out.shape[0]):
        if i % STRIDE == 0:
            check_signals()
        document = documents[i]
        if isinstance(document, str):
            ND_READY(document)
            out[i] = PyUnicode_GET_LENGTH(document)
        else:
            out[i] = PyBytes_GET_SIZE(document) if isinstance(document, bytes) else -1
    return np.asarray(out)


cdef class Shingler:
    """Tables of one shingling. Arguments and documents (str or bytes) are checked by the caller.

    `normal` is None, or whether NFKC leaves default ignorable code points out first. `stop_words` is their canonical bytes,
    each after its length, all different.
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
        self._leave_out(stop_words)
        _rabin.rabin_symbol_window_init(&self.how.symbol_window, &self.how.rabin, width)
        _rabin.rabin_byte_window_init(&self.how.byte_window, &self.how.rabin, width)
        self.how.lead = _rabin.rabin_shift(&self.how.rabin, _rabin.rabin_bytes(&self.how.rabin, 0, b"\x01", 1), width)

    def __dealloc__(self):
        free(self.how.stops.slots)

    cdef _leave_out(self, bytes stop_words):
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
        """The most shingles that a document of so many bytes can have; of one that may be changed meanwhile, one a byte."""
        return size + 1 if batch.borrowed else nd_shingle_most(self.how.unit, size)

    def batch(self, documents) -> Batch:
        return Batch(documents, normal=self.normal, remove=self.remove)

    def fingerprints(self, Batch batch not None):
        """(values uint64, shingles int64 (n,), tokens int64 (n,), invalid bytes): fingerprints in order, end to end."""
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
        """Every document's shingles are given to the sink, and its canonical bytes to `hashing`, where that is given.

        (shingles int64 (n,), tokens int64 (n,), invalid bytes, [hashing(memoryview)]): the canonical bytes are each
        token's length, then the token.
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
                if hashed:
                    with gil:
                        results.append(hashing(work.canonical(i)))
        sink.complete()
        return np.asarray(counts[0]), np.asarray(counts[1]), invalid, results

    def canonical(self, Batch batch not None, hashing, positions=None):
        """[hashing(memoryview of the canonical bytes)] of the documents at these positions, or of all."""
        cdef Py_ssize_t i
        cdef Work work = Work(self, batch)
        results = []
        work.begin_tape()
        for i in range(batch.count) if positions is None else positions:
            if not 0 <= i < <Py_ssize_t> batch.count:
                raise IndexError(f"document {i} of {batch.count}")
            with nogil:
                work.one(i, ignore, NULL)
            results.append(hashing(work.canonical(i)))
        return results


cdef void ignore(void *to, const uint64_t *f, size_t n) noexcept nogil:
    pass


cdef class Work:
    """Scratch for one pass over a batch; what became of the last document is `done`."""
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

    cdef begin_tape(self):
        if self.tape == NULL:
            self.tape = <uint8_t *> allocate(nd_text_tape_size(self.batch.longest))

    cdef canonical(self, size_t i):
        """What `one` has taped of document i, as long as the next has not been read; tokens are a tape themselves."""
        if self.shingler.how.unit == ND_TOKENS:
            return <const uint8_t[:self.batch.sizes[i]]> self.batch.texts[i] if self.batch.sizes[i] else b""
        return <uint8_t[:self.taped]> self.tape if self.taped else b""

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
        cdef nd_shingle_reading reading
        nd_shingle_open(
            &reading, &self.shingler.how, self.batch.texts[i], self.batch.sizes[i], self.scratch, self.tape)
        while nd_shingle_next(&reading, take, to):
            self.look()
        self.taped, self.done = nd_shingle_taped(&reading), reading.done
        return 0

    cdef int look(self) except -1 nogil:
        """Check for signals after some blocks, which short documents are too."""
        self.blocks += 1
        if self.blocks % 4 == 0:
            check_signals()
        return 0
