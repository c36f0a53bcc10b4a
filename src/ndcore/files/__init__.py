"""Documents in files: formats found by their first bytes, records, archives and pages read, results written.

Imports `clusters`, `collection`, `text`, `storage` and what these stand on.
"""
