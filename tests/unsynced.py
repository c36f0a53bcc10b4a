"""Calls that wait for the disk return at once, for all tests of this process; it is imported before what calls them.

No test sees a loss of power: those of what it leaves trace the calls and lay the files themselves (`store/power.py`). A call
takes 3 ms, and tests of stores and collections make tens of thousands. No test is here.
"""

from __future__ import annotations

import os


def look(descriptor: int) -> None:
    """Raise OSError where a descriptor is not open, as the calls do."""
    os.fstat(descriptor)


os.fsync = look
if hasattr(os, "fdatasync"):
    os.fdatasync = look
