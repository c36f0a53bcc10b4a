"""The words of negation: each is one token, the page lists them, and they keep texts apart."""

import re
from pathlib import Path

import pytest

from ndcore.text.agreement import Agreement
from ndcore.text.negations import LANGUAGES
from ndcore.text.shingling import Shingling


def agree(must_agree, *texts):
    return len({row.tobytes() for row in Agreement.of(must_agree).digests(texts)}) == 1


def test_negations_are_the_sequence_of_tokens_in_the_list():
    assert not agree("negations", "It is allowed", "It is not allowed")
    assert not agree("negations", "I do", "I don't")
    assert agree("negations", "I don't", "I don’t", "you can't", "T")
    assert not agree("negations", "not never", "never not")
    assert not agree("negations", "C'est permis", "Ce n'est pas permis")
    assert agree("negations", "A nothing B", "NOTHING")
    assert agree("negations", "nothingness", "anything", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_word_of_a_list_is_one_token(language):
    words = LANGUAGES[language].split()
    assert len(set(words)) == len(words)
    assert [Shingling().tokens(word) for word in words] == [[word] for word in words]
    assert all(not agree("negations", "x", f"x {word}") for word in words)


def test_the_page_lists_the_words():
    page = (Path(__file__).parents[2] / "docs" / "must-agree.md").read_text("utf-8")
    table = page.partition("| language | words |")[2]
    listed = dict(re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE))
    assert listed == {language: " ".join(words.split()) for language, words in LANGUAGES.items()}
    assert f"list for {len(LANGUAGES)} languages" in (Path(__file__).parents[2] / "DESIGN.md").read_text("utf-8")


@pytest.mark.parametrize(("plain", "negated"), [
    ("Das ist erlaubt", "Das ist nicht erlaubt"), ("Está permitido", "No está permitido"),
    ("É permitido", "Não é permitido"), ("È permesso", "Non è permesso"), ("Het mag", "Het mag niet"),
    ("Det är tillåtet", "Det är inte tillåtet"), ("Det er tilladt", "Det er ikke tilladt"),
    ("To jest dozwolone", "To nie jest dozwolone"), ("Je to dovoleno", "Není to dovoleno"),
    ("Это разрешено", "Это НЕ разрешено"), ("Це дозволено", "Це не дозволено"), ("Var", "Yok"),
    ("هذا مسموح", "هذا غير مسموح"), ("यह सही है", "यह सही नहीं है"), ("我是学生", "我不是学生"),
])
def test_negations_of_other_languages(plain, negated):
    assert not agree("negations", plain, negated)
