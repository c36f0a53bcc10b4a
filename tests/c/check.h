/* Checks that count, buffers between guard pages, the lengths and the inputs of all tests. */
#ifndef ND_CHECK_H
#define ND_CHECK_H

#ifndef _DEFAULT_SOURCE
#  define _DEFAULT_SOURCE      /* mmap with MAP_ANONYMOUS */
#endif
#define _DARWIN_C_SOURCE

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t checks_passed, checks_failed;

/* Counts; says what failed, up to twenty times. */
#define CHECK(ok, ...) check((ok), __FILE__, __LINE__, __VA_ARGS__)
static void check(int ok, const char *file, int line, const char *message, ...)
{
    if (ok) {
        checks_passed++;
        return;
    }
    if (checks_failed++ >= 20)
        return;
    va_list arguments;
    va_start(arguments, message);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, message, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static const size_t LENGTHS[] = {
    0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 95, 96, 127, 128, 129,
    255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 4096,
};
enum { LENGTH_COUNT = sizeof LENGTHS / sizeof *LENGTHS, LONGEST = 4096 };

/* A slot is memory with an unreadable page on either side. */
enum { SLOT_COUNT = 9, SLOT_BYTES = 1 << 20 };
enum { FRONT, BACK };

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static uint8_t *slot_base(int slot)
{
    static uint8_t *bases[SLOT_COUNT];
    if (bases[slot] == NULL) {
        const size_t page = page_bytes();
        uint8_t *map = mmap(NULL, SLOT_BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED || mprotect(map + page, SLOT_BYTES, PROT_READ | PROT_WRITE)) {
            perror("mmap");
            exit(2);
        }
        bases[slot] = map + page;
    }
    return bases[slot];
}

/* n bytes that begin `offset` bytes after the guard page before them (FRONT) or end as far from the one after (BACK);
 * what is around them within the slot is 0xA5. */
static void *guarded(int slot, int side, size_t n, size_t offset)
{
    uint8_t *base = slot_base(slot);
    const size_t around = 4096;
    if (n + offset > SLOT_BYTES) {
        fprintf(stderr, "a slot has %d bytes, not %zu\n", SLOT_BYTES, n + offset);
        exit(2);
    }
    uint8_t *at = side == FRONT ? base + offset : base + SLOT_BYTES - offset - n;
    uint8_t *from = at - base > (ptrdiff_t)around ? at - around : base;
    uint8_t *to = base + SLOT_BYTES - (at + n) > (ptrdiff_t)around ? at + n + around : base + SLOT_BYTES;
    memset(from, 0xA5, (size_t)(to - from));
    return at;
}

/* Are the bytes around what `guarded` gave still 0xA5? */
static int untouched_around(int slot, const void *given, size_t n)
{
    const uint8_t *base = slot_base(slot), *at = given;
    for (size_t i = 1; i <= 64 && at - i >= base; i++)
        if (at[-(ptrdiff_t)i] != 0xA5)
            return 0;
    for (size_t i = 0; i < 64 && at + n + i < base + SLOT_BYTES; i++)
        if (at[n + i] != 0xA5)
            return 0;
    return 1;
}

/* xorshift64* (Vigna 2016): the tests have a stream of their own. */
static uint64_t random_state = 88172645463325252u;
static uint64_t random64(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 2685821657736338717u;
}
static size_t random_below(size_t n) { return (size_t)(random64() % n); }

/* 251 is prime: swapped blocks cannot give the same answer. */
static void fill_pattern(uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b[i] = (uint8_t)(i % 251);
}
static void fill_random(uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b[i] = (uint8_t)(random64() >> 56);
}

static int report(void)
{
    printf("%zu passed, %zu failed\n", checks_passed, checks_failed);
    return checks_failed != 0;
}

#endif
