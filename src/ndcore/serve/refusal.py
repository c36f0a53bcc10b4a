"""The exception for a refused request: an HTTP status, and a message with advice."""

from __future__ import annotations


class Refused(Exception):
    """A request is refused.

    Attributes
    ----------
    status : int
        The HTTP status: 400 the request is not valid, 401 it has no known token, 403 it comes from another site or its
        token does not allow this, 404 nothing has this name, 406 the answer does not fit in the media type that it asks
        for, 408 it does not arrive in time, 413 it is too large, 415 its media type is not accepted, 421 it names another
        host, 422 its idempotency key was used for another page, 429 too many pages wait, 503 it takes too long, 507 the
        disk is full.
    message : str
        Names the offending value, what is accepted, and what to do next.
    headers : dict
        Further headers of the answer.
    kind : str or None
        A name for programs (the member "type" of RFC 9457), if the status alone is ambiguous.
    """

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers, self.kind = status, message, headers or {}, kind
