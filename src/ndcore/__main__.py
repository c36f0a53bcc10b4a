"""``python -m ndcore``."""

import sys

from ndcore.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
