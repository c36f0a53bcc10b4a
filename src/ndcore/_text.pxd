from libc.stdint cimport uint8_t, uint64_t


cdef extern from "text.h" nogil:
    ctypedef enum nd_unit:
        ND_WORD
        ND_CHAR
        ND_LINE
        ND_BYTE
        ND_TOKENS
        ND_GRAPHEME
        ND_PARAGRAPH
        ND_SENTENCE
        ND_LINE_WORDS
        ND_PARAGRAPH_WORDS
        ND_SENTENCE_WORDS
    ctypedef struct nd_text:
        const uint8_t *at
        uint8_t *tape
    ctypedef struct nd_text_table:
        pass
    size_t nd_text_tape_size(size_t n)


cdef void text_table_init(nd_text_table *table, uint64_t low) noexcept nogil
cdef void text_open(
    nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape) noexcept nogil
cdef size_t text_symbols(nd_text *t, uint64_t *out, size_t cap) noexcept nogil
