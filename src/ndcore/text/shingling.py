"""Documents to tokens, shingles and fingerprints."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from itertools import islice
from typing import Any, Final, Literal, Self

import numpy as np

from ndcore._batch import Batch
from ndcore._pipeline import Shingler
from ndcore._rabin import is_irreducible, random_irreducible
from ndcore._signals import stoppable
from ndcore._text import UNICODE_VERSION
from ndcore._types import Ints, Text, UInts
from ndcore.checks import is_int
from ndcore.choices import UNITS
from ndcore.parallel import map_pieces, thread_count
from ndcore.recipe import Recipe, callable_name
from ndcore.text.inputs import as_bytes, as_texts, pieces
from ndcore.text.units import TEXT_UNITS, Unit, check_unit, kernel_unit, normal_form

POLYNOMIAL = 0x1FD845EF300CE2D0B  # P, of shingles: random_irreducible(64, 1)
TOKEN_POLYNOMIAL = 0x102FC1EFE0FCCD72D  # Q, of long tokens: random_irreducible(64, 2)
FEATURE_POLYNOMIAL = 0x15F9968BB90FD8193  # R, of features: random_irreducible(64, 3)
SUPER_FEATURE_POLYNOMIAL = 0x1DBEF19FC8E7B845F  # S, of super-features: random_irreducible(64, 4)
_IRREDUCIBLE = frozenset({POLYNOMIAL, TOKEN_POLYNOMIAL})  # no test needed

MAX_WIDTH = 1 << 16
TOKENISED = 256  # documents of given tokens that are fingerprinted together


class Shingling:
    """Parameters that turn a document into shingles: runs of w consecutive tokens, as 64-bit Rabin fingerprints.

    Parameters
    ----------
    unit : "word", "char", "grapheme", "line", "paragraph", "sentence", "byte" or callable
        The kind of token. Words are runs of letters, marks and digits after case folding, in all scripts; characters are
        the code points of the folded text; graphemes are its extended grapheme clusters (UAX #29), which readers perceive
        as characters; lines, paragraphs (whose bounds are blank lines) and sentences (UAX #29) are raw bytes, stripped of
        blanks. A callable gets the document as it is given and returns str or bytes
        tokens; sketches can be saved only if it has a name, as a function of a module.
    width : int
        Tokens per shingle, 1 to 65536.
    labelled : bool
        True is Option A: repeats of a shingle are distinguished by their occurrence number. False is Option B, sets.
    short : "whole", "skip" or "error"
        For a document of fewer tokens than `width`, but at least one: a single shingle of all tokens, no shingle, or
        ValueError.
    normalize : None, "NFKC", "scan" or "words"
        "NFKC" also normalises compatibility characters (units word, char and grapheme). "scan" (char and grapheme) is NFKC
        without white space, invisible characters and the hyphens that divide words at line ends, for scanned pages. "words"
        compares lines, paragraphs and sentences by their words: case, punctuation and blanks are ignored. A line without
        words gives no token.
    polynomial, token_polynomial : int
        Irreducible, of degree 64: P of the fingerprints, and Q of the symbols of tokens longer than 8 bytes.
    stop_words : iterable of str, optional
        Words to leave out (unit "word"), each a single token when canonicalised: "The" leaves out every "the". Shingles and
        digests are computed without them, so texts that differ only in stop words are lexically equivalent, and a text of
        only stop words has no shingles.

    Raises
    ------
    TypeError, ValueError
        A parameter is not accepted.

    Notes
    -----
    Sets of fingerprints have the same resemblance as sets of shingles unless two of n shingles of m bits collide, which has
    probability below n^2·m / 2^64 if the text was written without knowledge of P and Q (Broder 1997, §4.1).

    Adversarial text: fingerprints are linear. With P, an adversary writes different runs of `width` tokens with the same
    fingerprint (for bytes, windows that differ by a multiple of P). With Q, an adversary writes two long words with the same
    symbol, hence different texts of any length with resemblance 1. Both take Gaussian elimination on 64 equations. The
    verdicts "identical" and "lexical" cannot be forged: they come from BLAKE2b.

    Against such text, use `Shingling.random`, whose polynomials are secret, or compare tokens with
    ``near_duplicates(verify="tokens")``. The former keeps forged pairs from becoming candidates; the latter rejects them
    even if the polynomials are known, but needs the texts and more time, and forged runs longer than `max_holders` may hide
    pairs that are alike. Recipes, fingerprints and sketches must be as
    secret as the polynomials: a few fingerprints of known texts reveal them, and sketches may.

    References
    ----------
    Broder, "On the resemblance and containment of documents", 1997, §2 and §4. DOI 10.1109/SEQUEN.1997.666900.
    Rabin, "Fingerprinting by random polynomials", 1981.

    >>> sh = Shingling(width=2)
    >>> sh.tokens("A rose is a rose.")
    ['a', 'rose', 'is', 'a', 'rose']
    >>> len(set(sh.fingerprints("A rose is a rose.").tolist()))
    3
    """

    width: int
    stop_words: tuple[str, ...]

    def __init__(
        self,
        unit: Unit = "word",
        width: int = 5,
        labelled: bool = False,
        short: Literal["whole", "skip", "error"] = "whole",
        normalize: Literal["NFKC", "scan", "words"] | None = None,
        polynomial: int = POLYNOMIAL,
        token_polynomial: int = TOKEN_POLYNOMIAL,
        stop_words: Iterable[str] | None = None,
    ) -> None:
        self.unit: Unit = unit
        self.width = width
        self.labelled = labelled
        self.short = short
        self.normalize = normalize
        self.polynomial = polynomial
        self.token_polynomial = token_polynomial
        self._check()
        self.stop_words = () if stop_words is None else self._canonical(stop_words)

    @cached_property
    def recipe(self) -> Recipe:
        """The parameters; made at the first access."""
        return Recipe(self._parameters())

    @cached_property
    def shingler(self) -> Shingler:
        """The tables of the extension; made at the first access."""
        return Shingler(
            kernel_unit(self.unit, self.normalize), self.width, self.short == "whole", self.labelled, self.polynomial,
            self.token_polynomial, normal_form(self.unit, self.normalize), _tape(self.stop_words),
            self.short == "error",
        )

    def _check(self) -> None:
        """Check all parameters but the stop words."""
        check_unit(self.unit, self.normalize)
        if not is_int(self.width):
            raise TypeError(f"width is a number of tokens, an int; got {self.width!r}")
        self.width = int(self.width)
        if not 1 <= self.width <= MAX_WIDTH:
            raise ValueError(f"width must be 1 to {MAX_WIDTH} tokens, got {self.width}")
        if not isinstance(self.labelled, bool):
            raise TypeError(f"labelled is True (Option A) or False (Option B), got {self.labelled!r}")
        if self.short not in ("whole", "skip", "error"):
            raise ValueError(f"short must be 'whole', 'skip' or 'error', got {self.short!r}")
        _check_polynomial("polynomial", self.polynomial)
        _check_polynomial("token_polynomial", self.token_polynomial)
        if self.polynomial in (self.token_polynomial, FEATURE_POLYNOMIAL):
            raise ValueError(f"polynomial {self.polynomial:#x} is used for tokens or for features; shingles need another")
        if self.token_polynomial == FEATURE_POLYNOMIAL:
            raise ValueError(f"token_polynomial {self.token_polynomial:#x} is used for features; tokens need another")

    def _canonical(self, stop_words: Iterable[str]) -> tuple[str, ...]:
        """Canonicalise stop words; ascending."""
        if isinstance(stop_words, (str, bytes)):
            raise TypeError(f"stop_words is one {type(stop_words).__name__}; give a list of words, [word] for a single one")
        listed = list(stop_words)
        if not listed:
            return ()
        if self.unit != "word":
            raise ValueError(f"stop_words are for the unit word, not for {_unit_name(self.unit)!r}")
        plain, tokens = Shingling(width=1, normalize=self.normalize), set()
        for word in listed:
            if not isinstance(word, str):
                raise TypeError(f"stop_words holds {word!r} of type {type(word).__name__}; words are str")
            word_tokens = plain.tokens(word)
            tokens.update(word_tokens)
            if len(word_tokens) != 1:
                raise ValueError(f"stop word {word!r} is not one word but {len(word_tokens)}{': ' if word_tokens else ''}"
                                 f"{', '.join(map(repr, word_tokens))}; leave it out, or give its words one by one")
        return tuple(sorted(tokens))

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of the recipe."""
        parameters = {
            "kind": "shingling",
            "version": 1,
            "unit": _unit_name(self.unit),
            "width": self.width,
            "labelled": self.labelled,
            "short": self.short,
            "normalize": self.normalize,
            "polynomial": self.polynomial,
            "token_polynomial": self.token_polynomial,
            "unicode": UNICODE_VERSION,
        }
        if self.stop_words:  # otherwise absent, as in recipes of versions without stop words
            parameters["stop_words"] = dict.fromkeys(self.stop_words, True)
        return parameters

    @classmethod
    def random(cls, seed: int | None = None, **parameters: Any) -> Self:
        """Make a shingling with its own secret polynomials, for adversarial text.

        Parameters
        ----------
        seed : int, optional
            0 to 2^64 − 1; a seed always gives the same polynomials. None: 64 random bits of the operating system for P
            and for Q each. Recipes of sketches include the polynomials, and `from_recipe` restores them.
        **parameters
            Parameters of `Shingling`, except the polynomials.

        Returns
        -------
        Shingling

        Raises
        ------
        TypeError, ValueError
            The seed or a parameter is not accepted.

        Notes
        -----
        P and Q are random_irreducible(64, …) of the first and the last eight of 16 bytes, read as u64 big-endian: random
        bytes, or BLAKE2b-128 of the seed as u64 big-endian. Draw the seed of a sketcher likewise:
        ``MinHasher(seed=secrets.randbits(64), shingling=Shingling.random())``.

        >>> Shingling.random(width=3) == Shingling.random(width=3)
        False
        >>> Shingling.random(7) == Shingling.random(7)
        True
        """
        if seed is None:
            secret = secrets.token_bytes(16)
        elif not is_int(seed) or not 0 <= seed < 1 << 64:
            raise ValueError(f"seed must be an int of 0 to 2^64 - 1, or None for a random one; got {seed!r}")
        else:
            secret = hashlib.blake2b(int(seed).to_bytes(8, "big"), digest_size=16).digest()
        p, q = (random_irreducible(64, int.from_bytes(half, "big")) for half in (secret[:8], secret[8:]))
        return cls(**parameters, polynomial=p, token_polynomial=q)

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> Shingling:
        """Restore the shingling of a recipe. Raises ValueError for a callable, another version, or a recipe not of texts."""
        parameters = recipe.parameters
        if parameters.get("kind") != "shingling":
            raise ValueError(f"these are sketches of a {parameters.get('kind')}, not of texts: "
                             "nd.cluster(sketches, method='features') and nd.Collection.build take them")
        if parameters.get("unit") not in UNITS:
            raise ValueError(f"unit {parameters.get('unit')} is a function: pass shingling=Shingling(unit=that function, …)")
        names = ("unit", "width", "labelled", "short", "normalize", "polynomial", "token_polynomial")
        try:
            shingling = cls(**{name: parameters[name] for name in names}, stop_words=tuple(parameters.get("stop_words", ())))
        except (KeyError, TypeError) as error:
            raise ValueError(f"the recipe does not describe a shingling: {error}") from error
        recipe.check(shingling.recipe, "shinglings")
        return shingling

    def __eq__(self, other: object) -> bool:
        return self.recipe == other.recipe if isinstance(other, Shingling) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.recipe)

    def __repr__(self) -> str:
        return (
            f"Shingling(unit={_unit_name(self.unit)!r}, width={self.width}, labelled={self.labelled}, "
            f"short={self.short!r}, normalize={self.normalize!r}, polynomial={self.polynomial:#x}, "
            f"token_polynomial={self.token_polynomial:#x}"
            + (f", stop_words={self.stop_words})" if self.stop_words else ")")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Shingling, (
            self.unit, self.width, self.labelled, self.short, self.normalize, self.polynomial, self.token_polynomial,
            self.stop_words,
        )

    def tokens(self, text: Text) -> list[Any]:
        """Return the canonical tokens of a document. O(len).

        They are str for words, characters and graphemes, and with normalize="words", else bytes.
        """
        return self.shingler.tokens(self.batch(as_texts([text])), self.unit in TEXT_UNITS or self.normalize == "words")

    def shingles(self, text: Text) -> list[tuple[Any, ...]]:
        """List the shingles in order, with repeats: tuples of tokens; labelled ones end with their occurrence number."""
        tokens = self.tokens(text)
        if 0 < len(tokens) < self.width:
            if self.short == "error":
                self.fingerprints(text)  # raises ValueError
            runs = [tuple(tokens)] if self.short == "whole" else []
        else:
            runs = [tuple(tokens[i : i + self.width]) for i in range(len(tokens) - self.width + 1)]
        if not self.labelled:
            return runs
        seen: Counter[tuple[Any, ...]] = Counter()
        labelled = []
        for run in runs:
            seen[run] += 1
            labelled.append((*run, seen[run]))
        return labelled

    def fingerprints(self, text: Text) -> UInts:
        """Compute the fingerprints of the shingles in order, with repeats: uint64 (shingles,), stable in a major version."""
        return self.shingler.fingerprints(self.batch(as_texts([text])))[0]

    def overlap(self, a: Text, b: Text) -> tuple[int, int, int]:
        """Count distinct fingerprints of two texts: in both, in a, in b."""
        return self.shingler.overlap(self.batch(as_texts([a, b])))

    def fingerprints_many(self, texts: Iterable[Text], threads: int | None = None) -> tuple[UInts, Ints]:
        """Compute the fingerprints of many documents.

        Parameters
        ----------
        texts : iterable of str or bytes, NumPy array of them, or a column (Arrow)
        threads : int, optional
            None: one per CPU. The result does not depend on it.

        Returns
        -------
        values : ndarray of uint64
        offsets : ndarray of int64, shape (n + 1,)
            Document i has values[offsets[i] : offsets[i + 1]], in order and with repeats.

        Raises
        ------
        TypeError
            An element is neither str nor bytes.
        ValueError
            With short="error", a document is too short; the message gives its position.
        """
        done = list(map_pieces(self._piece_fingerprints, pieces(as_texts(texts), threads=thread_count(threads)), threads))
        return joined_samples(done)

    def token_fingerprints(self, documents: Iterable[Iterable[Text]]) -> tuple[UInts, Ints]:
        """Compute the fingerprints of documents that are tokens already, of a tokeniser of your own.

        Parameters
        ----------
        documents : iterable of iterables of str or bytes
            The tokens of each document, in order; a str stands for its UTF-8. They are shingled as they are, by `width`,
            `labelled` and `short`: the unit, `normalize` and the stop words count for nothing. A set is accepted with
            width=1 only, because it has no order.

        Returns
        -------
        values : ndarray of uint64
        offsets : ndarray of int64, shape (n + 1,)
            As of `fingerprints_many`.

        Raises
        ------
        TypeError
            A document is a str or bytes and not its tokens, or a token is neither.
        ValueError
            A set with a width above 1; with short="error", a document that is too short.

        Notes
        -----
        O(length), on one thread.

        >>> sh = Shingling(width=2)
        >>> values, offsets = sh.token_fingerprints([["a", "rose", "is", "a", "rose"]])
        >>> values.tolist() == sh.fingerprints("A rose is a rose.").tolist()
        True
        """
        shingler = Shingler("tokens", self.width, self.short == "whole", self.labelled, self.polynomial,
                            self.token_polynomial, None, b"", self.short == "error")
        coming, first, done = enumerate(documents), 0, []
        while piece := [self._token_tape(i, document) for i, document in islice(stoppable(coming), TOKENISED)]:
            done.append(shingler.fingerprints(shingler.batch(piece), first)[:2])
            first += len(piece)
        return joined_samples(done)

    def _token_tape(self, position: int, document: Iterable[Text]) -> bytes:
        """Join the tokens of a document as the extension reads them."""
        kind = type(document).__name__
        if isinstance(document, (str, bytes)) or not isinstance(document, Iterable):
            raise TypeError(f"document {position} is {document!r:.80} of type {kind}, and not its tokens; for texts use "
                            "sketch_many or fingerprints_many")
        if isinstance(document, Set) and self.width > 1:
            raise ValueError(f"document {position} is a {kind}, which has no order, and shingles are runs of {self.width} "
                             "tokens: give lists, or use Shingling(width=1)")
        return _tape(document, f"document {position} has the token")

    def _piece_fingerprints(self, piece: tuple[int, Sequence[Text]]) -> tuple[UInts, Ints]:
        """Compute the concatenated fingerprints of a piece (position of the first document, texts), and their offsets."""
        first, texts = piece
        return self.shingler.fingerprints(self.batch(texts), first)[:2]

    def batch(self, texts: Sequence[Text]) -> Batch:
        """Prepare documents for the extension; apply a callable unit."""
        if callable(self.unit):
            return self.shingler.batch([_tape(self.unit(text)) for text in stoppable(texts)])
        return self.shingler.batch(texts)

    @property
    def reads_bytes(self) -> bool:
        """Whether `batch` holds the bytes of the documents as they are given."""
        return not callable(self.unit) and normal_form(self.unit, self.normalize) is None


def joined_samples(parts: Sequence[tuple[UInts, Ints]]) -> tuple[UInts, Ints]:
    """Concatenate values of consecutive documents, and their offsets; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.zeros(1 + sum(len(ends) - 1 for _, ends in parts), np.int64)
    if parts:
        np.cumsum(np.concatenate([np.diff(ends) for _, ends in parts]), out=offsets[1:])
    return np.concatenate([np.empty(0, np.uint64), *(values for values, _ in parts)]), offsets


def checked_shingling(shingling: Shingling | None) -> Shingling | None:
    """Return the argument. Raises TypeError if it is neither a Shingling nor None."""
    if shingling is not None and not isinstance(shingling, Shingling):
        raise TypeError(f"shingling must be a Shingling or None, got {shingling!r:.80}")
    return shingling


def given_shingling(shingling: Shingling | None) -> Shingling:
    """Return the argument, or the same `Shingling()` for each None. Raises TypeError for anything else."""
    return checked_shingling(shingling) or _WORDS


def _check_polynomial(name: str, polynomial: int) -> None:
    """Check that a polynomial is irreducible of degree 64."""
    if isinstance(polynomial, bool) or not isinstance(polynomial, int):
        raise TypeError(f"{name} is an int, bit i the coefficient of x^i; got {polynomial!r}")
    if polynomial not in _IRREDUCIBLE and (polynomial.bit_length() != 65 or not is_irreducible(polynomial)):
        raise ValueError(f"{name} {polynomial:#x} is not irreducible of degree 64; random_irreducible(64, seed) makes one")


def _unit_name(unit: Unit) -> str:
    """Return the name of a unit, for recipes."""
    return unit if isinstance(unit, str) else callable_name(unit)


def _tape(tokens: Iterable[Text], source: str = "the unit's callable returned") -> bytes:
    """Concatenate tokens, each after its length as u64 big-endian. Raises TypeError, which begins with `source`."""
    parts = []
    for token in tokens:
        if not isinstance(token, (str, bytes)):
            raise TypeError(f"{source} {token!r:.40} of type {type(token).__name__}; tokens are str or bytes")
        data = as_bytes(token)
        parts.append(len(data).to_bytes(8, "big") + data)
    return b"".join(parts)


_WORDS: Final = Shingling()
