/* Which texts have the same bytes? The naive way compares all of them:
 *
 *     for each text i:
 *         firsts[i] = the first j <= i with the bytes of text i
 *
 * Here a text is compared with those in a hash table alone. Its hash reads the size and at most eight words, so texts that
 * differ cost some 20 ns each, whatever their length. The hash decides where to look and not what is equal, which the bytes
 * decide. A search ends after eight slots, so texts with one hash, which anybody can write, cost eight comparisons and no
 * more: some equal ones are then missed. */
#include "equal.h"

enum { WORDS = 8, SEARCHED = 8 };

/* Hashes the size and WORDS words at equal distances, the first and the last among them; of short texts all bytes. */
static uint64_t hash_of(const uint8_t *text, size_t size)
{
    uint64_t hash = nd_fmix64(size + 1), last = 0;
    if (size < 8) {
        for (size_t i = 0; i < size; i++)
            last = last << 8 | text[i];
        return nd_fmix64(hash ^ last);
    }
    const size_t words = nd_min(WORDS, (size + 7) / 8), step = words > 1 ? (size - 8) / (words - 1) : 0;
    for (size_t i = 0; i + 1 < words; i++)
        hash = nd_fmix64(hash ^ nd_load64(text + i * step));
    return nd_fmix64(hash ^ nd_load64(text + size - 8));
}

size_t nd_equal_room(size_t n)
{
    size_t room = 2;
    while (room < 2 * n)
        room *= 2;
    return room;
}

size_t nd_equal_firsts(const uint8_t *const *texts, const size_t *sizes, size_t from, size_t to, uint64_t *slots, size_t room,
                       int64_t *firsts)
{
    size_t repeats = 0;
    for (size_t i = from; i < to; i++) {
        const size_t size = sizes[i];
        const uint64_t hash = hash_of(texts[i], size), tag = hash >> 32;
        firsts[i] = (int64_t)i;
        for (size_t look = 0; look < SEARCHED; look++) {
            uint64_t *slot = &slots[(hash + look) & (room - 1)];      /* the tag << 32 | a text + 1 */
            if (*slot == 0) {
                *slot = tag << 32 | (i + 1);
                break;
            }
            const size_t other = (uint32_t)*slot - 1;
            if (*slot >> 32 == tag && sizes[other] == size && (size == 0 || memcmp(texts[other], texts[i], size) == 0)) {
                firsts[i] = (int64_t)other;
                repeats++;
                break;
            }
        }
    }
    return repeats;
}
