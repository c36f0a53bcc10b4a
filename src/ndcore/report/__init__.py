"""Reports for people: the content of a report, its charts, and its page of HTML.

Imports `dedup`, `collection`, `alignment`, `sketch` and the rooms below them.
"""
