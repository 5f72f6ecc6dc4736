"""The command line as a module: ``python -m lossless``."""

from __future__ import annotations

import sys

from lossless.cli import main

if __name__ == "__main__":
    sys.exit(main())
