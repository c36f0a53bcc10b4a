"""Texts with passages marked: escaped, bounded, in characters or bytes."""

from __future__ import annotations

import pytest
from browser import HOSTILE, Tree

from ndcore.report.marked_passages import DocumentWithPassage, Marked, MarkedText, excerpt, excerpt_all, marked_page
from ndcore.report.model import Figure, ReportTable


def page_of(*texts: MarkedText, total: int = 1) -> str:
    table = ReportTable("T", "about it", ("Name", "Number"), ((HOSTILE, 3),), 1)
    figures = (Figure(1234, "items"),)
    return marked_page("Title", "Subtitle", figures, (table,), "Texts", texts, total, [("rule", "any")])


def of(marked: Marked, documents: tuple[DocumentWithPassage, ...] = (), total: int = 0) -> MarkedText:
    return MarkedText("name", "note", marked, documents, total)


@pytest.mark.parametrize("text", ["one two three four", b"one two three four"])
def test_marks_stand_where_they_are_given(text):
    page = page_of(of(Marked(text, [(4, 7), (8, 13)])))
    assert 'one <mark>two</mark> <mark>three</mark> four</div>' in page
    assert "1,234" in page and "<code>any</code>" in page


def test_hostile_texts_and_names_are_escaped():
    marked = Marked(HOSTILE, [(0, len(HOSTILE))])
    page = page_of(MarkedText(HOSTILE, HOSTILE, marked, (DocumentWithPassage(HOSTILE, HOSTILE, marked),), 1))
    tree = Tree(page)
    assert "<script>alert" not in page and "\u202e" not in page and "\x1b" not in page and "\ud800" not in page
    assert [name for name, _ in tree.elements].count("mark") == 2
    assert not [name for name, given in tree.elements if {"style", "onclick", "src"} & set(given)]


def test_bytes_that_are_not_utf8_are_spelt():
    assert '<mark><span class="nd-code">\\xFF</span></mark>a' in page_of(of(Marked(b"\xffa", [(0, 1)])))


def test_long_texts_are_cut_and_say_so():
    words = "word " * 100_000
    page = page_of(of(Marked(words, [(i, i + 4) for i in range(0, 400_000, 5)])), total=7)
    assert len(page) < 100_000
    assert "passages more …" in page and "characters …" not in page
    assert "The first 1 of 7 are shown." in page
    page = page_of(of(Marked(words, [(200_000, 400_000)])))
    assert page.count("characters …") == 3 and len(page) < 100_000
    assert len(page_of(of(Marked("\u202e" * 10_000, [(0, 9999)])))) < 100_000


def test_other_places_are_counted():
    document = DocumentWithPassage("doc", "file:3", Marked("a b", [(0, 1)]))
    assert "2 more places" in page_of(of(Marked("x", []), (document,), 3))
    assert "more place" not in page_of(of(Marked("x", []), (document,), 1))
    assert "There are none." in page_of(total=0)


def test_an_excerpt_has_what_stands_around_its_passage():
    assert excerpt("a b c", 2, 3) == Marked("a b c", [(2, 3)], 0, 0)
    found = excerpt("x" * 1000 + "here" + "y" * 1000, 1000, 1004)
    assert (found.text, found.marks, found.before, found.after) == ("x" * 160 + "here" + "y" * 160, [(160, 164)], 840, 840)
    found = excerpt("z" * 10_000, 0, 9000)
    assert (len(found.text), found.marks, found.after) == (1500, [(0, 1500)], 8500)


def test_an_excerpt_of_bytes_cuts_no_character():
    text = ("é" * 300).encode() + b"here" + ("é" * 300).encode()
    found = excerpt(text, 600, 604)
    assert found.text.decode() == "é" * 80 + "here" + "é" * 80
    found = excerpt(b"a" + text, 601, 605)
    assert found.text.decode().strip("é") == "here" and found.text[found.marks[0][0] : found.marks[0][1]] == b"here"
    start = excerpt(("é" * 99 + "a" + "é" * 99).encode(), 198, 199)
    assert start.text.decode().count("a") == 1


def test_sources_have_colours_and_pages_without_them_no_style_for_it():
    marked = Marked("one two three", [(0, 3), (4, 7), (8, 13)], sources=[0, None, 4])
    document = DocumentWithPassage("doc", "file:3", Marked("a b", [(0, 1)]), 1)
    page = page_of(of(marked, (document,), 1))
    assert '<mark class="source-0">one</mark> <mark>two</mark> <mark class="source-1">three</mark>' in page
    assert '<div class="standing source-1">' in page and ".source-2 {" in page
    assert ".source-2 {" not in page_of(of(Marked("a", [(0, 1)])))


def test_an_excerpt_has_all_passages_that_it_reaches():
    text = "x" * 500 + "one" + "y" * 100 + "two" + "z" * 5000 + "three"
    part = excerpt_all(text, [(500, 503), (603, 606), (5606, 5611)])
    assert [part.text[start:end] for start, end in part.marks] == ["one", "two"]
    assert part.text == text[part.before : len(text) - part.after]
