"""Arrays on disk: checksummed containers, temporary files, directories of jobs that go on, and errors of full disks.

Imports `human` and nothing else.
"""
