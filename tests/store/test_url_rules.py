"""Rules of URLs: what each makes of a URL, which are mined, and that a miner which tries everything finds the same."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.store import url_rules
from ndcore.store.url_rules import (
    CANDIDATES,
    CONFIDENCE,
    LENGTH,
    MEMBERS,
    SUPPORT,
    UrlRule,
    count_rule,
    find_candidates,
    make_form,
    mine_rules,
    origin_of,
)

HOST = "http://a.example"


@pytest.mark.parametrize("rule, url, form", [
    (UrlRule("parameter", "sid"), "/x?a=1&sid=7", "/x?a=1"),
    (UrlRule("parameter", "sid"), "/x?sid=7&sid=8", "/x"),
    (UrlRule("parameter", "sid"), "/x?sid", "/x"),
    (UrlRule("parameter", "sid"), "/x?sids=7&a=sid", "/x?sids=7&a=sid"),
    (UrlRule("parameter", "sid"), "/sid", "/sid"),
    (UrlRule("argument", "view=flat"), "/x?a=1&view=flat", "/x?a=1"),
    (UrlRule("argument", "view=flat"), "/x?view=flatter", "/x?view=flatter"),
    (UrlRule("value", "sid"), "/x?a=1&sid=7", "/x?a=1&sid="),
    (UrlRule("value", "sid"), "/x?sid=", "/x?sid="),
    (UrlRule("substring", "/print/", "/"), "/print/3", "/3"),
    (UrlRule("substring", "print", "full"), "/print/print", "/full/print"),  # the first place
    (UrlRule("substring", "print"), "/sprint/prints/print", "/sprint/prints/"),  # whole runs of letters and digits
    (UrlRule("substring", "1", "2"), "/10/21/1", "/10/21/2"),
    (UrlRule("substring", "index.html"), "/a/index.html", "/a/"),
    (UrlRule("substring", "?id=", "/"), "/story?id=5", "/story/5"),
    (UrlRule("substring", "/a"), "/a", "/a"),  # the path would be gone
    (UrlRule("substring", "a.example", "b.example"), "/", "/"),  # another host is no rule's business
    (UrlRule("substring", "a"), "/x", "/x"),
])
def test_what_a_rule_makes_of_a_url(rule, url, form):
    assert rule.apply(HOST + url) == HOST + form


def test_a_long_url_is_left_alone():
    rule = UrlRule("parameter", "sid")
    url = f"{HOST}/{'x' * (LENGTH - len(HOST) - 7)}?sid=1"
    assert len(url) == LENGTH and rule.apply(url) == url[:-6] and rule.apply(f"{url}2") == f"{url}2"


@pytest.mark.parametrize("url, origin", [
    ("http://a.example/x//y", "http://a.example"), ("https://a.example:8443/", "https://a.example:8443"),
    ("http://a.example", "http://a.example"), ("http://a.example?x=/", "http://a.example"), ("x", "x"), ("/x", ""),
])
def test_the_host_of_a_url(url, origin):
    assert origin_of(url) == origin


def shuffled(*pages: tuple[str, Any]) -> list[tuple[str, Any]]:
    """Return pages of the host in another order."""
    known = [(HOST + url, content) for url, content in pages]
    random.Random(20261127).shuffle(known)
    return known


def mined(pages: list[tuple[str, Any]], **more: Any) -> dict[str, tuple[int, int]]:
    return {str(each.rule): (each.support, each.against) for each in mine_rules(pages, **more)}


def test_planted_rules_are_found_and_nothing_else():
    pages: list[tuple[str, Any]] = []
    for i in range(20):
        pages += [(f"/p/{i}?page={k}", (i, k)) for k in range(3)]
        pages += [(f"/p/{i}?page={k}&sid={i * 31 + k}", (i, k)) for k in range(3)]
        pages += [(f"/story?id={i}", 1000 + i), (f"/story_{i}", 1000 + i)]
        pages += [(f"/dir/{i}/", 2000 + i), (f"/dir/{i}/index.html", 2000 + i)]
        pages += [(f"/list/{i}?order=up", 3000 + i), (f"/list/{i}", 3000 + i), (f"/list/{i}?order=down", 4000 + i)]
        pages += [(f"/only/{i}?token={i}{k}", 5000 + i) for k in range(3)]
    rules = mined(shuffled(*pages))
    assert rules.pop("the parameter sid changes nothing") == (60, 0)
    assert rules.pop("the parameter token changes nothing") == (20, 0)
    assert rules.pop("order=up changes nothing") == (20, 0)
    assert rules.pop("index.html is the same as nothing") == (20, 0)
    [(other, counts)] = rules.items()
    assert other in ("?id= is the same as _", "_ is the same as ?id=") and counts == (20, 0)


def test_a_rule_that_needs_another_one_is_found():
    """No two URLs differ in the print version alone: each link has a session id of its own."""
    pages = [(f"/p/{i}?print={k}&sid={i}{k}{again}", i) for i in range(9) for k in range(2) for again in range(2)]
    assert mined(shuffled(*pages)) == {
        "the parameter sid changes nothing": (18 // 2, 0), "the parameter print changes nothing": (9, 0)}
    assert mined(shuffled(*pages), known=[UrlRule("parameter", "sid")]) == {"the parameter print changes nothing": (9, 0)}
    assert "the parameter sid changes nothing" not in mined(shuffled(*pages), without={UrlRule("parameter", "sid")})
    assert len(mine_rules(shuffled(*pages), most=1)) == 1


def test_a_page_that_all_urls_show_speaks_once():
    """Whoever is not logged in gets one page under each URL: that the number changes nothing has one content for it."""
    assert mine_rules(shuffled(*((f"/member/?id={i}", "log in") for i in range(500)))) == []
    assert mined(shuffled(*((f"/member/{k}?id={i}", k) for i in range(5) for k in range(SUPPORT)))) == {
        "the parameter id changes nothing": (SUPPORT, 0)}


def test_other_contents_speak_against_a_rule():
    pages = [(f"/p/{i}{more}", i) for i in range(95) for more in ("", "?x=1")]
    wrong = [(f"/q/{i}{more}", f"{i}{more}") for i in range(6) for more in ("", "?x=1")]
    assert mined(shuffled(*pages, *wrong[:10])) == {"the parameter x changes nothing": (95, 5)}
    assert CONFIDENCE > 95 / 101 and mined(shuffled(*pages, *wrong)) == {}
    assert mine_rules(shuffled(*pages[: 2 * SUPPORT - 2])) == []


def test_the_form_is_the_url_that_came_first():
    pages = [(f"{HOST}/{folder}/{i}", i) for folder in ("topic", "print") for i in range(9)]
    assert mined(pages) == {"print is the same as topic": (9, 0)}
    assert mined(pages[::-1]) == {"topic is the same as print": (9, 0)}


def test_examples_are_pages_of_the_rule():
    [one] = mine_rules(shuffled(*((f"/{i}{more}", i) for i in range(9) for more in ("", "?x=1", "?x=2"))))
    assert len(one.examples) == 3 and one.confidence == 1.0
    assert all(one.rule.apply(changed) == one.rule.apply(same) != changed for changed, same in one.examples)


# ---- the reference: every pair, every substitution

TOKEN = re.compile("[a-z0-9]+|[^a-z0-9]")


def shared(one: list[str], other: list[str]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def substitutions(one: str, other: str) -> set[UrlRule]:
    """Return every substitution of whole tokens that makes `one` of `other`, by all their cuts into three pieces."""
    a, b = (TOKEN.findall(url.removeprefix(HOST)) for url in (one, other))
    rules = set()
    for i, j, k, m in itertools.product(range(len(a) + 1), range(len(a) + 1), range(len(b) + 1), range(len(b) + 1)):
        if i <= j and k <= m and a[:i] == b[:k] and a[j:] == b[m:]:
            new, old = a[i:j], b[k:m]
            if max(len(new), len(old)) <= url_rules.TOKENS and max(
                    shared(new, old), shared(new[::-1], old[::-1])) <= url_rules.CONTEXT:
                sides = "".join(old), "".join(new)
                rules.add(UrlRule("substring", *(sides if sides[0] else sides[::-1])))
    return rules


def parameters(one: str, other: str) -> set[UrlRule]:
    """Return every rule of a parameter that makes one form of two URLs."""
    arguments = {each for url in (one, other) for each in url.partition("?")[2].split("&")}
    names = {each.partition("=")[0] for each in arguments} - {""}
    rules = {UrlRule(kind, name) for kind in ("parameter", "value") for name in names}  # type: ignore[arg-type]
    rules |= {UrlRule("argument", each) for each in arguments if each.partition("=")[0]}
    return {rule for rule in rules if rule.apply(one) == rule.apply(other)}


def reference(urls: dict[str, tuple[Any, str]]) -> dict[UrlRule, tuple[int, int]]:
    """Count every rule of every pair of URLs with one content, by the definition, without an index."""
    spoken: Counter[UrlRule] = Counter()
    by_content: dict[Any, set[UrlRule]] = {}
    for one, other in itertools.combinations(urls, 2):
        if urls[one][0] == urls[other][0]:
            of_pair = parameters if one.partition("?")[0] == other.partition("?")[0] else substitutions
            by_content.setdefault(urls[one][0], set()).update(of_pair(one, other))
    for rules in by_content.values():
        spoken.update(rules)
    counted = {}
    for rule in (rule for rule, count in spoken.items() if count >= SUPPORT):
        supporting, against = set(), 0
        for url in urls:
            form = rule.apply(url)
            if form == url:
                continue
            same = [other for other in urls if rule.apply(other) == form]
            of_form = form if form in urls else same[0]
            if of_form != url:
                if urls[of_form][0] == urls[url][0]:
                    supporting.add(urls[url][0])
                else:
                    against += 1
        counted[rule] = len(supporting), against
    return counted


PATHS = st.sampled_from(["/a", "/b", "/a/b", "/a/print", "/b/print", "/print/a", "/print/b", "/a/index.html", "/b/a/b"])
QUERIES = st.sampled_from(["", "?s=1", "?s=2", "?s=3", "?p=1", "?p=1&s=2", "?p=2&s=1"])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(PATHS, QUERIES, st.integers(0, 3)), max_size=14))
def test_a_miner_that_tries_everything_finds_the_same(monkeypatch_support, urls):
    known = {f"{HOST}{path}{query}": (content, "") for path, query, content in urls}
    kept = Counter(content for content, _ in known.values())
    if max(kept.values(), default=0) > MEMBERS:
        return
    expected = reference(known)
    found = {rule: count_rule(rule, known) for rule in find_candidates(known)}
    assert {rule: (each.support, each.against) for rule, each in found.items()} == expected
    best = max((support for support, against in expected.values()
                if support >= 1 and support >= CONFIDENCE * (support + against)), default=0)
    first = mine_rules([(url, content) for url, (content, _) in known.items()], most=1)
    assert [each.support for each in first] == [best] * bool(best)


@pytest.fixture(scope="module")
def monkeypatch_support():
    """Let one content be enough, so that small inputs have rules; count all candidates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_rules, "SUPPORT", 1)
        patch.setattr(url_rules, "CANDIDATES", 10**9)
        patch.setitem(globals(), "SUPPORT", 1)
        yield


@settings(deadline=None)
@given(st.lists(st.text("/?&=.:a1\ud800ä%", max_size=40), max_size=20), st.sampled_from(["", HOST]))
def test_any_key_may_be_given(monkeypatch_support, ends, host):
    """A rule never changes the host."""
    urls = [host + end for end in ends]
    rules = [each.rule for each in mine_rules((url, len(url) % 3) for url in urls)]
    assert all(make_form(url, rules).startswith(origin_of(url)) for url in urls)


def test_urls_of_strangers_take_no_more_than_a_pass():
    """Long URLs, many parameters, a thousand URLs of one content: candidates are bounded."""
    urls = {f"{HOST}/?{'&'.join(f'{i}{k}' for k in range(60))}": (0, "") for i in range(300)}
    urls |= {f"{HOST}/{'/'.join(str(i * k) for k in range(60))}": (i // 2, "") for i in range(2000)}
    urls |= {f"{HOST}/x/{i}": ("same", "") for i in range(2000)}
    assert len(find_candidates(urls)) <= CANDIDATES
