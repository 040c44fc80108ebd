# SPDX-License-Identifier: Apache-2.0
# What operands and arguments may be in Python. Only type checkers read this file.
from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat, SupportsIndex, TypeAlias

from pyptx._core import Address, NegPred, PipeRef, Reg, RegArray, Type
from pyptx._core.smem import MbarrierArray, MbarrierRef, SharedAlloc, SharedSlice
from pyptx.wgmma_layout import GmmaLayout
from pyptx.wgmma_layout import Major as MajorName

# Operands of ptx.inst. A register, or the name of one, of a variable, a label or a special
# register; "_" where PTX has it, f"{r.name}.b0" and f"-{r.name}" in video instructions.
Register: TypeAlias = Reg | str
Integer: TypeAlias = SupportsIndex
Real: TypeAlias = SupportsFloat | SupportsIndex
Vector: TypeAlias = RegArray | list[Any]
Place: TypeAlias = Address | SharedAlloc | SharedSlice | MbarrierArray | MbarrierRef
# An address with parts: ptx.addr(map, [x, y]).
Parts: TypeAlias = Address
# Two destinations, d|p: what `d | p` gives.
Pair: TypeAlias = PipeRef | Reg
Parenthesized: TypeAlias = tuple[Any, ...]
# Of two predicates p | q is one, too.
Guard: TypeAlias = Reg | NegPred | PipeRef | None
Operand: TypeAlias = Register | NegPred | Real | Vector | Place | Pair | Parenthesized

# Arguments of the other functions.
class Named(Protocol):
    @property
    def name(self) -> str: ...

Dtype: TypeAlias = Type | str
Value: TypeAlias = Reg | NegPred | PipeRef | SupportsFloat | SupportsIndex
Whole: TypeAlias = Reg | SupportsIndex
Memory: TypeAlias = Place | Reg | str | SupportsIndex
Destination: TypeAlias = Register | Vector
Index: TypeAlias = Whole | tuple[Whole, ...]
Shape: TypeAlias = int | Sequence[int]
Coordinates: TypeAlias = Sequence[Whole] | RegArray
Layout: TypeAlias = GmmaLayout
Major: TypeAlias = MajorName | str | int
