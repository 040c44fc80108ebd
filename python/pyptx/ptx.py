# SPDX-License-Identifier: Apache-2.0
"""Instructions of the kernel being traced.

`ptx.inst.<opcode>.<modifier>...(operands, pred=None)` is any instruction by its own name; the other
names here are the forms and small groups of instructions that kernels use most. Everything is
defined in the extension, so that a call in a kernel goes from its line to the tracer directly.
"""

from __future__ import annotations

from typing import Any

from pyptx import _core

__all__ = [name for name in dir(_core.ptx) if not name.startswith("_")]
globals().update({name: getattr(_core.ptx, name) for name in __all__})


def __getattr__(name: str) -> Any:
    import difflib

    close = difflib.get_close_matches(name, __all__, n=1)
    hint = (
        f"did you mean {close[0]!r}?"
        if close
        else "any instruction is ptx.inst.<opcode>.<modifier>(...)"
    )
    # A name would make Python 3.12 add a suggestion of its own.
    raise AttributeError(f"pyptx.ptx has no {name!r}; {hint}", name=None, obj=None)
