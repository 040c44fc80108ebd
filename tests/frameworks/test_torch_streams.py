# SPDX-License-Identifier: Apache-2.0
"""Kernels on CUDA streams, on devices that are not current, and in CUDA graphs.

No assertion asks how long something takes: a stream is held up, and what was launched behind the
wait must have seen what came before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyptx import differentiable_kernel
from pyptx.types import f32
from support import sample_kernels
from support.example_modules import example
from support.packages import need

torch = need("torch")

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
hopper = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0),
    reason="no device of compute capability 9.0",
)
two_devices = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="fewer than two GPUs")

N = 4096
WAIT = 50_000_000  # cycles, tens of milliseconds


def add() -> Any:
    """A kernel that the C entry knows already."""
    k = sample_kernels.build_vector_add()
    x = torch.zeros(N, device="cuda")
    k(x, x)
    return k


def held_up(stream: Any, cycles: int = WAIT) -> None:
    """Make a stream wait for a while."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(cycles)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("give_out", [False, True])
def test_a_launch_is_ordered_on_the_current_stream(is_known: bool, give_out: bool) -> None:
    k = add() if is_known else sample_kernels.build_vector_add()
    x, out = torch.ones(N, device="cuda"), torch.zeros(N, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    held_up(side)
    with torch.cuda.stream(side):
        x.fill_(3.0)
        found = k(x, x, out=out) if give_out else k(x, x)
        after = found * 2
    torch.cuda.current_stream().wait_stream(side)
    # On another stream the kernel would have read the ones.
    assert torch.equal(found, torch.full_like(x, 6.0))
    assert torch.equal(after, torch.full_like(x, 12.0))


def test_streams_of_other_libraries() -> None:
    k = add()
    x = torch.ones(N, device="cuda")
    owner = torch.cuda.Stream()
    stream = torch.cuda.ExternalStream(owner.cuda_stream)
    stream.wait_stream(torch.cuda.current_stream())
    held_up(stream)
    with torch.cuda.stream(stream):
        x.fill_(2.0)
        found = k(x, x)
    stream.synchronize()
    assert torch.equal(found, torch.full_like(x, 4.0))


def test_outputs_belong_to_torchs_allocator_and_to_the_stream() -> None:
    k = add()
    x = torch.ones(N, device="cuda")
    side, main = torch.cuda.Stream(), torch.cuda.current_stream()
    side.wait_stream(main)
    before = torch.cuda.memory_allocated()
    with torch.cuda.stream(side):
        out = k(x, x)
        plain = torch.empty_like(x)
    taken = torch.cuda.memory_allocated() - before
    assert taken >= 2 * out.nbytes
    assert out.untyped_storage().resizable() == plain.untyped_storage().resizable()
    side.synchronize()
    # Used on another stream and recorded there: not handed out again before that one is done.
    address = out.data_ptr()
    held_up(main, 20 * WAIT)
    read = out * 2
    out.record_stream(main)
    del out
    with torch.cuda.stream(side):
        others = [torch.empty_like(x) for _ in range(4)]
    assert address not in [other.data_ptr() for other in others]
    assert torch.equal(read, torch.full_like(x, 4.0))


@pytest.mark.parametrize("is_known", [False, True])
def test_backward_runs_on_the_stream_of_forward(is_known: bool) -> None:
    op = differentiable_kernel(
        sample_kernels.build_my_forward(4, 64), sample_kernels.build_my_backward(4, 64)
    )
    x = torch.ones(4, 64, device="cuda", requires_grad=True)
    w = torch.ones(64, device="cuda")
    if is_known:
        op(x, w).sum().backward()
        x.grad = None
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    held_up(side)
    with torch.cuda.stream(side):
        w.fill_(5.0)
        op(x, w).sum().backward()
        found = x.grad * 1
    torch.cuda.current_stream().wait_stream(side)
    assert torch.equal(found, torch.full_like(x, 5.0))


@two_devices
@pytest.mark.parametrize("is_known", [False, True])
def test_the_null_stream_of_a_device_that_is_not_current(is_known: bool) -> None:
    k = add() if is_known else sample_kernels.build_vector_add()
    there = torch.device("cuda", 1)
    x = torch.ones(N, device=there)
    if is_known:
        k(x, x)
    with torch.cuda.device(0):
        assert torch.cuda.default_stream(there).cuda_stream == 0
        found = k(x, x)
        assert torch.cuda.current_device() == 0
        assert found.device == there
        side = torch.cuda.Stream(there)
        side.wait_stream(torch.cuda.default_stream(there))
        with torch.cuda.stream(side):
            x.fill_(3.0)
            second = k(x, x)
        assert torch.cuda.current_device() == 0
        side.synchronize()
    assert torch.equal(found, torch.full_like(x, 2.0))
    assert torch.equal(second, torch.full_like(x, 6.0))


@two_devices
def test_every_device_has_its_own_launch() -> None:
    k = sample_kernels.build_vector_add()
    for index in [*range(torch.cuda.device_count())] * 2:
        x = torch.full((N,), float(index), device=torch.device("cuda", index))
        assert torch.equal(k(x, x), 2 * x)


# --- graphs -------------------------------------------------------------------------------------


def captured(body: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """Warm up as torch asks for it, and capture; the graph and what the body returned."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        body()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, **options):
        result = body()
    return graph, result


def test_a_graph_of_several_kernels_with_and_without_out() -> None:
    k, scale = add(), sample_kernels.build_scale(3.0)
    x, out = torch.zeros(32, device="cuda"), torch.zeros(32, device="cuda")

    def body() -> Any:
        first = k(x, x)
        k(first, x, out=out)
        return first, scale(out)

    graph, (first, scaled) = captured(body)
    address = scaled.data_ptr()
    for value in (1.0, 2.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert torch.equal(first, torch.full_like(x, 2 * value))
        assert torch.equal(out, torch.full_like(x, 3 * value))
        assert torch.equal(scaled, torch.full_like(x, 9 * value))
    assert scaled.data_ptr() == address


def test_graphs_that_share_a_pool() -> None:
    k = add()
    x = torch.zeros(N, device="cuda")
    first_graph, first = captured(lambda: k(x, x))
    second_graph, second = captured(lambda: k(first, first), pool=first_graph.pool())
    x.fill_(1.5)
    first_graph.replay()
    second_graph.replay()
    assert torch.equal(second, torch.full_like(x, 6.0))


@hopper
@pytest.mark.parametrize("tma", ["value", "pointer"])
def test_a_graph_with_tensor_maps(tma: str) -> None:
    """Maps of tensors that live outside the graph, and of one that its private pool holds."""
    gemm = example("hopper/gemm").build_gemm(tma=tma)
    a = torch.zeros(256, 128, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(192, 128, device="cuda").bfloat16()
    out = torch.zeros(256, 192, device="cuda")

    def body() -> Any:
        doubled = a * 2
        gemm(a, b, out=out)
        return gemm(doubled, b)

    graph, found = captured(body)
    for _ in range(3):
        a.copy_(torch.randn(256, 128, device="cuda"))
        graph.replay()
        expected = a.double() @ b.double().T
        for got, right in ((out, expected), (found, 2 * expected)):
            error = (got.double() - right).abs().max() / right.abs().max()
            assert float(error) < 1e-5
    # What ran eagerly meanwhile has maps of its own.
    other = torch.randn(256, 128, device="cuda").bfloat16()
    eager = gemm(other, b)
    graph.replay()
    for got, left in ((eager, other), (out, a)):
        right = left.double() @ b.double().T
        assert float((got.double() - right).abs().max() / right.abs().max()) < 1e-5


def test_a_module_with_gradients_as_a_graph() -> None:
    rows, columns = 16, 128
    module = example("hopper/rms_norm")
    op = differentiable_kernel(
        module.build_rms_norm(rows, columns, dtype=f32),
        module.build_rms_norm_backward(rows, columns, dtype=f32),
    )

    class Norm(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(columns, device="cuda"))

        def forward(self, x: Any) -> Any:
            return op(x, self.weight)

    model = Norm()
    sample = torch.randn(rows, columns, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (sample,))
    x = torch.randn(rows, columns, device="cuda", requires_grad=True)
    twin = x.detach().clone().requires_grad_()
    weight = model.weight.detach().clone().requires_grad_()
    g = torch.randn(rows, columns, device="cuda")
    model.weight.grad = None
    graphed(x).backward(g)
    torch.nn.functional.rms_norm(twin, (columns,), weight, eps=1e-6).backward(g)
    torch.testing.assert_close(x.grad, twin.grad, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.weight.grad, weight.grad, rtol=1e-4, atol=1e-4)


def test_a_refused_call_leaves_the_capture_usable() -> None:
    k = add()
    x, wrong = torch.ones(N, device="cuda"), torch.ones(N + 1, device="cuda")

    def body() -> Any:
        with pytest.raises(Exception, match="so N = 4097"):
            k(x, wrong)
        return k(x, x)

    graph, found = captured(body)
    x.fill_(4.0)
    graph.replay()
    assert torch.equal(found, torch.full_like(x, 8.0))
