"""Stores inside crawlers: Scrapy.

Imports `store` and what it stands on; Scrapy is the extra `scrapy`.
"""
