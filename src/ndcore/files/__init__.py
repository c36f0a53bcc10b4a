"""Documents in files: formats recognised by their first bytes, records, archives and pages read, results written.

The way of a document: `discovery` finds files, `formats` recognises them, `source_reader` calls the module of the format,
`documents` makes passes over all of them. The way out: `kept_output`, `annotated_output`, `jsonl_output`, `table_files`.

Imports `collection`, only to recognise its directories, `pairs`, `text`, `storage` and what these stand on.
"""
