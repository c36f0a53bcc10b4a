"""The exception for a request that is refused: a status of HTTP, and a message with advice."""

from __future__ import annotations


class Refused(Exception):
    """A request that gets no answer.

    Attributes
    ----------
    status : int
        Of HTTP: 400 the request is at fault, 401 it has no token that is known, 403 it comes from another site or its token
        allows something else, 404 there is nothing of this name, 406 the answer does not fit in the type of content that it
        asks for, 408 it does not come in time, 413 it is too large, 415 its kind is not accepted, 421 it names another host,
        422 its idempotency key was used for another page, 429 too many pages wait, 503 it takes too long, 507 the disk is
        full.
    message : str
        The offending value, what is accepted, and what to do next.
    headers : dict
        Of the answer to this request alone.
    kind : str or None
        A name for programs (the member "type" of RFC 9457), where the status has several meanings.
    """

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers, self.kind = status, message, headers or {}, kind
