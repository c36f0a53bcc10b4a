"""Another name of `ndcore.pairs.assign`."""

from ndcore.pairs.assign import CLUSTERINGS, represent

__all__ = ["CLUSTERINGS", "represent"]
