"""The exception for a request that is refused: a status of HTTP, and a message with advice."""

from __future__ import annotations


class Refused(Exception):
    """A request that gets no answer.

    Attributes
    ----------
    status : int
        Of HTTP: 400 the request is at fault, 403 it comes from another site, 404 there is nothing of this name, 413 it is
        too large, 415 its kind is not accepted, 421 it names another host, 503 it takes too long.
    message : str
        The offending value, what is accepted, and what to do next.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message
