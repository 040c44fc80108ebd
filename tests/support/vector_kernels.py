# SPDX-License-Identifier: Apache-2.0
"""Kernels over one vector each, with gradients that are easy to tell."""

from __future__ import annotations

from typing import Any

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import bf16, f64, u32
from support.packages import need

torch = need("torch")

N = 32


def each(inputs: tuple[Any, ...], outputs: tuple[Any, ...], compute: Any) -> None:
    """Trace one element a thread: load, compute, store."""
    offset = reg.from_(ptx.special.tid.x(), u32)
    values = []
    for tensor, pointer in zip(inputs, ptx.global_ptrs(*inputs), strict=True):
        value = reg.scalar(tensor.dtype)
        load = getattr(ptx.inst.ld.global_, "b16" if tensor.dtype is bf16 else tensor.dtype.name)
        load(value, ptx.addr(pointer + offset * (tensor.dtype.bits // 8)))
        values.append(value)
    pointers = ptx.global_ptrs(*outputs)
    for tensor, pointer, value in zip(outputs, pointers, compute(*values), strict=True):
        store = getattr(ptx.inst.st.global_, "b16" if tensor.dtype is bf16 else tensor.dtype.name)
        store(ptx.addr(pointer + offset * (tensor.dtype.bits // 8)), value)
    ptx.ret()


def product(*factors: Any) -> Any:
    """Trace the product of registers and numbers, in the type of the first."""
    result = reg.scalar(factors[0].dtype)
    mul = getattr(ptx.inst.mul, factors[0].dtype.name)
    mul(result, factors[0], factors[1])
    for factor in factors[2:]:
        mul(result, result, factor)
    return result


def declared(inputs: str, outputs: str, kinds: dict[str, Any]) -> Any:
    """Return the decorator for vectors named by letters, of f64 unless `kinds` says otherwise."""
    tiles = [
        tuple(Tile(N, kinds.get(letter, f64)) for letter in letters)
        for letters in (inputs, outputs)
    ]
    return kernel(in_specs=tiles[0], out_specs=tiles[1], block=(N, 1, 1))


def build_square() -> Any:
    """y = x^2, its gradient 2 x g, and that one's gradients: three orders of the same thing."""

    @declared("X", "Y", {})
    def square(X, Y):
        each((X,), (Y,), lambda x: [product(x, x)])

    @declared("XG", "D", {})
    def square_backward(X, G, D):
        each((X, G), (D,), lambda x, g: [product(x, g, 2.0)])

    @declared("XGH", "DE", {})
    def square_backward_twice(X, G, H, D, E):
        each((X, G, H), (D, E), lambda x, g, h: [product(g, h, 2.0), product(x, h, 2.0)])

    return square, square_backward, square_backward_twice


def leaf(device: str = "cpu", **options: Any) -> Any:
    options = {"dtype": torch.float64, "requires_grad": True, **options}
    return torch.randn(N, device=device, **options)
