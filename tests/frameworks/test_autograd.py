# SPDX-License-Identifier: Apache-2.0
"""Pairs of kernels under torch.autograd: the norms of the examples, and every way gradients flow.

On CPU tensors (the emulator), and again on CUDA tensors where there is a GPU.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyptx import differentiable_kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.kernel import Kernel
from pyptx.types import bf16, f32, f64, s32
from support.assembling import assemble
from support.example_modules import example
from support.packages import need
from support.vector_kernels import N, build_square, declared, each, leaf, product

torch = need("torch")

from torch.utils.checkpoint import checkpoint  # noqa: E402

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)
devices = pytest.mark.parametrize("device", ["cpu", cuda])


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)


# --- the norms of the examples ------------------------------------------------------------------

NORMS = {"rms_norm": 2, "layer_norm": 3}  # inputs


def norm(name: str, rows: int, columns: int, dtype: Any) -> Any:
    module = example(f"hopper/{name}")
    forward = getattr(module, f"build_{name}")(rows, columns, dtype=dtype)
    backward = getattr(module, f"build_{name}_backward")(rows, columns, dtype=dtype)
    return differentiable_kernel(forward, backward, save_for_backward=[0, 1])


def norm_inputs(name: str, rows: int, columns: int, **options: Any) -> list[Any]:
    shapes = [(rows, columns), (columns,), (columns,)][: NORMS[name]]
    return [torch.randn(shape, **options) for shape in shapes]


def torch_norm(name: str, x: Any, w: Any, b: Any = None) -> Any:
    functional = torch.nn.functional
    if name == "rms_norm":
        return functional.rms_norm(x, x.shape[-1:], w, eps=1e-6)
    return functional.layer_norm(x, x.shape[-1:], w, b, eps=1e-5)


def norm_kernels(name: str, rows: int, columns: int, dtype: Any, **options: Any) -> list[Kernel]:
    """The kernels that a backward function launches."""
    build = getattr(example(f"hopper/{name}"), f"build_{name}_backward")
    backward = build(rows, columns, dtype=dtype, **options)
    held = inspect.getclosurevars(backward).nonlocals.values()
    return [value for value in held if isinstance(value, Kernel)]


@devices
@pytest.mark.parametrize("name", NORMS)
def test_norms_pass_gradcheck(name: str, device: str) -> None:
    rows, columns = 3, N
    options = {"dtype": torch.float64, "device": device, "requires_grad": True}
    inputs = norm_inputs(name, rows, columns, **options)
    op = norm(name, rows, columns, f64)
    assert torch.autograd.gradcheck(op, inputs, nondet_tol=0.0)
    expected = torch_norm(name, *inputs)
    torch.testing.assert_close(op(*inputs), expected, rtol=1e-12, atol=1e-12)


@devices
@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("name", NORMS)
def test_norms_have_torchs_gradients_and_always_the_same_bits(
    name: str, dtype: Any, device: str
) -> None:
    # More rows than CTAs, so that a CTA takes two; a tail that some threads have no part of.
    rows, columns = 130, 96 if name == "rms_norm" else 140
    kind = {f32: torch.float32, f64: torch.float64}[dtype]
    inputs = norm_inputs(name, rows, columns, dtype=kind, device=device)
    g = torch.randn(rows, columns, dtype=kind, device=device)

    def gradients(op: Any, kind: torch.dtype) -> list[Any]:
        leaves = [x.to(kind).detach().requires_grad_() for x in inputs]
        op(*leaves).backward(g.to(kind))
        return [leaf.grad for leaf in leaves]

    op = norm(name, rows, columns, dtype)
    found, again = gradients(op, kind), gradients(op, kind)
    expected = gradients(lambda *xs: torch_norm(name, *xs), torch.float64)
    limit = 1e-5 if dtype is f32 else 1e-13
    for got, same, right in zip(found, again, expected, strict=True):
        assert torch.equal(got, same)
        assert got.dtype == kind
        error = (got.double() - right).abs().max() / right.abs().max()
        assert float(error) < limit


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("name", NORMS)
def test_backward_kernels_have_no_races_and_assemble(name: str, dtype: Any, tmp_path: Path) -> None:
    rows_kernel, columns_kernel = sorted(
        norm_kernels(name, 130, 140, dtype), key=lambda k: -len(k.in_specs)
    )
    kind = {f32: np.float32, f64: np.float64}[dtype]
    x, g, w = (np.ones(s, kind) for s in ((130, 140), (130, 140), 140))
    for seed, schedule in enumerate(("latest", "earliest", "random")):
        parts = rows_kernel.emulate(x, w, g, seed=seed, schedule=schedule)[1]
        columns_kernel.emulate(parts, seed=seed, schedule=schedule)
    for target in ("sm_80", "sm_90a", "sm_100a"):
        for k in norm_kernels(name, 16, 512, dtype, arch=target):
            assemble(k.ptx(), target, tmp_path)


# --- small kernels with gradients that are easy to tell -----------------------------------------


def build_split() -> Any:
    """(y, z) = (2 x, 3 x) and the gradient 2 g + 3 h, which needs nothing saved."""

    @declared("X", "YZ", {})
    def split(X, Y, Z):
        each((X,), (Y, Z), lambda x: [product(x, 2.0), product(x, 3.0)])

    @declared("GH", "D", {})
    def split_backward(G, H, D):
        def both(g: Any, h: Any) -> list[Any]:
            total = product(g, 2.0)
            ptx.inst.fma.rn.f64(total, h, 3.0, total)
            return [total]

        each((G, H), (D,), both)

    return differentiable_kernel(split, split_backward, save_for_backward=[])


def build_counted() -> Any:
    """(y, m) = (x * n, n + 1) for integers n, and the gradient of x alone."""

    def number(n: Any) -> Any:
        value = reg.scalar(f64)
        ptx.inst.cvt.rn.f64.s32(value, n)
        return value

    @declared("XN", "YM", {"N": s32, "M": s32})
    def counted(X, Count, Y, M):
        each((X, Count), (Y, M), lambda x, n: [product(number(n), x), n + 1])

    @declared("NGH", "D", {"N": s32, "H": s32})
    def counted_backward(Count, G, H, D):
        each((Count, G, H), (D,), lambda n, g, h: [product(number(n), g)])

    return differentiable_kernel(
        counted, counted_backward, save_for_backward=[1], num_grad_inputs=1
    )


def build_counted_for_all() -> Any:
    """The same with a backward that returns one gradient per input, though integers have none."""
    pair = build_counted()
    return differentiable_kernel(
        pair.forward, lambda x, n, g, h: (pair.backward(n, g, h), torch.zeros_like(x))
    )


@pytest.fixture(scope="module")
def square() -> Any:
    return differentiable_kernel(*build_square()[:2])


@pytest.fixture(scope="module")
def split() -> Any:
    return build_split()


@devices
def test_an_output_used_twice_and_an_op_used_twice(square: Any, device: str) -> None:
    x = leaf(device)
    y = square(x)
    (y * y + y.sin() + square(y) + square(x)).sum().backward()  # y = x^2
    v = x.detach()
    expected = 4 * v**3 + 2 * v * (v**2).cos() + 4 * v**3 + 2 * v
    torch.testing.assert_close(x.grad, expected)
    square(x).sum().backward()  # added to what is there
    torch.testing.assert_close(x.grad, expected + 2 * v)


@devices
@pytest.mark.parametrize("use", ["both", "first", "second"])
def test_an_output_that_is_not_used_has_gradient_zero(split: Any, device: str, use: str) -> None:
    x = leaf(device)
    y, z = split(x)
    loss = {"both": lambda: y + z, "first": lambda: y, "second": lambda: z}[use]()
    loss.sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, {"both": 5.0, "first": 2.0, "second": 3.0}[use]))


@devices
def test_integers_and_inputs_without_gradients(device: str) -> None:
    n = torch.arange(N, dtype=torch.int32, device=device)
    for op in (build_counted(), build_counted_for_all()):
        x = leaf(device)
        y, m = op(x, n)
        assert not m.requires_grad
        assert torch.equal(m, n + 1)
        y.sum().backward()
        assert torch.equal(x.grad, n.double())
        assert not op(x.detach(), n)[0].requires_grad
        found = torch.func.grad(lambda x, op=op: op(x, n)[0].sum())(x.detach())
        assert torch.equal(found, n.double())

    pair = norm("rms_norm", 2, N, f64)
    rows, weight = torch.randn(2, N, dtype=torch.float64, device=device), leaf(device)
    pair(rows, weight).sum().backward()
    assert rows.grad is None
    assert weight.grad is not None


@devices
def test_gradients_come_with_any_strides(device: str) -> None:
    op = norm("rms_norm", 2, N, f64)
    x = torch.randn(2, N, dtype=torch.float64, device=device, requires_grad=True)
    w = leaf(device)
    g = torch.randn(N, 2, dtype=torch.float64, device=device).T
    for make in (lambda t: t.sum(), lambda t: (t.T * g.T).sum(), lambda t: (t * g).mean()):
        found = torch.autograd.grad(make(op(x, w)), (x, w))
        expected = torch.autograd.grad(make(torch_norm("rms_norm", x, w)), (x, w))
        for got, right in zip(found, expected, strict=True):
            torch.testing.assert_close(got, right)


def test_without_gradients_nothing_is_recorded(square: Any) -> None:
    x = leaf()
    with torch.no_grad():
        assert not square(x).requires_grad
    with torch.inference_mode():
        assert square(x).is_inference()
    y = square(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_a_saved_tensor_that_was_changed_is_refused(square: Any) -> None:
    x = leaf() * 1
    y = square(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_second_derivatives(square: Any) -> None:
    """Refused by name where the backward kernel has none; right where it has."""
    x = leaf()
    for differentiate in (
        lambda: torch.autograd.grad(
            torch.autograd.grad(square(x).sum(), x, create_graph=True)[0].sum(),
            x,
            allow_unused=True,
        ),
        lambda: torch.func.grad(lambda x: torch.func.grad(lambda x: square(x).sum())(x).sum())(
            x.detach()
        ),
    ):
        with pytest.raises(LaunchError, match=r"'square_backward' has no backward kernel; wrap it"):
            differentiate()

    once, twice, thrice = build_square()
    op = differentiable_kernel(once, differentiable_kernel(twice, thrice))
    assert torch.autograd.gradcheck(op, (x,))
    assert torch.autograd.gradgradcheck(op, (x,))


def test_functions_of_torch_func(square: Any, split: Any) -> None:
    x = leaf().detach()
    batch = torch.randn(3, N, dtype=torch.float64)

    def loss(x: Any) -> Any:
        return square(x).sum() + split(x)[1].sum()

    assert torch.equal(torch.func.grad(loss)(x), 2 * x + 3)
    assert torch.equal(torch.vmap(torch.func.grad(loss))(batch), 2 * batch + 3)
    assert torch.equal(torch.func.jacrev(square)(x), torch.diag(2 * x))
    _, pull = torch.func.vjp(split, x)
    assert torch.equal(pull((x, x))[0], 5 * x)
    with pytest.raises(LaunchError, match="no forward-mode derivative; use reverse mode"):
        torch.func.jvp(square, (x,), (x,))


def test_under_compile_it_is_one_graph(square: Any, split: Any) -> None:
    counted, for_all = build_counted(), build_counted_for_all()
    n = torch.arange(N, dtype=torch.int32)

    def loss(x: Any, square: Any, split: Any, *counted: Any) -> Any:
        y, _ = split(square(x) + 1)  # one output is not used
        return (y * square(y) + sum(c(x, n)[0] for c in counted)).sum()

    compiled = torch.compile(
        lambda x: loss(x, square, split, counted, for_all), fullgraph=True, backend="aot_eager"
    )
    x = leaf()
    expected = loss(
        x, lambda x: x * x, lambda x: (2 * x, 3 * x), *[lambda x, n: (x * n, n + 1)] * 2
    )
    (right,) = torch.autograd.grad(expected, x)
    value = compiled(x)
    value.backward()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(x.grad, right)


@devices
def test_checkpoints_and_hooks(square: Any, device: str) -> None:
    x = leaf(device)
    seen: list[str] = []
    for reentrant in (False, True):
        y = checkpoint(square, x, use_reentrant=reentrant)
        (found,) = torch.autograd.grad(y.sum(), x) if not reentrant else (None,)
        if reentrant:  # which takes backward() alone
            y.sum().backward()
            found, x.grad = x.grad, None
        assert torch.equal(found, 2 * x.detach())
    y = square(x)
    y.register_hook(lambda g: seen.append("output") or g * 3)
    x.register_hook(lambda g: seen.append("input"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("accumulated"))
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: seen.append("saved") or t.cpu(), lambda t: t.to(device)
    ):
        z = square(x)
    (y + z).sum().backward()
    assert seen == ["saved", "output", "input", "accumulated"]
    assert torch.equal(x.grad, 8 * x.detach())


@devices
def test_half_precision_and_autocast(device: str) -> None:
    kinds = dict.fromkeys("XYGD", bf16)

    def doubled(x: Any) -> list[Any]:
        total = reg.scalar(bf16)
        ptx.inst.add.rn.bf16(total, x, x)
        return [total]

    @declared("X", "Y", kinds)
    def double(X, Y):
        each((X,), (Y,), doubled)

    @declared("G", "D", kinds)
    def double_backward(G, D):
        each((G,), (D,), doubled)

    op = differentiable_kernel(double, double_backward, save_for_backward=[])
    x = leaf(device, dtype=torch.bfloat16)
    master = leaf(device, dtype=torch.float32)
    op(x).float().sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 2.0))
    with torch.autocast(device, dtype=torch.bfloat16):
        with pytest.raises(LaunchError, match=r"'X' has dtype float32 \(f32\), expected bfloat16"):
            op(master)  # a kernel's types are its own: autocast does not choose them
        op(master.bfloat16()).float().sum().backward()
    assert torch.equal(master.grad, torch.full_like(master, 2.0))


def test_gradients_of_the_wrong_number_or_shape(square: Any) -> None:
    forward, backward, both = build_square()
    pair = differentiable_kernel(backward, backward, save_for_backward=[0])
    with pytest.raises(LaunchError, match="returned 1 gradients for 2 inputs; give it one output"):
        pair(leaf(), leaf()).sum().backward()
    wrong = differentiable_kernel(forward, lambda x, g: both(x, g, g)[0][: N // 2])
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        wrong(leaf()).sum().backward()
    with pytest.raises(ValueError, match="has 2, but there are 1 inputs and 1 outputs"):
        differentiable_kernel(forward, backward, save_for_backward=[2])
    with pytest.raises(ValueError, match="num_grad_inputs is 2, but there are 1 inputs"):
        differentiable_kernel(forward, backward, num_grad_inputs=2)


def test_bad_inputs_are_named_before_anything_runs(square: Any) -> None:
    for value in (None, 3, [1.0]):
        with pytest.raises(TypeError, match=r"argument 'X' is a (NoneType|int|list), exp"):
            square(value)
    with pytest.raises(TypeError, match="argument 'W' is a float"):
        norm("rms_norm", 1, N, f64)(leaf().reshape(1, N), 2.0)
    with pytest.raises(LaunchError, match=r"takes 1 input \(X\), got 2"):
        square(leaf(), leaf())


# Found by name when a model that holds them is unpickled.
@declared("X", "Y", {})
def tripled(X, Y):
    each((X,), (Y,), lambda x: [product(x, 3.0)])


def test_models_that_hold_kernels_are_copied_and_pickled() -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(N, dtype=torch.float64))
            self.op = differentiable_kernel(tripled, tripled, save_for_backward=[])

        def forward(self) -> Any:
            return self.op(self.weight)

    model = Model()
    twin = copy.deepcopy(model)
    assert twin.weight is not model.weight
    twin().sum().backward()
    assert torch.equal(twin.weight.grad, torch.full_like(twin.weight, 3.0))
    assert model.weight.grad is None
    op = pickle.loads(pickle.dumps(model.op))
    assert op.forward is tripled
    assert torch.equal(op(model.weight), model())
    with pytest.raises(TypeError, match=r"square.*made inside a function"):
        pickle.dumps(build_square()[0])  # made by a function: no name to find it by
