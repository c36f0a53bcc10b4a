"""``python -m ndcore``."""

import sys

from ndcore.cli import main

sys.exit(main())
