"""Distributions behind the estimates: intervals, tails and sample sizes. Imports the argument checks and nothing else."""
