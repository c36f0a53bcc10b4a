/* Reads the ASCII words at *at span by span, until other text comes, fewer than SPAN_READS bytes are left, or a span's
 * words may not fit. Returns their number; *at moves to where they end, or to a word that goes on there. Included once
 * per variant with
 *
 *     ND_NAME, ND_ATTR                      the function's name and attributes
 *     ND_LETTERS(p, letters, others)        letters ← mask of the letters and digits of the span p; others ← not 0 where a
 *                                           byte is not ASCII. */
static ND_ATTR size_t ND_NAME(nd_text *t, const uint8_t **at, uint64_t *out, size_t cap, int with_tape)
{
    const uint8_t *p = *at;
    size_t n = 0;
    while (t->end - p >= SPAN_READS && cap - n >= SPAN_WORDS) {
        uint64_t letters = 0, others = 0;
        ND_LETTERS(p, letters, others);
        uint64_t edges = letters ^ letters << 1;
        unsigned span = SPAN;
        if (ND_UNLIKELY(others)) {
            span = ascii_before(p);
            edges &= (UINT64_C(1) << span) - 1;    /* a word that ends at other text may go on in it */
        }
        const uint8_t *next = p + span;
        while (edges) {
            const unsigned begin = nd_lowest_bit(edges);
            edges &= edges - 1;
            if (ND_UNLIKELY(!edges)) {
                next = p + begin;
                break;
            }
            const size_t length = nd_lowest_bit(edges) - begin;
            edges &= edges - 1;
            const uint8_t *word = p + begin;
            const uint64_t head = nd_load_be64(word) | ND_EACH(0x20);
            uint8_t *const tape = with_tape ? t->tape + 8 : NULL;
            if (with_tape) {
                nd_store_be64(t->tape, length);
                nd_store_be64(tape, head);     /* the next word overwrites bytes beyond this one */
                t->tape += 8 + length;
            }
            out[n++] = ND_LIKELY(length <= 8) ? head >> (64 - 8 * length) : long_word(t->table, word, length, head, tape);
        }
        const size_t moved = (size_t)(next - p);
        p = next;
        if (moved < SPAN_MIN || span < SPAN)
            break;
    }
    *at = p;
    return n;
}
#undef ND_NAME
#undef ND_ATTR
#undef ND_LETTERS
