# cython: embedsignature=True
"""HTML read by its tags alone, in one pass and without a tree: the work that a parser may have, the text between the tags.

Tokens are the ones of the HTML Living Standard, section 13.2.5 (https://html.spec.whatwg.org). The stack of open elements
is simpler than the standard's and never lower by more than a small factor: an end tag closes an element only where every
parser does, and where the reading of tags depends on what a parser made of earlier ones, nothing is closed any more.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from ndcore._signals cimport check_signals

cdef enum:
    VOID = 1  # without content
    RAW = 2  # its content is text up to its end tag
    FOREIGN = 4  # svg and math
    LEAF = 8  # in svg and math: fine if its content is text
    HTML = 16  # in svg and math: parsers differ by what is around
    FORMAT = 32  # opened again after a block that closed it
    FLOW = 64  # its end tag closes ITEM and PARAGRAPH elements in it
    ITEM = 128  # its end tag may be missing
    CELL = 256  # a part of a table
    HIDDEN = 512  # its content is no text of the page
    INLINE = 1024  # no bound between words
    NAME = 16  # bytes of a known name, at most
    NAMES = 256
    FREE_DEPTH = 64  # of elements, which costs nothing: work in it is linear
    FREE_FORMATS = 4
    FREE_ATTRIBUTES = 256
    FREE_OPTIONS = 256
    OPTION_SHARE = 4  # so many steps from an option to the one before take as long as one step
    FORMAT_WORK = 40  # an element that is opened again takes as long as a step through so many ancestors
    ATTRIBUTE_SHARE = 16  # so many comparisons of attributes take as long as one step
    OFTEN = 8192  # tags between two checks for Ctrl-C

cdef char known[NAMES][NAME]
cdef uint32_t flags_of[NAMES]
cdef int known_count = 0


def _learn():
    """Fill the table of names."""
    global known_count
    kinds = {
        VOID: "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr",
        RAW: "script style title textarea xmp iframe noembed noframes",
        FOREIGN: "svg math",
        LEAF: "title desc style script mi mo mn ms mtext annotation",
        HTML: "b big blockquote body br center code dd div dl dt em embed font foreignobject annotation-xml h1 h2 h3 h4 h5 "
              "h6 head hr i img li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul "
              "var "
              "html select template frameset plaintext textarea xmp iframe noembed noframes input link param source track "
              "wbr area base col",
        FORMAT: "b big code em font i nobr s small strike strong tt u",
        FLOW: "address article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer "
              "header hgroup listing main menu nav ol pre search section summary ul h1 h2 h3 h4 h5 h6 li dd dt select table",
        ITEM: "li dd dt option optgroup rt rp",
        CELL: "td th tr tbody thead tfoot colgroup caption",
        HIDDEN: "script style iframe noembed noframes title",
        INLINE: "a abbr b bdi bdo big cite code data dfn em font i ins del kbd mark nobr q s samp small span strike strong "
                "sub sup time tt u var wbr",
    }
    flags = {}
    for kind, names in kinds.items():
        for name in [*names.split(), "p", "select", "html", "body", "frameset", "plaintext", "table"]:
            flags[name.encode()] = flags.get(name.encode(), 0) | (kind if name in names.split() else 0)
    for name in sorted(flags):
        memcpy(known[known_count], <const char *> name, len(name))
        flags_of[known_count] = flags[name]
        known_count += 1


_learn()

cdef int number_of(const char *name) noexcept:
    """Return the number of a known name."""
    cdef char padded[NAME]
    memset(padded, 0, NAME)
    memcpy(padded, name, len(name))
    return search(padded)


cdef int search(const char *padded) noexcept nogil:
    """Return the number of a name of NAME bytes; -1 if it is not known."""
    cdef int low = 0, high = known_count, middle, order
    while low < high:
        middle = (low + high) >> 1
        order = memcmp(padded, known[middle], NAME)
        if order == 0:
            return middle
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return -1


cdef int P = number_of(b"p"), LI = number_of(b"li"), DD = number_of(b"dd"), DT = number_of(b"dt"), TD = number_of(b"td")
cdef int TH = number_of(b"th"), TR = number_of(b"tr"), TBODY = number_of(b"tbody"), THEAD = number_of(b"thead")
cdef int TFOOT = number_of(b"tfoot"), TABLE = number_of(b"table"), OPTION = number_of(b"option")
cdef int SELECT = number_of(b"select"), FRAMESET = number_of(b"frameset")
cdef int BODY = number_of(b"body"), ROOT = number_of(b"html")
cdef int SCRIPT = number_of(b"script"), TITLE = number_of(b"title"), PLAINTEXT = number_of(b"plaintext")

cdef enum:
    START, END, OTHER, NONE  # tags; comments and declarations; the end of the page


cdef struct Tag:
    int kind
    int number  # of its name; -1: not known
    uint32_t flags
    Py_ssize_t begin, end, name, name_size, attributes
    bint closed  # <name/>
    bint cdata  # <![CDATA[


cdef struct Open:  # an element
    int number
    uint32_t flags
    Py_ssize_t name, size
    bint plain  # without attributes


cdef inline bint is_blank(uint8_t c) noexcept nogil:
    return c == 32 or c == 10 or c == 9 or c == 13 or c == 12


cdef inline uint8_t lower(uint8_t c) noexcept nogil:
    return c + 32 if 65 <= c <= 90 else c


cdef inline bint is_letter(uint8_t c) noexcept nogil:
    return 97 <= (c | 32) <= 122


cdef Py_ssize_t find(const uint8_t *s, Py_ssize_t n, Py_ssize_t at, uint8_t c) noexcept nogil:
    """Return the position of the next byte `c`, or `n`."""
    cdef const void *p = memchr(s + at, c, n - at) if at < n else NULL
    return n if p == NULL else <const uint8_t *> p - s


cdef Py_ssize_t read_name(const uint8_t *s, Py_ssize_t n, Py_ssize_t at, Tag *tag) noexcept nogil:
    """Read the name of a tag; return where it ends."""
    cdef char padded[NAME]
    cdef Py_ssize_t j = at
    memset(padded, 0, NAME)
    while j < n and not is_blank(s[j]) and s[j] != c'/' and s[j] != c'>':
        if j - at < NAME:
            padded[j - at] = lower(s[j])
        j += 1
    tag.name, tag.name_size = at, j - at
    tag.number = search(padded) if j - at < NAME else -1
    tag.flags = flags_of[tag.number] if tag.number >= 0 else 0
    return j


cdef void next_tag(const uint8_t *s, Py_ssize_t n, Py_ssize_t at, Tag *tag) noexcept nogil:
    """Read the next tag, comment or declaration at or after `at`."""
    cdef Py_ssize_t j, k
    cdef uint8_t c
    tag.number, tag.flags, tag.attributes, tag.closed, tag.cdata = -1, 0, 0, False, False
    while True:
        j = find(s, n, at, c'<')
        if j + 1 >= n:
            tag.kind, tag.begin, tag.end = NONE, n, n
            return
        tag.begin, c = j, s[j + 1]
        if is_letter(c):
            tag.kind = START
            j = read_name(s, n, j + 1, tag)
            break
        if c == c'/' and j + 2 < n and is_letter(s[j + 2]):
            tag.kind = END
            j = read_name(s, n, j + 2, tag)
            break
        if c == c'!' or c == c'?' or (c == c'/' and j + 2 < n):
            tag.kind = OTHER
            if j + 3 < n and s[j + 1] == c'!' and s[j + 2] == c'-' and s[j + 3] == c'-':
                tag.end = comment_end(s, n, j + 4)
            else:
                tag.cdata = n - j >= 9 and memcmp(s + j, b"<![CDATA[", 9) == 0
                tag.end = min(n, find(s, n, j + 2, c'>') + 1)
            return
        at = j + 1
    while True:  # attributes
        tag.closed = False
        while j < n and (is_blank(s[j]) or s[j] == c'/'):
            tag.closed = s[j] == c'/'
            j += 1
        if j >= n or s[j] == c'>':
            tag.end = min(n, j + 1)
            return
        tag.attributes += 1
        j += 1
        while j < n and not is_blank(s[j]) and s[j] != c'/' and s[j] != c'>' and s[j] != c'=':
            j += 1
        k = j
        while k < n and is_blank(s[k]):
            k += 1
        if k >= n or s[k] != c'=':
            continue
        k += 1
        while k < n and is_blank(s[k]):
            k += 1
        if k < n and (s[k] == c'"' or s[k] == c"'"):
            j = min(n, find(s, n, k + 1, s[k]) + 1)
        else:
            j = k
            while j < n and not is_blank(s[j]) and s[j] != c'>':
                j += 1


cdef Py_ssize_t comment_end(const uint8_t *s, Py_ssize_t n, Py_ssize_t at) noexcept nogil:
    """Return where a comment ends whose text begins at `at`."""
    cdef Py_ssize_t j = at
    if at < n and s[at] == c'>':
        return at + 1
    if at + 1 < n and s[at] == c'-' and s[at + 1] == c'>':
        return at + 2
    while True:
        j = find(s, n, j, c'>')
        if j >= n:
            return n
        if j - 2 >= at and s[j - 1] == c'-' and s[j - 2] == c'-':
            return j + 1
        if j - 3 >= at and s[j - 1] == c'!' and s[j - 2] == c'-' and s[j - 3] == c'-':
            return j + 1
        j += 1


cdef Py_ssize_t raw_end(const uint8_t *s, Py_ssize_t n, Py_ssize_t at, const uint8_t *name, Py_ssize_t size) noexcept nogil:
    """Return where the end tag of raw text begins, or `n`."""
    cdef Py_ssize_t j = at, i
    while True:
        j = find(s, n, j, c'<')
        if j >= n:
            return n
        if j + 2 + size < n and s[j + 1] == c'/':
            i = 0
            while i < size and lower(s[j + 2 + i]) == lower(name[i]):
                i += 1
            if i == size and (is_blank(s[j + 2 + i]) or s[j + 2 + i] == c'/' or s[j + 2 + i] == c'>'):
                return j
        j += 1


cdef bint ends_elsewhere(const uint8_t *s, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    """Tell whether a script may go on behind its first end tag: it holds a comment and in it the beginning of a script."""
    cdef Py_ssize_t j = at
    while True:
        j = find(s, end, j, c'<')
        if j + 4 > end:
            return False
        if s[j + 1] == c'!' and s[j + 2] == c'-' and s[j + 3] == c'-':
            break
        j += 1
    while j + 7 <= end:
        if (s[j] == c'<' and lower(s[j + 1]) == c's' and lower(s[j + 2]) == c'c' and lower(s[j + 3]) == c'r'
                and lower(s[j + 4]) == c'i' and lower(s[j + 5]) == c'p' and lower(s[j + 6]) == c't'):
            return True
        j += 1
    return False


cdef class Elements:
    """The open elements of a page, and the work so far."""
    cdef Open *stack
    cdef Py_ssize_t depth, room, formats, selects, options
    cdef Py_ssize_t plain[NAMES]
    cdef int64_t work

    def __cinit__(self):
        memset(self.plain, 0, sizeof(self.plain))

    def __dealloc__(self):
        free(self.stack)

    cdef int push(self, const Tag *tag) except -1 nogil:
        """Open an element."""
        cdef Open *grown
        if self.depth == self.room:
            grown = <Open *> realloc(self.stack, (2 * self.room + 64) * sizeof(Open))
            if grown == NULL:
                raise MemoryError("the open elements of a page")
            self.stack, self.room = grown, 2 * self.room + 64
        self.stack[self.depth] = Open(tag.number, tag.flags, tag.name, tag.name_size, tag.attributes == 0)
        self.depth += 1
        if tag.flags & FORMAT:
            if tag.attributes:
                self.formats += 1
            else:
                self.plain[tag.number] += 1
                self.formats += self.plain[tag.number] <= 3  # three equal ones are opened again, not more
        self.selects += tag.number == SELECT or tag.number == FRAMESET
        return 0

    cdef void pop(self) noexcept nogil:
        """Close the last element."""
        self.depth -= 1
        cdef Open *last = &self.stack[self.depth]
        if last.flags & FORMAT:
            if last.plain:
                self.formats -= self.plain[last.number] <= 3
                self.plain[last.number] -= 1
            else:
                self.formats -= 1
        self.selects -= last.number == SELECT or last.number == FRAMESET

    cdef inline int top(self) noexcept nogil:
        return self.stack[self.depth - 1].number if self.depth else -1

    cdef void close_before(self, int number) noexcept nogil:
        """Close what ends where an element of this name begins."""
        if number == P or number == OPTION:
            if self.top() == number:
                self.pop()
        elif number == LI or number == DD or number == DT:
            while self.top() == P:
                self.pop()
            if self.top() == number or (number != LI and (self.top() == DD or self.top() == DT)):
                self.pop()
        elif number == TD or number == TH or number == TR or number == TBODY or number == THEAD or number == TFOOT:
            if self.top() == TD or self.top() == TH:
                self.pop()
            if number != TD and number != TH:
                if self.top() == TR:
                    self.pop()
                if number != TR and (self.top() == TBODY or self.top() == THEAD or self.top() == TFOOT):
                    self.pop()

    cdef bint close(self, const uint8_t *s, const Tag *tag, bint exactly) noexcept nogil:
        """Close the element of an end tag, and elements in it whose end tags may be missing, if every parser does."""
        cdef Py_ssize_t at = self.depth - 1, i
        cdef uint32_t over = 0
        cdef Open *element
        if not exactly and tag.number >= 0:
            over = (ITEM if tag.flags & FLOW else 0) | (CELL if tag.flags & CELL or tag.number == TABLE else 0)
        while at >= 0:
            element = &self.stack[at]
            if tag.number >= 0:
                if element.number == tag.number:
                    break
            elif element.number < 0 and element.size == tag.name_size:
                i = 0
                while i < element.size and lower(s[element.name + i]) == lower(s[tag.name + i]):
                    i += 1
                if i == element.size:
                    break
            if not (element.flags & over or (over and element.number == P)):
                return False
            at -= 1
        if at < 0:
            return False
        while self.depth > at:
            self.pop()
        return True

    cdef void count(self) noexcept nogil:
        """Add the work of a tag at this depth."""
        self.work += max(0, self.depth - FREE_DEPTH) + FORMAT_WORK * max(0, self.formats - FREE_FORMATS)
        self.work += max(0, self.options - FREE_OPTIONS) // OPTION_SHARE

    cdef void count_attributes(self, int64_t number, int64_t before) noexcept nogil:
        """Add the work of attributes that an element gets beside others."""
        if number + before > FREE_ATTRIBUTES:
            self.work += number * (number + 2 * before) // ATTRIBUTE_SHARE

    cdef int rest(self, const uint8_t *s, Py_ssize_t n, Py_ssize_t at, int64_t most) except -1 nogil:
        """Add the work of the rest of a page if all in it that may be a tag opens an element and nothing closes one."""
        cdef Tag tag
        cdef Py_ssize_t j = at, tags = 0
        cdef int64_t attributes = 0
        while j < n and attributes * attributes <= most * ATTRIBUTE_SHARE:
            if j and (is_blank(s[j - 1]) or s[j - 1] == c'/' or s[j - 1] == c'"' or s[j - 1] == c"'"):
                attributes += not (is_blank(s[j]) or s[j] == c'/' or s[j] == c'>')
            j += 1
        self.count_attributes(attributes, 0)
        while self.work <= most:
            at = find(s, n, at, c'<')
            if at + 1 >= n:
                return 0
            if is_letter(s[at + 1]):
                read_name(s, n, at + 1, &tag)
                tag.attributes = 1
                self.push(&tag)
            self.count()
            at += 1
            tags += 1
            if tags % OFTEN == 0:
                check_signals()
        return 0

    cdef int read(self, const uint8_t *s, Py_ssize_t n, int64_t most) except -1 nogil:
        """Read tags until the page ends or the work exceeds `most`."""
        cdef Tag tag
        cdef Py_ssize_t at = 0, end, foreign = -1, tags = 0
        cdef int64_t roots[2]
        cdef bint leaf
        roots[0] = roots[1] = 0
        while self.work <= most:
            next_tag(s, n, at, &tag)
            if tag.kind == NONE:
                return 0
            at = tag.end
            leaf = foreign >= 0 and self.depth > 0 and self.stack[self.depth - 1].flags & LEAF != 0
            if tag.kind == OTHER:
                if foreign >= 0 and (leaf or tag.cdata):
                    return self.rest(s, n, tag.begin, most)
                continue
            tags += 1
            if tags % OFTEN == 0:
                check_signals()
            if tag.number == BODY or tag.number == ROOT:  # attributes of every one go to the first one
                self.count_attributes(tag.attributes, roots[tag.number == ROOT])
                roots[tag.number == ROOT] += tag.attributes
            else:
                self.count_attributes(tag.attributes, 0)
            self.options += tag.kind == START and tag.number == OPTION
            self.count()
            if tag.kind == END:
                if not self.close(s, &tag, foreign >= 0) and foreign >= 0:
                    return self.rest(s, n, tag.begin, most)
                elif tag.number == SELECT and not self.selects:
                    self.options = 0
                if self.depth <= foreign:
                    foreign = -1
                continue
            if foreign >= 0:
                if leaf or (tag.flags & HTML and not tag.flags & LEAF):
                    return self.rest(s, n, tag.begin, most)
                if not tag.closed:
                    self.push(&tag)
                continue
            if tag.number == PLAINTEXT:
                return self.rest(s, n, at, most)
            if tag.flags & RAW:
                end = raw_end(s, n, at, s + tag.name, tag.name_size)
                if (self.selects and find(s, end, at, c'<') < end) or (tag.number == SCRIPT and ends_elsewhere(s, at, end)):
                    return self.rest(s, n, at, most)
                next_tag(s, n, end, &tag)  # the end tag itself
                at = tag.end
                continue
            if tag.flags & VOID:
                continue
            self.close_before(tag.number)
            if tag.flags & FOREIGN:
                if tag.closed:
                    continue
                foreign = self.depth
            self.push(&tag)
        return 0


def parsing_work(const uint8_t[::1] page, int64_t most):
    """Count the work of a parser of HTML on a page that grows faster than the page. O(n).

    The unit is a step from an element to its parent, beyond the first 64. Elements that are opened again count 40 each,
    the attributes of a tag their square / 16 where there are more than 256, and so do the options of a list.

    Parameters
    ----------
    page : bytes
        HTML in UTF-8.
    most : int
        Counting ends when the work exceeds it.

    Returns
    -------
    int
        No less than the work, up to a small factor.
    """
    cdef Elements elements = Elements()
    cdef Py_ssize_t n = page.shape[0]
    if n:
        with nogil:
            elements.read(&page[0], n, most)
    return elements.work


def text_between_tags(const uint8_t[::1] page):
    """Return the text of a page without its tags, comments, scripts and styles, and the text of its first title. O(n).

    A line feed stands for each tag that ends a word. Character references are kept as they are.

    Parameters
    ----------
    page : bytes
        HTML in UTF-8.

    Returns
    -------
    text, title : bytes
    """
    cdef Tag tag
    cdef Py_ssize_t n = page.shape[0], at = 0, size = 0, end, title = -1, title_end = -1, tags = 0
    if n == 0:
        return b"", b""
    cdef const uint8_t *s = &page[0]
    cdef uint8_t *out = <uint8_t *> malloc(n)
    if out == NULL:
        raise MemoryError(f"{n} bytes for the text of a page")
    try:
        with nogil:
            while at < n:
                next_tag(s, n, at, &tag)
                memcpy(out + size, s + at, tag.begin - at)
                size += tag.begin - at
                at = tag.end
                tags += 1
                if tags % OFTEN == 0:
                    check_signals()
                if (tag.kind == START or tag.kind == END) and not tag.flags & INLINE:
                    out[size] = c'\n'
                    size += 1
                if tag.kind != START or not (tag.flags & RAW or tag.number == PLAINTEXT):
                    continue
                end = n if tag.number == PLAINTEXT else raw_end(s, n, at, s + tag.name, tag.name_size)
                if tag.number == TITLE and title < 0:
                    title, title_end = at, end
                if not tag.flags & HIDDEN:
                    memcpy(out + size, s + at, end - at)
                    size += end - at
                at = end
        return (PyBytes_FromStringAndSize(<const char *> out, size),
                b"" if title < 0 else PyBytes_FromStringAndSize(<const char *> s + title, title_end - title))
    finally:
        free(out)
