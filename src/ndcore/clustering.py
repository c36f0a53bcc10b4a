"""Another name of `ndcore.pairs.representatives`."""

from ndcore.pairs.representatives import CLUSTERINGS, represent

__all__ = ["CLUSTERINGS", "represent"]
