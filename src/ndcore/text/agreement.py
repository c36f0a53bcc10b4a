"""Keys in which documents must agree before they are compared (DESIGN.md, section 5): numbers, names, negations …"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, permutations
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._signals import stoppable
from ndcore._text import NameChoice, TokenChoice
from ndcore._types import Text
from ndcore.choices import AGREEMENTS
from ndcore.recipe import callable_name
from ndcore.text.amounts import ZEROS, amounts, without_statements
from ndcore.text.inputs import Extracted, digest
from ndcore.text.negations import LANGUAGES
from ndcore.text.shingling import Shingling

ACCEPTED = f"{', '.join(map(repr, AGREEMENTS))}, a function of the text, or a sequence of these"
KEYS = "a key is None, a bool, int, float, str or bytes, or a tuple of these"
SHOWN = 5  # words of a document's key that a message shows
LINES = 256  # lines of a text that are searched for a token at a time

# Characters after which a capital proves nothing, because the next word begins a sentence or something similar.
ENDS = ".!?:;…‼⁇⁈⁉‽¿¡\u037e·։。．！？：；"

Key: TypeAlias = bool | int | float | str | bytes | tuple[bool | int | float | str | bytes | None, ...] | None
Named: TypeAlias = str | Callable[[Any], Key]
MustAgree: TypeAlias = Named | Sequence[Named] | None

_WORDS: Final = Shingling(width=1).shingler
_LISTED = [token.encode() for words in LANGUAGES.values() for token in words.split()]
_CHOICES = {"numbers": TokenChoice([], ZEROS), "negations": TokenChoice(_LISTED, [])}
_PROPER = NameChoice(ENDS)
_LINE = re.compile(r"[^\r\n]+")
_LINE_OF_BYTES = re.compile(rb"[^\r\n]+")


class Agreement:
    """The keys in which documents must agree, as a function from texts to digests: documents agree if digests are equal.

    Objects have no state, so several threads may use one.

    Attributes
    ----------
    names : tuple of str
        Names of the keys, for recipes and reports; a callable by `ndcore.recipe.callable_name`.
    """

    names: tuple[str, ...]

    def __init__(self, rules: Sequence[Named]) -> None:
        self._choices = [_CHOICES[rule] for rule in rules if isinstance(rule, str) and rule in _CHOICES]
        self._readers = [_READERS[rule] if isinstance(rule, str) else partial(_callable_key, rule) for rule in rules
                         if not isinstance(rule, str) or rule in _READERS]
        self.names = tuple(rule if isinstance(rule, str) else callable_name(rule) for rule in rules)

    @classmethod
    def of(cls, must_agree: MustAgree) -> Self | None:
        """Read the parameter `must_agree` of `near_duplicates`; None if nothing must agree.

        Raises
        ------
        TypeError, ValueError
            A value is neither one of AGREEMENTS nor a callable.
        """
        if must_agree is None:
            return None
        if isinstance(must_agree, str) or callable(must_agree):
            must_agree = (must_agree,)
        if not isinstance(must_agree, (list, tuple)):
            raise TypeError(f"must_agree is {must_agree!r:.80} of type {type(must_agree).__name__}; it is {ACCEPTED}")
        for rule in must_agree:
            if not isinstance(rule, str) and not callable(rule):
                raise TypeError(f"must_agree holds {rule!r:.80} of type {type(rule).__name__}; it is {ACCEPTED}")
            if isinstance(rule, str) and rule not in AGREEMENTS:
                raise ValueError(f"must_agree holds {rule!r:.80}; it is {ACCEPTED}")
        return cls([rule for i, rule in enumerate(must_agree) if rule not in must_agree[:i]]) if must_agree else None

    def __repr__(self) -> str:
        return f"Agreement({', '.join(self.names)})"

    def digests(self, texts: Sequence[Text], first: int = 0) -> NDArray[np.uint8]:
        """Digest the keys of each text.

        Parameters
        ----------
        texts : sequence of str, bytes or Extracted
            A callable gets each as it is.
        first : int
            Position of the first text, for messages.

        Returns
        -------
        ndarray of uint8, shape (n, 16)
            BLAKE2b-128 of an encoding of all keys that has one meaning: types differ, so do 1, 1.0 and True, and "1" and
            b"1"; 0.0 and -0.0 are equal.

        Raises
        ------
        TypeError, ValueError
            A callable returned a value of another type, or nan; the message gives the position of the document.
        """
        keys = _WORDS.canonical(Batch(texts), self._choose_words) if self._choices else [[] for _ in texts]
        if self._readers:
            for i, text in enumerate(stoppable(texts)):
                keys[i] += [read(text, first + i) for read in self._readers]
        return np.frombuffer(b"".join([digest(b"".join(map(_frame, own))) for own in keys]), np.uint8).reshape(-1, 16)

    def _choose_words(self, tape: memoryview | bytes) -> list[bytes]:
        """Make the keys that are chosen from the words of a text."""
        return [choice.of(tape) for choice in self._choices]


def describe_difference(name: str, texts: dict[int, Text]) -> str:
    """Say which words of a key only one of two documents has, named by positions; empty if the keys are equal.

    For a callable, only its name is given.

    >>> describe_difference("numbers", {4: "3 kettles", 7: "5 kettles"})
    "numbers (only document 4 has '3', only document 7 has '5')"
    """
    if name not in AGREEMENTS:
        return name
    keys = {i: _list_words(name, text) for i, text in texts.items()}
    clauses = []
    for (i, own), (_, other) in permutations(keys.items(), 2):
        if own == other:
            return ""
        words = [repr(word) for word in Counter(own) - Counter(other)]
        if words:
            more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
            clauses.append(f"only document {i} has {', '.join(words[:SHOWN])}{more}")
    return f"{name} ({', '.join(clauses) or 'in another order'})"


def _list_words(name: str, text: Text) -> list[str]:
    """List the words of a named key; for amounts, each number with its unit."""
    [tape] = [_READERS[name](text, 0)] if name in _READERS else _WORDS.canonical(Batch([text]), _CHOICES[name].of)
    words, at = [], 0
    while at < len(tape):
        start = at + 8
        at = start + int.from_bytes(tape[at:start], "big")
        words.append(tape[start:at].decode("utf-8", "replace"))
    if name == "amounts":
        return [" ".join(filter(None, amount)) for amount in zip(words[::2], words[1::2], strict=True)]
    return words


def _frame(data: bytes) -> bytes:
    """Prefix data with its length, so that following data cannot be taken for a part of it."""
    return len(data).to_bytes(8, "big") + data


def _title_key(text: Text, _: int) -> bytes:
    """Return the tokens of the title of a page, else of the first line with a token, else nothing."""
    if isinstance(text, Extracted) and text.page_title:
        [tape] = _WORDS.canonical(Batch([text.page_title]), bytes)
        if tape:
            return tape
    lines: Iterator[re.Match[Any]] = _LINE.finditer(text) if isinstance(text, str) else _LINE_OF_BYTES.finditer(text)
    most = 1  # the first line nearly always has a token
    while block := [match[0] for match in islice(lines, most)]:
        for tape in _WORDS.canonical(Batch(block), bytes):
            if tape:
                return tape
        most = LINES
    return b""


def _names_key(text: Text, _: int) -> bytes:
    """Encode the names of a text, folded, each once, ascending: each after its length."""
    return b"".join(map(_frame, _PROPER.of(without_statements(_decode(text)).encode("utf-8", "surrogatepass"))))


def _amounts_key(text: Text, _: int) -> bytes:
    """Encode the amounts of a text: each number, then its unit, after their lengths."""
    return b"".join(_frame(part.encode()) for amount in amounts(_decode(text)) for part in amount)


def _decode(text: Text) -> str:
    """Decode bytes as UTF-8; bytes outside well-formed sequences separate words."""
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


# Keys that are not a selection of the words of a text: functions that return words, each after its length.
_READERS = {"amounts": _amounts_key, "title": _title_key, "names": _names_key}


def _callable_key(rule: Callable[[Any], Key], text: Text, position: int) -> bytes:
    """Encode what a callable returns for the text at a position."""
    try:
        key = rule(text)
    except Exception as error:
        error.add_note(f"raised by must_agree={callable_name(rule)} for document {position}")
        raise
    try:
        if isinstance(key, tuple):
            return b"t" + b"".join([_frame(_encode(part)) for part in key])
        return _encode(key)
    except (TypeError, ValueError) as error:
        message = f"must_agree={callable_name(rule)} returned {key!r:.80} for document {position}: {error}"
        raise type(error)(message) from None


def _encode(key: Any) -> bytes:
    """Encode a key that is not a tuple: a letter for its type, then its value."""
    if isinstance(key, np.generic):
        key = key.item()
    if key is None:
        return b"n"
    if isinstance(key, bool):
        return b"T" if key else b"F"
    if isinstance(key, int):
        return b"i%x" % key  # hexadecimal, because decimal digits are limited
    if isinstance(key, float):
        if key != key:
            raise ValueError("nan equals nothing, so no documents would agree; return None for a missing value")
        return b"f" + struct.pack(">d", key + 0.0)  # -0.0 + 0.0 is 0.0
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    raise TypeError(f"{type(key).__name__} is not accepted; {KEYS}")
