# SPDX-License-Identifier: Apache-2.0
"""What a kernel with a gradient keeps of its outputs, and where it keeps nothing."""

from __future__ import annotations

from pyptx.torch_support import differentiable_kernel
from support.packages import need
from support.vector_kernels import N, build_square, leaf

torch = need("torch")


def test_an_output_is_saved() -> None:
    """Indices behind those of the inputs are outputs: the gradient of a square, from the square."""
    forward, _, _ = build_square()
    root = differentiable_kernel(forward, lambda y, g: 2 * y**0.5 * g, save_for_backward=[1])
    x = (torch.rand(N, dtype=torch.float64) + 1).requires_grad_()
    root(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    found = torch.func.grad(lambda x: root(x).sum())(x.detach())
    torch.testing.assert_close(found, x.grad)


def test_nothing_is_recorded_where_no_gradient_is_asked_for() -> None:
    square, x = differentiable_kernel(*build_square()[:2]), leaf()
    with torch.no_grad():
        assert square(x).grad_fn is None
    assert square(x.detach()).grad_fn is None
    assert square(x).grad_fn is not None
