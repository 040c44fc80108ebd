# SPDX-License-Identifier: Apache-2.0
"""The `pyptx` console script; `python -m pyptx` is the same."""

from __future__ import annotations

import sys

from pyptx import _core


def main() -> int:
    """Run the command on this process's arguments; the result is the exit status."""
    words = sys.argv[1:]
    if words[:1] == ["doctor"] and "--help" not in words:
        from pyptx import _doctor

        return _core.doctor(words[1:], _doctor.findings())
    if words[:1] == ["layout"]:
        from pyptx._layout import command

        return command.main(words[1:])
    if words[:1] in (["view"], ["sass"]):
        from pyptx._view import command as view_command

        return view_command.main(words)
    try:
        return _core.command(words)
    except KeyboardInterrupt:  # the command has said where it was
        print("KeyboardInterrupt", file=sys.stderr)
        return 130
