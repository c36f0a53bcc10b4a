/* Shared by all kernels: the processor, variants, loads and stores, mixers. C11; no Python.h, no allocation, no I/O. */
#ifndef ND_H
#define ND_H

#include <stddef.h>
#include <stdint.h>

/* Elsewhere ndcore would give wrong numbers, not errors: DESIGN.md §6. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#  error "ndcore needs a little-endian processor, and this one is big-endian: text is read eight bytes at a time, and files are mapped as they lie"
#endif
#if SIZE_MAX < UINT64_MAX
#  error "ndcore needs a 64-bit system: on this one sizes have fewer bits, and their sums would overflow"
#endif

#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#  define ND_TARGET(isa) __attribute__((target(isa)))
#  define ND_LIKELY(x) __builtin_expect(!!(x), 1)
#  define ND_UNLIKELY(x) __builtin_expect(!!(x), 0)
#  define ND_PREFETCH(at) __builtin_prefetch(at)
#else
#  define ND_TARGET(isa)
#  define ND_LIKELY(x) (x)
#  define ND_UNLIKELY(x) (x)
#  define ND_PREFETCH(at) (void)(at)
#endif

/* Before a loop whose body is a few instructions: clang unrolls such loops by itself, gcc does not. */
#if defined(__GNUC__) && !defined(__clang__)
#  define ND_UNROLL _Pragma("GCC unroll 4")
#else
#  define ND_UNROLL
#endif

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#  define ND_X86 1
#else
#  define ND_X86 0
#endif

#if (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__) && defined(__AARCH64EL__)
#  define ND_ARM64 1
#else
#  define ND_ARM64 0
#endif

/* Instruction sets that a variant may need. */
enum {
    ND_AVX2 = 1u << 0,
    ND_AVX512 = 1u << 1,
    ND_PCLMUL = 1u << 2,
    ND_VPCLMUL = 1u << 3,
    ND_PMULL = 1u << 4,
    ND_BMI = 1u << 5,
    ND_POPCNT = 1u << 6,
    ND_VPOPCNT = 1u << 7,
};

/* The instruction sets that this CPU and its operating system support. */
uint32_t nd_cpu_features(void);

/* A variant of a kernel. A kernel lists its variants, best measured first; the last one, "portable", needs nothing. */
typedef struct {
    const char *name;
    uint32_t needs;
} nd_variant;

/* Index of the variant called `name` (NULL: the first that `features` can run) of n variants, `stride` bytes apart. −1 if
 * it is unknown or cannot run here: a demand is never replaced. */
static inline int nd_pick(const nd_variant *first, size_t n, size_t stride, const char *name, uint32_t features)
{
    for (size_t i = 0; i < n; i++) {
        const nd_variant *v = (const nd_variant *)((const char *)first + i * stride);
        int wanted = name == NULL || strcmp(name, v->name) == 0;
        if (wanted && (v->needs & ~features) == 0)
            return (int)i;
    }
    return -1;
}

/* The choice among the variants of a kernel. Each kernel with variants exports one, called nd_STEM_choice. */
typedef struct {
    /* Writes the names of the variants, best first, and whether each can run with these features; returns their number. */
    size_t (*variants)(const char **names, int *runnable, size_t room, uint32_t features);
    /* Runs the variant that nd_pick picks from now on. Returns its index, or −1 and changes nothing. */
    int (*use)(const char *name, uint32_t features);
    /* Index of the variant that runs: the last one, until `use` is called. */
    int (*chosen)(void);
} nd_choice;

/* Defines stem##_choice for a table of variants, and `chosen`, the index of the row that runs. */
#define ND_CHOICE(stem, TABLE)                                                                                 \
    enum { VARIANT_COUNT = sizeof TABLE / sizeof *TABLE };                                                     \
    static int chosen = VARIANT_COUNT - 1;                                                                     \
    static size_t choice_variants(const char **names, int *runnable, size_t room, uint32_t features)           \
    {                                                                                                          \
        for (size_t i = 0; i < VARIANT_COUNT && i < room; i++) {                                               \
            names[i] = TABLE[i].is.name;                                                                       \
            runnable[i] = (TABLE[i].is.needs & ~features) == 0;                                                \
        }                                                                                                      \
        return VARIANT_COUNT;                                                                                  \
    }                                                                                                          \
    static int choice_use(const char *name, uint32_t features)                                                 \
    {                                                                                                          \
        const int picked = nd_pick(&TABLE[0].is, VARIANT_COUNT, sizeof *TABLE, name, features);                \
        if (picked >= 0)                                                                                       \
            chosen = picked;                                                                                   \
        return picked;                                                                                         \
    }                                                                                                          \
    static int choice_chosen(void) { return chosen; }                                                          \
    const nd_choice stem##_choice = {choice_variants, choice_use, choice_chosen};

/* Number of ones in a word. */
#if defined(__GNUC__) || defined(__clang__)
static inline unsigned nd_popcount(uint64_t x) { return (unsigned)__builtin_popcountll(x); }
#else
static inline unsigned nd_popcount(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}
#endif

/* Index of the highest bit of x > 0. */
static inline unsigned nd_highest_bit(uint64_t x)
{
#if defined(__GNUC__) || defined(__clang__)
    return 63u - (unsigned)__builtin_clzll(x);
#else
    unsigned bit = 0;
    for (unsigned step = 32; step; step /= 2)
        if (x >> (bit + step))
            bit += step;
    return bit;
#endif
}

/* Index of the lowest bit of a mask that is not zero. */
static inline unsigned nd_lowest_bit(uint64_t mask)
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctzll(mask);
#else
    unsigned i = 0;
    while (!(mask >> i & 1))
        i++;
    return i;
#endif
}

/* Number of binary digits of x; 0 for 0. */
static inline unsigned nd_bit_length(uint64_t x) { return x ? nd_highest_bit(x) + 1 : 0; }

static inline size_t nd_min(size_t a, size_t b) { return a < b ? a : b; }

/* Eight bytes as a number, the first highest or the first lowest. Any alignment. */
static inline uint64_t nd_load64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static inline uint64_t nd_swap64(uint64_t v)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_bswap64(v);
#else
    v = (v & UINT64_C(0x00FF00FF00FF00FF)) << 8 | (v >> 8 & UINT64_C(0x00FF00FF00FF00FF));
    v = (v & UINT64_C(0x0000FFFF0000FFFF)) << 16 | (v >> 16 & UINT64_C(0x0000FFFF0000FFFF));
    return v << 32 | v >> 32;
#endif
}

static inline uint64_t nd_load_be64(const uint8_t *at) { return nd_swap64(nd_load64(at)); }
static inline uint64_t nd_load_le64(const uint8_t *at) { return nd_load64(at); }

static inline void nd_store_be64(uint8_t *at, uint64_t v)
{
    uint8_t bytes[8];
    memcpy(bytes, &v, sizeof v);
    v = nd_load_be64(bytes);
    memcpy(at, &v, sizeof v);
}

/* The finaliser of MurmurHash3 (Appleby): a bijection of 64-bit words with full avalanche. */
static inline uint64_t nd_fmix64(uint64_t z)
{
    z = (z ^ (z >> 33)) * UINT64_C(0xFF51AFD7ED558CCD);
    z = (z ^ (z >> 33)) * UINT64_C(0xC4CEB9FE1A85EC53);
    return z ^ (z >> 33);
}

/* The finaliser of MurmurHash3 for 32-bit words. */
static inline uint32_t nd_fmix32(uint32_t z)
{
    z = (z ^ (z >> 16)) * UINT32_C(0x85EBCA6B);
    z = (z ^ (z >> 13)) * UINT32_C(0xC2B2AE35);
    return z ^ (z >> 16);
}

/* SplitMix64 (Steele, Lea, Flood 2014): advances *state and returns the next output. */
static inline uint64_t nd_splitmix64(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

#endif
