# cython: embedsignature=True
"""HTML read by its tags alone, in one pass and without a tree: the work that a parser may have, the text between tags."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from ndcore._signals cimport check_signals


cdef extern from "markup.h" nogil:
    ctypedef struct nd_markup_element:
        pass
    ctypedef struct nd_markup_work:
        const uint8_t *page
        size_t size
        int64_t most
        nd_markup_element *stack
        size_t room
        size_t depth
        int64_t work
    ctypedef struct nd_markup_text:
        const uint8_t *page
        size_t size
        uint8_t *out
        size_t written
        size_t title
        size_t title_end
    int nd_markup_count(nd_markup_work *w)
    int nd_markup_read(nd_markup_text *t)

cdef enum:
    ELEMENTS = 64  # open elements that fit before the array grows


cdef int grow(nd_markup_work *w) except -1 nogil:
    """Make room for as many more open elements as there are."""
    cdef size_t room = max(2 * w.room, <size_t> ELEMENTS)
    cdef void *grown = realloc(w.stack, room * sizeof(nd_markup_element))
    if grown == NULL:
        raise MemoryError(f"{room} open elements of a page")
    w.stack, w.room = <nd_markup_element *> grown, room
    return 0


def parsing_work(const uint8_t[::1] page, int64_t most):
    """Count the work of a parser of HTML on a page that grows faster than the page. O(n).

    The unit is a step from an element to its parent, beyond the first 64. Elements that are opened again count 40 each,
    the attributes of a tag their square / 16, and the options of a list their square / 8, beyond 256 of either.

    Parameters
    ----------
    page : bytes
        HTML in UTF-8.
    most : int
        Counting ends when the work exceeds it.

    Returns
    -------
    int
        No less than the work, up to a small factor.
    """
    cdef nd_markup_work w
    memset(&w, 0, sizeof(w))
    w.size, w.most = <size_t> page.shape[0], most
    if w.size == 0:
        return 0
    w.page = &page[0]
    try:
        with nogil:
            while nd_markup_count(&w):
                if w.depth == w.room:
                    grow(&w)
                check_signals()
        return w.work
    finally:
        free(w.stack)


def text_between_tags(const uint8_t[::1] page):
    """Return the text of a page without its tags, comments, scripts and styles, and the text of its first title. O(n).

    A line feed stands for each tag that ends a word. Character references are kept as they are.

    Parameters
    ----------
    page : bytes
        HTML in UTF-8.

    Returns
    -------
    text, title : bytes
    """
    cdef nd_markup_text t
    memset(&t, 0, sizeof(t))
    t.size = <size_t> page.shape[0]
    if t.size == 0:
        return b"", b""
    t.page, t.out = &page[0], <uint8_t *> malloc(t.size)
    if t.out == NULL:
        raise MemoryError(f"{t.size} bytes for the text of a page")
    try:
        with nogil:
            while nd_markup_read(&t):
                check_signals()
        return (PyBytes_FromStringAndSize(<const char *> t.out, <Py_ssize_t> t.written),
                PyBytes_FromStringAndSize(<const char *> t.page + t.title, <Py_ssize_t> (t.title_end - t.title)))
    finally:
        free(t.out)
