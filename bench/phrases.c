/* Documents written phrase after phrase: see phrases.py, which calls this and has the same in plain Python. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BITS = 17, SLOT = 64, SEGMENTS = 6, AHEAD = 16, KEEP = 0, REPLACE = 1, RESTYLE = 2 };

/* Phrases first ... first + count - 1 of the sequence that belongs to a key. */
typedef struct {
    uint64_t key;
    int64_t first, count;
} segment;

/* One after the other. Where the draw of `version` at a phrase's place is below `below`, and at the last place, the
   phrase is changed: replaced by one that `version` draws, or written in the other style. */
typedef struct {
    segment segments[SEGMENTS];
    uint64_t version, below, change;
} recipe;

/* Item n of the sequence that splitmix64 makes of a key (Steele, Lea and Flood 2014). */
static inline uint64_t draw(uint64_t key, uint64_t n)
{
    uint64_t z = key + (n + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline size_t phrase_of(uint64_t drawn) { return (size_t)(drawn >> (64 - BITS)); }

static uint8_t *write_document(const uint8_t *bank, const recipe *made, uint8_t *out)
{
    uint64_t total = 0, place = 0;
    for (int s = 0; s < SEGMENTS; s++) total += (uint64_t)made->segments[s].count;
    for (int s = 0; s < SEGMENTS; s++) {
        const segment part = made->segments[s];
        for (int64_t i = part.first; i < part.first + part.count; i++, place++) {
            __builtin_prefetch(bank + SLOT * phrase_of(draw(part.key, (uint64_t)i + AHEAD)));
            size_t phrase = phrase_of(draw(part.key, (uint64_t)i));
            if (made->change != KEEP && (place + 1 == total || draw(made->version, 2 * place) < made->below)) {
                if (made->change == REPLACE) phrase = phrase_of(draw(made->version, 2 * place + 1));
                else phrase += (size_t)1 << BITS;
            }
            memcpy(out, bank + SLOT * phrase, SLOT);
            out += bank[SLOT * phrase + SLOT - 1];
        }
    }
    return out;
}

/* Document i goes to out[offsets[i]] ... out[offsets[i + 1] - 1]; out has room for SLOT bytes a phrase. The bank: a slot for
   each of 2^BITS phrases in one style, then in the other; the last byte of a slot says how many before it are in use. */
void write_documents(const uint8_t *bank, const recipe *recipes, size_t n, uint8_t *out, int64_t *offsets)
{
    uint8_t *end = out;
    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        end = write_document(bank, recipes + i, end);
        offsets[i + 1] = end - out;
    }
}
