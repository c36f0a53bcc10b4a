"""Web servers: a store or a collection in the browser, as pages and as JSON; and a store that crawlers write to over HTTP.

Imports `store`, `collection`, `report` and the rooms below them; Starlette and uvicorn are the extra `serve`. Only
`written_source` changes a store, and `judging` a session.
"""
