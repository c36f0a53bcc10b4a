/* Compresses a block of ND_LANES texts at a time: the loop over rounds of RFC 7693, section 3.2. A word of all texts is one
 * ND_WORDS, a vector of ND_LANES words.
 *
 * Included once per form, with
 *
 *     ND_NAME, ND_ATTR      name and attributes of the function
 *     ND_LANES, ND_WORDS    texts at a time, and the type of a word of each
 *     ND_ROTATE(x, by)      every word of x rotated to the right; none: by two shifts */
#ifndef ND_ROTATE
#define ND_ROTATE(x, by) ((x) >> (by) | (x) << (64 - (by)))
#endif
#define ND_MIX(a, b, c, d, x, y)            \
    do {                                    \
        a += b + word[x];                   \
        d = ND_ROTATE(d ^ a, 32);           \
        c += d;                             \
        b = ND_ROTATE(b ^ c, 24);           \
        a += b + word[y];                   \
        d = ND_ROTATE(d ^ a, 16);           \
        c += d;                             \
        b = ND_ROTATE(b ^ c, 63);           \
    } while (0)

static ND_ATTR void ND_NAME(nd_blocks *blocks)
{
    ND_WORDS word[16], v[16], state[8], taken, last;
    memcpy(word, blocks->words, sizeof word);
    memcpy(state, blocks->state, sizeof state);
    memcpy(&taken, blocks->taken, sizeof taken);
    memcpy(&last, blocks->last, sizeof last);
    for (unsigned i = 0; i < 8; i++) {
        v[i] = state[i];
        v[i + 8] = (ND_WORDS){0} + INITIAL[i];
    }
    v[12] ^= taken;
    v[14] ^= last;
#if ND_LANES == 1                              /* in vectors it saves nothing, and takes 20 KB */
    ND_UNROLL_ROUNDS
#endif
    for (unsigned round = 0; round < 12; round++) {
        const uint8_t *at = ORDER[round % 10];
        ND_MIX(v[0], v[4], v[8], v[12], at[0], at[1]);
        ND_MIX(v[1], v[5], v[9], v[13], at[2], at[3]);
        ND_MIX(v[2], v[6], v[10], v[14], at[4], at[5]);
        ND_MIX(v[3], v[7], v[11], v[15], at[6], at[7]);
        ND_MIX(v[0], v[5], v[10], v[15], at[8], at[9]);
        ND_MIX(v[1], v[6], v[11], v[12], at[10], at[11]);
        ND_MIX(v[2], v[7], v[8], v[13], at[12], at[13]);
        ND_MIX(v[3], v[4], v[9], v[14], at[14], at[15]);
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] ^= v[i] ^ v[i + 8];
    memcpy(blocks->state, state, sizeof state);
}
#undef ND_MIX
#undef ND_ROTATE
#undef ND_NAME
#undef ND_ATTR
#undef ND_LANES
#undef ND_WORDS
