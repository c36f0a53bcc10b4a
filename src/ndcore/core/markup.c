/* The naive way asks the parser itself, with a clock beside it. A parser looks from each end tag, and from many start tags, up
 * through the open elements, opens formats again that a block closed, and compares each attribute of a tag with the ones
 * before it: n bytes of tags cost O(n²) steps, and what becomes of the page would depend on the speed of the machine.
 *
 * Here the tags are read in one pass and without a tree, as tokens of the HTML Living Standard, section 13.2.5
 * (https://html.spec.whatwg.org), and the steps are counted that a parser would take. The stack of open elements is simpler
 * than the one of the standard and never lower by more than a small factor: an end tag closes an element only where every
 * parser does, and where the reading of tags depends on what a parser made of earlier ones, nothing is closed any more. A tag
 * costs at most O(1) here for each unit of work that it counts, and for each of the first elements, which cost nothing.
 *
 * The constants are from resiliparse 2.0.1: what takes it as much time as a step to a parent is one unit. What is free is deeper
 * and has more attributes than pages that people read, and costs time that is linear in the page. */
#include "markup.h"

enum {
    VOID = 1,           /* without content */
    RAW = 2,            /* its content is text up to its end tag */
    FOREIGN = 4,        /* svg and math */
    LEAF = 8,           /* in svg and math: fine if its content is text */
    HTML = 16,          /* in svg and math: parsers differ by what is around */
    FORMAT = 32,        /* opened again after a block that closed it */
    FLOW = 64,          /* its end tag closes ITEM elements and paragraphs in it */
    ITEM = 128,         /* its end tag may be missing */
    CELL = 256,         /* a part of a table */
    HIDDEN = 512,       /* its content is no text of the page */
    INLINE = 1024,      /* no bound between words */
};

enum {
    NAME_BYTES = 16,        /* more than a known name has */
    FREE_DEPTH = 64,
    FREE_FORMATS = 4,
    FREE_ATTRIBUTES = 256,
    FREE_OPTIONS = 256,
    EQUAL_FORMATS = 3,      /* so many equal elements are opened again, not more */
    OPTION_SHARE = 4,       /* so many steps from an option to the one before take as long as one step */
    FORMAT_WORK = 40,       /* an element that is opened again takes as long as a step through so many ancestors */
    ATTRIBUTE_SHARE = 16,   /* so many comparisons of attributes take as long as one step */
    MANY = 1 << 30,         /* attributes whose square is no longer counted */
};

/* In the order of their bytes. */
#define NAMES(X) \
    X(A, "a", INLINE) X(ABBR, "abbr", INLINE) X(ADDRESS, "address", FLOW) X(ANNOTATION, "annotation", LEAF) \
    X(ANNOTATION_XML, "annotation-xml", HTML) X(AREA, "area", VOID | HTML) X(ARTICLE, "article", FLOW) \
    X(ASIDE, "aside", FLOW) X(B, "b", HTML | FORMAT | INLINE) X(BASE, "base", VOID | HTML) \
    X(BASEFONT, "basefont", VOID) X(BDI, "bdi", INLINE) X(BDO, "bdo", INLINE) X(BGSOUND, "bgsound", VOID) \
    X(BIG, "big", HTML | FORMAT | INLINE) X(BLOCKQUOTE, "blockquote", HTML | FLOW) X(BODY, "body", HTML) \
    X(BR, "br", VOID | HTML) X(BUTTON, "button", FLOW) X(CAPTION, "caption", CELL) X(CENTER, "center", HTML | FLOW) \
    X(CITE, "cite", INLINE) X(CODE, "code", HTML | FORMAT | INLINE) X(COL, "col", VOID | HTML) \
    X(COLGROUP, "colgroup", CELL) X(DATA, "data", INLINE) X(DD, "dd", HTML | FLOW | ITEM) X(DEL, "del", INLINE) \
    X(DESC, "desc", LEAF) X(DETAILS, "details", FLOW) X(DFN, "dfn", INLINE) X(DIALOG, "dialog", FLOW) \
    X(DIR, "dir", FLOW) X(DIV, "div", HTML | FLOW) X(DL, "dl", HTML | FLOW) X(DT, "dt", HTML | FLOW | ITEM) \
    X(EM, "em", HTML | FORMAT | INLINE) X(EMBED, "embed", VOID | HTML) X(FIELDSET, "fieldset", FLOW) \
    X(FIGCAPTION, "figcaption", FLOW) X(FIGURE, "figure", FLOW) X(FONT, "font", HTML | FORMAT | INLINE) \
    X(FOOTER, "footer", FLOW) X(FOREIGNOBJECT, "foreignobject", HTML) X(FRAME, "frame", VOID) \
    X(FRAMESET, "frameset", HTML) X(H1, "h1", HTML | FLOW) X(H2, "h2", HTML | FLOW) X(H3, "h3", HTML | FLOW) \
    X(H4, "h4", HTML | FLOW) X(H5, "h5", HTML | FLOW) X(H6, "h6", HTML | FLOW) X(HEAD, "head", HTML) \
    X(HEADER, "header", FLOW) X(HGROUP, "hgroup", FLOW) X(HR, "hr", VOID | HTML) X(HTML, "html", HTML) \
    X(I, "i", HTML | FORMAT | INLINE) X(IFRAME, "iframe", RAW | HTML | HIDDEN) X(IMG, "img", VOID | HTML) \
    X(INPUT, "input", VOID | HTML) X(INS, "ins", INLINE) X(KBD, "kbd", INLINE) X(KEYGEN, "keygen", VOID) \
    X(LI, "li", HTML | FLOW | ITEM) X(LINK, "link", VOID | HTML) X(LISTING, "listing", HTML | FLOW) \
    X(MAIN, "main", FLOW) X(MARK, "mark", INLINE) X(MATH, "math", FOREIGN) X(MENU, "menu", HTML | FLOW) \
    X(META, "meta", VOID | HTML) X(MI, "mi", LEAF) X(MN, "mn", LEAF) X(MO, "mo", LEAF) X(MS, "ms", LEAF) \
    X(MTEXT, "mtext", LEAF) X(NAV, "nav", FLOW) X(NOBR, "nobr", HTML | FORMAT | INLINE) \
    X(NOEMBED, "noembed", RAW | HTML | HIDDEN) X(NOFRAMES, "noframes", RAW | HTML | HIDDEN) X(OL, "ol", HTML | FLOW) \
    X(OPTGROUP, "optgroup", ITEM) X(OPTION, "option", ITEM) X(P, "p", HTML) X(PARAM, "param", VOID | HTML) \
    X(PLAINTEXT, "plaintext", HTML) X(PRE, "pre", HTML | FLOW) X(Q, "q", INLINE) X(RP, "rp", ITEM) X(RT, "rt", ITEM) \
    X(RUBY, "ruby", HTML) X(S, "s", HTML | FORMAT | INLINE) X(SAMP, "samp", INLINE) \
    X(SCRIPT, "script", RAW | LEAF | HIDDEN) X(SEARCH, "search", FLOW) X(SECTION, "section", FLOW) \
    X(SELECT, "select", HTML | FLOW) X(SMALL, "small", HTML | FORMAT | INLINE) X(SOURCE, "source", VOID | HTML) \
    X(SPAN, "span", HTML | INLINE) X(STRIKE, "strike", HTML | FORMAT | INLINE) \
    X(STRONG, "strong", HTML | FORMAT | INLINE) X(STYLE, "style", RAW | LEAF | HIDDEN) X(SUB, "sub", HTML | INLINE) \
    X(SUMMARY, "summary", FLOW) X(SUP, "sup", HTML | INLINE) X(SVG, "svg", FOREIGN) X(TABLE, "table", HTML | FLOW) \
    X(TBODY, "tbody", CELL) X(TD, "td", CELL) X(TEMPLATE, "template", HTML) X(TEXTAREA, "textarea", RAW | HTML) \
    X(TFOOT, "tfoot", CELL) X(TH, "th", CELL) X(THEAD, "thead", CELL) X(TIME, "time", INLINE) \
    X(TITLE, "title", RAW | LEAF | HIDDEN) X(TR, "tr", CELL) X(TRACK, "track", VOID | HTML) \
    X(TT, "tt", HTML | FORMAT | INLINE) X(U, "u", HTML | FORMAT | INLINE) X(UL, "ul", HTML | FLOW) \
    X(VAR, "var", HTML | INLINE) X(WBR, "wbr", VOID | HTML | INLINE) X(XMP, "xmp", RAW | HTML)

#define NUMBER(number, name, flags) E_##number,
enum { NAMES(NUMBER) E_COUNT };
_Static_assert((int)E_COUNT == (int)ND_MARKUP_NAMES, "the number of known names");

#define ROW(number, name, flags) {name, flags},
static const struct { char name[NAME_BYTES]; uint32_t flags; } known[] = {NAMES(ROW)};

typedef enum { START, END, OTHER, NONE } kind;     /* tags; comments and declarations; the end of the page */

typedef struct {
    kind kind;
    int number;             /* of its name; -1: not known */
    uint32_t flags;
    size_t begin, end, name, name_size, attributes;
    int is_closed;          /* <name/> */
    int is_cdata;           /* <![CDATA[ */
} tag;

static int is_blank(uint8_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }

static int is_letter(uint8_t c) { return (uint8_t)((c | 32) - 'a') < 26; }

static uint8_t lower(uint8_t c) { return (uint8_t)(c - 'A') < 26 ? c | 32 : c; }

/* Are n bytes equal but for the case of letters? */
static int equal_names(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;
    while (i < n && lower(a[i]) == lower(b[i]))
        i++;
    return i == n;
}

/* The number of a name that zeros fill up to NAME_BYTES; -1 if it is not known. */
static int number_of(const char *padded)
{
    int low = 0, high = E_COUNT;
    while (low < high) {
        const int middle = (low + high) / 2, order = memcmp(padded, known[middle].name, NAME_BYTES);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* The position of the next byte c, or n. */
static size_t find(const uint8_t *s, size_t n, size_t at, uint8_t c)
{
    const uint8_t *const p = at < n ? memchr(s + at, c, n - at) : NULL;
    return p ? (size_t)(p - s) : n;
}

static size_t behind(const uint8_t *s, size_t n, size_t at, uint8_t c) { return nd_min(n, find(s, n, at, c) + 1); }

static size_t skip_blanks(const uint8_t *s, size_t n, size_t at)
{
    while (at < n && is_blank(s[at]))
        at++;
    return at;
}

/* Reads the name of a tag; returns where it ends. */
static size_t read_name(const uint8_t *s, size_t n, size_t at, tag *t)
{
    char padded[NAME_BYTES] = {0};
    size_t j = at;
    for (; j < n && !is_blank(s[j]) && s[j] != '/' && s[j] != '>'; j++)
        if (j - at < NAME_BYTES)
            padded[j - at] = (char)lower(s[j]);
    t->name = at;
    t->name_size = j - at;
    t->number = j - at < NAME_BYTES ? number_of(padded) : -1;
    t->flags = t->number < 0 ? 0 : known[t->number].flags;
    return j;
}

/* Reads the attributes of a tag, from `at` to its end. */
static void read_attributes(const uint8_t *s, size_t n, size_t at, tag *t)
{
    for (;;) {
        t->is_closed = 0;
        for (; at < n && (is_blank(s[at]) || s[at] == '/'); at++)
            t->is_closed = s[at] == '/';
        if (at >= n || s[at] == '>') {
            t->end = nd_min(n, at + 1);
            return;
        }
        t->attributes++;
        at++;
        while (at < n && !is_blank(s[at]) && s[at] != '/' && s[at] != '>' && s[at] != '=')
            at++;
        size_t value = skip_blanks(s, n, at);
        if (value >= n || s[value] != '=')
            continue;
        value = skip_blanks(s, n, value + 1);
        if (value < n && (s[value] == '"' || s[value] == '\'')) {
            at = behind(s, n, value + 1, s[value]);
            continue;
        }
        for (at = value; at < n && !is_blank(s[at]) && s[at] != '>';)
            at++;
    }
}

/* Where a comment ends whose text begins at `at`. */
static size_t comment_end(const uint8_t *s, size_t n, size_t at)
{
    if (at < n && s[at] == '>')
        return at + 1;
    if (at + 1 < n && s[at] == '-' && s[at + 1] == '>')
        return at + 2;
    for (size_t j = at;; j++) {
        j = find(s, n, j, '>');
        if (j >= n)
            return n;
        if (j >= at + 2 && s[j - 1] == '-' && s[j - 2] == '-')
            return j + 1;
        if (j >= at + 3 && s[j - 1] == '!' && s[j - 2] == '-' && s[j - 3] == '-')
            return j + 1;
    }
}

static int begins_comment(const uint8_t *s, size_t n, size_t at) { return n - at >= 4 && memcmp(s + at, "<!--", 4) == 0; }

/* Reads the next tag, comment or declaration at or after `at`. */
static void next_tag(const uint8_t *s, size_t n, size_t at, tag *t)
{
    *t = (tag){.number = -1};
    for (;; at++) {
        at = find(s, n, at, '<');
        if (at + 1 >= n) {
            t->kind = NONE;
            t->begin = t->end = n;
            return;
        }
        const uint8_t c = s[at + 1];
        t->begin = at;
        if (is_letter(c)) {
            t->kind = START;
            read_attributes(s, n, read_name(s, n, at + 1, t), t);
            return;
        }
        if (c == '/' && at + 2 < n && is_letter(s[at + 2])) {
            t->kind = END;
            read_attributes(s, n, read_name(s, n, at + 2, t), t);
            return;
        }
        if (c == '!' || c == '?' || (c == '/' && at + 2 < n)) {
            t->kind = OTHER;
            t->is_cdata = n - at >= 9 && memcmp(s + at, "<![CDATA[", 9) == 0;
            t->end = begins_comment(s, n, at) ? comment_end(s, n, at + 4) : behind(s, n, at + 2, '>');
            return;
        }
    }
}

/* Where the end tag of raw text begins, or n. */
static size_t raw_end(const uint8_t *s, size_t n, size_t at, const tag *t)
{
    for (size_t j = at;; j++) {
        j = find(s, n, j, '<');
        if (j >= n)
            return n;
        const size_t end = j + 2 + t->name_size;
        if (end < n && s[j + 1] == '/' && equal_names(s + j + 2, s + t->name, t->name_size)
                && (is_blank(s[end]) || s[end] == '/' || s[end] == '>'))
            return j;
    }
}

/* Whether a script may go on behind its first end tag: it holds a comment, and in it the beginning of a script. */
static int ends_elsewhere(const uint8_t *s, size_t at, size_t end)
{
    for (;; at++) {
        at = find(s, end, at, '<');
        if (end - at < 4)
            return 0;
        if (begins_comment(s, end, at))
            break;
    }
    for (; end - at >= 7; at++)
        if (s[at] == '<' && equal_names(s + at + 1, (const uint8_t *)"script", 6))
            return 1;
    return 0;
}

/* Opens an element. */
static void push(nd_markup_work *w, const tag *t)
{
    w->stack[w->depth++] = (nd_markup_element){t->name, t->name_size, t->flags, (int16_t)t->number, t->attributes == 0};
    if (t->flags & FORMAT)
        w->formats += t->attributes || ++w->plain[t->number] <= EQUAL_FORMATS;
    w->selects += t->number == E_SELECT || t->number == E_FRAMESET;
}

/* Closes the last element. */
static void pop(nd_markup_work *w)
{
    const nd_markup_element *const last = &w->stack[--w->depth];
    if (last->flags & FORMAT)
        w->formats -= !last->is_plain || w->plain[last->number]-- <= EQUAL_FORMATS;
    w->selects -= last->number == E_SELECT || last->number == E_FRAMESET;
}

static int top(const nd_markup_work *w) { return w->depth ? w->stack[w->depth - 1].number : -1; }

static void pop_if(nd_markup_work *w, int is_wanted)
{
    if (is_wanted)
        pop(w);
}

/* Closes what ends where an element of this name begins. */
static void close_before(nd_markup_work *w, int number)
{
    switch (number) {
    case E_P: case E_OPTION:
        pop_if(w, top(w) == number);
        break;
    case E_LI: case E_DD: case E_DT:
        while (top(w) == E_P)
            pop(w);
        pop_if(w, number == E_LI ? top(w) == E_LI : top(w) == E_DD || top(w) == E_DT);
        break;
    case E_TD: case E_TH: case E_TR: case E_TBODY: case E_THEAD: case E_TFOOT:
        pop_if(w, top(w) == E_TD || top(w) == E_TH);
        if (number == E_TD || number == E_TH)
            break;
        pop_if(w, top(w) == E_TR);
        pop_if(w, number != E_TR && (top(w) == E_TBODY || top(w) == E_THEAD || top(w) == E_TFOOT));
        break;
    default:
        break;
    }
}

/* Closes the element of an end tag, and elements in it whose end tags may be missing, if every parser does. */
static int close_element(nd_markup_work *w, const tag *t, int exactly)
{
    uint32_t over = 0;
    size_t at = w->depth;
    if (!exactly && t->number >= 0)
        over = (t->flags & FLOW ? ITEM : 0) | (t->flags & CELL || t->number == E_TABLE ? CELL : 0);
    for (;; at--) {
        if (at == 0)
            return 0;
        const nd_markup_element *const e = &w->stack[at - 1];
        if (e->number == t->number && (t->number >= 0 || (e->size == t->name_size
                && equal_names(w->page + e->name, w->page + t->name, e->size))))
            break;
        if (!(e->flags & over || (over && e->number == E_P)))
            return 0;
    }
    while (w->depth >= at)
        pop(w);
    return 1;
}

static size_t beyond(size_t count, size_t is_free) { return count > is_free ? count - is_free : 0; }

/* Adds the work of a tag at this depth. */
static void count_tag(nd_markup_work *w)
{
    w->work += (int64_t)(beyond(w->depth, FREE_DEPTH) + FORMAT_WORK * beyond(w->formats, FREE_FORMATS)
                         + beyond(w->options, FREE_OPTIONS) / OPTION_SHARE);
}

/* Adds the work of attributes that an element gets beside others. */
static void count_attributes(nd_markup_work *w, size_t number, size_t before)
{
    const int64_t n = (int64_t)nd_min(number, MANY), m = (int64_t)nd_min(before, MANY);
    if (n + m > FREE_ATTRIBUTES)
        w->work += n * (n + 2 * m) / ATTRIBUTE_SHARE;
}

/* From `at` on, all that may be a tag opens an element, nothing closes one, and all that may be an attribute is one of the same
 * tag. */
static int open_all(nd_markup_work *w, size_t at)
{
    size_t attributes = 0;
    for (size_t j = at; j < w->size && attributes < MANY; j++) {
        const uint8_t c = w->page[j], before = j ? w->page[j - 1] : 0;
        if (is_blank(before) || before == '/' || before == '"' || before == '\'')
            attributes += !(is_blank(c) || c == '/' || c == '>');
        if (attributes > FREE_ATTRIBUTES && (int64_t)(attributes * attributes / ATTRIBUTE_SHARE) > w->most)
            break;
    }
    count_attributes(w, attributes, 0);
    w->at = at;
    w->opens_all = 1;
    return 1;
}

/* Counts a tag where all of them open elements. Returns 0 at the end of the page. */
static int count_next_of_all(nd_markup_work *w)
{
    const size_t at = find(w->page, w->size, w->at, '<');
    if (at + 1 >= w->size)
        return 0;
    if (is_letter(w->page[at + 1])) {
        tag t;
        read_name(w->page, w->size, at + 1, &t);
        t.attributes = 1;
        push(w, &t);
    }
    count_tag(w);
    w->at = at + 1;
    return 1;
}

/* Counts an end tag. */
static int count_end(nd_markup_work *w, const tag *t)
{
    if (!close_element(w, t, w->foreign != 0)) {
        if (w->foreign)
            return open_all(w, t->begin);
    }
    else if (t->number == E_SELECT && !w->selects)
        w->options = 0;
    if (w->depth < w->foreign)
        w->foreign = 0;
    return 1;
}

/* Counts a start tag. */
static int count_start(nd_markup_work *w, tag *t, int is_in_leaf)
{
    if (w->foreign) {
        if (is_in_leaf || (t->flags & HTML && !(t->flags & LEAF)))
            return open_all(w, t->begin);
        if (!t->is_closed)
            push(w, t);
        return 1;
    }
    if (t->number == E_PLAINTEXT)
        return open_all(w, w->at);
    if (t->flags & RAW) {
        const size_t end = raw_end(w->page, w->size, w->at, t);
        if ((w->selects && find(w->page, end, w->at, '<') < end)
                || (t->number == E_SCRIPT && ends_elsewhere(w->page, w->at, end)))
            return open_all(w, w->at);
        next_tag(w->page, w->size, end, t);         /* the end tag itself */
        w->at = t->end;
        return 1;
    }
    if (t->flags & VOID)
        return 1;
    close_before(w, t->number);
    if (t->flags & FOREIGN) {
        if (t->is_closed)
            return 1;
        w->foreign = w->depth + 1;
    }
    push(w, t);
    return 1;
}

/* Counts the next tag, comment or declaration. Returns 0 at the end of the page. */
static int count_next(nd_markup_work *w)
{
    tag t;
    next_tag(w->page, w->size, w->at, &t);
    if (t.kind == NONE)
        return 0;
    w->at = t.end;
    const int is_in_leaf = w->foreign && w->depth && w->stack[w->depth - 1].flags & LEAF;
    if (t.kind == OTHER)
        return w->foreign && (is_in_leaf || t.is_cdata) ? open_all(w, t.begin) : 1;
    size_t none = 0, *const before = t.number == E_BODY || t.number == E_HTML ? &w->roots[t.number == E_HTML] : &none;
    count_attributes(w, t.attributes, *before);     /* those of every body and html go to the first one */
    *before += t.attributes;
    w->options += t.kind == START && t.number == E_OPTION;
    count_tag(w);
    return t.kind == END ? count_end(w, &t) : count_start(w, &t, is_in_leaf);
}

int nd_markup_count(nd_markup_work *w)
{
    for (int tags = 0; w->work <= w->most; tags++) {
        if (tags == ND_MARKUP_TAGS || w->depth == w->room)
            return 1;
        if (!(w->opens_all ? count_next_of_all(w) : count_next(w)))
            break;
    }
    return 0;
}

static void copy(nd_markup_text *t, size_t begin, size_t end)
{
    memcpy(t->out + t->written, t->page + begin, end - begin);
    t->written += end - begin;
}

/* Goes on with the content of an element that is no markup. */
static void read_raw(nd_markup_text *t, const tag *raw)
{
    const size_t end = raw->number == E_PLAINTEXT ? t->size : raw_end(t->page, t->size, t->at, raw);
    if (raw->number == E_TITLE && !t->has_title) {
        t->title = t->at;
        t->title_end = end;
        t->has_title = 1;
    }
    if (!(raw->flags & HIDDEN))
        copy(t, t->at, end);
    t->at = end;
}

int nd_markup_read(nd_markup_text *t)
{
    for (int tags = 0; t->at < t->size; tags++) {
        if (tags == ND_MARKUP_TAGS)
            return 1;
        tag next;
        next_tag(t->page, t->size, t->at, &next);
        copy(t, t->at, next.begin);
        t->at = next.end;
        if ((next.kind == START || next.kind == END) && !(next.flags & INLINE))
            t->out[t->written++] = '\n';            /* a tag has more bytes */
        if (next.kind == START && (next.flags & RAW || next.number == E_PLAINTEXT))
            read_raw(t, &next);
    }
    return 0;
}
