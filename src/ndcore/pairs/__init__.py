"""Pairs to clusters: assignment of documents to representatives, connected components and their chains.

Imports `sketch`, `text` and what these stand on.
"""
