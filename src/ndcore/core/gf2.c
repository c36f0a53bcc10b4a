/* Addition of polynomials over GF(2) is XOR, so long division is shifts and XORs, and squaring only spreads the bits: the
 * square of Σ x^i is Σ x^(2i). A test of irreducibility at degree d is d such squarings, each reduced in O(d · n). */
#include "gf2.h"

long nd_gf2_degree(const uint64_t *a, size_t n)
{
    while (n && a[n - 1] == 0)
        n--;
    return n ? (long)(64 * (n - 1) + nd_highest_bit(a[n - 1])) : -1;
}

/* a ← a + b·x^shift; b's terms that fall beyond a's n words must be zero. */
static void add_shifted(uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t shift)
{
    const size_t words = shift / 64;
    const unsigned bits = shift % 64;
    for (size_t i = 0; i < nb && i + words < na; i++) {
        a[i + words] ^= b[i] << bits;
        if (bits && i + words + 1 < na)
            a[i + words + 1] ^= b[i] >> (64 - bits);
    }
}

void nd_gf2_mod(uint64_t *a, size_t na, const uint64_t *p, size_t np)
{
    const long dp = nd_gf2_degree(p, np);
    for (long da = nd_gf2_degree(a, na); da >= dp; da = nd_gf2_degree(a, (size_t)da / 64 + 1))
        add_shifted(a, na, p, np, (size_t)(da - dp));
}

void nd_gf2_mul(const uint64_t *a, const uint64_t *b, size_t n, uint64_t *out)
{
    memset(out, 0, 2 * n * sizeof *out);
    for (size_t i = 0; i < 64 * n; i++)
        if (a[i / 64] >> (i % 64) & 1)
            add_shifted(out, 2 * n, b, n, i);
}

static uint64_t spread(uint32_t half)   /* bit i → bit 2i */
{
    uint64_t x = half;
    x = (x | x << 16) & UINT64_C(0x0000FFFF0000FFFF);
    x = (x | x << 8) & UINT64_C(0x00FF00FF00FF00FF);
    x = (x | x << 4) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    x = (x | x << 2) & UINT64_C(0x3333333333333333);
    return (x | x << 1) & UINT64_C(0x5555555555555555);
}

void nd_gf2_sqr(const uint64_t *a, size_t n, uint64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = spread((uint32_t)a[i]);
        out[2 * i + 1] = spread((uint32_t)(a[i] >> 32));
    }
}

void nd_gf2_gcd(uint64_t *a, uint64_t *b, size_t n)
{
    uint64_t *big = a, *small = b;
    while (nd_gf2_degree(small, n) >= 0) {
        nd_gf2_mod(big, n, small, n);
        uint64_t *rest = big;
        big = small;
        small = rest;
    }
    if (big != a)
        memcpy(a, big, n * sizeof *a);
}

/* x ← x^(2^times) mod p; wide: 2n words. */
static void frobenius(uint64_t *x, long times, const uint64_t *p, size_t n, uint64_t *wide)
{
    while (times-- > 0) {
        nd_gf2_sqr(x, n, wide);
        nd_gf2_mod(wide, 2 * n, p, n);
        memcpy(x, wide, n * sizeof *x);
    }
}

static void monomial_x(uint64_t *x, const uint64_t *p, size_t n)   /* x mod p */
{
    memset(x, 0, n * sizeof *x);
    x[0] = 2;
    nd_gf2_mod(x, n, p, n);
}

/* Begins with the next power: degree / q for the next prime q that divides the degree, and at last the degree itself. */
static void next_power(nd_gf2_test *t)
{
    t->power = t->degree;
    while (t->rest > 1 && t->power == t->degree) {
        t->prime = (t->prime + 1) * (t->prime + 1) > t->rest ? t->rest : t->prime + 1;
        if (t->rest % t->prime == 0)
            t->power = t->degree / t->prime;
        while (t->rest % t->prime == 0)
            t->rest /= t->prime;
    }
    t->left = t->power;
    monomial_x(t->scratch, t->p, t->n);
}

void nd_gf2_test_open(nd_gf2_test *t, const uint64_t *p, size_t n, uint64_t *scratch)
{
    const long d = nd_gf2_degree(p, n);
    *t = (nd_gf2_test){.p = p, .scratch = scratch, .n = n, .degree = d, .prime = 1, .rest = d, .answer = -1};
    if (d <= 1)
        t->answer = d == 1;
    else if (!(p[0] & 1))
        t->answer = 0;
    else
        next_power(t);
}

int nd_gf2_test_next(nd_gf2_test *t, long steps)
{
    uint64_t *power = t->scratch, *other = t->scratch + t->n, *wide = t->scratch + 2 * t->n;
    if (t->answer >= 0)
        return t->answer;
    const long here = t->left < steps ? t->left : steps;
    frobenius(power, here, t->p, t->n, wide);
    t->left -= here;
    if (t->left)
        return -1;
    monomial_x(other, t->p, t->n);
    for (size_t i = 0; i < t->n; i++)
        power[i] ^= other[i];
    if (t->power == t->degree)
        return t->answer = nd_gf2_degree(power, t->n) < 0;
    memcpy(other, t->p, t->n * sizeof *other);
    nd_gf2_gcd(power, other, t->n);
    if (nd_gf2_degree(power, t->n) != 0)         /* a factor of p has a degree that divides this power */
        return t->answer = 0;
    next_power(t);
    return -1;
}

int nd_gf2_irreducible(const uint64_t *p, size_t n, uint64_t *scratch)
{
    nd_gf2_test t;
    nd_gf2_test_open(&t, p, n, scratch);
    while (nd_gf2_test_next(&t, t.degree) < 0) {}
    return t.answer;
}

void nd_gf2_candidate(uint64_t *state, size_t degree, uint64_t *p)
{
    const size_t words = (degree + 63) / 64;
    memset(p, 0, (degree / 64 + 1) * sizeof *p);
    for (size_t i = words; i-- > 0;)
        p[i] = nd_splitmix64(state);
    if (degree % 64)
        p[degree / 64] &= (UINT64_C(1) << degree % 64) - 1;
    p[degree / 64] |= UINT64_C(1) << degree % 64;
    p[0] |= 1;
}

uint64_t nd_gf2_mulmod64(uint64_t a, uint64_t b, uint64_t low)
{
    uint64_t product = 0;
    for (int i = 63; i >= 0; i--) {
        product = product << 1 ^ (product >> 63 ? low : 0);
        product ^= b >> i & 1 ? a : 0;
    }
    return product;
}
