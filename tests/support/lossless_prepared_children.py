"""What the process imports from which child processes are forked."""

from __future__ import annotations

import lossless_children  # noqa: F401 - what the children do
from lossless_prepared import be_prepared

__all__: list[str] = []

be_prepared()
