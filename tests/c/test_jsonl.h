/* Lines of JSON. Included by test_core.c alone. */
#ifndef ND_TEST_JSONL_H
#define ND_TEST_JSONL_H

static int line_of(const char *line, size_t n, int side, struct nd_jsonl_record *found)
{
    const struct nd_jsonl_fields fields = {(const uint8_t *)"text", (const uint8_t *)"id", (const uint8_t *)"no", 4, 2, 2};
    uint8_t *in = guarded(0, side, n, 0), *strings = guarded(1, side, n + ND_JSONL_SPARE, 0);
    memcpy(in, line, n);
    const int kind = nd_jsonl_line(in, in + n, &fields, strings, found);
    CHECK(untouched_around(1, strings, n + ND_JSONL_SPARE) && memcmp(in, line, n) == 0, "outside the strings: %s", line);
    return kind;
}

static void check_line(const char *line, const char *text, const char *id, int kind)
{
    for (int side = FRONT; side <= BACK; side++) {
        struct nd_jsonl_record found;
        CHECK(line_of(line, strlen(line), side, &found) == ND_JSONL_RECORD, "not read: %s", line);
        CHECK(found.text_size == strlen(text) && memcmp(found.text, text, found.text_size) == 0, "text of %s", line);
        CHECK(found.id_kind == kind && found.id_size == strlen(id) &&
                  (kind == 0 || memcmp(found.id, id, found.id_size) == 0), "id of %s", line);
        for (size_t n = strlen(line); n-- > 0;)
            CHECK(line_of(line, n, side, &found) != ND_JSONL_RECORD || line[n] == '\n', "cut at %zu: %s", n, line);
    }
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
    for (size_t i = 0; i < sizeof unusual / sizeof *unusual; i++)
        CHECK(line_of(unusual[i], strlen(unusual[i]), BACK, &found) == ND_JSONL_UNUSUAL, "read: %s", unusual[i]);
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
