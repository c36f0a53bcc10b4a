"""The version of ndcore."""

__version__ = "0.1.0"
