/* Sentences (Unicode Standard Annex #29 for Unicode 17.0, section 5.1). The naive test looks back from every code point over
 * spaces, quotation marks and terminators, and forward for a small letter:
 *
 *     for each code point: try the rules SB3 to SB11 on the code points before it and behind it, as far as a rule says
 *
 * Here the text before a place is the state of a finite automaton: a code point is two look-ups, its kind and the next
 * state. Only SB8 looks forward, once after a full stop and what follows it, and no farther than to the next full stop or
 * letter; so the places that it looks at are apart, and the text is read at most twice. ASCII without terminators and line
 * ends, which is most of it, is passed eight bytes at a time. */
#include "sentence.h"
#include "sentence_tables.h"
#include "utf8.h"

/* States: the end of the sentence that is being read, as far as the rules depend on it. */
enum {
    ENDS,          /* no state: the code point begins a sentence */
    LOOKS,         /* no state: SB8 looks forward */
    PLAIN,         /* nothing of the following */
    LETTER,        /* Upper or Lower */
    STOP,          /* ATerm */
    LETTER_STOP,   /* ATerm after Upper or Lower */
    STOP_CLOSE,    /* ATerm Close+ */
    STOP_SPACE,    /* ATerm Close* Sp+ */
    FINAL,         /* STerm Close* */
    FINAL_SPACE,   /* STerm Close* Sp+ */
    RETURN,        /* CR */
    DONE,          /* LF, Sep */
    STATES
};

#define KIND(name) [ND_SB_##name]

/* SB4, and what may follow any terminator (SB8a, SB9, SB10). */
#define LINE_ENDS KIND(SEP) = DONE, KIND(LF) = DONE, KIND(CR) = RETURN
#define GOES_ON LINE_ENDS, KIND(SCONTINUE) = PLAIN, KIND(ATERM) = STOP, KIND(STERM) = FINAL

/* SB998: what parts no sentence by itself. */
#define ORDINARY                                                                                                             \
    LINE_ENDS, KIND(OTHER) = PLAIN, KIND(SP) = PLAIN, KIND(LOWER) = LETTER, KIND(UPPER) = LETTER, KIND(OLETTER) = PLAIN,     \
    KIND(NUMERIC) = PLAIN, KIND(SCONTINUE) = PLAIN, KIND(STERM) = FINAL, KIND(CLOSE) = PLAIN

/* After a full stop: SB8, SB8a, SB9, SB10. */
#define AFTER_STOP GOES_ON, KIND(SP) = STOP_SPACE, KIND(LOWER) = LETTER, KIND(OTHER) = LOOKS

/* NEXT[state][kind]. Kinds that are not listed give ENDS (SB4, SB11). */
static const uint8_t NEXT[STATES][ND_SB_KINDS] = {
    [PLAIN] = {ORDINARY, KIND(ATERM) = STOP, KIND(EXTEND) = PLAIN},
    [LETTER] = {ORDINARY, KIND(ATERM) = LETTER_STOP, KIND(EXTEND) = LETTER},                                   /* SB5 */
    [STOP] = {AFTER_STOP, KIND(EXTEND) = STOP, KIND(CLOSE) = STOP_CLOSE, KIND(NUMERIC) = PLAIN},               /* SB6 */
    [LETTER_STOP] = {AFTER_STOP, KIND(EXTEND) = LETTER_STOP, KIND(CLOSE) = STOP_CLOSE, KIND(NUMERIC) = PLAIN,
                     KIND(UPPER) = LETTER},                                                                    /* SB7 */
    [STOP_CLOSE] = {AFTER_STOP, KIND(EXTEND) = STOP_CLOSE, KIND(CLOSE) = STOP_CLOSE, KIND(NUMERIC) = LOOKS},
    [STOP_SPACE] = {AFTER_STOP, KIND(EXTEND) = STOP_SPACE, KIND(CLOSE) = LOOKS, KIND(NUMERIC) = LOOKS},
    [FINAL] = {GOES_ON, KIND(EXTEND) = FINAL, KIND(CLOSE) = FINAL, KIND(SP) = FINAL_SPACE},
    [FINAL_SPACE] = {GOES_ON, KIND(EXTEND) = FINAL_SPACE, KIND(SP) = FINAL_SPACE},
    [RETURN] = {KIND(LF) = DONE},                                                                              /* SB3 */
};

static inline int is_white(unsigned kind) { return kind >= ND_SB_SP && kind <= ND_SB_LF; }

/* The kind of the code point at p, p < end; *taken is its number of bytes, 1 if they are not well-formed. */
static inline unsigned kind_at(const uint8_t *p, const uint8_t *end, unsigned *taken)
{
    uint32_t c;
    *taken = nd_utf8_decode(p, end, &c);
    if (*taken)
        return ND_SB_STAGE2[ND_SB_STAGE1[c >> 8]][c & 255];
    *taken = 1;
    return ND_SB_OTHER;
}

/* SB8: whether the next of letters, terminators and line ends from p on is a small letter. */
static int lower_follows(const uint8_t *p, const uint8_t *end)
{
    enum { PASSED = 1u << ND_SB_OTHER | 1u << ND_SB_EXTEND | 1u << ND_SB_SP | 1u << ND_SB_NUMERIC | 1u << ND_SB_SCONTINUE
                    | 1u << ND_SB_CLOSE };
    for (unsigned taken; p < end; p += taken) {
        const unsigned kind = kind_at(p, end, &taken);
        if (!(PASSED >> kind & 1))
            return kind == ND_SB_LOWER;
    }
    return 0;
}

/* Sets top bits among 8 bytes, the lowest of them in the first that is a terminator, a line end, or not ASCII. */
static inline uint64_t others_among(uint64_t v)
{
    const uint64_t ones = ND_EACH(1);
    return (v | ((v ^ ND_EACH('.')) - ones) | ((v ^ ND_EACH('?')) - ones) | ((v ^ ND_EACH('!')) - ones)
            | ((v ^ ND_EACH('\n')) - ones) | ((v ^ ND_EACH('\r')) - ones)) & ND_EACH(0x80);
}

/* Passes bytes that leave a sentence PLAIN or LETTER, except near the end of the text. */
static inline const uint8_t *pass_plain(const uint8_t *p, const uint8_t *end)
{
    for (; end - p >= 8; p += 8) {
        const uint64_t others = others_among(nd_load_le64(p));
        if (others)
            return p + nd_lowest_bit(others) / 8;
    }
    return p;
}

/* Widens the place of a sentence by the ASCII from `first` to `last`, which is not empty, without blanks at both ends. */
static inline void take_plain(nd_text *t, const uint8_t *first, const uint8_t *last)
{
    unsigned taken;
    while (first < last && is_white(kind_at(last - 1, last, &taken)))
        last--;
    if (first == last)
        return;
    while (t->from == NULL && first < last && is_white(kind_at(first, last, &taken)))
        first++;
    if (t->from == NULL)
        t->from = first;
    t->to = last;
}

/* Reads a sentence from t->at, which is before t->end. */
static void read_sentence(nd_text *t)
{
    const uint8_t *p = t->at, *const end = t->end;
    unsigned state = PLAIN, taken;
    for (t->from = NULL; p < end; p += taken) {
        if (state == PLAIN || state == LETTER) {
            const uint8_t *const first = p;
            p = pass_plain(p, end);
            if (p > first) {
                take_plain(t, first, p);
                state = NEXT[PLAIN][kind_at(p - 1, p, &taken)];
                taken = 0;
                continue;
            }
        }
        const unsigned kind = kind_at(p, end, &taken);
        unsigned next = NEXT[state][kind];
        if (next == LOOKS)
            next = lower_follows(p, end) ? PLAIN : ENDS;
        if (next == ENDS)
            break;
        state = next;
        if (!is_white(kind)) {
            t->from = t->from ? t->from : p;
            t->to = p + taken;
        }
    }
    t->at = p;
}

int nd_sentence_next(nd_text *t)
{
    while (t->at < t->end) {
        read_sentence(t);
        if (t->from)
            return 1;
    }
    return 0;
}
