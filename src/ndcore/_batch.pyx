# cython: embedsignature=True, overflowcheck=True
"""Documents as bytes that the core can read without the GIL."""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

from ndcore cimport _cpu
from ndcore._arrow cimport ArrowTexts
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport STRIDE, check_signals, stride


cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030C0000
    #define ND_READY(text) PyUnicode_READY(text)
    #else
    #define ND_READY(text) 0 /* every str is */
    #endif
    #ifdef Py_GIL_DISABLED  /* another thread may take an item out of the list at any time */
    #define ND_LOOK_AT(items, i) PyList_GetItemRef(items, i)
    #define ND_LEAVE(item) Py_DECREF(item)
    #else                   /* borrowed: counting references would write to the memory of every document */
    #define ND_LOOK_AT(items, i) (PyList_GET_ITEM(items, i))
    #define ND_LEAVE(item) ((void)(item))
    #endif
    """
    int ND_READY(object text) except -1
    PyObject *ND_LOOK_AT(list items, Py_ssize_t i) except NULL
    void ND_LEAVE(PyObject *item)


cdef extern from "Python.h":
    Py_ssize_t PyList_GET_SIZE(list items)
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)


cdef extern from "utf8.h" nogil:
    size_t nd_utf8_size(unsigned unit, const void *points, size_t n)
    size_t nd_utf8(unsigned unit, const void *points, size_t n, uint8_t *out)
    bint nd_utf8_is_ascii(const uint8_t *text, size_t n)


cdef extern from "equal.h" nogil:
    size_t nd_equal_room(size_t n)
    size_t nd_equal_firsts(
        const uint8_t *const *texts, const size_t *sizes, size_t first, size_t last, uint64_t *slots, size_t room,
        int64_t *firsts)


cdef extern from "digest.h" nogil:
    void nd_digest_many(const uint8_t *const *texts, const size_t *sizes, size_t n, uint8_t *out)
    const nd_choice nd_digest_choice


cdef enum:
    EVERY = 512  # documents between two looks at signals
    TOGETHER = 262144  # bytes of documents that are digested together, at most

kernel = _cpu.kernel_of(&nd_digest_choice)


cdef void *allocate(size_t size) except NULL:
    """Allocate memory; MemoryError if there is none."""
    cdef void *memory = malloc(size if size else 1)
    if memory == NULL:
        raise MemoryError(f"{size} bytes for a document")
    return memory


cdef void digest_many(const uint8_t *const *texts, const size_t *sizes, size_t n, uint8_t *out) noexcept nogil:
    """Export nd_digest_many to other extensions."""
    nd_digest_many(texts, sizes, n, out)


cdef int digest_alone(const uint8_t *text, size_t size, uint8_t *out) except -1:
    """Digest a long text. `hashlib` does it faster than `digest_many`, and without the GIL."""
    from hashlib import blake2b

    cdef bytes digest = blake2b(
        PyMemoryView_FromMemory(<char *> text, <Py_ssize_t> size, PyBUF_READ), digest_size=ND_DIGEST_BYTES).digest()
    memcpy(out, PyBytes_AS_STRING(digest), ND_DIGEST_BYTES)
    return 0


cdef class Batch:
    """Documents as bytes that stay in place while this object lives. A str is encoded as UTF-8 with surrogatepass.

    bytes, ASCII str and Arrow texts are read in place. Other str, and all documents with a `form`, are copied to buffers of
    this object, so that nothing is cached in the caller's objects.

    form: None, or what `normalize` of `_text` is told of each document.
    """
    def __cinit__(self, documents, tuple form=None):
        cdef size_t i
        if isinstance(documents, ArrowTexts):
            self._borrow(documents)
        else:
            self._refer(list(documents))
        if form is not None:
            self._normalize(form[0], form[1])
        for i in range(self.count):
            self.longest = max(self.longest, self.sizes[i])
            self.total += self.sizes[i]

    cdef _borrow(self, documents):
        """Refer to texts in Arrow buffers."""
        cdef ArrowTexts column = documents
        self.alive, self.count, self.borrowed = documents, <size_t> column.n, True
        self.texts, self.sizes = column.starts, column.sizes

    cdef _own(self):
        """Allocate the arrays of texts and sizes."""
        if self.count <= 1:
            self.texts, self.sizes = &self.one_text, &self.one_size
            return
        self.texts = self.own_texts = <const uint8_t **> allocate(self.count * sizeof(uint8_t *))
        self.sizes = self.own_sizes = <size_t *> allocate(self.count * sizeof(size_t))

    cdef _refer(self, list documents):
        """Refer to bytes and ASCII str, and encode other str."""
        cdef size_t i
        cdef uint8_t unit
        cdef uint8_t *units = &unit
        cdef bint encode = False
        self.alive, self.count, self.borrowed = documents, <size_t> len(documents), False
        self._own()
        if self.count > 1:
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
            if units != &unit:
                free(units)

    cdef _encode(self, const uint8_t *units):
        """Encode the documents whose units are not 0, but 1, 2 or 4 bytes, as UTF-8."""
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

    cdef _normalize(self, bint remove, bint scan):
        """Replace all documents by their normal forms. ASCII stays in place: it is normal, except for case and scan."""
        from ndcore._text import normalize  # `_text` itself starts this extension, through ndcore/__init__.pxd

        cdef size_t i
        forms = [None if not scan and self._is_ascii(i) else
                 normalize(PyBytes_FromStringAndSize(<const char *> self.texts[i], <Py_ssize_t> self.sizes[i]), remove, scan)
                 for i in range(self.count)]
        if self.borrowed:
            self._own_copies()
        for i, form in enumerate(forms):
            if form is not None:
                self.texts[i] = <const uint8_t *> PyBytes_AS_STRING(form)
                self.sizes[i] = <size_t> PyBytes_GET_SIZE(form)
        free(self.utf8)
        self.utf8, self.alive = NULL, (self.alive, forms)

    cdef _own_copies(self):
        """Copy the arrays of texts and sizes of a column."""
        cdef const uint8_t **texts = self.texts
        cdef size_t *sizes = self.sizes
        self._own()
        memcpy(self.texts, texts, self.count * sizeof(uint8_t *))
        memcpy(self.sizes, sizes, self.count * sizeof(size_t))

    cdef bint _is_ascii(self, size_t i) except -1:
        """Tell whether a document is ASCII."""
        cdef size_t done = 0, here
        with nogil:
            while done < self.sizes[i]:
                here = stride(done, self.sizes[i], STRIDE)
                if not nd_utf8_is_ascii(self.texts[i] + done, here):
                    return False
                done += here
                if here == STRIDE:
                    check_signals()
        return True

    def hashed(self, hashing, positions=None):
        """Call hashing(memoryview of the bytes) for the documents at these positions, or for all; list of the results."""
        cdef Py_ssize_t i
        results = []
        for i in range(self.count) if positions is None else positions:
            if not 0 <= i < <Py_ssize_t> self.count:
                raise IndexError(f"document {i} of {self.count}")
            results.append(hashing(
                PyMemoryView_FromMemory(<char *> self.texts[i], <Py_ssize_t> self.sizes[i], PyBUF_READ)
                if self.sizes[i] else b""))
        return results

    def digests(self, positions=None):
        """Digest the bytes of the documents at these positions, or of all: BLAKE2b-128; uint8 (n, 16)."""
        cdef const uint8_t *texts[EVERY]
        cdef size_t sizes[EVERY]
        cdef int64_t[::1] which = np.arange(self.count) if positions is None else np.array(positions, np.int64)
        cdef uint8_t[:, ::1] out = np.empty((which.shape[0], ND_DIGEST_BYTES), np.uint8)
        cdef Py_ssize_t i, k = 0
        cdef size_t taken, size
        for i in range(which.shape[0]):
            if not 0 <= which[i] < <int64_t> self.count:
                raise IndexError(f"document {which[i]} of {self.count}")
        with nogil:
            while k < which.shape[0]:
                check_signals()
                taken = size = 0
                for i in range(k, min(k + EVERY, which.shape[0])):
                    if self.sizes[which[i]] > TOGETHER - size:
                        break
                    texts[taken], sizes[taken] = self.texts[which[i]], self.sizes[which[i]]
                    size += sizes[taken]
                    taken += 1
                if taken:
                    nd_digest_many(texts, sizes, taken, &out[k, 0])
                else:
                    with gil:
                        digest_alone(self.texts[which[k]], self.sizes[which[k]], &out[k, 0])
                k += max(<Py_ssize_t> taken, 1)
        return np.asarray(out)

    def lengths(self):
        """Return the number of bytes of every document; int64 (n,)."""
        cdef size_t i
        cdef int64_t[::1] out = np.empty(self.count, np.int64)
        for i in range(self.count):
            out[i] = <int64_t> self.sizes[i]
        return np.asarray(out)

    def firsts(self):
        """Find for each document the first one with its bytes, which may be itself; int64 (n,), None if none was found.

        Some may be missed, see equal.h.
        """
        cdef size_t at = 0, here, repeats = 0, room = nd_equal_room(self.count)
        if self.count < 2:
            return None
        cdef uint64_t[::1] slots = np.zeros(room, np.uint64)
        cdef int64_t[::1] out = np.empty(self.count, np.int64)
        with nogil:
            while at < self.count:
                check_signals()
                here = stride(at, self.count, EVERY)
                repeats += nd_equal_firsts(self.texts, self.sizes, at, at + here, &slots[0], room, &out[0])
                at += here
        return np.asarray(out) if repeats else None

    def __dealloc__(self):
        free(self.own_texts)
        free(self.own_sizes)
        free(self.utf8)


def text_lengths(list documents not None):
    """Count the bytes, or the code points of a str, of every document; int64 (n,), −1 for other objects."""
    cdef Py_ssize_t i
    cdef PyObject *document
    cdef int64_t[::1] out = np.empty(len(documents), np.int64)
    for i in range(out.shape[0]):
        if i % STRIDE == 0:
            check_signals()
        if i >= PyList_GET_SIZE(documents):
            raise IndexError("the list of texts became shorter while it was read")
        document = ND_LOOK_AT(documents, i)
        try:
            if PyUnicode_Check(<object> document):
                ND_READY(<object> document)
                out[i] = PyUnicode_GET_LENGTH(<object> document)
            else:
                out[i] = PyBytes_GET_SIZE(<object> document) if PyBytes_Check(<object> document) else -1
        finally:
            ND_LEAVE(document)
    return np.asarray(out)


def first_other(list documents not None):
    """Find the first document that is neither str nor bytes; −1 if there is none."""
    cdef Py_ssize_t i
    for i in range(len(documents)):
        if i % STRIDE == 0:
            check_signals()
        if not isinstance(documents[i], (str, bytes)):
            return i
    return -1
