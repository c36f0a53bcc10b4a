"""Arrays on disk: checksummed containers, temporary files, directories of resumable jobs, and errors of full disks.

Imports `human` and nothing else.
"""
