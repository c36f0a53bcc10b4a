"""Reports for people: what a result shows, its charts, and its page of HTML.

Imports `dedup`, `collection`, `alignment`, `sketch` and what these stand on.
"""
