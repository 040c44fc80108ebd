# SPDX-License-Identifier: Apache-2.0
"""Calls of `pyptx.kernels` that the C entry answers, and those that it must not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.packages import need

torch = need("torch")

from pyptx import LaunchError, kernels  # noqa: E402
from pyptx.kernels import calls, gemm, row_calls  # noqa: E402
from pyptx.kernels.gemm_choice import Sizes, choose  # noqa: E402

BF16 = torch.bfloat16


def normal(*shape: int, dtype: Any = torch.float32, seed: int = 0) -> Any:
    made = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=made).to(dtype)


ANGLE = torch.arange(12.0).reshape(3, 4)
TARGETS = torch.tensor([[0, 19, -100], [7, 7, 3]])
X, W, ROWS = normal(2, 3, 32), normal(32), normal(6, 20)
A, B = normal(16, 40, dtype=BF16), normal(40, 24, dtype=BF16)

# Every function in its forms: the call behind it, what is called, the tensors.
CALLS: dict[str, tuple[calls.Call, Callable[..., Any], tuple[Any, ...]]] = {
    "rms_norm": (row_calls._rms_norm, kernels.rms_norm, (X, W)),
    "rms_norm, residual": (
        row_calls._rms_norm,
        lambda x, w, r: kernels.rms_norm(x, w, residual=r, eps=1e-3),
        (X, W, X + 1),
    ),
    "layer_norm": (row_calls._layer_norm, kernels.layer_norm, (X, W, W + 1)),
    "layer_norm, residual": (
        row_calls._layer_norm,
        lambda x, w, b, r: kernels.layer_norm(x, w, b, residual=r),
        (X, W, W + 1, X + 1),
    ),
    "softmax": (row_calls._softmax_call, kernels.softmax, (X,)),
    "cross_entropy": (
        row_calls._cross_entropy_call,
        lambda x: kernels.cross_entropy(x, TARGETS),
        (normal(2, 3, 20),),
    ),
    "swiglu": (row_calls._swiglu_call, kernels.swiglu, (X, X + 1)),
    "swiglu of halves": (row_calls._swiglu_call, kernels.swiglu, (X,)),
    "rotary": (
        row_calls._rotary_call,
        lambda x: kernels.rotary(x, ANGLE.cos(), ANGLE.sin(), interleaved=True),
        (normal(1, 3, 2, 8),),
    ),
    "matmul": (gemm._product, kernels.matmul, (A, B)),
    "matmul of rows in batches": (
        gemm._product,
        lambda a, b, c, r: kernels.matmul(a, b, bias=c, residual=r, activation="silu"),
        (A.reshape(2, 8, 40), B, normal(24, dtype=BF16), normal(2, 8, 24, dtype=BF16)),
    ),
    "matmul of views": (gemm._product, lambda a, b: kernels.matmul(a.T, b.T), (A, B[:, :16])),
    "matmul of batches of views": (
        gemm._product,
        lambda a, b: kernels.matmul(a, b.mT, out_dtype=torch.float32),
        (normal(2, 16, 40, dtype=BF16), normal(2, 24, 40, dtype=BF16)),
    ),
}
CALLS["matmul of views"][2][1].data = CALLS["matmul of views"][2][1].contiguous()


def outputs(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def same(one: Any, other: Any) -> bool:
    pairs = zip(outputs(one), outputs(other), strict=True)
    return all(a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


def is_hit(call: calls.Call, run: Callable[[], Any]) -> bool:
    """Whether the entry answers the call."""
    entry = call._entry
    hits, misses = entry.hits, entry.misses
    run()
    assert (entry.hits, entry.misses) != (hits, misses)
    return entry.misses == misses


@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_is_the_entrys(name: str) -> None:
    call, function, tensors = CALLS[name]
    first = function(*tensors)
    assert is_hit(call, lambda: function(*tensors))
    others = [tensor.clone() for tensor in tensors]
    assert is_hit(call, lambda: others.append(function(*others)))
    assert same(others[-1], first)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_the_python_route(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, function, tensors = CALLS[name]
    function(*tensors)
    found = []
    for is_remembered in (True, True, False):
        if not is_remembered:
            call._entry.clear()
            monkeypatch.setattr(calls, "_remember", lambda *_: None)
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        misses = call._entry.misses
        results = outputs(function(*leaves))
        assert (call._entry.misses == misses) == is_remembered
        kind = type(results[0].grad_fn).__name__
        assert (kind == "KernelCallBackward") == is_remembered
        grads = [normal(*r.shape, dtype=r.dtype, seed=5) for r in results]
        found.append((results, torch.autograd.grad(results, leaves, grads)))
    for results, grads in found[1:]:
        assert same(results, found[0][0])
        assert same(grads, found[0][1])


def test_gradients_of_views_lie_as_the_parameters() -> None:
    weight = normal(24, 40, dtype=BF16).requires_grad_()
    for _ in range(2):
        weight.grad = None
        kernels.matmul(A, weight.T).sum().backward()
        assert weight.grad.is_contiguous()
    assert gemm._product._entry.hits


def test_second_derivatives() -> None:
    a, b = (t.float().to(BF16).requires_grad_() for t in (A, B))
    for _ in range(2):
        (first,) = torch.autograd.grad(
            kernels.matmul(a, b, out_dtype="f32").square().sum(), a, create_graph=True
        )
        (second,) = torch.autograd.grad(first.float().square().sum(), b)
        assert second.shape == b.shape
        assert second.abs().max() > 0
    x, w = normal(2, 32).requires_grad_(), W.clone().requires_grad_()
    (first,) = torch.autograd.grad(kernels.rms_norm(x, w).sum(), x, create_graph=True)
    with pytest.raises(LaunchError, match="no backward kernel"):
        torch.autograd.grad(first.sum(), w)


def test_nothing_is_recorded_where_nothing_is_asked_for() -> None:
    x = X.clone().requires_grad_()
    assert kernels.softmax(x).grad_fn is not None
    with torch.no_grad():
        assert is_hit(row_calls._softmax_call, lambda: kernels.softmax(x))
        assert kernels.softmax(x).grad_fn is None
    with torch.inference_mode():
        assert not kernels.softmax(X).requires_grad
    assert kernels.softmax(x).grad_fn is not None
    assert kernels.softmax(X).grad_fn is None


def test_types_and_shapes_and_strides_are_others() -> None:
    kernels.rms_norm(X, W)
    for x, w in ((X.to(BF16), W), (X.half(), W.half()), (X[:1], W), (X[0], W), (X, W.to(BF16))):
        assert not is_hit(row_calls._rms_norm, lambda x=x, w=w: kernels.rms_norm(x, w))
        assert is_hit(row_calls._rms_norm, lambda x=x, w=w: kernels.rms_norm(x, w))
        wanted = torch.nn.functional.rms_norm(x.double(), (32,), w.double(), 1e-6)
        assert (kernels.rms_norm(x, w).double() - wanted).abs().max() < 0.05
    square = normal(32, 32)
    kernels.softmax(square)
    with pytest.raises(LaunchError, match="contiguous"):
        kernels.softmax(square.T)
    a = normal(40, 40, dtype=BF16)
    product = kernels.matmul(a, a)
    turned = kernels.matmul(a, a.T)
    assert torch.equal(kernels.matmul(a, a), product)
    assert torch.equal(kernels.matmul(a, a.T), turned)
    assert (turned.double() - a.double() @ a.double().T).abs().max() < 0.2
    assert (product.double() - a.double() @ a.double()).abs().max() < 0.2
    apart = normal(40, 80, dtype=BF16)[:, ::2]  # copied, at every call
    for _ in range(2):
        assert not is_hit(gemm._product, lambda: kernels.matmul(apart, a))
        assert torch.equal(kernels.matmul(apart, a), kernels.matmul(apart.contiguous(), a))


def test_options_are_others() -> None:
    results = {}
    for _ in range(2):
        for eps in (1e-6, 1.0, 0, 0.0, -0.0):
            results.setdefault(eps, []).append(kernels.rms_norm(X, W, eps=eps))
    for eps, found in results.items():
        assert all(torch.equal(found[0], each) for each in found[1:])
        wanted = torch.nn.functional.rms_norm(X, (32,), W, eps)
        torch.testing.assert_close(found[0], wanted, rtol=1e-4, atol=1e-5)
    for _ in range(2):
        assert kernels.quantise_fp8(X)[1].shape == (2, 3)
        assert kernels.quantise_fp8(X, group=16)[1].shape == (2, 3, 2)
        assert kernels.quantise_fp8(X, dtype="e5m2")[0].dtype == torch.float8_e5m2
        halves, pairs = (
            kernels.rotary(normal(1, 3, 2, 8), ANGLE.cos(), ANGLE.sin(), interleaved=each)
            for each in (False, True)
        )
        assert not torch.equal(halves, pairs)
        assert kernels.matmul(A, B, out_dtype=torch.float32).dtype == torch.float32
        assert kernels.matmul(A, B).dtype == BF16
        assert kernels.matmul(A, B, activation="relu").min() == 0
        assert kernels.matmul(A, B).min() < 0


def test_batch_invariant_calls_have_kernels_of_their_own() -> None:
    """One of few rows and a long K is divided, but never where the rows must not matter."""
    a, b = normal(8, 2048, dtype=BF16), normal(2048, 64, dtype=BF16)
    problem = kernels.GemmProblem(b_major="N")
    sizes = Sizes(8, 64, 2048)
    assert choose(problem, sizes) != choose(problem, sizes, batch_invariant=True)
    kernels.matmul(a, b)
    assert not is_hit(gemm._product, lambda: kernels.matmul(a, b, batch_invariant=True))
    assert is_hit(gemm._product, lambda: kernels.matmul(a, b, batch_invariant=True))
    alone = kernels.matmul(a[:1], b, batch_invariant=True)
    assert torch.equal(kernels.matmul(a, b, batch_invariant=True)[:1], alone)
    config = kernels.GemmConfig(tile=(128, 64), cluster=(1, 1), ctas=1)
    kernels.matmul(a, b, config=config)
    again = kernels.GemmConfig(tile=(128, 64), cluster=(1, 1), ctas=1)
    assert is_hit(gemm._product, lambda: kernels.matmul(a, b, config=again))
    assert not is_hit(
        gemm._product, lambda: kernels.matmul(a, b, config=kernels.GemmConfig(ctas=2))
    )


def test_options_that_cannot_be_compared_are_looked_at_each_time() -> None:
    known = len(row_calls._rms_norm._entry)
    for _ in range(2):
        kernels.rms_norm(X, W, eps=np.float64(1e-6))
    assert len(row_calls._rms_norm._entry) == known


def shifted(tensor: Any, elements_off: int) -> Any:
    """Return a copy that starts so many elements behind a multiple of 16 bytes."""
    memory = torch.zeros(tensor.numel() + 32, dtype=tensor.dtype)
    first = -memory.data_ptr() % 16 // tensor.element_size() + elements_off
    return memory[first : first + tensor.numel()].view(tensor.shape).copy_(tensor)


@pytest.mark.parametrize("name", CALLS)
def test_addresses_that_vectors_cannot_be_loaded_from(name: str) -> None:
    _, function, tensors = CALLS[name]
    for grad in (False, True):
        function(*(t.clone().requires_grad_(grad) for t in tensors))
        for index in range(len(tensors)):
            given = [t.clone() for t in tensors]
            given[index] = shifted(given[index], 1).requires_grad_(grad)
            with pytest.raises(LaunchError, match="must start at a multiple of"):
                function(*given)
            given[index] = shifted(given[index].detach(), 16)
            assert same(function(*given), function(*tensors))


def test_rows_of_odd_length_start_anywhere() -> None:
    x = normal(3, 21)
    assert torch.equal(kernels.softmax(shifted(x, 1)), kernels.softmax(x))
    assert is_hit(row_calls._softmax_call, lambda: kernels.softmax(shifted(x, 3)))
    even = normal(3, 22)
    assert torch.equal(kernels.softmax(shifted(even, 2)), kernels.softmax(even))
    with pytest.raises(LaunchError, match="a multiple of 8 bytes"):
        kernels.softmax(shifted(even, 1))
    array = np.zeros(90, np.float32)
    first = -array.ctypes.data % 16 // 4 + 1
    with pytest.raises(LaunchError, match=r"x\.copy\(\)"):
        kernels.softmax(array[first : first + 64].reshape(2, 32))


def test_a_gradient_in_place_is_a_kernel_of_its_own() -> None:
    logits, targets, g = normal(4, 40), torch.tensor([0, 5, 39, -1]), torch.ones(4)
    losses, dx = kernels.cross_entropy_and_gradient(logits, targets, g)
    for _ in range(2):
        out = (torch.empty(4), logits.clone())
        call = row_calls._both_call
        kernels.cross_entropy_and_gradient(out[1], targets, g, out=out)
        assert same(out, (losses, dx))
        assert is_hit(call, lambda: kernels.cross_entropy_and_gradient(logits, targets, g))
    leaf = logits.clone().requires_grad_()
    with pytest.raises(LaunchError, match="keeps no record"):
        kernels.cross_entropy_and_gradient(leaf, targets, g, out=(out[0], out[1]))


def test_what_a_kernel_reads_may_change() -> None:
    call = row_calls._swiglu_call
    gate, up = normal(2, 16), normal(2, 16, seed=1)
    before = kernels.swiglu(gate, up)
    assert is_hit(call, lambda: kernels.swiglu(gate, up))
    fn = call.route(gate, up).operation.forward.signature.fn
    (cell,) = (
        c for c, n in zip(fn.__closure__, fn.__code__.co_freevars, strict=True) if n == "body"
    )
    body = cell.cell_contents
    cell.cell_contents = lambda rows, gate, up, y: body(rows, up, gate, y)
    try:
        assert not is_hit(call, lambda: kernels.swiglu(gate, up))
        assert is_hit(call, lambda: kernels.swiglu(gate, up))
        torch.testing.assert_close(kernels.swiglu(gate, up), torch.nn.functional.silu(up) * gate)
    finally:
        cell.cell_contents = body
    assert torch.equal(kernels.swiglu(gate, up), before)


def test_transforms_modes_and_subclasses_see_the_call() -> None:
    kernels.rms_norm(X, W)
    kernels.softmax(X)

    class Wrapped(torch.Tensor):
        pass

    assert type(kernels.softmax(X.as_subclass(Wrapped))) is Wrapped

    def loss(x: Any) -> Any:
        return (kernels.rms_norm(x, W) * X).sum()

    leaf = X.clone().requires_grad_()
    (wanted,) = torch.autograd.grad(loss(leaf), leaf)
    torch.testing.assert_close(torch.func.grad(loss)(X), wanted)
    # A leaf that the transform knows nothing of.
    found = torch.func.grad(lambda y: (y * kernels.rms_norm(leaf, W)).sum())(X)
    torch.testing.assert_close(found, kernels.rms_norm(X, W))
    mapped = torch.func.vmap(kernels.softmax)(X)
    torch.testing.assert_close(mapped, kernels.softmax(X))
    with pytest.raises(LaunchError, match="forward-mode"):
        torch.func.jvp(lambda x: kernels.softmax(x), (X,), (X,))

    from torch._subclasses import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(X)
        assert kernels.softmax(fake).shape == X.shape
        assert type(kernels.softmax(fake)) is type(fake)
    assert kernels.softmax(X.to("meta")).device.type == "meta"
    assert is_hit(row_calls._softmax_call, lambda: kernels.softmax(X))


def test_what_has_no_gradient_refuses_one() -> None:
    x = X.clone().requires_grad_()
    known = len(row_calls._quantise_call._entry)
    for _ in range(2):
        scales = kernels.quantise_fp8(x)[1]
        with pytest.raises(LaunchError, match="no backward kernel"):
            scales.sum().backward()
    assert len(row_calls._quantise_call._entry) == known


def test_parameters_are_tensors() -> None:
    w = torch.nn.Parameter(W.clone(), requires_grad=False)
    kernels.rms_norm(X, W)
    assert is_hit(row_calls._rms_norm, lambda: kernels.rms_norm(X, w))
    with torch.no_grad():
        w = torch.nn.Parameter(W.clone())
        assert is_hit(row_calls._rms_norm, lambda: kernels.rms_norm(X, w))


def test_nothing_to_do_is_done_each_time() -> None:
    for _ in range(2):
        assert kernels.softmax(torch.empty(0, 32)).shape == (0, 32)
        assert kernels.rms_norm(torch.empty(2, 0, 32), W).shape == (2, 0, 32)
