"""Numbers as people read them."""

from __future__ import annotations

import pytest

from ndcore.human import counted


@pytest.mark.parametrize(("number", "words"), [(0, "0 documents"), (1, "1 document"), (2000, "2,000 documents")])
def test_counted(number: int, words: str) -> None:
    assert counted(number, "document") == words


def test_other_plurals() -> None:
    assert counted(1, "document has", "documents have") == "1 document has"
    assert counted(3, "document has", "documents have") == "3 documents have"
