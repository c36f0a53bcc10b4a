"""Arrays on disk: checksummed containers, arrays that spill to temporary files, and errors of full disks.

Imports `human` and nothing else.
"""
