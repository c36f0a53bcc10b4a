/* Text → tokens → symbols → shingles → a sink, in blocks that stay in the first-level cache. */
#ifndef ND_PIPELINE_H
#define ND_PIPELINE_H

#include "rabin.h"
#include "stops.h"
#include "text.h"

/* The kernels of the pipeline, as pointers, so that the variant chosen where they are linked is the one that runs here. */
typedef struct {
    void (*open)(nd_text *, nd_unit, const nd_text_table *, const uint8_t *, size_t, uint8_t *);
    size_t (*symbols)(nd_text *, uint64_t *, size_t);
    void (*windows)(const nd_rabin *, const nd_rabin_symbol_window *, size_t, const uint64_t *, size_t, uint64_t *);
    void (*sliding)(const nd_rabin *, const nd_rabin_byte_window *, size_t, const uint8_t *, size_t, uint64_t *);
    uint64_t (*bytes)(const nd_rabin *, uint64_t, const uint8_t *, size_t);
    uint64_t (*words)(const nd_rabin *, const uint64_t *, size_t);
} nd_kernels;

/* How a document becomes shingles. Bytes use byte_window, all other units symbol_window. */
typedef struct {
    nd_kernels run;
    nd_unit unit;
    size_t width;
    nd_text_table token_table;
    nd_stops stops;             /* if there are any, nd_shingle needs a tape */
    int short_whole;            /* 0 < tokens < width: 1: one shingle of them all; 0: none */
    nd_rabin rabin;             /* degree 64 */
    nd_rabin_symbol_window symbol_window;
    nd_rabin_byte_window byte_window;
    uint64_t lead;              /* for bytes: the state after 0x01 and width zero bytes, which a short document follows */
} nd_shingling;

/* A document that is being read. */
typedef struct {
    const nd_shingling *how;
    const uint8_t *text;
    size_t n, block, room;       /* bytes; windows and symbols of a block */
    size_t waiting;              /* symbols that no window has begun with */
    size_t ready, handed;        /* fingerprints, and how many of them were handed on */
    uint64_t *symbols, *fingerprints;
    uint8_t *tape;
    nd_text tokens;
    nd_shingled done;
} nd_shingle_reading;

/* Upper bound of the tokens, and so of the shingles, of a document of n bytes: a byte lies between two words, and a token of
 * ND_TOKENS follows its length of 8 bytes. A document of one token is a shingle too. */
size_t nd_shingle_most(nd_unit unit, size_t n);

/* Words of scratch that a reading of at most n bytes needs: below 34 · width + 2048. */
size_t nd_shingle_scratch_size(nd_unit unit, size_t width, size_t n);

/* Begins to read a document. tape: NULL, or room for the canonical bytes (text.h). All of them stay while it is read. */
void nd_shingle_open(nd_shingle_reading *r, const nd_shingling *s, const uint8_t *text, size_t n, uint64_t *scratch,
                     uint8_t *tape);
/* Hands the fingerprints of the next shingles, in order and with repeats, to take(to, …), at most 1024 of them. Returns 0
 * at the end of the document, when r->done is complete. O(1) a token, for every width. */
int nd_shingle_next(nd_shingle_reading *r, nd_sink *take, void *to);
/* Hands on the symbols of the next tokens instead, without stop words, at most 1024 of them. Returns 0 at the end of the
 * document, when r->done has its tokens and invalid bytes. A reading hands on the one or the other. */
int nd_shingle_next_symbols(nd_shingle_reading *r, nd_sink *take, void *to);
/* Number of bytes on the tape. */
size_t nd_shingle_taped(const nd_shingle_reading *r);

/* Shingles a whole document. */
nd_shingled nd_shingle(const nd_shingling *s, const uint8_t *text, size_t n, nd_sink *take, void *to,
                       uint64_t *scratch, uint8_t *tape, size_t *taped);

/* A sink that appends all fingerprints to an array: begin with n = 0. */
typedef struct { uint64_t *values; size_t n; } nd_collected;
void nd_collect(void *to, const uint64_t *fingerprints, size_t n);

/* Labels repeats (option A of Broder 1997, section 2): occurrence 1 of a fingerprint stays f, occurrence k > 1 becomes
 * fmix64(f + k·0x9E3779B97F4A7C15). slots: nd_table_room(n), not initialised. Expected O(n). */
typedef struct { uint64_t value, count; } nd_label_slot;
void nd_label(uint64_t *f, size_t n, const nd_table_key *key, nd_label_slot *slots);

#endif
