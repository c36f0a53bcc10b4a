/* Consistent weighted samples. Included by test_core.c alone. */
#ifndef ND_TEST_WEIGHTED_H
#define ND_TEST_WEIGHTED_H

static double naive_uniforms(uint64_t h)
{
    return ((double)(h >> 32) + 0.5) * 0x1p-32 * (((double)(h & UINT32_MAX) + 0.5) * 0x1p-32);
}

/* Scores every feature in sample j, and returns the value of the least. */
static uint32_t naive_weighted(const uint64_t *z, const int64_t *weights, size_t n, size_t j)
{
    const uint64_t gamma = UINT64_C(0x9E3779B97F4A7C15);
    double least = 0;
    uint64_t holder = 0;
    int64_t level = 0;
    for (size_t i = 0; i < n; i++) {
        const double r = -nd_log(naive_uniforms(nd_fmix64(z[i] + (3 * j + 1) * gamma)));
        const double c = -nd_log(naive_uniforms(nd_fmix64(z[i] + (3 * j + 2) * gamma)));
        const double beta = (double)(nd_fmix64(z[i] + (3 * j + 3) * gamma) >> 12) * 0x1p-52;
        const double ratio = nd_log((double)weights[i] / 65536.0) / r, sum = ratio + beta;
        int64_t t = (int64_t)sum;
        if ((double)t > sum)
            t--;
        const double up = (double)t - beta, product = r * (up + 1.0), score = nd_log(c) - product;
        if (i == 0 || score < least || (score == least && z[i] < holder)) {
            least = score;
            holder = z[i];
            level = t;
        }
    }
    return n ? (uint32_t)(nd_fmix64(holder + (uint64_t)level * gamma) >> 32) : UINT32_MAX;
}

/* Whole and broken blocks of samples; small and huge weights, of which one may outweigh all others; sums that are right,
 * unknown, and so large that some samples or all see the features twice. */
static void test_weighted(const char *variant)
{
    static const size_t samples[] = {1, 7, 8, 65, 84, 130};
    static const double errors[] = {1.0, 0.0, 4.0, 1e30};
    static const int64_t weights[] = {1, 65536, 3 * 65536 + 1, INT64_C(1) << 47, INT64_MAX};
    static uint64_t z[300];
    static int64_t w[300];
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++)
        for (size_t n = 0; n < 300; n = 3 * n + 1)
            for (int kind = 0; kind < 3; kind++) {
                const size_t room = (samples[k] + ND_WEIGHTED_BLOCK - 1) / ND_WEIGHTED_BLOCK * ND_WEIGHTED_BLOCK;
                nd_weighted s = {.k = samples[k], .room = room, .score = guarded(0, BACK, 8 * samples[k], 0),
                                 .limit = guarded(1, BACK, 8 * room, 0), .holder = guarded(2, BACK, 8 * samples[k], 0),
                                 .level = guarded(3, BACK, 8 * samples[k], 0)};
                uint32_t values[130];
                for (size_t i = 0; i < n; i++) {
                    z[i] = random64();
                    w[i] = kind == 0 ? 65536 : kind == 1 ? weights[random_below(5)] : 1 + (int64_t)random_below(1 << 20);
                }
                uint32_t expected[130];
                double sum = 0;
                for (size_t i = 0; i < n; i++)
                    sum += (double)w[i];
                for (size_t j = 0; j < samples[k]; j++)
                    expected[j] = naive_weighted(z, w, n, j);
                for (int error = 0; error < 4; error++) {
                    nd_weighted_open(&s, sum * errors[error]);
                    for (int again = 1; again >= 0; again--) {
                        const size_t cut = random_below(n + 1);
                        nd_weighted_take(&s, z, w, cut);
                        nd_weighted_take(&s, z + cut, w + cut, n - cut);
                        const int missed = nd_weighted_again(&s);
                        CHECK(n == 0 || !missed || again, "weighted=%s: a sample finds nothing twice", variant);
                        CHECK(n == 0 || error != 3 || missed == again, "weighted=%s: no sample is below such a limit", variant);
                        if (!missed)
                            break;
                    }
                    nd_weighted_values(&s, values);
                    size_t wrong = 0;
                    for (size_t j = 0; j < samples[k]; j++)
                        wrong += values[j] != expected[j];
                    CHECK(wrong == 0, "weighted=%s: %zu of %zu samples of %zu features differ", variant, wrong, samples[k], n);
                }
                CHECK(untouched_around(1, s.limit, 8 * room), "weighted=%s: limits are kept to", variant);
            }
}

/* Sums of powers that a logarithm must meet: log(x·y) = log x + log y within rounding, and known values. */
static void test_logarithms(void)
{
    CHECK(nd_log(1.0) == 0.0 && nd_log(2.0) == 0x1.62e42fefa39efp-1, "log 1 and log 2");
    for (int i = 0; i < 10000; i++) {
        const double x = (double)(random64() >> 11) * 0x1p-60 + 0x1p-60, y = (double)(random64() >> 11) * 0x1p-40 + 0x1p-40;
        const double sum = nd_log(x) + nd_log(y), both = nd_log(x * y), off = sum > both ? sum - both : both - sum;
        CHECK(off <= 0x1p-46, "log %a + log %a differs from log of the product by %a", x, y, off);
    }
}

#endif
