from libc.stdint cimport uint8_t, uint64_t


cdef extern from "rabin.h" nogil:
    ctypedef struct nd_rabin:
        pass
    ctypedef struct nd_rabin_byte_window:
        pass
    ctypedef struct nd_rabin_symbol_window:
        pass


cdef void rabin_init(nd_rabin *r, uint64_t low, unsigned degree) noexcept nogil
cdef void rabin_byte_window_init(nd_rabin_byte_window *w, const nd_rabin *r, size_t window) noexcept nogil
cdef void rabin_symbol_window_init(nd_rabin_symbol_window *w, const nd_rabin *r, size_t window) noexcept nogil
cdef uint64_t rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n) noexcept nogil
cdef uint64_t rabin_shift(const nd_rabin *r, uint64_t value, uint64_t n) noexcept nogil
cdef uint64_t rabin_words(const nd_rabin *r, const uint64_t *words, size_t n) noexcept nogil
cdef void rabin_sliding(
    const nd_rabin *r, const nd_rabin_byte_window *w, size_t window, const uint8_t *b, size_t n, uint64_t *out
) noexcept nogil
cdef void rabin_symbols(
    const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window, const uint64_t *s, size_t n, uint64_t *out
) noexcept nogil
