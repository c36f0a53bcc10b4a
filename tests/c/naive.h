/* What the kernels compute, written once more, as slowly and plainly as the definitions read. Shared by the tests and
 * the fuzz targets. Only the generated Unicode tables are common with the core. */
#ifndef ND_NAIVE_H
#define ND_NAIVE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "grapheme_tables.h"
#include "sentence_tables.h"
#include "text.h"
#include "unicode_tables.h"

#define NAIVE_P UINT64_C(0xFD845EF300CE2D0B)   /* x^64 + this: the polynomial of shingles */
#define NAIVE_Q UINT64_C(0x02FC1EFE0FCCD72D)   /* of tokens */
#define NAIVE_R UINT64_C(0x5F9968BB90FD8193)   /* of features */
#define NAIVE_S UINT64_C(0xDBEF19FC8E7B845F)   /* of super-features */

/* b(x)·x^zeros mod x^degree + low: long division, one bit at a time. */
static inline uint64_t naive_mod(uint64_t low, unsigned degree, const uint8_t *b, size_t n, size_t zeros)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < 8 * n + zeros; i++) {
        const uint64_t bit = i < 8 * n ? b[i / 8] >> (7 - i % 8) & 1 : 0;
        const uint64_t carry = rest >> (degree - 1) & 1;
        rest = rest << 1 | bit;
        if (degree < 64)
            rest &= (UINT64_C(1) << degree) - 1;
        if (carry)
            rest ^= low;
    }
    return rest;
}

static inline void naive_put64(uint8_t *at, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(v >> (56 - 8 * i));
}

/* Rabin fingerprint, degree 64, of n u64 in big-endian order. */
static inline uint64_t naive_words(uint64_t low, const uint64_t *words, size_t n)
{
    uint8_t *b = malloc(8 * n + 1);
    for (size_t i = 0; i < n; i++)
        naive_put64(b + 8 * i, words[i]);
    const uint64_t value = naive_mod(low, 64, b, 8 * n, 64);
    free(b);
    return value;
}

/* What nd_text_table_init makes. */
static inline const nd_text_table *naive_table(uint64_t low, nd_text_table *table)
{
    for (int j = 0; j < 8; j++)
        for (int v = 0; v < 256; v++)
            table->of[j][v] = naive_mod(low, 64, &(uint8_t){(uint8_t)v}, 1, 64 + 8 * (size_t)j);
    return table;
}

static inline const nd_text_table *naive_tokens(void)   /* of Q */
{
    static nd_text_table table;
    return table.of[0][1] ? &table : naive_table(NAIVE_Q, &table);
}

static inline uint64_t naive_symbol(uint64_t low, const uint8_t *token, size_t n)
{
    static const uint8_t prefix[9] = {1};
    const int ambiguous = n == 0 || token[0] == 0 || (n >= 9 && memcmp(token, prefix, 9) == 0);
    uint8_t *b = malloc(n + 9);
    const size_t before = ambiguous ? 9 : 0;
    memcpy(b, prefix, before);
    if (n)
        memcpy(b + before, token, n);
    const uint64_t value = naive_mod(low, 64, b, before + n, 0);
    free(b);
    return value;
}

/* The Unicode Standard, table 3-7, as it is printed: lead bytes, second byte, length. */
static inline size_t naive_decode(const uint8_t *p, size_t room, uint32_t *c)
{
    static const uint8_t ROWS[9][5] = {
        {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
        {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
        {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
    };
    for (int r = 0; r < 9; r++) {
        const uint8_t *row = ROWS[r];
        const size_t length = row[4];
        if (p[0] < row[0] || p[0] > row[1] || room < length)
            continue;
        if (length > 1 && (p[1] < row[2] || p[1] > row[3]))
            continue;
        *c = length == 1 ? p[0] : p[0] & (0xFFu >> (length + 1));
        for (size_t i = 1; i < length; i++) {
            if (p[i] < 0x80 || p[i] > 0xBF)
                return 0;
            *c = *c * 64 + (p[i] - 0x80u);
        }
        return length;
    }
    return 0;
}

static inline size_t naive_encode(uint32_t c, uint8_t *out)
{
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t LEAD[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c /= 64)
        out[i] = (uint8_t)(0x80 + c % 64);
    out[0] = (uint8_t)(LEAD[n] + c);
    return n;
}

/* All that is to be known about the tokens of a text. */
typedef struct {
    uint64_t *symbols;
    uint8_t *tape;           /* each token: its length as u64 big-endian, its bytes */
    size_t count, taped, invalid;
} naive_text;

static inline void naive_token(naive_text *t, const uint8_t *token, size_t n)
{
    t->symbols = realloc(t->symbols, (t->count + 1) * sizeof *t->symbols);
    t->symbols[t->count++] = naive_symbol(NAIVE_Q, token, n);
    t->tape = realloc(t->tape, t->taped + 8 + n);
    naive_put64(t->tape + t->taped, n);
    memcpy(t->tape + t->taped + 8, token, n);
    t->taped += 8 + n;
}

/* Kinds and bytes of the folded code points, ignorable ones left out; then the longest runs that a word may be. */
static inline void naive_words_of(naive_text *t, const uint8_t *text, size_t n)
{
    typedef struct { int kind; size_t length; uint8_t bytes[4]; } item;
    item *items = malloc((n + 1) * sizeof *items);
    uint8_t *word = malloc(4 * n + 1);
    size_t m = 0;
    for (size_t i = 0; i < n;) {
        uint32_t c;
        const size_t taken = naive_decode(text + i, n - i, &c);
        i += taken ? taken : 1;
        if (taken == 0) {
            t->invalid++;
            items[m++] = (item){.kind = ND_KIND_SEPARATOR};
            continue;
        }
        const nd_code_point as = ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]];
        if (as.kind == ND_KIND_IGNORABLE)
            continue;
        items[m].kind = as.kind;
        items[m].length = naive_encode((uint32_t)((int32_t)c + as.fold), items[m].bytes);
        m++;
    }
    for (size_t i = 0; i < m;) {
        const int first = items[i].kind;
        const int spaceless = first == ND_KIND_SPACELESS || first == ND_KIND_SPACELESS_TAIL;
        if (!spaceless && first != ND_KIND_WORD && first != ND_KIND_WORD_TAIL) {
            i++;
            continue;
        }
        size_t length = 0, j = i;
        do {
            memcpy(word + length, items[j].bytes, items[j].length);
            length += items[j++].length;
        } while (j < m && (items[j].kind == ND_KIND_MARK || items[j].kind == ND_KIND_WORD_TAIL
                           || items[j].kind == (spaceless ? ND_KIND_SPACELESS_TAIL : ND_KIND_WORD)));
        naive_token(t, word, length);
        i = j;
    }
    free(items);
    free(word);
}

static inline void naive_chars_of(naive_text *t, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t c;
        uint8_t bytes[4];
        const size_t taken = naive_decode(text + i, n - i, &c);
        i += taken ? taken : 1;
        t->invalid += taken == 0;
        if (taken) {
            const nd_code_point as = ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]];
            naive_token(t, bytes, naive_encode((uint32_t)((int32_t)c + as.fold), bytes));
        }
    }
}

/* UAX #29, rule by rule: does points[i] go on with the cluster of points[i - 1]? `from`: where its run begins. */
static inline int naive_joins(const uint8_t *kinds, size_t from, size_t i)
{
#define IS(j, name) (kinds[j] == ND_CLUSTER_##name)
#define IS_EXTEND(j) (IS(j, EXTEND) || IS(j, EXTEND_ALONE) || IS(j, LINKER))
    size_t j = i - 1, indicators = 0;
    if (IS(j, CR) && IS(i, LF))
        return 1;
    if (IS(j, CR) || IS(j, LF) || IS(j, CONTROL) || IS(i, CR) || IS(i, LF) || IS(i, CONTROL))
        return 0;
    if (IS(j, L) && (IS(i, L) || IS(i, V) || IS(i, LV) || IS(i, LVT)))
        return 1;
    if ((IS(j, LV) || IS(j, V)) && (IS(i, V) || IS(i, T)))
        return 1;
    if ((IS(j, LVT) || IS(j, T)) && IS(i, T))
        return 1;
    if (IS_EXTEND(i) || IS(i, ZWJ) || IS(i, SPACING_MARK) || IS(j, PREPEND))
        return 1;
    if (IS(i, CONSONANT)) {
        int linked = 0;
        for (; j > from && (IS(j, EXTEND) || IS(j, ZWJ) || IS(j, LINKER)); j--)
            linked |= IS(j, LINKER);
        return linked && IS(j, CONSONANT);
    }
    if (IS(i, PICTOGRAPH) && IS(j, ZWJ) && j > from) {
        for (j--; j > from && IS_EXTEND(j);)
            j--;
        return IS(j, PICTOGRAPH);
    }
    while (i - indicators > from && IS(i - indicators - 1, REGIONAL_INDICATOR))
        indicators++;
    return IS(i, REGIONAL_INDICATOR) && indicators % 2;
#undef IS_EXTEND
#undef IS
}

static inline void naive_graphemes_of(naive_text *t, const uint8_t *text, size_t n)
{
    uint8_t *kinds = malloc(n + 1), *folded = malloc(4 * n + 1);
    size_t *starts = malloc((n + 2) * sizeof *starts), m = 0, from = 0;
    starts[0] = 0;
    for (size_t i = 0; i <= n;) {
        uint32_t c;
        const size_t taken = i < n ? naive_decode(text + i, n - i, &c) : 0;
        if (taken) {
            const nd_code_point as = ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]];
            kinds[m] = ND_CLUSTER_STAGE2[ND_CLUSTER_STAGE1[c >> 8]][c & 255];
            starts[m + 1] = starts[m] + naive_encode((uint32_t)((int32_t)c + as.fold), folded + starts[m]);
            m++;
            i += taken;
            continue;
        }
        t->invalid += i < n;                     /* the run from `from` ends: its clusters */
        for (size_t first = from, j = from; j++ < m;)
            if (j == m || !naive_joins(kinds, from, j)) {
                naive_token(t, folded + starts[first], starts[j] - starts[first]);
                first = j;
            }
        from = m;
        i++;
    }
    free(kinds);
    free(folded);
    free(starts);
}

static inline int naive_blank(uint8_t c) { return c == ' ' || (c >= 9 && c <= 13); }

static inline void naive_close(naive_text *t)
{
    free(t->symbols);
    free(t->tape);
}

/* Hands on a passage: its bytes, or its words with a space between two, if it has any. */
static inline void naive_passage(naive_text *t, const uint8_t *from, const uint8_t *to, int words)
{
    if (!words) {
        naive_token(t, from, (size_t)(to - from));
        return;
    }
    naive_text found = {0};
    naive_words_of(&found, from, (size_t)(to - from));
    t->invalid += found.invalid;
    uint8_t *joined = malloc(found.taped + 1);
    size_t n = 0;
    for (size_t at = 0, size; at < found.taped; at += 8 + size) {
        size = (size_t)nd_load_be64(found.tape + at);
        if (n)
            joined[n++] = ' ';
        memcpy(joined + n, found.tape + at + 8, size);
        n += size;
    }
    if (found.count)
        naive_token(t, joined, n);
    free(joined);
    naive_close(&found);
}

static inline void naive_lines_of(naive_text *t, const uint8_t *text, size_t n, int words)
{
    for (size_t i = 0; i <= n; i++) {
        size_t from = i;
        while (i < n && text[i] != '\n' && text[i] != '\r')
            i++;
        size_t to = i;
        while (to > from && naive_blank(text[to - 1]))
            to--;
        while (from < to && naive_blank(text[from]))
            from++;
        if (from < to)
            naive_passage(t, text + from, text + to, words);
    }
}

/* Bytes of a paragraph are not blank, or no blank line begins between them and the one before that is not. */
static inline void naive_paragraphs_of(naive_text *t, const uint8_t *text, size_t n, int words)
{
    size_t from = n, to = n, ends = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            ends += text[i] == '\r' || i == 0 || text[i - 1] != '\r';
        } else if (!naive_blank(text[i])) {
            if (ends > 1 && from < n) {
                naive_passage(t, text + from, text + to, words);
                from = n;
            }
            from = from == n ? i : from;
            to = i + 1;
            ends = 0;
        }
    }
    if (from < n)
        naive_passage(t, text + from, text + to, words);
}

/* UAX #29, rule by rule: does a sentence end before kinds[i], if the one before begins at kinds[first]? */
static inline int naive_ends(const uint8_t *kinds, size_t count, size_t first, size_t i)
{
#define IS(j, name) (kinds[j] == ND_SB_##name)
#define IS_LINE_END(j) (IS(j, SEP) || IS(j, CR) || IS(j, LF))
#define BACK_OVER(name) while (j > first && (IS(j - 1, name) || IS(j - 1, EXTEND))) j--
    size_t j = i, k = i;
    if (IS(i - 1, CR) && IS(i, LF))
        return 0;
    if (IS_LINE_END(i - 1))
        return 1;
    if (IS(i, EXTEND))
        return 0;
    BACK_OVER(EXTEND);
    if (j > first && IS(j - 1, ATERM)) {
        if (IS(i, NUMERIC))
            return 0;
        for (j--; j > first && IS(j - 1, EXTEND);)
            j--;
        if (j > first && (IS(j - 1, UPPER) || IS(j - 1, LOWER)) && IS(i, UPPER))
            return 0;
    }
    j = i;
    BACK_OVER(SP);
    int spaces = 0;
    for (size_t l = j; l < i; l++)
        spaces |= IS(l, SP);
    BACK_OVER(CLOSE);
    if (j == first || !(IS(j - 1, ATERM) || IS(j - 1, STERM)))
        return 0;
    if (IS(j - 1, ATERM)) {
        while (k < count && !(IS(k, OLETTER) || IS(k, UPPER) || IS(k, LOWER) || IS_LINE_END(k) || IS(k, STERM) || IS(k, ATERM)))
            k++;
        if (k < count && IS(k, LOWER))
            return 0;
    }
    if (IS(i, SCONTINUE) || IS(i, ATERM) || IS(i, STERM) || IS(i, SP) || IS_LINE_END(i))
        return 0;
    return !(IS(i, CLOSE) && !spaces);
#undef BACK_OVER
#undef IS_LINE_END
#undef IS
}

static inline void naive_sentences_of(naive_text *t, const uint8_t *text, size_t n, int words)
{
    uint8_t *kinds = malloc(n + 1);
    size_t *starts = malloc((n + 2) * sizeof *starts), m = 0, first = 0;
    starts[0] = 0;
    for (size_t i = 0; i < n; i = starts[m]) {
        uint32_t c;
        const size_t taken = naive_decode(text + i, n - i, &c);
        kinds[m] = taken ? ND_SB_STAGE2[ND_SB_STAGE1[c >> 8]][c & 255] : ND_SB_OTHER;
        starts[++m] = i + (taken ? taken : 1);
    }
    for (size_t i = 1; i <= m; i++)
        if (i == m || naive_ends(kinds, m, first, i)) {
            size_t from = first, to = i;
            while (from < to && kinds[from] >= ND_SB_SP && kinds[from] <= ND_SB_LF)
                from++;
            while (from < to && kinds[to - 1] >= ND_SB_SP && kinds[to - 1] <= ND_SB_LF)
                to--;
            if (from < to)
                naive_passage(t, text + starts[from], text + starts[to], words);
            first = i;
        }
    free(kinds);
    free(starts);
}

static inline naive_text naive_read(nd_unit unit, const uint8_t *text, size_t n)
{
    naive_text t = {0};
    if (unit == ND_WORD)
        naive_words_of(&t, text, n);
    else if (unit == ND_CHAR)
        naive_chars_of(&t, text, n);
    else if (unit == ND_GRAPHEME)
        naive_graphemes_of(&t, text, n);
    else if (unit == ND_LINE || unit == ND_LINE_WORDS)
        naive_lines_of(&t, text, n, unit != ND_LINE);
    else if (unit == ND_PARAGRAPH || unit == ND_PARAGRAPH_WORDS)
        naive_paragraphs_of(&t, text, n, unit != ND_PARAGRAPH);
    else if (unit == ND_SENTENCE || unit == ND_SENTENCE_WORDS)
        naive_sentences_of(&t, text, n, unit != ND_SENTENCE);
    else
        for (size_t i = 0; i < n; i++)
            naive_token(&t, text + i, 1);
    return t;
}

/* The tokens that are equal to none of the words, whatever their symbols. */
static inline naive_text naive_without(const naive_text *t, const naive_text *words)
{
    naive_text left = {.invalid = t->invalid};
    const uint8_t *token = t->tape;
    for (size_t i = 0; i < t->count; i++) {
        const size_t n = (size_t)nd_load_be64(token);
        const uint8_t *word = words->tape;
        int stop = 0;
        for (size_t j = 0; j < words->count; j++) {
            const size_t m = (size_t)nd_load_be64(word);
            stop |= n == m && memcmp(token + 8, word + 8, n) == 0;
            word += 8 + m;
        }
        if (!stop)
            naive_token(&left, token + 8, n);
        token += 8 + n;
    }
    return left;
}

/* Every k-th of the tokens, each once. */
static inline naive_text naive_some(const naive_text *t, size_t k)
{
    naive_text some = {0};
    const uint8_t *token = t->tape;
    for (size_t i = 0; i < t->count; i++) {
        const size_t n = (size_t)nd_load_be64(token);
        naive_text one = {0};
        naive_token(&one, token + 8, n);
        const naive_text fresh = naive_without(&one, &some);
        if (i % k == 0 && fresh.count)
            naive_token(&some, token + 8, n);
        free(one.symbols);
        free(one.tape);
        free(fresh.symbols);
        free(fresh.tape);
        token += 8 + n;
    }
    return some;
}

static inline int naive_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The inverse of fmix64: an odd factor is undone by its inverse, a shift by 33 by itself. */
static inline uint64_t naive_unmix(uint64_t z)
{
    static const uint64_t INVERSES[2] = {UINT64_C(0x9CB4B2F8129337DB), UINT64_C(0x4F74430C22A54005)};
    for (int step = 0; step < 2; step++)
        z = (z ^ (z >> 33)) * INVERSES[step];
    return z ^ (z >> 33);
}

/* Ascending, without repeats; returns how many are left. */
static inline size_t naive_set(uint64_t *values, size_t n)
{
    size_t kept = 0;
    if (n)
        qsort(values, n, sizeof *values, naive_order);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || values[kept - 1] != values[i])
            values[kept++] = values[i];
    return kept;
}

#endif
