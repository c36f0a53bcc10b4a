"""Tokens: which clients may use a server that writes, and for what. The file of tokens has digests only.

A line of the file has a name, the scopes separated by commas, and the SHA-256 of the token in hexadecimal, separated by
blanks; lines that begin with # are comments. A token has 256 random bits, so even a fast hash does not reveal it. Clients
send it as in RFC 6750: in the header Authorization, after "Bearer".
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ndcore._types import AnyPath
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import SCOPES

AGAIN = 1.0  # seconds between checks whether the file has changed
_LINE = re.compile(r"(?P<name>[\w.-]+)\s+(?P<scopes>[\w,]+)\s+(?P<digest>[0-9a-f]{64})", re.ASCII)
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


class Token(NamedTuple):
    """A token of the file: its name, what it allows, and its digest."""

    name: str
    scopes: frozenset[str]
    digest: bytes


def add_token(path: AnyPath, name: str, scopes: Sequence[str]) -> str:
    """Add a new token to a file, and return it: it is not stored. A missing file is made with mode 0600.

    Raises
    ------
    ValueError
        The name is taken or not accepted, or a scope is unknown.
    PermissionError
        Other users may read or write the file.
    """
    place = Path(path)
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name {name!r:.80} is not accepted: 1 to 64 letters, digits, points, underscores and hyphens")
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ValueError(f"the scope {unknown[0] if unknown else ''!r} is not known; scopes are {', '.join(SCOPES)}")
    with contextlib.suppress(FileExistsError):
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if any(token.name == name for token in read_tokens(place)):
        raise ValueError(f"{place} has a token {name} already; choose another name, or delete its line")
    made = secrets.token_urlsafe(32)
    line = f"{name} {','.join(scope for scope in SCOPES if scope in scopes)} {_digest(made).hex()}\n"
    with place.open("r+b") as file:
        content = file.read()
        file.write((b"" if content[-1:] in (b"", b"\n") else b"\n") + line.encode())
        file.flush()
        os.fsync(file.fileno())
    return made


def read_tokens(path: Path) -> list[Token]:
    """Read a file of tokens.

    Raises
    ------
    ValueError
        A line is not a token, or a name is repeated.
    PermissionError
        Other users may read or write the file.
    FileNotFoundError
        The file does not exist.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(1, "must be a file of yours with mode 0600: chmod 600 it", os.fspath(path))
        lines = file.read().decode("utf-8", "replace").splitlines()
    tokens: list[Token] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        scopes = frozenset(match["scopes"].split(",")) if match else frozenset()
        if match is None or scopes - set(SCOPES):
            raise ValueError(f"{path}, line {number}: not a name, scopes of {','.join(SCOPES)} and a digest; make tokens "
                             "with ndcore token")
        if any(token.name == match["name"] for token in tokens):
            raise ValueError(f"{path}, line {number}: the name {match['name']} is there twice")
        tokens.append(Token(match["name"], scopes, bytes.fromhex(match["digest"])))
    return tokens


class TokenFile:
    """The tokens of a file. The file is read again when it changes, so deleting a line revokes its token.

    Raises
    ------
    ValueError, OSError
        As raised by `read_tokens`, or the file has no token. If the file is damaged later, all requests are refused until it
        is mended.
    """

    def __init__(self, path: AnyPath) -> None:
        self._path, self._lock = Path(path), threading.Lock()
        self._tokens, self._known = read_tokens(self._path), self._status()
        self._looked = time.monotonic()
        if not self._tokens:
            raise ValueError(f"{path} has no token; make one with ndcore token {path} NAME --scope write")

    def check(self, authorization: Sequence[str], scope: str) -> str:
        """Return the name of the token of a request. Raises Refused unless the token is known and allows the scope.

        authorization: all headers of this name. The token is compared with every token of the file, in constant time for
        each.
        """
        kind, _, given = (authorization[0] if len(authorization) == 1 else "").partition(" ")
        digest = _digest(given.strip())
        known = [token for token in self._current() if hmac.compare_digest(token.digest, digest)]
        if kind.lower() != "bearer" or not known:
            raise Refused(401, "this needs a token that the server knows, in the header Authorization: Bearer TOKEN; make "
                               "one with ndcore token", {"www-authenticate": 'Bearer realm="ndcore"'})
        if scope not in known[0].scopes:
            raise Refused(403, f"the token {known[0].name} allows {', '.join(sorted(known[0].scopes))}; this needs {scope}",
                          {"www-authenticate": f'Bearer realm="ndcore", error="insufficient_scope", scope="{scope}"'})
        return known[0].name

    def _current(self) -> list[Token]:
        """Return the tokens, after reading a changed file again; no tokens if it cannot be read."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked >= AGAIN:
                self._looked, status = now, self._status()
                if status != self._known:
                    self._known = status
                    try:
                        self._tokens = read_tokens(self._path)
                    except (OSError, ValueError):
                        self._tokens = []
            return self._tokens

    def _status(self) -> tuple[int, ...] | None:
        """Return a status by which a change of the file shows; None if it is gone."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode, status.st_uid


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
