/* Fingerprints of all windows, each from the one before it. The plain loop:
 *
 *     state = 0
 *     for i = 0 … n − 1:
 *         full = push(state, s[i])                              add the newest unit
 *         if i < window − 1:
 *             state = keep(full)                                the first window is not full yet
 *         else:
 *             out[i − window + 1] = the fingerprint of full
 *             state = drop(full, s[i − window + 1])             remove the oldest unit
 *
 * A step needs the state of the step before, so most of the time the processor waits for the latency of a push and a
 * drop. Here four chains take turns, each over a quarter of the windows: chain c writes the windows from c·stride on.
 * Their states do not depend on each other, so they wait together. All chains do the same number of steps; where the
 * windows cannot be divided by four, neighbouring chains both write the same few windows. A form may have several chains
 * in the lanes of one state: lane l of state k is chain k·ND_LANES + l. The chains cost 3·(window − 1) pushes more than
 * the plain loop, before their first windows are full: callers give at least 16·window windows at a time (pipeline.c).
 *
 * ns a step with 1, 2, 3, 4, 6 chains: bytes 2.5, 1.3, 0.93, 0.81, 0.88; symbols by tables 5.6, 4.1, 4.1, 4.1, 5.5, by
 * PCLMULQDQ 3.6, 1.9, 1.7, 1.7, 1.7; Zen 4, gcc 12, 2026-11-20. More than 4 chains would also evict each other from the
 * first cache: where the stride is a multiple of 4096 bytes, all streams, two for each chain, fall on the same 8 lines.
 *
 * Included once per form, with these macros:
 *
 *     ND_NAME, ND_ATTR      name and attributes of the function
 *     ND_UNIT               type of a unit: a byte or a symbol
 *     ND_TABLES             type of the tables w, for the window
 *     ND_STATE, ND_LANES    type of a state, and the number of chains that it holds; all bits zero: no units yet
 *
 * and, for all chains of a state at once,
 *
 *     ND_PUSH(state, at)    the state with its newest units at[0], at[stride] …
 *     ND_KEEP(full)         a pushed state, ready for the next push
 *     ND_WRITE(to, full)    writes the fingerprints of full windows to to[0], to[stride] …
 *     ND_DROP(full, at)     as ND_KEEP, without the oldest units at[0], at[stride] … */
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
