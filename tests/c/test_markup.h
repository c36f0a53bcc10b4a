/* HTML by its tags. Included by test_core.c alone. */
#ifndef ND_TEST_MARKUP_H
#define ND_TEST_MARKUP_H

/* The work on a page between guard pages, with a stack that has room for `more` more elements whenever it is full. */
static int64_t work_of(const uint8_t *html, size_t n, size_t more, int64_t most)
{
    enum { ROOM = 20000 };
    static nd_markup_element stack[ROOM];
    nd_markup_work w = {.page = guarded(0, BACK, n, 0), .size = n, .most = most, .stack = stack};
    memcpy((uint8_t *)w.page, html, n);
    for (size_t calls = 0; nd_markup_count(&w); calls++) {
        CHECK(calls <= n && w.depth <= w.room, "no end after %zu calls", calls);
        if (w.depth == w.room)
            w.room = nd_min(w.room + more, ROOM);
    }
    return w.work;
}

/* `count` times one piece, and then another. */
static int64_t work_of_many(const char *piece, size_t count, const char *end)
{
    static uint8_t html[1 << 18];
    size_t n = 0;
    for (size_t i = 0; i < count; i++, n += strlen(piece))
        memcpy(html + n, piece, strlen(piece));
    memcpy(html + n, end, strlen(end));
    n += strlen(end);
    const int64_t work = work_of(html, n, 1000, INT64_MAX);
    CHECK(work_of(html, n, 1, INT64_MAX) == work, "the room of the stack changes the work of %s", piece);
    CHECK(work == 0 || (work_of(html, n, 7, work / 2) > work / 2 && work_of(html, n, 7, -1) == 0), "no bound for %s", piece);
    return work;
}

/* Sums written down: the k-th tag meets k open elements, of which 64 cost nothing. */
static void test_work_of_tags(void)
{
    static const char *const flat[] = {
        "<p>one", "<li>one", "<dt>one<dd><p>two", "<tr><td>one<th>two", "<DIV a='</div>'>one</div >", "<br><img src=x/>",
        "<svg><title>one</title><path d='M0'/></svg>", "<script>'<div>'</script>", "<!-- <div> --!>", "<!--><!---><div></div>",
        "<select><option>one</select>", "<textarea><div></textarea>", "one < two > ", "<x-y>one</X-Y>", "<b></b>", "<?a?><!b>",
    };
    for (size_t i = 0; i < sizeof flat / sizeof *flat; i++)
        CHECK(work_of_many(flat[i], 3000, "") == 0, "%s is not flat", flat[i]);
    enum { N = 9000 };
    int64_t depths = 0, formats = 0, options = 0;
    for (int64_t k = 0; k < N; k++) {
        depths += k > 64 ? k - 64 : 0;
        formats += k > 4 ? 40 * (k - 4) : 0;
        options += k + 1 > 256 ? (k + 1 - 256) / 4 : 0;
    }
    CHECK(work_of_many("<div>", N, "") == depths, "nested elements");
    CHECK(work_of_many("<averylongname>", N, "") == depths, "nested elements without a known name");
    CHECK(work_of_many("<b>", N, "") == depths, "three equal formats are opened again");
    CHECK(work_of_many("<font a>", N, "") == depths + formats, "formats with attributes");
    CHECK(work_of_many("<option></option>", N, "") > options && work_of_many("<div>", 64, "</x>") == 0, "options");
    CHECK(work_of((const uint8_t *)"<select>", 8, 1, 0) == 0, "one element");
    char html[2048] = "<p";
    for (size_t attributes = 1; attributes <= 600; attributes++) {
        strcat(html, " a");
        const int64_t expected = attributes > 256 ? (int64_t)(attributes * attributes / 16) : 0;
        CHECK(work_of((const uint8_t *)html, strlen(html), 9, 1 << 30) == expected, "%zu attributes", attributes);
    }
    CHECK(work_of_many("<div>", 100, "</div>") == work_of_many("<div>", 101, ""), "an end tag is a tag");
    CHECK(work_of_many("<svg><p a>", 1000, "") > 0, "what parsers read differently opens elements");
}

static void check_between(const char *html, const char *text, const char *title)
{
    const size_t n = strlen(html);
    nd_markup_text t = {.page = guarded(0, BACK, n, 0), .size = n, .out = guarded(1, BACK, n, 0)};
    memcpy((uint8_t *)t.page, html, n);
    while (nd_markup_read(&t))
        ;
    CHECK(untouched_around(1, t.out, n), "%s writes too much", html);
    CHECK(t.written == strlen(text) && memcmp(t.out, text, t.written) == 0, "text of %s: %.*s", html, (int)t.written, t.out);
    CHECK(t.has_title == (title != NULL), "title of %s", html);
    if (title)
        CHECK(t.title_end - t.title == strlen(title) && memcmp(t.page + t.title, title, strlen(title)) == 0, "title of %s", html);
}

static void test_text_between_tags(void)
{
    check_between("", "", NULL);
    check_between("S<b>ou</B>p &amp; 1 < 2<br>x", "Soup &amp; 1 < 2\nx", NULL);
    check_between("<title> a <b> </title>c<title>d</title>", "\n\nc\n\n", " a <b> ");
    check_between("<style><p></style ><SCRIPT></scrip></script/>a<textarea><i></textarea>", "\n\n\n\na\n<i>\n", NULL);
    check_between("<!-- <p> -->a<!doctype html>b<?c>d</ e>f<!-->g<!--->h<!--i--!>j<!--k", "abdfghj", NULL);
    check_between("<p a='>' b=\">\" c=> >a</p d>b<plaintext><p>", "\n >a\nb\n<p>", NULL);
    check_between("<a", "", NULL);
    check_between("<p", "\n", NULL);
    check_between("a<", "a<", NULL);
    check_between("a</", "a</", NULL);
    check_between("<title>a</titl", "\n", "a</titl");
}

#endif
