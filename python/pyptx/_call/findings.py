# SPDX-License-Identifier: Apache-2.0
"""Warnings of what the emulator or a trace found and did not stop at. The extension calls this."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from pyptx import _core
from pyptx._errors import EmulatorWarning, OutputWarning, TraceWarning


def warn(text: str, found: _core.Diagnostic) -> None:
    """Warn of a finding at its line of the kernel, or at the caller's where it has none."""
    kind: type[EmulatorWarning] | type[TraceWarning] = TraceWarning
    if found.code.startswith("PTX09"):
        kind = OutputWarning if found.code == "PTX0940" else EmulatorWarning
    if found.file is not None:
        warnings.warn_explicit(kind(text, found), kind, found.file, found.line or 0)
        return
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "pyptx":
        level, frame = level + 1, frame.f_back
    warnings.warn(kind(text, found), stacklevel=level)
