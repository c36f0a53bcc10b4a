/* Polynomials over GF(2). Included by test_core.c alone. */
#ifndef ND_TEST_GF2_H
#define ND_TEST_GF2_H

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

#endif
