/* From texts to signatures, features, simhashes and sets: the functions of ndcore.h that use a sketcher. */
#include "feature.h"
#include "minhash.h"
#include "sets.h"
#include "signature.h"
#include "simhash.h"
#include "sketcher.h"
#include "sort.h"
#include "units.h"

#include <math.h>

enum {
    SYMBOLS = 512,                   /* that are read at a time */
    EARLY = 4096,                    /* values of a bottom sketch that are collected before some are left out */
    MOST_SUPER_FEATURES = 1 << 16,
};

/* ---- text */

void nd_shingle_text(const nd_sketcher *s, const void *text, size_t n, void *scratch, nd_sink *take, void *to,
                     nd_shingled *counts)
{
    size_t taped;
    const nd_shingled done = nd_shingle(&s->how, text, n, take, to, scratch, NULL, &taped);
    if (counts)
        *counts = done;
}

size_t nd_fingerprints(const nd_sketcher *s, const void *text, size_t n, void *scratch, uint64_t *fingerprints,
                       nd_shingled *counts)
{
    nd_collected all = {fingerprints, 0};
    nd_shingle_text(s, text, n, scratch, nd_collect, &all, counts);
    return all.n;
}

size_t nd_symbols(const nd_sketcher *s, const void *text, size_t n, uint64_t *symbols)
{
    nd_text reading;
    size_t count = 0;
    nd_text_open(&reading, s->how.unit, &s->how.token_table, text, n, NULL);
    for (size_t got, left = nd_most_tokens(s, n); left > 0; left -= got) {
        got = nd_units_read(&reading, symbols + count, left);
        if (got == 0)
            break;
        count += got;
    }
    return count;
}

size_t nd_canonical_size(size_t n) { return nd_text_tape_size(n); }

size_t nd_canonical(const nd_sketcher *s, const void *text, size_t n, void *out)
{
    nd_text reading;
    uint64_t symbols[SYMBOLS];
    if (s->how.unit == ND_TOKENS) {
        memcpy(out, text, n);
        return n;
    }
    nd_text_open(&reading, s->how.unit, &s->how.token_table, text, n, out);
    while (nd_units_read(&reading, symbols, SYMBOLS)) {}
    return (size_t)(reading.tape - (uint8_t *)out);
}

uint8_t *nd_token_put(uint8_t *at, const void *token, size_t n)
{
    nd_store_be64(at, n);
    if (n)
        memcpy(at + 8, token, n);
    return at + 8 + n;
}

/* ---- signatures */

typedef struct {
    nd_minima32 minima32;
    nd_minima64 minima64;
    nd_simhash simhash;
    int wants_minima, wants_simhash;     /* bits of a minimum, or 0; 1 or 0 */
} sketching;

static void set_minima(const nd_sketcher *s, sketching *to, void *minima)
{
    const size_t k = s->recipe.num_perm;
    const void *const a = s->coefficients, *const b = s->coefficients + k;
    to->minima32 = (nd_minima32){k, s->key, a, b, minima};
    to->minima64 = (nd_minima64){k, s->key, a, b, minima};
    to->wants_minima = minima == NULL ? 0 : (int)s->recipe.minimum_bits;
}

/* Begins a simhash of equal weights. Its planes, 12 KB, are not cleared here: it would take longer than a short text. */
static void open_simhash(const nd_sketcher *s, nd_simhash *simhash)
{
    simhash->mix = nd_minhash_mix;
    simhash->key = s->key;
    simhash->words = 1;
    nd_simhash_open(simhash);
}

/* A sink of fingerprints that feeds two others. */
static void take_both(void *to, const uint64_t *fingerprints, size_t n)
{
    sketching *const sketch = to;
    if (sketch->wants_minima == 32)
        nd_minima32_take(&sketch->minima32, fingerprints, n);
    else if (sketch->wants_minima)
        nd_minima64_take(&sketch->minima64, fingerprints, n);
    if (sketch->wants_simhash)
        nd_simhash_take(&sketch->simhash, fingerprints, n);
}

void nd_sketch(const nd_sketcher *s, const void *text, size_t n, void *scratch, void *minima, uint64_t *simhash,
               nd_shingled *counts)
{
    sketching sketch;
    sketch.wants_simhash = simhash != NULL;
    set_minima(s, &sketch, minima);
    open_simhash(s, &sketch.simhash);
    if (minima)
        nd_signature_begin(s, minima);
    nd_shingle_text(s, text, n, scratch, take_both, &sketch, counts);
    if (simhash)
        nd_simhash_value(&sketch.simhash, simhash);
}

size_t nd_signature_size(const nd_sketcher *s) { return (size_t)s->recipe.num_perm * s->recipe.minimum_bits / 8; }

void nd_signature_begin(const nd_sketcher *s, void *minima) { memset(minima, 0xFF, nd_signature_size(s)); }

void nd_signature_add(const nd_sketcher *s, void *minima, const uint64_t *fingerprints, size_t n)
{
    sketching sketch;
    sketch.wants_simhash = 0;
    set_minima(s, &sketch, minima);
    take_both(&sketch, fingerprints, n);
}

void nd_signature_unite(const nd_sketcher *s, void *minima, const void *others)
{
    const size_t k = s->recipe.num_perm;
    if (s->recipe.minimum_bits == 32) {
        uint32_t *const a = minima;
        const uint32_t *const b = others;
        for (size_t i = 0; i < k; i++)
            a[i] = b[i] < a[i] ? b[i] : a[i];
    } else {
        uint64_t *const a = minima;
        const uint64_t *const b = others;
        for (size_t i = 0; i < k; i++)
            a[i] = b[i] < a[i] ? b[i] : a[i];
    }
}

size_t nd_signature_equal_minima(const nd_sketcher *s, const void *a, const void *b)
{
    return nd_signature_equal(a, b, s->recipe.num_perm, s->recipe.minimum_bits / 8);
}

double nd_signature_resemblance(const nd_sketcher *s, const void *a, const void *b)
{
    return (double)nd_signature_equal_minima(s, a, b) / s->recipe.num_perm;
}

/* ---- features */

const char *nd_features_of_signature(const nd_sketcher *s, const void *minima, size_t groups, size_t group_size,
                                     uint64_t *scratch, uint64_t *features)
{
    const size_t k = s->recipe.num_perm;
    if (groups < 1 || group_size < 1 || groups > k / group_size)
        return "groups and group_size are at least 1, and take at most num_perm minima";
    nd_features(nd_rabin_words, &s->feature, minima, 1, k, s->recipe.minimum_bits / 8, group_size, 0, groups, scratch,
                features);
    return NULL;
}

size_t nd_super_feature_count(size_t groups, size_t need)
{
    size_t count = 1;
    if (need < 1 || need > groups || groups > MOST_SUPER_FEATURES)
        return 0;
    const size_t rest = nd_min(need, groups - need);
    for (size_t i = 1; i <= rest && count <= MOST_SUPER_FEATURES; i++)
        count = count * (groups - rest + i) / i;             /* C(groups − rest + i, i), which ascends */
    return count <= MOST_SUPER_FEATURES ? count : 0;
}

const char *nd_super_features_of_features(const nd_sketcher *s, const uint64_t *features, size_t groups, size_t need,
                                          uint64_t *scratch, uint64_t *super_features)
{
    if (nd_super_feature_count(groups, need) == 0)
        return "need is 1 to groups, with at most 65536 super-features";
    nd_super_features(nd_rabin_words, &s->super_feature, features, 1, groups, need, scratch, super_features);
    return NULL;
}

/* ---- simhashes */

int nd_simhash_of(const nd_sketcher *s, const uint64_t *fingerprints, const int32_t *weights, size_t n, uint64_t *simhash)
{
    if (weights == NULL) {
        nd_simhash equal;
        open_simhash(s, &equal);
        nd_simhash_take(&equal, fingerprints, n);
        nd_simhash_value(&equal, simhash);
        return n != 0;
    }
    nd_simhash_weighted weighted = {.mix = nd_minhash_mix, .key = s->key, .words = 1};
    nd_simhash_weighted_open(&weighted);
    nd_simhash_weighted_add(&weighted, fingerprints, weights, n);
    nd_simhash_weighted_value(&weighted, simhash);
    return weighted.any;
}

/* ---- sets */

static double ratio(size_t numerator, size_t denominator)
{
    return denominator ? (double)numerator / (double)denominator : (double)NAN;
}

size_t nd_set_make(const nd_sketcher *s, uint64_t *values, size_t n, uint64_t *scratch)
{
    (void)s;                         /* whose fingerprints they are says how wide they are: 64 bits, so far */
    nd_sort_words(values, scratch, n);
    return nd_sort_drop_repeats(values, n);
}

size_t nd_set_common(const nd_sketcher *s, const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    (void)s;
    return nd_sets_common(a, na, b, nb);
}

double nd_set_resemblance(const nd_sketcher *s, const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    const size_t common = nd_set_common(s, a, na, b, nb);
    return ratio(common, na && nb ? na + nb - common : 0);
}

double nd_set_containment(const nd_sketcher *s, const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    return ratio(nd_set_common(s, a, na, b, nb), nb ? na : 0);
}

/* ---- bottom sketches */

static size_t early_size(size_t size) { return size > EARLY / 2 ? 2 * size : EARLY; }

size_t nd_bottom_scratch(const nd_sketcher *s, size_t size)
{
    (void)s;
    return 3 * early_size(size);
}

size_t nd_bottom_sketch(const nd_sketcher *s, const uint64_t *fingerprints, size_t n, size_t size, uint64_t *scratch,
                        uint64_t *members)
{
    nd_bottom bottom = {.size = size, .early_size = early_size(size), .key = s->key, .members = members, .early = scratch};
    nd_bottom_open(&bottom);
    nd_bottom_take(&bottom, fingerprints, n);
    nd_bottom_close(&bottom);
    return bottom.count;
}

/* |T∩A∩B| / |T| where i is 1, / |T∩A| where i is 2 (sets.h). */
static double estimate(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, int i)
{
    int64_t counts[3];
    nd_sets_overlap(a, na, b, nb, size, 0, counts);
    return ratio((size_t)counts[0], na && nb ? (size_t)counts[i] : 0);
}

double nd_bottom_resemblance(const nd_sketcher *s, const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size)
{
    (void)s;
    return estimate(a, na, b, nb, size, 1);
}

double nd_bottom_containment(const nd_sketcher *s, const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size)
{
    (void)s;
    return estimate(a, na, b, nb, size, 2);
}
