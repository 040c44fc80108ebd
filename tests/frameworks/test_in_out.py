# SPDX-License-Identifier: Apache-2.0
"""In-out tensors and filled outputs in torch and JAX: declared, compiled, captured, refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.types import f32
from support.packages import need

torch = need("torch")

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)


@kernel(
    in_specs=(Tile("N", f32),),
    inout_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (N, 1, 1),
    out_init=0,
)
def accumulate(X: Any, A: Any, Y: Any) -> None:
    """A += X; Y = A before where X > 0, else what it is filled with."""
    i = ptx.special.ctaid.x()
    x, a = reg.scalar(f32), reg.scalar(f32)
    ptx.ld(f32, x, ptx.at(X, i))
    ptx.ld(f32, a, ptx.at(A, i))
    with ptx.if_(x > 0.0):
        ptx.st(f32, ptx.at(Y, i), a)
    ptx.st(f32, ptx.at(A, i), a + x)
    ptx.ret()


X = [1.0, -2.0, 3.0]


@pytest.mark.parametrize("device", ["cpu", cuda])
def test_torch_eager_and_compiled(device: str) -> None:
    def twice(x: Any, a: Any) -> Any:
        first = accumulate(x, a)
        return first + accumulate(x, a)

    x = torch.tensor(X, device=device)
    for run in (twice, torch.compile(twice, fullgraph=True, backend="aot_eager")):
        a = torch.full((3,), 10.0, device=device)
        before = a._version
        assert run(x, a).tolist() == [21, 0, 26 - 3]
        assert a.tolist() == [12, 6, 16]
        assert a._version > before


def test_the_schema_says_what_is_written() -> None:
    x, a = torch.tensor(X), torch.zeros(3)
    packet = getattr(torch.ops.pyptx, accumulate._name_operator().partition("#")[0])
    schema = packet.default._schema
    assert [arg.alias_info is not None for arg in schema.arguments[:2]] == [False, True]
    assert schema.is_mutable
    torch.library.opcheck(packet.default, (x, a), test_utils=("test_schema", "test_faketensor"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_captured_graph_fills_and_writes_again() -> None:
    x, a = torch.tensor(X, device="cuda"), torch.zeros(3, device="cuda")
    accumulate(x, a)
    a.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = accumulate(x, a)
    for _ in range(2):
        y.fill_(9)
        graph.replay()
    assert a.tolist() == [2, -4, 6]
    assert y.tolist() == [1, 0, 3]


def test_torch_out_and_versions() -> None:
    x, a, y = torch.tensor(X), torch.zeros(3), torch.full((3,), 5.0)
    assert accumulate(x, a, out=y) is y
    assert y.tolist() == [0, 0, 0]
    with torch.no_grad():
        for call in (accumulate, accumulate.bind(x, a)):
            version = a._version
            call(x, a)
            call(x, a)
            assert a._version == version + 2
    assert a.tolist() == [5, -10, 15]


def test_gradients_are_refused_by_name() -> None:
    x, a = torch.tensor(X, requires_grad=True), torch.zeros(3)
    for call in (accumulate, accumulate.emulate):
        with pytest.raises(LaunchError, match="writing 'A' in place keeps no record for gradients"):
            call(x, a)
    with pytest.raises(Exception, match=r"."):  # in Dynamo's words, which differ
        torch.compile(accumulate, backend="aot_eager")(x, a)
    with pytest.raises(LaunchError, match="of its arguments in place, and a gradient needs"):
        differentiable_kernel(accumulate, accumulate)
    with pytest.raises(LaunchError, match=r"'accumulate' has no outputs|torch.vmap"):
        torch.vmap(accumulate)(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(LaunchError, match="negated or conjugated"):
        accumulate(torch.tensor(X), torch._neg_view(torch.zeros(3)))
    assert a.tolist() == [0, 0, 0]


def test_exported_programs_are_refused() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, a: Any) -> Any:
            return accumulate(x, a)

    with pytest.raises(Exception, match="writes A in place, which no exported program carries"):
        torch.export.export(Model(), (torch.tensor(X), torch.zeros(3)), strict=False)


def test_jax_returns_what_is_written() -> None:
    jax = need("jax")
    x, a = jax.numpy.array(X), jax.numpy.zeros(3)
    wanted = [1, -2, 3], [0, 0, 0]
    for _ in range(2):
        after, y = accumulate(x, a)
        assert (after.tolist(), y.tolist()) == wanted
        assert a.tolist() == [0, 0, 0], "the argument is as it was"

    def step(x: Any, a: Any) -> Any:
        a, _ = accumulate(x, a)
        return accumulate(x, a)

    for call in (step, jax.jit(step), jax.jit(step, donate_argnums=1)):
        after, y = call(x, jax.numpy.zeros(3))
        assert after.tolist() == [2, -4, 6]
        assert y.tolist() == [1, 0, 3]
    text = jax.jit(accumulate).lower(x, a).as_text()
    assert "output_operand_alias" in text
    bound = accumulate.bind(np.array(X, np.float32), np.zeros(3, np.float32))
    after, y = bound(x, a)
    assert (after.tolist(), y.tolist()) == wanted
    given = jax.numpy.full(3, 8.0)
    after, y = accumulate(x, a, out=given)
    assert (after.tolist(), y.tolist()) == wanted
    with pytest.raises(Exception, match="cannot be differentiated"):
        jax.grad(lambda x: accumulate(x, a)[1].sum())(x)
    many = jax.vmap(accumulate)(jax.numpy.stack([x, 2 * x]), jax.numpy.zeros((2, 3)))
    assert many[0].tolist() == [[1, -2, 3], [2, -4, 6]]
