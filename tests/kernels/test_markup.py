"""The work that a parser of HTML may have, counted from the tags, and the text between the tags."""

from __future__ import annotations

import random

import pytest

from ndcore._markup import parsing_work, text_between_tags
from ndcore.files.html_text import MOST_WORK

ENDLESS = 1 << 62


@pytest.mark.parametrize(
    "page",
    [
        "<div><p>one <a href='/x'>two</a></p></div>" * 200_000,
        "<ul>" + "<li>one<li>two" * 100_000 + "</ul>",
        "<p>one<p>two" * 100_000,
        "<table>" + "<tr><td>one<td>two" * 100_000 + "</table>",
        "<dl>" + "<dt>one<dd><p>two" * 100_000 + "</dl>",
        "<svg viewBox='0 0 1 1'><title>one</title><g><path d='M0'/><path d='M1'/></g></svg>" * 100_000,
        "<math><mrow><mi>x</mi><mo>=</mo><mspace/></mrow></math><br><img>" * 100_000,
        "<script>'<div><b>'</script><style>a > b {}</style><textarea><div></textarea><!-- <div> --><br/>" * 100_000,
        "<select><option>one<option>two</select>" * 100_000,
        "one < two " * 100_000,
        "",
    ],
)
def test_long_flat_pages_have_no_work(page: str) -> None:
    assert parsing_work(page.encode(), ENDLESS) == 0


def test_the_work_of_nested_elements() -> None:
    """Check against sums written down: the k-th tag meets k - 1 open elements, of which 64 cost nothing."""
    n = 1000
    assert parsing_work(b"<div>" * n, ENDLESS) == sum(max(0, k - 64) for k in range(n))
    assert parsing_work(b"<a><b>" * n, ENDLESS) == sum(max(0, k - 64) for k in range(2 * n))  # three <b> are opened again
    fonts = b"".join(b"<font a=%d>" % k for k in range(n))
    assert parsing_work(fonts, ENDLESS) == sum(max(0, k - 64) + 40 * max(0, k - 4) for k in range(n))
    assert parsing_work(b"<p" + b" a" * n + b">", ENDLESS) == n * n // 16
    assert parsing_work(b"<p" + b" a" * 256 + b">", ENDLESS) == 0


def test_counting_ends_at_the_bound() -> None:
    assert MOST_WORK < parsing_work(b"<div>" * 1_000_000, MOST_WORK) < MOST_WORK + 1_000_000


def test_any_bytes_are_read_to_their_end() -> None:
    pieces = [b"<", b">", b"/", b"=", b"'", b'"', b"<!--", b"-->", b"--!>", b"<p", b"</p", b"<svg", b"</svg>", b"<title>",
              b" ", b"<script>", b"</script", b"<select>", b"<![CDATA[", b"x", b"<plaintext>", b"<b>", b"</b>",
              b"<li>", b"\x00", b"<?"]
    generator = random.Random(1)
    for _ in range(3000):
        page = b"".join(generator.choices(pieces, k=generator.randrange(40)))
        assert parsing_work(page, ENDLESS) >= 0
        text, title = text_between_tags(page)
        assert len(text) <= len(page) and title in page


def test_the_text_between_tags() -> None:
    page = (
        b"<!DOCTYPE html><title> Salt &amp;\n pepper</title><style>p {}</style><script>'<p>'</script><p title='a > b'>"
        b"S<b>ou</b>p &eacute;&#33;<!-- <p>no</p> --> 1 < 2<br>more<textarea><i>typed</i></textarea><title>other</title>"
    )
    text, title = text_between_tags(page)
    assert text.split() == b"Soup &eacute;&#33; 1 < 2 more <i>typed</i>".split()
    assert b"2\nmore" in text
    assert title == b" Salt &amp;\n pepper"


def test_the_work_is_not_below_the_depth_of_a_parsers_tree() -> None:
    """Count the ancestors beyond 64 of every element in the trees that resiliparse makes of nested and stray tags."""
    html = pytest.importorskip("resiliparse.parse.html", reason="the extra web is not installed")
    deep = 0
    for seed in range(40):
        generator = random.Random(seed)
        names = generator.sample(["div", "section", "span", "ul", "li", "article", "b", "main"], 4)
        tags = [generator.choice(["<%s>", "<%s>", "<%s>", "</%s>"]) % generator.choice(names) for _ in range(1500)]
        page = "<body>" + "".join(tags)
        body = html.HTMLTree.parse(page).body
        node, depth, counted = body, 0, 0
        while node is not None:  # in the order of the document
            counted += max(0, depth - 64)
            if node.first_child is not None:
                node, depth = node.first_child, depth + 1
                continue
            while node != body and node.next is None:
                node, depth = node.parent, depth - 1
            node = None if node == body else node.next
        deep += counted > 0
        assert parsing_work(page.encode(), ENDLESS) >= counted
    assert deep > 30
