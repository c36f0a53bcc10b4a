"""Passages of whole collections: repeated ones with their places, and items of benchmarks in a corpus.

Imports `alignment`, `text`, `storage` and the ground floor.
"""
