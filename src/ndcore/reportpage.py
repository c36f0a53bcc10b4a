"""Another name of `ndcore.report.page`."""

from ndcore.report.page import render

__all__ = ["render"]
