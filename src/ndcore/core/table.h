/* Open addressing with linear probing and a keyed hash: all hash tables of the core.
 *
 * The naive table starts to look for a value at slot value mod room, and goes on to the next slot until it finds the
 * value or a free slot. That is fast for random values, and quadratic for chosen ones: someone who knows the hash writes n
 * values that all begin at one slot, and the n-th passes n − 1 others. No fixed hash helps, and no mixing whose inverse
 * is known.
 *
 * Here a key of random bits selects the hash. The caller draws it (os.urandom), and it is part of the state of the kernel
 * that has the table, for the core has no globals. The key decides where a value lies, and so how long a search takes,
 * but never what a search finds: results are the same under every key.
 *
 *     h = ⌊(a·x + b·2^64) / 2^64⌋ mod 2^64, with a of 128 bits and b of 64
 *     home(x) = ⌊((h ⊕ ⌊h / 2^32⌋)·0x9E3779B97F4A7C15 mod 2^64)·room / 2^64⌋
 *
 * The first line is multiply-shift (Dietzfelbinger, "Universal hashing and k-wise independent random variables via
 * integer arithmetic without primes", STACS 1996, doi:10.1007/3-540-60922-9_46): the hashes of two different values are
 * independent, up to 2^-63. If values were chosen without the key and at least a third of the slots is free, linear
 * probing of n pairwise independent values takes O(n·log n) steps in expectation (Pătraşcu, Thorup, "On the
 * k-independence required by linear probing and minwise independence", ACM Transactions on Algorithms 12(1), 2016, table
 * 1, arXiv:1302.5127), and O(n) if they are random. The second line keeps the independence, for it mixes h by a
 * bijection. It removes the one input that is known to be bad for multiply-shift, values in arithmetic progression: their
 * h are nearly such a progression too, and fall on few places under one key in ten.
 *
 * Load: nd_table_room(n) slots for n values. At least one slot must be free, or a search would not end. */
#ifndef ND_TABLE_H
#define ND_TABLE_H

#include "nd.h"

/* Random bits: a (low and high word), b, and a factor for the second words of pairs. A key of zeros puts every value in
 * slot 0. */
typedef struct { uint64_t a[2], b, second; } nd_table_key;

static inline uint64_t nd_table_high(uint64_t x, uint64_t y)   /* ⌊x·y / 2^64⌋ */
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)x * y >> 64);
#else
    const uint64_t x0 = (uint32_t)x, x1 = x >> 32, y0 = (uint32_t)y, y1 = y >> 32;
    const uint64_t middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (uint32_t)middle;
    return x1 * y1 + (middle >> 32) + (other >> 32);
#endif
}

/* Number of slots for n values. Two thirds are free, so a search passes 0.6 slots on average; with half free it would
 * pass 1.5. */
static inline size_t nd_table_room(size_t n) { return 3 * n + 1; }

/* The hash of x, of which the leading bits are used. */
static inline uint64_t nd_table_hash(const nd_table_key *key, uint64_t x)
{
    const uint64_t h = nd_table_high(key->a[0], x) + key->a[1] * x + key->b;
    return (h ^ h >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The slot where the search for x begins; room >= 1. */
static inline size_t nd_table_home(const nd_table_key *key, uint64_t x, size_t room)
{
    return (size_t)nd_table_high(nd_table_hash(key, x), room);
}

/* Combines a pair in one word: different pairs give equal words with probability at most 2^-32, for y is below 2^32. */
static inline uint64_t nd_table_pair(const nd_table_key *key, uint64_t x, uint32_t y) { return x + y * (key->second | 1); }

static inline size_t nd_table_next(size_t at, size_t room) { return at + 1 == room ? 0 : at + 1; }

/* Number of steps forward from one slot to another. */
static inline size_t nd_table_distance(size_t from, size_t to, size_t room)
{
    return to >= from ? to - from : to + room - from;
}

/* A statement: at ← the first slot from `home` on where the search ends. `ends`, an expression in `at`, is true if the
 * slot is free or has the value that is searched for. */
#define ND_TABLE_SEEK(at, home, room, ends) \
    for ((at) = (home); !(ends); (at) = nd_table_next(at, room)) ND_TABLE_STEP()

/* Tests count the slots that searches pass, and the symbols and tokens that are read around them. */
#ifdef ND_COUNT_STEPS
extern size_t nd_table_steps;
#  define ND_TABLE_STEPS(n) ((void)(nd_table_steps += (n)))
#else
#  define ND_TABLE_STEPS(n) ((void)0)
#endif
#define ND_TABLE_STEP() ND_TABLE_STEPS(1)

#endif
