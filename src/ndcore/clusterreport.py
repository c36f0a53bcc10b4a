"""Another name of `ndcore.report.collection`."""

from ndcore.report.collection import from_clustering

__all__ = ["from_clustering"]
