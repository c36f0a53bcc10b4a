"""Reduce words to their stems, as the unit of a `Shingling` (Manku, Jain, Das Sarma 2007, §2). Needs the extra ``stem``."""

from __future__ import annotations

from typing import Any

from ndcore._types import Text
from ndcore.checks import missing
from ndcore.text.shingling import Shingling

__all__ = ["Stems", "stemmed"]


def stemmed(language: str, words: Shingling | None = None) -> Stems:
    """Return a unit whose tokens are the stems of the words of a document, by a Snowball algorithm.

    Parameters
    ----------
    language : str
        The name of a PyStemmer algorithm: "english", "german", "porter" …
    words : Shingling, optional
        The words to stem: a shingling with the unit "word". None means `Shingling()`, canonical words.

    Returns
    -------
    Stems
        A unit, as in ``Shingling(unit=stemmed("english"))``. Its name in recipes holds the language, the version of Snowball
        and the words, so sketches can be saved, and sketches of another version are refused.

    Raises
    ------
    ImportError
        If PyStemmer is not installed.
    ValueError
        If there is no such algorithm, or the unit of `words` is not "word".

    Notes
    -----
    Takes about a microsecond for each word and holds the GIL.
    """
    return Stems(language, Shingling() if words is None else words)


class Stems:
    """A callable that returns the stems of the words of a document. Made by `stemmed`."""

    language: str
    words: Shingling

    def __init__(self, language: str, words: Shingling) -> None:
        try:
            import Stemmer
        except ImportError as error:
            raise ImportError(missing("PyStemmer", "stemming")) from error
        if language not in Stemmer.algorithms():
            raise ValueError(f"there is no stemming algorithm {language!r}; PyStemmer has {', '.join(Stemmer.algorithms())}")
        if not isinstance(words, Shingling) or words.unit != "word":
            raise ValueError(f"words must be a Shingling of the unit 'word', whose tokens can be stemmed, got {words!r}")
        self.language, self.words = language, words
        self._stemmer: Any = Stemmer.Stemmer(language)
        self.__qualname__ = f"stemmed({language!r}, snowball {Stemmer.version()}, words {words.recipe.id})"

    def __call__(self, document: Text) -> list[str]:
        return list(self._stemmer.stemWords(self.words.tokens(document)))

    def __reduce__(self) -> tuple[Any, ...]:
        return stemmed, (self.language, self.words)

    def __repr__(self) -> str:
        return f"stemmed({self.language!r}, {self.words!r})"
