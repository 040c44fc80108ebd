# SPDX-License-Identifier: Apache-2.0
"""Numbers on their way out of a product: activations, and pairs of them in 16-bit memory."""

from __future__ import annotations

import math
from typing import Any

from pyptx import ptx, reg
from pyptx.types import b32, f32

LOG2E = math.log2(math.e)
# erfc(z) = t P(t) exp(-z^2), t = 1 / (1 + p z): Abramowitz and Stegun 7.1.26, error < 1.5e-7.
ERFC_P = 0.3275911
ERFC = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
GELU_FAR = 16.0  # gelu(x) is x or 0 from here on


def activate(kind: str | None, x: Any) -> None:
    """Apply an activation to an f32 register, in place."""
    if kind is None:
        return
    {"relu": _relu, "silu": _silu, "gelu": _gelu, "gelu_tanh": _gelu_tanh}[kind](x)


def _relu(x: Any) -> None:
    ptx.inst.max.NaN.f32(x, x, 0.0)


def _logistic(x: Any, scale: float) -> Any:
    """Return 1 / (1 + exp(-scale * x))."""
    value = reg.scalar(f32)
    ptx.inst.mul.f32(value, x, -scale * LOG2E)
    ptx.inst.ex2.approx.f32(value, value)
    ptx.inst.add.f32(value, value, 1.0)
    ptx.inst.rcp.approx.f32(value, value)
    return value


def _silu(x: Any) -> None:
    ptx.inst.mul.f32(x, x, _logistic(x, 1.0))


def _gelu_tanh(x: Any) -> None:
    """x/2 (1 + tanh(u)) is x times the logistic function of 2 u; u is odd in x."""
    u = reg.scalar(f32)
    ptx.inst.mul.f32(u, x, x)
    ptx.inst.fma.rn.f32(u, u, 0.044715, 1.0)
    ptx.inst.mul.f32(u, u, x)
    ptx.inst.mul.f32(x, x, _logistic(u, 2 * math.sqrt(2 / math.pi)))


def _gelu(x: Any) -> None:
    """max(x, 0) - |x|/2 erfc(|x| / sqrt(2)): nothing cancels, on either side."""
    size, t, tail = (reg.scalar(f32) for _ in range(3))
    ptx.inst.abs.f32(size, x)
    ptx.inst.min.f32(size, size, GELU_FAR)
    ptx.inst.fma.rn.f32(t, size, ERFC_P / math.sqrt(2), 1.0)
    ptx.inst.rcp.approx.f32(t, t)
    ptx.mov(f32, tail, ERFC[0])
    for coefficient in ERFC[1:]:
        ptx.inst.fma.rn.f32(tail, tail, t, coefficient)
    ptx.inst.mul.f32(tail, tail, t)
    square = reg.scalar(f32)
    ptx.inst.mul.f32(square, size, size)
    ptx.inst.mul.f32(square, square, -0.5 * LOG2E)
    ptx.inst.ex2.approx.f32(square, square)
    ptx.inst.mul.f32(tail, tail, square)
    ptx.inst.mul.f32(size, size, 0.5)
    ptx.inst.neg.f32(size, size)
    ptx.inst.max.NaN.f32(x, x, 0.0)
    ptx.inst.fma.rn.f32(x, size, tail, x)


def pack(dtype: str, low: Any, high: Any) -> Any:
    """Return two f32 values rounded to 16 bits in one register, `low` in the low half."""
    packed = reg.scalar(b32)
    kind = {"bf16": ptx.inst.cvt.rn.bf16x2.f32, "f16": ptx.inst.cvt.rn.f16x2.f32}[dtype]
    kind(packed, high, low)
    return packed
