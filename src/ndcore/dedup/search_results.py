"""Fold near-duplicates in the answers of search engines and retrievers, in the form in which these give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from ndcore._types import Text
from ndcore.checks import is_int
from ndcore.dedup.collapse import collapse
from ndcore.human import enumerated
from ndcore.pairs.folding import CollapsedKeys, FoldedList, check_best, fold, group_positions, list_keys
from ndcore.text.shingling import Shingling

MOST_NAMES = 12  # fields that a message lists
FORMS = ("a response of OpenSearch or Elasticsearch (hits.hits), a response of Solr (response.docs), or a list of hits, of "
         "objects with fields, of Documents of LangChain, of pairs (Document, score), or of NodeWithScore of LlamaIndex")

Of = Callable[[Any], Any]  # what a caller's function says of a hit


class CollapsesKeys(Protocol):
    """A collection or a store, which folds a list of its keys."""

    def collapse(self, ids: Iterable[Any], /, *, best: Any = "rank", earlier: Iterable[Any] = ()) -> CollapsedKeys: ...


@dataclass(frozen=True, repr=False)
class CollapsedHits(FoldedList):
    """A ranked list of hits, folded; positions are those in `hits`.

    Attributes
    ----------
    hits : list
        All hits of the response, best first: the objects as given.
    labels : list of int
        Position of the hit that is shown for hit i: i if it is shown itself; -1 if an earlier page showed its cluster.
    response : as given
        The response with only the hits that are shown. Everything else is as in the given one, which is not changed.
    shown : list
        The texts of the hits that are shown, or with `by` their ids: give them as `earlier` for the next page.
    unknown : list
        With `by`, the ids that the collection or store does not know. Each is a cluster of its own.
    """

    hits: list[Any]
    labels: list[int]
    response: Any
    shown: list[Any]
    unknown: list[Any]


def collapse_hits(
    response: Any, *, text: str | Of | None = None, by: CollapsesKeys | None = None, id: str | Of | None = None,
    best: Literal["rank", "representative", "latest"] | Of | Sequence[Any] = "rank", earlier: Iterable[Any] = (),
    threshold: float | None = None, shingling: Shingling | None = None,
    drop: Literal["resembling", "contained"] | None = None,
) -> CollapsedHits:
    """Fold near-duplicates in the answer of a search engine or a retriever, and return the answer without them.

    The texts of the hits are compared with each other, as by `collapse`; or, with `by`, the hits are folded by the clusters
    of a collection or a store, which knows them by their ids, and no text is read.

    Parameters
    ----------
    response : dict or sequence
        The JSON of OpenSearch or Elasticsearch (``hits.hits``) or of Solr (``response.docs``), as Python objects. Or a list
        of hits, all of one form: objects of such responses; ``Document`` of LangChain, or pairs ``(Document, score)``;
        ``NodeWithScore`` of LlamaIndex. Objects are recognised by their attributes.
    text : str or callable, optional
        The field of the text: of ``_source`` (else of ``fields``) of OpenSearch, of metadata of LangChain and LlamaIndex.
        ``a.b`` is the field b of the object a. A list of str is joined by line breaks. A callable is given a hit, and
        returns its text. None: the content of a Document or a node; other hits need a field.
    by : Collection, Store or StoreClient, optional
        Without `text`, `threshold`, `shingling` and `drop`, which are about texts.
    id : str or callable, optional
        With `by`, the field of the ids by which it knows the hits, such as the URL; or a callable as for `text`. None:
        ``_id`` of OpenSearch; the field ``id`` of Solr and of objects; ``id`` of a Document; ``node_id`` of a node.
    best : "rank", callable or sequence; with `by` also "representative" or "latest"
        Which hit is shown for its cluster, in the place of the first one: the first in rank, or the one with the greatest
        value, such as a date. A callable is given a hit, and returns its value; a sequence has a value for each hit. The
        other names are as for `Collection.collapse` and `Store.collapse`.
    earlier : iterable
        What earlier pages of the same search showed: their `shown`, one after another. Nothing like it is shown again.
    threshold : float, optional
        As for `collapse`. None: 0.8.
    shingling : Shingling, optional
    drop : "resembling" or "contained", optional
        As for `collapse`. None: "resembling".

    Returns
    -------
    CollapsedHits
        `response` has the form of the argument. ``hits.total``, ``numFound`` and all other fields are left as they are.

    Raises
    ------
    TypeError, ValueError
        The response has another form, or hits of several forms; a hit has no such field, id or text, or it is None; another
        argument is not accepted. Messages name the hit by its position.

    Notes
    -----
    O(hits) beside the cost of `collapse`, or of the method `collapse` of `by`.

    References
    ----------
    Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997, §6.3. DOI 10.1016/S0169-7552(97)00031-7.

    >>> rose = "a rose is a rose is a rose"
    >>> answer = {"took": 2, "hits": {"total": {"value": 3}, "hits": [
    ...     {"_id": "1", "_score": 2.5, "_source": {"body": rose}},
    ...     {"_id": "2", "_score": 2.1, "_source": {"body": "something else entirely"}},
    ...     {"_id": "3", "_score": 1.7, "_source": {"body": rose + " is a rose"}}]}}
    >>> collapsed = collapse_hits(answer, text="body")
    >>> [hit["_id"] for hit in collapsed.response["hits"]["hits"]], collapsed.folded
    (['1', '2'], {0: [2], 1: []})
    """
    hits, form, rebuild = _split(response)
    before, unknown = list_keys("earlier", earlier), list[Any]()
    chosen = [best(hit) for hit in hits] if callable(best) else best
    if by is None:
        _refuse_given("by, a collection or a store that knows the ids", {"id": id})
        values = check_best(chosen, len(hits), ("rank",))
        texts = [_read_text(form, hit, position, text) for position, hit in enumerate(hits)]
        clusters = collapse([*before, *texts], threshold=0.8 if threshold is None else threshold, shingling=shingling,
                            drop="resembling" if drop is None else drop).labels.tolist()
        labels = fold(clusters[len(before):], {*clusters[:len(before)]}, values)
        names: Sequence[Any] = texts
    else:
        _refuse_given("texts; with by they are not read", {"text": text, "threshold": threshold, "shingling": shingling,
                                                           "drop": drop})
        if not hasattr(by, "collapse"):
            raise TypeError(f"by is a Collection, a Store or a StoreClient, got {by!r:.80} of type {type(by).__name__}")
        names = [_read_id(form, hit, position, id) for position, hit in enumerate(hits)]
        collapsed = by.collapse(names, best=chosen, earlier=before)
        labels, unknown = collapsed.labels, collapsed.unknown
    kept = [*group_positions(labels)]
    return CollapsedHits(hits, labels, rebuild(kept), [names[position] for position in kept], unknown)


# ---- forms of responses and hits


class HitForm(NamedTuple):
    """A form of hits: its name for messages, and functions of a hit.

    matches: tells whether it has this form; objects: returns the objects that have its fields, in the order in which a field
    is looked up; ident: returns its id, or None; content: returns its text, unless this is in a field.
    """

    name: str
    matches: Callable[[Any], bool]
    objects: Callable[[Any], list[Any]]
    ident: Callable[[Any], Any]
    content: Callable[[Any], Any] | None = None


def _is_document(hit: Any) -> bool:
    return hasattr(hit, "page_content") and hasattr(hit, "metadata")


ENGINE_HIT = HitForm(
    "a hit of OpenSearch", lambda hit: isinstance(hit, Mapping) and not {"_id", "_source", "_index"}.isdisjoint(hit),
    lambda hit: [hit.get("_source"), hit.get("fields"), hit], lambda hit: hit.get("_id"))
OBJECT = HitForm("an object", lambda hit: isinstance(hit, Mapping), lambda hit: [hit], lambda hit: hit.get("id"))
DOCUMENT = HitForm("a Document", _is_document, lambda hit: [hit.metadata], lambda hit: getattr(hit, "id", None),
                   lambda hit: hit.page_content)
PAIR = HitForm(
    "a pair (Document, score)", lambda hit: isinstance(hit, (tuple, list)) and len(hit) == 2 and _is_document(hit[0]),
    lambda hit: [hit[0].metadata], lambda hit: getattr(hit[0], "id", None), lambda hit: hit[0].page_content)
NODE = HitForm(
    "a NodeWithScore", lambda hit: hasattr(hit, "score") and hasattr(getattr(hit, "node", None), "get_content"),
    lambda hit: [hit.node.metadata], lambda hit: hit.node.node_id, lambda hit: hit.node.get_content())
HIT_FORMS = (ENGINE_HIT, OBJECT, DOCUMENT, PAIR, NODE)  # the first that matches
ENGINES = {"hits": ("hits", ENGINE_HIT), "response": ("docs", OBJECT)}  # the object with the hits, their name, their form


def _split(response: Any) -> tuple[list[Any], HitForm, Callable[[Iterable[int]], Any]]:
    """Return the hits of a response, their form, and the function that makes the same response of some of them."""
    if isinstance(response, Mapping):
        outer = next((name for name in ENGINES if isinstance(response.get(name), Mapping)), None)
        if outer is None:
            raise ValueError(f"the response has neither an object hits nor an object response, but {_list_names(response)}; "
                             f"give {FORMS}")
        inner, (name, form) = response[outer], ENGINES[outer]
        hits = inner.get(name)
        if not isinstance(hits, list):
            raise ValueError(f"{outer}.{name} of the response is a list of hits, got {hits!r:.80}")
        return hits, _find_form(hits, (form,)), lambda kept: {**response, outer: {**inner, name: [hits[i] for i in kept]}}
    if isinstance(response, (list, tuple)):
        return list(response), _find_form(response, HIT_FORMS), lambda kept: type(response)([response[i] for i in kept])
    advice = "give its attribute body" if hasattr(response, "body") else f"give {FORMS}"
    raise TypeError(f"the response is of type {type(response).__name__}: {advice}")


def _find_form(hits: Sequence[Any], forms: Sequence[HitForm]) -> HitForm:
    """Find the form that all hits have; of an empty list, any."""
    first = forms[0]
    for position, hit in enumerate(hits):
        form = next((form for form in forms if form.matches(hit)), None)
        if form is None:
            raise TypeError(f"hit {position} is {hit!r:.80} of type {type(hit).__name__}; here a hit is "
                            f"{enumerated(form.name for form in forms)}")
        if position and form is not first:
            raise ValueError(f"hit 0 is {first.name}, and hit {position} is {form.name}; give hits of one form")
        first = form
    return first


def _read_text(form: HitForm, hit: Any, position: int, text: str | Of | None) -> Text:
    """Return the text of a hit."""
    if text is None and form.content is None:
        raise ValueError(f"hit {position} is {form.name}: name the field of its text, such as text='body'; it has "
                         f"{_list_names(*form.objects(hit))}")
    value = form.content(hit) if text is None and form.content is not None else _read(form, hit, position, text)
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if isinstance(value, (str, bytes)):
        return value
    raise _refuse(f"the text of hit {position}", value, "str or bytes")


def _read_id(form: HitForm, hit: Any, position: int, ident: str | Of | None) -> Any:
    """Return the id of a hit."""
    value = form.ident(hit) if ident is None else _read(form, hit, position, ident)
    if isinstance(value, list) and len(value) == 1:  # fields of OpenSearch are lists
        value = value[0]
    if isinstance(value, (str, bytes)) or is_int(value):
        return value
    raise _refuse(f"the id of hit {position}", value, "str, bytes or int")


def _read(form: HitForm, hit: Any, position: int, wanted: str | Of | None) -> Any:
    """Return what a callable says of a hit, or the value of a field."""
    if callable(wanted):
        return wanted(hit)
    if not isinstance(wanted, str):
        raise TypeError(f"a field is named by a str, or is read by a callable; got {wanted!r:.80}")
    for each in form.objects(hit):
        holder, name = _descend(each, wanted)
        if holder is not None:
            return holder[name]
    raise ValueError(f"hit {position} has no field {wanted!r}; it has {_list_names(*form.objects(hit))}")


def _descend(holder: Any, path: str) -> tuple[Mapping[str, Any] | None, str]:
    """Find the object that has the last name of a path, and this name; None if there is none."""
    while isinstance(holder, Mapping):
        if path in holder:
            return holder, path
        first, _, path = path.partition(".")
        holder = holder.get(first)
    return None, path


def _list_names(*objects: Any) -> str:
    """List the first names of the fields of objects."""
    listed = [f"{name!s:.40}" for each in objects if isinstance(each, Mapping) for name in each]
    more = ["…"] if len(listed) > MOST_NAMES else []
    return ", ".join(listed[:MOST_NAMES] + more) or "none"


def _refuse(what: str, value: Any, accepted: str) -> Exception:
    """Make the error for a missing value, or one of another type."""
    if value is None:
        return ValueError(f"{what} is None; it must be {accepted}")
    return TypeError(f"{what} is {value!r:.80} of type {type(value).__name__}; it must be {accepted}")


def _refuse_given(purpose: str, given: Mapping[str, Any]) -> None:
    """Raise ValueError for an argument that has no effect beside the others."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for {purpose}: leave it out")
