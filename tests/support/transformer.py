# SPDX-License-Identifier: Apache-2.0
"""A small block with kernels in it, and what torch's caches say when a model is compiled.

As a program it takes a step of the model (`model`), and prints the counters as JSON: a second
process must find all that the first one has compiled.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch._dynamo.utils import counters

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32
from support.model import assert_close, expected, gradients, loss_of, made, tokens_for

ROWS, COLUMNS = 8, 32


def build_weigh(scale: float | None = 1.0, **given: Any) -> Any:
    """Return the kernel (x, w) -> x * w * scale, rows by a vector; without one, alpha scales."""
    matrix, vector = Tile("M", COLUMNS, f32), Tile(COLUMNS, f32)
    options = {"grid": lambda M: (M, 1, 1), "block": (COLUMNS, 1, 1)}
    raw = [("f32", "alpha")] if scale is None else []

    @kernel(in_specs=(matrix, vector), out_specs=(matrix,), raw_params=raw, **options, **given)
    def weigh(X, W, Y):
        multiply(X, W, Y, ptx.param(f32, "alpha") if scale is None else scale)

    return weigh


def build_norm(scale: float = 1.0, op: str | None = None, **given: Any) -> Any:
    """Return that kernel with its gradient: a launch of the same, and torch's sum."""
    weigh = build_weigh(scale, **given)

    def backward(x: Any, w: Any, g: Any) -> Any:
        return weigh(g, w), (x * g * scale).sum(0)

    return differentiable_kernel(weigh, backward, op=op)


def multiply(X: Any, W: Any, Y: Any, scale: Any) -> None:
    px, pw, py = ptx.global_ptrs(X, W, Y)
    column = reg.from_(ptx.special.tid.x(), u32)
    place = (reg.from_(ptx.special.ctaid.x(), u32) * COLUMNS + column) * 4
    x, w = reg.scalar(f32), reg.scalar(f32)
    ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
    ptx.inst.ld.global_.f32(w, ptx.addr(pw + column * 4))
    ptx.inst.mul.f32(x, x, w)
    ptx.inst.mul.f32(x, x, scale)
    ptx.inst.st.global_.f32(ptx.addr(py + place), x)
    ptx.ret()


def build_double() -> Any:
    """Return a kernel alone, for tensors without a gradient."""

    @kernel(
        in_specs=(Tile("M", COLUMNS, f32),),
        out_specs=(Tile("M", COLUMNS, f32),),
        grid=lambda M: (M, 1, 1),
        block=(COLUMNS, 1, 1),
    )
    def double(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        column = reg.from_(ptx.special.tid.x(), u32)
        place = (reg.from_(ptx.special.ctaid.x(), u32) * COLUMNS + column) * 4
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
        ptx.inst.add.f32(x, x, x)
        ptx.inst.st.global_.f32(ptx.addr(py + place), x)
        ptx.ret()

    return double


class Block(torch.nn.Module):
    """Attention and two linear maps, with a kernel of its own for its norm and for its mask."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.double = build_norm(), build_double()
        self.weight = torch.nn.Parameter(torch.ones(COLUMNS))
        self.qkv = torch.nn.Linear(COLUMNS, 3 * COLUMNS)
        self.mlp = torch.nn.Linear(COLUMNS, COLUMNS)

    def forward(self, x: Any, mask: Any) -> Any:
        q, k, v = self.qkv(self.norm(x, self.weight)).chunk(3, -1)
        x = x + torch.softmax(q @ k.T + self.double(mask)[:, : len(x)], -1) @ v
        return x + torch.relu(self.mlp(self.norm(x, self.weight)))


def counted() -> dict[str, int]:
    """Return hits, misses and bypasses of AOTAutograd's and Inductor's caches."""
    found = {**counters["aot_autograd"], **counters["inductor"]}
    return {name: count for name, count in found.items() if "cache" in name}


def train() -> None:
    """Compile the model of the tests, take a step, and print what the caches did."""
    model, tokens = made(), tokens_for(2, 7)
    model.blocks = model.blocks[:1]  # others would take as long again
    call = torch.compile(model, fullgraph=True)
    assert_close(gradients(model, loss_of(call, tokens)), expected(model, tokens))
    # And a kernel that is not named by its author, for rows that are brought by the call.
    double = build_double()
    dynamic = torch.compile(lambda t: double(t).relu(), fullgraph=True, dynamic=True)
    for rows in (5, 7):
        assert torch.equal(dynamic(torch.ones(rows, COLUMNS)), torch.full((rows, COLUMNS), 2.0))
    print(json.dumps(counted()))


if __name__ == "__main__":
    train()
