"""Documents in files: finding, reading and writing them, for the command line."""
