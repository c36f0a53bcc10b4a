"""Settings of `near_duplicates`, by name or in a file: TOML with a schema, no callables, no paths."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ndcore._types import AnyPath
from ndcore.checks import check_choice, is_int, is_number
from ndcore.choices import AGREEMENTS, NORMALIZED, SETTINGS, UNITS
from ndcore.dedup.rules import CALLERS, Rules
from ndcore.text.agreement import Agreement
from ndcore.text.shingling import Shingling

VERSION = 1
LARGEST = 1 << 20  # bytes of a file of settings
ENOUGH_ANSWERS = 30  # answers of people from which on settings are good: see docs/judge.md
OPTIONS: dict[str, tuple[type, ...]] = {
    "threshold": (int, float), "drop": (str,), "must_agree": (list,), "drop_common": (int, float), "shingling": (dict,),
    "min_shingles": (int,), "max_lost": (int,), "cluster": (str,), "filter": (str,),
}
SHINGLING: dict[str, tuple[type, ...]] = {"unit": (str,), "width": (int,), "normalize": (str,)}


def load_settings(path: AnyPath, caller: str = "near_duplicates") -> dict[str, Any]:
    """Read settings, such as a session of `ndcore.judge` writes, as options of `near_duplicates`.

    Parameters
    ----------
    path : path, or "noisy"
        A TOML file with the table ``[near_duplicates]``. Other tables are for human readers. "noisy" denotes settings for
        text with wrong letters, such as scanned pages: characters in runs of 5 with normalize="scan", the complete filter,
        threshold 0.3. A file of that name is "./noisy".
    caller : str
        The function that gets the options: "near_duplicates", or one of the names in `ndcore.dedup.rules.CALLERS`, such as
        "store" or "spark.near_duplicates".

    Returns
    -------
    dict
        The options, for ``near_duplicates(texts, **load_settings(path))``.

    Raises
    ------
    ValueError
        The file is not a file of settings, an option or a value is not accepted, or the caller does not have the option;
        the message names it and the reason.
    OSError
        The file cannot be read.
    """
    if caller != "near_duplicates":
        check_choice("caller", caller, ("near_duplicates", *CALLERS))
    name = os.fspath(path)
    document = SETTINGS.get(name)
    data = b"" if document is not None else _read(path)
    try:
        if len(data) > LARGEST:
            raise ValueError(f"it has more than {LARGEST:,} bytes")
        options = _options(tomllib.loads(data.decode("utf-8")) if document is None else document)
        _refuse_options(options, caller)
    except (TypeError, ValueError, RecursionError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueError
        raise ValueError(f"{name}: {error}") from error
    return options


def settings_beside(path: AnyPath, given: Mapping[str, str], caller: str = "near_duplicates") -> dict[str, Any]:
    """Read settings for a command line: the shingling as unit, width and, if the settings have one, normalize.

    Parameters
    ----------
    path, caller
        As for `load_settings`.
    given : mapping
        Options that were given in addition to the settings: parameter of `near_duplicates` or of `Shingling` -> its name
        there.

    Raises
    ------
    ValueError
        The settings are not accepted, or repeat a given option.
    OSError
        The file cannot be read.
    """
    try:
        options = load_settings(path, caller)
    except ValueError as error:
        raise ValueError(f"--settings {error}") from error
    options = _flatten({"shingling": Shingling(), **options})
    if "must_agree" in options:
        options["must_agree"] = list(options["must_agree"])
    for name in options:
        if name in given:
            raise ValueError(f"{given[name]} and --settings {os.fspath(path)} both say it; leave one out")
    return options


def count_answers(path: AnyPath) -> int | None:
    """Return the number of answers of people from which settings were chosen; None if a sound file does not say it."""
    judged = {} if os.fspath(path) in SETTINGS else tomllib.loads(_read(path).decode("utf-8")).get("judged")
    answers = judged.get("answers") if isinstance(judged, dict) else None
    return answers if is_int(answers) else None


def _read(path: AnyPath) -> bytes:
    """Read a file of settings, at most one byte more than allowed."""
    with Path(path).open("rb") as file:
        return file.read(LARGEST + 1)


def _options(document: Mapping[str, Any]) -> dict[str, Any]:
    """Check a document, and return its options."""
    if document.get("format") != "ndcore settings":
        raise ValueError('this is not a file of settings: it does not begin with format = "ndcore settings"')
    if document.get("version") != VERSION:
        raise ValueError(f"these are settings of version {document.get('version')!r:.20}; this ndcore reads {VERSION}")
    given = _table("near_duplicates", document.get("near_duplicates"), OPTIONS)
    if "threshold" not in given:
        raise ValueError("the option threshold is missing")
    if "shingling" in given:
        shingling = _table("near_duplicates.shingling", given["shingling"], SHINGLING)
        check_choice("unit", shingling.get("unit", "word"), UNITS)
        if "normalize" in shingling:
            check_choice("normalize", shingling["normalize"], tuple(NORMALIZED))
        given["shingling"] = Shingling(**shingling)
    if "must_agree" in given:
        for key in given["must_agree"]:
            check_choice("must_agree", key, AGREEMENTS)
        given["must_agree"] = tuple(given["must_agree"])
    rules = {option: value for option, value in given.items() if option not in ("shingling", "must_agree", "filter")}
    Rules.of(Agreement.of(given.get("must_agree")), given.get("filter", "auto"), **rules)
    return given


def _table(name: str, table: Any, accepted: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """Check the options of a table, and their types."""
    if not isinstance(table, dict):
        raise ValueError(f"there is no table [{name}]")
    for option, value in table.items():
        if option not in accepted:
            raise ValueError(f"[{name}] has no option {option!r:.80}; accepted: {', '.join(accepted)}")
        if type(value) not in accepted[option]:  # not isinstance: True is not an int here
            raise ValueError(f"{option} is {value!r:.80} of the type {type(value).__name__}; it is of the type "
                             f"{' or '.join(each.__name__ for each in accepted[option])}")
    return dict(table)


def _refuse_options(options: Mapping[str, Any], caller: str) -> None:
    """Raise ValueError if a caller does not have one of these options of `near_duplicates`; say how to give the others."""
    refusals = {name.removeprefix("--").replace("-", "_"): reason for name, reason in CALLERS.get(caller, {}).items()}
    refused = {option: reason for option, value in options.items()
               if (reason := refusals.get(option, refusals.get(f"{option}={value!r}")))}
    if refused:
        rest = _flatten({option: value for option, value in options.items() if option not in refused})
        said = "; ".join(f"{caller} does not have the option {option}={options[option]!r:.80}: {reason}"
                         for option, reason in refused.items())
        raise ValueError(f"{said}. Without these settings you can give the others one by one: "
                         f"{', '.join(f'{option}={value!r}' for option, value in rest.items())}")


def _flatten(options: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten options for a command: the shingling, if there is one, becomes unit, width and perhaps normalize."""
    flat = dict(options)
    shingling = flat.pop("shingling", None)
    if shingling is not None:
        flat |= {"unit": shingling.unit, "width": shingling.width}
        if shingling.normalize is not None:
            flat["normalize"] = shingling.normalize
    return flat


def write_settings(options: Mapping[str, Any], notes: Mapping[str, Any] | None = None) -> str:
    """Write options of `near_duplicates` as the text of a file of settings, with notes for readers in ``[judged]``."""
    lines = ['format = "ndcore settings"', f"version = {VERSION}", "", "[near_duplicates]"]
    lines += [f"{name} = {_value(value)}" for name, value in options.items() if name != "shingling"]
    if "shingling" in options:
        shingling: Shingling = options["shingling"]
        lines += ["", "[near_duplicates.shingling]", f"unit = {_value(shingling.unit)}", f"width = {shingling.width}"]
        if shingling.normalize is not None:
            lines.append(f"normalize = {_value(shingling.normalize)}")
    if notes:
        lines += ["", "[judged]", *(f"{name} = {_value(value)}" for name, value in notes.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """Write a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if not isinstance(value, str):
        raise TypeError(f"settings hold names, numbers and lists of them, got {value!r:.80}")
    spelt = "".join(f"\\u{ord(c):04X}" if c in '"\\' or ord(c) < 32 or ord(c) == 127 else c for c in value)
    return f'"{spelt}"'
