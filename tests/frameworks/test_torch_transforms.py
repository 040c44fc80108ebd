# SPDX-License-Identifier: Apache-2.0
"""Kernels under torch's transforms, modes, subclasses and copies: what works, what is refused."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

from pyptx import Layout, Tile, differentiable_kernel, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.types import f32, u32
from support import sample_kernels
from support.packages import need

torch = need("torch")

from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.testing._internal.two_tensor import TwoTensor  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402


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


@pytest.mark.parametrize("layout", [Layout.ROW, Layout.COL])
def test_vmap_of_a_batch_dimension_is_one_launch(layout: Layout) -> None:
    def product(X, W, Y):  # one CTA a row
        px, pw, py = ptx.global_ptrs(X, W, Y)
        column = reg.from_(ptx.special.tid.x(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        rows = X.shape[0]
        place = (column * rows + row if layout is Layout.COL else row * 32 + column) * 4
        x, w = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + column * 4))
        ptx.inst.mul.f32(x, x, w)
        ptx.inst.st.global_.f32(ptx.addr(py + place), x)
        ptx.ret()

    tile = Tile("B", 32, f32, layout)
    k = kernel(
        product,
        in_specs=(tile, Tile(32, f32)),
        out_specs=(tile,),
        grid=lambda B: (B, 1, 1),
        block=(32, 1, 1),
        batch="B",
    )
    x, w, ws = torch.randn(3, 4, 32), torch.randn(32), torch.randn(3, 32)
    for call, expected, launches in (
        (lambda: torch.vmap(k, in_dims=(0, None))(x, w), x * w, 1),
        (lambda: torch.vmap(k, in_dims=(2, None), out_dims=1)(x.movedim(0, 2), w),
         (x * w).movedim(0, 1), 1),
        (lambda: torch.vmap(torch.vmap(k, (0, None)), (0, None))(x.expand(2, 3, 4, 32), w),
         (x * w).expand(2, 3, 4, 32), 1),
        (lambda: torch.vmap(k)(x, ws), x * ws[:, None], 3),
    ):  # fmt: skip
        with SeenByDispatch() as seen:
            found = call()
        assert torch.equal(found, expected)
        assert sum("pyptx." in call for call in seen.calls) == launches
    with pytest.raises(LaunchError, match=r"takes 2 inputs \(X, W\), got 3"):
        torch.vmap(k, in_dims=(0, None, None))(x, w, w)


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
    compiled = torch.compile(
        lambda x, y, out: k(x, y, out=out), fullgraph=True, backend="aot_eager"
    )
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
    torch.compile(loss, fullgraph=True, backend="aot_eager")(leaf).backward()
    assert torch.equal(leaf.grad, gradient)


def test_graphs_of_other_tracers_hold_the_operator(k: Any) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return k(x, x) * 2

    a = torch.randn(64)
    for graph in (make_fx(Model())(a), torch.export.export(Model(), (a,)).module()):
        assert "pyptx." in graph.code
        assert torch.equal(graph(a), 4 * a)


def test_a_first_call_in_a_jit_trace_is_the_operator() -> None:
    k, a = sample_kernels.build_vector_add(), torch.randn(64)
    traced = torch.jit.trace(lambda x: x + k(x, x), (a,), check_trace=False)
    torch.testing.assert_close(traced(2 * a), 6 * a)


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


def test_ordinary_tensors_inside_a_transform(k: Any) -> None:
    a, batch = torch.randn(64), torch.randn(2, 64)
    for made in (k, sample_kernels.build_vector_add()):
        for _ in range(2):
            assert torch.equal(torch.func.grad(lambda x, k=made: (x * k(a, a)).sum())(a), a + a)
            found = torch.vmap(lambda x, k=made: x + k(a, a))(batch)
            assert torch.equal(found, batch + (a + a))


def test_ordinary_tensors_inside_a_transform_of_a_column_major_kernel() -> None:
    """Its output is made by torch.empty_strided, which a transform wraps."""
    tile = Tile(8, 32, f32, Layout.COL)

    @kernel(in_specs=(tile,), out_specs=(tile,), block=(256, 1, 1))
    def copy_of(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.tid.x(), u32) * 4
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
        ptx.inst.st.global_.f32(ptx.addr(py + place), x)
        ptx.ret()

    a, x = torch.randn(32, 8).T, torch.randn(8, 32)
    assert torch.equal(copy_of(a), a)
    assert torch.equal(torch.func.grad(lambda x: (x * copy_of(a)).sum())(x), a)


def test_gradients_of_torch_func_say_what_is_missing(k: Any) -> None:
    a = torch.randn(64)
    with pytest.raises(LaunchError, match="'vector_add' has no backward kernel; wrap it"):
        torch.func.grad(lambda x: k(x, a).sum())(a)
    value, _ = torch.func.vjp(lambda x: k(x, a), a)  # not asked for, so not missed
    assert torch.equal(value, a + a)
    assert torch.equal(torch.func.grad(lambda x: (k(x.detach(), a) * x).sum())(a), a + a)


def test_gradients_in_batches_say_what_to_use(pair: Any) -> None:
    x, w = torch.randn(2, 32), torch.randn(32, requires_grad=True)
    with pytest.raises(LaunchError, match=r"no memory of its own.*use torch\.func\.vmap"):
        torch.autograd.grad(pair(x, w), w, torch.randn(3, 2, 32), is_grads_batched=True)
    assert torch.func.jacrev(lambda w: pair(x, w).sum(0))(w.detach()).shape == (32, 32)


class SeenByDispatch(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


class SeenByFunction(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [SeenByDispatch, SeenByFunction])
def test_modes_see_one_operator(k: Any, mode: Any) -> None:
    a, out = torch.randn(64), torch.zeros(64)
    expected = a + a
    with mode() as seen:
        found = k(a, a)
        k(a, a, out=out)
    assert torch.equal(found, expected)
    assert torch.equal(out, expected)
    calls = [call for call in seen.calls if "pyptx" in call]
    assert calls == [f"pyptx.{k._operator_name}.{end}" for end in ("default", "out")]


def test_defaults_of_torch_do_not_matter(k: Any) -> None:
    a = torch.randn(64)
    with torch.device("meta"):
        assert torch.equal(k(a, a), a + a)
        assert torch.equal(sample_kernels.build_vector_add()(a, a), a + a)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert k(a, a).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    try:
        for made in (k, sample_kernels.build_vector_add()):
            assert torch.equal(made(a, a), a + a)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_default_dtype(torch.float32)
    with torch.inference_mode():
        found = k(a, a)
        assert found.is_inference()
        torch.testing.assert_close(k(found, a, out=found), 3 * a)
    torch.testing.assert_close(k(found, a), 4 * a)  # an inference tensor may be read outside


def test_subclasses(k: Any) -> None:
    class Plain(torch.Tensor):
        pass

    a, b = torch.randn(64), torch.randn(64)
    found = k(a.as_subclass(Plain), b)
    assert type(found) is Plain
    assert torch.equal(found, a + b)
    pair = k(TwoTensor(a, b), TwoTensor(b, b))  # a wrapper: the kernel runs on each of its tensors
    assert type(pair) is TwoTensor
    assert torch.equal(pair.a, a + b)
    assert torch.equal(pair.b, b + b)
    assert type(k(torch.nn.Parameter(a), b).detach()) is torch.Tensor
    buffer = torch.nn.Buffer(a)
    assert torch.equal(k(buffer, b), a + b)


def test_modules_that_hold_a_kernel(k: Any) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.k = k
            self.weight = torch.nn.Parameter(torch.randn(64), requires_grad=False)

        def forward(self, x: Any) -> Any:
            return self.k(x, self.weight)

    model, a = Model(), torch.randn(64)
    assert list(model.state_dict()) == ["weight"]
    twin = copy.deepcopy(model)
    assert twin.k is model.k
    assert torch.equal(twin(a), model(a))
    zeros = {"weight": torch.zeros(64)}
    assert torch.equal(torch.func.functional_call(model, zeros, (a,)), a)
    with pytest.raises(TypeError, match="argument 'X' is a Proxy, expected a torch"):
        torch.fx.symbolic_trace(model)


def test_other_processes() -> None:
    """A forked child uses the parent's kernel; a spawned one finds it by name."""
    k = sample_kernels.doubled
    assert pickle.loads(pickle.dumps(k)) is k
    a = torch.randn(32)
    k(a)
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=lambda: results.put(bool(torch.equal(k(a), 2 * a))))
    child.start()
    try:
        assert results.get(timeout=60)
    finally:
        child.kill()
    x = np.arange(32, dtype=np.float32)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(k, x).result(timeout=60).tolist() == (2 * x).tolist()
