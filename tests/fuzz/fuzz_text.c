/* Text: any bytes, every unit. Against the naive reading; cut into calls; the tape; the normal form NFKC; scanned text.
 * Input: two bytes of choices, then the text. */
#include "naive.h"
#include "nfkc.h"
#include "scan.h"
#include "stops.h"
#include "units.h"

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

/* Reads on in calls of `cap` symbols each; exact allocations, for AddressSanitizer to watch. */
static void compare(nd_unit unit, const uint8_t *text, size_t n, size_t cap, const naive_text *expected, int taped)
{
    uint64_t *out = malloc(8 * cap);
    uint8_t *tape = taped ? malloc(nd_text_tape_size(n)) : NULL;
    size_t count = 0, got;
    nd_text t;
    nd_text_open(&t, unit, naive_tokens(), text, n, tape);
    while ((got = nd_units_read(&t, out, cap))) {
        REQUIRE(got <= cap && count + got <= expected->count);
        REQUIRE(memcmp(out, expected->symbols + count, 8 * got) == 0);
        count += got;
    }
    REQUIRE(count == expected->count);
    REQUIRE(unit == ND_TOKENS || t.invalid == expected->invalid);
    if (taped) {
        const size_t length = (size_t)(t.tape - tape);
        REQUIRE(length == expected->taped && (!length || memcmp(tape, expected->tape, length) == 0));
        compare(ND_TOKENS, tape, length, cap, expected, 0);
    }
    free(out);
    free(tape);
}

/* Every k-th word as a stop word: none of them is left, all else is, in its order. */
static void check_stops(const naive_text *all, size_t k)
{
    naive_text words = naive_some(all, k), left = naive_without(all, &words);
    nd_stops s = {.room = nd_table_room(words.count), .key = {{all->count, words.count}, 3, 5}};
    s.slots = malloc(s.room * sizeof *s.slots);
    nd_stops_fill(&s, words.tape, words.symbols, words.count);
    uint64_t *symbols = malloc(8 * all->count + 1);
    uint8_t *tape = malloc(all->taped + 1), *end = tape + all->taped;
    memcpy(symbols, all->symbols, 8 * all->count);
    memcpy(tape, all->tape, all->taped);
    REQUIRE(nd_stops_remove(&s, symbols, all->count, tape, &end) == left.count);
    REQUIRE((size_t)(end - tape) == left.taped);
    REQUIRE(left.count == 0 || memcmp(symbols, left.symbols, 8 * left.count) == 0);
    REQUIRE(left.count == 0 || memcmp(tape, left.tape, left.taped) == 0);
    free(s.slots);
    free(symbols);
    free(tape);
    naive_close(&words);
    naive_close(&left);
}

static uint8_t *normal(const uint8_t *text, size_t n, int remove, size_t *length)
{
    uint32_t *scratch = malloc(8 * nd_nfkc_scratch_size(n));
    uint8_t *out = malloc(nd_nfkc_out_size(n));
    *length = nd_nfkc(text, n, remove, scratch, out);
    REQUIRE(*length <= nd_nfkc_out_size(n));
    free(scratch);
    return out;
}

/* As many invalid bytes come out as went in, as 0xFF; cut before an ASCII byte, the parts give the whole. */
static void check_normal(const uint8_t *text, size_t n, int remove, size_t near)
{
    size_t length, first, second, cut = n ? near % n : 0;
    uint8_t *whole = normal(text, n, remove, &length);
    naive_text before = naive_read(ND_CHAR, text, n), after = naive_read(ND_CHAR, whole, length);
    REQUIRE(before.invalid == after.invalid);
    for (size_t i = 0; i < length; i++)
        after.invalid -= whole[i] == 0xFF;
    REQUIRE(after.invalid == 0);
    while (cut < n && text[cut] >= 0x80)
        cut++;
    uint8_t *head = normal(text, cut, remove, &first), *tail = normal(text + cut, n - cut, remove, &second);
    REQUIRE(first + second == length && memcmp(head, whole, first) == 0 && memcmp(tail, whole + first, second) == 0);
    naive_close(&before);
    naive_close(&after);
    free(whole);
    free(head);
    free(tail);
}

static int naive_white(uint32_t c, int ends_line)
{
    return (c >= 0x0A && c <= 0x0D) || c == 0x85 || c == 0x2028 || c == 0x2029
        || (!ends_line && (c == 0x09 || c == 0x20 || c == 0x1680));
}

/* Looks ahead from each hyphen, where the kernel holds it back. Returns the bytes left, in `out`. */
static size_t naive_scan(const uint8_t *text, size_t n, uint8_t *out)
{
    size_t length = 0, size;
    uint32_t c, next;
    int letter = 0;
    for (size_t at = 0; at < n; at += size) {
        int ends_line = 0;
        size = naive_decode(text + at, n - at, &c);
        if (!size)
            c = 0x110000;
        size += !size;
        if (c == '-' || c == 0x2010)
            for (size_t to = at + size, k; to < n && (k = naive_decode(text + to, n - to, &next)) && naive_white(next, 0); to += k)
                ends_line |= naive_white(next, 1);
        if (!naive_white(c, 0) && !(letter && ends_line)) {
            memcpy(out + length, text + at, size);
            length += size;
        }
        letter = c < 0x110000 && nd_text_kind(c) != ND_KIND_SEPARATOR && nd_text_kind(c) != ND_KIND_IGNORABLE;
    }
    return length;
}

/* Any text, read in two pieces with exact allocations. */
static void check_scan(const uint8_t *text, size_t n, size_t near)
{
    size_t cut = n ? near % n : 0, length = 0;
    uint32_t c;
    uint8_t *expected = malloc(n + 1), *left = malloc(n + 6);
    const size_t wanted = naive_scan(text, n, expected);
    nd_scan state = {0, 0};
    for (size_t at = 0, k; at < cut; at += k) {     /* up to where a code point ends */
        k = naive_decode(text + at, n - at, &c);
        k += !k;
        if (at + k > cut)
            cut = at + k;
    }
    for (int half = 0; half < 2; half++) {
        const size_t size = half ? n - cut : cut;
        uint8_t *out = malloc(size + 3);
        const size_t more = nd_scan_bytes(&state, text + (half ? cut : 0), size, out);
        REQUIRE(more <= size + 3);
        memcpy(left + length, out, more);
        length += more;
        free(out);
    }
    if (state.hyphen)
        length += naive_encode(state.hyphen, left + length);
    REQUIRE(length == wanted && memcmp(left, expected, wanted) == 0);
    free(expected);
    free(left);
}

static void choose_variant(size_t which)   /* portable where that one does not run here */
{
    const char *names[8];
    int runnable[8];
    const size_t i = which % nd_text_choice.variants(names, runnable, 8, nd_cpu_features());
    nd_text_choice.use(runnable[i] ? names[i] : "portable", nd_cpu_features());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 4096)
        return 0;
    const size_t n = size - 2;
    uint8_t *text = malloc(n ? n : 1);
    memcpy(text, data + 2, n);
    choose_variant(data[1] >> 2);
    for (nd_unit unit = ND_WORD; unit <= ND_SENTENCE_WORDS; unit++) {
        if (unit == ND_TOKENS)
            continue;
        naive_text expected = naive_read(unit, text, n);
        REQUIRE(unit != ND_WORD || expected.count <= n / 2 + 1);
        compare(unit, text, n, 1 + data[0] % 40, &expected, data[1] & 1);
        compare(unit, text, n, expected.count + 1, &expected, 1);
        if (unit == ND_WORD && expected.count && expected.count < 200)
            check_stops(&expected, 1 + data[0] % 5);
        naive_close(&expected);
    }
    check_normal(text, n, data[1] >> 1 & 1, data[0]);
    check_scan(text, n, data[0]);
    free(text);
    return 0;
}
