# SPDX-License-Identifier: Apache-2.0
"""Kernels on torch tensors: eager, repeated, out=, torch.compile, autograd.

Everything runs on CPU tensors (the emulator), and again on CUDA tensors where there is a GPU.
"""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import Layout, Tile, differentiable_kernel, kernel, torch_support
from pyptx._errors import LaunchError
from pyptx.types import b32, f32
from support import sample_kernels
from support.packages import need

torch = need("torch")

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)
devices = pytest.mark.parametrize("device", ["cpu", cuda])


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Any:
    torch.manual_seed(0)
    torch._dynamo.reset()


def rms_norm(x: Any, w: Any) -> Any:
    x, w = x.double(), w.double()
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


@devices
def test_eager_and_repeated(device: str) -> None:
    k = sample_kernels.build_rms_norm(16, 512)
    for _ in range(3):
        x = torch.randn(16, 512, device=device)
        w = torch.randn(512, device=device)
        out = k(x, w)
        assert (out.shape, out.dtype, out.device) == (x.shape, x.dtype, x.device)
        torch.testing.assert_close(out.double(), rms_norm(x, w), rtol=1e-5, atol=1e-5)
    assert k._live.entry.hits == 2


@devices
def test_a_call_of_another_shape_does_not_use_the_first_ones_launch(device: str) -> None:
    k = sample_kernels.build_vector_add()
    for n in (1, 127, 128, 129, 1000, 128):
        a, b = torch.randn(n, device=device), torch.randn(n, device=device)
        for _ in range(2):
            torch.testing.assert_close(k(a, b), a + b, rtol=0, atol=0)


@devices
def test_out(device: str) -> None:
    k = sample_kernels.build_vector_add()
    a, b = torch.randn(200, device=device), torch.randn(200, device=device)
    out = torch.full((200,), 7.0, device=device)
    for form in (out, (out,), [out]):
        out.fill_(7.0)
        assert k(a, b, out=form) is out
        torch.testing.assert_close(out, a + b, rtol=0, atol=0)
    assert k(a, b, out=a) is a  # in place


@devices
def test_nothing_is_launched_for_no_elements(device: str) -> None:
    k = sample_kernels.build_vector_add()
    empty = torch.ones(0, device=device)
    for _ in range(2):
        found = k(empty, empty)
        assert (found.shape, found.device) == (empty.shape, empty.device)
    assert k(empty, empty, out=found) is found
    assert torch.compile(k, fullgraph=True, backend="eager")(empty, empty).shape == (0,)
    assert torch.equal(k(torch.ones(3, device=device), torch.ones(3, device=device)).cpu(),
                       torch.full((3,), 2.0))  # fmt: skip


@devices
def test_parameters_and_views(device: str) -> None:
    k = sample_kernels.build_vector_add()
    a = torch.nn.Parameter(torch.randn(64, device=device), requires_grad=False)
    b = torch.randn(3, 64, device=device)[1]  # contiguous, at an offset
    torch.testing.assert_close(k(a, b), a + b, rtol=0, atol=0)
    torch.testing.assert_close(k(a, b), a + b, rtol=0, atol=0)


@devices
def test_compile_keeps_one_graph(device: str) -> None:
    k = sample_kernels.build_rms_norm(8, 64)
    x, w = torch.randn(8, 64, device=device), torch.randn(64, device=device)
    compiled = torch.compile(k, fullgraph=True)
    torch.testing.assert_close(compiled(x, w), k(x, w), rtol=0, atol=0)

    def model(x: Any, w: Any) -> Any:
        return k(x * 2, w).relu() + 1

    fused = torch.compile(model, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(fused(x, w), model(x, w))


def test_compile_before_any_eager_call_and_with_dynamic_shapes() -> None:
    k = sample_kernels.build_vector_add()
    compiled = torch.compile(lambda a, b: k(a, b) * 2, fullgraph=True, dynamic=True)
    for n in (5, 130, 700):
        a, b = torch.randn(n), torch.randn(n)
        torch.testing.assert_close(compiled(a, b), (a + b) * 2)


def test_compile_with_template_values_and_out() -> None:
    k = sample_kernels.build_vector_add()
    a, b = torch.randn(100), torch.randn(100)

    def with_template(a: Any, b: Any) -> Any:
        return k(a, b, BLOCK=128) - 1

    def with_out(a: Any, b: Any) -> Any:
        out = torch.empty_like(a)
        k(a, b, out=out)
        return out * 3

    torch.testing.assert_close(torch.compile(with_template, fullgraph=True)(a, b), a + b - 1)
    torch.testing.assert_close(torch.compile(with_out, fullgraph=True)(a, b), (a + b) * 3)


def test_fake_and_meta_tensors_get_shapes_without_running() -> None:
    k = sample_kernels.build_vector_add()
    a = torch.empty(100, device="meta")
    out = k(a, a)
    assert (out.device.type, out.shape) == ("meta", (100,))
    with torch._subclasses.FakeTensorMode():
        assert k(torch.empty(10), torch.empty(10)).shape == (10,)


@devices
@pytest.mark.parametrize("compiled", [False, True])
def test_autograd(device: str, compiled: bool) -> None:
    m, n = 4, 64
    op = differentiable_kernel(
        sample_kernels.build_my_forward(m, n),
        sample_kernels.build_my_backward(m, n),
        save_for_backward=[0, 1],
    )

    def loss(f: Any, x: Any, w: Any) -> Any:
        return (f(x, w) * torch.arange(n, device=device)).sum()

    def run(f: Any) -> list[Any]:
        x = torch.linspace(-1, 1, m * n, device=device).reshape(m, n).requires_grad_()
        w = torch.linspace(2, 3, n, device=device).requires_grad_()
        value = loss(f, x, w)
        value.backward()
        return [value.detach(), x.grad, w.grad]

    ours = (
        (lambda x, w: op(x, w))
        if not compiled
        else torch.compile(lambda x, w: op(x, w), fullgraph=True)
    )
    for got, expected in zip(run(ours), run(lambda x, w: x * w), strict=True):
        torch.testing.assert_close(got, expected)


def test_gradients_agree_with_finite_differences() -> None:
    op = differentiable_kernel(
        sample_kernels.build_my_forward(2, 32), sample_kernels.build_my_backward(2, 32)
    )
    x = torch.randn(2, 32, requires_grad=True)
    w = torch.randn(32, requires_grad=True)
    # float32 throughout, so the step is large and the tolerance wide; the function is bilinear,
    # for which central differences are exact up to rounding.
    assert torch.autograd.gradcheck(op, (x, w), eps=1e-1, atol=1e-2, rtol=1e-2)


def test_inputs_beyond_num_grad_inputs_get_none() -> None:
    op = differentiable_kernel(
        sample_kernels.build_my_forward(2, 32),
        sample_kernels.build_my_backward(2, 32),
        num_grad_inputs=1,
    )
    x = torch.randn(2, 32, requires_grad=True)
    w = torch.randn(32, requires_grad=True)
    op(x, w).sum().backward()
    assert x.grad is not None
    assert w.grad is None


def test_a_kernel_without_backward_says_so() -> None:
    k = sample_kernels.build_vector_add()
    x = torch.randn(32, requires_grad=True)
    out = k(x, x)
    torch.testing.assert_close(out.detach(), 2 * x.detach())
    with pytest.raises(LaunchError, match="differentiable_kernel"):
        out.sum().backward()


@devices
@pytest.mark.parametrize("shape", [(4, 8), (2, 4, 4)])
def test_outputs_have_the_order_of_their_tile(device: str, shape: tuple[int, ...]) -> None:
    tile = Tile(*shape, f32, Layout.COL)

    @kernel(in_specs=(tile,), out_specs=(tile,), block=(32, 1, 1))
    def copied(X, Y):
        sample_kernels.scaled_copy(X, Y, 1.0)

    axes = tuple(reversed(range(len(shape))))
    x = torch.randn(shape[::-1], device=device).permute(axes)
    compiled = torch.compile(lambda x: copied(x), fullgraph=True, backend="eager")
    op = differentiable_kernel(copied, copied, save_for_backward=[])
    for call in (copied, copied, compiled, op):
        found = call(x)
        assert torch.equal(found, x)
        assert found.stride() == x.stride()
    if device == "cpu":
        assert (copied(x.numpy()) == x.numpy()).all()
    leaf = x.clone().requires_grad_()
    g = torch.randn(shape, device=device)  # in the other order
    op(leaf).backward(g)
    assert torch.equal(leaf.grad, g)


@devices
def test_out_does_not_decide_what_calls_without_it_return(device: str) -> None:
    """A dimension and an element type that only the output has."""

    def copied(X, Y):
        sample_kernels.scaled_copy(X, Y, 1.0)

    x = torch.arange(32.0, device=device)
    free = kernel(copied, in_specs=(Tile("N", f32),), out_specs=(Tile("M", f32),), block=(32, 1, 1))
    untyped = kernel(
        copied, in_specs=(Tile("N", f32),), out_specs=(Tile("N", b32),), block=(32, 1, 1)
    )
    for size in (33, 34, 33, 34):
        assert free(x, out=torch.zeros(size, device=device)).shape == (size,)
        with pytest.raises(LaunchError, match="no value for dimension 'M'"):
            free(x)
    for dtype in (torch.int32, torch.float32, torch.int32, torch.uint32):
        assert untyped(x, out=torch.zeros(32, dtype=dtype, device=device)).dtype == dtype
        assert untyped(x).dtype == torch.uint32
    # The entry serves each of them by itself the second time.
    assert (free._live.entry.hits, untyped._live.entry.hits) == (2, 5)


def test_recognising_tensors() -> None:
    assert torch_support.is_torch_tensor(torch.ones(1))
    assert not torch_support.is_torch_tensor([1.0])
    assert torch_support.any_torch_tensors([1, torch.ones(1)])
    assert not torch_support.any_torch_tensors([])
    assert torch_support.extract_input_shapes([torch.ones(2, 3), torch.ones(4)]) == [(2, 3), (4,)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cuda_graph_and_side_stream() -> None:
    k = sample_kernels.build_vector_add()
    a, b = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
    k(a, b)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out = k(a, b)
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(out, a + b, rtol=0, atol=0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = k(a, b)
    a.normal_()
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(out, a + b, rtol=0, atol=0)
