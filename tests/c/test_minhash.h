/* Signatures, those of datasketch too, bottom sketches, fast signatures, mod sketches. Included by test_core.c alone. */
#ifndef ND_TEST_MINHASH_H
#define ND_TEST_MINHASH_H

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

/* datasketch's minima, naively; hashes and coefficients near 2^61 − 1 and 2^64 among them. */
static void test_minima_of_datasketch(const char *variant)
{
    static const size_t ks[] = {0, 1, 3, 4, 5, 31, 32, 33, 128};
    const uint64_t prime = (UINT64_C(1) << 61) - 1;
    for (size_t q = 0; q < sizeof ks / sizeof *ks; q++)
        for (int l = 0; l < LENGTH_COUNT && LENGTHS[l] < 1100; l++) {
            const size_t k = ks[q], n = LENGTHS[l], cut = n ? random_below(n + 1) : 0;
            uint64_t *f = guarded(0, l % 2, 8 * n, 8 * ((size_t)l % 8)), *a = guarded(1, BACK, 8 * k, 0);
            uint64_t *b = guarded(2, BACK, 8 * k, 8), *legacy = guarded(3, BACK, 8 * k, 0);
            uint32_t *a32 = guarded(4, BACK, 4 * k, 0), *b32 = guarded(5, BACK, 4 * k, 4), *affine = guarded(6, FRONT, 4 * k, 0);
            for (size_t i = 0; i < n; i++)
                f[i] = i % 4 ? random64() : prime * (i % 8) + i % 3 - 1;
            for (size_t i = 0; i < k; i++) {
                a[i] = i % 5 ? random64() >> 3 : 1;
                b[i] = i % 3 ? random64() >> 3 : 0;
                a32[i] = (uint32_t)a[i] | 1;
                b32[i] = (uint32_t)b[i];
                legacy[i] = UINT32_MAX;
                affine[i] = UINT32_MAX;
            }
            nd_minima64 by_legacy = {k, 0, a, b, legacy};
            nd_minima32 by_affine = {k, 0, a32, b32, affine};
            nd_minima_legacy_take(&by_legacy, f, cut);
            nd_minima_legacy_take(&by_legacy, f + cut, n - cut);
            nd_minima_affine32_take(&by_affine, f, cut);
            nd_minima_affine32_take(&by_affine, f + cut, n - cut);
            for (size_t i = 0; i < k; i++) {
                uint64_t least = UINT32_MAX;
                uint32_t least32 = UINT32_MAX;
                for (size_t j = 0; j < n; j++) {
                    const uint64_t h = (a[i] * f[j] + b[i]) % prime & UINT32_MAX;
                    const uint32_t h32 = a32[i] * nd_fmix32((uint32_t)f[j]) + b32[i];
                    least = h < least ? h : least;
                    least32 = h32 < least32 ? h32 : least32;
                }
                if (legacy[i] != least || affine[i] != least32)
                    CHECK(0, "%s: minimum %zu of %zu of datasketch, %zu values", variant, i, k, n);
            }
            CHECK(untouched_around(3, legacy, 8 * k) && untouched_around(6, affine, 4 * k),
                  "%s keeps to its array, k = %zu", variant, k);
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
                    const size_t early = size + 1 + (size_t)l % 5 * size / 2;
                    nd_bottom b = {.size = size, .early_size = early, .key = key, .shift = shifts[h],
                                   .members = guarded(0, l % 2, 8 * size, 0), .early = guarded(3, l % 3 % 2, 24 * early, 0)};
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
                    CHECK(untouched_around(0, b.members, 8 * size), "the sketch keeps to its array");
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
                if (t > 7 && few != l % 2)              /* by definition these cost the most: each length once */
                    continue;
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
    test_minima_of_datasketch(variant);
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

#endif
