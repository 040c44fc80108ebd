# SPDX-License-Identifier: Apache-2.0
"""PTX text to modules, and the parts that modules are walked by."""

from __future__ import annotations

from pyptx import _core
from pyptx._core import Block, Function, Instruction, Location, Operand, Part, Variable

__all__ = ["Block", "Function", "Instruction", "Location", "Operand", "Part", "Variable", "parse"]


def parse(text: str | bytes, file: str = "<ptx>", *, recover: bool = False) -> _core.Module:
    """Read PTX text. ``parse(text).text == text``, byte for byte.

    Raises `PtxSyntaxError` with every syntax error found; `file` is the name it shows. Names that
    nothing declares, unknown instructions and illegal forms, and targets that the table lacks are
    no syntax: they are read as they stand, and `pyptx.verify` finds them.

    With `recover` any text gives a module: what cannot be read is kept in it, as parts of kind
    ``"error"``, and told in ``module.diagnostics``. ``bytes(module)`` gives the bytes back.
    """
    return _core.parse(text, file, recover)
