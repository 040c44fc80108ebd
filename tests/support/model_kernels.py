# SPDX-License-Identifier: Apache-2.0
"""RMSNorm and SwiGLU over rows with their gradients, written as the author of a model would.

Any number of rows is one trace. A row is 32 threads; of the norm each has one column, of SwiGLU as
many as it needs. The gradient of the norm's weight is a sum over the rows.
"""

from __future__ import annotations

from typing import Any

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32

WIDTH = 32  # of the model
HIDDEN = 32  # of its SwiGLU
EPS = 1e-6

ROWS, WEIGHT = Tile("B", WIDTH, f32), Tile(WIDTH, f32)
BOTH, ONE = Tile("B", 2 * HIDDEN, f32), Tile("B", HIDDEN, f32)
OF_ROWS: dict[str, Any] = {"block": (32, 1, 1), "batch": "B", "dynamic": ("B",), "autocast": f32}
A_ROW_EACH: dict[str, Any] = {"grid": lambda B: (B, 1, 1), **OF_ROWS}


def load(pointer: Any) -> Any:
    return ptx.inst.ld.global_.f32(reg.scalar(f32), ptx.addr(pointer))


def store(pointer: Any, value: Any) -> None:
    ptx.inst.st.global_.f32(ptx.addr(pointer), value)


def times(*factors: Any) -> Any:
    product = reg.scalar(f32)
    ptx.inst.mul.f32(product, factors[0], factors[1])
    for factor in factors[2:]:
        ptx.inst.mul.f32(product, product, factor)
    return product


def mean(value: Any) -> Any:
    total = ptx.warp.reduce_sum(times(value, 1.0))
    return times(total, 1.0 / WIDTH)


@kernel(
    in_specs=(ROWS, WEIGHT), out_specs=(ROWS, Tile("B", f32)), op="model::rms_forward", **A_ROW_EACH
)
def rms_forward(X, W, Y, R):
    """y = x * r * w with r = 1 / sqrt(mean(x^2) + eps), which the backward gets too."""
    px, pw, py, pr = ptx.global_ptrs(X, W, Y, R)
    row, column = reg.from_(ptx.special.ctaid.x(), u32), reg.from_(ptx.special.tid.x(), u32)
    place = (row * WIDTH + column) * 4
    x, w = load(px + place), load(pw + column * 4)
    r = mean(times(x, x))
    ptx.inst.add.f32(r, r, EPS)
    ptx.inst.sqrt.rn.f32(r, r)
    ptx.inst.rcp.rn.f32(r, r)
    store(py + place, times(x, r, w))
    with ptx.if_(column == 0):
        store(pr + row * 4, r)
    ptx.ret()


@kernel(
    in_specs=(ROWS, WEIGHT, Tile("B", f32), ROWS),
    out_specs=(ROWS, Tile(WIDTH, f32, partial="B")),
    **OF_ROWS,
)
def rms_backward(X, W, R, G, DX, DW):
    px, pw, pr, pg, pdx, pdw = ptx.global_ptrs(X, W, R, G, DX, DW)
    column = reg.from_(ptx.special.tid.x(), u32)
    w, total = load(pw + column * 4), reg.scalar(f32, init=0.0)
    with ptx.range_(0, X.shape[0]) as row:
        place = (row * WIDTH + column) * 4
        r, g = load(pr + row * 4), load(pg + place)
        normal = times(load(px + place), r)
        slope = mean(times(g, w, normal))
        ptx.inst.fma.rn.f32(total, g, normal, total)
        ptx.inst.neg.f32(slope, slope)
        dx = times(g, w)
        ptx.inst.fma.rn.f32(dx, normal, slope, dx)
        store(pdx + place, times(dx, r))
    store(pdw + column * 4, total)
    ptx.ret()


def sigmoid(value: Any) -> Any:
    e = times(value, -1.4426950408889634)
    ptx.inst.ex2.approx.f32(e, e)
    ptx.inst.add.f32(e, e, 1.0)
    ptx.inst.rcp.rn.f32(e, e)
    return e


def halves(pointer: Any) -> tuple[Any, Any, Any, Any]:
    """Return this thread's gate and up, the place of the gate, and that of a result."""
    row, column = reg.from_(ptx.special.ctaid.x(), u32), reg.from_(ptx.special.tid.x(), u32)
    place = (row * (2 * HIDDEN) + column) * 4
    return (
        load(pointer + place),
        load(pointer + place + HIDDEN * 4),
        place,
        (row * HIDDEN + column) * 4,
    )


@kernel(in_specs=(BOTH,), out_specs=(ONE,), op="model::swiglu_forward", **A_ROW_EACH)
def swiglu_forward(H, Y):
    ph, py = ptx.global_ptrs(H, Y)
    gate, up, _, place = halves(ph)
    store(py + place, times(gate, sigmoid(gate), up))
    ptx.ret()


@kernel(in_specs=(BOTH, ONE), out_specs=(BOTH,), **A_ROW_EACH)
def swiglu_backward(H, G, DH):
    ph, pg, pdh = ptx.global_ptrs(H, G, DH)
    gate, up, place, of_result = halves(ph)
    g, s = load(pg + of_result), sigmoid(gate)
    silu = times(gate, s)
    store(pdh + place + HIDDEN * 4, times(g, silu))
    slope = reg.scalar(f32)  # of silu: s + silu * (1 - s)
    ptx.inst.sub.f32(slope, 1.0, s)
    ptx.inst.fma.rn.f32(slope, silu, slope, s)
    store(pdh + place, times(g, up, slope))
    ptx.ret()


rms_norm = differentiable_kernel(
    rms_forward,
    rms_backward,
    save_for_backward=[0, 1, 3],
    private_outputs=1,
    op="model::rms_norm",
)
swiglu = differentiable_kernel(swiglu_forward, swiglu_backward, op="model::swiglu")
