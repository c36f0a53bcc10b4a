"""Amounts: numbers with their units."""

import pytest

from ndcore.text.amounts import amounts, without_statements


@pytest.mark.parametrize(("text", "expected"), [
    ("", []), ("no number", []), ("7", [("7", "")]),
    ("1,000,000 and 1.000.000 and 1\u202f000\u202f000 and 1'000", [("1000000", "")] * 3 + [("1000", "")]),
    ("1,234.50 or 3.10 or 2.0 or 1.2.3", [("1234.50", ""), ("3.10", ""), ("2", ""), ("1.2.3", "")]),
    ("007, 00", [("007", ""), ("00", "")]),
    ("5, 6. 7", [("5", ""), ("6", ""), ("7", "")]),
    ("\u0661\u0662 kg", [("12", "kg")]), ("\uff11\uff10%", [("10", "%")]),
    ("RFC2119 v2 MP3", [("2119", ""), ("2", ""), ("3", "")]),
    ("$5, US$5, 5 USD, \u20ac5, 5 Euro, EUR 5", [("5", "$")] + [("5", "usd")] * 2 + [("5", "eur")] * 3),
    ("5 percent, 5%, 5 %", [("5", "%")] * 3),
    ("30 days, 30-day, 30 Day, 30\u00a0days, 30 daylight", [("30", "day")] * 4 + [("30", "")]),
    ("USD\n5", [("5", "")]),
    ("the first, 2nd, Third and 20th; firstly, 2ndary", [("1", "th"), ("2", "th"), ("3", "th"), ("20", "th"), ("2", "")]),
    ("51 Franklin Street, Fifth Floor, Boston, MA 02110-1301, USA", []),
    ("5th floor, 2nd-floor, fifth\nfloor", [("5", "th")]), ("the fifth flooring, the 5th floors", [("5", "th")] * 2),
    ("59 Temple Place - Suite 330, Boston, MA 02111", []), ("Hauptstra\u00dfe 12, P.O. Box 7", []),
    ("3 of MA 021 in 30 of 5", [("3", ""), ("021", ""), ("30", ""), ("5", "")]),
    ("Copyright (c) 1999-2003 X 5\n(C) 2001 Y\n\u00a9 2007\nend 3", [("3", "")]),
    ("the copyright of 5 famous works made in 1999 and 2003", [("5", ""), ("1999", ""), ("2003", "")]),
])
def test_amounts(text, expected):
    assert amounts(text) == expected


def test_statements_of_copyright():
    assert without_statements("a\nCopyright \u00a9 by X 2010 Y\nb") == "a\n.\nb"
    assert without_statements("a copyright of 20105") == "a copyright of 20105"
    assert without_statements("copyright\n2010") == "copyright\n2010"
    assert without_statements("(c) " + "x" * 20 + "2010") == "(c) " + "x" * 20 + "2010"


def test_long_runs_are_linear():
    assert amounts("1" * 200_000) == [("1" * 200_000, "")]
    assert amounts("1.1" * 50_000)[0][0].count(".") == 50_000
    assert without_statements("(c)" * 100_000) == "(c)" * 100_000
    assert len(amounts("5 a " * 50_000)) == 50_000
