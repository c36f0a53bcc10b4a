# cython: embedsignature=True, overflowcheck=True
"""Shingling and sketching of batches: the loop over documents runs without the GIL."""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from ndcore cimport _arrays, _rabin, _sets, _text
from ndcore._batch cimport ND_DIGEST_BYTES, Batch, allocate, digest_alone, digest_many
from ndcore._minhash cimport Sink
from ndcore._signals cimport check_signals, stride
from ndcore._table cimport nd_table_key, nd_table_room, random_table_key
from ndcore._text cimport ND_TOKENS, nd_text, nd_text_tape_size

# In the order of nd_unit, whose numbers stay.
UNITS = {name: number for number, name in enumerate((
    "word", "char", "line", "byte", "tokens", "grapheme", "paragraph", "sentence", "line words", "paragraph words",
    "sentence words"))}


cdef enum:
    BLOCK = 1024  # fingerprints that a sink takes at a time
    KEPT = 131072  # canonical bytes that wait to be hashed, at most
    WAITING = 512  # documents that they are of

cdef object _empty = np.empty, _UINT64 = np.dtype(np.uint64), _INT64 = np.dtype(np.int64)


cdef void shingling_init(
    nd_shingling *how, nd_unit unit, size_t width, bint short_whole, uint64_t low, uint64_t token_low
) noexcept nogil:
    """Fill a shingling without stop words, with the kernels of the extensions that have their variants.

    low, token_low: the polynomials of shingles and of long tokens, without their leading terms.
    """
    how.run.open, how.run.symbols = _text.text_open, _text.text_symbols
    how.run.windows, how.run.sliding = _rabin.rabin_symbols, _rabin.rabin_sliding
    how.run.bytes, how.run.words = _rabin.rabin_bytes, _rabin.rabin_words
    how.unit, how.width, how.short_whole, how.stops.room = unit, width, short_whole, 0
    _text.text_table_init(&how.token_table, token_low)
    _rabin.rabin_init(&how.rabin, low, 64)
    _rabin.rabin_symbol_window_init(&how.symbol_window, &how.rabin, width)
    _rabin.rabin_byte_window_init(&how.byte_window, &how.rabin, width)
    how.lead = _rabin.rabin_shift(&how.rabin, _rabin.rabin_bytes(&how.rabin, 0, b"\x01", 1), width)


cdef size_t shingle_scratch_size(nd_unit unit, size_t width, size_t n) noexcept nogil:
    """Export nd_shingle_scratch_size to other packages."""
    return nd_shingle_scratch_size(unit, width, n)


cdef nd_shingled shingle(
    const nd_shingling *how, const uint8_t *text, size_t n, nd_sink take, void *to, uint64_t *scratch
) noexcept nogil:
    """Export nd_shingle, without a tape, to other packages."""
    cdef size_t taped
    return nd_shingle(how, text, n, take, to, scratch, NULL, &taped)


cdef uint64_t built_struct_sizes() noexcept nogil:
    """Export struct_sizes of this extension, for import_ndcore in other packages."""
    return struct_sizes()


cdef class Shingler:
    """The tables of a shingling. The caller checks arguments and documents (str or bytes).

    form: None, or what a Batch is told of the normal form. stop_words: canonical bytes, each after its length, and all
    different.
    """
    cdef nd_shingling how
    cdef bytes stop_words
    cdef tuple form
    cdef bint labelled, refuse_short

    def __cinit__(
        self, unit: str, width: int, short_whole: bool, labelled: bool, polynomial: int, token_polynomial: int,
        form: tuple | None, stop_words: bytes = b"", refuse_short: bool = False,
    ):
        shingling_init(
            &self.how, UNITS[unit], width, short_whole, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF),
            <uint64_t> (token_polynomial & 0xFFFFFFFFFFFFFFFF))
        self.labelled, self.refuse_short = labelled, refuse_short
        self.form = form
        self._set_stop_words(stop_words)

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
        return Batch.__new__(Batch, documents, self.form)

    def fingerprints(self, Batch batch not None, first=0):
        """Compute the fingerprints of documents, numbered from `first`: (values uint64, offsets int64, invalid bytes)."""
        values = _empty(self._room(batch), _UINT64)
        cdef Prints prints = Prints.__new__(Prints, batch.count, values)
        cdef size_t invalid = self._collect(batch, prints, first)
        values.resize(prints.all.n, refcheck=False)  # frees what is not used; long texts are not copied
        offsets = _empty(batch.count + 1, _INT64)
        memcpy(_arrays.data_of(offsets), prints.offsets, (batch.count + 1) * sizeof(int64_t))
        return values, offsets, invalid

    def overlap(self, Batch batch not None):
        """Count distinct fingerprints of two documents: in both, in the first, in the second."""
        if batch.count != 2:
            raise ValueError(f"two documents are compared, got {batch.count}")
        cdef size_t room = self._room(batch)
        values = _empty(2 * room, _UINT64)
        cdef Prints prints = Prints.__new__(Prints, batch.count, values)
        cdef int64_t ends[3]
        self._collect(batch, prints, 0)
        with nogil:
            ends[0] = 0
            _sets.sets_distinct(prints.all.values, prints.offsets, 2, prints.all.values + room, ends)
            common = _sets.sets_common(
                prints.all.values, <size_t> ends[1], prints.all.values + ends[1], <size_t> (ends[2] - ends[1]))
        return common, ends[1], ends[2] - ends[1]

    cdef size_t _room(self, Batch batch) noexcept:
        """Bound the shingles of all documents."""
        cdef size_t i, room = 0
        for i in range(batch.count):
            room += self._most(batch, batch.sizes[i])
        return room

    cdef size_t _collect(self, Batch batch, Prints prints, first) except? 0:
        """Collect the fingerprints of all documents; returns the number of invalid bytes."""
        cdef size_t i, invalid = 0
        cdef Work work = Work.__new__(Work, self, batch)
        with nogil:
            for i in range(batch.count):
                work.one(i, nd_collect, &prints.all)
                prints.offsets[i + 1] = <int64_t> prints.all.n
                invalid += work.done.invalid
        work.refuse(first)
        return invalid

    def sketch(self, Batch batch not None, Sink sink not None, bint digested=False, first=0):
        """Give every document's shingles to a sink; return the sink.

        digested: its `digests` are those of the canonical bytes, uint8 (n, 16): each token's length as u64 big-endian, then
        the token. `first` is the position of the first document, for messages.
        """
        cdef size_t i, invalid = 0
        cdef Work work = Work.__new__(Work, self, batch)
        if sink.n != batch.count:
            raise ValueError(f"the sink is for {sink.n} documents, got {batch.count}")
        sink.digests = work.begin_digests(batch.count) if digested else None
        sink.prepare(self._most(batch, batch.longest), self._room(batch))
        with nogil:
            for i in range(batch.count):
                sink.start(i)
                work.one(i, sink.take, sink.to)
                sink.finish(i)
                sink.has_shingles[i] = work.done.shingles > 0
                invalid += work.done.invalid
                if digested:
                    work.digest(i)
            work.digest_kept()
        sink.invalid_bytes = <Py_ssize_t> invalid
        sink.complete()
        work.refuse(first)
        return sink

    def symbols(self, Batch batch not None, Sink sink not None):
        """Give the symbols of every document's tokens to a sink; return it. Its documents are valid if they have any."""
        cdef size_t i
        cdef Work work = Work.__new__(Work, self, batch)
        cdef nd_shingle_reading reading
        if sink.n != batch.count:
            raise ValueError(f"the sink is for {sink.n} documents, got {batch.count}")
        sink.prepare(self._most(batch, batch.longest), self._room(batch))
        with nogil:
            for i in range(batch.count):
                sink.start(i)
                nd_shingle_open(&reading, &self.how, batch.texts[i], batch.sizes[i], work.scratch, work.tape)
                while nd_shingle_next_symbols(&reading, sink.take, sink.to):
                    work.look()
                sink.finish(i)
                sink.has_shingles[i] = reading.done.tokens > 0
        sink.complete()
        return sink

    def tokens(self, Batch batch not None, bint decode):
        """List the canonical tokens of the first document, as str or as bytes."""
        cdef Work work = Work.__new__(Work, self, batch)
        cdef const uint8_t *at
        cdef size_t size, end = 0
        cdef list found = []
        work.begin_tape()
        with nogil:
            work.one(0, ignore, NULL)
        at = work.canonical(0, &end)
        while end:
            size = <size_t> nd_load_be64(at)
            at += 8
            found.append(PyUnicode_DecodeUTF8(<const char *> at, <Py_ssize_t> size, NULL) if decode
                         else PyBytes_FromStringAndSize(<const char *> at, <Py_ssize_t> size))
            at += size
            end -= 8 + size
        return found

    def canonical(self, Batch batch not None, hashing, positions=None):
        """Call hashing(memoryview of the canonical bytes) of documents at these positions, or of all; list of results."""
        cdef Py_ssize_t k
        cdef int64_t[::1] which = self._which(batch, positions)
        cdef Work work = Work.__new__(Work, self, batch)
        results = []
        work.begin_tape()
        with nogil:
            for k in range(which.shape[0]):
                work.one(<size_t> which[k], ignore, NULL)
                if not work.keep(<size_t> which[k]):
                    with gil:
                        work.hash(<size_t> which[k], hashing, results)
        work.hash_kept(hashing, results)
        return results

    def digests(self, Batch batch not None, positions=None):
        """Digest the canonical bytes of documents at these positions, or of all: BLAKE2b-128; uint8 (n, 16)."""
        cdef Py_ssize_t k
        cdef int64_t[::1] which = self._which(batch, positions)
        cdef Work work = Work.__new__(Work, self, batch)
        out = work.begin_digests(which.shape[0])
        with nogil:
            for k in range(which.shape[0]):
                work.one(<size_t> which[k], ignore, NULL)
                work.digest(<size_t> which[k])
            work.digest_kept()
        return out

    cdef _which(self, Batch batch, positions):
        """Return positions in a batch as int64 (n,); None: all."""
        cdef Py_ssize_t k
        cdef int64_t[::1] which = np.arange(batch.count) if positions is None else np.array(positions, np.int64)
        for k in range(which.shape[0]):
            if not 0 <= which[k] < <int64_t> batch.count:
                raise IndexError(f"document {which[k]} of {batch.count}")
        return np.asarray(which)


cdef object view_of(const uint8_t *data, size_t n):
    """Return n bytes as something to hash."""
    return PyMemoryView_FromMemory(<char *> data, <Py_ssize_t> n, PyBUF_READ) if n else b""


cdef class Prints:
    """Fingerprints of n documents, end to end in an array; document i has values[offsets[i] : offsets[i + 1]]."""
    cdef nd_collected all
    cdef int64_t *offsets

    def __cinit__(self, size_t n, values):
        self.all.values = <uint64_t *> _arrays.data_of(values)
        self.offsets = <int64_t *> allocate((n + 1) * sizeof(int64_t))
        self.offsets[0] = 0

    def __dealloc__(self):
        free(self.offsets)


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
    cdef uint8_t *rows  # where the digests of the documents that are kept go
    cdef size_t short_at, short_tokens  # the first document that is too short, and its tokens; 0: none

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

    cdef begin_digests(self, size_t n):
        """Digest the canonical bytes of n documents from now on; return the digests, uint8 (n, 16), not yet written."""
        cdef uint8_t[:, ::1] digests = np.empty((n, ND_DIGEST_BYTES), np.uint8)
        self.begin_tape()
        self.rows = &digests[0, 0] if n else NULL
        return np.asarray(digests)

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

    cdef int digest_kept(self) except -1 nogil:
        """Digest the documents that were kept."""
        cdef const uint8_t *texts[WAITING]
        cdef size_t sizes[WAITING]
        cdef size_t k, begin = 0
        for k in range(self.waiting):
            texts[k], sizes[k] = self.kept + begin, self.ends[k] - begin
            begin = self.ends[k]
        digest_many(texts, sizes, self.waiting, self.rows)
        self.rows += ND_DIGEST_BYTES * self.waiting
        self.waiting = 0
        return 0

    cdef int digest(self, size_t i) except -1 nogil:
        """Keep document i, which `one` read last, to be digested with others, or digest it if it is too long."""
        cdef size_t n = 0
        cdef const uint8_t *canonical
        if self.keep(i):
            return 0
        self.digest_kept()
        if self.keep(i):
            return 0
        canonical = self.canonical(i, &n)
        with gil:
            digest_alone(canonical, n, self.rows)
        self.rows += ND_DIGEST_BYTES
        return 0

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
        if self.done.tokens < self.shingler.how.width and self.done.tokens and not self.short_tokens:
            self.short_at, self.short_tokens = i, self.done.tokens
        return 0

    cdef int refuse(self, first) except -1:
        """Raise ValueError for the first document that is too short, where the shingling refuses such documents."""
        if self.short_tokens and self.shingler.refuse_short:
            raise ValueError(f"document {first + self.short_at} has {self.short_tokens} tokens, fewer than a shingle of "
                             f"{self.shingler.how.width}; short='whole' or 'skip' accepts it")
        return 0

    cdef int look(self) except -1 nogil:
        """Check for signals after every fourth block; a short document is a block."""
        self.blocks += 1
        if self.blocks % 4 == 0:
            check_signals()
        return 0
