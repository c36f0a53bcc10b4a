"""Another name of `ndcore.clusters.assign`."""

from ndcore.clusters.assign import CLUSTERINGS, represent

__all__ = ["CLUSTERINGS", "represent"]
