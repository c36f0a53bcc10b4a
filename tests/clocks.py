"""A clock of one module: what other threads of the process take from `time` stays as it is."""

import time
from collections.abc import Callable
from types import SimpleNamespace


def clock_with(**functions: Callable[..., object]) -> SimpleNamespace:
    """Return the module `time` with these functions in place of its own, for `monkeypatch.setattr(module, "time", ...)`.

    To replace `time.sleep` itself would change it for every thread, those of Spark and of servers too.
    """
    return SimpleNamespace(**{**vars(time), **functions})
