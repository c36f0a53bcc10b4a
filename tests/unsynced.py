"""Make the calls that wait for the disk return at once, in all tests of this process; import this before their callers.

No test loses power: tests of what a loss of power leaves trace the calls and write such files themselves (`store/power.py`).
A call takes 3 ms, and tests of stores and collections make tens of thousands of them. This module has no tests.
"""

from __future__ import annotations

import os


def look(descriptor: int) -> None:
    """Raise OSError for a descriptor that is not open, as the calls do."""
    os.fstat(descriptor)


os.fsync = look
if hasattr(os, "fdatasync"):
    os.fdatasync = look
