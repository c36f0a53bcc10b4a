"""Write tests/vectors/text.json: inputs and their canonical tokens, for every implementation of `text`.

    python tools/vectors_text.py            write the file
    python tools/vectors_text.py --check    write nothing; exit 1 where it differs

Every case of the tables below has its expected tokens typed by hand from the definitions in DESIGN.md; nothing is
written where the reference disagrees with one of them. Only the tokens of the mixed cases at the end come from the
reference alone.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src" / "ndcore"))

from reference import shingling  # noqa: E402
from reference import text as reference  # noqa: E402

PATH = ROOT / "tests" / "vectors" / "text.json"
Case = tuple[str, str | bytes, str | bytes]  # note, input, expected tokens between "|"


def raw(*parts: str | bytes) -> bytes:
    return b"".join(part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts)


SPACELESS_SCRIPTS = {
    "Han": "人", "Hiragana": "あ", "Katakana": "ア", "Bopomofo": "ㄅ", "Yi": "\ua000", "Nushu": "\U0001b170",
    "Tangut": "\U00017000", "Khitan_Small_Script": "\U00018b00", "Thai": "ก", "Lao": "ກ", "Khmer": "ក",
    "Myanmar": "က", "Tai_Le": "\u1950", "New_Tai_Lue": "\u1980", "Tai_Tham": "\u1a20", "Tai_Viet": "\uaa80",
    "Ahom": "\U00011700", "Javanese": "\ua984", "Balinese": "\u1b05",
}  # fmt: skip

WORD: list[Case] = [
    ("empty", "", ""),
    ("only punctuation", " .,!?\t\n", ""),
    ("only emoji", "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7", ""),
    ("runs of letters and numbers", "A rose is a rose, 42 times", "a|rose|is|a|rose|42|times"),
    ("letters and numbers go on in one run", "abc123def 4x4", "abc123def|4x4"),
    ("apostrophe separates", "don't", "don|t"),
    ("right single quotation mark separates", "don\u2019t", "don|t"),
    ("modifier letter apostrophe is a letter", "o\u02bcclock", "o\u02bcclock"),
    ("underscore separates", "foo_bar", "foo|bar"),
    ("full stop between digits separates", "3.14 1,000", "3|14|1|000"),
    ("hyphen, no-break space, ideographic space, line separator", "a-b\u00a0c\u3000d\u2028e", "a|b|c|d|e"),
    ("NUL separates", "a\x00b\x00", "a|b"),
    ("CRLF, CR, LF", "a\r\nb\rc\nd", "a|b|c|d"),
    ("emoji between letters separates", "a\U0001f600b", "a|b"),
    ("currency, copyright, numero sign (So)", "5€ ©x №7", "5|x|7"),
    ("ordinal indicators are Lo, superscripts and fractions No", "ª x² ½", "ª|x²|½"),
    ("roman numeral, Nl", "Ⅷ", "ⅷ"),
    ("circled number is No: part of a run", "a①b", "a①b"),
    ("circled letter is So, even folded", "aⒶb ⓐ", "a|b"),
    ("private use, noncharacter, unassigned separate", "a\ue000b\uffffc\U000e1000d\U0010ffffe", "a|b|c|d|e"),
    ("object replacement and replacement character separate", "a\ufffcb\ufffdc", "a|b|c"),
    ("interlinear annotation is not ignorable", "a\ufff9b", "a|b"),
    ("Arabic number sign (Cf, not ignorable) separates", "\u0600\u0661\u0662", "\u0661\u0662"),
    # marks
    ("a mark joins the word before it", "cafe\u0301s", "cafe\u0301s"),
    ("a mark at the start is dropped", "\u0301a", "a"),
    ("a mark after a separator is dropped", "a \u0301b", "a|b"),
    ("two marks after a separator are dropped", "a_\u0301\u0323b", "a|b"),
    ("only marks", "\u0301\u0323", ""),
    ("spacing mark (Mc) and virama (Mn)", "हिन्दी भाषा", "हिन्दी|भाषा"),
    ("enclosing mark (Me) after a digit; the variation selector is removed", "1\ufe0f\u20e3 2", "1\u20e3|2"),
    ("a mark after a digit", "1\u0301 2", "1\u0301|2"),
    ("many marks", "a" + "\u0301" * 40 + "b", "a" + "\u0301" * 40 + "b"),
    # ignorable code points
    ("zero width joiner and non-joiner", "क्\u200dष می\u200cخواهم", "क्ष|میخواهم"),
    ("zero width space", "foo\u200bbar", "foobar"),
    ("soft hyphen", "co\u00adop", "coop"),
    ("byte order mark", "\ufeffabc\ufeff", "abc"),
    ("combining grapheme joiner, word joiner, left-to-right mark", "a\u034fb\u2060c\u200ed", "abcd"),
    ("variation selectors", "人\ufe00a\U000e0100b", "人|ab"),
    ("Hangul fillers (Lo) are ignorable", "a\u115f\u1160\u3164\uffa0b", "ab"),
    ("tags and unassigned ignorables", "a\U000e0041\ufff0\U000e0fffb", "ab"),
    ("Mongolian vowel separator", "ᠠ\u180eᠠ", "ᠠᠠ"),
    ("Khmer inherent vowels (Mn) are ignorable", "ក\u17b4\u17b5", "ក"),
    ("an ignorable does not part a mark from its word", "e\u200d\u0301", "e\u0301"),
    ("an ignorable does not make a word", "\u200b\u0301 \u200b", ""),
    ("an ignorable does not part a spaceless word from its tail", "人\u200b々", "人々"),
    # case folding
    ("dotted capital I folds to nothing simple", "İstanbul", "İstanbul"),
    ("I folds to i, dotless i to itself", "Iı", "iı"),
    ("capital sharp s folds to sharp s, not to ss", "STRAẞE straße STRASSE", "straße|straße|strasse"),
    ("final sigma", "ΣΑΣ σας", "σασ|σασ"),
    ("U+0345 folds to iota, a letter", "\u0345 α\u0345b", "ι|αιb"),
    ("Kelvin, long s, Angstrom, Ohm", "\u212a ſ \u212b \u2126", "k|s|å|ω"),
    ("titlecase digraph", "Ǆ ǅ ǆ", "ǆ|ǆ|ǆ"),
    ("Cherokee folds to capitals", "ꭰ Ꭰ ᏸ", "Ꭰ|Ꭰ|Ᏸ"),
    ("Georgian Mtavruli, Cyrillic variant, Deseret", "Ა ᲀ \U00010400", "ა|в|\U00010428"),
    ("folding that lengthens the UTF-8", "ȺȾ", "ⱥⱦ"),
    ("simple, not full: iota subscript, ligatures", "ᾈ ﬁ ŉ", "ᾀ|ﬁ|ŉ"),
    ("U+FB05 folds to U+FB06 (simple)", "\ufb05", "\ufb06"),
    ("U+1E9B folds to U+1E61", "\u1e9b", "\u1e61"),
    ("full-width letters fold within full width", "ＦｕＬＬ４", "ｆｕｌｌ４"),
    # scripts with spaces
    ("Hangul, Greek, Cyrillic, Arabic, Hebrew with points", "한국어 Ελλάδα Москва العَرَبية עִבְרִית",
     "한국어|ελλάδα|москва|العَرَبية|עִבְרִית"),
    ("Hebrew gershayim separates", 'צה"ל', "צה|ל"),
    ("Tibetan: tsheg separates", "བོད་ཡིག", "བོད|ཡིག"),
    ("Hangul jamo are letters of one run", "\u1112\u1161\u11ab", "\u1112\u1161\u11ab"),
    # scripts without spaces
    *(
        (f"{name} is spaceless", f"{c}{c}A1{c}\u0301x", f"{c}|{c}|a1|{c}\u0301|x")
        for name, c in SPACELESS_SCRIPTS.items()
    ),
    ("a run goes on after a spaceless word", "人3abc", "人|3abc"),
    ("a run ends at a spaceless word", "第3章", "第|3|章"),
    ("Latin, Han, Latin", "abc人def", "abc|人|def"),
    ("ideographic number zero and Hangzhou numerals are Nl", "〇〡a", "〇|〡|a"),
    ("parenthesised ideograph is No: not spaceless", "人㈠a", "人|㈠a"),
    ("Kanbun and circled ideograph numbers are No", "\u3192\u3286", "\u3192\u3286"),
    ("Kangxi radical is So: separates", "a⼀b", "a|b"),
    ("digits of Thai, Myanmar, Khmer, New Tai Lue are Nd: a run", "ก๑๒ က၁၂ ក១២ \u1980\u19d1\u19d2",
     "ก|๑๒|က|၁၂|ក|១២|\u1980|\u19d1\u19d2"),
    ("ideographic punctuation and katakana middle dot separate", "人。ア・ア「人」", "人|ア|ア|人"),
    ("supplementary Han", "\U00020000\U00030000a", "\U00020000|\U00030000|a"),
    ("compatibility ideograph", "\uf900", "\uf900"),
    ("masu mark, scripts Han, Hiragana and Katakana", "\u303ca", "\u303c|a"),
    ("half-width katakana", "ｱｲ", "ｱ|ｲ"),
    # marks and tails of spaceless words
    ("Thai marks", "ที่นี่", "ที่|นี่"),
    ("Thai sara am is a letter (Lo)", "ทำ", "ท|ำ"),
    ("Thai repetition mark (Lm)", "บ่อยๆ a", "บ่|อ|ยๆ|a"),
    ("Lao and Khmer repetition marks", "ກໆ កៗ", "ກໆ|កៗ"),
    ("Myanmar medials are marks", "မြန်မာ", "မြ|န်|မာ"),
    ("prolonged sound mark", "スーパー", "スー|パー"),
    ("prolonged sound mark after hiragana and Han", "あー人ー", "あー|人ー"),
    ("prolonged sound mark after a run begins a word", "aーb", "a|ー|b"),
    ("prolonged sound mark at the start, and twice", "ーア ーー", "ー|ア|ーー"),
    ("prolonged sound mark after a separator", "ス-ー", "ス|ー"),
    ("prolonged sound mark after a digit", "3ー", "3|ー"),
    ("iteration marks", "人々 いゝ ハヽ 〻 々々", "人々|いゝ|ハヽ|〻|々々"),
    ("iteration mark after a run begins a word", "a々b", "a|々|b"),
    ("vertical kana repeat marks", "あ\u3033\u3035", "あ\u3033\u3035"),
    ("half-width prolonged sound mark and voiced marks (Lm)", "ｶﾞｰﾊﾟ", "ｶﾞｰ|ﾊﾟ"),
    ("combining voiced sound mark (Mn)", "か\u3099ー\u3099", "か\u3099ー\u3099"),
    ("marks and tails in any mixture", "人\u0301々\u0302ー\u0303\u02c7人", "人\u0301々\u0302ー\u0303\u02c7|人"),
    ("Bopomofo tone marks: Lm of Bopomofo and Latin", "ㄇㄚˇㄇㄚˊ", "ㄇ|ㄚˇ|ㄇ|ㄚˊ"),
    ("such a tone mark after a run is an ordinary letter", "aˇb ˇc", "aˇb|ˇc"),
    ("such a tone mark before a spaceless word", "ˇ人", "ˇ|人"),
    ("such a tone mark between", "人ˇa人aˇ", "人ˇ|a|人|aˇ"),
    ("such a tone mark after a separator", "人 ˇa", "人|ˇa"),
    ("modifier letter apostrophe: Thai among its scripts", "人\u02bca", "人\u02bc|a"),
    ("Javanese pangrangkep: scripts Buginese and Javanese", "\ua984\ua9cf a\ua9cf", "\ua984\ua9cf|a\ua9cf"),
    ("a modifier letter without a listed script ends a spaceless word", "人ʰa", "人|ʰa"),
    ("a Hangul tone mark joins Han", "人\u302ea", "人\u302e|a"),
    ("Yi syllable wu is Lm: a tail", "\ua000\ua015 \ua015\ua000", "\ua000\ua015|\ua015|\ua000"),
    ("Minnan tone letters", "ア\U0001aff0ア", "ア\U0001aff0|ア"),
    ("Tangut, Nushu, old Chinese iteration marks", "\U00017000\U00016fe0\U0001b170\U00016fe1人\U00016fe3",
     "\U00017000\U00016fe0|\U0001b170\U00016fe1|人\U00016fe3"),
    # ill-formed UTF-8
    ("an invalid byte separates", raw("ab", b"\xff", "cd"), "ab|cd"),
    ("a mark after an invalid byte is dropped", raw("a", b"\xff", "\u0301b"), "a|b"),
    ("an invalid byte parts a tail from its word", raw("人", b"\x80", "ー"), "人|ー"),
    ("truncated at the end: 1 of 2, 2 of 3, 3 of 4", raw("a", b"\xc3 \xe2\x82 \xf0\x9f\x98"), "a"),
    ("truncated, then a letter", raw("a", b"\xe2\x82", "b", b"\xf0\x9f\x98", "c"), "a|b|c"),
    ("truncated, then a two-byte letter", raw("a", b"\xe2\xc3\xa9", "b"), "a|éb"),
    ("lone continuation bytes", raw("a", b"\x80\xbf", "b"), "a|b"),
    ("overlong NUL and slash", raw("a", b"\xc0\x80", "b", b"\xc1\xaf", "c"), "a|b|c"),
    ("overlong, three and four bytes", raw("a", b"\xe0\x80\xaf", "b", b"\xe0\x9f\xbf", "c",
     b"\xf0\x8f\xbf\xbf", "d"), "a|b|c|d"),
    ("surrogates", raw("a\ud83d", "b\ude00", "c\ud83d\ude00", "d\udfff"), "a|b|c|d"),
    ("just below and above the surrogates", raw("a", b"\xed\x9f\xbf", "b", b"\xee\x80\x80", "c"), "a|b|c"),
    ("beyond U+10FFFF", raw("a", b"\xf4\x90\x80\x80", "b", b"\xf5\x80\x80\x80", "c", b"\xf8\x88\x80\x80\x80",
     "d"), "a|b|c|d"),
    ("the largest code point is valid", raw("a", b"\xf4\x8f\xbf\xbf", "b"), "a|b"),
    ("FE, FF: a UTF-16 file", b"\xff\xfea\x00b\x00", "a|b"),
    ("Latin-1 text", "garçon é".encode("latin-1"), "gar|on"),
    # lengths around the symbol's eight bytes
    ("7, 8, 9 bytes", "abcdefg abcdefgh abcdefghi", "abcdefg|abcdefgh|abcdefghi"),
    ("8 and 9 bytes of two-byte letters", "жжжж жжжжa", "жжжж|жжжжa"),
    ("15, 16, 17, 31, 32, 33, 63, 64, 65 letters", " ".join("A" * n for n in (15, 16, 17, 31, 32, 33, 63, 64, 65)),
     "|".join("a" * n for n in (15, 16, 17, 31, 32, 33, 63, 64, 65))),
    ("one word of 1000 letters", "Ab" * 500, "ab" * 500),
]  # fmt: skip

WORD_NFKC: list[Case] = [
    ("empty", "", ""),
    ("plain", "A rose is a Rose", "a|rose|is|a|rose"),
    ("ligatures", "ﬁne eﬃcient ﬆ", "fine|efficient|st"),
    ("full width", "ＦｕＬＬ４", "full4"),
    ("composes", "cafe\u0301", "café"),
    ("marks are ordered, then composed", "a\u0301\u0323", "ạ\u0301"),
    ("fold, normalise, fold: the second folding", "℡ ᴬ \U0001d400", "tel|a|a"),
    ("fold before: U+1E9B and dot below", "\u1e9b\u0323", "\u1e69"),
    ("dotted capital I stays, I with a dot becomes i with a dot", "İ I\u0307", "İ|i\u0307"),
    ("So that becomes letters", "㎏ №5 ⓐ ⼀", "kg|no5|a|一"),
    ("No that becomes digits", "① x² Ⅻ", "1|x2|xii"),
    ("fraction slash separates", "½", "1|2"),
    ("middle dot of U+0140 separates", "coŀlegi", "col|legi"),
    ("parenthesised number and ideograph", "⑴a㈠a", "1|a|一|a"),
    ("a spacing diaeresis becomes blank and mark: separates", "a¨b", "a|b"),
    ("U+0149 becomes two letters", "ŉ", "\u02bcn"),
    ("the longest decomposition", "\ufdfa", "صلى|الله|عليه|وسلم"),
    ("half-width katakana", "ｶﾞｰﾊﾟ", "ガー|パ"),
    ("combining voiced sound mark", "か\u3099", "が"),
    ("square katakana", "㌔", "キ|ロ"),
    ("compatibility ideograph", "\uf900", "\u8c48"),
    ("Thai sara am", "ทำ", "ทํ|า"),
    ("jamo", "\u1112\u1161\u11ab \u1112\u1161 \uac00\u11a8", "한|하|각"),
    ("compatibility jamo", "\u314e\u314f", "하"),
    ("half-width jamo", "\uffbe\uffc2", "하"),
    ("removed before composing: joiner, zero width space, filler",
     "e\u200d\u0301 e\u200b\u0301 \u1112\u3164\u1161", "é|é|하"),
    ("U+0345 is folded before composing", "α\u0345", "αι"),
    ("iota subscript", "ᾼ", "ᾳ"),
    ("singletons: Kelvin, Angstrom, Ohm", "\u212a \u212b \u2126", "k|å|ω"),
    ("composition exclusion", "\u0958", "\u0915\u093c"),
    ("non-starter decomposition", "a\u0344", "ä\u0301"),
    ("composes beyond the BMP", "\U00011099\U000110ba", "\U0001109a"),
    ("blocked by an equal class", "a\u0323\u0323\u0301", "ạ\u0323\u0301"),
    ("invalid bytes bound the runs", raw("e", b"\xff", "\u0301"), "e"),
    ("invalid bytes bound the runs of jamo", raw("\u1112", b"\xff", "\u1161"), "\u1112|\u1161"),
    ("separator before a mark: composed with it, then not a letter", "=\u0338a", "a"),
    ("a mark at the start", "\u0301e", "e"),
]  # fmt: skip

CHAR: list[Case] = [
    ("empty", "", ""),
    ("case, blanks and punctuation", "A b!\n", "a| |b|!|\n"),
    ("NUL", "a\x00", "a|\x00"),
    ("CRLF", "a\r\nb", "a|\r|\n|b"),
    ("ignorables stay", "\ufeffa\u200bb\u00ad\u200d", "\ufeff|a|\u200b|b|\u00ad|\u200d"),
    ("marks stand alone", "e\u0301\u0301", "e|\u0301|\u0301"),
    ("folding", "İIẞΣς\u0345\u212a", "İ|i|ß|σ|σ|ι|k"),
    ("Han, emoji", "人\U0001f600", "人|\U0001f600"),
    ("an invalid byte gives no token", raw("A", b"\xff", "B", b"\xe2\x82"), "a|b"),
    ("surrogates give no token", raw("a\ud800\udc00b"), "a|b"),
]

CHAR_NFKC: list[Case] = [
    ("empty", "", ""),
    ("nothing is removed: a joiner blocks", "E\u200d\u0301", "e|\u200d|\u0301"),
    ("composes", "E\u0301", "é"),
    ("ligature, fraction, circled", "ﬁ½①", "f|i|1|\u2044|2|1"),
    ("second folding", "℡", "t|e|l"),
    ("blank and mark", "¨", " |\u0308"),
    ("Hangul filler stays, and becomes U+1160", "\u1112\u3164", "\u1112|\u1160"),
    ("jamo", "\u1112\u1161\u11ab", "한"),
    ("invalid bytes bound the runs", raw("e", b"\xff", "\u0301"), "e|\u0301"),
    ("not equal with a stroke", "=\u0338", "\u2260"),
    ("byte order mark, CRLF", "\ufeff\r\n", "\ufeff|\r|\n"),
]

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
GERMANY, FRANCE = "\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"

GRAPHEME: list[Case] = [
    ("empty", "", ""),
    ("case, blanks and punctuation", "A b!", "a| |b|!"),
    ("CRLF is one (GB3); LF CR, CR CR are two", "\r\n\n\r\r", "\r\n|\n|\r|\r"),
    ("controls stand alone (GB4, GB5)", "a\x00\u0301b\t\u200b\u0301", "a|\x00|\u0301|b|\t|\u200b|\u0301"),
    ("only NULs", "\x00\x00", "\x00|\x00"),
    ("jamo (GB6, GB7, GB8)", "\u1112\u1112\u1161\u1161\u11ab\u11ab\u1112", "\u1112\u1112\u1161\u1161\u11ab\u11ab|\u1112"),
    ("syllables and jamo", "가\u11a8각\u11a8\u1161ᄀ가ᄀ각가", "가\u11a8|각\u11a8|\u1161|ᄀ가|ᄀ각|가"),
    ("marks join (GB9), at the start too", "e\u0301\u0323\u0301", "e\u0301\u0323\u0301"),
    ("a mark at the start", "\u0301e", "\u0301|e"),
    ("a mark joins a blank", " \u0301", " \u0301"),
    ("joiner and non-joiner join", "a\u200d\u200cb\u00ad", "a\u200d\u200c|b|\u00ad"),
    ("spacing marks join (GB9a)", "नि\u0903ก\u0e33", "नि\u0903|ก\u0e33"),
    ("Thai: vowels before are apart, marks and tones join", "ที่นี่เกม", "ที่|นี่|เ|ก|ม"),
    ("prepended marks join what follows (GB9b), controls apart",
     "\u0600\u0661\u0600\n\u0600", "\u0600\u0661|\u0600|\n|\u0600"),
    ("two prepended marks, a flag", f"\u0600\u0600{GERMANY}\U0001f1e9", f"\u0600\u0600{GERMANY}|\U0001f1e9"),
    ("consonants and a linker (GB9c)", "क्षि क्ष्म कष", "क्षि| |क्ष्म| |क|ष"),
    ("joiner and mark beside the linker", "क\u200d्\u200dष क\u093c्ष", "क\u200d्\u200dष| |क\u093c्ष"),
    ("a non-joiner or spacing mark parts the consonants", "क्\u200cष किष कि्ष", "क्\u200c|ष| |कि|ष| |कि्|ष"),
    ("a linker without consonant before, or after", "्क क्a a्क", "्|क| |क्|a| |a्|क"),
    ("Malayalam, Telugu conjuncts; Tamil has none", "ന്മ స్త க்ஷ", "ന്മ| |స్త| |க்|ஷ"),
    ("Arabic with marks, joined letters are apart", "لا مُحَمَّد", "ل|ا| |مُ|حَ|مَّ|د"),
    ("Hebrew with points", "שָׁלוֹם", "שָׁ|ל|וֹ|ם"),
    ("Chinese", "中文。", "中|文|。"),
    ("variation selectors of Han and emoji", "葛\U000e0100❤\ufe0f", "葛\U000e0100|❤\ufe0f"),
    ("emoji joined (GB11)", f"{FAMILY}\U0001f600", f"{FAMILY}|\U0001f600"),
    ("skin tone, mark before the joiner", "\U0001f469\U0001f3fd\u200d\U0001f680\U0001f44d\U0001f3ff",
     "\U0001f469\U0001f3fd\u200d\U0001f680|\U0001f44d\U0001f3ff"),
    ("two joiners, or a joiner after a letter, do not join emoji", "\U0001f600\u200d\u200d\U0001f600a\u200d\U0001f600",
     "\U0001f600\u200d\u200d|\U0001f600|a\u200d|\U0001f600"),
    ("a joiner before a letter", "\U0001f600\u200da", "\U0001f600\u200d|a"),
    ("keycap", "1\ufe0f\u20e32", "1\ufe0f\u20e3|2"),
    ("flags (GB12, GB13)", GERMANY + FRANCE, f"{GERMANY}|{FRANCE}"),
    ("an odd regional indicator; a mark parts a pair", f"{GERMANY}\U0001f1eb a\U0001f1eb\u200d\U0001f1eb",
     f"{GERMANY}|\U0001f1eb| |a|\U0001f1eb\u200d|\U0001f1eb"),
    ("tag sequence: the flag of Scotland", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007fx",
     "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f|x"),
    ("clusters are those of the folded text: U+0345 becomes a letter", "Α\u0345", "α|ι"),
    ("the one pictograph with case loses it", "Ⓜ\u200d\U0001f600 \U0001f600\u200dⓂ\ufe0f",
     "ⓜ\u200d|\U0001f600| |\U0001f600\u200d|ⓜ\ufe0f"),
    ("folding", "İIẞΣς\u212a\u0301", "İ|i|ß|σ|σ|k\u0301"),
    ("unassigned, private use, noncharacter", "\u0378\ue000\uffff\u0301", "\u0378|\ue000|\uffff\u0301"),
    ("an invalid byte gives no token and bounds clusters", raw("e", b"\xff", "\u0301\r", b"\xff", "\n"),
     "e|\u0301|\r|\n"),
    ("invalid bytes bound emoji, flags and conjuncts", raw("\U0001f600\u200d", b"\x80", "\U0001f600\U0001f1e9", b"\xc3",
     "\U0001f1ea\u0915\u094d", b"\xe2\x82", "\u0937"),
     "\U0001f600\u200d|\U0001f600|\U0001f1e9|\U0001f1ea|\u0915\u094d|\u0937"),
    ("surrogates give no token", raw("a\ud800\u0301"), "a|\u0301"),
    ("7, 8 and 9 bytes", "a\u0301\u0301\u0301b\U0001f3fd\U0001f3fd\u00e9\u0301\u20e3\u0301c",
     "a\u0301\u0301\u0301|b\U0001f3fd\U0001f3fd|\u00e9\u0301\u20e3\u0301|c"),
    ("a cluster of 1001 code points", "a" + "\u0301" * 1000, "a" + "\u0301" * 1000),
]  # fmt: skip

GRAPHEME_NFKC: list[Case] = [
    ("empty", "", ""),
    ("composes", "E\u0301\u0323", "ẹ\u0301"),
    ("nothing is removed: a joiner blocks", "E\u200d\u0301", "e\u200d\u0301"),
    ("ligature, fraction, circled", "ﬁ½①", "f|i|1|\u2044|2|1"),
    ("jamo", "\u1112\u1161\u11ab\u1112", "한|\u1112"),
    ("a blank and a mark", "¨", " \u0308"),
    ("Thai sara am", "ทำ", "ท\u0e4d|า"),
    ("emoji stay", f"{FAMILY}{GERMANY}", f"{FAMILY}|{GERMANY}"),
    ("invalid bytes bound the runs", raw("e", b"\xff", "\u0301"), "e|\u0301"),
]

LINE: list[Case] = [
    ("empty", "", ""),
    ("LF, CR, CRLF, LFCR", "a\nb\rc\r\nd\n\re", "a|b|c|d|e"),
    ("no line end at the end; one at the start", "\na\nb", "a|b"),
    ("empty and blank lines are skipped", "a\n\n \t\n\r\n\x0b\x0c\nb", "a|b"),
    ("stripped at both ends, not inside", " \t a  b \x0b\x0c\n", "a  b"),
    ("tabulation and form feed do not end a line", "a\x0bb\x0cc", "a\x0bb\x0cc"),
    ("neither folded nor decoded", raw("Ab\u0301C", b"\xff\xe2\x82"), raw("Ab\u0301C", b"\xff\xe2\x82")),
    ("next line, line separator and no-break space are ordinary", "\u0085a\u2028b\u00a0", "\u0085a\u2028b\u00a0"),
    ("NUL and 1C to 1F are ordinary", "\x00a\x1c\n\x1f\n", "\x00a\x1c|\x1f"),
    ("byte order mark stays", "\ufeffa\n", "\ufeffa"),
]

PARAGRAPH: list[Case] = [
    ("empty", "", ""),
    ("blank lines are bounds", "a\nb\n\nc\n \t\x0b\x0c\nd", "a\nb|c|d"),
    ("LF, CR, CRLF; CRLF is one line end", "a\r\nb\rc\nd\r\n\r\ne\r\rf\n\rg", "a\r\nb\rc\nd|e|f|g"),
    ("blank lines before and behind, many between", "\n \n\n  a \n\n\n\n\r\n\tb\n \n", "a|b"),
    ("blanks at the ends are left out, not inside", "  a \n  b \n", "a \n  b"),
    ("only blank lines", " \n\t\r\n\r \x0b", ""),
    ("neither folded nor decoded", raw("Ab\u0301", b"\xff\n\xe2"), raw("Ab\u0301", b"\xff\n\xe2")),
    ("no-break space, line and paragraph separator are ordinary", "a\n\u00a0\nb\u2029\u2028c", "a\n\u00a0\nb\u2029\u2028c"),
]

SENTENCE: list[Case] = [
    ("empty", "", ""),
    ("only white space", " \n\u2028\u00a0\u3000\u0085\t", ""),
    ("terminators", "Is it? It is! So be it. End", "Is it?|It is!|So be it.|End"),
    ("line ends are bounds (SB4), CRLF is one (SB3)", "a b\nc\r\nd\re\u0085f\u2028g\u2029h", "a b|c|d|e|f|g|h"),
    ("marks and format characters belong to what is before (SB5)",
     "A.\u0301\u00ad\u200d B. C\u0301.D", "A.\u0301\u00ad\u200d|B.|C\u0301.D"),
    ("a number after a full stop (SB6), not after a quotation mark", "3.4 .5 A.)5 B.\u03015", "3.4 .5 A.)|5 B.\u03015"),
    ("a capital after a letter and a full stop (SB7)", "U.S.A. a.B 1.C \u3001.D", "U.S.A. a.B 1.|C \u3001.|D"),
    ("a small letter follows, behind spaces and signs (SB8)",
     "etc. and so. (\u201c1 - \u3001 x. 2 X", "etc. and so. (\u201c1 - \u3001 x.|2 X"),
    ("what the small letter is not behind (SB8)", "A. 1 B. \u4ebab. \u2029c. ?d", "A.|1 B.|\u4ebab.|c. ?|d"),
    ("signs that go on with a sentence (SB8a)", "A!, b? \u2014 c. : d!.E", "A!, b? \u2014 c. : d!.|E"),
    ("quotation marks and brackets (SB9)",
     "(A.) \u201cB!\u201d\u00bb C?') D. ) E! (F", "(A.)|\u201cB!\u201d\u00bb|C?')|D.|) E!|(F"),
    ("spaces and line ends (SB10, SB11)", "A!  \u00a0\u3000B.) \r\nC?\nD", "A!|B.)|C?|D"),
    ("all terminators", "A.\u2024B\uff0e.C?! D\u2026 E\u3002F\uff01G", "A.\u2024|B\uff0e.|C?!|D\u2026 E\u3002|F\uff01|G"),
    ("full stops without number", "A......B. ...C", "A......|B. ...|C"),
    ("abbreviations and names", "Mr. Smith met Dr. No. He left.", "Mr.|Smith met Dr.|No.|He left."),
    ("Chinese, Hindi, Arabic, Armenian, Thai",
     "\u4eba\u4eba\u3002\u6587\uff1f \u0939\u0964\u0926 \u0628\u061f \u062a \u0561\u0589 \u0562 \u0e01\u0e02 \u0e03",
     "\u4eba\u4eba\u3002|\u6587\uff1f|\u0939\u0964|\u0926 \u0628\u061f|\u062a \u0561\u0589|\u0562 \u0e01\u0e02 \u0e03"),
    ("Georgian letters have no case here", "\u10d0. \u10d1. \u1c90. \u1c91", "\u10d0.|\u10d1.|\u1c90.|\u1c91"),
    ("neither folded nor decoded: invalid bytes belong to the sentence", raw("A. ", b"\xff", " B! ", b"\xe2\x82", "C"),
     raw("A.|", b"\xff", " B!|", b"\xe2\x82", "C")),
    ("surrogates, NUL", raw("A.\ud800B. \x00"), raw("A.|\ud800B.|\x00")),
    ("a letter after an invalid byte",
     raw("a. ", b"\x80", "b. c", b"\x80", ".D"), raw("a. ", b"\x80", "b. c", b"\x80", ".|D")),
]  # fmt: skip

LINE_WORDS: list[Case] = [
    ("empty", "", ""),
    ("case, punctuation and blanks are ignored",
     "Hello,  World!\n\thello world\r\nHELLO-WORLD", "hello world|hello world|hello world"),
    ("a line without words has no token", "a\n--- * ---\n\n \u0301\u200b\nb", "a|b"),
    ("marks, joiners, letters without spaces", "Cafe\u0301 co\u00adop\n\u4eba\u4eba3x", "cafe\u0301 coop|\u4eba \u4eba 3x"),
    ("each line by itself: a mark at its start is dropped", "a\n\u0301b", "a|b"),
    ("an invalid byte separates", raw("a", b"\xff", "b\n", b"\xff\n\xc3", "A"), "a b|a"),
    ("more than 8 bytes", "The quick brown FOX\nI\u0307stanbul'dan", "the quick brown fox|i\u0307stanbul dan"),
    ("line separators are no line ends", "a\u2028b", "a b"),
]

PARAGRAPH_WORDS: list[Case] = [
    ("line ends are ignored", "A rose\nis a\r\nrose.\n\n***\n\na rose, is a rose", "a rose is a rose|a rose is a rose"),
]

SENTENCE_WORDS: list[Case] = [
    ("white space and signs are ignored", "So it is. So  it is! \u2014\n...\nSO, IT: IS", "so it is|so it is|so it is"),
    ("the bounds are those of the text as it is", "A. B a. b", "a|b a b"),
    ("invalid bytes", raw("A. ", b"\xff", " b", b"\xff", "c"), "a b c"),
]

# note, stop words, normalization, input, tokens that are left
STOP_WORDS: list[tuple[str, list[str], str | None, str | bytes, str]] = [
    ("left out in every case and place", ["the", "a"], None, "The cat, A mat; the", "cat|mat"),
    ("the list is canonicalised", ["THE", " a. ", "co\u00adop"], None, "the coop Co-op a", "co|op"),
    ("nothing is left", ["to", "be"], None, "To be, to be!", ""),
    ("nothing is left out", ["x"], None, "to be xy yx x1", "to|be|xy|yx|x1"),
    ("a part of a word is no word", ["a"], None, "an a banana á a\u0301", "an|banana|á|a\u0301"),
    ("words of more than 8 bytes", ["themselves", "который", "b" * 300], None,
     "Themselves themself КОТОРЫЙ которая " + "b" * 300 + " " + "b" * 301, "themself|которая|" + "b" * 301),
    ("spaceless words and numbers", ["的", "42"], None, "猫的42垫子的420", "猫|垫|子|420"),
    ("an invalid byte separates", ["a"], None, raw("a", b"\xff", "ab", b"\xc3", "a"), "ab"),
    ("NFKC: both normalised", ["ﬁ", "caf\u00e9"], "NFKC", "fi ﬁn cafe\u0301 ＦＩ", "fin"),
]  # fmt: skip

# The tokens are the bytes.
BYTE: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("ASCII, NUL, CRLF", b"aB\x00\r\n"),
    ("UTF-8 and invalid bytes", raw("é", b"\xff\x80")),
    ("a surrogate", raw("\ud800")),
    ("all bytes", bytes(range(256))),
]

POOL = (
    "abzABZ019 .,'_-\n\r\t\x00éßẞİıΣς\u0345\u0301\u0308\u0323\u20e3\u200b\u200d\u00ad\ufeff\u3164"
    "ﬁ½①²℡ｶﾞＡ人第々ーあゝア・"
    "กที่ำๆ၁ကㄅˇˊ\u02bcʰ한\u1112\u1161\u11abक्षि\u0958\ua9cf\ua984〇㈠⼀\u2126\u212a\U0001f600\U0001d400\U00017000"
)
CLUSTER_POOL = (
    "aA \r\n\x00\u200b\u00ad\u0301\u0345\u200d\u200c\ufe0f\u0600\u0903\u0e33\u1112\u1161\u11ab가각"
    "कष\u094d\u093cന\u0d4d\U0001f600\U0001f469\u2764\U0001f3fd\U0001f1e9\U0001f1ea\U0001f1eb"
)
SENTENCE_POOL = "aAbB. . . .!?,)\u201c'1 \n\n\r\t\u2028\u00a0\u0085\u0301\u00ad\u4eba\u3002\u10d0\u00c9\u01c5-\x00\u2024"
FRAGMENTS = (b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xc0\x80", b"\xf4\x90\x80\x80")


def mixed_inputs(points: str, seed: int, count: int = 60) -> list[bytes]:
    """Random sequences of these code points and of the ill-formed fragments above."""
    generator = random.Random(seed)
    pool = [c.encode("utf-8") for c in points]
    return [
        b"".join(
            generator.choice(FRAGMENTS if generator.random() < 0.05 else pool)
            for _ in range(generator.randrange(4, 60))
        )
        for _ in range(count)
    ]


def vector(note: str, data: bytes, unit: str, normalize: str | None) -> dict[str, Any]:
    tokens = reference.tokens(data, unit, normalize)
    return {
        "note": note,
        "unit": unit,
        "normalize": normalize,
        "input": data.hex(),
        "tokens": [token.hex() for token in tokens],
        "invalid_bytes": reference.invalid_bytes(data),
        "digest": reference.digest(data).hex(),
        "canonical_digest": reference.digest(reference.canonical(tokens)).hex(),
    }


def stop_word_vectors() -> list[dict[str, Any]]:
    """The cases with typed expectations; ValueError where the reference disagrees with one."""
    vectors = []
    for note, stop_words, normalize, text, joined in STOP_WORDS:
        expected = reference.to_bytes(joined).split(b"|") if joined else []
        actual = shingling.tokens(reference.to_bytes(text), "word", normalize, stop_words)
        if actual != expected:
            raise ValueError(f"{note}: {actual} from the reference, {expected} typed")
        vectors.append({
            "note": note, "stop_words": stop_words, "normalize": normalize, "input": reference.to_bytes(text).hex(),
            "tokens": [token.hex() for token in actual],
            "canonical_digest": reference.digest(reference.canonical(actual)).hex(),
        })  # fmt: skip
    return vectors


def typed_vectors() -> list[dict[str, Any]]:
    """The cases with typed expectations; ValueError where the reference disagrees with one."""
    vectors = []
    for cases, unit, normalize in (
        (WORD, "word", None), (WORD_NFKC, "word", "NFKC"), (CHAR, "char", None), (CHAR_NFKC, "char", "NFKC"),
        (GRAPHEME, "grapheme", None), (GRAPHEME_NFKC, "grapheme", "NFKC"), (LINE, "line", None),
        (PARAGRAPH, "paragraph", None), (SENTENCE, "sentence", None), (LINE_WORDS, "line", "words"),
        (PARAGRAPH_WORDS, "paragraph", "words"), (SENTENCE_WORDS, "sentence", "words"),
    ):  # fmt: skip
        for note, text, joined in cases:
            data = reference.to_bytes(text)
            expected = reference.to_bytes(joined).split(b"|") if joined else []
            actual = reference.tokens(data, unit, normalize)
            if actual != expected:
                raise ValueError(f"{unit}, {normalize}, {note}: {actual} from the reference, {expected} typed")
            vectors.append(vector(note, data, unit, normalize))
    for note, data in BYTE:
        if reference.tokens(data, "byte") != [bytes([value]) for value in data]:
            raise ValueError(f"byte, {note}: the reference does not give the single bytes")
        vectors.append(vector(note, data, "byte", None))
    return vectors


def document() -> str:
    vectors = typed_vectors()
    for number, data in enumerate(mixed_inputs(POOL, 20)):
        for unit, normalize in (("word", None), ("word", "NFKC"), ("char", None), ("char", "NFKC"), ("line", None)):
            vectors.append(vector(f"mixed {number}", data, unit, normalize))
    for number, data in enumerate(mixed_inputs(CLUSTER_POOL, 21)):
        for normalize in (None, "NFKC"):
            vectors.append(vector(f"mixed clusters {number}", data, "grapheme", normalize))
    for number, data in enumerate(mixed_inputs(SENTENCE_POOL, 22)):
        for unit in reference.PASSAGES:
            for normalize in (None, "words"):
                vectors.append(vector(f"mixed sentences {number}", data, unit, normalize))
    header = {
        "about": "canonical tokens of documents (DESIGN.md: Canonical words, Other units, Digests)",
        "generator": "tools/vectors_text.py, from ndcore.reference.text; tokens typed by hand except those of 'mixed'",
        "unicode_version": reference.UNICODE_VERSION,
        "format": {
            "input": "the document's bytes, hexadecimal",
            "tokens": "the bytes of every token, hexadecimal",
            "invalid_bytes": "bytes of the input in no well-formed UTF-8 sequence",
            "digest": "BLAKE2b, 16 bytes, of the input",
            "canonical_digest": "the same of the tokens, each after its length as eight bytes, big-endian",
            "stop_words": "words as a user gives them, left out of the tokens",
        },
    }
    lists = {"vectors": vectors, "stop_words": stop_word_vectors()}
    parts = [f' "{name}": [\n' + ",\n".join("  " + json.dumps(row) for row in rows) + "\n ]" for name, rows in lists.items()]
    return json.dumps(header, indent=1)[:-2] + ",\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write tests/vectors/text.json from the reference.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the file differs")
    check = parser.parse_args().check
    content = document()
    if not check:
        PATH.write_text(content, encoding="utf-8", newline="\n")
        return 0
    if PATH.exists() and PATH.read_text(encoding="utf-8") == content:
        return 0
    print(f"{PATH.relative_to(ROOT)} is not what the reference gives; run tools/vectors_text.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
