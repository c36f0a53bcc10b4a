/* Simhash with and without weights; tables of weights; counts. Included by test_core.c alone. */
#ifndef ND_TEST_SIMHASH_H
#define ND_TEST_SIMHASH_H

enum { SIMHASH_KEY = 7 };

/* The fingerprint that π sends to z. */
static uint64_t unmixed(uint64_t z) { return naive_unmix(z) ^ SIMHASH_KEY; }

/* Bits of word `word` whose V_b > 0; the weight of every feature is 1 where w is NULL. */
static uint64_t naive_simhash(const uint64_t *f, const int32_t *w, size_t n, size_t word)
{
    const uint64_t plus = word * UINT64_C(0x9E3779B97F4A7C15);
    uint64_t value = 0;
    for (unsigned b = 0; b < 64; b++) {
        int64_t v = 0;
        for (size_t i = 0; i < n; i++) {
            const int64_t weight = w ? w[i] : 1;
            const uint64_t z = nd_fmix64(f[i] ^ SIMHASH_KEY);
            v += (word ? nd_fmix64(z + plus) : z) >> b & 1 ? weight : -weight;
        }
        value |= (uint64_t)(v > 0) << b;
    }
    return value;
}

static int is_simhash(const uint64_t *value, size_t words, const uint64_t *f, const int32_t *w, size_t n)
{
    for (size_t word = 0; word < words; word++)
        if (value[word] != naive_simhash(f, w, n, word))
            return 0;
    return 1;
}

/* Half of the documents lean to some bits, so that counts are near n / 2 and at its ends. */
static void fill_features(uint64_t *f, size_t n)
{
    const uint64_t always = random64() & random64(), never = random64() & random64() & ~always;
    const int leaning = random64() & 1;
    for (size_t i = 0; i < n; i++)
        f[i] = leaning ? unmixed((random64() | always) & ~never) : i % 5 == 4 ? f[i - 4] : random64();
}

static nd_simhash_set *simhash_set(size_t room, size_t words)
{
    static nd_simhash_set s;
    s.once.words = words;
    s.once.mix = nd_minhash_mix;
    s.once.key = SIMHASH_KEY;
    s.room = room;
    s.values = guarded(3, BACK, 16 * room, 0);
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
                const size_t n = LENGTHS[l], cut = random_below(n + 1), words = (size_t)1 << again % 3;
                uint64_t *f = guarded(0, side, 8 * n, 8 * (size_t)again), *value = guarded(1, BACK, 8 * words, 0);
                fill_features(f, n);
                s.words = words;
                nd_simhash_open(&s);
                nd_simhash_take(&s, f, cut);
                nd_simhash_take(&s, f + cut, n - cut);
                nd_simhash_value(&s, value);
                CHECK(is_simhash(value, words, f, NULL, n), "%s: %zu + %zu features, %zu words", variant, cut, n - cut, words);
                CHECK(s.features == n, "%s: features are counted", variant);
                nd_simhash_set *set = simhash_set(n, words);
                nd_simhash_set_take(set, f, cut);
                nd_simhash_set_take(set, f + cut, n - cut);
                nd_simhash_set_value(set, value);
                const size_t distinct = naive_set(f, n);
                CHECK(is_simhash(value, words, f, NULL, distinct), "%s: %zu distinct features of %zu, %zu words", variant,
                      distinct, n, words);
                CHECK(set->once.features == distinct, "%s: distinct features are counted", variant);
            }
    for (size_t n = 0; n < 200; n++) {    /* the threshold itself: m of n have all the bits */
        static uint64_t f[200];
        for (size_t m = 0; m <= n; m++) {
            for (size_t i = 0; i < n; i++)
                f[i] = unmixed(i < m ? UINT64_MAX : 0);
            uint64_t value;
            s.words = 1;
            nd_simhash_open(&s);
            nd_simhash_take(&s, f, n);
            nd_simhash_value(&s, &value);
            CHECK(value == (2 * m > n ? UINT64_MAX : 0), "%s: %zu of %zu", variant, m, n);
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
    uint64_t value[2];
    s.words = 2;
    nd_simhash_open(&s);
    nd_simhash_take(&s, f, MANY);
    nd_simhash_value(&s, value);
    CHECK(is_simhash(value, 2, f, NULL, MANY), "%s: %d features", variant, MANY);
    nd_simhash_open(&s);
    nd_simhash_take(&s, f, 3);
    nd_simhash_value(&s, value);
    CHECK(is_simhash(value, 2, f, NULL, 3), "%s: few after many", variant);
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
                uint64_t value[ND_SIMHASH_WORDS];
                s.words = (size_t)1 << (l + k) % 3;
                nd_simhash_weighted_open(&s);
                nd_simhash_weighted_add(&s, f, w, cut);
                nd_simhash_weighted_add(&s, f + cut, w + cut, n - cut);
                nd_simhash_weighted_value(&s, value);
                CHECK(is_simhash(value, s.words, f, w, n), "%s: %zu weights of up to %d, %zu words", variant, n, kinds[k], s.words);
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
    CHECK(s.total == 1025 * (int64_t)INT32_MAX && s.sums[0][0] == s.total && s.sums[0][63] == s.total, "%s: exact sums",
          variant);
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
            uint64_t value[2];
            s.words = 2;
            nd_simhash_weighted_open(&s);
            nd_simhash_weighted_take(&s, z, 2 * n + 1);
            nd_simhash_weighted_value(&s, value);
            CHECK(is_simhash(value, 2, z, out, 2 * n + 1), "weights of the table");
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

#endif
