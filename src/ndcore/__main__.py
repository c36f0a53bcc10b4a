"""``python -m ndcore``."""

import sys

from ndcore.cli.main import main

sys.exit(main())
