# SPDX-License-Identifier: Apache-2.0
"""Kernels under torch's function transforms: what works, and what must be refused."""

from __future__ import annotations

from typing import Any

import pytest

import sample_kernels
from pyptx import differentiable_kernel
from pyptx._errors import LaunchError

torch = pytest.importorskip("torch")


@pytest.fixture
def k() -> Any:
    made = sample_kernels.build_vector_add()
    made(torch.zeros(64), torch.zeros(64))  # the C entry knows this shape from now on
    return made


@pytest.fixture
def pair() -> Any:
    return differentiable_kernel(
        sample_kernels.build_my_forward(2, 32), sample_kernels.build_my_backward(2, 32)
    )


def test_vmap(k: Any) -> None:
    a, b = torch.randn(3, 64), torch.randn(64, 3)
    assert torch.equal(torch.vmap(k)(a, a), a + a)
    assert torch.equal(torch.vmap(k, in_dims=(0, 1), out_dims=1)(a, b), a.T + b)
    assert torch.equal(torch.vmap(k, in_dims=(0, None))(a, b[:, 0].contiguous()), a + b[:, 0])
    nested = torch.vmap(torch.vmap(k))(a.expand(2, 3, 64), a.expand(2, 3, 64))
    assert torch.equal(nested, 2 * a.expand(2, 3, 64))


def test_functionalize_sees_the_real_tensors(k: Any) -> None:
    a = torch.randn(64)
    assert torch.equal(torch.func.functionalize(lambda x: k(x, x))(a), a + a)


def test_forward_mode_is_refused(k: Any) -> None:
    from torch.autograd import forward_ad

    a = torch.randn(64)
    batch = torch.randn(3, 64)
    with pytest.raises(LaunchError, match="no forward-mode derivative"):
        torch.func.jvp(lambda x: k(x, a), (a,), (a,))
    with pytest.raises(LaunchError, match="no forward-mode derivative"):
        torch.func.jvp(torch.vmap(lambda x: k(x, a)), (batch,), (batch,))
    with forward_ad.dual_level():
        assert torch.equal(k(a, a), a + a)
        with pytest.raises(LaunchError, match="no forward-mode derivative"):
            k(forward_ad.make_dual(a, a), a)


def test_out_is_refused_where_a_gradient_would_be_lost(k: Any) -> None:
    a, out = torch.randn(64), torch.zeros(64)
    leaf = a.clone().requires_grad_()
    for args, given in (((leaf, a), out), ((a, a), torch.zeros(64, requires_grad=True))):
        with pytest.raises(LaunchError, match="out= keeps no record for gradients"):
            k(*args, out=given)
    with torch.no_grad():
        assert torch.equal(k(leaf, a, out=out), a + a)
    assert torch.equal(k(leaf.detach(), a, out=out), a + a)


def test_a_compiled_out_is_refused_too(k: Any) -> None:
    a, out = torch.randn(64), torch.zeros(64)
    compiled = torch.compile(lambda x, y, out: k(x, y, out=out), fullgraph=True)
    with pytest.raises(Exception, match="out= keeps no record for gradients"):
        compiled(a.clone().requires_grad_(), a, out)
    assert torch.equal(compiled(a, a, out), a + a)


def test_differentiable_kernels(pair: Any) -> None:
    x, w = torch.randn(2, 32), torch.randn(32)

    def loss(x: Any) -> Any:
        return pair(x, w).sum()

    gradient = w.expand(2, 32)
    assert torch.equal(torch.func.grad(loss)(x), gradient)
    many = x.expand(3, 2, 32).contiguous()
    assert torch.equal(torch.vmap(lambda x: pair(x, w))(many), many * w)
    assert torch.equal(torch.vmap(torch.func.grad(loss))(many), gradient.expand(3, 2, 32))
    leaf = x.clone().requires_grad_()
    torch.compile(loss, fullgraph=True)(leaf).backward()
    assert torch.equal(leaf.grad, gradient)


def test_graphs_of_other_tracers_hold_the_operator(k: Any) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return k(x, x) * 2

    a = torch.randn(64)
    graphs = [make_fx(Model())(a)]
    graphs += [torch.export.export(Model(), (a,), strict=s).module() for s in (True, False)]
    for graph in graphs:
        assert "pyptx.call" in graph.code
        assert torch.equal(graph(a), 4 * a)


@pytest.mark.parametrize("call", ["first", "repeated", "emulate"])
def test_a_graph_that_saved_the_output_does_not_go_backward(k: Any, call: str) -> None:
    a, saved = torch.randn(64), torch.randn(64)
    weight = torch.randn(64, requires_grad=True)
    if call == "first":
        k = sample_kernels.build_vector_add()
    loss = (weight * saved).sum()
    with torch.no_grad():
        (k.emulate if call == "emulate" else k)(a, a, out=saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_vmap_over_nothing(k: Any) -> None:
    assert torch.vmap(k)(torch.ones(0, 64), torch.ones(0, 64)).shape == (0, 64)
