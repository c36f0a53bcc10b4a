"""Words reduced to their stems, as the unit of a `Shingling` (Manku, Jain, Das Sarma 2007, §2). Needs the extra ``stem``."""

from __future__ import annotations

from typing import Any

from ndcore._types import Text
from ndcore.text.shingling import Shingling

__all__ = ["Stems", "stemmed"]


def stemmed(language: str, words: Shingling | None = None) -> Stems:
    """A unit whose tokens are the stems of a document's words, by an algorithm of Snowball.

    Parameters
    ----------
    language : str
        The name of an algorithm of PyStemmer: "english", "german", "porter" …
    words : Shingling, optional
        Its tokens, of the unit "word", are what is stemmed. None: `Shingling()`, canonical words.

    Returns
    -------
    Stems
        For ``Shingling(unit=stemmed("english"))``. Its name in recipes tells the language, the version of Snowball and the
        words, so sketches by it can be saved, and those of another version are refused.

    Raises
    ------
    ImportError
        PyStemmer is not installed.
    ValueError
        There is no such algorithm, or the tokens of `words` are no words.

    Notes
    -----
    About a microsecond for every word, under the GIL.
    """
    return Stems(language, Shingling() if words is None else words)


class Stems:
    """What `stemmed` gives: a callable of a document that returns the stems of its words."""

    def __init__(self, language: str, words: Shingling) -> None:
        try:
            import Stemmer
        except ImportError as error:
            raise ImportError("stemming needs PyStemmer: pip install 'ndcore[stem]'") from error
        if language not in Stemmer.algorithms():
            raise ValueError(f"no stemming algorithm is called {language!r}; there are {', '.join(Stemmer.algorithms())}")
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
