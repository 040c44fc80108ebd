# SPDX-License-Identifier: Apache-2.0
"""The `pyptx` console script; `python -m pyptx` is the same."""

from __future__ import annotations

import sys

from pyptx import _core


def main() -> int:
    """Run the command on this process's arguments; the result is the exit status."""
    return _core.command(sys.argv[1:])
