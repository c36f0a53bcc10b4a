/* Lines of JSON. Included by test_core.c alone. */
#ifndef ND_TEST_JSONL_H
#define ND_TEST_JSONL_H

static int line_of(const char *line, size_t n, int side, struct nd_jsonl_record *found)
{
    const struct nd_jsonl_fields fields = {(const uint8_t *)"text", (const uint8_t *)"id", (const uint8_t *)"no", 4, 2, 2};
    uint8_t *in = guarded(0, side, n, 0), *strings = guarded(1, side, n, 0);
    memcpy(in, line, n);
    const int kind = nd_jsonl_line(in, in + n, &fields, strings, found);
    CHECK(untouched_around(1, strings, n) && memcmp(in, line, n) == 0, "outside the strings: %s", line);
    return kind;
}

/* Puts another text into a line, which is or is not a record. */
static void check_replaced(const char *given, int side)
{
    static const char text[] = "a \"new\" text\n, \xC3\xA9", quoted[] = "\"a \\\"new\\\" text\\n, \xC3\xA9\"";
    const struct nd_jsonl_fields fields = {(const uint8_t *)"text", (const uint8_t *)"id", (const uint8_t *)"no", 4, 2, 2};
    const size_t n = strlen(given), size = sizeof quoted - 1;
    const size_t most = n + nd_jsonl_quoted_size((const uint8_t *)text, sizeof text - 1);
    uint8_t *line = guarded(0, side, n, 0), *out = guarded(1, side, most, 0), strings[1024];
    struct nd_jsonl_record found;
    memcpy(line, given, n);
    const int sound = nd_jsonl_line(line, line + n, &fields, strings, &found) == ND_JSONL_RECORD;
    const size_t got = nd_jsonl_replace(line, line + n, &fields, (const uint8_t *)text, sizeof text - 1, strings, out);
    CHECK(untouched_around(1, out, most) && memcmp(line, given, n) == 0, "outside the new line: %s", given);
    CHECK((got > 0) == sound, "replaced: %s", given);
    if (sound) {
        const size_t before = (size_t)(found.value - line), behind = (size_t)(line + n - found.value_end);
        CHECK(got == before + size + behind && memcmp(out, line, before) == 0 && memcmp(out + before, quoted, size) == 0 &&
                  memcmp(out + before + size, line + n - behind, behind) == 0, "another line: %.*s", (int)got, out);
    }
    CHECK(nd_jsonl_replace(line, line + n, &fields, (const uint8_t *)"\xFF", 1, strings, out) == 0, "not UTF-8: %s", given);
}

static void check_line(const char *line, const char *text, const char *id, int kind)
{
    for (int side = FRONT; side <= BACK; side++) {
        struct nd_jsonl_record found;
        CHECK(line_of(line, strlen(line), side, &found) == ND_JSONL_RECORD, "not read: %s", line);
        CHECK(found.text_size == strlen(text) && memcmp(found.text, text, found.text_size) == 0, "text of %s", line);
        CHECK(found.value[0] == '"' && found.value_end[-1] == '"', "value of %s", line);
        CHECK((size_t)(found.value_end - found.value) >= found.text_size + 2, "size of the value of %s", line);
        CHECK(found.id_kind == kind && found.id_size == strlen(id) &&
                  (kind == 0 || memcmp(found.id, id, found.id_size) == 0), "id of %s", line);
        for (size_t n = strlen(line); n-- > 0;)
            CHECK(line_of(line, n, side, &found) != ND_JSONL_RECORD || line[n] == '\n', "cut at %zu: %s", n, line);
        check_replaced(line, side);
    }
}

/* The number of bytes of the sequence of UTF-8 at p; 0 for another one (The Unicode Standard, section 3.9, table 3-7). */
static size_t sequence_at(const uint8_t *p, size_t n)
{
    static const uint8_t table[][8] = {    /* first and last of each byte */
        {0xC2, 0xDF, 0x80, 0xBF}, {0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF}, {0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF},
        {0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF}, {0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF},
        {0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF}, {0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
        {0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        size_t size = 0;
        while (size < 4 && table[row][2 * size] && size < n && p[size] >= table[row][2 * size] &&
               p[size] <= table[row][2 * size + 1])
            size++;
        if (size == 4 || (size > 1 && !table[row][2 * size]))
            return size;
    }
    return 0;
}

/* Reads what stands between the quotes of a string of JSON. Returns its bytes, −1 where it is not sound. */
static ptrdiff_t naive_string(const uint8_t *p, size_t n, uint8_t *out)
{
    static const char names[] = "nrtbf\"\\/", values[] = "\n\r\t\b\f\"\\/";
    size_t to = 0;
    for (size_t i = 0, size; i < n; i += size) {
        size = 1;
        if (p[i] < 0x20 || p[i] == '"')
            return -1;
        if (p[i] >= 0x80) {
            size = sequence_at(p + i, n - i);
            if (size == 0)
                return -1;
            memcpy(out + to, p + i, size);
            to += size;
        } else if (p[i] != '\\') {
            out[to++] = p[i];
        } else if (i + 1 < n && p[i + 1] != 'u') {
            const char *const name = p[i + 1] ? strchr(names, p[i + 1]) : NULL;
            if (name == NULL)
                return -1;
            out[to++] = (uint8_t)values[name - names];
            size = 2;
        } else {
            uint32_t units[2] = {0, 0};
            for (size_t k = 0; k < 2; k++) {
                char digits[5] = "";
                const size_t at = i + 6 * k;
                if (at + 6 > n || p[at] != '\\' || p[at + 1] != 'u')
                    break;
                memcpy(digits, p + at + 2, 4);
                units[k] = strspn(digits, "0123456789abcdefABCDEF") == 4 ? (uint32_t)strtoul(digits, NULL, 16) : UINT32_MAX;
            }
            if (i + 6 > n || units[0] > 0xFFFF || (units[0] >= 0xDC00 && units[0] < 0xE000))
                return -1;
            size = 6;
            if (units[0] >= 0xD800 && units[0] < 0xDC00) {
                if (units[1] < 0xDC00 || units[1] > 0xDFFF)
                    return -1;
                units[0] = 0x10000 + ((units[0] - 0xD800) << 10) + (units[1] - 0xDC00);
                size = 12;
            }
            to += nd_utf8_encode(units[0], out + to);
        }
    }
    return (ptrdiff_t)to;
}

/* Strings that are made of sound pieces, but for some bytes that are changed, at all places in a block of 16 bytes. */
static void test_strings_of_json(void)
{
    static const char *const pieces[] = {
        "a", "plain ASCII words ", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\\n", "\\\"", "\\u0430", "\\u4E2d", "\\uD83d\\ude00", "\\u0000", "\x7F", "{",
    };
    static const uint8_t bytes[] = {0x00, 0x1F, 0x20, '"', '\\', 'u', '0', 'G', 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0,
                                    0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF};
    size_t sound = 0;
    for (int round = 0; round < 200000; round++) {
        char line[160] = "{\"text\":\"";
        uint8_t wanted[160];
        struct nd_jsonl_record found;
        const size_t begin = strlen(line), length = random_below(60);
        size_t n = begin + random_below(17);
        memset(line + begin, '.', n - begin);
        while (n < begin + length) {
            const char *const piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
            memcpy(line + n, piece, strlen(piece));
            n += strlen(piece);
        }
        for (size_t changes = random_below(3); changes > 0 && n > begin; changes--)
            line[begin + random_below(n - begin)] = (char)bytes[random_below(sizeof bytes)];
        const ptrdiff_t size = naive_string((const uint8_t *)line + begin, n - begin, wanted);
        memcpy(line + n, "\"}", 2);
        const int kind = line_of(line, n + 2, (int)random_below(2) ? FRONT : BACK, &found);
        CHECK((kind == ND_JSONL_RECORD) == (size >= 0), "round %d: %.*s", round, (int)n + 2, line);
        CHECK(size < 0 || (found.text_size == (size_t)size && memcmp(found.text, wanted, found.text_size) == 0),
              "text of round %d: %.*s", round, (int)n + 2, line);
        sound += size >= 0;
    }
    CHECK(sound > 50000 && sound < 150000, "%zu strings are sound", sound);
}

/* Bytes of all kinds, mostly sound, as strings of JSON: a character at a time, and read back. */
static void test_texts_as_strings_of_json(void)
{
    static const char *const pieces[] = {"a", "plain ASCII words ", "\xC2\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF", "\"", "\\",
                                         "\n", "\x0B", "\x1F", "\x7F", "\xED\xA0\x80", "\xFF"};
    size_t sound = 0;
    for (int round = 0; round < 100000; round++) {
        uint8_t text[160], wanted[1000] = "\"", back[160];
        const size_t length = random_below(60), kinds = sizeof pieces / sizeof *pieces - (round % 4 ? 2 : 0);
        size_t n = 0, size = 1;
        while (n < length) {
            const char *const piece = pieces[random_below(kinds)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        for (size_t i = 0; i < n && size; i++) {
            static const char escaped[] = "\b\t\n\f\r\"\\", names[] = "btnfr\"\\";
            const char *const at = text[i] ? strchr(escaped, text[i]) : NULL;
            const size_t sequence = text[i] < 0x80 ? 1 : sequence_at(text + i, n - i);
            if (at != NULL)
                size += (size_t)sprintf((char *)wanted + size, "\\%c", names[at - escaped]);
            else if (text[i] < 0x20)
                size += (size_t)sprintf((char *)wanted + size, "\\u%04x", text[i]);
            else
                memcpy(wanted + size, text + i, sequence);
            if (text[i] >= 0x20 && at == NULL)
                size = sequence ? size + sequence : 0;
            i += sequence ? sequence - 1 : 0;
        }
        const int side = (int)random_below(2) ? FRONT : BACK;
        const size_t most = nd_jsonl_quoted_size(text, n);
        uint8_t *in = guarded(0, side, n, 0), *out = guarded(1, side, most, 0);
        memcpy(in, text, n);
        const size_t got = nd_jsonl_quote(in, n, out);
        CHECK(untouched_around(1, out, most) && memcmp(in, text, n) == 0, "outside the string, round %d", round);
        if (size)
            wanted[size++] = '"';
        CHECK(got == size && memcmp(out, wanted, got) == 0 && got <= most, "round %d: %.*s", round, (int)got, out);
        if (got)
            CHECK(naive_string(out + 1, got - 2, back) == (ptrdiff_t)n && memcmp(back, text, n) == 0, "back, round %d", round);
        sound += size > 0;
    }
    CHECK(sound > 70000 && sound < 95000, "%zu texts are sound", sound);
}

static void test_lines_of_json(void)
{
    check_line("{\"text\":\"a\"}", "a", "", 0);
    check_line(" {\t\"id\" : \"x\" , \"text\" : \"\"}\n", "", "x", 's');
    check_line("{\"id\":-12,\"text\":\"0123456789abcdef \\\" \\\\ \\/ \\b\\f\\n\\r\\t\"}", "0123456789abcdef \" \\ / \b\f\n\r\t", "-12", 'i');
    check_line("{\"text\":\"\\u00e9\\u20AC\\ud83d\\uDE00\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"}",
               "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "", 0);
    check_line("{\"x\":[{},[],{\"a\":[1.5e+3,-0,null]},true,\"\\ud800\"],\"text\":\"b\",\"text\":\"c\"}", "c", "", 0);
    static const char *const unusual[] = {
        "{}", "[]", "1", "{\"text\":1}", "{\"text\":\"\\ud800\"}", "{\"text\":\"\\ude00\\ud83d\"}", "{\"text\":\"a\",\"id\":1.0}",
        "{\"text\":\"a\",\"id\":-0}", "{\"text\":\"a\",\"id\":1234567890123456789}", "{\"text\":\"a\",\"id\":null}",
        "{\"text\":\"a\",\"no\":1}", "{\"te\\u0078t\":\"a\"}", "{\"text\":\"a\",}", "{\"text\":\"a\"} {}", "{\"text\":\"a\",\"x\":01}",
        "{\"text\":\"a\",\"x\":[1,]}", "{\"text\":\"a\",\"x\":[1}}", "{\"text\":\"a\",\"x\":tru}", "{\"text\":\"\t\"}",
        "{\"text\":\"\\x\"}", "{\"text\":\"\\u12G4\"}", "{\"text\":\"\xFF\"}", "{\"text\":\"\xED\xA0\x80\"}", "{\"text\":\"\xC3\"}",
        "{\"text\":\"a\",\"x\":{\"a\" 1}}", "{\"text\":\"a\",\"x\":{1:1}}", "{\"text\":\"a\" \"x\":1}", "\xEF\xBB\xBF{\"text\":\"a\"}",
    };
    struct nd_jsonl_record found;
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++) {
        CHECK(line_of(unusual[i], strlen(unusual[i]), BACK, &found) == ND_JSONL_UNUSUAL, "read: %s", unusual[i]);
        check_replaced(unusual[i], BACK);
    }
    CHECK(line_of("", 0, BACK, &found) == ND_JSONL_BLANK && line_of(" \t\r\n", 4, BACK, &found) == ND_JSONL_BLANK, "blank");
    for (int depth = ND_JSONL_DEPTH - 1; depth <= ND_JSONL_DEPTH + 1; depth++) {
        char line[2 * ND_JSONL_DEPTH + 32] = "{\"text\":\"a\",\"x\":";
        size_t n = strlen(line);
        for (int i = 0; i < depth; i++)
            line[n++] = '[';
        line[n++] = '1';
        for (int i = 0; i < depth; i++)
            line[n++] = ']';
        line[n++] = '}';
        CHECK(line_of(line, n, BACK, &found) == (depth > ND_JSONL_DEPTH ? ND_JSONL_UNUSUAL : ND_JSONL_RECORD), "%d", depth);
    }
}

#endif
