"""Tokens: their file has digests, mode 0600 and one line each; who may do what."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest
from clocks import clock_with

from ndcore.serve import tokens as module
from ndcore.serve.refusal import Refused
from ndcore.serve.tokens import TokenFile, add_token, read_tokens


def test_a_new_file_is_private_and_has_digests_only(tmp_path: Path) -> None:
    os.umask(os.umask(0))
    place = tmp_path / "tokens"
    token = add_token(place, "crawler-1", ["write", "read"])
    assert stat.S_IMODE(place.stat().st_mode) == 0o600 and len(token) >= 43
    assert place.read_text() == f"crawler-1 read,write {hashlib.sha256(token.encode()).hexdigest()}\n"
    other = add_token(place, "crawler-2", ["admin"])
    assert token != other and [each.name for each in read_tokens(place)] == ["crawler-1", "crawler-2"]


@pytest.mark.parametrize(("name", "scopes"), [("a b", ["read"]), ("", ["read"]), ("é", ["read"]), ("a", []), ("a", ["root"]),
                                             ("a\n", ["read"]), ("x" * 65, ["read"])])  # fmt: skip
def test_names_and_scopes_that_are_refused(tmp_path: Path, name: str, scopes: list[str]) -> None:
    with pytest.raises(ValueError, match=r"name|scope"):
        add_token(tmp_path / "tokens", name, scopes)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    add_token(tmp_path / "tokens", "a", ["read"])
    with pytest.raises(ValueError, match="has a token a already"):
        add_token(tmp_path / "tokens", "a", ["write"])


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    place = tmp_path / "tokens"
    add_token(place, "a", ["read"])
    place.chmod(mode)
    for call in (lambda: TokenFile(place), lambda: add_token(place, "b", ["read"])):
        with pytest.raises(PermissionError, match="0600"):
            call()


@pytest.mark.parametrize("line", ["a read", "a read 12", "a read,root " + "0" * 64, "a read " + "g" * 64, "\xff\xfe"])
def test_lines_that_are_refused(tmp_path: Path, line: str) -> None:
    place = tmp_path / "tokens"
    add_token(place, "b", ["read"])
    place.write_text("# a remark\n\n" + place.read_text() + line + "\n")
    with pytest.raises(ValueError, match="line 4"):
        TokenFile(place)


def test_a_file_without_tokens_and_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tokens").touch(0o600)
    with pytest.raises(ValueError, match="ndcore token"):
        TokenFile(tmp_path / "tokens")
    with pytest.raises(FileNotFoundError):
        TokenFile(tmp_path / "none")


def test_who_may_do_what(tmp_path: Path) -> None:
    place = tmp_path / "tokens"
    read, write = add_token(place, "reader", ["read"]), add_token(place, "writer", ["write"])
    tokens = TokenFile(place)
    assert tokens.check([f"Bearer {read}"], "read") == "reader" and tokens.check([f"bearer  {write}"], "write") == "writer"
    for given in ([], ["Bearer "], ["Bearer"], [f"Basic {read}"], [read], [f"Bearer {read}x"], [f"Bearer {read}"] * 2,
                  ["Bearer \udcff"]):  # fmt: skip
        with pytest.raises(Refused) as refused:
            tokens.check(given, "read")
        assert refused.value.status == 401 and refused.value.headers["www-authenticate"].startswith("Bearer")
        assert read not in str(refused.value)
    with pytest.raises(Refused, match="reader allows read; this needs admin") as refused:
        tokens.check([f"Bearer {read}"], "admin")
    assert refused.value.status == 403


def test_a_token_whose_line_is_deleted_ends_and_a_new_one_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tokens"
    old, clock = add_token(place, "old", ["read"]), [0.0]
    monkeypatch.setattr(module, "time", clock_with(monotonic=lambda: clock[0]))
    tokens = TokenFile(place)
    new = add_token(place, "new", ["read"])
    place.write_text(place.read_text().splitlines(keepends=True)[1])
    clock[0] += module.AGAIN
    assert tokens.check([f"Bearer {new}"], "read") == "new"
    with pytest.raises(Refused):
        tokens.check([f"Bearer {old}"], "read")
    place.chmod(0o644)  # then it allows nobody
    clock[0] += module.AGAIN
    with pytest.raises(Refused):
        tokens.check([f"Bearer {new}"], "read")
    place.chmod(0o600)
    clock[0] += module.AGAIN
    assert tokens.check([f"Bearer {new}"], "read") == "new"
    place.unlink()
    clock[0] += module.AGAIN
    with pytest.raises(Refused):
        tokens.check([f"Bearer {new}"], "read")
