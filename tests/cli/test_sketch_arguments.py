"""Options that are for one kind of sketch: each is there, belongs to one kind, and is None until it is given."""

import pytest

from ndcore.cli.parser import parser
from ndcore.cli.sketch import OPTIONS

NAMES = [name for names in OPTIONS.values() for name in names]


def test_every_option_is_for_one_kind():
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("kind", OPTIONS)
def test_options_are_none_until_they_are_given(kind):
    """Expect None: with another default, every other kind would be refused for an option that nobody gave."""
    parsed = vars(parser().parse_args(["sketch", "in", "-o", "out", "--kind", kind]))
    assert parsed["kind"] == kind
    assert {name: parsed[name] for name in NAMES} == dict.fromkeys(NAMES)


@pytest.mark.parametrize(("option", "value", "expected"), [
    ("num_perm", "100", 100), ("threshold", "0.5", 0.5), ("size", "7", 7), ("modulus", "adaptive", "adaptive"),
    ("modulus", "25", 25), ("weights", "distinct", "distinct"), ("learn", "w.ndw", "w.ndw"),
])
def test_options_are_read(option, value, expected):
    parsed = parser().parse_args(["sketch", "in", "-o", "out", f"--{option.replace('_', '-')}", value])
    assert getattr(parsed, option) == expected


@pytest.mark.parametrize(("option", "value"), [
    ("--size", "0"), ("--modulus", "odd"), ("--threshold", "2"), ("--kind", "sim"),
])
def test_what_cannot_be_is_refused(option, value, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["sketch", "in", "-o", "out", option, value])
    assert value in capsys.readouterr().err
