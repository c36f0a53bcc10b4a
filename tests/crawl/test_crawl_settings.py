"""Settings of a crawl: defaults, what is accepted, what is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("scrapy", reason="the extra scrapy is not installed")

from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

from ndcore.crawl.crawl_settings import CrawlSettings


def read(**given: object) -> CrawlSettings:
    return CrawlSettings.of(Settings({"NDCORE_STORE": "no/such/folder", **given}))


def test_without_a_store_the_component_is_left_out():
    with pytest.raises(NotConfigured, match="NDCORE_STORE"):
        CrawlSettings.of(Settings())


def test_defaults():
    settings = read()
    assert (settings.store, settings.drop, settings.field) == ("no/such/folder", frozenset(), "ndcore")
    assert (settings.min_depth, settings.min_chars, settings.held, settings.part) == (1, 300, "drop", "page")
    assert settings.options == {"keys": "url"} and settings.text is None


def test_the_settings_of_a_store_that_exists_are_taken_from_it(tmp_path):
    (tmp_path / "manifest").write_text("{}")
    assert read(NDCORE_STORE=str(tmp_path)).options == {}
    assert read(NDCORE_STORE=str(tmp_path), NDCORE_OPTIONS={"keys": "plain"}).options == {"keys": "plain"}


def test_a_shared_store_has_the_settings_of_its_process():
    assert read(NDCORE_SHARED="1").shared and read(NDCORE_SHARED="1").options == {}


def test_options_of_a_new_store():
    settings = read(NDCORE_THRESHOLD="0.9", NDCORE_OPTIONS='{"keys": "plain", "evidence": "sketch"}')
    assert settings.options == {"keys": "plain", "evidence": "sketch", "threshold": 0.9}


@pytest.mark.parametrize("given, dropped", [
    (True, {"identical", "lexical", "shingle", "near"}), ("1", {"identical", "lexical", "shingle", "near"}), (False, set()),
    ("False", set()), ("identical,near", {"identical", "near"}), (["lexical"], {"lexical"}), ([], set()),
])
def test_verdicts_to_drop(given, dropped):
    assert read(NDCORE_DROP=given).drop == dropped


def test_the_text_may_be_a_function_or_its_path():
    assert read(NDCORE_TEXT=len).text is len
    assert read(NDCORE_TEXT="textwrap.dedent").text.__name__ == "dedent"


@pytest.mark.parametrize("given, message", [
    ({"NDCORE_DROP": "identical,kept"}, "NDCORE_DROP has 'kept'"), ({"NDCORE_HELD": "never"}, "NDCORE_HELD"),
    ({"NDCORE_PART": "head"}, "NDCORE_PART"), ({"NDCORE_MIN_CHARS": -1}, "NDCORE_MIN_CHARS is -1"),
    ({"NDCORE_OPTIONS": {"read_only": True}}, "a crawl writes"),
    ({"NDCORE_SHARED": True, "NDCORE_THRESHOLD": 0.9}, "threshold; the process"),
])
def test_what_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        read(**given)
