/* Version, forms of kernels, recipes and sketchers of ndcore.h. Arguments are checked here; kernels do the work. */
#include "ndcore.h"

#include "gf2.h"
#include "hamming.h"
#include "minhash.h"
#include "modsketch.h"
#include "options.h"
#include "simhash.h"
#include "sketcher.h"
#include "units.h"

/* Polynomials of degree 64, without x^64, of shingles, long tokens, features and super-features: DESIGN.md, section 3. */
#define P_LOW UINT64_C(0xFD845EF300CE2D0B)
#define Q_LOW UINT64_C(0x02FC1EFE0FCCD72D)
#define R_LOW UINT64_C(0x5F9968BB90FD8193)
#define S_LOW UINT64_C(0xDBEF19FC8E7B845F)

enum {
    MOST_WIDTH = 1 << 16,
    MOST_MINIMA = 1 << 16,
};

/* ---- version and processor */

uint32_t nd_version(void) { return ND_VERSION; }

static const struct { const char *name; const nd_choice *choice; } KERNELS[] = {
    {"hamming", &nd_hamming_choice}, {"minhash", &nd_minhash_choice}, {"modsketch", &nd_modsketch_choice},
    {"rabin", &nd_rabin_choice}, {"simhash", &nd_simhash_choice}, {"text", &nd_text_choice},
};
enum { KERNEL_COUNT = sizeof KERNELS / sizeof *KERNELS, MOST_FORMS = 16 };

typedef struct { const char *at; size_t n; } piece;

static int is_name(piece p, const char *name) { return strlen(name) == p.n && memcmp(p.at, name, p.n) == 0; }

static piece without_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return (piece){at, (size_t)(end - at)};
}

/* The form of this name, if it runs here; else NULL. */
static const char *runnable(const nd_choice *choice, piece form, uint32_t features)
{
    const char *names[MOST_FORMS];
    int runs[MOST_FORMS];
    const size_t n = nd_min(choice->variants(names, runs, MOST_FORMS, features), MOST_FORMS);
    for (size_t i = 0; i < n; i++)
        if (runs[i] && is_name(form, names[i]))
            return names[i];
    return NULL;
}

/* Checks one demand, "portable" or "kernel=form", and applies it if asked to. */
static const char *demand(piece item, uint32_t features, int apply)
{
    const char *const equals = memchr(item.at, '=', item.n), *const end = item.at + item.n;
    const piece form = equals ? without_blanks(equals + 1, end) : item;
    const piece kernel = without_blanks(item.at, equals ? equals : item.at);
    int known = 0;
    if (!equals && !is_name(item, "portable"))
        return "forms are \"portable\", or kernel=form items separated by commas";
    for (size_t k = 0; k < KERNEL_COUNT; k++) {
        if (equals && !is_name(kernel, KERNELS[k].name))
            continue;
        const char *const name = runnable(KERNELS[k].choice, form, features);
        if (name == NULL)
            return "a kernel has no form of this name that runs on this processor; \"portable\" runs on all";
        known = 1;
        if (apply)
            KERNELS[k].choice->use(name, features);
    }
    return known ? NULL : "there is no kernel of this name; kernels are hamming, minhash, modsketch, rabin, simhash, text";
}

const char *nd_use(const char *forms)
{
    const uint32_t features = nd_cpu_features();
    for (int apply = 0; apply < 2; apply++) {
        for (size_t k = 0; apply && k < KERNEL_COUNT; k++)
            KERNELS[k].choice->use(NULL, features);
        for (const char *at = forms ? forms : "", *end; *at; at = end + (*end == ',')) {
            end = at + strcspn(at, ",");
            const piece item = without_blanks(at, end);
            const char *const error = item.n ? demand(item, features, apply) : NULL;
            if (error)
                return error;
        }
    }
    return NULL;
}

const char *nd_running(const char *kernel)
{
    const char *names[MOST_FORMS];
    int runs[MOST_FORMS];
    for (size_t k = 0; k < KERNEL_COUNT; k++)
        if (strcmp(kernel, KERNELS[k].name) == 0) {
            KERNELS[k].choice->variants(names, runs, MOST_FORMS, 0);
            return names[KERNELS[k].choice->chosen()];
        }
    return NULL;
}

/* ---- recipes */

static const nd_recipe DEFAULTS = {
    .size = sizeof(nd_recipe), .key_bits = 64, .unit = ND_WORD, .width = 5, .short_whole = 1, .polynomial = {P_LOW},
    .token_polynomial = {Q_LOW}, .seed = 1, .num_perm = 84, .minimum_bits = 32,
};
enum { FIRST_SIZE = offsetof(nd_recipe, minimum_bits) + sizeof(uint32_t) };

void nd_recipe_init(nd_recipe *recipe, size_t size) { nd_options_init(recipe, size, &DEFAULTS, sizeof DEFAULTS); }

int nd_sketcher_is_irreducible(uint64_t low, unsigned degree)
{
    const uint64_t p[2] = {degree < 64 ? low | UINT64_C(1) << degree : low, degree == 64};
    uint64_t scratch[8];
    return nd_gf2_irreducible(p, 2, scratch);
}

static const char *check_polynomial(const uint64_t *words)
{
    if (words[1] | words[2] | words[3])
        return "polynomials of 64-bit keys have one word, without x^64: the others are 0";
    return nd_sketcher_is_irreducible(words[0], 64) ? NULL : "polynomial and token_polynomial must be irreducible";
}

static const char *read_recipe(const nd_recipe *given, nd_recipe *r)
{
    *r = DEFAULTS;
    const char *const error = nd_options_read(given, r, sizeof *r, FIRST_SIZE);
    if (error)
        return error;
    if (r->key_bits != 64)
        return "key_bits is 64 in this version";
    if (r->unit > ND_SENTENCE_WORDS)
        return "unit is one of nd_unit";
    if (r->width < 1 || r->width > MOST_WIDTH)
        return "width is 1 to 65536";
    if (r->short_whole > 1)
        return "short_whole is 0 or 1";
    if (r->num_perm < 1 || r->num_perm > MOST_MINIMA)
        return "num_perm is 1 to 65536";
    if (r->minimum_bits != 32 && r->minimum_bits != 64)
        return "minimum_bits is 32 or 64";
    const char *const p = check_polynomial(r->polynomial), *const q = check_polynomial(r->token_polynomial);
    if (p || q)
        return p ? p : q;
    if (r->polynomial[0] == r->token_polynomial[0] || r->polynomial[0] == R_LOW || r->token_polynomial[0] == R_LOW)
        return "polynomial, token_polynomial and the polynomial of features, 0x15F9968BB90FD8193, must be different";
    return NULL;
}

const char *nd_recipe_check(const nd_recipe *recipe)
{
    nd_recipe read;
    return read_recipe(recipe, &read);
}

/* ---- sketchers */

size_t nd_sketcher_size(const nd_recipe *recipe)
{
    nd_recipe r;
    return read_recipe(recipe, &r) ? 0 : sizeof(nd_sketcher) + 2 * r.num_perm * sizeof(uint64_t);
}

/* Keeps the low halves of n words, end to end. */
static void keep_low_halves(uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t low = (uint32_t)words[i];
        memcpy((uint8_t *)words + i * sizeof low, &low, sizeof low);
    }
}

const char *nd_sketcher_init(nd_sketcher *s, size_t size, const nd_recipe *recipe)
{
    nd_recipe r;
    const char *const error = read_recipe(recipe, &r);
    if (error)
        return error;
    if (s == NULL || (uintptr_t)s % sizeof(uint64_t) || size < nd_sketcher_size(recipe))
        return "a sketcher needs nd_sketcher_size() bytes, aligned to 8";
    const uint8_t one = 1;
    nd_shingling *const how = &s->how;
    memset(s, 0, sizeof *s);
    s->recipe = r;
    how->run = (nd_kernels){nd_text_open, nd_units_read, nd_rabin_symbols, nd_rabin_sliding, nd_rabin_bytes, nd_rabin_words};
    how->unit = (nd_unit)r.unit;
    how->width = r.width;
    how->short_whole = (int)r.short_whole;
    nd_text_table_init(&how->token_table, r.token_polynomial[0]);
    nd_rabin_init(&how->rabin, r.polynomial[0], 64);
    nd_rabin_symbol_window_init(&how->symbol_window, &how->rabin, r.width);
    nd_rabin_byte_window_init(&how->byte_window, &how->rabin, r.width);
    how->lead = nd_rabin_shift(&how->rabin, nd_rabin_bytes(&how->rabin, 0, &one, 1), r.width);
    nd_rabin_init(&s->feature, R_LOW, 64);
    nd_rabin_init(&s->super_feature, S_LOW, 64);
    nd_minhash_coefficients(r.seed, r.num_perm, &s->key, s->coefficients, s->coefficients + r.num_perm);
    if (r.minimum_bits == 32) {
        keep_low_halves(s->coefficients, r.num_perm);
        keep_low_halves(s->coefficients + r.num_perm, r.num_perm);
    }
    return NULL;
}

size_t nd_most_tokens(const nd_sketcher *s, size_t n) { return nd_shingle_most(s->how.unit, n); }

size_t nd_sketcher_scratch(const nd_sketcher *s, size_t n)
{
    return nd_shingle_scratch_size(s->how.unit, s->how.width, n) * sizeof(uint64_t);
}
