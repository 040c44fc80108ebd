# SPDX-License-Identifier: Apache-2.0
"""`pyptx.kernels` from torch, compiled graphs, JAX and NumPy: gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import kernels
from pyptx.kernels.softmax import build_softmax
from support import row_references as reference
from support.packages import need

torch = need("torch")


def leaves(*shapes: tuple[int, ...]) -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def check(function: Any, *inputs: Any) -> None:
    """Compare with finite differences: f32 leaves two digits."""
    assert torch.autograd.gradcheck(function, inputs, eps=1e-2, atol=2e-2, rtol=2e-2)


def test_gradients_of_norms() -> None:
    x, r, w, b = leaves((2, 3, 24), (2, 3, 24), (24,), (24,))
    check(kernels.rms_norm, x, w)
    check(kernels.layer_norm, x, w, b)
    check(lambda x, r, w: kernels.rms_norm(x, w, residual=r), x, r, w)
    check(lambda x, r, w, b: kernels.layer_norm(x, w, b, residual=r), x, r, w, b)


def test_gradients_of_softmax_and_cross_entropy() -> None:
    (x,) = leaves((2, 3, 20))
    targets = torch.tensor([[0, 19, -100], [7, 7, 3]])
    check(kernels.softmax, x)
    check(lambda x: kernels.cross_entropy(x, targets), x)
    loss = kernels.cross_entropy(x, targets)
    assert loss.shape == (2, 3)
    assert loss[0, 2] == 0


def test_gradients_of_elements() -> None:
    gate, up, q = leaves((2, 3, 16), (2, 3, 16), (1, 3, 2, 8))
    angle = torch.arange(12.0).reshape(3, 4)
    check(kernels.swiglu, gate, up)
    check(kernels.swiglu, gate)
    assert torch.equal(kernels.swiglu(torch.cat([gate, up], -1)), kernels.swiglu(gate, up))
    for interleaved in (False, True):
        check(
            lambda q, each=interleaved: kernels.rotary(
                q, angle.cos(), angle.sin(), interleaved=each
            ),
            q,
        )


def test_loss_and_gradient_in_one_pass_and_in_place() -> None:
    (x,) = leaves((4, 40))
    targets, g = torch.tensor([0, 5, 39, -1]), torch.full((4,), 0.25)
    kernels.cross_entropy(x, targets).backward(g)
    logits = x.detach().clone()
    losses, dx = kernels.cross_entropy_and_gradient(logits, targets, g)
    assert torch.equal(dx, x.grad)
    out = (torch.empty(4), logits)
    kernels.cross_entropy_and_gradient(logits, targets, g, out=out)
    assert torch.equal(logits, dx)
    assert torch.equal(out[0], losses)


@pytest.mark.parametrize("columns", [3000, 33000])  # a row of a CTA, and of a cluster
def test_a_gradient_in_place_of_long_rows(columns: int) -> None:
    logits = torch.randn(2, columns, generator=torch.Generator().manual_seed(1)).bfloat16()
    targets, g = torch.tensor([0, columns - 1]), torch.ones(2)
    losses, dx = kernels.cross_entropy_and_gradient(logits, targets, g)
    out = (torch.empty(2), logits)
    kernels.cross_entropy_and_gradient(logits, targets, g, out=out)
    assert torch.equal(logits, dx)
    assert torch.equal(out[0], losses)


def test_fp8_of_rows_and_of_groups() -> None:
    x = torch.randn(2, 3, 256, generator=torch.Generator().manual_seed(1))
    q, scales = kernels.quantise_fp8(x)
    assert (q.dtype, q.shape, scales.shape) == (torch.float8_e4m3fn, (2, 3, 256), (2, 3))
    q, scales = kernels.quantise_fp8(x, group=128, dtype="e5m2")
    assert (q.dtype, scales.shape) == (torch.float8_e5m2, (2, 3, 2))
    restored = q.float().reshape(2, 3, 2, 128) * scales[..., None]
    assert (restored.reshape(x.shape) - x).abs().max() < 0.125 * x.abs().max()


def everything(x: Any, r: Any, w: Any, b: Any, q: Any, targets: Any, cos: Any, sin: Any) -> Any:
    y, total = kernels.rms_norm(x, w, residual=r)
    z = kernels.layer_norm(total, w, b)
    losses = kernels.cross_entropy(kernels.softmax(z) * y, targets)
    gated = kernels.swiglu(z, y).sum() + kernels.swiglu(x).sum()
    return losses.sum() + gated + (kernels.rotary(q, cos, sin) ** 2 * cos[0, 0]).sum()


def arguments() -> tuple[list[Any], tuple[Any, ...]]:
    angle = torch.arange(8.0).reshape(2, 4)
    given = leaves((4, 32), (4, 32), (32,), (32,), (1, 2, 2, 8))
    return given, (torch.tensor([1, 0, 31, -100]), angle.cos(), angle.sin())


def test_a_compiled_graph_is_one_piece() -> None:
    given, rest = arguments()
    expected = torch.autograd.grad(everything(*given, *rest), given)
    compiled = torch.compile(everything, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(*given, *rest), given)
    for left, right in zip(found, expected, strict=True):
        assert torch.equal(left, right)


def test_a_compiled_graph_without_gradients() -> None:
    gate, up = (each.detach() for each in leaves((3, 16), (3, 16)))

    def gated(gate: Any, up: Any) -> Any:
        return kernels.softmax(kernels.swiglu(gate, up))

    compiled = torch.compile(gated, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(gate, up), gated(gate, up))
    with torch.no_grad():
        assert torch.equal(compiled(gate.clone().requires_grad_(), up), gated(gate, up))


def test_jax() -> None:
    jax = need("jax")
    given, rest = arguments()
    expected = torch.autograd.grad(everything(*given, *rest), given)
    arrays = [jax.numpy.asarray(each.detach().numpy()) for each in (*given, *rest)]
    program = jax.jit(jax.grad(everything, argnums=tuple(range(5))))
    for got, right in zip(program(*arrays), expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), right.numpy(), rtol=1e-5, atol=1e-6)
    x, w = arrays[0], arrays[2]
    mapped = jax.vmap(lambda row: kernels.rms_norm(row[None], w)[0])(x)
    np.testing.assert_array_equal(np.asarray(mapped), np.asarray(kernels.rms_norm(x, w)))


def test_numpy() -> None:
    x = np.random.default_rng(0).standard_normal((3, 100)).astype(np.float32)
    y = kernels.softmax(x)
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, reference.softmax(x.astype(np.float64)), rtol=1e-5)


def test_without_gradients_the_kernel_itself_is_called() -> None:
    x, w = leaves((2, 16), (16,))
    assert kernels.rms_norm(x, w).grad_fn is not None
    with torch.no_grad():
        assert kernels.rms_norm(x, w).grad_fn is None
    assert kernels.rms_norm(x.detach(), w.detach()).grad_fn is None


def test_lines_are_those_of_the_kernel() -> None:
    """The package's own kernels have authors too: reports and profilers point at their lines."""
    assert 'kernels/softmax.py"' in build_softmax(64, "f32").ptx(B=4)
