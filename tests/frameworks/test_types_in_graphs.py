# SPDX-License-Identifier: Apache-2.0
"""Kernels whose types a call gives, in compiled graphs, gradients, vmap and JAX programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import ArgumentTypeError, Tile, differentiable_kernel, kernel, ptx
from pyptx.types import f32
from support.packages import need
from support.typed_kernels import WIDTH, build_sum

torch = need("torch")
TYPES = (torch.float32, torch.float16, torch.bfloat16)


def pair(dtype: Any, rows: int = 3, **options: Any) -> Any:
    x, y = torch.randn(2, rows, WIDTH).to(dtype).unbind()
    return (x.clone().requires_grad_(), y.clone().requires_grad_()) if options else (x, y)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_in_compiled_graphs(backend: str, dynamic: bool) -> None:
    k = build_sum(dynamic=("M",))
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x, y: k(x, y) * 2, fullgraph=True, dynamic=dynamic, backend=backend
    )
    for dtype in TYPES:
        for rows in (3, 5):
            x, y = pair(dtype, rows)
            got = compiled(x, y)
            assert got.dtype == dtype
            assert torch.equal(got, k(x, y) * 2)


@pytest.mark.parametrize("given", ["f32", torch.float32, f32], ids=["text", "torch", "pyptx"])
def test_a_type_by_keyword_in_compiled_graphs(given: Any) -> None:
    k = build_sum(result="R")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: k(x, y, R=given) * 2, fullgraph=True, backend="aot_eager")
    x, y = pair(torch.bfloat16)
    for _ in range(2):
        got = compiled(x, y)
        assert got.dtype == torch.float32
        assert torch.equal(got, k(x, y, R=f32) * 2)


def test_types_that_disagree_in_a_compiled_graph() -> None:
    k = build_sum()
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: k(x, y), fullgraph=True, backend="eager")
    x, y = pair(torch.float16)
    with pytest.raises(Exception, match=r"argument 'X' gave T = float16 \(f16\)"):
        compiled(x, y.float())


def test_gradients_have_the_types_of_the_inputs() -> None:
    k = build_sum()
    add = differentiable_kernel(k, lambda x, y, g: (k(g, torch.zeros_like(g)), g.clone()))
    for dtype in TYPES:
        x, y = pair(dtype, requires_grad=True)
        out = add(x, y)
        out.backward(torch.ones_like(out))
        assert x.grad.dtype == y.grad.dtype == dtype
        assert torch.equal(x.grad, torch.ones_like(x))


def test_exported_programs_have_one_type() -> None:
    k = build_sum()

    class Model(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return k(x, y)

    x, y = pair(torch.bfloat16)
    program = torch.export.export(Model(), (x, y), strict=False)
    assert torch.equal(program.module()(x, y), k(x, y))


def test_under_vmap() -> None:
    k = build_sum(batch="M")
    x = torch.randn(2, 3, WIDTH).half()
    assert torch.equal(torch.vmap(k)(x, x), x + x)


def test_in_jax() -> None:
    jax = need("jax")
    k = build_sum()
    cast = build_sum(result="R")
    for dtype in (jax.numpy.float32, jax.numpy.float16, jax.numpy.bfloat16):
        x = jax.numpy.arange(2 * WIDTH).reshape(2, WIDTH).astype(dtype)
        for function in (k, jax.jit(k), jax.jit(lambda x, y: k(x, y))):
            got = function(x, x)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, x + x)
        got = jax.jit(lambda x, y: cast(x, y, R=f32))(x, x)
        assert got.dtype == jax.numpy.float32
        assert cast(x, x, R=jax.numpy.dtype("float32")).dtype == jax.numpy.float32
        mapped = jax.vmap(k)(x[None], x[None])
        assert mapped.dtype == dtype
    with pytest.raises(ArgumentTypeError, match="argument 'Y' has dtype float32"):
        k(x, x.astype("float32"))


def test_gradients_in_jax_have_zeros_of_the_outputs_type() -> None:
    """What a backward gets for an output of whole numbers, whose type is that of the call."""
    jax = need("jax")
    seen = []

    @kernel(
        in_specs=(Tile(4, dtype="T"), Tile(4, dtype="I")),
        out_specs=(Tile(4, dtype="T"), Tile(4, dtype="I")),
        arch="sm_90a",
    )
    def both(X: Any, N: Any, Y: Any, C: Any) -> None:
        ptx.ret()

    def backward(x: Any, n: Any, g: Any, c: Any) -> Any:
        seen.append((g.dtype.name, c.dtype.name))
        return g, None

    call = differentiable_kernel(both, backward)
    for float_type, int_type in (("float32", "int32"), ("bfloat16", "int16")):
        x, n = jax.numpy.ones(4, float_type), jax.numpy.ones(4, int_type)
        grad = jax.grad(lambda x, n: call(x, n)[0].sum().astype("float32"))(x, n)
        assert grad.dtype == float_type
        assert seen[-1] == (float_type, int_type)
