"""Another name of `ndcore.report.dedup`."""

from ndcore.report.dedup import from_near_duplicates

__all__ = ["from_near_duplicates"]
