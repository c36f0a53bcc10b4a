/* All windows, each from the one before it: push the newest unit, write the fingerprint, drop the oldest unit. A step waits
 * for the one before it, so several chains, each over a part of the windows, wait together: lane l of state k is the chain that
 * begins (k · ND_LANES + l) · stride windows on. The parts are equally long and overlap by what the division leaves.
 *
 * ns a step by 1, 2, 3, 4, 6 chains: bytes 2.5, 1.3, 0.93, 0.81, 0.88; symbols by tables 5.6, 4.1, 4.1, 4.1, 5.5, by
 * PCLMULQDQ 3.6, 1.9, 1.7, 1.7, 1.7; Zen 4, gcc 12, 2026-11-20. More than 4 would also crowd the first cache: where the stride
 * is a multiple of 4096 bytes, all streams, two for each chain, fall on the same 8 lines.
 *
 * Included once per form, with ND_NAME, ND_ATTR, ND_UNIT, ND_TABLES, ND_STATE, ND_LANES, and for all lanes of a state
 *
 *     ND_PUSH(state, at)    a full window: the state with its newest units at[0], at[stride] …
 *     ND_WRITE(to, full)    its fingerprints to to[0], to[stride] …
 *     ND_DROP(full, at)     the state for the next push, without the oldest units at[0], at[stride] …
 *     ND_KEEP(full)         the same where nothing is to be dropped yet.
 *
 * All bits zero are the state of no units. */
static ND_ATTR void ND_NAME(const nd_rabin *r, const ND_TABLES *w, size_t window,
                            const ND_UNIT *s, size_t n, uint64_t *restrict out)
{
    enum { CHAINS = 4, STATES = CHAINS / ND_LANES };
    const size_t windows = n - window + 1, stride = windows / CHAINS, part = windows - (CHAINS - 1) * stride;
    const ND_UNIT *newest = s, *const last_of_first = s + window - 1, *const end = last_of_first + part;
    ND_STATE state[STATES];
    memset(state, 0, sizeof state);
    for (; newest < last_of_first; newest++)
        for (size_t k = 0; k < STATES; k++)
            state[k] = ND_KEEP(ND_PUSH(state[k], newest + k * ND_LANES * stride));
    for (; newest < end; newest++, s++, out++)
        for (size_t k = 0; k < STATES; k++) {
            const size_t ahead = k * ND_LANES * stride;
            const ND_STATE full = ND_PUSH(state[k], newest + ahead);
            ND_WRITE(out + ahead, full);
            state[k] = ND_DROP(full, s + ahead);
        }
}
#undef ND_NAME
#undef ND_ATTR
#undef ND_UNIT
#undef ND_TABLES
#undef ND_STATE
#undef ND_LANES
#undef ND_PUSH
#undef ND_WRITE
#undef ND_DROP
#undef ND_KEEP
