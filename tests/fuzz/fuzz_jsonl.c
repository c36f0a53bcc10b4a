/* Lines of JSON: any bytes, read with exact allocations. Escapes in a string are decoded as the naive reading decodes them.
 * The same bytes as the text of a line come back from it, where they are UTF-8.
 * Input: a byte of choices, then the line. */
#include "naive.h"
#include "jsonl.h"

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

static int read_line(const uint8_t *data, size_t n, int with_refused, uint8_t *strings, struct nd_jsonl_record *found)
{
    const struct nd_jsonl_fields fields = {(const uint8_t *)"text", (const uint8_t *)"id",
                                           with_refused ? (const uint8_t *)"r" : NULL, 4, 2, with_refused};
    memset(found, 0, sizeof *found);
    return nd_jsonl_line(data, data + n, &fields, strings, found);
}

/* Does a value lie in the line or in the strings? */
static int within(const uint8_t *at, size_t size, const uint8_t *line, const uint8_t *strings, size_t n)
{
    const int in_line = at >= line && at <= line + n && size <= n - (size_t)(at - line);
    const int in_strings = at >= strings && at <= strings + n && size <= n - (size_t)(at - strings);
    return in_line || in_strings;
}

static int is_utf8(const uint8_t *text, size_t n)
{
    uint32_t c;
    for (size_t at = 0, k; at < n; at += k)
        if ((k = naive_decode(text + at, n - at, &c)) == 0)
            return 0;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 4096)
        return 0;
    const size_t n = size - 1;
    uint8_t *line = malloc(n ? n : 1), *strings = malloc(n ? n : 1), *more = malloc(n + 2), *other = malloc(n + 2);
    struct nd_jsonl_record found, again;
    memcpy(line, data + 1, n);
    const int kind = read_line(line, n, data[0] & 1, strings, &found);
    REQUIRE(kind == ND_JSONL_BLANK || kind == ND_JSONL_RECORD || kind == ND_JSONL_UNUSUAL);
    int blank = 1, closed = 1;
    for (size_t i = 0; i < n; i++) {
        blank &= line[i] == ' ' || line[i] == '\t' || line[i] == '\r' || line[i] == '\n';
        closed &= line[i] != '\n' && line[i] != '\r';
    }
    REQUIRE((kind == ND_JSONL_BLANK) == blank);
    if (kind == ND_JSONL_RECORD) {
        REQUIRE(within(found.text, found.text_size, line, strings, n) && is_utf8(found.text, found.text_size));
        REQUIRE(line < found.value && found.value_end < line + n && found.value_end - found.value >= 2);
        REQUIRE(found.value[0] == '"' && found.value_end[-1] == '"');
        REQUIRE(found.id_kind == 0 || found.id_kind == 's' || found.id_kind == 'i');
        REQUIRE(!found.id_kind || (within(found.id, found.id_size, line, strings, n) && is_utf8(found.id, found.id_size)));
        REQUIRE(found.id_kind != 'i' || found.id_size <= 19);     /* 18 digits and a sign */
        /* Blanks around the line and its end change nothing. */
        more[0] = ' ';
        memcpy(more + 1, line, n);
        more[n + 1] = closed ? '\n' : ' ';
        REQUIRE(read_line(more, n + 2, data[0] & 1, other, &again) == kind && again.id_kind == found.id_kind);
        REQUIRE(again.text_size == found.text_size && memcmp(again.text, found.text, found.text_size) == 0);
    }
    free(more);
    free(other);
    const size_t most = nd_jsonl_quoted_size(line, n);
    uint8_t *quoted = malloc(most);
    const size_t length = nd_jsonl_quote(line, n, quoted);
    REQUIRE((length > 0) == is_utf8(line, n) && length <= most);
    if (length) {
        more = malloc(length + 9);
        other = malloc(length + 9);
        memcpy(more, "{\"text\":", 8);
        memcpy(more + 8, quoted, length);
        more[length + 8] = '}';
        REQUIRE(read_line(more, length + 9, 0, other, &again) == ND_JSONL_RECORD);
        REQUIRE(again.text_size == n && memcmp(again.text, line, n) == 0);
        free(more);
        free(other);
    }
    free(quoted);
    free(line);
    free(strings);
    return 0;
}
