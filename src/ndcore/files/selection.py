"""Choose the files of directories that are read, by patterns of names and by whether they are hidden.

Patterns are translated here, not by ``pathspec``: selection belongs to the base installation, whose only dependency is
NumPy, and each pattern must tell whether it matched any file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ndcore.files.errors import UsageError
from ndcore.files.remote import is_remote


class Selection:
    """A choice among the files of directories.

    Parameters
    ----------
    include, exclude : sequences of str
        Patterns (below). With `include` only files that match one of them are read; files that match `exclude` are not.
    hidden : bool
        Also read files and folders whose name begins with a dot.

    Notes
    -----
    Patterns work as in ``.gitignore`` (https://git-scm.com/docs/gitignore), on the path below the directory that was named,
    with ``/`` between names: ``*`` and ``?`` match characters other than ``/``, ``[a-z]`` one of these, ``[!a-z]`` any
    other one, ``**`` any number of folders. A pattern without ``/`` may match at any depth; one with ``/`` matches from the
    beginning. A pattern that matches a folder matches everything in it; one that ends in ``/`` matches only folders. Case
    matters.

    Three forms of ``.gitignore`` are not supported: ``!`` before a pattern and a backslash before a character are plain
    characters, and classes such as ``[[:alpha:]]`` are refused.

    >>> chosen = Selection(include=["*.txt"], exclude=["drafts/"])
    >>> chosen.reads("a/b.txt"), chosen.reads("a/b.md"), chosen.enters("a/drafts")
    (True, False, False)
    """

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = (), hidden: bool = False) -> None:
        self.hidden = hidden
        self._include, self._exclude = _compile_patterns(include, "include"), _compile_patterns(exclude, "exclude")
        self._used: set[str] = set()

    def enters(self, folder: str) -> bool:
        """Tell whether to search a folder."""
        return not self._match(self._exclude, f"{folder}/")

    def reads(self, file: str) -> bool:
        """Tell whether to read a file in a folder that is searched."""
        included = self._match(self._include, file) or not self._include
        return included and not self._match(self._exclude, file)

    def _match(self, patterns: dict[str, re.Pattern[str]], path: str) -> bool:
        """Match a path against patterns, and record which ones matched."""
        if not patterns:
            return False
        matching = [text for text, pattern in patterns.items() if pattern.match(path)]
        self._used.update(matching)
        return bool(matching)

    def checked(self, inputs: Sequence[str]) -> list[str]:
        """Return the patterns of `exclude` that matched nothing; call it after these inputs have been searched.

        Raises UsageError if a pattern of `include` matched nothing, or if no input is a directory.
        """
        if (self._include or self._exclude) and not any(Path(path).is_dir() or is_remote(path) for path in inputs):
            raise UsageError("--include and --exclude choose among the files of directories, and no input is a directory")
        for text in self._include:
            if text not in self._used:
                raise UsageError(f"--include {text} matches no file of {', '.join(inputs)}; patterns work as in "
                                 ".gitignore, on the path below the input")
        return [text for text in self._exclude if text not in self._used]


def _compile_patterns(texts: Sequence[str], option: str) -> dict[str, re.Pattern[str]]:
    """Compile the patterns of an option."""
    if isinstance(texts, str):
        raise TypeError(f"{option} is a list of patterns, got the str {texts!r}")
    for text in texts:
        if not text.strip("/"):
            raise UsageError(f"--{option} {text!r} is not a pattern; examples are *.txt, drafts/ and docs/**/*.md")
    try:
        return {text: re.compile(_translate_pattern(text), re.DOTALL) for text in texts}
    except UsageError as error:
        raise UsageError(f"--{option} {error}") from None


def _translate_pattern(pattern: str) -> str:
    """Translate a pattern to a regular expression for paths whose folders end in ``/``."""
    folder, body = pattern.endswith("/"), pattern.rstrip("/")
    begin = "" if "/" in body else "(?:.*/)?"
    tokens = re.split(r"(\*\*/|/\*\*$|\*|\?|\[[!^]?\]?[^\]]*\])", body.lstrip("/"))
    parts = [begin]
    for token in tokens:
        if token == "**/":
            parts.append("(?:.*/)?")
        elif token == "/**":
            parts.append("/.*")
        elif token == "*":
            parts.append("[^/]*")
        elif token == "?":
            parts.append("[^/]")
        elif len(token) > 2 and token[0] == "[" and token not in ("[!]", "[^]"):
            parts.append(_translate_class(pattern, token))
        else:
            parts.append(re.escape(token))
    return "".join([*parts, "/" if folder else "(?:/|$)"])


def _translate_class(pattern: str, token: str) -> str:
    """Translate a class such as ``[a-z_]`` or ``[!a-z]``. Raises UsageError if a range of it is empty."""
    inner = token[1:-1]
    if re.search(r"\[:\w*:$", inner):
        raise UsageError(f"{pattern!r}: the class {inner}] is not supported; name its characters, as [A-Za-z]")
    negated = inner[0] in "!^"
    parts = []
    for low, high in re.findall(r"(.)(?:-(.))?", inner[negated:], re.DOTALL):
        if high and low > high:
            raise UsageError(f"{pattern!r}: the range {low}-{high} is empty; write {high}-{low}")
        parts.append(re.escape(low) + (f"-{re.escape(high)}" if high else ""))
    members = "".join(parts)
    return f"[^/{members}]" if negated else f"(?!/)[{members}]"
