/* The C core against its definitions: every length × offset between guard pages, every variant, every seam.
 * Expectations come from literals and from naive.h, never from another kernel. Prints "N passed, N failed". */
#include "check.h"

#include "compressed.h"
#include "entries.h"
#include "fastsketch.h"
#include "feature.h"
#include "gf2.h"
#include "minhash.h"
#include "modsketch.h"
#include "naive.h"
#include "nfkc.h"
#include "nfkc_tables.h"
#include "greedy.h"
#include "candidates.h"
#include "cluster.h"
#include "sets.h"
#include "signature.h"
#include "sort.h"
#include "units.h"
#include "pipeline.h"
#include "probes.h"
#include "simhash.h"
#include "table.h"
#include "utf8.h"

#include <pthread.h>

size_t nd_table_steps;                   /* slots that searches passed; counted by what is built with -DND_COUNT_STEPS */

static uint8_t input[2][LONGEST + 64];   /* the pattern; random bytes */

/* ---- memory that another thread writes to, as to a mutable buffer of Arrow or to a mapped file */

/* `words` 64-bit words at `at`, changed at random until `stop`: to one of `count` values, or to any. */
typedef struct { uint64_t *at; size_t words; const uint64_t *values; size_t count; } changing;
static volatile int stop_changing;

static void *change(void *what)
{
    const changing *c = what;
    uint64_t state = 12;
    while (!stop_changing)
        for (int i = 0; i < 256; i++) {
            const uint64_t r = nd_splitmix64(&state);
            ((volatile uint64_t *)c->at)[(size_t)(r >> 32) % c->words] = c->count ? c->values[r % c->count] : r << r % 64;
        }
    return NULL;
}

static pthread_t begin_changing(const changing *c)
{
    pthread_t thread;
    stop_changing = 0;
    if (pthread_create(&thread, NULL, change, (void *)(uintptr_t)c)) {
        perror("pthread_create");
        exit(2);
    }
    return thread;
}

static void end_changing(pthread_t thread)
{
    stop_changing = 1;
    pthread_join(thread, NULL);
}

/* ---- nd.h */

/* Runs a test under every variant of a kernel that runs here; the others are named. */
static void each_variant(const char *stem, const nd_choice *kernel, void (*test)(const char *variant))
{
    const char *names[8] = {NULL};
    int runnable[8];
    const size_t count = kernel->variants(names, runnable, 8, nd_cpu_features());
    CHECK(count >= 1 && count <= 8 && strcmp(names[count - 1], "portable") == 0, "%s: portable is the last one", stem);
    CHECK(kernel->chosen() == (int)count - 1, "%s: portable until somebody chooses", stem);
    CHECK(kernel->use(NULL, 0) == (int)count - 1, "%s: without features the portable form runs", stem);
    CHECK(kernel->use("no such variant", ~UINT32_C(0)) == -1 && kernel->chosen() == (int)count - 1,
          "%s: a demand that cannot be met changes nothing", stem);
    for (size_t v = 0; v < count && v < 8; v++) {
        CHECK(v + 1 == count || kernel->use(names[v], 0) == -1, "%s=%s needs something", stem, names[v]);
        if (!runnable[v])
            printf("skipped: %s=%s does not run on this CPU\n", stem, names[v]);
        else {
            CHECK(kernel->use(names[v], nd_cpu_features()) == (int)v && kernel->chosen() == (int)v, "%s=%s", stem, names[v]);
            test(names[v]);
        }
    }
    CHECK(kernel->use(NULL, nd_cpu_features()) >= 0, "%s: something runs here", stem);
}

static void test_mixers(void)
{
    uint64_t state = 1234567;
    CHECK(nd_splitmix64(&state) == UINT64_C(6457827717110365317), "SplitMix64, first output of 1234567");
    CHECK(nd_splitmix64(&state) == UINT64_C(3203168211198807973), "SplitMix64, second output of 1234567");
    CHECK(nd_fmix64(0) == 0, "fmix64(0)");
    CHECK(nd_fmix64(1) == UINT64_C(0xB456BCFC34C2CB2C), "fmix64(1)");
    CHECK(naive_unmix(UINT64_C(0xB456BCFC34C2CB2C)) == 1, "its inverse");
}

/* ---- tables */

/* Keys of which none may change a result: the one that puts all values in one slot, one that everybody knows, random ones. */
static nd_table_key table_key(int which)
{
    const nd_table_key random = {{random64(), random64()}, random64(), random64()};
    return which == 0 ? (nd_table_key){{0, 0}, 0, 0} : which == 1 ? (nd_table_key){{0, 1}, 0, 0} : random;
}

static int descending(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a < b) - (a > b);
}

/* n values, descending, that all begin at slot 0 under the known key, where h is x itself: the rest of the hash is undone. */
static void fill_crowded(uint64_t *values, size_t n)
{
    uint64_t inverse = 1;
    for (int step = 0; step < 6; step++)
        inverse *= 2 - inverse * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < n; i++) {
        const uint64_t mixed = (1 + i) * inverse;
        values[i] = mixed ^ mixed >> 32;
    }
    qsort(values, n, sizeof *values, descending);
}

static void test_table(void)
{
    CHECK(nd_table_high(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1, "the high word of a product");
    for (int i = 0; i < 2000; i++) {         /* the product by halves of words: x = x1·2^32 + x0 */
        const uint64_t x = random64() >> random_below(64), y = random64() >> random_below(64), mask = UINT32_MAX;
        const uint64_t low = (x & mask) * (y & mask), first = (x >> 32) * (y & mask), second = (x & mask) * (y >> 32);
        const uint64_t carry = (low >> 32) + (first & mask) + (second & mask);
        CHECK(nd_table_high(x, y) == (x >> 32) * (y >> 32) + (first >> 32) + (second >> 32) + (carry >> 32), "high word");
    }
    for (size_t room = 1; room <= 40; room++) {
        size_t taken[41] = {0};
        const nd_table_key key = table_key(2);
        for (size_t i = 0; i < 1000 * room; i++) {
            const size_t home = nd_table_home(&key, i << 20, room);
            CHECK(home < room, "home %zu of %zu slots", home, room);
            taken[home % room]++;
        }
        for (size_t at = 0; at < room; at++)
            CHECK(taken[at] > 500 && taken[at] < 2000, "%zu of %zu values in slot %zu of %zu", taken[at], 1000 * room, at, room);
        for (size_t from = 0; from < room; from++)
            for (size_t steps = 0, at = from; steps < room; steps++, at = nd_table_next(at, room))
                CHECK(nd_table_distance(from, at, room) == steps, "%zu steps from %zu to %zu", steps, from, at);
    }
}

/* Values that crowd tables under a known key, in every table of the core: searches pass as many slots as there are pairs of
 * values, few under a random key, and the result is the same. */
enum { CROWD = 4000 };      /* simhash sorts more than 4096 */

static size_t steps_of_labels(const nd_table_key *key, uint64_t *out)
{
    static nd_label_slot slots[3 * CROWD + 1];
    fill_crowded(out, CROWD);
    out[CROWD - 1] = out[0];
    const size_t before = nd_table_steps;
    nd_label(out, CROWD, key, slots);
    return nd_table_steps - before;
}

static size_t steps_of_stops(const nd_table_key *key, uint64_t *out)
{
    static nd_stop slots[3 * CROWD + 1];
    static uint8_t tape[9 * CROWD], *end;
    nd_stops s = {.slots = slots, .room = nd_table_room(CROWD), .key = *key};
    for (size_t i = 0; i < CROWD; i++) {
        nd_store_be64(tape + 9 * i, 1);
        tape[9 * i + 8] = (uint8_t)i;
    }
    fill_crowded(out, CROWD);
    const size_t before = nd_table_steps;
    nd_stops_fill(&s, tape, out, CROWD);
    CHECK(nd_stops_remove(&s, out, CROWD, tape, &end) == 0, "stop words are left out");
    memset(out, 0, 8 * CROWD);
    return nd_table_steps - before;
}

static size_t steps_of_weights(const nd_table_key *key, uint64_t *out)
{
    static nd_weight slots[3 * CROWD + 1];
    static int32_t weights[CROWD], found[CROWD];
    nd_weights t = {.slots = slots, .room = nd_table_room(CROWD), .key = *key};
    fill_crowded(out, CROWD);
    for (size_t i = 0; i < CROWD; i++)
        weights[i] = (int32_t)i + 1;
    const size_t before = nd_table_steps;
    nd_weights_fill(&t, out, weights, CROWD);
    nd_weights_find(&t, out, CROWD, found);
    const size_t steps = nd_table_steps - before;
    for (size_t i = 0; i < CROWD; i++)
        out[i] = (uint64_t)found[i];
    return steps;
}

static size_t steps_of_distinct(const nd_table_key *key, uint64_t *out)
{
    static uint64_t values[CROWD + 3 * CROWD + 1], f[CROWD];
    nd_simhash_set s = {.once.mix = nd_minhash_mix, .table_key = *key, .values = values, .room = CROWD};
    fill_crowded(f, CROWD);
    for (size_t i = 0; i < CROWD; i++)
        f[i] = naive_unmix(f[i]);
    const size_t before = nd_table_steps;
    nd_simhash_set_open(&s);
    nd_simhash_set_take(&s, f, CROWD);
    memset(out, 0, 8 * CROWD);
    out[0] = nd_simhash_set_value(&s);
    return nd_table_steps - before;
}

static size_t steps_of_bottom(const nd_table_key *key, uint64_t *out)
{
    static uint64_t table[3 * CROWD + 1], early[3 * CROWD], f[2 * CROWD];
    nd_bottom b = {.size = CROWD, .room = nd_table_room(CROWD), .early_size = CROWD, .table_key = *key, .members = out,
                   .table = table, .early = early};
    fill_crowded(f, 2 * CROWD);              /* descending, so that each takes the place of a member */
    for (size_t i = 0; i < 2 * CROWD; i++)
        f[i] = naive_unmix(f[i]);
    const size_t before = nd_table_steps;
    nd_bottom_open(&b);
    nd_bottom_take(&b, f, 2 * CROWD);
    nd_bottom_close(&b);
    CHECK(b.count == CROWD, "a full sketch");
    return nd_table_steps - before;
}

static size_t steps_of_greedy(const nd_table_key *key, uint64_t *out)
{
    enum { VALUES = 2 * CROWD, ROOM = 3 * CROWD + 1 };
    static nd_greedy_slot slots[ROOM];
    static nd_greedy_membership memberships[VALUES];
    static nd_greedy_cluster clusters[2];
    static uint32_t shared[2], touched[2], found[CROWD], heap[VALUES], index[ROOM];
    static uint64_t values[CROWD];
    nd_greedy g = {.threshold = 0.5, .max_holders = 2, .popular = 1, .key = *key, .slots = slots, .room = ROOM,
                   .index_room = ROOM, .memberships = memberships, .heap = heap, .index = index, .clusters = clusters,
                   .shared = shared, .touched = touched, .found = found};
    memset(slots, 0, sizeof slots);
    memset(index, 0xFF, sizeof index);
    fill_crowded(values, CROWD);
    const size_t before = nd_table_steps;
    for (int i = 0; i < 2; i++)
        nd_greedy_count(&g, values, CROWD);
    memset(out, 0, 8 * CROWD);
    for (int i = 0; i < 2; i++)
        out[i] = nd_greedy_place(&g, values, CROWD, 0);
    return nd_table_steps - before;
}

static void test_crowded_tables(void)
{
    static size_t (*const steps_of[])(const nd_table_key *, uint64_t *) = {
        steps_of_labels, steps_of_stops, steps_of_weights, steps_of_distinct, steps_of_bottom, steps_of_greedy};
    static uint64_t expected[CROWD], found[CROWD];
    for (size_t t = 0; t < sizeof steps_of / sizeof *steps_of; t++) {
        const nd_table_key known = table_key(1);
        CHECK(steps_of[t](&known, expected) > (size_t)CROWD * CROWD / 3, "table %zu is crowded where the hash is known", t);
        for (int i = 0; i < 20; i++) {
            const nd_table_key key = table_key(2);
            const size_t steps = steps_of[t](&key, found);
            CHECK(steps < 20 * CROWD, "table %zu: %zu steps for %d values", t, steps, CROWD);
            CHECK(memcmp(found, expected, sizeof found) == 0, "table %zu: one result under all keys", t);
        }
    }
}

/* ---- gf2 */

static uint64_t naive_irreducible(uint64_t p, int degree)   /* trial division, degree < 32 */
{
    for (uint64_t d = 2; d < UINT64_C(1) << (degree / 2 + 1); d++) {
        uint64_t rest = p;
        int dd = 0;
        while (d >> (dd + 1))
            dd++;
        for (int i = degree; i >= dd; i--)
            if (rest >> i & 1)
                rest ^= d << (i - dd);
        if (rest == 0)
            return 0;
    }
    return degree > 0;
}

static void test_gf2(void)
{
    for (size_t n = 0; n <= 5; n++)
        for (int side = FRONT; side <= BACK; side++) {
            uint64_t *a = guarded(0, side, 8 * n, 0), *b = guarded(1, side, 8 * n, 0);
            uint64_t *product = guarded(2, side, 16 * n, 0), *square = guarded(3, side, 16 * n, 0);
            for (size_t i = 0; i < n; i++) {
                a[i] = random64();
                b[i] = random64();
            }
            uint64_t expected[10] = {0}, spread[10] = {0};
            for (size_t i = 0; i < 64 * n; i++)
                for (size_t j = 0; j < 64 * n; j++) {
                    const uint64_t bit = a[i / 64] >> (i % 64) & 1;
                    expected[(i + j) / 64] ^= (bit & b[j / 64] >> (j % 64)) << ((i + j) % 64);
                    spread[(i + j) / 64] ^= (bit & a[j / 64] >> (j % 64)) << ((i + j) % 64);
                }
            nd_gf2_mul(a, b, n, product);
            nd_gf2_sqr(a, n, square);
            CHECK(memcmp(product, expected, 16 * n) == 0, "product of %zu words", n);
            CHECK(memcmp(square, spread, 16 * n) == 0, "square of %zu words", n);
            CHECK(n || nd_gf2_degree(a, n) == -1, "degree of nothing");
            if (n == 0)
                continue;
            uint64_t *gcd = guarded(4, side, 16 * n, 0), *other = guarded(5, side, 16 * n, 0);
            memcpy(gcd, product, 16 * n);          /* gcd(a·b, a²) is a multiple of a */
            memcpy(other, square, 16 * n);
            nd_gf2_gcd(gcd, other, 2 * n);
            nd_gf2_mod(gcd, 2 * n, a, n);
            CHECK(nd_gf2_degree(gcd, 2 * n) == -1, "a divides gcd(ab, aa), %zu words", n);
            CHECK(untouched_around(2, product, 16 * n), "nd_gf2_mul keeps to its array");
        }
    for (int degree = 1; degree <= 12; degree++)
        for (uint64_t p = UINT64_C(1) << degree; p < UINT64_C(2) << degree; p++) {
            uint64_t *scratch = guarded(0, BACK, 32, 0);
            CHECK((uint64_t)nd_gf2_irreducible(&p, 1, scratch) == naive_irreducible(p, degree),
                  "irreducibility of %llx", (unsigned long long)p);
        }
    static const uint64_t constants[] = {0, 1};
    for (int i = 0; i < 2; i++)
        CHECK(nd_gf2_irreducible(&constants[i], 1, guarded(0, BACK, 32, 0)) == 0, "%d is not irreducible", i);
    static const uint64_t published[4] = {NAIVE_P, NAIVE_Q, NAIVE_R, NAIVE_S};
    for (uint64_t seed = 1; seed <= 4; seed++) {    /* P, Q, R, S are the first irreducible ones of seeds 1 to 4 */
        uint64_t *p = guarded(0, BACK, 16, 0), *scratch = guarded(1, BACK, 64, 0), state = seed;
        do
            nd_gf2_candidate(&state, 64, p);
        while (!nd_gf2_irreducible(p, 2, scratch));
        CHECK(p[0] == published[seed - 1] && p[1] == 1, "the polynomial of seed %d", (int)seed);
    }
    for (int i = 0; i < 200; i++) {
        const uint64_t a = random64(), b = random64();
        uint64_t wide[4] = {0}, x[2] = {a, 0}, y[2] = {b, 0}, p[2] = {NAIVE_P, 1};
        nd_gf2_mul(x, y, 2, wide);
        nd_gf2_mod(wide, 4, p, 2);
        CHECK(nd_gf2_mulmod64(a, b, NAIVE_P) == wide[0] && !wide[1] && !wide[2] && !wide[3], "mulmod64");
    }
}

/* ---- rabin */

static uint64_t irreducible_low(unsigned degree)
{
    uint64_t p[2], scratch[8], state = degree;
    const size_t n = degree / 64 + 1;
    do
        nd_gf2_candidate(&state, degree, p);
    while (!nd_gf2_irreducible(p, n, scratch));
    return degree == 64 ? p[0] : p[0] ^ UINT64_C(1) << degree;
}

static void check_whole_strings(const nd_rabin *r, uint64_t low)
{
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (size_t offset = 0; offset < (LENGTHS[l] <= 130 ? 64 : 9); offset++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l];
                uint8_t *b = guarded(0, side, n, offset);
                memcpy(b, input[side], n);
                static uint64_t expected[2][LENGTH_COUNT][65], known[2][LENGTH_COUNT][65];
                if (known[side][l][r->degree] != low + 1) {
                    known[side][l][r->degree] = low + 1;
                    expected[side][l][r->degree] = naive_mod(low, r->degree, b, n, r->degree);
                }
                const uint64_t value = nd_rabin_value(r, nd_rabin_bytes(r, 0, b, n));
                CHECK(value == expected[side][l][r->degree], "degree %u, %zu bytes at %zu", r->degree, n, offset);
                const size_t cut = n ? random_below(n + 1) : 0;
                const uint64_t first = nd_rabin_bytes(r, 0, b, cut), rest = nd_rabin_bytes(r, 0, b + cut, n - cut);
                CHECK(nd_rabin_value(r, nd_rabin_bytes(r, first, b + cut, n - cut)) == value, "in two parts");
                CHECK((nd_rabin_shift(r, nd_rabin_value(r, first), n - cut) ^ nd_rabin_value(r, rest)) == value,
                      "concat, degree %u, %zu + %zu bytes", r->degree, cut, n - cut);
                CHECK(nd_rabin_state(r, value) == nd_rabin_bytes(r, 0, b, n), "a value is a state");
            }
}

static void check_sliding(const nd_rabin *r, uint64_t low)
{
    static const size_t windows[] = {1, 2, 7, 8, 9, 48, 64, 255, 256, 257};
    for (int l = 1; l < LENGTH_COUNT; l++)
        for (size_t k = 0; k < 11; k++) {
            const size_t n = LENGTHS[l], window = k < 10 ? windows[k] : n;
            if (window > n || (n > 600 && window > 9))
                continue;
            for (size_t offset = 0; offset < 3; offset++)
                for (int side = FRONT; side <= BACK; side++) {
                    const size_t m = n - window + 1;
                    uint8_t *b = guarded(0, side, n, offset);
                    uint64_t *out = guarded(1, side, 8 * m, 0);
                    memcpy(b, input[side], n);
                    nd_rabin_byte_window w;
                    nd_rabin_byte_window_init(&w, r, window);
                    nd_rabin_sliding(r, &w, window, b, n, out);
                    for (size_t i = 0; i < m; i += n > 200 ? 1 + random_below(n / 20) : 1)
                        CHECK(out[i] == naive_mod(low, r->degree, b + i, window, r->degree),
                              "degree %u, window %zu at %zu of %zu", r->degree, window, i, n);
                    CHECK(untouched_around(1, out, 8 * m), "nd_rabin_sliding keeps to its array");
                }
        }
    for (size_t window = 1; window <= 17; window++)    /* every division of few windows among chains */
        for (size_t m = 1; m <= 33; m++) {
            const size_t n = window + m - 1;
            uint8_t *b = guarded(0, BACK, n, 0);
            uint64_t *out = guarded(1, BACK, 8 * m, 0);
            memcpy(b, input[1] + m, n);
            nd_rabin_byte_window w;
            nd_rabin_byte_window_init(&w, r, window);
            nd_rabin_sliding(r, &w, window, b, n, out);
            for (size_t i = 0; i < m; i++)
                CHECK(out[i] == naive_mod(low, r->degree, b + i, window, r->degree),
                      "degree %u, window %zu at %zu, %zu windows", r->degree, window, i, m);
        }
}

/* Every window × every division of few windows among chains. */
static void check_divisions(const nd_rabin *r, uint64_t low, const char *variant)
{
    for (size_t window = 1; window <= 40; window++)
        for (size_t m = 1; m <= 33; m++) {
            const size_t n = window + m - 1;
            const int side = (window + m) % 2 ? FRONT : BACK;
            uint64_t *s = guarded(0, side, 8 * n, 0), *out = guarded(1, side, 8 * m, 0);
            fill_random((uint8_t *)s, 8 * n);
            nd_rabin_symbol_window w;
            nd_rabin_symbol_window_init(&w, r, window);
            nd_rabin_symbols(r, &w, window, s, n, out);
            for (size_t i = 0; i < m; i++)
                CHECK(out[i] == naive_words(low, s + i, window), "%s: symbol window %zu at %zu, %zu windows", variant, window,
                      i, m);
            CHECK(untouched_around(1, out, 8 * m), "nd_rabin_symbols keeps to its array");
        }
}

static void test_symbol_windows(const char *variant)
{
    static nd_rabin r[1];
    const uint64_t low = NAIVE_P;
    nd_rabin_init(r, low, 64);
    check_divisions(r, low, variant);
    static const size_t windows[] = {1, 2, 3, 5, 8, 9, 10, 20, 21, 31, 32, 33};
    for (int l = 1; l < LENGTH_COUNT && LENGTHS[l] <= 1025; l++)
        for (size_t k = 0; k < 13; k++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l], window = k < 12 ? windows[k] : n;
                if (window > n || (window > 64 && n > 257))
                    continue;
                const size_t m = n - window + 1;
                uint64_t *s = guarded(0, side, 8 * n, 8 * (n % 5)), *out = guarded(1, side, 8 * m, 0);
                for (size_t i = 0; i < n; i++)
                    s[i] = random64() >> 8 * random_below(8);
                nd_rabin_symbol_window w;
                nd_rabin_symbol_window_init(&w, r, window);
                nd_rabin_symbols(r, &w, window, s, n, out);
                for (size_t i = 0; i < m; i += n > 64 ? 1 + random_below(n / 16) : 1)
                    CHECK(out[i] == naive_words(low, s + i, window), "%s: symbol window %zu at %zu of %zu", variant, window, i, n);
                CHECK(nd_rabin_words(r, s, n) == naive_words(low, s, n), "%zu words", n);
                CHECK(untouched_around(1, out, 8 * m), "nd_rabin_symbols keeps to its array");
            }
}

static void test_rabin(void)
{
    static const unsigned degrees[] = {1, 2, 7, 8, 9, 31, 32, 53, 63, 64};
    static nd_rabin r;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        const uint64_t low = irreducible_low(degrees[i]);
        nd_rabin_init(&r, low, degrees[i]);
        for (unsigned j = 0; j < 8; j++)           /* the tables: v·x^(64+8j) mod P·x^(64−d), top bits d */
            for (unsigned v = 0; v < 256; v += 1 + v / 16) {
                uint8_t b[9] = {(uint8_t)v};
                CHECK(nd_rabin_value(&r, r.push[j][v]) == naive_mod(low, degrees[i], b, j + 1, degrees[i]),
                      "push[%u][%u], degree %u", j, v, degrees[i]);
            }
        check_whole_strings(&r, low);
        check_sliding(&r, low);
    }
    CHECK(nd_rabin_words(&r, NULL, 0) == 0, "no words");
}

/* ---- text */

static size_t read_all(nd_unit unit, const uint8_t *text, size_t n, size_t cap, uint64_t *out, uint8_t *tape,
                       nd_text *reading)
{
    size_t count = 0, got;
    uint64_t *some = guarded(7, BACK, 8 * cap, 0);
    nd_text_open(reading, unit, naive_tokens(), text, n, tape);
    while ((got = nd_units_read(reading, some, cap))) {
        CHECK(got <= cap && count + got <= n + 1, "%zu symbols where %zu are asked for", got, cap);
        if (got > cap || count + got > n + 1)
            break;
        memcpy(out + count, some, 8 * got);
        count += got;
    }
    CHECK(nd_units_read(reading, some, cap) == 0, "nothing comes after the end");
    return count;
}

/* However it is cut into calls, and with or without a tape: the naive tokens. */
static void check_reading(nd_unit unit, const uint8_t *given, size_t n, int side, int every_cap)
{
    static uint64_t out[2 * LONGEST];
    uint8_t *text = guarded(0, side, n, 0);
    memcpy(text, given, n);
    naive_text expected = naive_read(unit, text, n);
    CHECK(expected.taped <= nd_text_tape_size(n), "tape of %zu bytes of unit %d: %zu", n, unit, expected.taped);
    CHECK(unit != ND_WORD || expected.count <= n / 2 + 1, "two words of a byte each have one between");
    const size_t most = expected.count + 2;
    for (size_t cap = 1; cap <= most; cap += every_cap ? 1 : cap < 30 ? 1 + cap : cap < 36 ? 1 : 2 * cap)
        for (int taped = 0; taped < 2; taped++) {
            nd_text reading;
            uint8_t *tape = taped ? guarded(1, BACK, nd_text_tape_size(n), 0) : NULL;
            const size_t count = read_all(unit, text, n, cap, out, tape, &reading);
            CHECK(count == expected.count, "unit %d, %zu bytes, cap %zu: %zu of %zu", unit, n, cap, count, expected.count);
            CHECK(count == expected.count && (!count || memcmp(out, expected.symbols, 8 * count) == 0),
                  "symbols of unit %d, %zu bytes, cap %zu", unit, n, cap);
            CHECK(reading.invalid == expected.invalid, "invalid bytes");
            if (!taped)
                continue;
            const size_t length = (size_t)(reading.tape - tape);
            CHECK(length == expected.taped && (!length || memcmp(tape, expected.tape, length) == 0), "tape");
            const size_t again = read_all(ND_TOKENS, tape, length, cap, out, NULL, &reading);
            CHECK(again == expected.count && (!again || memcmp(out, expected.symbols, 8 * again) == 0), "the tape read");
        }
    naive_close(&expected);
}

static const char *const TEXTS[] = {
    "", "a", " ", "_", "a_b", "don't STOP", "\xC3\x89t\xC3\xA9", "3\xE4\xBA\xBA""abc", "\xE7\xAC\xAC""3\xE7\xAB\xA0",
    "a\xCC\x81\xCC\x81 \xCC\x81""b", "\xE4\xBA\xBA\xCC\x81\xE3\x80\x85\xE4\xBA\xBA", "\xE3\x81\x82\xE3\x83\xBC\xE3\x83\xBC""a",
    "a\xE2\x80\x8B""b\xC2\xAD""c", "\xEF\xBB\xBF""bom", "a\xFF""b", "\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xE2\x82", "x\xF0\x9F",
    "\xC8\xBA\xC8\xBA\xC8\xBA\xC8\xBA", "\xE1\xBA\x9E\xC4\xB0\xE2\x84\xAA", "\xF0\x90\x90\x80\xF0\x9D\x9F\x98",
    " a \r\n\r\n\tb\v\n\fc\r", "\n\r\n\r", "aaaaaaaa aaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xCC\x81\xE2\x80\x8D\xF0\x9F\x91\xA7", "\xF0\x9F\x91\xA9\xE2\x80\x8D",
    "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xAB", "\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7\xE0\xA4\xBF", "\xE0\xA5\x8D\xE2\x80\x8D",
    "\xE0\xA4\x95\xE2\x80\x8C\xE0\xA5\x8D\xE0\xA4\xB7", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xEA\xB0\x80\xEA\xB0\x81\xE1\x86\xA8",
    "\xD8\x80\xD9\xA1", "\xD8\x80\n\r\n", "\xE0\xB8\x81\xE0\xB8\xB2\xE0\xB8\xA3", "\xE3\x80\x85""a\xE3\x80\x85\xE3\x80\x85", "\xCB\x87\xE4\xBA\xBA\xCB\x87""b\xCB\x87",
};

static size_t random_text(uint8_t *out, size_t n)   /* pieces of TEXTS, code points, bytes; may end within a sequence */
{
    size_t length = 0;
    while (length < n) {
        uint8_t piece[64];
        size_t size;
        const char *some = TEXTS[random_below(sizeof TEXTS / sizeof *TEXTS)];
        switch (random_below(5)) {
        case 0:  size = naive_encode((uint32_t)random_below(0x110000), piece); break;
        case 1:  size = naive_encode((uint32_t)random_below(0x3100), piece); break;
        case 2:  piece[0] = (uint8_t)random64(); size = 1; break;
        case 3:  piece[0] = "aB 0,_"[random_below(6)]; size = 1; break;
        default: size = strlen(some); memcpy(piece, some, size); break;
        }
        size = size < n - length ? size : n - length;
        memcpy(out + length, piece, size);
        length += size;
    }
    return length;
}

static void random_prose(uint8_t *out, size_t n)   /* ASCII words of all lengths, now and then something else */
{
    for (size_t i = 0; i < n;) {
        const size_t length = random_below(8) ? 1 + random_below(9) : 1 + random_below(90);
        for (size_t j = 0; j < length && i < n; j++)
            out[i++] = (uint8_t)"etaoinSHRDLU0123456789zZ"[random_below(24)];
        if (i < n && random_below(12) == 0)
            i += random_text(out + i, n - i < 7 ? n - i : random_below(7));
        else if (i < n)
            out[i++] = (uint8_t)" \n.,'_@[`{/:\x7F"[random_below(14)];
    }
}

/* Code points of a script, [from, to), or of one that goes with it, with blanks: words of all lengths. */
static const uint32_t SCRIPTS[][4] = {
    {0x430, 0x450, 0x410, 0x430}, {0x3B1, 0x3CA, 0x1F00, 0x2000}, {0x905, 0x93A, 0x93A, 0x970}, {0x4E00, 0x4E80, 0x3000, 0x3040},
    {0x9FC0, 0xA040, 0x3400, 0x3500}, {0x3041, 0x30FF, 0x4E00, 0x9FFF}, {0xE01, 0xE4F, 0x61, 0x7B}, {0xAC00, 0xB000, 0xFF00, 0xFFFF},
    {0x61, 0x7B, 0xC0, 0x180}, {0x61, 0x7B, 0x1E00, 0x1F00}, {0x41, 0x5B, 0x300, 0x370}, {0x7F0, 0x810, 0x7F, 0x90},
    {0x10400, 0x10450, 0x20000, 0x20100}, {0x600, 0x700, 0x200B, 0x2060},
};
enum { SCRIPT_COUNT = sizeof SCRIPTS / sizeof *SCRIPTS };

static uint32_t random_letter(const uint32_t *script)
{
    const size_t of = random_below(5) ? 0 : 2;
    return random_below(7) ? script[of] + (uint32_t)random_below(script[of + 1] - script[of]) : ' ';
}

static void random_script(uint8_t *out, size_t n)   /* changes now and then; may end within a sequence */
{
    size_t script = random_below(SCRIPT_COUNT);
    for (size_t i = 0, size; i < n; i += size) {
        uint8_t piece[4];
        if (random_below(40) == 0)
            script = random_below(SCRIPT_COUNT);
        size = naive_encode(random_letter(SCRIPTS[script]), piece);
        memcpy(out + i, piece, size < n - i ? size : n - i);
    }
}

static const nd_unit UNITS[] = {ND_WORD, ND_CHAR, ND_GRAPHEME, ND_LINE, ND_BYTE};
enum { UNIT_COUNT = sizeof UNITS / sizeof *UNITS, DECODED = 3 };   /* the first ones read code points */

static void test_reading(const char *variant)
{
    static uint8_t text[LONGEST];
    const size_t failed = checks_failed;
    for (size_t u = 0; u < UNIT_COUNT; u++)
        for (int side = FRONT; side <= BACK; side++) {
            for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
                check_reading(UNITS[u], (const uint8_t *)TEXTS[i], strlen(TEXTS[i]), side, 1);
            check_reading(UNITS[u], (const uint8_t *)"\0a\0\0\x01\0\0\0\0\0\0\0\0", 13, side, 1);
            for (int l = 0; l < LENGTH_COUNT; l++)
                for (int kind = 0; kind < 12; kind++) {
                    const size_t n = LENGTHS[l];
                    if (kind >= 8)
                        random_script(text, n);
                    else if (kind < 2)
                        memcpy(text, input[kind & 1] + l, n);
                    else if (kind < 4)
                        random_text(text, n);
                    else
                        random_prose(text, n);
                    check_reading(UNITS[u], text, n, side, n <= 65 || (UNITS[u] == ND_WORD && n <= 257));
                }
        }
    CHECK(checks_failed == failed, "the checks above failed under text=%s", variant);
}

/* A byte that is wrong, or that makes another sequence, at every place of a text of one script; every end. */
static void test_damage(const char *variant)
{
    static const uint8_t BYTES[] = {0x00, ' ', 'Z', 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF};
    const size_t failed = checks_failed;
    uint8_t text[40], damaged[40];
    for (size_t script = 0; script < SCRIPT_COUNT; script++) {
        for (size_t i = 0, size; i < sizeof text; i += size) {
            uint8_t piece[4];
            size = naive_encode(random_letter(SCRIPTS[script]), piece);
            memcpy(text + i, piece, size < sizeof text - i ? size : sizeof text - i);
        }
        for (size_t at = 0; at < sizeof text; at++) {
            check_reading(ND_WORD, text, at, at & 1 ? FRONT : BACK, 1);
            for (size_t b = 0; b < sizeof BYTES; b++) {
                memcpy(damaged, text, sizeof text);
                damaged[at] = BYTES[b];
                check_reading(ND_WORD, damaged, sizeof text, BACK, b == at % sizeof BYTES);
            }
        }
    }
    CHECK(checks_failed == failed, "the checks above failed under text=%s", variant);
}

/* Text that is changed while it is read: any symbols, but no more of them than bytes, none read from outside of the text, and
 * no more on the tape than its bound. */
static void test_changing_text(const char *variant)
{
    static const char *const pool[] = {"abcdefgh", "a b c d ", "\0\0\0\0\0\0\0\0", "ABC\xC3\xA9xyz", "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9",
                                       "\xE6\xBC\xA2\xE5\xAD\x97 a", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\xEA\xAF\xA3\xC3\x89\xEF\xBD\xA1",
                                       "\xF0\x9F\x98\x80\xC3\x80\r\n", "\xE0\xA4\x95\xE0\xA5\x8D\xC2\xAD"};
    enum { POOL = sizeof pool / sizeof *pool, ROUNDS = 1500 };
    static const size_t lengths[] = {72, 136, 1024};
    uint64_t values[POOL];
    for (int i = 0; i < POOL; i++)
        memcpy(&values[i], pool[i], 8);
    for (int l = 0; l < 3; l++)
        for (int unit = 0; unit < 5; unit++)
            for (int few = 0; few < 2; few++) {
                const size_t n = lengths[l];
                uint8_t *text = guarded(0, BACK, n, 0), *tape = guarded(1, BACK, nd_text_tape_size(n), 0);
                uint64_t *out = guarded(2, BACK, 8 * n, 0);
                for (size_t i = 0; i < n; i += 8)
                    memcpy(text + i, pool[0], 8);
                const changing c = {(uint64_t *)(void *)(few ? text + n - 8 : text), few ? 1 : n / 8, values, POOL};
                const pthread_t thread = begin_changing(&c);
                size_t most = 0, longest = 0;
                for (int round = 0; round < ROUNDS; round++) {
                    nd_text t;
                    size_t total = 0, got;
                    nd_text_open(&t, UNITS[unit], naive_tokens(), text, n, round & 1 ? tape : NULL);
                    while (total < n && (got = nd_units_read(&t, out + total, n - total)))
                        total += got;
                    most = total > most ? total : most;
                    if (round & 1 && (size_t)(t.tape - tape) > longest)
                        longest = (size_t)(t.tape - tape);
                }
                end_changing(thread);
                CHECK(most <= n && longest <= nd_text_tape_size(n), "%s: changing text", variant);
                CHECK(untouched_around(1, tape, nd_text_tape_size(n)) && untouched_around(2, out, 8 * n), "%s: around it", variant);
            }
}

static void test_text_variant(const char *variant)
{
    test_reading(variant);
    test_damage(variant);
    test_changing_text(variant);
}

/* Strings in units of 1, 2 and 4 bytes, between guard pages: the bytes of the naive encoder and no others. */
static void test_utf8(void)
{
    static uint8_t expected[4 * 600];
    for (size_t round = 0; round < 4000; round++) {
        const size_t n = round < 300 ? round % 50 : random_below(round % 10 ? 60 : 600), shift = round % 3;
        const uint32_t *script = SCRIPTS[random_below(SCRIPT_COUNT)], most = shift == 2 ? 0x10FFFF : shift ? 0xFFFF : 0xFF;
        uint8_t *points = guarded(0, BACK, n << shift, 0);
        size_t size = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t c = random_below(25) ? random_letter(script) : (uint32_t)random_below(0x110000) >> random_below(16);
            c &= c > most ? most >> 1 : most;
            if (shift == 0)
                points[i] = (uint8_t)c;
            else if (shift == 1)
                ((uint16_t *)(void *)points)[i] = (uint16_t)c;
            else
                ((uint32_t *)(void *)points)[i] = c;
            size += naive_encode(c, expected + size);
        }
        CHECK(nd_utf8_size(1u << shift, points, n) == size, "size of %zu units of %d bytes", n, 1 << shift);
        uint8_t *out = guarded(1, round & 4 ? FRONT : BACK, size, 0);
        CHECK(nd_utf8(1u << shift, points, n, out) == size, "length of %zu units of %d bytes", n, 1 << shift);
        CHECK(size == 0 || memcmp(out, expected, size) == 0, "UTF-8 of %zu units of %d bytes", n, 1 << shift);
        CHECK(untouched_around(1, out, size), "bytes around the UTF-8 of %zu units of %d bytes", n, 1 << shift);
    }
}

static void test_code_points(void)
{
    for (uint32_t c = 0; c < 0x110000; c++) {       /* every code point: coding, folding, tape, bounds */
        uint8_t b[4] = {0}, e[4] = {0}, pair[16];
        uint32_t back = 0, naive_back = 0;
        const int surrogate = c - 0xD800 < 0x800;
        const size_t n = nd_utf8_encode(c, b), m = naive_encode(c, e);
        const size_t taken = nd_utf8_decode(b, b + n, &back), naive_taken = naive_decode(b, n, &naive_back);
        if (n != m || memcmp(b, e, 4) || taken != (surrogate ? 0 : n) || taken != naive_taken || (taken && back != c))
            CHECK(0, "coding of U+%04X", (unsigned)c);
        for (size_t cut = 1; cut < n; cut++)
            if (nd_utf8_decode(b, b + cut, &back))
                CHECK(0, "U+%04X cut to %zu bytes", (unsigned)c, cut);
        if (surrogate)
            continue;
        const nd_code_point as = ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]];
        const int spaceless = as.kind == ND_KIND_SPACELESS || as.kind == ND_KIND_SPACELESS_TAIL;
        if (nd_text_fold(c) >= 0x110000 || nd_text_fold(nd_text_fold(c)) != nd_text_fold(c) || (spaceless && n < 3))
            CHECK(0, "table of U+%04X", (unsigned)c);
        memcpy(pair, b, n);
        memcpy(pair + n, b, n);
        for (size_t u = 0; u < DECODED && (c < 0x3400 || c % 97 == 0); u++) {
            uint64_t out[4];
            uint8_t *tape = guarded(1, BACK, nd_text_tape_size(2 * n), 0);
            nd_text t;
            naive_text expected = naive_read(UNITS[u], pair, 2 * n);
            nd_text_open(&t, UNITS[u], naive_tokens(), pair, 2 * n, tape);
            size_t count = 0, got;
            while ((got = nd_units_read(&t, out, 4)))
                count += got;
            if (count != expected.count || (size_t)(t.tape - tape) != expected.taped
                || (count && memcmp(tape, expected.tape, expected.taped)))
                CHECK(0, "U+%04X twice, unit %d", (unsigned)c, (int)UNITS[u]);
            naive_close(&expected);
        }
    }
    CHECK(1, "all code points");
    for (uint32_t s = 0; s < 1 << 16; s++)           /* all 3-byte strings on the edges of table 3-7 */
        for (size_t n = 1; n <= 4; n++) {
            static const uint8_t EDGES[16] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                              0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5};
            uint32_t c = 0, d = 0;
            uint8_t b[4] = {EDGES[s >> 12], EDGES[s >> 8 & 15], EDGES[s >> 4 & 15], EDGES[s & 15]};
            const size_t a = nd_utf8_decode(b, b + n, &c), e = naive_decode(b, n, &d);
            if (a != e || (a && c != d))
                CHECK(0, "%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
        }
    for (int l = 0; l < LENGTH_COUNT && LENGTHS[l] <= 257; l++)
        for (int kind = 0; kind < 4; kind++) {
            const size_t n = LENGTHS[l];
            uint8_t *token = guarded(0, BACK, n, 0);
            memcpy(token, input[kind & 1] + kind, n);
            if (kind == 2 && n)
                memset(token, 0, n);
            if (kind >= 2 && n)
                token[0] = kind == 2;
            CHECK(nd_symbol(naive_tokens(), token, n) == naive_symbol(NAIVE_Q, token, n), "symbol of %zu bytes, %d", n, kind);
        }
}

static void test_other_token_polynomials(void)
{
    static const uint64_t LOWS[] = {NAIVE_Q, NAIVE_P, 1, UINT64_MAX};
    static nd_text_table table, expected;
    uint64_t out[1];
    for (size_t i = 0; i < 4; i++) {
        nd_text_table_init(&table, LOWS[i]);
        CHECK(memcmp(&table, naive_table(LOWS[i], &expected), sizeof table) == 0, "table of polynomial %zu", i);
        for (size_t n = 0; n < 64; n++) {
            uint8_t *token = guarded(0, BACK, n, 0), *word = guarded(1, BACK, n + 1, 0);
            memcpy(token, input[1], n);
            const uint64_t symbol = naive_symbol(LOWS[i], token, n);
            CHECK(nd_symbol(&table, token, n) == symbol, "symbol of %zu bytes, polynomial %zu", n, i);
            memset(word, 'q', n + 1);                  /* the words of ASCII are reduced elsewhere */
            nd_text t;
            nd_text_open(&t, ND_WORD, &table, word, n + 1, NULL);
            CHECK(nd_units_read(&t, out, 1) == 1 && *out == naive_symbol(LOWS[i], word, n + 1), "word, polynomial %zu", i);
        }
    }
}

/* ---- nfkc */

static size_t normal(const uint8_t *text, size_t n, int remove, int side, uint8_t **out)
{
    uint8_t *in = guarded(0, side, n, 0);
    const size_t half = nd_nfkc_scratch_size(n);
    uint32_t *scratch = guarded(1, side, 8 * half, 0);
    memcpy(in, text, n);
    *out = guarded(2, side, nd_nfkc_out_size(n), 0);
    const size_t length = nd_nfkc(in, n, remove, scratch, *out);
    CHECK(length <= nd_nfkc_out_size(n) && untouched_around(2, *out, nd_nfkc_out_size(n)),
          "normal form of %zu bytes: %zu", n, length);
    int has_mark = 0;      /* the second half of scratch is for runs of marks, not for what overflows the first */
    for (size_t i = 0; i < n; i++)
        has_mark |= in[i] == 0xCC;
    CHECK(has_mark || n > 900 || scratch[half] == 0xA5A5A5A5, "the scratch of %zu bytes overflows", n);
    return length;
}

static void check_normal(const char *text, const char *expected, int remove)
{
    uint8_t *out;
    const size_t n = normal((const uint8_t *)text, strlen(text), remove, BACK, &out);
    CHECK(n == strlen(expected) && memcmp(out, expected, n) == 0, "normal form of %s: %.*s", text, (int)n, (char *)out);
}

/* Cut before any ASCII byte, the parts give the whole; as many 0xFF come out as invalid bytes went in. */
static void check_cuts(const uint8_t *text, size_t n, int remove)
{
    static uint8_t whole[12 * LONGEST + 36];
    uint8_t *out;
    size_t marks = 0, invalid = 0;
    const size_t length = normal(text, n, remove, BACK, &out);
    memcpy(whole, out, length);
    for (size_t i = 0; i < length; i++)
        marks += whole[i] == 0xFF;
    for (size_t i = 0; i < n;) {
        uint32_t c;
        const size_t taken = naive_decode(text + i, n - i, &c);
        invalid += taken == 0;
        i += taken ? taken : 1;
    }
    CHECK(marks == invalid, "invalid bytes of a text of %zu: %zu, %zu", n, invalid, marks);
    for (size_t cut = 0, tried = 0; cut < n && tried < 12; cut++) {
        if (text[cut] >= 0x80)
            continue;
        tried++;
        const size_t first = normal(text, cut, remove, FRONT, &out);
        const int same = first <= length && memcmp(out, whole, first) == 0;
        const size_t second = normal(text + cut, n - cut, remove, BACK, &out);
        CHECK(same && first + second == length && memcmp(out, whole + first, second) == 0, "cut at %zu of %zu", cut, n);
    }
}

static uint8_t class_of(uint32_t c) { return ND_CCC_STAGE2[ND_CCC_STAGE1[c >> 8]][c & 255]; }

static void check_marks(size_t n)   /* q and marks that compose with nothing: sorted stably by class */
{
    static uint8_t text[4 * 600], expected[4 * 600];
    static uint32_t marks[600];
    for (size_t i = 0; i < n; i++)
        do
            marks[i] = 0x300 + (uint32_t)random_below(0x70);
        while ((marks[i] >= 0x340 && marks[i] <= 0x345) || marks[i] == 0x34F || class_of(marks[i]) == 0);
    size_t length = 1, sorted = 1;
    text[0] = expected[0] = 'q';
    for (size_t i = 0; i < n; i++)
        length += naive_encode(marks[i], text + length);
    for (size_t pass = 0; pass < n; pass++)
        for (size_t i = 1; i < n; i++)
            if (class_of(marks[i - 1]) > class_of(marks[i])) {
                const uint32_t swap = marks[i];
                marks[i] = marks[i - 1];
                marks[i - 1] = swap;
            }
    for (size_t i = 0; i < n; i++)
        sorted += naive_encode(marks[i], expected + sorted);
    uint8_t *out;
    const size_t got = normal(text, length, 0, BACK, &out);
    CHECK(got == sorted && memcmp(out, expected, got) == 0, "a run of %zu marks", n);
}

static void test_nfkc(void)
{
    check_normal("", "", 0);
    check_normal("\xE2\x84\xAB\xEF\xAC\x81", "\xC3\xA5" "fi", 0);                    /* U+212B U+FB01 */
    check_normal("A\xCC\x8A", "\xC3\xA5", 0);                                       /* A and ring above */
    check_normal("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81", 0);         /* L V T: one syllable */
    check_normal("q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87", 0);                       /* dots: below before above */
    check_normal("a\xCC\x85\xCC\x81", "a\xCC\x85\xCC\x81", 0);                       /* an overline blocks the acute */
    check_normal("a\xCC\xA7\xCC\x81", "\xC3\xA1\xCC\xA7", 0);                       /* a cedilla does not */
    check_normal("a\xFF\xCC\x81", "a\xFF\xCC\x81", 0);                               /* an invalid byte bounds */
    check_normal("a\xC2\xAD\xCC\x81", "\xC3\xA1", 1);                                /* soft hyphen removed, or kept */
    check_normal("a\xC2\xAD\xCC\x81", "a\xC2\xAD\xCC\x81", 0);
    static uint8_t text[LONGEST];
    for (uint32_t c = 0; c < 0x110000; c++) {
        uint8_t b[8], *out;
        const size_t n = naive_encode(c, b);
        if (c - 0xD800 < 0x800 || (c > 0x30000 && c % 61))
            continue;
        memcpy(b + n, b, n);
        const size_t once = normal(b, n, 0, BACK, &out);
        if (nd_nfkc_out_size(n) - 36 < once)
            CHECK(0, "U+%04X takes %zu bytes: the bound is not per byte", (unsigned)c, once);
        if (c < 0x3400)
            normal(b, 2 * n, 1, BACK, &out);
    }
    for (int side = FRONT; side <= BACK; side++)
        for (size_t n = 0; n <= 300; n += n < 6 ? 1 : 49) {  /* the longest decomposition, n times */
            uint8_t *out;
            for (size_t i = 0; i < n; i++)
                memcpy(text + 3 * i, "\xEF\xB7\xBA", 3);
            CHECK(normal(text, 3 * n, 0, side, &out) == 33 * n, "%zu times U+FDFA", n);
        }
    for (size_t n = 0; n <= 40; n++)
        check_marks(n);
    check_marks(599);
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (int remove = 0; remove < 2; remove++) {
            random_text(text, LENGTHS[l]);
            check_cuts(text, LENGTHS[l], remove);
            check_cuts(input[1], LENGTHS[l], remove);
        }
}

/* ---- minhash */

static void test_minima(const char *variant)
{
    static const size_t ks[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 84, 128, 257};
    static uint64_t a[300], b[300], expected[300];
    for (size_t q = 0; q < sizeof ks / sizeof *ks; q++)
        for (int l = 0; l < LENGTH_COUNT; l++) {
            const size_t k = ks[q], n = LENGTHS[l], offset = (size_t)l % 8;
            if (n > 600 && k > 84)
                continue;
            uint64_t key, state = 1 + n, check_key;
            nd_minhash_coefficients(1 + n, k, &key, a, b);
            check_key = nd_splitmix64(&state);
            for (size_t i = 0; i < k; i++) {
                const uint64_t ai = nd_splitmix64(&state) | 1, bi = nd_splitmix64(&state);
                if (a[i] != ai || b[i] != bi || key != check_key)
                    CHECK(0, "coefficient %zu", i);
            }
            uint64_t *f = guarded(0, l % 2, 8 * n, 8 * offset);
            uint32_t *a32 = guarded(1, BACK, 4 * k, 4 * offset), *b32 = guarded(2, BACK, 4 * k, 0);
            uint32_t *out32 = guarded(3, BACK, 4 * k, 4 * (offset / 2)), *front32 = guarded(4, FRONT, 4 * k, 4 * offset);
            uint64_t *out64 = guarded(5, BACK, 8 * k, 0);
            for (size_t i = 0; i < n; i++)
                f[i] = random64();
            if (k) {
                memset(out32, 0xFF, 4 * k);
                memset(front32, 0xFF, 4 * k);
                memset(out64, 0xFF, 8 * k);
            }
            for (size_t i = 0; i < k; i++) {
                a32[i] = (uint32_t)a[i];
                b32[i] = (uint32_t)b[i];
            }
            const size_t cut = n ? random_below(n + 1) : 0;
            nd_minima32 in_one = {k, key, a32, b32, out32}, in_two = {k, key, a32, b32, front32};
            nd_minima64 wide = {k, key, a, b, out64};
            nd_minima32_take(&in_one, f, n);
            nd_minima32_take(&in_two, f, cut);
            nd_minima32_take(&in_two, f + cut, n - cut);
            nd_minima64_take(&wide, f, n);
            for (size_t i = 0; i < k; i++) {
                uint32_t least = UINT32_MAX;
                expected[i] = UINT64_MAX;
                for (size_t j = 0; j < n; j++) {
                    const uint64_t z = nd_fmix64(f[j] ^ key), h = a[i] * z + b[i];
                    const uint32_t h32 = (uint32_t)a[i] * (uint32_t)(z >> 32) + (uint32_t)b[i];
                    expected[i] = h < expected[i] ? h : expected[i];
                    least = h32 < least ? h32 : least;
                }
                if (out32[i] != least || front32[i] != least || out64[i] != expected[i])
                    CHECK(0, "%s: minimum %zu of %zu, %zu values", variant, i, k, n);
            }
            CHECK(untouched_around(3, out32, 4 * k) && untouched_around(4, front32, 4 * k)
                  && untouched_around(5, out64, 8 * k), "%s keeps to its array, k = %zu", variant, k);
        }
}

static void test_bottom(void)
{
    static const size_t sizes[] = {1, 2, 3, 7, 64, 200, 1000};
    static const unsigned shifts[] = {0, 24, 32, 56};
    static uint64_t expected[LONGEST];
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++)
        for (size_t h = 0; h < 4; h++)
            for (int l = 0; l < LENGTH_COUNT; l++)
                for (int order = 0; order < 4; order++) {
                    const size_t size = sizes[q], n = LENGTHS[l];
                    const uint64_t key = UINT64_C(0x123456789ABCDEF) * (1 + size);
                    const size_t early = size + (size_t)l % 5 * size / 2, room = nd_table_room(size);
                    nd_bottom b = {.size = size, .room = room, .early_size = early, .key = key, .shift = shifts[h],
                                   .table_key = table_key(order),
                                   .members = guarded(0, l % 2, 8 * size, 0), .table = guarded(1, BACK, 8 * room, 0),
                                   .early = guarded(3, l % 3 % 2, 24 * early, 0)};
                    uint64_t *f = guarded(2, BACK, 8 * n, 0);
                    for (size_t i = 0; i < n; i++)          /* repeats; key itself, whose permuted value is 0 */
                        f[i] = order == 0 ? random64() : order == 1 ? random_below(n) : i && i % 3 == 0 ? f[i / 2] : random64();
                    if (order == 3 && n)
                        f[n / 2] = f[n - 1] = key;
                    for (size_t i = 0; i < n; i++)
                        expected[i] = nd_fmix64(f[i] ^ key) >> shifts[h];
                    size_t kept = naive_set(expected, n);
                    kept = kept < size ? kept : size;
                    const size_t cut = n ? random_below(n + 1) : 0;
                    nd_bottom_open(&b);
                    nd_bottom_take(&b, f, cut);
                    nd_bottom_take(&b, f + cut, n - cut);
                    nd_bottom_close(&b);
                    CHECK(b.count == kept && (!kept || memcmp(b.members, expected, 8 * kept) == 0),
                          "MIN_%zu of %zu values, shift %u, order %d", size, n, shifts[h], order);
                    CHECK(untouched_around(0, b.members, 8 * size), "the heap keeps to its array");
                }
}

/* Round by round, every slot from every element. */
static void naive_fastsketch(const uint64_t *f, size_t n, uint64_t key, uint64_t t, uint32_t *out)
{
    for (uint64_t j = 0; j < t; j++) {
        int filled = 0;
        out[j] = UINT32_MAX;
        for (uint64_t i = 0; i < 2 * t && !filled && n; i++)
            for (size_t e = 0; e < n; e++) {
                const uint64_t z = nd_fmix64(f[e] ^ key);
                const uint64_t r = i ? nd_fmix64(z + i * UINT64_C(0x9E3779B97F4A7C15)) : z;
                if ((i < t ? (r >> 32) * t >> 32 : i - t) == j) {
                    out[j] = (uint32_t)r < out[j] ? (uint32_t)r : out[j];
                    filled = 1;
                }
            }
    }
}

static void test_fastsketch(const char *variant)
{
    static const uint64_t sizes[] = {1, 2, 7, 84, 300};     /* 300: several batches of one round */
    static uint16_t table[ND_FASTSKETCH_PLACES];
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++)
        for (int l = 0; l < LENGTH_COUNT && LENGTHS[l] <= (sizes[q] == 300 ? 1100 : 257); l++)
            for (int few = 0; few < 2; few++) {
                const size_t n = LENGTHS[l], t = sizes[q], room = n ? n : 1;
                const uint64_t key = UINT64_C(0xFEDCBA9876543210) + t;
                nd_fastsketch s = {.t = t, .key = key, .room = room, .slots = guarded(0, BACK, 8 * t, 0),
                                   .kept = guarded(1, BACK, 24 * room, 0), .coordinates = guarded(2, BACK, 4 * t, 0),
                                   .table = table};
                uint64_t *f = guarded(3, BACK, 8 * n, 0);
                uint32_t expected[300];
                for (size_t i = 0; i < n; i++)              /* key itself is mixed to 0 */
                    f[i] = few && i ? f[random_below(i)] : i == 5 ? key : random64();
                const size_t cut = n ? random_below(n + 1) : 0;
                naive_fastsketch(f, n, key, t, expected);
                nd_fastsketch_open(&s);
                nd_fastsketch_take(&s, f, cut);
                nd_fastsketch_take(&s, f + cut, n - cut);
                nd_fastsketch_close(&s);
                CHECK(memcmp(s.coordinates, expected, 4 * t) == 0, "%s: fast sketch, %zu coordinates of %zu values",
                      variant, t, n);
                CHECK(untouched_around(2, s.coordinates, 4 * t), "the fast sketch keeps to its array");
            }
}

static void test_minhash_variant(const char *variant)
{
    test_minima(variant);
    test_fastsketch(variant);
}

/* What is 0 modulo m, by division; order 3 makes half of the values multiples of 3·2^20. */
static void test_modsketch(const char *variant)
{
    static const uint64_t moduli[] = {0, 1, 2, 3, 24, 25, 64, UINT64_C(3) << 20, UINT64_C(1) << 63, UINT64_MAX};
    static uint64_t expected[LONGEST];
    for (size_t q = 0; q < sizeof moduli / sizeof *moduli; q++)
        for (int l = 0; l < LENGTH_COUNT; l++)
            for (int order = 0; order < 4; order++) {
                const size_t n = LENGTHS[l], size = l % 3 ? SIZE_MAX : 1 + n / 30;
                nd_mod s = {.mix = nd_minhash_mix, .key = 7 + q, .size = size, .adaptive = moduli[q] == 0,
                            .members = guarded(0, BACK, 8 * n, 0), .scratch = guarded(2, BACK, 8 * n, 0)};
                uint64_t *f = guarded(1, l % 2, 8 * n, 8 * (size_t)(l % 3)), m = moduli[q] ? moduli[q] : 1;
                for (size_t i = 0; i < n; i++)
                    f[i] = order == 0 ? random64() : order == 1 ? random_below(n) : i && i % 3 == 0 ? f[i / 2] : random64();
                for (size_t i = 0; order == 3 && i < n; i += 2)
                    f[i] = naive_unmix((UINT64_C(3) << 20) * random_below(4000)) ^ s.key;
                for (size_t level = n / 50; !moduli[q] && level > 1; level /= 2)
                    m *= 2;
                size_t count = 0;
                for (size_t i = 0; i < n; i++)
                    if (nd_fmix64(f[i] ^ s.key) % m == 0)
                        expected[count++] = nd_fmix64(f[i] ^ s.key);
                count = naive_set(expected, count);
                count = count < size ? count : size;
                const size_t cut = n ? random_below(n + 1) : 0;
                nd_mod_init(&s, moduli[q] ? moduli[q] : 1);
                for (int again = 0; again < 2; again++) {
                    nd_mod_open(&s);
                    nd_mod_take(&s, f, cut);
                    nd_mod_take(&s, f + cut, n - cut);
                    nd_mod_close(&s);
                    CHECK(s.count == count && (!count || memcmp(s.members, expected, 8 * count) == 0),
                          "%s: MOD of %zu values, modulus %zu, order %d", variant, n, q, order);
                }
                CHECK(!s.adaptive || UINT64_C(1) << s.twos == m, "%s: level %u of %zu values", variant, s.twos, n);
                CHECK(untouched_around(0, s.members, 8 * n), "%s: the sample keeps to its array", variant);
            }
}

/* ---- simhash */

enum { SIMHASH_KEY = 7 };

/* The fingerprint that π sends to z. */
static uint64_t unmixed(uint64_t z) { return naive_unmix(z) ^ SIMHASH_KEY; }

/* Bits whose V_b > 0; the weight of every feature is 1 where w is NULL. */
static uint64_t naive_simhash(const uint64_t *f, const int32_t *w, size_t n)
{
    uint64_t value = 0;
    for (unsigned b = 0; b < 64; b++) {
        int64_t v = 0;
        for (size_t i = 0; i < n; i++) {
            const int64_t weight = w ? w[i] : 1;
            v += nd_fmix64(f[i] ^ SIMHASH_KEY) >> b & 1 ? weight : -weight;
        }
        value |= (uint64_t)(v > 0) << b;
    }
    return value;
}

/* Half of the documents lean to some bits, so that counts are near n / 2 and at its ends. */
static void fill_features(uint64_t *f, size_t n)
{
    const uint64_t always = random64() & random64(), never = random64() & random64() & ~always;
    const int leaning = random64() & 1;
    for (size_t i = 0; i < n; i++)
        f[i] = leaning ? unmixed((random64() | always) & ~never) : i % 5 == 4 ? f[i - 4] : random64();
}

static nd_simhash_set *simhash_set(size_t room)
{
    static nd_simhash_set s;
    s.once.mix = nd_minhash_mix;
    s.once.key = SIMHASH_KEY;
    s.room = room;
    s.table_key = table_key((int)random_below(4));
    s.values = guarded(3, BACK, 8 * (room + nd_table_room(room)), 0);
    nd_simhash_set_open(&s);
    return &s;
}

static void test_equal_weights(const char *variant)
{
    static nd_simhash s;   /* one after another, and what one leaves does not reach the next */
    s.mix = nd_minhash_mix;
    s.key = SIMHASH_KEY;
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (int side = FRONT; side <= BACK; side++)
            for (int again = 0; again < 4; again++) {
                const size_t n = LENGTHS[l], cut = random_below(n + 1);
                uint64_t *f = guarded(0, side, 8 * n, 8 * (size_t)again);
                fill_features(f, n);
                nd_simhash_open(&s);
                nd_simhash_take(&s, f, cut);
                nd_simhash_take(&s, f + cut, n - cut);
                CHECK(nd_simhash_value(&s) == naive_simhash(f, NULL, n), "%s: %zu + %zu features", variant, cut, n - cut);
                CHECK(s.features == n, "%s: features are counted", variant);
                nd_simhash_set *set = simhash_set(n);
                nd_simhash_set_take(set, f, cut);
                nd_simhash_set_take(set, f + cut, n - cut);
                const uint64_t value = nd_simhash_set_value(set);
                const size_t distinct = naive_set(f, n);
                CHECK(value == naive_simhash(f, NULL, distinct), "%s: %zu distinct features of %zu", variant, distinct, n);
                CHECK(set->once.features == distinct, "%s: distinct features are counted", variant);
            }
    for (size_t n = 0; n < 200; n++) {    /* the threshold itself: m of n have all the bits */
        static uint64_t f[200];
        for (size_t m = 0; m <= n; m++) {
            for (size_t i = 0; i < n; i++)
                f[i] = unmixed(i < m ? UINT64_MAX : 0);
            nd_simhash_open(&s);
            nd_simhash_take(&s, f, n);
            CHECK(nd_simhash_value(&s) == (2 * m > n ? UINT64_MAX : 0), "%s: %zu of %zu", variant, m, n);
        }
    }
}

static void test_many_groups(const char *variant)   /* counts of more digits than the lengths above reach */
{
    enum { MANY = 300000 };
    static nd_simhash s;
    static uint64_t f[MANY];
    s.mix = nd_minhash_mix;
    s.key = SIMHASH_KEY;
    for (size_t i = 0; i < MANY; i++) {   /* bit b in MANY·b / 64 of them and more or less one: bit 32 in just half */
        uint64_t z = 0;
        for (unsigned b = 0; b < 64; b++)
            z |= (uint64_t)(i * 64 < (size_t)MANY * b + (b % 3) * 64) << b;
        f[i] = unmixed(z);
    }
    for (size_t i = MANY; i-- > 1;) {
        const size_t j = random_below(i + 1);
        const uint64_t other = f[i];
        f[i] = f[j];
        f[j] = other;
    }
    nd_simhash_open(&s);
    nd_simhash_take(&s, f, MANY);
    CHECK(nd_simhash_value(&s) == naive_simhash(f, NULL, MANY), "%s: %d features", variant, MANY);
    nd_simhash_open(&s);
    nd_simhash_take(&s, f, 3);
    CHECK(nd_simhash_value(&s) == naive_simhash(f, NULL, 3), "%s: few after many", variant);
}

static void test_weights(const char *variant)
{
    static const int32_t kinds[] = {1, 65536, (1 << 22) - 1, 1 << 22, 1 << 30, INT32_MAX};
    static nd_simhash_weighted s;
    s.mix = nd_minhash_mix;
    s.key = SIMHASH_KEY;
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (size_t k = 0; k < 6; k++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l], cut = random_below(n + 1);
                uint64_t *f = guarded(0, side, 8 * n, 0);
                int32_t *w = guarded(1, side, 4 * n, 4 * (l % 3));
                fill_features(f, n);
                for (size_t i = 0; i < n; i++) {
                    const int32_t size = k % 2 ? kinds[k] : (int32_t)random_below((size_t)kinds[k] + 1);
                    w[i] = random64() & 1 ? size : -size;
                }
                nd_simhash_weighted_open(&s);
                nd_simhash_weighted_add(&s, f, w, cut);
                nd_simhash_weighted_add(&s, f + cut, w + cut, n - cut);
                const uint64_t expected = naive_simhash(f, w, n);
                CHECK(nd_simhash_weighted_value(&s) == expected, "%s: %zu weights of up to %d", variant, n, kinds[k]);
                int any = 0;
                for (size_t i = 0; i < n; i++)
                    any |= w[i] != 0;
                CHECK(s.any == any, "%s: whether there is a weight", variant);
            }
    static uint64_t all[1025];
    static int32_t largest[1025];
    for (size_t i = 0; i < 1025; i++) {
        all[i] = unmixed(UINT64_MAX);
        largest[i] = INT32_MAX;
    }
    nd_simhash_weighted_open(&s);
    nd_simhash_weighted_add(&s, all, largest, 1025);
    CHECK(s.total == 1025 * (int64_t)INT32_MAX && s.sums[0] == s.total && s.sums[63] == s.total, "%s: exact sums", variant);
}

static void test_weight_table(void)
{
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (int32_t missing = -5; missing <= 5; missing += 5) {
            const size_t n = LENGTHS[l], room = nd_table_room(n);
            uint64_t *z = guarded(0, BACK, 16 * n + 8, 0);
            int32_t *w = guarded(1, BACK, 4 * n, 0), *out = guarded(2, BACK, 8 * n + 4, 0);
            for (size_t i = 0; i < n; i++) {
                z[i] = l % 2 ? random64() : i << (i % 2 ? 40 : 0);
                w[i] = (int32_t)random64() | 1;
            }
            for (size_t i = n; i < 2 * n + 1; i++)
                z[i] = l % 2 ? random64() : UINT64_C(1) << 63 | i << 40;
            nd_weights t = {guarded(3, FRONT, room * sizeof(nd_weight), 0), room, table_key(l % 4), missing};
            nd_weights_fill(&t, z, w, n);
            nd_weights_find(&t, z, 2 * n + 1, out);
            CHECK(n == 0 || memcmp(out, w, 4 * n) == 0, "%zu weights", n);
            for (size_t i = n; i < 2 * n + 1; i++)
                CHECK(out[i] == missing, "a weight that is missing");
            static nd_simhash_weighted s;
            s.mix = nd_minhash_mix;
            s.key = SIMHASH_KEY;
            s.table = &t;
            for (size_t i = 0; i < 2 * n + 1; i++)
                z[i] = unmixed(z[i]);
            nd_simhash_weighted_open(&s);
            nd_simhash_weighted_take(&s, z, 2 * n + 1);
            CHECK(nd_simhash_weighted_value(&s) == naive_simhash(z, out, 2 * n + 1), "weights of the table");
        }
}

static void test_counts(void)
{
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (size_t kinds = 1; kinds <= 1000; kinds *= 10) {
            const size_t n = LENGTHS[l];
            uint64_t *both[2], *values = guarded(4, BACK, 16 * n, 0), *scratch = guarded(5, BACK, 8 * n, 0);
            uint32_t *counts[2], *sums = guarded(6, BACK, 8 * n, 0);
            size_t m[2], total = 0;
            static uint64_t given[2 * LONGEST];
            for (int side = 0; side < 2; side++) {
                both[side] = guarded(side, BACK, 8 * n, 0);
                counts[side] = guarded(2 + side, BACK, 4 * n, 0);
                for (size_t i = 0; i < n; i++)
                    given[total++] = both[side][i] = nd_fmix64(random_below(kinds) + (side ? kinds / 2 : 0));
                m[side] = nd_weights_count(both[side], scratch, n, counts[side]);
            }
            const size_t merged = nd_weights_merge(both[0], counts[0], m[0], both[1], counts[1], m[1], values, sums);
            for (size_t i = 0; i < merged; i++) {
                uint32_t expected = 0;
                for (size_t j = 0; j < total; j++)
                    expected += given[j] == values[i];
                CHECK(sums[i] == expected && (i == 0 || values[i - 1] < values[i]), "count %zu of %zu", i, merged);
            }
            CHECK(merged == naive_set(given, total), "%zu distinct values", merged);
        }
}

/* ---- pairs */

static int entry_order(const void *a, const void *b)
{
    const nd_entry *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->id > y->id) - (x->id < y->id);
}

static void test_sorting(void)
{
    static const uint64_t masks[] = {~UINT64_C(0), 0, 0xFF, UINT64_C(0xFF) << 56, UINT64_C(0xFF0000FF00), 3, UINT64_C(1) << 63};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
        for (int l = 0; l < LENGTH_COUNT; l++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l];
                nd_entry *e = guarded(0, side, n * sizeof *e, 0), *scratch = guarded(1, side, n * sizeof *e, 0);
                nd_entry *expected = guarded(2, side, n * sizeof *e, 0);
                uint64_t *keys = guarded(3, side, 8 * n, 0), *spare = guarded(4, side, 8 * n, 0);
                uint64_t *expected_keys = guarded(5, side, 8 * n, 0);
                for (size_t i = 0; i < n; i++) {
                    e[i] = (nd_entry){random64() & masks[m], i};
                    keys[i] = expected_keys[i] = e[i].key;
                }
                if (n) {
                    memcpy(expected, e, n * sizeof *e);
                    qsort(expected, n, sizeof *e, entry_order);
                    qsort(expected_keys, n, 8, naive_order);
                }
                if (m % 2) {
                    nd_sorting s;
                    nd_sort_open(&s);
                    while (!nd_sort_entries_next(&s, e, scratch, n, 1 + random_below(n + 1))) {}
                } else
                    nd_sort_entries(e, scratch, n);
                nd_sort_words(keys, spare, n);
                CHECK(!n || memcmp(e, expected, n * sizeof *e) == 0, "%zu entries sorted stably, mask %zu", n, m);
                CHECK(!n || memcmp(keys, expected_keys, 8 * n) == 0, "%zu keys sorted, mask %zu", n, m);
            }
}

static void test_sets(void)
{
    for (int round = 0; round < 300; round++) {
        const size_t bags = random_below(12);
        int64_t *offsets = guarded(0, BACK, 8 * (bags + 1), 0), *out = guarded(1, BACK, 8 * (bags + 1), 0);
        size_t largest = 0;
        offsets[0] = 0;
        for (size_t i = 0; i < bags; i++) {
            const size_t size = random_below(3) ? random_below(40) : 0;
            offsets[i + 1] = offsets[i] + (int64_t)size;
            largest = size > largest ? size : largest;
        }
        const size_t total = (size_t)offsets[bags];
        uint64_t *values = guarded(2, BACK, 8 * total, 0), *scratch = guarded(3, BACK, 8 * largest, 0);
        uint64_t *bag = guarded(4, BACK, 8 * total, 0);
        for (size_t i = 0; i < total; i++)
            values[i] = bag[i] = random_below(20) ? random_below(30) : UINT64_MAX - random_below(2);
        const size_t part = random_below((unsigned)bags + 1);
        out[0] = 0;
        nd_sets_distinct(values, offsets, part, scratch, out);
        nd_sets_distinct(values, offsets + part, bags - part, scratch, out + part);
        CHECK(out[0] == 0, "the first set begins at 0");
        size_t kept[12];
        for (size_t i = 0; i < bags; i++) {
            kept[i] = naive_set(bag + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
            CHECK(out[i + 1] - out[i] == (int64_t)kept[i]
                  && (!kept[i] || memcmp(values + out[i], bag + offsets[i], 8 * kept[i]) == 0), "set %zu of %zu", i, bags);
        }
        for (size_t i = 0; i < bags; i++)
            for (size_t j = 0; j < bags; j++) {
                size_t common = 0;
                for (size_t x = 0; x < kept[i]; x++)
                    for (size_t y = 0; y < kept[j]; y++)
                        common += bag[offsets[i] + (int64_t)x] == bag[offsets[j] + (int64_t)y];
                CHECK(nd_sets_common(values + out[i], kept[i], values + out[j], kept[j]) == common, "intersection");
            }
    }
}

/* |T∩A∩B|, |T|, |T∩A| by looking every value up in both samples. */
static void test_overlaps(void)
{
    for (int round = 0; round < 4000; round++) {
        const size_t na = random_below(30), nb = random_below(30);
        const size_t size = random_below(5) ? 1 + random_below(40) : SIZE_MAX;
        const uint64_t mask = random_below(2) ? 0 : (UINT64_C(1) << random_below(4)) - 1, top = 1 + random_below(60);
        uint64_t *a = guarded(0, BACK, 8 * na, 0), *b = guarded(1, BACK, 8 * nb, 0), all[60];
        for (size_t i = 0; i < na; i++)
            all[i] = a[i] = UINT64_MAX - random_below(top);
        for (size_t i = 0; i < nb; i++)
            all[na + i] = b[i] = UINT64_MAX - random_below(top);
        const size_t ka = naive_set(a, na), kb = naive_set(b, nb), k = naive_set(all, na + nb);
        int64_t expected[3] = {0}, out[3];
        for (size_t i = 0; i < k; i++) {
            int in_a = 0, in_b = 0;
            for (size_t j = 0; j < ka; j++)
                in_a |= a[j] == all[i];
            for (size_t j = 0; j < kb; j++)
                in_b |= b[j] == all[i];
            if ((all[i] & mask) == 0 && ((ka < size && kb < size) || (uint64_t)expected[1] < size)) {
                expected[0] += in_a && in_b;
                expected[1]++;
                expected[2] += in_a;
            }
        }
        nd_sets_overlap(a, ka, b, kb, size, mask, out);
        CHECK(memcmp(out, expected, sizeof out) == 0, "overlap of %zu and %zu members, size %zu", ka, kb, size);
    }
}

/* ---- entries */

/* Up to MOST_SAMPLES sets of values, of all sizes, 0 and the largest value among them; which of them are taken. */
enum { MOST_SAMPLES = 40 };
static size_t samples(int side, int64_t **offsets, uint64_t **values, uint8_t **taken)
{
    static uint64_t made[1 << 16];
    int64_t ends[MOST_SAMPLES + 1] = {0};
    const size_t n = random_below(MOST_SAMPLES + 1);
    const uint64_t mask = random_below(2) ? ~UINT64_C(0) : UINT64_C(0xF) << random_below(61);
    for (size_t i = 0; i < n; i++) {
        const size_t size = random_below(4) ? random_below(20) : LENGTHS[random_below(24)];
        uint64_t *sample = made + ends[i];
        for (size_t j = 0; j < size; j++)
            sample[j] = random_below(9) ? random64() & mask : random_below(2) ? 0 : UINT64_MAX;
        ends[i + 1] = ends[i] + (int64_t)naive_set(sample, size);
    }
    *offsets = guarded(0, side, 8 * (n + 1), 0);
    *values = guarded(1, side, 8 * (size_t)ends[n], 0);
    *taken = guarded(2, side, n, 0);
    memcpy(*offsets, ends, 8 * (n + 1));
    memcpy(*values, made, 8 * (size_t)ends[n]);
    for (size_t i = 0; i < n; i++)
        (*taken)[i] = (uint8_t)(random_below(5) != 0);
    return n;
}

static void test_gathering(void)
{
    static int64_t histogram[4096];
    for (int round = 0; round < 600; round++) {
        int64_t *offsets;
        uint64_t *values;
        uint8_t *taken;
        const size_t n = samples(round % 2, &offsets, &values, &taken);
        memset(histogram, 0, sizeof histogram);
        nd_entries_histogram(values, offsets, taken, n, 52, histogram);
        uint64_t low = random64() >> random_below(64), high = random64() >> random_below(64);
        if (random_below(3) == 0 && offsets[n])
            low = high = values[random_below((size_t)offsets[n])];
        if (low > high || random_below(6) == 0)
            low = 0, high = UINT64_MAX;
        static nd_entry expected[1 << 16];
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            for (int64_t j = offsets[i]; j < offsets[i + 1]; j++) {
                histogram[values[j] >> 52] -= taken[i];
                if (taken[i] && values[j] >= low && values[j] <= high)
                    expected[count++] = (nd_entry){values[j], 7 + i};
            }
        size_t wrong = 0;
        for (int i = 0; i < 4096; i++)
            wrong += histogram[i] != 0;
        CHECK(wrong == 0, "%zu bins of the histogram of %zu samples are wrong", wrong, n);
        nd_entry *out = guarded(3, BACK, count * sizeof *out, 0);
        CHECK(nd_entries_gather(values, offsets, taken, n, 7, low, high, out, count) == count
              && (!count || memcmp(out, expected, count * sizeof *out) == 0), "%zu entries of %zu samples", count, n);
        const size_t room = count ? random_below(count) : 0;
        out = guarded(3, FRONT, room * sizeof *out, 0);
        CHECK(nd_entries_gather(values, offsets, taken, n, 7, low, high, out, room) == count
              && (!room || memcmp(out, expected, room * sizeof *out) == 0) && untouched_around(3, out, room * sizeof *out),
              "room for %zu of %zu entries", room, count);
    }
}

static void test_gathering_what_does_not_ascend(void)
{
    for (int round = 0; round < 300; round++) {
        const size_t n = random_below(70), room = random_below(20);
        const int64_t offsets[] = {0, (int64_t)n};
        uint64_t *values = guarded(0, BACK, 8 * n, 0);
        for (size_t i = 0; i < n; i++)
            values[i] = random64();
        nd_entry *out = guarded(1, BACK, room * sizeof *out, 0);
        const uint64_t low = random64();
        CHECK(nd_entries_gather(values, offsets, &(uint8_t){1}, 1, 0, low, UINT64_MAX, out, room) <= n
              && untouched_around(1, out, room * sizeof *out), "any values stay within their room");
        uint64_t key;
        int ascend = 1;
        for (size_t i = 1; i < n; i++)
            ascend &= values[i - 1] < values[i];
        CHECK(nd_samples_keys(values, offsets, NULL, 1, &key) == (ascend ? 1 : 0), "%zu members, ascending: %d", n, ascend);
    }
}

enum { MOST_ENTRIES = 400, FEW_DOCUMENTS = 30 };

/* Sorted entries, the runs they make and the pairs of these, beside loops over all of them. */
static void test_runs(void)
{
    for (int round = 0; round < 600; round++) {
        const size_t max_holders = 1 + random_below(FEW_DOCUMENTS + 2), different = 1 + random_below(60);
        static uint8_t holds[61][FEW_DOCUMENTS];
        static uint32_t times[FEW_DOCUMENTS][FEW_DOCUMENTS];
        size_t n = 0, commons = 0, runs = 0, written = 0;
        memset(times, 0, sizeof times);
        uint64_t *keys = guarded(0, BACK, 8 * MOST_ENTRIES, 0);
        uint32_t *documents = guarded(1, BACK, 4 * MOST_ENTRIES, 0);
        nd_common expected_common[61];
        uint32_t expected[MOST_ENTRIES], expected_ends[61];
        for (size_t z = 0; z < different; z++) {
            size_t count = 0;
            for (size_t d = 0; d < FEW_DOCUMENTS; d++) {
                holds[z][d] = (uint8_t)(random_below(different) < 6 && n + count < MOST_ENTRIES);
                if (holds[z][d]) {
                    keys[n + count] = z == 60 ? UINT64_MAX : z;
                    documents[n + count++] = (uint32_t)d;
                }
            }
            if (count > max_holders)
                expected_common[commons++] = (nd_common){keys[n], count, documents[n]};
            else if (count > 1) {
                memcpy(expected + written, documents + n, 4 * count);
                written += count;
                expected_ends[runs++] = (uint32_t)written;
                for (size_t i = n; i < n + count; i++)
                    for (size_t j = i + 1; j < n + count; j++)
                        times[documents[i]][documents[j]]++;
            }
            n += count;
        }
        memmove(keys + MOST_ENTRIES - n, keys, 8 * n);       /* as near to the guard page as can be */
        memmove(documents + MOST_ENTRIES - n, documents, 4 * n);
        uint32_t *holders = guarded(2, BACK, 4 * n, 0), *ends = guarded(3, BACK, 4 * (n / 2), 0);
        nd_common *common = guarded(4, BACK, n / (max_holders + 1) * sizeof *common, 0);
        size_t found, found_common;
        nd_entries_runs(keys + MOST_ENTRIES - n, documents + MOST_ENTRIES - n, n, max_holders, holders, ends, &found, common,
                        &found_common);
        CHECK(found == runs && found_common == commons && (!runs || memcmp(ends, expected_ends, 4 * runs) == 0)
              && (!written || memcmp(holders, expected, 4 * written) == 0)
              && (!commons || memcmp(common, expected_common, commons * sizeof *common) == 0),
              "%zu runs and %zu common values of %zu entries", runs, commons, n);

        const size_t first = random_below(FEW_DOCUMENTS), last = first + random_below(FEW_DOCUMENTS - first + 1);
        int64_t volume[FEW_DOCUMENTS] = {0}, starts[FEW_DOCUMENTS + 1] = {0}, cursor[FEW_DOCUMENTS + 1];
        nd_runs_volume(holders, ends, runs, volume);
        size_t longest = 0;
        for (size_t d = 0; d < FEW_DOCUMENTS; d++) {
            int64_t pairs = 0;
            for (size_t e = d + 1; e < FEW_DOCUMENTS; e++)
                pairs += times[d][e];
            CHECK(volume[d] == pairs, "volume of document %zu", d);
            if (d >= first && d < last) {
                starts[d - first + 1] = starts[d - first] + pairs;
                longest = (size_t)pairs > longest ? (size_t)pairs : longest;
            }
        }
        memcpy(cursor, starts, sizeof starts);
        uint32_t *others = guarded(5, BACK, 4 * (size_t)starts[last - first], 0), counter[FEW_DOCUMENTS] = {0};
        CHECK(nd_runs_scatter(holders, ends, runs, first, last, cursor, starts, others)
              && memcmp(cursor, starts + 1, 8 * (last - first)) == 0, "every list is full, %zu to %zu", first, last);
        if (starts[last - first]) {         /* lists with less room than the runs need are not written past */
            int64_t shorter[FEW_DOCUMENTS + 1];
            for (size_t d = 0; d <= last - first; d++)
                cursor[d] = shorter[d] = starts[d] - (starts[d] == starts[last - first]);
            CHECK(!nd_runs_scatter(holders, ends, runs, first, last, cursor, shorter, guarded(5, BACK, 4 * (size_t)shorter[last - first], 0)),
                  "a list is too short");
            others = guarded(5, BACK, 4 * (size_t)starts[last - first], 0);
            memcpy(cursor, starts, sizeof starts);
            nd_runs_scatter(holders, ends, runs, first, last, cursor, starts, others);
        }

        const size_t room = longest + random_below(40);
        uint32_t *scratch = guarded(6, BACK, 4 * longest, 0);
        size_t at = first, a = first, b = first, rounds = 0;
        do {
            uint32_t *out = guarded(7, BACK, 12 * room, 0);
            const size_t before = at;
            const size_t pairs = nd_runs_count(others, starts, first, last, &at, counter, scratch, out, out + room, out + 2 * room,
                                               room);
            for (size_t i = 0; i < pairs; i++) {
                do
                    if (++b >= FEW_DOCUMENTS)
                        b = ++a + 1;
                while (a < last && (b >= FEW_DOCUMENTS || times[a][b] == 0));
                CHECK(out[i] == a && out[room + i] == b && a < last && out[2 * room + i] == times[a][b], "pair %zu", i);
            }
            CHECK(at > before || at == last, "a call goes on");
            rounds++;
        } while (at < last && rounds <= FEW_DOCUMENTS);
        do
            if (++b >= FEW_DOCUMENTS)
                b = ++a + 1;
        while (a < last && (b >= FEW_DOCUMENTS || times[a][b] == 0));
        CHECK(at == last && a >= last, "all pairs of %zu to %zu in %zu calls", first, last, rounds);
        for (size_t d = 0; d < FEW_DOCUMENTS; d++)
            CHECK(counter[d] == 0, "the counter is zero again");
    }
}

/* More different documents in a list than insertion sorts. */
static void test_long_lists(void)
{
    for (int l = 0; l < LENGTH_COUNT; l++) {
        const size_t n = LENGTHS[l];
        static uint32_t counter[LONGEST + 2];
        uint32_t *others = guarded(0, BACK, 8 * n, 0), *scratch = guarded(1, BACK, 8 * n, 0);
        uint32_t *out = guarded(2, BACK, 24 * n, 0);
        for (size_t i = 0; i < n; i++) {
            const size_t j = random_below(i + 1);
            others[i] = others[j];
            others[j] = (uint32_t)(i + 1);
        }
        memcpy(others + n, others, 4 * n);                   /* everyone twice */
        size_t at = 0;
        const int64_t starts[] = {0, 2 * (int64_t)n};
        CHECK(nd_runs_count(others, starts, 0, 1, &at, counter, scratch, out, out + 2 * n, out + 4 * n, 2 * n) == n && at == 1,
              "%zu documents twice", n);
        for (size_t i = 0; i < n; i++)
            CHECK(out[i] == 0 && out[2 * n + i] == i + 1 && out[4 * n + i] == 2, "document %zu of %zu", i, n);
    }
}

static void test_samples(void)
{
    for (int round = 0; round < 300; round++) {
        int64_t *offsets;
        uint64_t *values;
        uint8_t *taken;
        const size_t n = samples(round % 2, &offsets, &values, &taken), m = n ? random_below(50) : 0;
        int64_t *documents = guarded(3, BACK, 8 * m, 0), *out = guarded(4, BACK, 8 * m, 0);
        uint64_t *masks = guarded(5, BACK, 8 * m, 0);
        for (size_t i = 0; i < m; i++) {
            documents[i] = (int64_t)random_below(n);
            masks[i] = (UINT64_C(1) << random_below(64)) - 1;
        }
        nd_samples_under(values, offsets, documents, masks, m, out);
        for (size_t i = 0; i < m; i++) {
            int64_t count = 0;
            for (int64_t j = offsets[documents[i]]; j < offsets[documents[i] + 1]; j++)
                count += values[j] % (masks[i] + 1) == 0;
            CHECK(out[i] == count, "members that are 0 under %llx", (unsigned long long)masks[i]);
        }
        uint64_t *keys = guarded(6, BACK, 8 * n, 0), *moduli = guarded(7, BACK, 8 * n, 0), plain[MOST_SAMPLES];
        for (size_t i = 0; i < n; i++)
            moduli[i] = UINT64_C(1) << random_below(64);
        CHECK(nd_samples_keys(values, offsets, NULL, n, keys) == n, "sets ascend");
        if (n)
            memcpy(plain, keys, 8 * n);
        nd_samples_keys(values, offsets, moduli, n, keys);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                const size_t bytes = 8 * (size_t)(offsets[i + 1] - offsets[i]);
                const int equal = offsets[i + 1] - offsets[i] == offsets[j + 1] - offsets[j]
                                  && memcmp(values + offsets[i], values + offsets[j], bytes) == 0;
                CHECK((plain[i] == plain[j]) == equal && plain[i], "keys of samples %zu and %zu", i, j);
                CHECK((keys[i] == keys[j]) == (equal && moduli[i] == moduli[j]) && keys[i], "with moduli");
            }
    }
}

static void test_entries(void)
{
    test_gathering();
    test_gathering_what_does_not_ascend();
    test_runs();
    test_long_lists();
    test_samples();
}

enum { MOST_DOCUMENTS = 60, MOST_GROUPS = 6 };

/* Entries of one group sorted by key: the key is the first document with the same minima there, mixed. */
static void group_entries(const nd_candidates *j, size_t group, size_t n, nd_entry *e)
{
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (memcmp(j->rows + first * j->row_size + group * j->group_size,
                      j->rows + i * j->row_size + group * j->group_size, j->group_size))
            first++;
        e[i] = (nd_entry){nd_fmix64(first + 1), i};
    }
    qsort(e, n, sizeof *e, entry_order);
}

static size_t run_of(const nd_entry *e, size_t n, size_t document)
{
    uint64_t key = 0;
    size_t run = 0;
    for (size_t i = 0; i < n; i++)
        if (e[i].id == document)
            key = e[i].key;
    for (size_t i = 0; i < n; i++)
        run += e[i].key == key;
    return run;
}

static void check_expansion(size_t n, size_t groups, size_t size, size_t item_size, size_t letters, size_t max_run)
{
    static uint8_t came[MOST_DOCUMENTS][MOST_DOCUMENTS], wanted[MOST_DOCUMENTS][MOST_DOCUMENTS];
    const size_t items = groups * size + random_below(3), row_size = items * item_size;
    uint8_t *rows = guarded(0, BACK, n * row_size, 0), *cut = guarded(1, BACK, n * groups, 0);
    for (size_t i = 0; i < n * items; i++) {
        const uint64_t letter = random_below(letters);
        if (item_size == 4)
            ((uint32_t *)rows)[i] = (uint32_t)letter;
        else
            ((uint64_t *)rows)[i] = letter << 32;
    }
    if (n)
        memset(cut, 0, n * groups);
    const nd_candidates j = {.rows = rows, .row_size = row_size, .group_size = size * item_size, .groups = groups,
                        .item_size = item_size, .items = items, .need = random_below(4), .need_items = random_below(items + 1),
                        .cut = random_below(4) ? cut : NULL, .first_fixed = random_below(n + 2)};
    const size_t longest = j.cut ? max_run : n + 1;          /* without cut marks every run is expanded */
    memset(came, 0, sizeof came);
    memset(wanted, 0, sizeof wanted);
    for (size_t g = 0; g < groups; g++) {
        nd_entry *e = guarded(2, BACK, n * sizeof *e, 0);
        group_entries(&j, g, n, e);
        for (size_t i = 0; i < n; i++)
            cut[i * groups + g] = run_of(e, n, i) > longest;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++) {
                size_t shared = 0, equal = 0;
                for (size_t x = 0; x < groups; x++)
                    shared += !memcmp(rows + a * row_size + x * j.group_size, rows + b * row_size + x * j.group_size, j.group_size);
                for (size_t x = 0; x < items; x++)
                    equal += !memcmp(rows + a * row_size + x * item_size, rows + b * row_size + x * item_size, item_size);
                CHECK(nd_candidates_shared_groups(&j, a, b) == shared && nd_candidates_shared_items(&j, a, b) == equal, "shared");
                const int here = !memcmp(rows + a * row_size + g * j.group_size, rows + b * row_size + g * j.group_size, j.group_size);
                if (here && !cut[a * groups + g] && a < j.first_fixed && shared >= j.need && equal >= j.need_items)
                    wanted[a][b] = 1;
            }
        const size_t room = longest + random_below(2 * n + 1);
        uint64_t *out = guarded(3, BACK, 8 * room, 0);
        size_t at = 0, within = 0, calls = 0;
        while (at < n && calls++ < n * n + 2) {
            const size_t written = nd_candidates_expand(&j, g, e, n, longest, &at, &within, out, room);
            for (size_t i = 0; i < written && i < room; i++) {
                const uint64_t a = out[i] >> 32, b = out[i] & UINT32_MAX;
                CHECK(a < b && b < n, "a pair is a < b");
                if (a < n && b < n)
                    came[a][b]++;
            }
        }
        CHECK(at == n && within == 0, "expansion of %zu entries ends", n);
    }
    CHECK(memcmp(came, wanted, sizeof came) == 0, "every pair once: n = %zu, %zu groups of %zu, runs to %zu", n, groups, size, longest);
}

static void test_expansion(void)
{
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(MOST_DOCUMENTS + 1), groups = 1 + random_below(MOST_GROUPS);
        const size_t size = 1 + random_below(3), letters = 1 + random_below(4);
        check_expansion(n, groups, size, round % 2 ? 4 : 8, letters, 1 + random_below(20));
    }
}

static void test_clusters(void)
{
    static double weight[MOST_DOCUMENTS][MOST_DOCUMENTS];
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(MOST_DOCUMENTS + 1);
        const int best = round & 1;
        size_t m = 0;
        memset(weight, 0, sizeof weight);
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                if (random_below(n) < 3)
                    weight[a][b] = weight[b][a] = 0.5 + (double)random_below(4) / 8;
        int64_t *from = guarded(0, BACK, 8 * (n + 1), 0), *order = guarded(2, BACK, 8 * n, 0), *rank = guarded(3, BACK, 8 * n, 0);
        int64_t *label = guarded(4, BACK, 8 * n, 0), *to = guarded(1, BACK, 8 * n * n, 0);
        double *weights = guarded(5, BACK, 8 * n * n, 0);
        uint8_t *fixed = guarded(6, BACK, n, 0);
        from[0] = 0;
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b < n; b++)
                if (weight[a][b] > 0) {
                    to[m] = (int64_t)b;
                    weights[m++] = weight[a][b];
                }
            from[a + 1] = (int64_t)m;
            fixed[a] = random_below(8) == 0;
            const size_t swap = random_below(a + 1);   /* a random permutation */
            order[a] = order[swap];
            order[swap] = (int64_t)a;
        }
        int64_t expected[MOST_DOCUMENTS];
        for (size_t i = 0; i < n; i++) {
            const int64_t v = order[i];
            expected[v] = v;
            double most = 0;
            for (size_t k = 0; k < i && !fixed[v]; k++) {
                const int64_t u = order[k];
                if (expected[u] == u && weight[v][u] > most) {
                    expected[v] = u;
                    most = best ? weight[v][u] : 2;
                }
            }
        }
        nd_cluster_star(n, from, to, weights, order, fixed, best, rank, label);
        CHECK(!n || memcmp(label, expected, 8 * n) == 0, "star, %zu documents, best %d", n, best);
        int64_t *x = guarded(1, BACK, 8 * (m / 2), 0), *y = guarded(5, BACK, 8 * (m / 2), 0), *parent = guarded(4, BACK, 8 * n, 0);
        size_t pairs = 0;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                if (weight[a][b] > 0) {
                    x[pairs] = (int64_t)(random_below(2) ? a : b);
                    y[pairs] = (int64_t)a + (int64_t)b - x[pairs];
                    pairs++;
                }
        for (size_t i = 0; i < n; i++) {
            parent[i] = expected[i] = (int64_t)i;
            rank[order[i]] = (int64_t)i;
        }
        for (size_t pass = 0; pass < n; pass++)        /* the first in rank spreads to its neighbours */
            for (size_t i = 0; i < pairs; i++) {
                const int64_t first = rank[expected[x[i]]] < rank[expected[y[i]]] ? expected[x[i]] : expected[y[i]];
                expected[x[i]] = expected[y[i]] = first;
            }
        nd_cluster_components(n, x, y, pairs, rank, parent);
        CHECK(!n || memcmp(parent, expected, 8 * n) == 0, "components, %zu documents, %zu pairs", n, pairs);
    }
}

/* ---- greedy */

enum { GREEDY_VALUES = 48 };        /* values are 1 … GREEDY_VALUES, times a factor */

typedef struct { int holds[GREEDY_VALUES + 1]; uint64_t mask; } greedy_set;
typedef struct { size_t first; int counts[GREEDY_VALUES + 1]; } greedy_cluster;

static int greedy_size(const int *holds, uint64_t mask)
{
    int size = 0;
    for (uint64_t v = 1; v <= GREEDY_VALUES; v++)
        size += holds[v] && (v & mask) == 0;
    return size;
}

/* The most popular values of a cluster, as many as its first member has, chosen one after another. */
static void naive_representative(const greedy_cluster *c, const greedy_set *first, int popular, int *holds)
{
    memcpy(holds, first->holds, sizeof first->holds);
    if (!popular)
        return;
    const int size = greedy_size(first->holds, 0);
    memset(holds, 0, sizeof first->holds);
    for (int i = 0; i < size; i++) {
        int best = 0;
        for (int v = 1; v <= GREEDY_VALUES; v++)
            if (!holds[v] && c->counts[v] && (best == 0 || c->counts[v] > c->counts[best]))
                best = v;
        holds[best] = 1;
    }
}

static size_t naive_place(greedy_cluster *clusters, size_t count, const greedy_set *sets, size_t i, const nd_greedy *g,
                          const int *holders)
{
    const greedy_set *a = &sets[i];
    size_t best = count;
    double most = 0;
    for (size_t c = 0; c < count; c++) {
        const greedy_set *first = &sets[clusters[c].first];
        const uint64_t mask = a->mask | first->mask;
        int r[GREEDY_VALUES + 1], common = 0;
        naive_representative(&clusters[c], first, g->popular, r);
        for (int v = 1; v <= GREEDY_VALUES; v++)
            common += a->holds[v] && r[v] && holders[v] <= (int)g->max_holders;
        const double found = common ? (double)common / (greedy_size(a->holds, mask) + greedy_size(r, mask) - common) : 0;
        if (found >= g->threshold && found > most) {
            best = c;
            most = found;
        }
    }
    if (best == count)
        clusters[count] = (greedy_cluster){.first = i};
    for (uint64_t v = 1; v <= GREEDY_VALUES; v++)
        clusters[best].counts[v] += a->holds[v] && (v & sets[clusters[best].first].mask) == 0;
    return best;
}

static void test_greedy(void)
{
    static greedy_set sets[40];
    static greedy_cluster clusters[40];
    static const double thresholds[] = {0.2, 0.4, 0.5, 1.0};
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(41);
        const uint64_t factor = random_below(2) ? 1 : UINT64_C(1) << 50;
        const int mixed = factor == 1 && random_below(2);
        int holders[GREEDY_VALUES + 1] = {0};
        size_t offsets[41] = {0};
        uint64_t *values = guarded(0, BACK, 8 * n * GREEDY_VALUES, 0);
        for (size_t i = 0; i < n; i++) {
            sets[i].mask = mixed ? (UINT64_C(1) << random_below(3)) - 1 : 0;
            offsets[i + 1] = offsets[i];
            const int copy = i && random_below(3);
            const size_t of = i ? random_below(i) : 0;
            for (uint64_t v = 1; v <= GREEDY_VALUES; v++) {
                const int near = random_below(8) ? sets[of].holds[v] : (int)random_below(2);
                sets[i].holds[v] = (copy ? near : random_below(4) == 0) && (v & sets[i].mask) == 0;
                holders[v] += sets[i].holds[v];
                if (sets[i].holds[v])
                    values[offsets[i + 1]++] = v * factor;
            }
        }
        const size_t total = offsets[n], room = total + total / 2 + 1;
        values = memmove(guarded(1, BACK, 8 * total, 0), values, 8 * total);
        nd_greedy g = {.threshold = thresholds[random_below(4)], .max_holders = random_below(3) ? 40 : 4, .popular = round & 1,
                       .room = (uint32_t)room, .index_room = (uint32_t)room, .key = table_key(round % 4)};
        g.slots = guarded(2, BACK, room * sizeof *g.slots, 0);
        memset(g.slots, 0, room * sizeof *g.slots);
        g.memberships = guarded(3, BACK, total * sizeof *g.memberships, 0);
        g.clusters = guarded(4, BACK, n * sizeof *g.clusters, 0);
        g.index = guarded(5, BACK, 4 * room, 0);
        memset(g.index, 0xFF, 4 * room);
        g.heap = guarded(6, BACK, 4 * total, 0);
        uint32_t *const scratch = guarded(7, BACK, 4 * (2 * n + GREEDY_VALUES), 0);
        memset(scratch, 0, 4 * n);
        g.shared = scratch;
        g.touched = scratch + n;
        g.found = scratch + 2 * n;
        for (size_t i = 0; i < n; i++) {
            CHECK(nd_greedy_is_sketch(values + offsets[i], offsets[i + 1] - offsets[i], sets[i].mask), "a sketch");
            nd_greedy_count(&g, values + offsets[i], offsets[i + 1] - offsets[i]);
        }
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t expected = naive_place(clusters, count, sets, i, &g, holders);
            const size_t found = nd_greedy_place(&g, values + offsets[i], offsets[i + 1] - offsets[i], sets[i].mask);
            count += expected == count;
            CHECK(found == expected && g.count == count, "round %d, sketch %zu of %zu: cluster %zu, not %zu",
                  round, i, n, found, expected);
        }
    }
    const uint64_t descending[] = {2, 4, 4}, odd[] = {2, 3};
    CHECK(!nd_greedy_is_sketch(descending, 3, 0) && nd_greedy_is_sketch(descending, 2, 1), "values ascend");
    CHECK(!nd_greedy_is_sketch(odd, 2, 1) && nd_greedy_is_sketch(odd, 2, 0) && nd_greedy_is_sketch(odd, 0, 7), "multiples");
}

/* ---- compressed tables */

enum { KEYS_MOST = 4096, BLOCKS_MOST = 64 };

static void test_codes(void)
{
    uint32_t *codes = guarded(0, BACK, 4 * ND_COMPRESSED_CODES, 0);
    uint8_t *lengths = guarded(1, BACK, ND_COMPRESSED_SYMBOLS, 0);
    memset(lengths, 0, ND_COMPRESSED_SYMBOLS);
    CHECK(nd_compressed_codes(lengths, codes) == 1, "no symbols");
    lengths[0] = lengths[64] = 1;
    CHECK(nd_compressed_codes(lengths, codes) == 1, "a complete code");
    lengths[3] = 11;
    CHECK(nd_compressed_codes(lengths, codes) == 0, "one code too many");
    lengths[0] = 12;
    lengths[3] = 0;
    CHECK(nd_compressed_codes(lengths, codes) == 0, "a code too long");
    lengths[0] = 255;
    CHECK(nd_compressed_codes(lengths, codes) == 0, "a code far too long");
    CHECK(untouched_around(0, codes, 4 * ND_COMPRESSED_CODES), "nd_compressed_codes keeps to its array");
}

/* Two complete or nearly complete codes: all symbols alike, and short ones for what is dense. */
static void fill_lengths(uint8_t *lengths, int dense)
{
    memset(lengths, dense ? 9 : 7, ND_COMPRESSED_SYMBOLS);
    if (dense) {
        lengths[64] = 1;
        lengths[0] = 2;
        lengths[1] = 3;
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Ascending keys: random; with equal ones; neighbours and the greatest; in clusters; all alike. */
static void fill_keys(uint64_t *keys, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = random64();
        keys[i] = kind == 0 ? r : kind == 1 ? r >> 55 : kind == 2 ? i : kind == 3 ? (r & 7) << 61 | (r >> 58) << (r % 40) : 5;
    }
    qsort(keys, n, 8, ascending);
    if (kind == 2 && n)
        keys[n - 1] = ~UINT64_C(0);
}

static nd_compressed_table compressed_between_guards(const uint64_t *keys, size_t n, int dense, uint8_t *lengths)
{
    fill_lengths(lengths, dense);
    const size_t count = nd_compressed_blocks(keys, n, lengths);
    uint8_t *blocks = guarded(1, BACK, count * ND_COMPRESSED_BLOCK, 0);
    uint64_t *last = guarded(2, BACK, 8 * count, 0);
    uint32_t *first = guarded(3, BACK, 4 * (count + 1), 0), *codes = guarded(4, BACK, 4 * ND_COMPRESSED_CODES, 0);
    nd_compressed_encode(keys, n, lengths, blocks, last, first);
    CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
    CHECK(untouched_around(1, blocks, count * ND_COMPRESSED_BLOCK) && untouched_around(2, last, 8 * count), "encoding");
    return (nd_compressed_table){blocks, last, first, codes, count};
}

static void test_coding(void)
{
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];
    for (int kind = 0; kind < 5; kind++)
        for (int l = 0; l < LENGTH_COUNT; l++)
            for (int dense = 0; dense < 2; dense++) {
                const size_t n = LENGTHS[l];
                uint64_t *keys = guarded(0, BACK, 8 * n, 0), *out = guarded(5, BACK, 8 * n, 0);
                fill_keys(keys, n, kind);
                const nd_compressed_table t = compressed_between_guards(keys, n, dense, lengths);
                CHECK(t.first[0] == 0 && t.first[t.count] == n && (t.count > 0) == (n > 0), "positions of %zu keys", n);
                size_t bits = 0;
                for (size_t b = 0, i = 0; b < t.count; b++, bits = 0) {
                    for (; i < t.first[b + 1]; i++)
                        for (uint64_t x = keys[i] ^ (i ? keys[i - 1] : 0), h = 64; h-- > 0;)
                            if (x >> h == 1 || (h == 0 && x == 0)) {
                                bits += lengths[x ? h : 64] + (x ? h : 0);
                                break;
                            }
                    CHECK(bits <= 8 * ND_COMPRESSED_BLOCK && t.last[b] == keys[i - 1], "block %zu of %zu keys", b, n);
                    for (size_t from = 0; from <= t.count; from++) {
                        const uint64_t near[3] = {t.last[b] - 1, t.last[b], t.last[b] + 1};
                        for (int j = 0; j < 3; j++) {
                            size_t at = from;
                            while (at < t.count && t.last[at] < near[j])
                                at++;
                            CHECK(nd_compressed_find(&t, from, near[j]) == at, "search from block %zu", from);
                        }
                    }
                }
                CHECK(nd_compressed_decode(&t, 0, t.count, out, n) == n, "%zu keys", n);
                CHECK(n == 0 || memcmp(keys, out, 8 * n) == 0, "decoding %zu keys of kind %d", n, kind);
                CHECK(untouched_around(5, out, 8 * n), "decoding keeps to its array");
                for (size_t step = 1; step < n; step = 3 * step + 1) {
                    int64_t *ranks = guarded(6, BACK, 8 * n, 0);
                    size_t asked = 0;
                    for (size_t i = 0; i < n; i += step)
                        out[asked++] = keys[i];
                    nd_compressed_ranks(&t, out, asked, ranks);
                    for (size_t i = 0; i < asked; i++) {
                        size_t at = i * step;
                        while (at > 0 && keys[at - 1] == keys[at])
                            at--;
                        CHECK(ranks[i] == (int64_t)at, "rank %zu of %zu, kind %d", at, n, kind);
                    }
                }
            }
}

static unsigned naive_distance(uint64_t a, uint64_t b)
{
    unsigned bits = 0;
    for (uint64_t x = a ^ b; x; x &= x - 1)
        bits++;
    return bits;
}

/* Four tables of 16 bits, within 3 bits: every near fingerprint comes once, however small the room is. */
static void test_compressed_tables(const char *variant)
{
    static const uint8_t low[4][4] = {{48, 32, 16, 0}, {32, 48, 16, 0}, {16, 48, 32, 0}, {0, 48, 32, 16}};
    static const uint8_t width[4] = {16, 16, 16, 16};
    static uint64_t keys[KEYS_MOST], permuted[KEYS_MOST], queries[300];
    static uint8_t came[300][KEYS_MOST], blocks[4][BLOCKS_MOST * ND_COMPRESSED_BLOCK];
    static uint64_t last[4][BLOCKS_MOST];
    static uint32_t first[4][BLOCKS_MOST + 1], codes[ND_COMPRESSED_CODES];
    static nd_compressed_match out[5000];
    static nd_entry asked[600];
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];
    fill_lengths(lengths, 0);
    CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
    for (int close = 0; close < 2; close++) {
        const size_t n = 3000, asking = 300;
        for (size_t i = 0; i < n; i++)          /* half of them near another; or all behind one prefix */
            keys[i] = close ? i * 3 : i & 1 ? random64() : keys[i - (i > 0)] ^ UINT64_C(1) << i % 64 ^ UINT64_C(1) << i / 64 % 64;
        qsort(keys, n, 8, ascending);
        size_t distinct = 0;
        for (size_t i = 0; i < n; i++)
            if (i == 0 || keys[i] != keys[i - 1])
                keys[distinct++] = keys[i];
        for (size_t i = 0; i < asking; i++)
            queries[i] = keys[random_below(distinct)] ^ UINT64_C(1) << i % 64;
        nd_keys_order order[4];
        nd_compressed_table table[4];
        for (int t = 0; t < 4; t++) {
            order[t] = (nd_keys_order){low[t], width, 4, 16, UINT64_C(0xFFFF) << low[t][0]};
            nd_keys_permute(&order[t], keys, distinct, permuted);
            qsort(permuted, distinct, 8, ascending);
            const size_t count = nd_compressed_blocks(permuted, distinct, lengths);
            CHECK(count <= BLOCKS_MOST, "%zu blocks", count);
            nd_compressed_encode(permuted, distinct, lengths, blocks[t], last[t], first[t]);
            table[t] = (nd_compressed_table){blocks[t], last[t], first[t], codes, count};
        }
        const nd_compressed h = {{order, 4, 64, 3}, table};
        for (size_t room = ND_COMPRESSED_PIECE; room <= 5000; room = 5 * room) {
            nd_compressed_cursor c = {0};
            memset(came, 0, sizeof came);
            while (c.table < 4) {
                const size_t written = nd_compressed_probe(&h, queries, asking, asked, &c, out, room);
                CHECK(written <= room, "%s: room for %zu", variant, room);
                for (size_t i = 0; i < written; i++) {
                    const uint64_t *at = bsearch(&out[i].fingerprint, keys, distinct, 8, ascending);
                    CHECK(at && out[i].query < asking, "%s: a fingerprint that is not there", variant);
                    if (at)
                        came[out[i].query][at - keys]++;
                }
            }
            for (size_t q = 0; q < asking; q++)
                for (size_t i = 0; i < distinct; i++)
                    if (came[q][i] != (naive_distance(queries[q], keys[i]) <= 3))
                        CHECK(0, "%s: query %zu, fingerprint %zu came %d times", variant, q, i, came[q][i]);
            CHECK(1, "probes");
        }
        nd_compressed_cursor c = {0};
        CHECK(nd_compressed_probe(&h, NULL, 0, NULL, &c, out, 5000) == 0 && c.table == 4, "no queries");
    }
}

/* The same where the tables lie open, with presence and without, for one query, a few, and several blocks of them. */
static void test_open_tables(const char *variant)
{
    static const uint8_t low[4][4] = {{48, 32, 16, 0}, {32, 48, 16, 0}, {16, 48, 32, 0}, {0, 48, 32, 16}};
    static const uint8_t width[4] = {16, 16, 16, 16}, whole = 64;
    enum { N = 3000, ASKING = 1500, PRESENT = 14, LISTED = 12 };
    static uint64_t scratch[N], queries[ASKING];
    static uint8_t came[ASKING][N], bits[4][(1 << PRESENT) / 8];
    static nd_probes_match out[5000];
    uint64_t *keys[4] = {0};
    size_t n = 0;
    keys[0] = guarded(0, BACK, 8 * N, 0);
    for (; n < N; n++)                                   /* in groups of three that are near each other */
        keys[0][n] = n % 3 ? keys[0][n - 1] ^ UINT64_C(1) << n % 64 : random64();
    qsort(keys[0], n, 8, ascending);
    for (size_t i = 1; i < n; i++)
        CHECK(keys[0][i - 1] < keys[0][i], "different keys");
    for (size_t i = 0; i < ASKING; i++)
        queries[i] = i & 1 ? random64() : keys[0][random_below(n)] ^ UINT64_C(1) << i % 64;
    nd_keys_order order[4];
    nd_probes_table table[4];
    for (int t = 0; t < 4; t++) {
        order[t] = (nd_keys_order){t ? low[t] : low[3], t ? width : &whole, t ? 4 : 1, 16, UINT64_C(0xFFFF) << low[t][0]};
        keys[t] = guarded(t, BACK, 8 * N, 0);
        if (t)
            nd_keys_permute(&order[t], keys[0], n, keys[t]);
        nd_keys_sort(keys[t], scratch, n, t ? 6 : 0);   /* by the prefixes */
        uint32_t *directory = guarded(4 + t, BACK, 4 * ((1 << LISTED) + 1), 0);
        nd_keys_directory(keys[t], n, 64, LISTED, directory);
        table[t] = (nd_probes_table){.keys = keys[t], .directory = directory, .directory_bits = LISTED};
        const uint64_t sum = nd_keys_sum(&order[t], keys[t], n, 7);
        CHECK(sum == nd_keys_sum(&order[0], keys[0], n, 7), "table %d sums up to its fingerprints", t);
        keys[t][n / 2] ^= 1;
        CHECK(sum != nd_keys_sum(&order[t], keys[t], n, 7) && nd_keys_sum(&order[t], keys[t], 0, 7) == 0, "of others");
        keys[t][n / 2] ^= 1;
    }
    for (int presence = 0; presence < 2; presence++) {
        for (int t = 0; presence && t < 4; t++) {
            nd_keys_presence(keys[t], n, 64, PRESENT, bits[t]);
            table[t].presence = bits[t];
            table[t].presence_bits = PRESENT;
        }
        const nd_probes h = {{order, 4, 64, 3}, table, n};
        const size_t together[] = {1, 5, 700, ASKING};
        for (size_t g = 0; g < 4; g++) {
            memset(came, 0, sizeof came);
            for (size_t q = 0; q < ASKING; q += together[g]) {
                const size_t here = ASKING - q < together[g] ? ASKING - q : together[g];
                nd_probes_cursor c = {0};
                while (c.table < 4) {
                    const size_t written = nd_probes_search(&h, queries + q, here, &c, out, g & 1 ? 5000 : ND_HAMMING_ROOM);
                    for (size_t i = 0; i < written; i++) {
                        came[q + out[i].query][out[i].rank]++;
                        CHECK(out[i].distance == naive_distance(queries[q + out[i].query], keys[0][out[i].rank]),
                              "%s: a distance", variant);
                    }
                }
            }
            for (size_t q = 0; q < ASKING; q++)
                for (size_t i = 0; i < n; i++)
                    if (came[q][i] != (naive_distance(queries[q], keys[0][i]) <= 3))
                        CHECK(0, "%s: query %zu, fingerprint %zu came %d times", variant, q, i, came[q][i]);
            CHECK(1, "open tables");
        }
        nd_probes_cursor c = {0};
        CHECK(nd_probes_search(&h, NULL, 0, &c, out, 5000) == 0 && c.table == 4, "no queries");
    }
}

/* Every pair once, in whichever table; runs longer than any buffer, and room for a part of the pairs. */
static void test_pairs_of_tables(const char *variant)
{
    static const uint8_t low[4][4] = {{48, 32, 16, 0}, {32, 48, 16, 0}, {16, 48, 32, 0}, {0, 48, 32, 16}};
    static const uint8_t width[4] = {16, 16, 16, 16};
    enum { N = 2003, SHARED = 700, ROOM = 1000 };
    static uint64_t values[N], scratch[N];
    static nd_hamming_pair out[ROOM];
    static uint8_t came[N][N];
    size_t n = 0;
    for (; n < SHARED; n++)                              /* the same 48 bits */
        values[n] = UINT64_C(0x123456789ABC0000) | n;
    for (; n < N; n++)
        values[n] = n % 3 ? values[n - 1] ^ UINT64_C(1) << n % 64 : random64();
    qsort(values, n, 8, ascending);
    for (size_t i = 1; i < n; i++)
        CHECK(values[i - 1] < values[i], "different fingerprints");
    nd_keys_order order[4];
    for (int t = 0; t < 4; t++)
        order[t] = (nd_keys_order){low[t], width, 4, 16, UINT64_C(0xFFFF) << low[t][0]};
    const nd_hamming_plan plan = {order, 4, 64, 3};
    memset(came, 0, sizeof came);
    for (size_t t = 0; t < 4; t++) {
        uint64_t *keys = guarded((int)t, BACK, 8 * n, 0);
        nd_keys_permute(&order[t], values, n, keys);
        nd_keys_sort(keys, scratch, n, 6);
        nd_hamming_cursor c = {0, 0};
        do {
            const size_t room = t & 1 ? ROOM : ND_HAMMING_ROOM, written = nd_hamming_pairs(&plan, t, keys, n, &c, out, room);
            CHECK(written <= room, "%s: %zu pairs in room for %zu", variant, written, room);
            for (size_t i = 0; i < written; i++) {
                const uint64_t a = out[i].a < out[i].b ? out[i].a : out[i].b, b = out[i].a ^ out[i].b ^ a;
                came[nd_keys_lower_bound(values, 0, n - 1, a)][nd_keys_lower_bound(values, 0, n - 1, b)]++;
            }
        } while (c.first < n);
        CHECK(nd_hamming_pairs(&plan, t, keys, n, &c, out, ROOM) == 0, "%s: nothing after the last key", variant);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (came[i][j] != (i < j && naive_distance(values[i], values[j]) <= 3))
                CHECK(0, "%s: the pair %zu, %zu came %d times", variant, i, j, came[i][j]);
    CHECK(1, "pairs of tables");
}

/* Every range of keys, with room and with less, and how many have each leading bits. */
static void test_ranges_of_keys(void)
{
    static const uint8_t low[3] = {40, 8, 0}, width[3] = {20, 32, 8};
    const nd_keys_order order = {low, width, 3, 20, UINT64_C(0xFFFFF) << 40};
    enum { N = 1300, SHIFT = 54 };
    static uint64_t values[N], keys[N], counts[1 << (60 - SHIFT)];
    for (size_t i = 0; i < N; i++)
        values[i] = random64() >> 4;
    nd_keys_permute(&order, values, N, keys);
    memset(counts, 0, sizeof counts);
    nd_keys_histogram(&order, values, N, SHIFT, counts);
    for (uint64_t v = 0; v < sizeof counts / sizeof *counts; v++) {
        size_t wanted = 0, at = 0;
        for (size_t i = 0; i < N; i++)
            wanted += keys[i] >> SHIFT == v;
        CHECK(counts[v] == wanted, "%zu keys lead with %zu, counted are %zu", wanted, (size_t)v, (size_t)counts[v]);
        const uint64_t first = v << SHIFT, last = first | ((UINT64_C(1) << SHIFT) - 1);
        for (size_t room = wanted + 1; room > 0; room = room > 3 ? room - 3 : 0) {
            uint64_t *to = guarded(0, BACK, 8 * room, 0);
            CHECK(nd_keys_gather(&order, values, N, first, last, to, room) == wanted, "%zu keys in room for %zu", wanted, room);
            at = 0;
            for (size_t i = 0; room > wanted && i < N; i++)
                if (keys[i] >> SHIFT == v && to[at++] != keys[i])
                    CHECK(0, "key %zu of the range", at - 1);
        }
        CHECK(v == 0 || at <= wanted, "a range");
    }
    CHECK(nd_keys_gather(&order, values, N, 0, ~UINT64_C(0), keys, 1) == N, "all keys in room for none");
}

static void test_tables(const char *variant)
{
    test_ranges_of_keys();
    test_compressed_tables(variant);
    test_pairs_of_tables(variant);
    test_open_tables(variant);
}

/* Blocks, keys and codes of any bytes: as many keys as `first` says, and nothing read around. */
static void test_hostile_blocks(void)
{
    for (int round = 0; round < 400; round++) {
        const size_t count = 1 + random_below(4);
        uint8_t *blocks = guarded(0, round & 1, count * ND_COMPRESSED_BLOCK, 0), lengths[ND_COMPRESSED_SYMBOLS];
        uint64_t *last = guarded(1, BACK, 8 * count, 0);
        uint32_t *first = guarded(2, BACK, 4 * (count + 1), 0), *codes = guarded(3, BACK, 4 * ND_COMPRESSED_CODES, 0);
        fill_random(blocks, count * ND_COMPRESSED_BLOCK);
        if (round % 3 == 0)
            memset(blocks, round % 2 ? 255 : 0, count * ND_COMPRESSED_BLOCK);
        fill_random((uint8_t *)last, 8 * count);
        fill_lengths(lengths, round % 5 == 0);
        if (round % 7 == 0)                    /* one long symbol, many times over */
            for (int s = 0; s < 65; s++)
                lengths[s] = s == 63 ? 1 : 0;
        CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
        for (size_t b = first[0] = 0; b < count; b++)
            first[b + 1] = first[b] + (uint32_t)random_below(8 * ND_COMPRESSED_BLOCK);
        const size_t n = first[count];
        uint64_t *out = guarded(4, BACK, 8 * n, 0), key = random64();
        const nd_compressed_table t = {blocks, last, first, codes, count};
        CHECK(nd_compressed_decode(&t, 0, count, out, n) == n, "%zu keys of hostile blocks", n);
        CHECK(untouched_around(4, out, 8 * n), "%zu keys of hostile blocks", n);
        const size_t room = random_below(n + 1);
        out = guarded(4, BACK, 8 * room, 0);
        CHECK(nd_compressed_decode(&t, 0, count, out, room) == room && untouched_around(4, out, 8 * room), "keys in less room");
        CHECK(nd_compressed_find(&t, 0, key) <= count, "search among hostile keys");
        int64_t rank;
        nd_compressed_ranks(&t, &key, 1, &rank);
        static const uint8_t low = 0, width = 64;
        const nd_keys_order order = {&low, &width, 1, (unsigned)round % 65, round % 65 ? ~UINT64_C(0) << (64 - round % 65) : 0};
        const nd_compressed h = {{&order, 1, 64, 10}, &t};
        uint64_t queries[3] = {random64(), last[0], 0};
        nd_entry asked[6];
        nd_compressed_match matches[ND_COMPRESSED_PIECE];
        nd_compressed_cursor c = {0};
        size_t calls = 0;
        for (; c.table < 1 && calls < 3 * n + 3; calls++)
            (void)nd_compressed_probe(&h, queries, 3, asked, &c, matches, ND_COMPRESSED_PIECE);
        CHECK(c.table == 1, "probes of hostile blocks come to an end");
    }
}

/* An index whose file is changed while it is searched, and queries that are: nothing is read or written around. */
static void test_changing_blocks(void)
{
    enum { COUNT = 4, N = COUNT * 100, SYMBOLS = 72 };
    static const uint8_t low = 0, width = 64;
    uint8_t *blocks = guarded(0, BACK, COUNT * ND_COMPRESSED_BLOCK, 0), *lengths = guarded(5, BACK, SYMBOLS, 0);
    uint64_t *last = guarded(1, BACK, 8 * COUNT, 0), *queries = guarded(6, BACK, 8 * 3, 0);
    uint32_t *first = guarded(2, BACK, 4 * (COUNT + 2), 0), *codes = guarded(3, BACK, 4 * ND_COMPRESSED_CODES, 0);
    const uint64_t few[] = {0, 1, 1ull << 32, 100ull << 32 | 200, ~UINT64_C(0)};
    const uint64_t sound[] = {UINT64_C(0x0706050403020100), UINT64_C(0x0B0B0B0B0B0B0B0B), 0, UINT64_C(0x0808080808080808)};
    const changing changes[] = {{(void *)blocks, COUNT * ND_COMPRESSED_BLOCK / 8, NULL, 0}, {last, COUNT, NULL, 0},
                                {(void *)first, COUNT / 2 + 1, few, 5}, {queries, 3, NULL, 0}, {(void *)lengths, SYMBOLS / 8, sound, 4}};
    fill_random(blocks, COUNT * ND_COMPRESSED_BLOCK);
    memset(lengths, 0, SYMBOLS);
    for (int s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        lengths[s] = s < 63 ? 7 : 8;
    CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
    for (int what = 0; what < 5; what++) {
        for (uint32_t b = 0; b <= COUNT; b++)
            first[b] = b * (N / COUNT);
        for (int b = 0; b < COUNT; b++)
            last[b] = (uint64_t)(b + 1) << 62;
        const nd_keys_order order = {&low, &width, 1, 10, ~UINT64_C(0) << 54};
        const nd_compressed_table t = {blocks, last, first, codes, COUNT};
        const nd_compressed h = {{&order, 1, 64, 10}, &t};
        const pthread_t thread = begin_changing(&changes[what]);
        for (int round = 0; round < 3000; round++) {
            uint32_t *other = guarded(7, BACK, 4 * ND_COMPRESSED_CODES, 0);
            if (what == 4) {
                (void)nd_compressed_codes(lengths, other);
                continue;
            }
            uint64_t *out = guarded(4, BACK, 8 * N, 0), key = random64();
            const size_t written = nd_compressed_decode(&t, 0, COUNT, out, N);
            if (written > N || nd_compressed_find(&t, 0, key) > COUNT)
                CHECK(0, "%zu keys of changing blocks", written);
            if (what == 2)
                continue;      /* a block then has up to 2^32 keys, which take long */
            int64_t rank;
            nd_compressed_ranks(&t, &key, 1, &rank);
            nd_entry asked[6];
            nd_compressed_match matches[ND_COMPRESSED_PIECE];
            nd_compressed_cursor c = {0};
            for (size_t calls = 0; c.table < 1 && calls < 3 * N + 3; calls++)
                (void)nd_compressed_probe(&h, queries, 3, asked, &c, matches, ND_COMPRESSED_PIECE);
        }
        end_changing(thread);
        CHECK(1, "changing blocks");
    }
}

/* The same of sorted tables with a directory and presence, of 20 bits. */
static void test_changing_tables(void)
{
    enum { N = 256, BITS = 20, LISTED = 5, PRESENT = 8 };
    static const uint8_t low[2][2] = {{0, 0}, {0, 10}}, width[2][2] = {{20, 0}, {10, 10}};
    uint64_t *keys = guarded(0, BACK, 8 * N, 0), *queries = guarded(1, BACK, 8 * 8, 0);
    uint32_t *directory = guarded(2, BACK, 4 * ((1 << LISTED) + 2), 0);
    uint8_t *presence = guarded(3, BACK, (1 << PRESENT) / 8, 0);
    const changing changes[] = {{keys, N, NULL, 0}, {queries, 8, NULL, 0}, {(void *)directory, (1 << LISTED) / 2 + 1, NULL, 0},
                                {(void *)presence, (1 << PRESENT) / 64, NULL, 0}};
    for (int what = 0; what < 4; what++) {
        for (size_t i = 0; i < N; i++)
            keys[i] = i << 12 | random_below(1 << 12);
        for (size_t i = 0; i < 8; i++)
            queries[i] = random64();        /* more bits than the plan has */
        nd_keys_directory(keys, N, BITS, LISTED, directory);
        nd_keys_presence(keys, N, BITS, PRESENT, presence);
        const nd_keys_order order[2] = {{low[0], width[0], 1, 10, 0xFFC00}, {low[1], width[1], 2, 10, 0x3FF}};
        const nd_probes_table table[2] = {{keys, directory, presence, LISTED, PRESENT}, {keys, directory, presence, LISTED, PRESENT}};
        const nd_probes h = {{order, 2, BITS, 3}, table, N};
        const pthread_t thread = begin_changing(&changes[what]);
        for (int round = 0; round < 3000; round++) {
            nd_probes_match *out = guarded(4, BACK, sizeof *out * ND_HAMMING_ROOM, 0);
            nd_probes_cursor c = {0};
            size_t wrong = 0;
            for (int calls = 0; c.table < 2 && calls < 100; calls++) {
                const size_t written = nd_probes_search(&h, queries, 8, &c, out, ND_HAMMING_ROOM);
                for (size_t i = 0; i < written; i++)
                    wrong += out[i].rank > N || out[i].query >= 8;
            }
            if (wrong || nd_probes_rank(&h, random64()) > N)
                CHECK(0, "%zu matches in changing tables are of no fingerprint", wrong);
        }
        end_changing(thread);
        CHECK(1, "changing tables");
    }
}

/* Keys of more bits than a table is for: the directory and the bits of presence end where they end. */
static void test_long_keys(void)
{
    for (unsigned bits = 3; bits <= 64; bits++)
        for (unsigned listed = 0; listed <= 8 && listed <= bits; listed++) {
            uint64_t *keys = guarded(0, BACK, 8 * 9, 0);
            for (int i = 0; i < 9; i++)
                keys[i] = random64() >> (8 - i) * 7;
            uint32_t *directory = guarded(1, BACK, 4 * ((1u << listed) + 1), 0);
            nd_keys_directory(keys, 9, bits, listed, directory);
            CHECK(directory[1u << listed] == 9 && untouched_around(1, directory, 4 * ((1u << listed) + 1)), "a directory of long keys");
            if (listed < 3)
                continue;
            uint8_t *presence = guarded(2, BACK, (1u << listed) / 8, 0);
            nd_keys_presence(keys, 9, bits, listed, presence);
            CHECK(untouched_around(2, presence, (1u << listed) / 8), "bits of presence of long keys");
        }
}

/* ---- pipeline */

static void set_width(nd_shingling *s, size_t width)
{
    const uint8_t one = 1;
    s->width = width;
    nd_rabin_symbol_window_init(&s->symbol_window, &s->rabin, width);
    nd_rabin_byte_window_init(&s->byte_window, &s->rabin, width);
    s->lead = nd_rabin_shift(&s->rabin, nd_rabin_bytes(&s->rabin, 0, &one, 1), width);
}

static size_t units_taken;    /* by the kernels of windows, again and again where a window begins anew */

static void counted_windows(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window, const uint64_t *s, size_t n,
                            uint64_t *out)
{
    units_taken += n;
    nd_rabin_symbols(r, w, window, s, n, out);
}

static void counted_sliding(const nd_rabin *r, const nd_rabin_byte_window *w, size_t window, const uint8_t *b, size_t n,
                            uint64_t *out)
{
    units_taken += n;
    nd_rabin_sliding(r, w, window, b, n, out);
}

static uint64_t counted_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    units_taken += n;
    return nd_rabin_bytes(r, state, b, n);
}

/* A token costs the same for every width, and a short document its own length. */
static void test_cost_of_widths(void)
{
    enum { TOKENS = 300000 };
    static const size_t widths[] = {1, 4, 64, 1000, 4096};
    static nd_shingling s;
    static uint8_t text[2 * TOKENS];
    static uint64_t values[2 * TOKENS], symbols[TOKENS];
    s.run = (nd_kernels){nd_text_open, nd_units_read, counted_windows, counted_sliding, counted_bytes, nd_rabin_words};
    s.short_whole = 1;
    nd_text_table_init(&s.token_table, NAIVE_Q);
    nd_rabin_init(&s.rabin, NAIVE_P, 64);
    for (size_t i = 0; i < TOKENS; i++) {
        symbols[i] = text[2 * i] = (uint8_t)('a' + random_below(26));
        text[2 * i + 1] = ' ';
    }
    for (size_t q = 0; q < 2 * sizeof widths / sizeof *widths; q++) {
        const size_t width = widths[q / 2], n = q % 2 ? sizeof text : TOKENS;
        s.unit = q % 2 ? ND_BYTE : ND_WORD;
        set_width(&s, width);
        uint64_t *const scratch = malloc(8 * nd_shingle_scratch_size(s.unit, width, sizeof text));
        nd_collected all = {values, 0};
        size_t taped;
        units_taken = 0;
        const nd_shingled done = nd_shingle(&s, text, sizeof text, nd_collect, &all, scratch, NULL, &taped);
        CHECK(done.tokens == n && all.n == n - width + 1 && done.shingles == all.n, "width %zu: %zu shingles", width, all.n);
        CHECK(units_taken <= n + n / 15 + width, "width %zu: %zu units taken of %zu", width, units_taken, n);
        for (size_t sample = 0; sample < 40; sample++) {
            const size_t at = sample < 2 ? sample * (all.n - 1) : random_below(all.n);
            const uint64_t expected = q % 2 ? naive_mod(NAIVE_P, 64, text + at, width, 64)
                                            : naive_words(NAIVE_P, symbols + at, width);
            CHECK(values[at] == expected, "width %zu: shingle %zu", width, at);
        }
        free(scratch);
        if (q % 2) {
            all.n = units_taken = 0;
            uint64_t few[2 * 1024];
            CHECK(nd_shingle_scratch_size(ND_BYTE, 65536, 3) <= 2048, "scratch for a short document");
            nd_shingle(&s, text, width < 5 ? width - 1 : 5, nd_collect, &all, few, NULL, &taped);
            CHECK(units_taken <= 5, "width %zu: %zu bytes taken of a short document", width, units_taken);
        }
    }
}

static void test_shingles(void)
{
    static const size_t widths[] = {1, 2, 5, 64, 1024, 1500};
    static nd_shingling s;
    static uint8_t text[LONGEST];
    nd_text_table_init(&s.token_table, NAIVE_Q);
    s.run = (nd_kernels){nd_text_open, nd_units_read, nd_rabin_symbols, nd_rabin_sliding, nd_rabin_bytes, nd_rabin_words};
    nd_rabin_init(&s.rabin, NAIVE_P, 64);
    for (size_t q = 0; q < 6; q++) {
        const size_t width = widths[q];
        set_width(&s, width);
        for (size_t u = 0; u < UNIT_COUNT; u++)
            for (int l = 0; l < LENGTH_COUNT; l++) {
                const size_t n = LENGTHS[l];
                if (l % 2)
                    random_text(text, n);
                else
                    for (size_t i = 0; i < n; i++)
                        text[i] = " a"[i & 1];
                s.unit = UNITS[u];
                s.short_whole = (l & 3) != 0;
                naive_text expected = naive_read(s.unit, text, n);
                const size_t tokens = expected.count, full = tokens >= width ? tokens - width + 1 : 0;
                const size_t shingles = full ? full : s.short_whole && tokens;
                uint8_t *given = guarded(0, BACK, n, 0), *tape = guarded(1, BACK, nd_text_tape_size(n), 0);
                uint64_t *scratch = guarded(2, BACK, 8 * nd_shingle_scratch_size(s.unit, width, n), 0);
                nd_collected all = {guarded(3, BACK, 8 * shingles, 0), 0};
                size_t taped;
                memcpy(given, text, n);
                const nd_shingled done = nd_shingle(&s, given, n, nd_collect, &all, scratch, l % 3 ? tape : NULL, &taped);
                CHECK(done.tokens == tokens && done.shingles == shingles && all.n == shingles && done.invalid == expected.invalid,
                      "unit %d, width %zu, %zu bytes: %zu tokens, %zu shingles", s.unit, width, n, done.tokens, done.shingles);
                CHECK(taped == (l % 3 ? expected.taped : 0) && (!taped || memcmp(tape, expected.tape, taped) == 0), "tape");
                for (size_t i = 0; i < all.n && i < shingles; i += 1 + (n > 100 ? random_below(n / 8) : 0)) {
                    const size_t held = full ? width : tokens;
                    uint64_t value = naive_words(NAIVE_P, expected.symbols + i, held);
                    if (s.unit == ND_BYTE && full)
                        value = naive_mod(NAIVE_P, 64, text + i, width, 64);
                    if (s.unit == ND_BYTE && !full) {      /* 0x01, width zero bytes, the text */
                        uint8_t *whole = calloc(1, 1 + width + n);
                        whole[0] = 1;
                        memcpy(whole + 1 + width, text, n);
                        value = naive_mod(NAIVE_P, 64, whole, 1 + width + n, 64);
                        free(whole);
                    }
                    CHECK(all.values[i] == value, "unit %d, width %zu: shingle %zu of %zu", s.unit, width, i, shingles);
                }
                naive_close(&expected);
            }
    }
}

static nd_stops stops_of(const naive_text *words, uint64_t symbol, int same)   /* same: all have this symbol */
{
    nd_stops s = {.room = nd_table_room(words->count), .key = table_key((int)random_below(4))};
    uint8_t *tape = guarded(4, BACK, words->taped, 0);
    uint64_t *symbols = guarded(5, BACK, 8 * words->count, 0);
    s.slots = guarded(6, BACK, s.room * sizeof *s.slots, 0);
    memcpy(tape, words->tape, words->taped);
    for (size_t i = 0; i < words->count; i++)
        symbols[i] = same ? symbol : words->symbols[i];
    nd_stops_fill(&s, tape, symbols, words->count);
    return s;
}

static void test_stop_words(void)
{
    static nd_shingling s;
    static uint8_t text[LONGEST];
    s.run = (nd_kernels){nd_text_open, nd_units_read, nd_rabin_symbols, nd_rabin_sliding, nd_rabin_bytes, nd_rabin_words};
    s.short_whole = 1;
    nd_text_table_init(&s.token_table, NAIVE_Q);
    nd_rabin_init(&s.rabin, NAIVE_P, 64);
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (size_t k = 1; k <= 5; k++) {
            const size_t n = LENGTHS[l] < 1000 ? LENGTHS[l] : 1000;
            random_prose(text, n);
            for (size_t i = 0; i + 3 < n && k == 5; i += 4)      /* few words, often */
                memcpy(text + i, (const char *[]){"a b ", "the ", "\xC3\xA9t "}[random_below(3)], 4);
            naive_text all = naive_read(ND_WORD, text, n), words = naive_some(&all, k), left = naive_without(&all, &words);
            if (words.count == 0)
                continue;
            for (int same = 0; same < 2; same++) {               /* equal symbols: told apart by their bytes alone */
                s.stops = stops_of(&words, 7, same);
                uint8_t *tape = guarded(1, BACK, all.taped, 0), *end = tape + all.taped;
                uint64_t *symbols = guarded(2, BACK, 8 * all.count, 0);
                memcpy(tape, all.tape, all.taped);
                for (size_t i = 0; i < all.count; i++)
                    symbols[i] = same ? 7 : all.symbols[i];
                const size_t kept = nd_stops_remove(&s.stops, symbols, all.count, tape, &end);
                CHECK(kept == left.count && (size_t)(end - tape) == left.taped, "%zu of %zu left", kept, all.count);
                CHECK(!kept || memcmp(tape, left.tape, left.taped) == 0, "tape of what is left");
                CHECK(same || !kept || memcmp(symbols, left.symbols, 8 * kept) == 0, "symbols of what is left");
            }
            s.stops = stops_of(&words, 0, 0);
            set_width(&s, k);
            const size_t shingles = left.count >= k ? left.count - k + 1 : left.count > 0;
            uint8_t *given = guarded(0, BACK, n, 0), *tape = guarded(1, BACK, nd_text_tape_size(n), 0);
            uint64_t *scratch = guarded(2, BACK, 8 * nd_shingle_scratch_size(ND_WORD, k, n), 0);
            nd_collected found = {guarded(3, BACK, 8 * shingles, 0), 0};
            size_t taped;
            memcpy(given, text, n);
            const nd_shingled done = nd_shingle(&s, given, n, nd_collect, &found, scratch, tape, &taped);
            CHECK(done.tokens == left.count && done.shingles == shingles && found.n == shingles, "%zu shingles", found.n);
            CHECK(taped == left.taped && (!taped || memcmp(tape, left.tape, taped) == 0), "tape without stop words");
            for (size_t i = 0; i < shingles; i++)
                if (found.values[i] != naive_words(NAIVE_P, left.symbols + i, k < left.count ? k : left.count))
                    CHECK(0, "shingle %zu without stop words", i);
            naive_close(&all);
            naive_close(&words);
            naive_close(&left);
        }
}

static void test_labels(void)
{
    for (int l = 0; l < LENGTH_COUNT && LENGTHS[l] <= 513; l++) {
        const size_t n = LENGTHS[l];
        const nd_table_key key = table_key(l % 4);
        uint64_t *f = guarded(0, BACK, 8 * n, 0), *before = guarded(1, BACK, 8 * n, 0);
        nd_label_slot *slots = guarded(2, BACK, nd_table_room(n) * sizeof *slots, 0);
        for (size_t i = 0; i < n; i++)
            f[i] = before[i] = random_below(1 + n / 3);
        nd_label(f, n, &key, slots);
        for (size_t i = 0; i < n; i++) {
            uint64_t occurrence = 0;
            for (size_t j = 0; j <= i; j++)
                occurrence += before[j] == before[i];
            const uint64_t expected = occurrence == 1 ? before[i] : nd_fmix64(before[i] + occurrence * UINT64_C(0x9E3779B97F4A7C15));
            if (f[i] != expected)
                CHECK(0, "label %zu of %zu", i, n);
        }
        CHECK(1, "labels");
    }
}

static void test_features(void)
{
    static nd_rabin r;
    nd_rabin_init(&r, NAIVE_R, 64);
    for (size_t item_size = 4; item_size <= 8; item_size += 4)
        for (size_t size = 1; size <= 5; size++) {
            const size_t n = 7, items = 31, groups = items / size;
            uint8_t *rows = guarded(0, BACK, n * items * item_size, 0);
            uint64_t *group = guarded(1, BACK, 8 * (size + 1), 0), *out = guarded(2, BACK, 8 * n * (groups - 1), 0);
            fill_random(rows, n * items * item_size);
            nd_features(nd_rabin_words, &r, rows, n, items, item_size, size, 1, groups, group, out);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 1; j < groups; j++) {
                    uint64_t words[6] = {j};
                    for (size_t x = 0; x < size; x++)
                        words[1 + x] = item_size == 4 ? ((uint32_t *)rows)[i * items + j * size + x]
                                                      : ((uint64_t *)rows)[i * items + j * size + x];
                    CHECK(out[i * (groups - 1) + j - 1] == naive_words(NAIVE_R, words, size + 1), "feature %zu of %zu", j, i);
                }
            nd_features(nd_rabin_words, &r, rows, 0, items, item_size, size, 0, groups, group, out);
        }
}

/* Combinations as the subsets of a bit mask, in the order of their ascending lists. */
static void test_super_features(void)
{
    static nd_rabin r;
    nd_rabin_init(&r, NAIVE_S, 64);
    for (size_t groups = 1; groups <= 7; groups++)
        for (size_t need = 1; need <= groups; need++) {
            size_t count = 0;
            for (unsigned set = 0; set < 1u << groups; set++)
                count += (size_t)__builtin_popcount(set) == need;
            const size_t n = 3;
            uint64_t *rows = guarded(0, BACK, 8 * n * groups, 0), *out = guarded(1, BACK, 8 * n * count, 0);
            uint64_t *scratch = guarded(2, BACK, 8 * (2 * need + 1), 0);
            fill_random((uint8_t *)rows, 8 * n * groups);
            nd_super_features(nd_rabin_words, &r, rows, n, groups, need, scratch, out);
            for (size_t i = 0; i < n; i++) {
                size_t c = 0;
                for (unsigned set = 1u << groups; set-- > 0;) {    /* bit groups − 1 − l: feature l */
                    if ((size_t)__builtin_popcount(set) != need)
                        continue;
                    uint64_t words[8] = {c};
                    size_t held = 1;
                    for (size_t l = 0; l < groups; l++)
                        if (set >> (groups - 1 - l) & 1)
                            words[held++] = rows[i * groups + l];
                    CHECK(out[i * count + c] == naive_words(NAIVE_S, words, need + 1), "super-feature %zu of %zu", c, i);
                    c++;
                }
            }
            nd_super_features(nd_rabin_words, &r, rows, 0, groups, need, scratch, out);
        }
}

static void test_super_shingles(void)
{
    static nd_rabin r;
    static nd_rabin_symbol_window w;
    nd_rabin_init(&r, NAIVE_R, 64);
    static const size_t lengths[] = {0, 3, 1, 0, 40, 2, 17, 0};
    enum { SKETCHES = sizeof lengths / sizeof *lengths };
    for (size_t run = 1; run <= 41; run += run < 4 ? 1 : 6) {
        nd_rabin_symbol_window_init(&w, &r, run);
        int64_t *offsets = guarded(0, BACK, 8 * (SKETCHES + 1), 0);
        size_t room = 0;
        offsets[0] = 0;
        for (int d = 0; d < SKETCHES; d++) {
            offsets[d + 1] = offsets[d] + (int64_t)lengths[d];
            room += lengths[d] >= run ? lengths[d] - run + 1 : 0;
        }
        uint64_t *members = guarded(1, BACK, 8 * (size_t)offsets[SKETCHES], 0), *out = guarded(2, BACK, 8 * room, 0);
        fill_random((uint8_t *)members, 8 * (size_t)offsets[SKETCHES]);
        nd_super_shingles(nd_rabin_symbols, &r, &w, run, members, offsets, SKETCHES, out);
        size_t at = 0;
        for (int d = 0; d < SKETCHES; d++)
            for (size_t i = 0; i + run <= lengths[d]; i++, at++)
                CHECK(out[at] == naive_words(NAIVE_R, members + offsets[d] + i, run), "super-shingle %zu of %d", i, d);
        CHECK(at == room, "runs of %zu", run);
        nd_super_shingles(nd_rabin_symbols, &r, &w, run, members, offsets, 0, out);
    }
}

static void test_simhash_variant(const char *variant)
{
    test_equal_weights(variant);
    test_many_groups(variant);
    test_weights(variant);
}

static void test_rabin_variant(const char *variant)
{
    test_rabin();
    test_symbol_windows(variant);
    test_super_shingles();
}

int main(void)
{
    fill_pattern(input[0], sizeof input[0]);
    fill_random(input[1], sizeof input[1]);
    test_mixers();
    test_table();
    test_crowded_tables();
    test_gf2();
    each_variant("rabin", &nd_rabin_choice, test_rabin_variant);
    each_variant("text", &nd_text_choice, test_text_variant);
    test_code_points();
    test_utf8();
    test_other_token_polynomials();
    test_nfkc();
    each_variant("minhash", &nd_minhash_choice, test_minhash_variant);
    test_bottom();
    each_variant("modsketch", &nd_modsketch_choice, test_modsketch);
    each_variant("simhash", &nd_simhash_choice, test_simhash_variant);
    test_weight_table();
    test_counts();
    test_sorting();
    test_sets();
    test_overlaps();
    test_entries();
    test_expansion();
    test_clusters();
    test_greedy();
    test_codes();
    test_coding();
    each_variant("hamming", &nd_hamming_choice, test_tables);
    test_hostile_blocks();
    test_changing_blocks();
    test_changing_tables();
    test_long_keys();
    test_shingles();
    test_cost_of_widths();
    test_stop_words();
    test_labels();
    test_features();
    test_super_features();
    return report();
}
