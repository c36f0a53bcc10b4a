"""Passages of whole collections: repeated passages with their places, and benchmark items that a corpus contains.

Imports `alignment`, `text`, `storage` and the ground floor.
"""
