"""Answers of search engines and retrievers: the same form without folded hits, and what is refused.

The classes of LangChain and LlamaIndex are small ones here with the documented attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import ndcore as nd

ROSE = "a rose is a rose is a rose"
TEXTS = [ROSE, "something else entirely, as it seems to be", ROSE + " is a rose",
         "Something else entirely; as it seems to be!"]
FOLDED = {0: [2], 1: [3]}


@dataclass
class Document:
    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class TextNode:
    node_id: str
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def get_content(self) -> str:
        return self.text


@dataclass
class NodeWithScore:
    node: TextNode
    score: float | None = None


def opensearch() -> dict[str, Any]:
    hits = [{"_index": "pages", "_id": f"d{i}", "_score": 4.0 - i, "_source": {"article": {"body": text}, "date": i % 3},
             "highlight": {"body": ["<em>rose</em>"]}, "inner_hits": {"more": {"hits": {"hits": [{"_id": "inner"}]}}}}
            for i, text in enumerate(TEXTS)]
    inner = {"total": {"value": 10_000, "relation": "gte"}, "max_score": 4.0, "hits": hits}
    return {"took": 2, "timed_out": False, "hits": inner, "aggregations": {"n": {"value": 4}}}


def solr() -> dict[str, Any]:
    return {"responseHeader": {"status": 0}, "highlighting": {"d0": {}, "d2": {}}, "response": {
        "numFound": 4, "start": 0, "docs": [{"id": f"d{i}", "body": [text], "score": 1.0} for i, text in enumerate(TEXTS)]}}


def documents() -> list[Document]:
    return [Document(text, {"url": f"u{i}", "whole": ["a", text]}, f"d{i}") for i, text in enumerate(TEXTS)]


@pytest.fixture
def store(tmp_path):
    with nd.Store.open(tmp_path / "store", shingling=nd.Shingling(width=3)) as opened:
        for i, text in enumerate(TEXTS):
            opened.decide(f"d{i}", text, 100 - i)
        yield opened


# ---- forms


def test_a_response_of_opensearch_keeps_all_else():
    answer, before = opensearch(), opensearch()
    result = nd.collapse_hits(answer, text="article.body")
    assert answer == before and result.folded == FOLDED
    expected = opensearch()
    expected["hits"]["hits"] = expected["hits"]["hits"][:2]
    assert result.response == expected and list(result.response) == list(before)
    assert result.response["hits"]["hits"][0] is answer["hits"]["hits"][0]
    assert result.hits == before["hits"]["hits"] and result.shown == TEXTS[:2] and result.unknown == []


def test_a_response_of_solr_keeps_all_else():
    answer, expected = solr(), solr()
    result = nd.collapse_hits(answer, text="body")
    expected["response"]["docs"] = expected["response"]["docs"][:2]
    assert answer == solr() and result.response == expected and result.folded == FOLDED


@pytest.mark.parametrize("hits", [
    opensearch()["hits"]["hits"], tuple(opensearch()["hits"]["hits"]),
    [{"_id": f"d{i}", "fields": {"article.body": [text]}} for i, text in enumerate(TEXTS)],
    [{"id": f"d{i}", "article": {"body": text.encode()}} for i, text in enumerate(TEXTS)],
    [{"id": f"d{i}", "article.body": text} for i, text in enumerate(TEXTS)],
])
def test_lists_of_objects(hits, store):
    for result in (nd.collapse_hits(hits, text="article.body"), nd.collapse_hits(hits, by=store)):
        assert result.folded == FOLDED and type(result.response) is type(hits)
        assert result.response == hits[:2]


def test_documents_of_langchain(store):
    plain = documents()
    scored = [(document, 0.5) for document in plain]
    for hits in (plain, scored):
        for given in ({}, {"text": "whole"}, {"by": store}):
            result = nd.collapse_hits(hits, **given)
            assert result.folded == FOLDED and result.response == hits[:2]
        assert nd.collapse_hits(hits, by=store, id="url").unknown == ["u0", "u1", "u2", "u3"]
    assert nd.collapse_hits(plain, text=lambda hit: hit.page_content.upper()).shown == [text.upper() for text in TEXTS[:2]]


def test_nodes_of_llama_index(store):
    nodes = [NodeWithScore(TextNode(f"d{i}", text, {"url": f"u{i}"})) for i, text in enumerate(TEXTS)]
    for given in ({}, {"by": store}, {"by": store, "id": lambda hit: hit.node.node_id}):
        result = nd.collapse_hits(nodes, **given)
        assert result.folded == FOLDED and result.response == nodes[:2]


@pytest.mark.parametrize("empty", [[], (), {"hits": {"hits": []}}, {"response": {"docs": []}}])
def test_nothing_to_fold(empty):
    result = nd.collapse_hits(empty, text="body")
    assert result.response == empty and type(result.response) is type(empty)
    assert (len(result), result.kept, result.folded, result.shown) == (0, [], {}, [])


# ---- what is folded, and what is shown


def test_labels_are_those_of_collapse():
    shingling, hits = nd.Shingling(width=2), [{"body": text} for text in [*TEXTS, "a rose is", ROSE[:20]]]
    for options in ({"threshold": 0.3}, {"drop": "contained"}, {"threshold": 1.0}):
        result = nd.collapse_hits(hits, text="body", shingling=shingling, **options)
        expected = nd.collapse([hit["body"] for hit in hits], shingling=shingling, **options)
        assert result.labels == expected.labels.tolist() and result.folded == expected.folded


def test_the_best_hit_takes_the_place_of_the_first():
    answer = opensearch()
    by_date = nd.collapse_hits(answer, text="article.body", best=lambda hit: hit["_source"]["date"])
    assert [hit["_id"] for hit in by_date.response["hits"]["hits"]] == ["d2", "d1"]
    assert by_date.folded == {2: [0], 1: [3]} and by_date.kept == [2, 1]
    assert nd.collapse_hits(answer, text="article.body", best=[0, 0, 0, 1]).kept == [0, 3]


def test_the_best_hit_of_a_store(store):
    assert nd.collapse_hits(documents(), by=store, best="latest").kept == [0, 1]
    backwards = documents()[::-1]
    assert nd.collapse_hits(backwards, by=store).kept == [0, 1]
    for best in ("latest", "representative", lambda hit: -int(hit.id[1:])):
        assert nd.collapse_hits(backwards, by=store, best=best).kept == [2, 3]


def test_later_pages_do_not_repeat_earlier_ones(store):
    first, second = documents()[:2], [*documents()[2:], Document("a new text of its own, unlike the others", {}, "new")]
    for given, shown in (({}, [*TEXTS[:2], second[2].page_content]), ({"by": store}, ["d0", "d1", "new"])):
        one = nd.collapse_hits(first, **given)
        two = nd.collapse_hits(second, **given, earlier=one.shown)
        assert two.response == second[2:] and two.repeated == [0, 1] and two.labels == [-1, -1, 2]
        assert one.shown + two.shown == shown
        assert nd.collapse_hits(second, **given, earlier=one.shown + two.shown).response == []
    assert two.unknown == ["new"]


# ---- what is refused


class Answer:
    """A response of a client that wraps the JSON."""

    body = opensearch()


@pytest.mark.parametrize(("answer", "error", "message"), [
    ({"error": {"type": "x"}, "status": 400}, ValueError, "but error, status; give a response of OpenSearch"),
    ({"hits": {"total": 0}}, ValueError, "hits.hits of the response is a list of hits, got None"),
    ({"response": {"docs": "d"}}, ValueError, "response.docs of the response is a list of hits, got 'd'"),
    ({"hits": {"hits": [{"total": 7}]}}, TypeError, "hit 0 is .*; here a hit is a hit of OpenSearch"),
    ({"response": {"docs": [7]}}, TypeError, "hit 0 is 7 of type int"),
    (Answer(), TypeError, "of type Answer: give its attribute body"),
    ("hits", TypeError, "of type str: give a response"), (iter([]), TypeError, "list_iterator"),
    ([{"body": ROSE}, Document(ROSE)], ValueError, "hit 0 is an object, and hit 1 is a Document; give hits of one form"),
    ([{"body": ROSE}, None], TypeError, "hit 1 is None of type NoneType"),
    ([{"title": ROSE}], ValueError, "hit 0 has no field 'body'; it has title"),
    ([{"_id": 1, "_source": {"title": ROSE}}], ValueError, "hit 0 has no field 'body'; it has title, _id, _source"),
    ([{"body": ROSE}, {"body": None}], ValueError, "the text of hit 1 is None; it must be str or bytes"),
    ([{"body": 7}], TypeError, "the text of hit 0 is 7 of type int"), ([{"body": []}], TypeError, "the text of hit 0"),
    ([{"body": [ROSE, 7]}], TypeError, "the text of hit 0"), ([Document(None)], ValueError, "hit 0 has no field 'body'"),
    ([{str(i): 1 for i in range(100)}], ValueError, "it has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …"),
    ([{str(i): 1 for i in range(12)}], ValueError, "it has 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11$"),
])  # fmt: skip
def test_answers_that_are_refused(answer, error, message):
    with pytest.raises(error, match=message):
        nd.collapse_hits(answer, text="body")


def test_arguments_that_are_refused(store):
    hits = [{"id": "d0", "body": ROSE}]
    for given, error, message in (
        ({}, ValueError, "hit 0 is an object: name the field of its text, such as text='body'; it has id, body"),
        ({"text": 7}, TypeError, "got 7"), ({"text": "body", "id": "id"}, ValueError, "id is for by"),
        ({"text": "body", "by": store}, ValueError, "text is for texts; with by they are not read: leave it out"),
        ({"by": store, "threshold": 0.5}, ValueError, "threshold is for texts"),
        ({"by": store, "shingling": nd.Shingling()}, ValueError, "shingling is for texts"),
        ({"by": "store"}, TypeError, "by is a Collection, a Store or a StoreClient, got 'store'"),
        ({"by": store, "id": "url"}, ValueError, "hit 0 has no field 'url'"),
        ({"by": store, "id": lambda hit: None}, ValueError, "the id of hit 0 is None"),
        ({"by": store, "id": lambda hit: 1.5}, TypeError, "the id of hit 0 is 1.5 of type float"),
        ({"text": "body", "best": "latest"}, ValueError, "best must be one of rank, got 'latest'"),
        ({"text": "body", "best": lambda hit: None}, ValueError, "value 0 of best is None"),
        ({"text": "body", "earlier": ROSE}, TypeError, "earlier is a list"),
    ):
        with pytest.raises(error, match=message):
            nd.collapse_hits(hits, **given)
    with pytest.raises(ValueError, match="the id of hit 0 is None"):
        nd.collapse_hits([Document(ROSE)], by=store)
    with pytest.raises(ValueError, match="the text of hit 0 is None"):
        nd.collapse_hits([Document(None)])
