"""Kinds of links, and hashes with a salt."""

import pytest

from ndcore.crawl.link_kinds import PARAMETERS, hash_salted, name_kind


@pytest.mark.parametrize("one, other, same", [
    ("http://a.example/x/1?p=2", "http://a.example/x/7?p=3", True),
    ("http://a.example/x/1?p=2&q=1", "http://a.example/x/1?q=2&p=1", True),
    ("http://a.example/x/1", "http://a.example/y/1", False),
    ("http://a.example/x/1", "http://a.example/x/1/2", False),
    ("http://a.example/x/1?p=", "http://a.example/x/1", False),
    ("http://a.example/1", "http://a.example/2", True),  # the last name is of a page
])
def test_the_kind_of_a_link(one, other, same):
    assert (name_kind(one) == name_kind(other)) is same


def test_the_host_is_apart():
    assert name_kind("http://a.example:80/x/1")[0] == b"a.example:80"
    assert name_kind("http://a.example/x/1")[1] == name_kind("http://b.example/x/1")[1]


def test_parameters_without_end():
    urls = [f"http://a.example/?{'&'.join(f'p{i}=' for i in range(count))}" for count in (PARAMETERS, 10 * PARAMETERS)]
    assert name_kind(urls[0]) == name_kind(urls[1])


def test_hashes_have_64_bits_and_a_salt():
    hashes = {hash_salted(bytes([i]), salt) for i in range(100) for salt in (b"one", b"two")}
    assert len(hashes) == 200 and max(hashes) >= 1 << 62 and max(hashes) < 1 << 64
