"""Mine rules of URLs that lead to the same page, from pages whose contents are known.

Bar-Yossef, Keidar, Schonfeld, "Do not crawl in the DUST: different URLs with similar text", ACM Transactions on the Web
3(1), 2009, DOI 10.1145/1462148.1462151. Their DustBuster counts, for each substitution of a substring, the pairs of URLs in
a list that it turns into each other, and uses contents only for validation. Here the contents are known. So rules are found
from pairs of URLs with the same content, and counted by their effect on all URLs:

- The *form* of a URL is the result of applying the rule. URLs with the same form should have the same content.
- The *support* is the number of distinct contents that were seen under two URLs of the same form, of which the rule changed
  one. A page that thousands of URLs show, such as a login form, is one content.
- *Against* the rule are the URLs that it changed and whose content differs from the content of their form.

Rules are chosen greedily: the one with the largest support, then the one with the largest support among the forms that the
previous rules leave distinct. So a rule that is a special case of another finds no support (the paper's elimination of
redundant rules), and a rule that needs another one first is found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["parameter", "argument", "value", "substring"]

KnownPage: TypeAlias = tuple[Hashable, str]  # the name of a content and its URL

KINDS: tuple[Kind, ...] = ("parameter", "argument", "value", "substring")  # of two equal rules, the first kind is taken
SUPPORT, CONFIDENCE = 5, 0.95  # the least of a rule
RULES = 16  # most rules of a host
LENGTH = 512  # characters of a URL; no rule changes a longer one
TOKENS, CONTEXT = 8, 2  # most tokens of either side of a substitution; and common tokens at each end
LONGEST = 64  # most tokens of URLs that are compared for substitutions
MEMBERS = 4  # URLs of one content that are compared with each other
CANDIDATES = 64  # most rules that are counted exactly, those with most contents in favour
EXAMPLES = 3

_END = re.compile("[/?#]")  # the end of scheme, host and port
_TOKEN = re.compile(r"[^\W_]+|[\W_]", re.DOTALL)


class UrlRule(NamedTuple):
    """A rule of the URLs of one host.

    Attributes
    ----------
    kind : str
        "parameter": the parameter `old` is left out. "argument": it is left out if it has one value; `old` is "name=value".
        "value": its value is left out. "substring": the first `old` in path and query becomes `new`; both begin and end at
        the bounds of runs of letters and digits.
    old, new : str
    """

    kind: Kind
    old: str
    new: str = ""

    def __str__(self) -> str:
        match self.kind:
            case "parameter":
                return f"the parameter {self.old} changes nothing"
            case "argument":
                return f"{self.old} changes nothing"
            case "value":
                return f"the value of {self.old} changes nothing"
        return f"{self.old} is the same as {self.new or 'nothing'}"

    def apply(self, url: str) -> str:
        """Return the form of a URL; the URL itself if the rule does not change it. O(length)."""
        if self.old not in url or len(url) > LENGTH:
            return url
        if self.kind == "substring":
            return self._substitute(url)
        path, _, query = url.partition("?")
        given = query.split("&")
        if self.kind == "argument":
            left = [each for each in given if each != self.old]
        elif self.kind == "parameter":
            left = [each for each in given if each.partition("=")[0] != self.old]
        else:
            left = [f"{self.old}=" if each.partition("=")[0] == self.old else each for each in given]
        return url if left == given else f"{path}?{'&'.join(left)}" if left else path

    def _substitute(self, url: str) -> str:
        """Replace the first occurrence of the substring after the host; a path must still begin with a slash."""
        begin = len(origin_of(url))
        at = url.find(self.old, begin)
        while at >= 0:
            end = at + len(self.old)
            if not (_joins(url, at) or _joins(url, end)):
                made = url[:at] + self.new + url[end:]
                return made if made.startswith("/", begin) else url
            at = url.find(self.old, at + 1)
        return url


def _joins(url: str, at: int) -> bool:
    """Tell whether a position is within a run of letters and digits."""
    return 0 < at < len(url) and url[at - 1].isalnum() and url[at].isalnum()


class MinedRule(NamedTuple):
    """A rule and the evidence for it.

    support: number of distinct contents that were seen under two URLs of the same form. against: number of URLs to which
    the rule gives the form of another content. examples: pairs of a URL that the rule changes and another one with the same
    form and content.
    """

    rule: UrlRule
    support: int
    against: int
    examples: tuple[tuple[str, str], ...]

    @property
    def confidence(self) -> float:
        """The share of `support` in `support` and `against`."""
        return self.support / max(1, self.support + self.against)


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a URL."""
    begin = url.find("://")
    end = _END.search(url, begin + 3 if begin >= 0 else 0)
    return url if end is None else url[: end.start()]


def make_form(url: str, rules: Iterable[UrlRule]) -> str:
    """Apply rules to a URL in order."""
    for rule in rules:
        url = rule.apply(url)
    return url


def mine_rules(
    pages: Iterable[tuple[str, Hashable]], *, known: Collection[UrlRule] = (), without: Collection[UrlRule] = (),
    most: int = RULES,
) -> list[MinedRule]:
    """Mine the rules of the URLs of one host, the best one first.

    Parameters
    ----------
    pages : iterable of (str, hashable)
        URLs of one host, in the normal form of `Store.open` with ``keys="url"``, in the order of arrival, with the names of
        their contents. For a repeated URL, the first content counts. For most pairs of URLs, the earlier one is tried as
        the form of both.
    known : collection of UrlRule
        Accepted rules: further ones are sought among the forms that these leave.
    without : collection of UrlRule
        Rules that are not wanted.
    most : int
        The largest number of rules to return.

    Returns
    -------
    list of MinedRule
        Each has a support of at least `SUPPORT` and a confidence of at least `CONFIDENCE`.

    Notes
    -----
    O(m n) for n URLs and m found rules, with `CANDIDATES` passes over the URLs for each rule.
    """
    urls: dict[str, KnownPage] = {}  # the content and the URL, by form
    for url, content in pages:
        if len(url) <= LENGTH:
            urls.setdefault(make_form(url, known), (content, url))
    mined: list[MinedRule] = []
    while len(mined) < most:
        counted = [count_rule(rule, urls) for rule in find_candidates(urls, without)]
        best = min((each for each in counted if each.support >= SUPPORT and each.confidence >= CONFIDENCE),
                   key=_rank, default=None)
        if best is None:
            break
        mined.append(best)
        forms: dict[str, KnownPage] = {}
        for form, page in urls.items():
            forms.setdefault(best.rule.apply(form), page)
        urls = forms
    return mined


def _rank(mined: MinedRule) -> tuple[int, int, int]:
    """Return the sort key of a rule: most support, then the more general kind, then the shorter one."""
    rule = mined.rule
    return -mined.support, KINDS.index(rule.kind), len(rule.old) + len(rule.new)


def find_candidates(urls: dict[str, KnownPage], without: Collection[UrlRule] = ()) -> list[UrlRule]:
    """Find the rules that give two URLs with the same content the same form, those that unite most contents first.

    urls: content and URL by form. Only rules with at least `SUPPORT` contents in favour are returned.
    """
    members: dict[Hashable, list[str]] = {}
    for form, (content, _) in urls.items():
        same = members.setdefault(content, [])
        if len(same) < MEMBERS:
            same.append(form)
    contents: Counter[UrlRule] = Counter()
    for same in members.values():
        contents.update({rule for one, other in combinations(same, 2) for rule in compare_urls(one, other)})
    likely = [rule for rule, count in contents.items() if count >= SUPPORT and rule not in without]
    likely.sort(key=lambda rule: (-contents[rule], KINDS.index(rule.kind), len(rule.old) + len(rule.new), rule))
    return likely[:CANDIDATES]


def compare_urls(one: str, other: str) -> Iterator[UrlRule]:
    """Yield the rules that give two URLs of a host the same form, the first one's if possible."""
    (one_path, _, one_query), (other_path, _, other_query) = one.partition("?"), other.partition("?")
    if one_path == other_path:
        yield from _compare_queries(one_query.split("&"), other_query.split("&"))
    else:
        begin = len(origin_of(one))
        yield from _compare_tokens(_TOKEN.findall(one[begin:]), _TOKEN.findall(other[begin:]))


def _compare_queries(one: list[str], other: list[str]) -> Iterator[UrlRule]:
    """Yield the rules of one parameter that make two queries equal."""
    differing = {*(Counter(one) - Counter(other)), *(Counter(other) - Counter(one))} - {""}
    names = {each.partition("=")[0] for each in differing}
    if len(names) != 1:
        return
    [name] = names
    rules = [UrlRule("parameter", name), UrlRule("value", name), *(UrlRule("argument", each) for each in differing)]
    queries = [f"http://x/?{'&'.join(query)}" if query != [""] else "http://x/" for query in (one, other)]
    yield from (rule for rule in rules if rule.old and rule.apply(queries[0]) == rule.apply(queries[1]))


def _compare_tokens(one: list[str], other: list[str]) -> Iterator[UrlRule]:
    """Yield the substitutions that turn the other URL into the first one, or the reverse if nothing would be replaced."""
    if max(len(one), len(other)) > LONGEST:
        return
    begin = _count_equal(one, other)
    end = _count_equal(one[::-1], other[::-1])
    shortest = min(len(one), len(other))
    for first in range(begin, max(-1, begin - TOKENS - 1), -1):
        for last in range(min(end, shortest - first), max(-1, end - TOKENS - 1), -1):
            sides = one[first : len(one) - last], other[first : len(other) - last]
            if max(map(len, sides)) > TOKENS:
                break
            shared = min(begin, shortest - last) - first, min(end, shortest - first) - last
            if max(shared) > CONTEXT:
                break
            new, old = ("".join(side) for side in sides)
            yield UrlRule("substring", old, new) if old else UrlRule("substring", new, old)


def _count_equal(one: list[str], other: list[str]) -> int:
    """Count the common first tokens of two URLs."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def count_rule(rule: UrlRule, urls: dict[str, KnownPage]) -> MinedRule:
    """Count the support of a rule and the URLs against it. urls: content and URL by form. O(n)."""
    examples: dict[Hashable, tuple[str, str]] = {}
    first: dict[str, KnownPage] = {}  # of forms that are not themselves URLs of the list
    against = 0
    for url, page in urls.items():
        form = rule.apply(url)
        if form == url:
            continue
        of_form = urls.get(form) or first.setdefault(form, page)
        if of_form is page:
            continue
        if page[0] == of_form[0]:
            examples.setdefault(page[0], (page[1], of_form[1]))
        else:
            against += 1
    return MinedRule(rule, len(examples), against, tuple(examples.values())[:EXAMPLES])
