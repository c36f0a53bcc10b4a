"""The command `ndcore`: one module for each subcommand, and modules that several of them share.

May import every other room; no room imports it.
"""
