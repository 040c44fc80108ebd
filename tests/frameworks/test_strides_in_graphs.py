# SPDX-License-Identifier: Apache-2.0
"""Rows that lie apart in graphs that torch compiles: they reach the kernel as they are."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx._call import first_call
from pyptx.types import f32, u32
from support.packages import need

torch = need("torch")
WIDTH = 8


def build_gate(**options: Any) -> Any:
    """y = a * b for two tensors of any strides."""
    tile = Tile("M", WIDTH, f32, strides="dynamic")

    @kernel(
        in_specs=(tile, tile), out_specs=(Tile("M", WIDTH, f32),), grid=lambda M: (M, 1, 1),
        block=(WIDTH, 1, 1), arch="sm_90a", dynamic=("M",), **options,
    )  # fmt: skip
    def gate(A: Any, B: Any, Y: Any) -> None:
        pa, pb, py = ptx.global_ptrs(A, B, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        column = reg.from_(ptx.special.tid.x(), u32)
        a, b = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(a, ptx.addr(pa + (row * A.strides[0] + column) * 4))
        ptx.inst.ld.global_.f32(b, ptx.addr(pb + (row * B.strides[0] + column) * 4))
        ptx.inst.mul.f32(a, a, b)
        ptx.inst.st.global_.f32(ptx.addr(py + (row * WIDTH + column) * 4), a)
        ptx.ret()

    return gate


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The strides of the tensors of each call that Python prepares to launch."""
    seen: list[Any] = []
    prepare = first_call.prepare

    def recording(kernel: Any, captures: Any, inputs: Any, *args: Any, **keywords: Any) -> Any:
        seen.append([array.strides for array in inputs])
        return prepare(kernel, captures, inputs, *args, **keywords)

    monkeypatch.setattr(first_call, "prepare", recording)
    return seen


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("is_computed", [False, True], ids=["input", "computed"])
def test_halves(backend: str, dynamic: bool, is_computed: bool, brought: list[Any]) -> None:
    k = build_gate()

    def function(x: Any) -> Any:
        x = torch.relu(x) + 1 if is_computed else x
        return k(*x.chunk(2, -1)) + 1

    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
    for rows in (3, 5, 7):
        x = torch.randn(rows, 2 * WIDTH)
        for _ in range(2):
            assert torch.equal(compiled(x), function(x))
    apart = (2 * WIDTH, 1)
    assert all(strides == [apart, apart] for strides in brought), brought
    assert brought


def test_a_graph_sees_dense_tensors_and_others(brought: list[Any]) -> None:
    k = build_gate()
    torch._dynamo.reset()
    compiled = torch.compile(lambda a, b: k(a, b), fullgraph=True, backend="inductor")
    wide = torch.randn(4, 2 * WIDTH)
    for a in (wide[:, :WIDTH], wide[:, :WIDTH].clone(), wide[:, 3 : 3 + WIDTH]):
        assert torch.equal(compiled(a, a), a * a)
    assert [(2 * WIDTH, 1)] * 2 in brought
    assert [(WIDTH, 1)] * 2 in brought


def test_gradients_and_vmap() -> None:
    k = build_gate()
    pair = differentiable_kernel(k, lambda a, b, g: (k(g, b), k(g, a)))
    x = torch.randn(3, 2 * WIDTH, requires_grad=True)
    a, b = x.chunk(2, -1)
    pair(a, b).sum().backward()
    assert torch.equal(x.grad, torch.cat([b, a], 1))
    stacked = torch.randn(2, 3, 2 * WIDTH)
    got = torch.vmap(lambda x: k(*x.chunk(2, -1)))(stacked)
    assert torch.equal(got, stacked[..., :WIDTH] * stacked[..., WIDTH:])
    batched = build_gate(batch="M")
    assert torch.equal(torch.vmap(lambda x: batched(*x.chunk(2, -1)))(stacked), got)
