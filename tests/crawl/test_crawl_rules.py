"""Rules of URLs in a crawl: what is dropped, what is checked, what is withdrawn, and whether the account is right."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import pytest

from ndcore.crawl import crawl_rules
from ndcore.crawl.crawl_rules import FORMS, MOST, SHARE, CrawlRules, RuleUse, name_content
from ndcore.store.store import Store
from ndcore.store.url_rules import RULES, MinedRule, UrlRule, mine_rules

HOST = "http://a.example"
SID = UrlRule("parameter", "sid")


def fetch(rules: CrawlRules, url: str, content: str | None, depth: int = 3, *, new: bool = False) -> bool:
    """Decide on a link and learn its page, as the middlewares do; tell whether it was dropped."""
    use = rules.decide(url, depth)
    if use is not None and use.dropped:
        return True
    rules.learn(url, content, depth, use, new=new)
    if (due := rules.take_pages(url)) is not None:
        pages, known, without, most = due
        rules.try_rules(url, mine_rules(pages, known=known, without=without, most=most))
    return False


def crawl(content_of: Callable[[int, int], str] = lambda i, k: f"page {i}", goods: int = 200, *, salt: bytes = b"salt",
          again: int = 4, host: str = HOST) -> tuple[CrawlRules, list[str]]:
    """Crawl pages under session ids, one after the other; return the rules, and the URLs that were dropped."""
    rules, dropped = CrawlRules(salt=salt), []
    seen = set[str]()
    for k in range(again):
        for i in range(goods):
            url = f"{host}/item/{i}" + (f"?sid={i * again + k}" if k else "")
            content = content_of(i, k)
            if fetch(rules, url, content, new=content not in seen):
                dropped.append(url)
            else:
                seen.add(content)
    return rules, dropped


def states(rules: CrawlRules) -> dict[str, str]:
    return {str(trial.rule): trial.state for _, trial in rules.iterate_trials()}


def test_links_are_dropped_after_the_trial():
    rules, dropped = crawl()
    assert states(rules) == {"the parameter sid changes nothing": "used"}  # and no rule that says less is tried beside it
    assert len(dropped) > 350 and all("sid=" in url for url in dropped)
    assert rules.dropped == len(dropped) and 0 < rules.checked < 0.2 * len(dropped) and rules.wrong == 0
    assert rules.unseen()[:2] == (0.0, 0.0) and 0 < rules.unseen()[2] <= 1 / SHARE * 4
    assert rules.has_rules(HOST + "/") and not rules.has_rules("http://b.example/")


def test_rules_are_of_one_host():
    rules, _ = crawl()
    fetch(rules, "http://b.example/item/1", "page 1")
    assert not fetch(rules, "http://b.example/item/1?sid=x", "page 1")
    assert not fetch(rules, "https://a.example/item/1?sid=x", "page 1")


def test_what_has_no_page_is_fetched():
    """The page with the form of a link has not come, failed, or is farther from the start."""
    rules, _ = crawl()
    links = [f"{HOST}/item/{i}?sid=x" for i in range(1000, 1100)]
    assert not any(fetch(rules, url, None) for url in links)  # no text: not a page that others could be dropped for
    assert not any(fetch(rules, url, f"new {url}", depth=5) for url in [f"{HOST}/item/{i}?sid=y" for i in range(1000, 1100)])
    assert not any(fetch(rules, f"{HOST}/item/{i}?sid=z", "x", depth=4) for i in range(1000, 1002))
    checked = [fetch(rules, f"{HOST}/item/{i}?sid=z", f"new {HOST}/item/{i}?sid=y", depth=5) for i in range(1002, 1100)]
    assert sum(checked) > 80


def test_a_trial_counts_what_would_be_dropped():
    """The page with the form came farther from the start: nothing would have been dropped for it."""
    rules = CrawlRules(salt=b"salt")
    rules.learn(f"{HOST}/", "home", 0)
    rules.try_rules(HOST, [MinedRule(SID, 5, 0, ())])
    for depth, rights in ((3, 0), (9, 10)):
        for i in range(10):
            rules.learn(f"{HOST}/item/{i}", f"page {i}", 9)
            rules.learn(f"{HOST}/item/{i}?sid={depth}", f"page {i}", depth)
        assert [len(trial.right) for _, trial in rules.iterate_trials()] == [rights]


def test_a_trial_on_pages_with_other_contents_refutes_a_rule():
    rules = CrawlRules(salt=b"salt")
    rules.learn(f"{HOST}/", "home", 0)
    rules.try_rules(HOST, [MinedRule(SID, 5, 0, ())])
    assert not any(fetch(rules, f"{HOST}/item/{i}{more}", f"page {i}{more}") for i in range(200) for more in ("", "?sid=1"))
    [(_, trial)] = rules.iterate_trials()
    assert trial.state == "refuted" and not trial.right and trial.wrong


def test_a_url_that_no_rule_changes_is_never_dropped():
    rules, _ = crawl()
    for i in range(2000, 2100):
        fetch(rules, f"{HOST}/item/{i}?sid=1", f"item {i}")
        assert not fetch(rules, f"{HOST}/item/{i}", f"item {i}")


def test_rules_that_are_wrong_are_not_used():
    rules, dropped = crawl(lambda i, k: f"page {i} {k}" if i % 5 == 0 else f"page {i}")
    assert dropped == [] and "used" not in states(rules).values()


def test_a_site_that_changes_its_mind_is_found_out():
    """Session ids change nothing until the rule is used; from then on each URL has a page of its own."""
    lost = []
    for salt in range(40):
        rules, _ = crawl(salt=bytes([salt]))
        gone = sum(fetch(rules, f"{HOST}/item/{i}?sid=late{i}", f"late {i}", new=True) for i in range(200))
        assert states(rules)["the parameter sid changes nothing"] == "withdrawn"
        assert rules.wrong >= 2 and rules.unseen()[0] > 0
        assert not any(fetch(rules, f"{HOST}/item/{i}?sid=later{i}", f"later {i}") for i in range(200))
        lost.append(gone)
    assert sum(lost) / 40 < 2.5 * 2 / SHARE


def test_a_kind_of_url_on_which_a_rule_is_wrong_is_fetched():
    rules, _ = crawl()
    for i in range(300):
        fetch(rules, f"{HOST}/other/{i}/x", f"other {i}", new=True)
        assert not fetch(rules, f"{HOST}/other/{i}/x?sid=1", f"another {i}", new=True)
    assert states(rules)["the parameter sid changes nothing"] == "used" and rules.weights == []
    assert sum(fetch(rules, f"{HOST}/item/{i}?sid=again", f"page {i}") for i in range(200)) > 150


def test_the_estimate_is_right_on_the_average():
    """Three of a hundred links lead to new content: too seldom to withdraw the rule at once."""
    source = random.Random(20261127)
    new = {i for i in range(200, 800) if source.random() < 0.03}
    errors, truths = [], []
    for salt in range(80):
        rules = CrawlRules(salt=salt.to_bytes(2))
        lost = 0
        for i in range(800):
            fetch(rules, f"{HOST}/item/{i}", f"page {i}")
            content = f"new {i}" if i in new else f"page {i}"
            lost += fetch(rules, f"{HOST}/item/{i}?sid={i}", content, new=i in new) and i in new
        errors.append(rules.unseen()[0] - lost)
        truths.append(lost)
    error, n = sum(errors) / len(errors), len(errors)
    deviation = (sum((each - error) ** 2 for each in errors) / (n - 1) / n) ** 0.5
    assert sum(truths) / n > 5 and abs(error) < 4 * deviation


def test_the_state_survives_a_pause():
    rules, _ = crawl()
    again = pickle.loads(pickle.dumps(rules))
    assert again == rules and again.decide(f"{HOST}/item/1?sid=new", 3) == rules.decide(f"{HOST}/item/1?sid=new", 3)
    assert RuleUse(*tuple(RuleUse(False, 1.0, 1, 2, (3,)))).content == 1


@pytest.mark.parametrize("host", ["http://a.example", "http://{}.example"])
def test_urls_of_strangers_take_no_more_memory(monkeypatch, host):
    monkeypatch.setattr(crawl_rules, "PAGES", 1000)
    monkeypatch.setattr(crawl_rules, "OF_HOST", 300)
    monkeypatch.setattr(crawl_rules, "HOSTS", 50)
    rules = CrawlRules(salt=b"salt")
    for i in range(3000):
        rules.learn(f"{host.format(i % 700)}/{i}?a={i}", f"{i // 2}", 3)
        assert rules._remembered == sum(len(each.pages) for each in rules._hosts.values()) <= 1000
    assert len(rules._hosts) <= 50
    for each in rules._hosts.values():
        assert len(each.forms) <= FORMS * max(64, len(each.pages)) and len(each.pages) <= 300


def test_rules_are_mined_when_twice_as_many_pages_came():
    rules, mined = CrawlRules(), []
    rules.learn(f"{HOST}/0", "0", 1)
    rules.try_rules(HOST, [MinedRule(SID, 5, 0, ())])
    for i in range(3 * MOST):
        rules.learn(f"{HOST}/{i}", str(i), 1)
        if (due := rules.take_pages(HOST)) is not None:
            mined.append(i + 1)
            assert due[1:] == ([SID], {SID}, RULES - 1)  # others are sought beside the rule on trial, not in its place
    assert mined == [64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288]


def test_the_account_in_words():
    rules, _ = crawl(goods=20)
    assert rules.account() == (
        "of 1 rule of URLs that were tried 0 are in use, 0 were refuted and 0 withdrawn; 0 links dropped by rules, 0 "
        "fetched to check them, of which 0 led to another content")
    rules = CrawlRules(dropped=2000, checked=100, wrong=3, weights=[19.0], heaviest=19.0)
    assert rules.account().endswith("about 19 contents unseen (95 %: 0 to 106), and what lies behind those is not counted")


def test_the_name_of_a_content(tmp_path):
    """Pages with the same words share it, and near-duplicates do not."""
    text = " ".join(f"word{i}" for i in range(60))
    with Store.open(tmp_path / "s") as store:
        texts = [text, text + ".", text + " more", text + " more", "something else", "something else!"]
        names = [name_content(store.decide(f"{i}", each)) for i, each in enumerate(texts)]
        assert [store.peek(each).verdict for each in texts[:3]] == ["identical", "lexical", "near"]
    assert names[0] == names[1] != names[2] == names[3] and names[4] == names[5] and len({*names}) == 3
