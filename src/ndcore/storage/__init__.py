"""Arrays on disk: checksummed containers, arrays that spill to temporary files, errors of full disks. Imports `human` and nothing else."""
