"""Passages of whole collections: repeated ones, and where they stand.

Imports `alignment`, `text`, `storage` and the ground floor.
"""
