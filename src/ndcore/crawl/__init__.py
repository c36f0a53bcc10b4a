"""Stores inside crawlers: Scrapy.

Imports `store` and the rooms below it; Scrapy is the extra `scrapy`.
"""
