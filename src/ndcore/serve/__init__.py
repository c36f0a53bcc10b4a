"""A local web server over a store or a collection: clusters, histories and marked differences, as pages and as JSON.

Imports `store`, `collection`, `report` and the rooms below them; Starlette and uvicorn are the extra `serve`. Nothing here
changes what it shows.
"""
