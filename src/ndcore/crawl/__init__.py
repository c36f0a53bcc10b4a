"""Use stores and web archives inside crawlers: Scrapy.

Imports `files`, `store` and the rooms below them; Scrapy is the extra `scrapy`.
"""
