"""Held links: what is reached on generated sites and by how many requests, and whether the estimate of the loss is right."""

from __future__ import annotations

import heapq
import itertools
import pickle
import random
from typing import Any

import pytest
import sites

pytest.importorskip("zstandard", reason="the extra store is not installed")
pytest.importorskip("resiliparse", reason="the extra web is not installed")

from ndcore.crawl.held_links import BUDGET, HOSTS, SHARE, HeldLinks, Turn
from ndcore.crawl.link_kinds import KINDS
from ndcore.files.html_text import make_html_reader
from ndcore.store.store import Store

STARTS = ("http://a.example/", "http://b.example/")
LAST = 1000  # added to the depth of a link that waits
SHUFFLED = 50  # places by which a link may come earlier than those before it, as where pages come at the same time


def crawl(site: Any, folder: Any, held: HeldLinks | None) -> tuple[set[str], int]:
    """Crawl a site breadth first without a network, as the middlewares do; return the contents and the number of requests.

    held: None: all links are followed.
    """
    source = random.Random(20261126)
    read, contents, requests = make_html_reader("the crawl", "page"), set[str](), 0
    seen, number = set(STARTS), itertools.count(len(STARTS))
    queue: list[Any] = [(0, i, url, 0, False, None) for i, url in enumerate(STARTS)]
    followed: dict[Any, int] = {}
    with Store.open(folder, keys="url") as store:
        while queue:
            _, _, url, depth, waits, through = heapq.heappop(queue)
            turn = None
            if waits and held is not None and (turn := held.decide(url.encode(), url, through)) is None:
                continue
            requests += 1
            if (answer := site.answer(url)) is None:
                continue
            contents |= {answer.content} - {None}
            holds = False
            if held is not None:
                verdict = store.decide(url, read(answer.html.encode(), "utf-8"))
                held.contents += verdict.kept
                if turn is not None:
                    held.learn(turn, new=verdict.kept)
                holds = depth >= 1 and not verdict.kept and followed.get(verdict.cluster, depth + 1) <= depth
                if not holds:
                    followed[verdict.cluster] = min(depth, followed.get(verdict.cluster, depth))
            for link in sites.links_of(url, answer) if depth < site.depth else ():
                if not holds and held is not None:
                    held.let_go(link.encode())
                if link not in seen and not (holds and not held.hold(link.encode())):  # type: ignore[union-attr]
                    seen.add(link)
                    place = next(number) + source.randrange(SHUFFLED)
                    heapq.heappush(queue, (depth + 1 + LAST * holds, place, link, depth + 1, holds, turn))
    return contents, requests


@pytest.mark.slow
@pytest.mark.parametrize("name", sites.SITES)
def test_sites_are_reached_by_half_of_the_requests(name, tmp_path):
    everything, all_requests = crawl(site := sites.SITES[name](), tmp_path / "plain", None)
    contents, requests = crawl(site, tmp_path / "store", held := HeldLinks(0.01, 300, salt=b"salt"))
    assert contents <= everything and len(contents) >= 0.99 * len(everything)
    assert requests <= all_requests / 2
    assert held.dropped > 0 and (held.new > 0 or name == "wiki")


@pytest.mark.slow
@pytest.mark.parametrize("name, share", [
    ("shop", 0.98), ("wiki", 0.98),
    ("calendar", 0.3),  # what lies behind months that are all alike is not counted
])
def test_where_urls_tell_nothing_the_estimate_keeps_the_loss_low(name, share, tmp_path):
    """All links of a host are of one kind: fewer requests are saved."""
    everything, all_requests = crawl(site := sites.Opaque(sites.SITES[name]()), tmp_path / "plain", None)
    contents, requests = crawl(site, tmp_path / "store", HeldLinks(0.01, 300, salt=b"salt"))
    assert len(contents) >= share * len(everything) and requests < all_requests


def run(held: HeldLinks, links: dict[str, bool]) -> set[str]:
    """Hold links and give them their turn, in order; return the dropped ones. links: whether each leads to anything new."""
    for url in links:
        assert held.hold(url.encode())
    dropped = set()
    for url, new in links.items():
        turn = held.decide(url.encode(), url)
        if turn is None:
            dropped.add(url)
        else:
            held.contents += new
            held.learn(turn, new=new)
    return dropped


def test_the_estimate_is_right_on_the_average_and_its_interval_covers():
    """Kinds of links that lead to new content never, rarely and often, decided on under 60 salts."""
    source = random.Random(20261126)
    chances = {"never": 0.0, "rarely": 0.01, "seldom": 0.004}
    links = {f"http://a.example/{kind}/{i}": source.random() < chance
             for i in range(1500) for kind, chance in chances.items()}
    errors, truths, covered = [], [], 0
    for trial in range(60):
        held = HeldLinks(0.9, 60, salt=trial.to_bytes(2))
        truth = sum(links[url] for url in run(held, links))
        estimate, low, high = held.unseen()
        errors.append(estimate - truth)
        truths.append(truth)
        covered += low <= truth <= high
    assert held.drawn > 3000 and sum(truths) / 60 > 10
    error = sum(errors) / 60
    deviation = (sum((each - error) ** 2 for each in errors) / 59 / 60) ** 0.5
    assert abs(error) < 4 * deviation
    assert covered >= 56


def test_a_kind_that_pays_is_followed_and_one_that_does_not_is_sampled():
    links = {f"http://a.example/item/{i}/manual": True for i in range(1000)}
    links |= {f"http://b.example/item/{i}/manual": False for i in range(1000)}
    held = HeldLinks(0.01, 30, salt=b"salt")
    dropped = run(held, links)
    assert all("b.example" in url for url in dropped) and len(dropped) > 900
    assert held.followed >= 1000 + 30 and held.new == 1000 and held.drawn == 1000 - BUDGET
    assert held.unseen()[:2] == (0.0, 0.0) and 0 < held.unseen()[2] <= len(dropped)


def test_links_are_followed_with_the_stated_probability():
    """All links of one kind: the n-th that could be dropped is followed with probability sample / SHARE / n."""
    sample, links = 30, {f"http://a.example/{i}": False for i in range(5000)}
    held = HeldLinks(0.01, sample, salt=b"salt")
    run(held, links)
    chances = [sample / SHARE / n for n in range(sample - BUDGET + 1, held.drawn + 1)]
    deviation = sum(chance * (1 - chance) for chance in chances) ** 0.5
    assert held.drawn == 5000 - BUDGET
    assert abs(held.followed - sample - sum(chances)) < 4 * deviation < sum(chances)


def test_a_kind_is_followed_until_its_pages_have_come():
    """Links that are on their way tell nothing yet, so none of their kind is dropped meanwhile."""
    held = HeldLinks(0.01, 1, salt=b"salt")
    links = [f"http://a.example/{i}" for i in range(2000)]
    for url in links:
        held.hold(url.encode())
    turns = [held.decide(url.encode(), url) for url in links[:1000]]
    assert None not in turns
    for turn in turns[:BUDGET]:
        held.learn(turn, new=False)  # type: ignore[arg-type]
    assert [held.decide(url.encode(), url) for url in links[1000:]].count(None) > 900


def test_a_kind_that_leads_on_pays():
    """Products are near each other, and each leads to a manual: so links to products are followed."""
    held = HeldLinks(0.01, 2 * BUDGET, salt=b"salt")
    for i in range(1000):
        product, manual = f"http://a.example/product/{i}/x", f"http://a.example/manual/{i}"
        assert held.hold(product.encode()) and held.hold(manual.encode())
        turn = held.decide(product.encode(), product)
        assert turn is not None and turn.weight == 0.0
        held.learn(turn, new=False)
        behind = held.decide(manual.encode(), manual, turn)
        assert behind is not None and behind.kinds[1:] == turn.kinds
        held.learn(behind, new=True)
    assert held.new == 1000 and held.dropped == held.drawn == 0


@pytest.mark.parametrize("trap", [
    lambda i: f"http://h{i}.example/", lambda i: f"http://a.example/{i}/x", lambda i: f"http://a.example/?p{i}=1",
    lambda i: f"http://a.example/x?id={i}", lambda i: "http://a.example" + "/x" * i,
])
def test_a_trap_without_end_is_left(trap):
    """Each page is like all others, and links to three that were not seen before: on hosts or in folders of their own."""
    held, waiting, number = HeldLinks(0.01, 300, salt=b"salt"), [trap(0)], 1
    while waiting and held.followed < 10_000:
        url = waiting.pop(0)
        held.hold(url.encode())
        if (turn := held.decide(url.encode(), url)) is not None:
            held.learn(turn, new=False)
            waiting += [trap(i) for i in range(number, number + 3)]
            number += 3
    assert 300 <= held.followed < 1500


def test_all_are_followed_up_to_the_sample():
    held = HeldLinks(0.01, 300, salt=b"salt")
    assert run(held, {f"http://a.example/{i}": False for i in range(300)}) == set()
    assert held.unseen() == (0.0, 0.0, 0.0)
    assert held.account(0) == "of 300 held links 300 were followed and 0 led to new content; none was dropped"


def test_the_account_in_words():
    held = HeldLinks(0.01, 300, followed=310, new=12, dropped=30_690, heaviest=99.0, weights=[99.0] * 12)
    assert held.account(5000) == (
        "of 31,000 held links 310 were followed and 12 led to new content; 30,690 were dropped: about 1,188 contents unseen "
        "(95 %: 614 to 2,075), and what lies behind those is not counted; up to 5,000 more wait")


def test_what_waits_and_what_does_not():
    held = HeldLinks(0.01, 1, salt=b"salt")
    assert held.hold(b"a") and not held.hold(b"a") and held.hold(b"b")
    held.let_go(b"a")
    held.let_go(b"c")
    turn = held.decide(b"a", "http://a.example/")  # a page that is followed leads there, too
    assert turn == Turn(weight=0.0, unknown=False, kinds=()) and held.followed == 0
    held.learn(turn, new=True)
    assert held.new == 0
    assert held.decide(b"b", "http://a.example/") is not None and held.followed == 1 and not held.waiting
    again = pickle.loads(pickle.dumps(held))
    assert again == held


@pytest.mark.parametrize("url", ["http://a.example", "http://a.example/?" + "&".join(f"{i}=" for i in range(10_000)),
                                 "http://a.example/" + "/" * 5000, "http://a.example/%\xff?\ud800=1", "data:,x"])
def test_any_url_is_of_some_kind(url):
    held = HeldLinks(0.01, 1)
    held.hold(url.encode("utf-8", "replace"))
    assert held.decide(url.encode("utf-8", "replace"), url) is not None


def test_hosts_and_kinds_of_strangers_take_no_more_memory():
    held = HeldLinks(0.01, 1)
    links = [f"http://a.example/{i}/x" for i in range(3 * KINDS)] + [f"http://{i}.example/x" for i in range(2 * HOSTS)]
    run(held, dict.fromkeys(links, False))
    assert len(held._kinds) == HOSTS and all(len(kinds) <= KINDS + 1 for kinds in held._kinds.values())
