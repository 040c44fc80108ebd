# SPDX-License-Identifier: Apache-2.0
"""SwiGLU, y = silu(gate) * up, and its gradient.

Gate and up are two matrices, or the halves of the rows of one, as a fused projection leaves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyptx import Tile, ptx, reg
from pyptx.kernels.elements import element_type, sigmoid
from pyptx.kernels.plans import Plan, plan_elements
from pyptx.kernels.row_kernel import row_kernel
from pyptx.kernels.rows import Rows
from pyptx.types import f32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def _matrices(
    columns: int, dtype: Any, packed: bool, names: tuple[str, str, str]
) -> dict[str, Tile]:
    """Return the tile of both halves, or those of two matrices."""
    if packed:
        return {names[0]: Tile("B", 2 * columns, dtype)}
    return dict.fromkeys(names[1:], Tile("B", columns, dtype))


def build_swiglu(
    columns: int, dtype: Any, *, packed: bool = False, plan: Plan | None = None, arch: str = "auto"
) -> Kernel:
    """Build (gate, up) -> y of (B, columns), or of one (B, 2 * columns) matrix of both."""
    dtype = element_type(dtype)
    plan = plan or plan_elements(columns, dtype)
    inputs = _matrices(columns, dtype, packed, ("GateUp", "Gate", "Up"))

    @row_kernel("swiglu", plan, inputs, {"Y": Tile("B", columns, dtype)}, arch=arch)
    def swiglu(rows: Rows, *pointers: Any) -> None:
        *given, py = pointers
        pitch = 2 * columns if packed else columns

        def body(row: Any, gate: Any, up: Any) -> None:
            results = []
            for gates, ups in zip(gate, up, strict=True):
                found = []
                for g, u in zip(gates.floats(), ups.floats(), strict=True):
                    result = sigmoid(g)
                    ptx.inst.mul.f32(result, result, g)
                    found.append(ptx.inst.mul.f32(result, result, u))
                results.append(found)
            rows.store(row, py, results)

        halves = (given[0], given[0] + columns * rows.size) if packed else given
        rows.run(halves, body, pitch=pitch)

    return swiglu


def build_swiglu_backward(
    columns: int, dtype: Any, *, packed: bool = False, plan: Plan | None = None, arch: str = "auto"
) -> Kernel:
    """Build (gate, up, g) -> (dgate, dup), or the same of packed matrices."""
    dtype = element_type(dtype)
    plan = plan or plan_elements(columns, dtype)
    inputs = _matrices(columns, dtype, packed, ("GateUp", "Gate", "Up"))
    outputs = _matrices(columns, dtype, packed, ("DGateUp", "DGate", "DUp"))

    @row_kernel(
        "swiglu_backward", plan, {**inputs, "G": Tile("B", columns, dtype)}, outputs, arch=arch
    )
    def swiglu_backward(rows: Rows, *pointers: Any) -> None:
        count = len(inputs)
        given, pg, wanted = pointers[:count], pointers[count], pointers[count + 1 :]
        pitch = 2 * columns if packed else columns
        if packed:
            half = columns * rows.size
            given, wanted = ((both[0], both[0] + half) for both in (given, wanted))

        def body(row: Any, gate: Any, up: Any) -> None:
            grad = rows.load(row, pg)
            gates: list[list[Any]] = []
            ups: list[list[Any]] = []
            for gate_words, up_words, grad_words in zip(gate, up, grad, strict=True):
                gates.append([])
                ups.append([])
                for g, u, d in zip(
                    gate_words.floats(), up_words.floats(), grad_words.floats(), strict=True
                ):
                    s = sigmoid(g)
                    silu = ptx.inst.mul.f32(reg.scalar(f32), g, s)
                    ups[-1].append(ptx.inst.mul.f32(reg.scalar(f32), silu, d))
                    # silu'(g) = s * (1 + g * (1 - s)): s + silu - silu * s would lose the 1 beside
                    # a large g.
                    slope = ptx.inst.sub.f32(reg.scalar(f32), 1.0, s)
                    ptx.inst.fma.rn.f32(slope, slope, g, 1.0)
                    ptx.inst.mul.f32(slope, slope, s)
                    ptx.inst.mul.f32(slope, slope, u)
                    gates[-1].append(ptx.inst.mul.f32(slope, slope, d))
            rows.store(row, wanted[0], gates, pitch=pitch)
            rows.store(row, wanted[1], ups, pitch=pitch)

        rows.run(given, body, pitch=pitch)

    return swiglu_backward
