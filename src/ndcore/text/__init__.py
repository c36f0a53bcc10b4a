"""Documents to canonical tokens and shingles, and their exact resemblance (Broder 1997, §2).

Imports `storage` and the ground floor.
"""
