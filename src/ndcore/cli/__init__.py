"""The command `ndcore`: one module for each subcommand, and what several of them share.

May import every other room; no room imports it.
"""
