"""Amounts of a text, numbers with their units, for the key "amounts" (DESIGN.md, section 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge

# The zero digits of Unicode 17, category Nd; the nine code points after each are its other digits.
_POINTS = """
30 660 6F0 7C0 966 9E6 A66 AE6 B66 BE6 C66 CE6 D66 DE6 E50 ED0 F20 1040 1090 17E0 1810 1946 19D0 1A80 1A90 1B50 1BB0
1C40 1C50 A620 A8D0 A900 A9D0 A9F0 AA50 ABF0 FF10 104A0 10D30 10D40 11066 110F0 11136 111D0 112F0 11450 114D0 11650
116C0 116D0 116DA 11730 118E0 11950 11BF0 11C50 11D50 11DA0 11DE0 11F50 16130 16A60 16AC0 16B50 16D70 1CCF0 1D7CE
1D7D8 1D7E2 1D7EC 1D7F6 1E140 1E2F0 1E4F0 1E5F1 1E950 1FBF0
"""
ZEROS = tuple(int(point, 16) for point in _POINTS.split())

_UNITS = """
second seconds sec secs|minute minutes min mins|hour hours hr hrs h|day days|week weeks|month months|year years yr yrs
mm|cm|m meter meters metre metres|km kilometers kilometres|inch inches|ft foot feet|yard yards yd|mile miles mi
mg|g gram grams|kg kilogram kilograms|ton tons tonne tonnes|lb lbs|oz ounce ounces
ml|l liter liters litre litres|gallon gallons
bit bits|byte bytes|kb|mb|gb|tb|kib|mib|gib|tib|hz|khz|mhz|ghz|v volt volts|w watt watts|kw|kwh|px pixel pixels|dpi
% percent pct|‰|° degree degrees|hundred|thousand|million|billion|trillion
$ dollar dollars|usd us$|eur € euro euros|gbp £|jpy ¥ yen|cny yuan rmb|chf|inr ₹ rupee rupees|krw ₩ won|rub ₽|cent cents ¢
"""
UNITS = {word: group.split()[0] for line in _UNITS.split("\n") for group in line.split("|") for word in group.split()}
CURRENCIES = ("usd", "us$", "eur", "gbp", "jpy", "cny", "rmb", "chf", "inr", "krw", "rub", "$", "€", "£", "¥", "₹", "₩", "₽")
_ORDINALS = """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
seventeenth eighteenth nineteenth twentieth
"""
ORDINALS = {word: str(n) for n, word in enumerate(_ORDINALS.split(), 1)}
_SEPARATOR = "[.,'’\u00a0\u202f]"
_DIGIT = "[" + "".join(f"{chr(zero)}-{chr(zero + 9)}" for zero in ZEROS) + "]"
_TO_ASCII = {zero + i: str(i) for zero in ZEROS for i in range(10)}
_NUMBER = re.compile(rf"{_DIGIT}+(?:{_SEPARATOR}{_DIGIT}+)*")
_ORDINAL = re.compile(rf"\b(?:{'|'.join(ORDINALS)})\b", re.IGNORECASE)
_GROUPED = re.compile(rf"{_SEPARATOR}(?=[0-9]{{3}}(?![0-9]))")
_CURRENCY = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, CURRENCIES))})[ \u00a0]?\Z", re.IGNORECASE)
_UNIT = re.compile(rf"[ \u00a0-]?({'|'.join(map(re.escape, sorted(UNITS, key=len, reverse=True)))})(?!\w)", re.IGNORECASE)
_ENDING = re.compile(r"(?:st|nd|rd|th)(?!\w)", re.IGNORECASE)
_STREETS = "street|st|avenue|ave|road|rd|boulevard|blvd|drive|lane|place|square|court|way|parkway|highway"
_STREET = re.compile(rf",?(?: [\w.]+){{0,2}} (?:{_STREETS})(?!\w)", re.IGNORECASE)
_IN_BUILDING = re.compile(
    r"(?:(?:stra(?:ß|ss)e|str\.|gasse|platz|weg|allee)|\b(?:suite|floor|room|apartment|box)) ?#?\Z", re.IGNORECASE)
_FLOOR = re.compile(r"[ \u00a0-]floor(?!\w)", re.IGNORECASE)
_POSTAL = re.compile(r"\b[A-Z]{2} (?:[0-9]{5}(?![0-9])|[0-9]{5}-[0-9]{4}(?![0-9]))")
_STATEMENT = re.compile(r"(?:copyright|©|\(c\))[^\n]{0,20}?(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])[^\n]*", re.IGNORECASE)


def without_statements(text: str) -> str:
    """Replace statements of copyright: the word, © or (c), a year within 20 characters after it, and the rest of the line.

    >>> without_statements("Copyright (c) 2001-2005 Jo Smith\\nAll rights reserved")
    '.\\nAll rights reserved'
    """
    return _STATEMENT.sub(".", text)


def amounts(text: str) -> list[tuple[str, str]]:
    """List the amounts of a text in order, each a number and its unit, which is empty if unknown.

    Numbers are written with ASCII digits and without group separators; decimals that are all zero are omitted.
    Statements of copyright, numbers of houses, floors and rooms, and postal codes are skipped. O(len).

    >>> amounts("1,500 kg for $5.00 within thirty (30) days of the second payment, 5 Elm Street")
    [('1500', 'kg'), ('5', '$'), ('30', ''), ('2', 'th')]
    """
    return list(_amounts(without_statements(text)))


def _amounts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the amounts of a text without statements of copyright."""
    for match in merge(_NUMBER.finditer(text), _ORDINAL.finditer(text), key=re.Match.start):
        start, end = match.span()
        ordinal = ORDINALS.get(match[0].lower())
        if ordinal is not None:
            if not _FLOOR.match(text, end):
                yield ordinal, "th"
            continue
        before = text[max(0, start - 12) : start]
        number = _plain(match[0].translate(_TO_ASCII))
        if ending := _ENDING.match(text, end):
            if not _FLOOR.match(text, ending.end()):
                yield number, "th"
        elif unit := _CURRENCY.search(before) or _UNIT.match(text, end):
            yield number, UNITS[unit[1].lower()]
        elif not (_STREET.match(text, end, end + 60) or _IN_BUILDING.search(before) or _is_postal(text, start)):
            yield number, ""


def _is_postal(text: str, start: int) -> bool:
    """Tell whether the number that begins here is in a postal code of the United States, such as MA 02110-1301."""
    return any(_POSTAL.match(text, max(0, start - back)) for back in (3, 9))


def _plain(digits: str) -> str:
    """Write a number without group separators, and without decimals that are all zero."""
    whole, *rest = re.split(_SEPARATOR, _GROUPED.sub("", digits))
    return whole if len(rest) == 1 and not rest[0].strip("0") else ".".join([whole, *rest])
