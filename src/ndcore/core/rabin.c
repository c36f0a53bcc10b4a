/* Sliding (Broder 1997 §4.3). Let F be the fingerprint of s_1 … s_w. Appending s multiplies all by x^64 and adds
 * s·x^64; the term of s_1 has then become s_1·x^(64(w+1)), and adding it once more takes it out:
 *
 *     F' = (F + s)·x^64 + s_1·x^(64(w+1))   mod P.
 *
 * Both products are linear in their eight bytes, hence sixteen table look-ups a step, half of them off the path from
 * F to F'. For byte windows read x^8 for x^64 in the shifts: F' = F·x^8 + s·x^64 + s_1·x^(8w+64). */
#include "rabin.h"
#include "gf2.h"

static uint64_t times_x(uint64_t f, uint64_t low) { return f << 1 ^ (f >> 63 ? low : 0); }

/* table[v] = v·m mod x^64 + low for every byte v, by linearity. Returns m·x^8. */
static uint64_t fill(uint64_t table[256], uint64_t m, uint64_t low)
{
    table[0] = 0;
    for (unsigned bit = 1; bit < 256; bit <<= 1, m = times_x(m, low))
        for (unsigned v = 0; v < bit; v++)
            table[bit + v] = table[v] ^ m;
    return m;
}

/* x^e mod x^64 + low. */
static uint64_t power_of_x(uint64_t e, uint64_t low)
{
    uint64_t result = 1, square = 2;
    for (; e; e >>= 1) {
        if (e & 1)
            result = nd_gf2_mulmod64(result, square, low);
        square = nd_gf2_mulmod64(square, square, low);
    }
    return result;
}

void nd_rabin_init(nd_rabin *r, uint64_t low, unsigned degree)
{
    r->degree = degree;
    r->low = low << (64 - degree);
    uint64_t m = r->low;                     /* x^64 mod P' */
    for (int j = 0; j < 8; j++)
        m = fill(r->push[j], m, r->low);
}

static uint64_t load_be64(const uint8_t *b)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | b[i];
    return v;
}

uint64_t nd_rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    for (; n >= 8; b += 8, n -= 8)
        state = nd_rabin_push64(r->push, state ^ load_be64(b));
    for (; n; b++, n--)
        state = state << 8 ^ r->push[0][state >> 56 ^ *b];
    return state;
}

uint64_t nd_rabin_words(const nd_rabin *r, const uint64_t *words, size_t n)
{
    uint64_t state = 0;
    for (size_t i = 0; i < n; i++)
        state = nd_rabin_push64(r->push, state ^ words[i]);
    return nd_rabin_value(r, state);
}

uint64_t nd_rabin_shift(const nd_rabin *r, uint64_t value, uint64_t n)
{
    uint64_t state = nd_rabin_state(r, value);
    uint64_t power = 256;                    /* x^8 */
    for (; n; n >>= 1) {
        if (n & 1)
            state = nd_gf2_mulmod64(state, power, r->low);
        power = nd_gf2_mulmod64(power, power, r->low);
    }
    return nd_rabin_value(r, state);
}

void nd_rabin_byte_window_init(nd_rabin_byte_window *w, const nd_rabin *r, size_t window)
{
    fill(w->drop, power_of_x(8 * (uint64_t)window + 64, r->low), r->low);
}

void nd_rabin_sliding(const nd_rabin *r, const nd_rabin_byte_window *w, size_t window,
                      const uint8_t *b, size_t n, uint64_t *out)
{
    uint64_t state = nd_rabin_bytes(r, 0, b, window);
    out[0] = nd_rabin_value(r, state);
    for (size_t i = window; i < n; i++) {
        state = state << 8 ^ r->push[0][state >> 56 ^ b[i]] ^ w->drop[b[i - window]];
        out[i - window + 1] = nd_rabin_value(r, state);
    }
}

void nd_rabin_symbol_window_init(nd_rabin_symbol_window *w, const nd_rabin *r, size_t window)
{
    uint64_t m = power_of_x(64 * ((uint64_t)window + 1), r->low);
    for (int j = 0; j < 8; j++)
        m = fill(w->drop[j], m, r->low);
}

void nd_rabin_symbols(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                      const uint64_t *s, size_t n, uint64_t *out)
{
    uint64_t f = 0;
    for (size_t i = 0; i < window; i++)
        f = nd_rabin_push64(r->push, f ^ s[i]);
    out[0] = f;
    for (size_t i = window; i < n; i++) {
        f = nd_rabin_push64(r->push, f ^ s[i]) ^ nd_rabin_push64(w->drop, s[i - window]);
        out[i - window + 1] = f;
    }
}
