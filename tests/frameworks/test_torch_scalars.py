# SPDX-License-Identifier: Apache-2.0
"""Run-time scalars in torch's graphs: a new number compiles nothing anew, and is the one used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.types import f32, s64, u32
from support.exported_scale import DYNAMIC, exported, tensor
from support.packages import need
from support.scale_kernel import X, expected, make_scale

torch = need("torch")

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402

from pyptx._call import first_call  # noqa: E402
from pyptx._torch import graph, kernel_operator  # noqa: E402

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10):
    pytest.skip("torch takes operators like ours from 2.10 on", allow_module_level=True)

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)
devices = pytest.mark.parametrize("device", ["cpu", cuda])
backends = pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
#: torch 2.11 compiles for each value of a number that a function works out, and refuses, in other
#: words, numbers past 2**63 and floats for integers that it holds for dynamic.
newer_torch = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13),
    reason="this torch takes such numbers for constants",
)
launch_one = torch.ops.pyptx.launch_one.default


@pytest.fixture(autouse=True)
def _fresh_graphs() -> Any:
    torch._dynamo.reset()
    counters.clear()


def graph_count() -> int:
    return int(counters["stats"]["unique_graphs"])


def check(got: Any, alpha: float, count: int) -> None:
    np.testing.assert_array_equal(got.detach().cpu(), expected(X, alpha, count))


# --- torch.compile ------------------------------------------------------------------------------


@devices
@backends
@pytest.mark.parametrize(
    "values",
    [
        [(alpha, 7) for alpha in (1.5, 2.5, 0.1, -3.25, 1e-30)],
        [(2.0, count) for count in (3, 5, 40, 17, 2**32 - 1)],
        [(alpha, 7) for alpha in (2, 3, -5, 1 << 20)],  # integers for a float
    ],
    ids=["float", "int", "int for a float"],
)
def test_a_new_number_is_used_and_compiles_nothing(
    backend: str, values: list[tuple[float, int]], device: str
) -> None:
    k = make_scale()
    compiled = torch.compile(
        lambda x, a, n: k(x, alpha=a, count=n), backend=backend, fullgraph=True
    )
    x = tensor(device)
    for alpha, count in values[:2]:  # torch takes what it sees first for a constant
        check(compiled(x, alpha, count), alpha, count)
    assert graph_count() == 2
    with torch._dynamo.config.patch(error_on_recompile=True):
        for alpha, count in values:
            check(compiled(x, alpha, count), alpha, count)
    assert graph_count() == 2


@newer_torch
@backends
def test_with_dynamic_numbers_one_graph_serves_all(backend: str) -> None:
    k = make_scale()
    compiled = torch.compile(
        lambda x, a, n: k(x, alpha=a * 2 + 1, count=n // 2), backend=backend, dynamic=True
    )
    with torch._dynamo.config.patch(error_on_recompile=True):
        for alpha, count in ((0.5, 9), (1.25, 30), (-7.0, 80)):
            check(compiled(tensor(), alpha, count), alpha * 2 + 1, count // 2)
    assert graph_count() == 1


def test_graphs_carry_the_kernel_and_take_the_numbers() -> None:
    k = make_scale()
    graphs = []

    def keep(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(
        lambda x, a, n: k(x, alpha=a, count=n), backend=aot_autograd(fw_compiler=keep)
    )
    for alpha, count in ((1.5, 3), (2.5, 4), (3.5, 5)):
        check(compiled(tensor(), alpha, count), alpha, count)
    counts = []
    for module in graphs:
        packet = operator_of(k)
        [node] = [node for node in module.graph.nodes if node.target is packet.default]
        counts.append(len(node.args))
    assert counts == [1, 3]  # the first has constants


def test_numbers_written_in_the_function_are_constants() -> None:
    k = make_scale()
    text = []

    def keep(graph: Any, inputs: Any) -> Any:
        text.append(graph.print_readable(print_output=False))
        return graph.forward

    compiled = torch.compile(
        lambda x: k(x, alpha=2.5, count=6), backend=aot_autograd(fw_compiler=keep), dynamic=False
    )
    check(compiled(tensor()), 2.5, 6)
    assert "float64" not in text[0]
    assert "int64" not in text[0]


@newer_torch
@newer_torch
@backends
def test_template_values_have_a_graph_each(backend: str) -> None:
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: (N, 1, 1))
    def powers(A: Any, B: Any, *, factor: float = 1.0, times: int = 1) -> None:
        pa, pb = ptx.global_ptrs(A, B)
        place = reg.from_(ptx.special.ctaid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(pa + place))
        for _ in range(times):
            ptx.inst.mul.f32(value, value, float(factor))
        ptx.inst.st.global_.f32(ptx.addr(pb + place), value)

    compiled = torch.compile(
        lambda x, factor, times: powers(x, factor=factor, times=times),
        fullgraph=True,
        backend=backend,
    )
    x = torch.ones(2)
    values = [(2.0, 1), (3.0, 1), (3.0, 2), (0.5, 3), (3.0, 2), (2.0, 1)]
    for factor, times in values:
        assert (compiled(x, factor, times) == factor**times).all()
    assert graph_count() == 4


@backends
def test_numbers_that_the_function_works_out(backend: str) -> None:
    k = make_scale()
    compiled = torch.compile(
        lambda x, y, a: k(x, alpha=1.0 / y.shape[0] + a, count=y.shape[0] * 2),
        backend=backend,
        dynamic=True,
    )
    for size, alpha in ((3, 0.5), (5, 1.5), (8, 2.5)):
        check(compiled(tensor(), torch.ones(size), alpha), 1.0 / size + alpha, size * 2)
    assert graph_count() == 1
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(
            lambda x, t: k(x, alpha=t.item(), count=7), backend=backend, fullgraph=True
        )
        for alpha in (0.5, 2.5, 3.25):
            check(compiled(tensor(), torch.tensor(alpha)), alpha, 7)


@backends
def test_a_kernel_that_writes_its_input(backend: str) -> None:
    @kernel(
        in_specs=(Tile("N", f32),), out_specs=(), block=(64, 1, 1), raw_params=[("f32", "alpha")]
    )
    def scale_in_place(X):
        (px,) = ptx.global_ptrs(X)
        tid = reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(tid < X.shape[0]):
            value = reg.scalar(f32)
            ptx.inst.ld.global_.f32(value, ptx.addr(px + tid * 4))
            ptx.inst.mul.f32(value, value, ptx.param(f32, "alpha"))
            ptx.inst.st.global_.f32(ptx.addr(px + tid * 4), value)
        ptx.ret()

    def run(x: Any, alpha: float) -> Any:
        scale_in_place(x, alpha=alpha)
        return x + 0

    compiled = torch.compile(run, backend=backend, dynamic=True, fullgraph=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for alpha in (2.0, 0.5, -3.0):
            x = tensor()
            np.testing.assert_array_equal(compiled(x, alpha), X * np.float32(alpha))
            np.testing.assert_array_equal(x, X * np.float32(alpha))


@backends
def test_outputs_given(backend: str) -> None:
    k = make_scale()

    def run(x: Any, out: Any, a: float, n: int) -> Any:
        return k(x, alpha=a, count=n, out=out)

    compiled = torch.compile(run, backend=backend, dynamic=True, fullgraph=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for alpha, count in ((0.5, 9), (1.25, 30)):
            out = torch.zeros(40)
            compiled(tensor(), out, alpha, count)
            check(out, alpha, count)


def test_with_symbolic_shapes_the_call_takes_the_numbers() -> None:
    k = make_scale()
    compiled = torch.compile(
        lambda x, a, n: k(x, alpha=a, count=n), backend="aot_eager", dynamic=True
    )
    x = tensor()
    torch._dynamo.mark_dynamic(x, 0)
    for size, alpha, count in ((40, 0.5, 9), (33, 1.25, 30), (20, 3.0, 5)):
        got = compiled(x[:size], alpha, count)
        np.testing.assert_array_equal(got, expected(X[:size], alpha, count))
    assert graph_count() == 1


def test_a_grid_that_depends_on_a_number_is_worked_out_at_each_call() -> None:
    k = make_scale(grid=lambda count: (count, 1, 1))
    compiled = torch.compile(
        lambda x, a, n: k(x, alpha=a, count=n), backend="inductor", dynamic=True
    )
    with torch._dynamo.config.patch(error_on_recompile=True):
        for alpha, count in ((0.5, 2), (1.25, 3), (3.0, 5)):
            check(compiled(tensor(), alpha, count), alpha, count)


@backends
@pytest.mark.parametrize("dynamic", [None, True])
def test_numbers_that_are_not_finite(backend: str, dynamic: bool | None) -> None:
    k = make_scale()
    compiled = torch.compile(lambda x, a: k(x, alpha=a, count=40), backend=backend, dynamic=dynamic)
    for alpha in (math.inf, -math.inf, math.nan, 2.0):
        np.testing.assert_array_equal(compiled(tensor(), alpha), X * np.float32(alpha))


@newer_torch
def test_numbers_of_64_bits() -> None:
    @kernel(
        in_specs=(Tile(1, s64),),
        out_specs=(Tile(1, s64),),
        raw_params=[("u64", "a"), ("s64", "b")],
    )
    def store(X, Y):
        (py,) = ptx.global_ptrs(Y)
        value = reg.scalar(s64)
        ptx.inst.add.s64(value, ptx.param("s64", "a"), ptx.param("s64", "b"))
        ptx.inst.st.global_.b64(ptx.addr(py), value)
        ptx.ret()

    x = torch.zeros(1, dtype=torch.int64)
    for dynamic in (None, True):
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda x, a, b: store(x, a=a, b=b), backend="aot_eager", dynamic=dynamic
        )
        for a, b in ((5, -7), (2**62 + 3, 2**40), (2**63 + 9, -4), (2**64 - 1, 8), (3, -(2**63))):
            wanted = (a + b + 2**63) % 2**64 - 2**63
            assert int(compiled(x, a, b)) == wanted


@newer_torch
@pytest.mark.parametrize("dynamic", [None, True])  # with sizes that are numbers, and symbolic ones
def test_what_a_type_cannot_hold_is_refused_at_the_call(dynamic: bool | None) -> None:
    k = make_scale()
    compiled = torch.compile(
        lambda x, a, n: k(x, alpha=a, count=n), backend="aot_eager", dynamic=dynamic
    )
    for alpha, count in ((2.0, 3), (2.5, 4)):
        check(compiled(tensor(), alpha, count), alpha, count)
    for alpha, count in ((2.0, 2**32), (2.0, -3), (1e39, 3)):
        name = "alpha" if alpha > 2 else "count"
        kind = "f32" if alpha > 2 else "u32"
        with pytest.raises((RuntimeError, LaunchError), match=rf"'{name}' .*{kind}\) cannot"):
            compiled(tensor(), alpha, count)
    with pytest.raises(Exception, match=r"raw parameter 'count' \(.u32\) cannot hold"):
        compiled(tensor(), 2.0, 3.5)


# --- other programs -----------------------------------------------------------------------------


def test_exported_programs_hold_numbers_or_take_them() -> None:
    check(exported().module()(tensor(), torch.ones(7)), 0.5, 7)
    program = exported(**DYNAMIC)
    for count in (7, 9, 30):
        check(program.module()(tensor(), torch.ones(count)), 0.5, count)
    [node] = [node for node in program.graph.nodes if node.target is launch_one]
    assert len(node.args[0]) == 2  # alpha is a number, and stays it


def operator_of(k: Any) -> Any:
    return kernel_operator.packet_of(k._operator_name)


def test_opcheck() -> None:
    k = make_scale()
    packet = operator_of(k)
    half, seven = torch.tensor(0.5, dtype=torch.float64), torch.tensor(7)
    arguments = (tensor(), half, seven)
    torch.library.opcheck(packet.default, arguments)
    torch.library.opcheck(packet.out, arguments, {"Y": torch.empty(40)})
    check(packet.default(*arguments), 0.5, 7)
    check(packet.default(tensor(), None, seven, options="{'alpha': 2.0}"), 2.0, 7)
    assert str(packet.default._schema).endswith(
        '(Tensor X, Tensor? alpha=None, Tensor? count=None, *, str options="") -> Tensor'
    )

    inputs = [*arguments]
    unknown = dict.fromkeys(("alpha", "count"), first_call.UNKNOWN)
    text = graph.of_call(k, inputs[:1], None, unknown)
    assert "\nscalar f32 - alpha\nscalar u32 - count\n" in text
    torch.library.opcheck(launch_one, (inputs, text))
    check(launch_one(inputs, text), 0.5, 7)
    for wrong in (torch.tensor(0.5), torch.tensor([7]), torch.tensor(True)):
        with pytest.raises(RuntimeError, match="'count' of 'scale' must be a CPU tensor"):
            launch_one([tensor(), half, wrong], text)
    with pytest.raises(RuntimeError, match="the number of inputs of 'scale' must be 3, got 1"):
        launch_one([tensor()], text)


def test_vmap_and_gradients_take_numbers_of_any_kind() -> None:
    k = make_scale()
    x = torch.stack([tensor(), tensor() * 2])
    for alpha in (2.5, np.float64(2.5), np.float32(2.5), torch.tensor(2.5), math.inf):
        got = torch.vmap(lambda row, alpha=alpha: k(row, alpha=alpha, count=np.int64(7)))(x)
        for row, result in zip(x, got, strict=True):
            np.testing.assert_array_equal(result, expected(row, float(alpha), 7))
        check(k(tensor().requires_grad_(), alpha=alpha, count=7), float(alpha), 7)
    compiled = torch.compile(
        lambda x, a: torch.vmap(lambda row: k(row, alpha=a, count=7))(x),
        backend="aot_eager",
        dynamic=True,
    )
    for alpha in (2.5, 3.5):
        check(compiled(x, alpha)[0], alpha, 7)
    assert graph_count() == 1


def test_an_unknown_keyword_is_refused_in_a_graph() -> None:
    k = make_scale()
    compiled = torch.compile(lambda x: k(x, alpha=1.0, count=3, beta=2.0), backend="eager")
    with pytest.raises((LaunchError, TypeError, RuntimeError), match="unknown keyword 'beta'"):
        compiled(tensor())
