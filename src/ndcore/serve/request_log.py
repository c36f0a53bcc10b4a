"""A log of requests, one JSON line for each. It has the client and the route, but nothing of what was sent."""

from __future__ import annotations

import datetime as dt
import json
import logging
import os
from logging.handlers import WatchedFileHandler

from ndcore._types import AnyPath

STANDARD_ERROR = "-"

log = logging.getLogger("ndcore.serve")


class RequestLog:
    """The log.

    Parameters
    ----------
    path : path
        Lines are appended to this file. If it has been renamed or deleted, a new file is made. "-": standard error.

    Raises
    ------
    OSError
        The file cannot be written.
    """

    def __init__(self, path: AnyPath) -> None:
        self._handler = (logging.StreamHandler() if os.fspath(path) == STANDARD_ERROR
                         else WatchedFileHandler(os.fspath(path), encoding="utf-8"))
        self._failed = False

    def write(
        self, *, came: float, token: str | None, route: str, status: int, seconds: float, pages: int, received: int
    ) -> None:
        """Add the line of a request.

        Parameters
        ----------
        came : float
            Seconds since 1970.
        token : str or None
            Name of the token; None if the request had no valid one.
        route : str
        status : int
        seconds : float
            Time until the answer was sent.
        pages : int
            Number of decided pages.
        received : int
            Bytes of the body.
        """
        time = dt.datetime.fromtimestamp(came, dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {"time": time, "token": token, "route": route, "status": status, "milliseconds": round(1000 * seconds, 3),
                "pages": pages, "bytes": received}
        try:
            self._handler.handle(logging.makeLogRecord({"msg": json.dumps(line)}))
            self._failed = False
        except OSError as error:  # such as: its directory was deleted. No request fails because of the log
            if not self._failed:
                log.error("the log of requests cannot be written: %s", error)
            self._failed = True

    def close(self) -> None:
        """Close the file."""
        self._handler.close()
