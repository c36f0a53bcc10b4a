/* Rabin fingerprints against long division: any string, window, degree and cut.
 * Input: degree, window (2 bytes), cut, then the string. */
#include "gf2.h"
#include "naive.h"
#include "rabin.h"

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

static uint64_t lows[65];   /* one irreducible polynomial per degree */

static uint64_t low_of(unsigned degree)
{
    uint64_t p[2], scratch[8], state = 7 + degree;
    if (lows[degree])
        return lows[degree];
    do
        nd_gf2_candidate(&state, degree, p);
    while (!nd_gf2_irreducible(p, degree / 64 + 1, scratch));
    return lows[degree] = degree == 64 ? p[0] : p[0] ^ UINT64_C(1) << degree;
}

static void check_strings(const nd_rabin *r, uint64_t low, const uint8_t *b, size_t n, size_t cut)
{
    const uint64_t expected = naive_mod(low, r->degree, b, n, r->degree);
    const uint64_t first = nd_rabin_bytes(r, 0, b, cut), rest = nd_rabin_bytes(r, 0, b + cut, n - cut);
    REQUIRE(nd_rabin_value(r, nd_rabin_bytes(r, 0, b, n)) == expected);
    REQUIRE(nd_rabin_value(r, nd_rabin_bytes(r, first, b + cut, n - cut)) == expected);
    REQUIRE((nd_rabin_shift(r, nd_rabin_value(r, first), n - cut) ^ nd_rabin_value(r, rest)) == expected);
}

static void check_windows(const nd_rabin *r, uint64_t low, const uint8_t *b, size_t n, size_t window)
{
    nd_rabin_byte_window w;
    uint64_t *out = malloc(8 * (n - window + 1));
    nd_rabin_byte_window_init(&w, r, window);
    nd_rabin_sliding(r, &w, window, b, n, out);
    for (size_t i = 0; i + window <= n; i++)
        REQUIRE(out[i] == naive_mod(low, r->degree, b + i, window, r->degree));
    free(out);
}

static void check_symbols(const nd_rabin *r, uint64_t low, const uint8_t *b, size_t n, size_t window)
{
    uint64_t *s = malloc(8 * n + 1), *out = malloc(8 * (n - window + 1));
    for (size_t i = 0; i < n; i++)
        s[i] = naive_symbol(NAIVE_Q, b + i, n - i < 12 ? n - i : 12);
    nd_rabin_symbol_window w;
    nd_rabin_symbol_window_init(&w, r, window);
    nd_rabin_symbols(r, &w, window, s, n, out);
    for (size_t i = 0; i + window <= n; i++)
        REQUIRE(out[i] == naive_words(low, s + i, window));
    free(s);
    free(out);
}

static void choose_variant(size_t which)   /* portable where that one does not run here */
{
    const char *names[8];
    int runnable[8];
    const size_t i = which % nd_rabin_choice.variants(names, runnable, 8, nd_cpu_features());
    nd_rabin_choice.use(runnable[i] ? names[i] : "portable", nd_cpu_features());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nd_rabin r;
    if (size < 5 || size > 260)
        return 0;
    const size_t n = size - 4, window = 1 + (data[1] | (size_t)data[2] << 8) % n, cut = data[3] % (n + 1);
    const unsigned degree = 1 + data[0] % 64;
    uint8_t *b = malloc(n);
    memcpy(b, data + 4, n);
    choose_variant(data[3]);
    nd_rabin_init(&r, low_of(degree), degree);
    check_strings(&r, low_of(degree), b, n, cut);
    check_windows(&r, low_of(degree), b, n, window);
    nd_rabin_init(&r, low_of(64), 64);
    check_symbols(&r, low_of(64), b, n, window);
    const uint64_t low = low_of(64);
    nd_text_table table;
    nd_text_table_init(&table, low);
    REQUIRE(nd_symbol(&table, b, n) == naive_symbol(low, b, n));
    free(b);
    return 0;
}
