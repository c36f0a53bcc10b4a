"""What the command `ndcore` does, one module a subcommand."""
