"""Sketches of documents: signatures, bottom, mod and simhash, with their estimates and files.

Imports `text`, `filters`, `hamming`, `stats`, `storage` and the ground floor.
"""
