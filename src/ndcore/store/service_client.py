"""Clients of ``ndcore serve --write``: a store on another computer, with the methods of `Store`, for threads or asyncio.

Each request, and the meaning of its answer, is defined once, in a generator that yields requests and receives answers;
`ServiceClient` and `AsyncServiceClient` send them. A request without an answer is sent again with the same idempotency key,
so a page is decided once.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import functools
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from inspect import Parameter, signature
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, NoReturn, ParamSpec, Self, TypeAlias, TypeVar

from ndcore._types import Closing, Text
from ndcore.checks import imported
from ndcore.human import counted
from ndcore.store.keys import key_as_json, key_of_json
from ndcore.store.overall import OverallVerdict
from ndcore.store.verdict import Date, Item, Key, Verdict, Version, batches_of, given_key, microseconds, moment

JSON, LINES = "application/json", "application/x-ndjson"
PURPOSE = "a client of ndcore serve --write"
TRIES = 6  # attempts of a request; the waits between them are 0.1, 0.2, 0.4 … seconds, or as the server says
SECONDS = 60.0  # time limit of an answer
LONGEST_WAIT = 60.0  # seconds between attempts, even if a server asks for more
MOVES = 900  # attempts of a request for a host that is being moved to another shard, about a second apart
ANSWERED = 1 << 18  # about as many bytes of answers to a request, which is sent completely before they are read
UNKNOWN_KEY = "urn:ndcore:unknown-key"  # problem type: the store has no such page
OTHER_MAP = "urn:ndcore:other-shard-map"  # problem type: the pages are at another shard, or the map of shards differs
HOST_MOVES = "urn:ndcore:host-moves"  # problem type: the host is being moved to another shard
MAP_VERSION = "ndcore-shard-map"  # header with the client's version of the map of shards
AGAIN = (429, 502, 503, 504)  # statuses: the server is busy or stops, or its proxy does not reach it
TOKEN = "NDCORE_TOKEN"  # the environment variable

Parameters = ParamSpec("Parameters")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Call(NamedTuple):
    """A request: its route, the values of its query, and its body. A list is sent as JSON lines. None: GET, without a body.

    once: do not send it again if its answer is lost, because it would do its work again. seconds: time limit of the answer;
    None: the client's.
    """

    route: str
    query: dict[str, Any]
    body: dict[str, Any] | list[dict[str, Any]] | None = None
    once: bool = False
    seconds: float | None = None


class Reply(NamedTuple):
    """An answer: the status, the seconds until the next attempt or None, and the body."""

    status: int
    wait: float | None
    content: bytes


class OtherShardMap(LookupError):
    """The pages are at another shard, or the shard has another version of the map of shards than the client."""


Conversation: TypeAlias = Generator[Call, Any, T]


# ---- conversations: requests, and the meaning of answers


def decide(key: Key, text: Text, date: Date = None, *, idempotency_key: str | None = None) -> Conversation[Verdict]:
    """Give the verdict on a page, and keep the page; see `Store.decide`. The page is on disk when this returns.

    Parameters
    ----------
    key, text, date
        As for `Store.decide`.
    idempotency_key : str, optional
        1 to 256 printable ASCII characters that no other page has. A page that was sent with this key before gets its first
        answer. None: a new key for this call, used if it has to send the page again.

    Raises
    ------
    ValueError
        A value is not accepted, or the idempotency key was used for another page.
    PermissionError, ConnectionError, OSError
        The token does not allow this; the server does not answer; its disk is full.
    """
    answer = yield Call("decide", {}, _page(given_key(key), text, date, idempotency_key or uuid.uuid4().hex))
    return _verdict(answer)


def decide_part(items: Sequence[Item], keys: Sequence[str]) -> Conversation[list[Verdict]]:
    """Give the verdicts on some pages, and keep the pages. keys: their idempotency keys."""
    lines = [_page(given_key(key), text, date, own) for (key, text, date), own in zip(items, keys, strict=True)]
    answers = yield Call("decide-many", {}, lines)
    return [_verdict(answer) for answer in answers]


def peek(text: Text, key: Key | None = None) -> Conversation[Verdict]:
    """Give the verdict that `decide` would give on the page with a new key, without keeping it; see `Store.peek`."""
    answer = yield Call("peek", {}, {"text": _text(text), **({} if key is None else {"key": key_as_json(key)})})
    judged = answer["judgement"]
    return Verdict(None, judged["verdict"], _key(judged["of"]), _key(judged["equal"]), judged["resemblance"],
                   judged["contained"], judged["containing"], None, microseconds(None), judged["exact"])


def mark_gone(key: Key, date: Date = None) -> Conversation[bool]:
    """Record that the page of a key is gone, and tell whether the store has the page; see `Store.mark_gone`."""
    answer = yield Call("seen", {}, {"key": key_as_json(key), "date": _date(date)})
    return bool(answer["known"])


def remove(key: Key) -> Conversation[None]:
    """Remove a page with all its versions; see `Store.remove`. Raises KeyError if there is none."""
    yield Call("remove", {}, _name_page(key), once=True)


def expire(before: Date) -> Conversation[int]:
    """Remove the pages whose last version is older than a date, and return their number; see `Store.expire`."""
    if before is None:
        raise TypeError("before is None; give a date: pages whose last version is older are forgotten")
    answer = yield Call("expire", {}, {"before": _date(before)}, once=True)
    return int(answer["pages"])


def backup() -> Conversation[str]:
    """Copy the store to the server's directory of backups, and return the name of the copy there."""
    answer = yield Call("backup", {}, {}, once=True)
    return str(answer["name"])


def has(key: Key) -> Conversation[bool]:
    """Tell whether the store has a page."""
    try:
        yield Call("history", {**_word(key), "size": 1})
    except KeyError:
        return False
    return True


def count() -> Conversation[int]:
    """Count the live pages."""
    answer = yield Call("about", {})
    return int(answer["documents"])


def cluster(key: Key) -> Conversation[list[Key]]:
    """Return the keys in the cluster of a page, the representative first; see `Store.cluster`."""
    keys: list[Key] = []
    for number in range(1, 1 << 30):
        answer = yield Call("document", {**_word(key), "page": number, "size": 500})
        keys += [key_of_json(member["key"]) for member in answer["cluster"]["members"]]
        if not answer["cluster"]["page"]["more"]:
            break
    return keys


def clusters(least: int = 1) -> Conversation[list[list[Key]]]:
    """Return the clusters of `least` pages or more; see `Store.clusters`."""
    listed: list[list[Key]] = []
    for number in range(1, 1 << 30):
        answer = yield Call("clusters", {"least": least, "page": number, "size": 500})
        for each in answer["clusters"]:
            complete = len(each["members"]) == each["documents"]
            listed.append([key_of_json(key) for key in each["members"]] if complete
                          else (yield from cluster(key_of_json(each["representative"]))))
        if not answer["page"]["more"]:
            break
    return listed


def locate(key: Key) -> Conversation[Key]:
    """Return the key in the cluster of a page that was seen last; see `Store.locate`."""
    answer = yield Call("locate", _word(key))
    return key_of_json(answer["located"])


def history(key: Key) -> Conversation[list[Version]]:
    """Return the versions of a page, in the order in which they were added; see `Store.history`."""
    versions: list[Version] = []
    for number in range(1, 1 << 30):
        answer = yield Call("history", {**_word(key), "versions": number, "size": 500})
        versions += [Version(microseconds(each["date"]), each["change"], each["resemblance"]) for each in answer["versions"]]
        if not answer["page"]["more"]:
            break
    return versions[::-1]


def overall(key: Key) -> Conversation[OverallVerdict | None]:
    """Return the verdict of the last run over many stores on a page; see `Store.overall`."""
    answer = yield Call("document", {**_word(key), "size": 1})
    said = answer["overall"]
    if said is None:
        return None
    return OverallVerdict(**{**said, "of": _key(said["of"]), "date": microseconds(said["date"])})


def text(key: Key) -> Conversation[Text]:
    """Return the text of the last version of a page; see `Store.text`."""
    answer = yield Call("text", _word(key))
    return key_of_json(answer["text"])  # type: ignore[return-value]


def stats() -> Conversation[dict[str, Any]]:
    """Return counts and settings; see `Store.stats`."""
    answer = yield Call("about", {})
    return {**answer["figures"], "settings": answer["settings"]}


# ---- values


def _page(key: Key, text: Text, date: Date, idempotency_key: str) -> dict[str, Any]:
    """Convert a page for JSON. The server dates a page without a date, so that it is the same when it is sent again."""
    when = {} if date is None else {"date": _date(date)}
    return {"key": key_as_json(key), "text": _text(text), "idempotency_key": idempotency_key, **when}


def _text(text: Text) -> Any:
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"the text is {text!r:.40} of type {type(text).__name__}; texts are str or bytes")
    return {"base64": base64.b64encode(text).decode("ascii")} if isinstance(text, bytes) else text


def _date(date: Date) -> str:
    return moment(microseconds(date)).isoformat()


def _name_page(key: Key) -> dict[str, Any]:
    """Convert a key for the body of a request."""
    return {"key": key_as_json(key), "kind": type(key).__name__}


def _word(key: Key) -> dict[str, Any]:
    """Convert a key for a query."""
    return {"key": key.hex() if isinstance(key, bytes) else key, "kind": type(key).__name__}


def _key(value: Any) -> Key | None:
    return None if value is None else key_of_json(value)


def _verdict(answer: dict[str, Any]) -> Verdict:
    return Verdict(key_of_json(answer["key"]), answer["verdict"], _key(answer["of"]), _key(answer["equal"]),
                   answer["resemblance"], answer["contained"], answer["containing"], answer["version"],
                   microseconds(answer["date"]), answer["exact"])


# ---- requests


Steps: TypeAlias = Generator[Call | float, Reply | Exception | None, T]


def _converse(talk: Conversation[T], tries: int, server: str) -> Steps[T]:
    """Yield the requests of a conversation like `_exchange`, and return its value. server: its address, for messages."""
    answer: Any = None
    raised: Exception | None = None
    while True:
        try:
            call = talk.send(answer) if raised is None else talk.throw(raised)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except (KeyError, TypeError, ValueError) as error:
            if answer is None:  # the fault is in a value of the caller
                raise
            raise RuntimeError(f"the server answers what ndcore serve --write does not: {answer!r:.200}") from error
        answer, raised = None, None
        try:
            answer = yield from _exchange(call, tries, server)
        except Exception as error:  # the conversation may handle it
            raised = error


def _exchange(call: Call, tries: int, server: str) -> Steps[Any]:
    """Yield a request, receive its reply or error, and return the answer; yield seconds to wait before another attempt."""
    waits = [0.1 * 2**i for i in range(tries - 1)]
    moves = MOVES
    while True:
        reply = yield call
        wait = 0.0
        lost = not isinstance(reply, Reply)
        if isinstance(reply, Reply):
            wait = min(reply.wait or 0.0, LONGEST_WAIT)
            try:
                return answer_of(call, reply)
            except _Cut as cut:
                reply = cut
        if isinstance(reply, _Cut) and reply.kind == HOST_MOVES and moves:
            moves -= 1
            yield max(wait, 1.0)
            continue
        if call.once and lost:
            lost_answer = f"the answer of {server} to {call.route} was lost ({reply})"
            raise ConnectionError(f"{lost_answer}; it may have been done") from None
        if not waits:
            warning = ("; what was sent may be kept or not: send it again with the same idempotency key"
                    if call.route in ("decide", "decide-many") else "")
            tried = counted(tries, "try", "tries")
            raise ConnectionError(f"{server} gave no answer to {call.route} in {tried}: {reply}{warning}")
        yield max(wait, waits.pop(0))


class _Cut(ConnectionError):
    """There was no answer, or it ended early: the request is sent again. kind: the type of the problem, if it has one."""

    def __init__(self, detail: str, kind: str | None = None) -> None:
        super().__init__(detail)
        self.kind = kind


def answer_of(call: Call, reply: Reply) -> Any:
    """Parse the answer in a reply. Raises the error that it reports, or _Cut."""
    if reply.status in AGAIN:
        raise _cut(reply.content)
    if reply.status != 200:
        _raise(_problem(reply))
    try:
        answers = [json.loads(line) for line in reply.content.splitlines()]
    except (ValueError, RecursionError):
        raise RuntimeError(f"the server answers what is not JSON, so it is not ndcore serve --write: "
                           f"{reply.content[:200]!r}") from None
    if not isinstance(call.body, list):
        return answers[0] if len(answers) == 1 else answers
    if answers and "error" in answers[-1]:
        problem = answers[-1]["error"]
        if problem["status"] in AGAIN:
            raise _Cut(problem["detail"], problem.get("type"))
        _raise({**problem, "detail": f"{problem['detail']} (the {len(answers) - 1} pages before are kept)"})
    if len(answers) < len(call.body):
        raise _Cut(f"the answer has {len(answers)} of {len(call.body)} lines")
    if len(answers) > len(call.body):
        raise RuntimeError(f"the server answers {len(answers)} lines to {len(call.body)} pages")
    return answers


def _cut(content: bytes) -> _Cut:
    """Make the _Cut for the reply of a server that is busy or stops, or of its proxy."""
    try:
        problem = json.loads(content)
        return _Cut(str(problem["detail"]), problem.get("type"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return _Cut(content[:200].decode("utf-8", "replace"))


def _problem(reply: Reply) -> dict[str, Any]:
    """Parse the problem in a reply. Raises RuntimeError if the reply does not come from ndcore."""
    try:
        problem: dict[str, Any] = json.loads(reply.content)
        if problem["status"] == reply.status and isinstance(problem["detail"], str):
            return problem
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise RuntimeError(f"the server answers {reply.status}, and not as ndcore serve --write does: {reply.content[:200]!r}")


def _raise(problem: dict[str, Any]) -> NoReturn:
    """Raise the error for a problem."""
    status, detail = problem["status"], problem["detail"]
    if status in (400, 413, 415, 422):
        raise ValueError(detail)
    if status in (401, 403):
        raise PermissionError(errno.EACCES, detail)
    if status == 404 and problem.get("type") == UNKNOWN_KEY:
        raise KeyError(detail)
    if problem.get("type") == OTHER_MAP:
        raise OtherShardMap(detail)
    if status in (409, 410):
        raise LookupError(detail)
    if status == 507:
        raise OSError(errno.ENOSPC, detail)
    if status in (408, *AGAIN):
        raise ConnectionError(detail)
    raise RuntimeError(f"the server answers {status}: {detail}")


def _content(body: dict[str, Any] | list[dict[str, Any]]) -> tuple[bytes, str]:
    """Encode the body of a request; return it with its media type."""
    if isinstance(body, list):
        return b"".join(_encode(line) + b"\n" for line in body), LINES
    return _encode(body), JSON


def _encode(value: dict[str, Any]) -> bytes:
    """Encode an object as JSON. If ``msgspec`` is installed, pages of 5 KB are encoded six times as fast."""
    fast = _make_fast_encoder()
    if fast is not None:
        with contextlib.suppress(TypeError, UnicodeEncodeError):  # a subclass of str; surrogates
            return fast.encode(value)  # type: ignore[no-any-return]
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


@functools.cache
def _make_fast_encoder() -> Any:
    """Make an encoder of JSON with msgspec; None if it is not installed."""
    try:
        from msgspec.json import Encoder
    except ImportError:
        return None
    return Encoder()


def _request(call: Call) -> dict[str, Any]:
    """Make the arguments of httpx for a call."""
    timeout = {} if call.seconds is None else {"timeout": call.seconds}
    if call.body is None:
        return {"method": "GET", "url": call.route, "params": call.query, **timeout}
    content, kind = _content(call.body)
    return {"method": "POST", "url": call.route, "content": content, "headers": {"content-type": kind}, **timeout}


def reply_of(response: Any) -> Reply:
    """Make a `Reply` from a response of httpx."""
    wait = response.headers.get("retry-after", "")
    return Reply(response.status_code, float(wait) if wait.isascii() and wait.isdigit() else None, response.content)


class _Service:
    """The common part of both clients: the address, the token, and the connections of httpx."""

    def __init__(
        self, url: str, token: str | None = None, *, seconds: float = SECONDS, tries: int = TRIES, verify: Any = True
    ) -> None:
        token = token or os.environ.get(TOKEN)
        if not token:
            raise ValueError(f"there is no token; give token=, or set the variable {TOKEN}: ndcore token makes one")
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise ValueError("the token has a blank, an end of line or a character that is not ASCII; give it as ndcore "
                             "token printed it")
        httpx = imported("httpx", PURPOSE)
        self.url, self._tries, self._errors = url.rstrip("/"), tries, (httpx.TransportError,)
        self._http: Any = self._open(httpx)(
            base_url=f"{self.url}/api/", headers={"authorization": f"Bearer {token}"}, timeout=seconds, verify=verify,
            limits=httpx.Limits(max_keepalive_connections=8, keepalive_expiry=4))  # the server closes after 5 seconds

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url!r}>"

    @staticmethod
    def _open(httpx: Any) -> Any:
        raise NotImplementedError


def _as_method(function: F) -> F:
    """Give a wrapper of a conversation the signature of a method that returns its value, for `inspect` and `help`."""
    talk = signature(function)
    parameters = [Parameter("self", Parameter.POSITIONAL_ONLY), *talk.parameters.values()]
    value = talk.return_annotation.removeprefix("Conversation[").removesuffix("]")
    function.__signature__ = talk.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=value)
    return function


def _make_method(talk: Callable[Parameters, Conversation[T]]) -> Callable[Concatenate[ServiceClient, Parameters], T]:
    """Make a method of `ServiceClient` from a conversation."""
    @functools.wraps(talk)
    def method(self: ServiceClient, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> T:
        return self._talk(talk(*arguments, **named))

    return _as_method(method)


class ServiceClient(_Service, Closing):
    """A store that ``ndcore serve --write`` serves, with the methods of `Store`.

    Parameters
    ----------
    url : str
        Its address, such as https://dedup.example.org:8765.
    token : str, optional
        The token, made by ``ndcore token``. None: the environment variable NDCORE_TOKEN.
    seconds : float
        Time limit of one answer.
    tries : int
        Attempts of a request that gets no answer, or for which the server is too busy.
    verify : bool or ssl.SSLContext
        As for httpx: True checks the certificate of the server.

    Raises
    ------
    ValueError
        There is no token.
    ImportError
        httpx is not installed.

    Notes
    -----
    Several threads may call the methods concurrently; a forked process must make its own client. Each page has an
    idempotency key, with which it is sent again, so it is decided once.
    """

    decide = _make_method(decide)
    peek = _make_method(peek)
    mark_gone = _make_method(mark_gone)
    remove = _make_method(remove)
    expire = _make_method(expire)
    backup = _make_method(backup)
    __contains__ = _make_method(has)
    __len__ = _make_method(count)
    cluster = _make_method(cluster)
    clusters = _make_method(clusters)
    locate = _make_method(locate)
    history = _make_method(history)
    overall = _make_method(overall)
    text = _make_method(text)
    stats = _make_method(stats)

    def decide_many(
        self, items: Iterable[Sequence[Any]], idempotency_keys: Iterable[str] | None = None
    ) -> Iterator[Verdict]:
        """Give the verdicts on many pages, in order, and keep the pages; see `Store.decide_many`.

        A page is on disk when its verdict is yielded. idempotency_keys: one for each page; None: new keys for this call.
        """
        keys = iterate_request_keys(idempotency_keys)
        for part in parts_of(items):
            yield from self._talk(decide_part(part, [next(keys) for _ in part]))

    def flush(self) -> None:
        """Return at once: all answered pages are on disk."""

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    @staticmethod
    def _open(httpx: Any) -> Any:
        return httpx.Client

    def _talk(self, talk: Conversation[T], tries: int | None = None) -> T:
        """Send the requests of a conversation, and return its value. tries: None: the client's."""
        steps, reply = _converse(talk, tries or self._tries, self.url), None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            reply = None
            if isinstance(step, float):
                time.sleep(step)
                continue
            try:
                reply = reply_of(self._http.request(**_request(step)))
            except self._errors as error:
                reply = error


def _make_coroutine_method(
    talk: Callable[Parameters, Conversation[T]]
) -> Callable[Concatenate[AsyncServiceClient, Parameters], Any]:
    """Make a method of `AsyncServiceClient` from a conversation."""
    @functools.wraps(talk)
    async def method(self: AsyncServiceClient, /, *arguments: Parameters.args, **named: Parameters.kwargs) -> T:
        return await self._talk(talk(*arguments, **named))

    return _as_method(method)


class AsyncServiceClient(_Service):
    """A store that ``ndcore serve --write`` serves, for asyncio: `ServiceClient` with methods to await.

    Parameters
    ----------
    url, token, seconds, tries, verify
        As for `ServiceClient`.

    Notes
    -----
    ``has(key)`` and ``count()`` replace ``key in client`` and ``len(client)``, which cannot be awaited.
    """

    decide = _make_coroutine_method(decide)
    peek = _make_coroutine_method(peek)
    mark_gone = _make_coroutine_method(mark_gone)
    remove = _make_coroutine_method(remove)
    expire = _make_coroutine_method(expire)
    backup = _make_coroutine_method(backup)
    has = _make_coroutine_method(has)
    count = _make_coroutine_method(count)
    cluster = _make_coroutine_method(cluster)
    clusters = _make_coroutine_method(clusters)
    locate = _make_coroutine_method(locate)
    history = _make_coroutine_method(history)
    overall = _make_coroutine_method(overall)
    text = _make_coroutine_method(text)
    stats = _make_coroutine_method(stats)

    async def decide_many(
        self, items: Iterable[Sequence[Any]], idempotency_keys: Iterable[str] | None = None
    ) -> AsyncIterator[Verdict]:
        """Give the verdicts on many pages, in order, and keep the pages; see `ServiceClient.decide_many`."""
        keys = iterate_request_keys(idempotency_keys)
        for part in parts_of(items):
            for verdict in await self._talk(decide_part(part, [next(keys) for _ in part])):
                yield verdict

    async def flush(self) -> None:
        """Return at once: all answered pages are on disk."""

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @staticmethod
    def _open(httpx: Any) -> Any:
        return httpx.AsyncClient

    async def _talk(self, talk: Conversation[T]) -> T:
        """Send the requests of a conversation, and return its value."""
        steps, reply = _converse(talk, self._tries, self.url), None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            reply = None
            if isinstance(step, float):
                await asyncio.sleep(step)
                continue
            try:
                reply = reply_of(await self._http.request(**_request(step)))
            except self._errors as error:
                reply = error


def parts_of(items: Iterable[Sequence[Any]]) -> Iterator[list[Item]]:
    """Split items into requests whose answers, with three keys each, have a limited number of bytes."""
    for batch in batches_of(items):
        part: list[Item] = []
        size = 0
        for item in batch:
            part.append(item)
            size += 3 * len(str(item[0]))
            if size > ANSWERED:
                yield part
                part, size = [], 0
        if part:
            yield part


def iterate_request_keys(given: Iterable[str] | None) -> Iterator[str]:
    """Yield idempotency keys, given or new. Raises ValueError if too few are given."""
    if given is None:
        while True:
            yield uuid.uuid4().hex
    yield from given
    raise ValueError("there are fewer idempotency keys than pages; give one for each")
