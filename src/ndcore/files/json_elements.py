"""Split a JSON array, or consecutive JSON objects, into elements without parsing them.

RFC 8259, *The JavaScript Object Notation (JSON) Data Interchange Format*. If the brackets or commas between elements are
wrong, the file is refused from there on. Elements longer than ``source.longest`` are skipped. `json_lines` checks the
elements themselves.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import NoReturn

from ndcore.files.compression import DamagedData
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import open_source
from ndcore.files.sources import Source, TooLong, show_bytes
from ndcore.files.text_encoding import UTF8_MARK

_CHUNK = 1 << 20
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BRACKET = re.compile(rb'[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+[{}\[\]]', re.DOTALL)
_NEXT_FLAT = re.compile(  # a comma between blanks, and an object without inner objects
    rb'([ \t\r\n]*+,[ \t\r\n]*+)(\{[^"{}\[\]]*+(?:' + _STRING + rb'[^"{}\[\]]*+)*+\})', re.DOTALL
)
_MARK = re.compile(rb'["{}\[\]]')  # ends of skipping, outside of strings and inside
_STRING_MARK = re.compile(rb'["\\]')
_SCALAR = re.compile(_STRING + rb"(?=[\s,\]])|[^\s,\]\[{}\"]++(?=[\s,\]])", re.DOTALL)


class Elements:
    """The elements of a file: of its array, or its objects with blanks between them.

    Only the brackets outside of strings are counted: an element need not be valid JSON, and kept elements are written
    unchanged. Linear in the size of the file; memory is bounded by the longest element.

    Attributes
    ----------
    opening : bytes
        The bytes before the first element, once it has been read.
    closing : bytes
        The bytes after the last element, once it has been read; for a damaged array the bracket that ends it.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.opening = self.closing = b""

    def __iter__(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield (number from 1, bytes before the element, the element); the bytes between hold one comma in an array.

        Raises
        ------
        DocumentError
            The file cannot be read, is damaged, or is neither of the two; `number` is the element that could not be read.
        """
        self._number = 0
        with open_source(self._source, lambda: self._number + 1, "elements from this one") as stream:
            buffer = _Buffer(stream, self._fail, self._source.longest)
            before = buffer.take(UTF8_MARK) + buffer.blanks()
            is_array = buffer.peek() == b"["
            if is_array:
                self.opening, self.closing = b"[", b"]\n"
                before += buffer.take(b"[") + buffer.blanks()
            while buffer.peek() and not (is_array and buffer.peek() == b"]"):
                if is_array and self._number:
                    before += buffer.take(b",") or self._fail("there is no comma after the element before it")
                    before += buffer.blanks()
                if not is_array and buffer.peek() != b"{":
                    self._fail("no JSON object begins here")
                element = buffer.value()
                self._number += 1
                self.opening = before if self._number == 1 else self.opening
                yield self._number, before, element
                while is_array and (flat := buffer.flat()):  # most elements, by one match each
                    self._number += 1
                    yield self._number, *flat
                before = buffer.blanks()
            if is_array:
                before += buffer.take(b"]") or self._fail("the file ends before the array does")
                before += buffer.blanks()
                if buffer.peek():
                    self._fail("something follows the end of the array")
            if not self._number:
                self.opening = b""
            self.closing = before

    def _fail(self, reason: str) -> NoReturn:
        """Raise DocumentError for the next element."""
        rest = "the elements from this one on cannot be read"
        raise DocumentError(self._source.path, self._number + 1, f"invalid JSON: {reason}; {rest}")


class _Buffer:
    """The part of a stream that has been read and not yet consumed. `fail` raises."""

    def __init__(self, stream: io.BufferedReader, fail: Callable[[str], NoReturn], longest: int) -> None:
        self._stream, self._fail, self._longest = stream, fail, longest
        self._buffer = bytearray()
        self._error: Exception | None = None
        self._at = 0

    def _fill(self) -> bool:
        """Read about as much as the buffer has, so that examining it repeatedly stays linear."""
        del self._buffer[: self._at]
        self._at = 0
        before = len(self._buffer)
        wanted = min(2 * before, max(before, self._longest)) + _CHUNK
        try:
            while self._error is None and len(self._buffer) < wanted and (more := self._stream.read1(_CHUNK)):
                self._buffer += more
        except (EOFError, DamagedData) as error:  # raised once the bytes before it are consumed
            self._error = error
        if len(self._buffer) == before and self._error is not None:
            raise self._error
        return len(self._buffer) > before

    def _pass(self, end: int) -> bytes:
        """Consume the buffer up to `end`, and return these bytes."""
        passed = bytes(self._buffer[self._at : end])
        self._at = end
        return passed

    def peek(self) -> bytes:
        """Return the next byte, empty at the end."""
        if self._at == len(self._buffer):
            self._fill()
        return bytes(self._buffer[self._at : self._at + 1])

    def take(self, expected: bytes) -> bytes:
        """Skip `expected` and return it; return nothing if other bytes follow."""
        while len(self._buffer) - self._at < len(expected) and self._fill():
            pass
        is_next = self._buffer.startswith(expected, self._at)
        return self._pass(self._at + len(expected)) if is_next else b""

    def blanks(self) -> bytes:
        """Consume white space and return it."""
        passed = b""
        while True:
            match = _BLANKS.match(self._buffer, self._at)
            assert match is not None
            passed += self._pass(match.end())
            if self._at < len(self._buffer) or not self._fill():
                return passed
            if len(passed) > self._longest:
                self._fail(f"more than {show_bytes(self._longest)} of white space")

    def flat(self) -> tuple[bytes, bytes] | None:
        """Consume a comma and an object without inner brackets, and return both, if the buffer holds them."""
        match = _NEXT_FLAT.match(self._buffer, self._at)
        if match is None:
            return None
        self._at = match.end()
        return match[1], self._check_length(match[2])

    def value(self) -> bytes:
        """Consume a value and return it: up to its closing bracket, or up to a comma or bracket.

        A value longer than `longest` is returned as a TooLong.
        """
        nested = self.peek() in (b"{", b"[")
        depth, end = 0, 0
        while True:
            match = (_BRACKET if nested else _SCALAR).match(self._buffer, self._at + end)
            if match is None:
                if len(self._buffer) - self._at > self._longest:
                    if not nested:
                        self._fail(f"the value is longer than {show_bytes(self._longest)} and no object")
                    self._at += end
                    return self._pass_over(depth)
                if not self._fill():
                    what = "the file ends within it" if nested else "there is no value here"
                    self._fail(what)
                continue
            end = match.end() - self._at
            if not nested:
                return self._check_length(self._pass(match.end()))
            depth += 1 if self._buffer[match.end() - 1] in b"{[" else -1
            if depth == 0:
                return self._check_length(self._pass(match.end()))

    def _check_length(self, element: bytes) -> bytes:
        """Return an element, or a TooLong if it is too long."""
        return element if len(element) <= self._longest else TooLong.of("the element", self._longest)

    def _pass_over(self, depth: int) -> bytes:
        """Skip the rest of a value, from a position outside of strings and inside `depth` brackets."""
        inside = False
        while depth:
            match = (_STRING_MARK if inside else _MARK).search(self._buffer, self._at)
            at = len(self._buffer) if match is None else match.start()
            escape = match is not None and match[0] == b"\\"
            if match is None or (escape and at + 1 == len(self._buffer)):
                self._at = at
                if not self._fill():
                    self._fail("the file ends within it")
                continue
            self._at = at + 1 + escape
            if match[0] == b'"':
                inside = not inside
            elif not escape:
                depth += 1 if match[0] in b"{[" else -1
        return TooLong.of("the element", self._longest)
