from libc.stdint cimport uint8_t, uint64_t

from ndcore._minhash cimport nd_minima32, nd_minima64
from ndcore._rabin cimport nd_rabin, nd_rabin_byte_window, nd_rabin_symbol_window
from ndcore._simhash cimport nd_simhash
from ndcore._table cimport nd_table_key
from ndcore._text cimport nd_text, nd_text_table, nd_unit


cdef extern from "nd.h" nogil:
    uint64_t nd_load_be64(const uint8_t *at)


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
    bint nd_shingle_next_symbols(nd_shingle_reading *r, nd_sink take, void *to)
    size_t nd_shingle_taped(const nd_shingle_reading *r)
    nd_shingled nd_shingle(
        const nd_shingling *s, const uint8_t *text, size_t n, nd_sink take, void *to, uint64_t *scratch, uint8_t *tape,
        size_t *taped)
    void nd_collect(void *to, const uint64_t *fingerprints, size_t n) noexcept
    ctypedef struct nd_label_slot:
        pass
    void nd_label(uint64_t *f, size_t n, const nd_table_key *key, nd_label_slot *slots)


cdef void shingling_init(
    nd_shingling *how, nd_unit unit, size_t width, bint short_whole, uint64_t low, uint64_t token_low) noexcept nogil
cdef size_t shingle_scratch_size(nd_unit unit, size_t width, size_t n) noexcept nogil
cdef nd_shingled shingle(
    const nd_shingling *how, const uint8_t *text, size_t n, nd_sink take, void *to, uint64_t *scratch) noexcept nogil

cdef inline uint64_t struct_sizes() noexcept nogil:
    """Mix the sizes of the structs that other packages share with ndcore, as the including module was compiled with."""
    cdef uint64_t mixed = sizeof(nd_shingling)
    mixed = mixed * 1000003 + sizeof(nd_rabin) + sizeof(nd_rabin_byte_window)
    mixed = mixed * 1000003 + sizeof(nd_rabin_symbol_window) + sizeof(nd_text_table)
    mixed = mixed * 1000003 + sizeof(nd_text) + sizeof(nd_shingled)
    return mixed * 1000003 + sizeof(nd_simhash) + sizeof(nd_minima32) + sizeof(nd_minima64)


cdef uint64_t built_struct_sizes() noexcept nogil
