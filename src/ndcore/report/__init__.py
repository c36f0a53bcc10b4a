"""Reports for people: the content of a report, its charts, and its HTML page.

Imports `dedup`, `collection`, `alignment`, `sketch` and the rooms below them.
"""
