"""Numbers as people read them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from ndcore.human import counted, pasted


@pytest.mark.parametrize(("number", "words"), [(0, "0 documents"), (1, "1 document"), (2000, "2,000 documents")])
def test_counted(number: int, words: str) -> None:
    assert counted(number, "document") == words


def test_other_plurals() -> None:
    assert counted(1, "document has", "documents have") == "1 document has"
    assert counted(3, "document has", "documents have") == "3 documents have"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_pasted_line_has_the_words_and_nothing_that_a_terminal_obeys():
    words = ["plain.txt", "two words", "it's", "\x1b[31mred", "a\nb\\'c", "\x070", "é", "\u202eright", "\udcff", ""]
    line = pasted(["printf", r"%s\0", *words])
    assert line.isprintable()
    assert "plain.txt 'two words'" in line
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [os.fsencode(word) for word in words]
