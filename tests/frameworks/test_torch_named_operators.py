# SPDX-License-Identifier: Apache-2.0
"""`kernel(op=...)`: an operator of torch's that its author has named."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg, torch_support
from pyptx._errors import Error
from pyptx.types import f32
from support import sample_kernels
from support.packages import need
from support.processes import run_python
from support.transformer import COLUMNS, build_norm, build_weigh

torch = need("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

VECTOR = Tile(32, f32)
OPTIONS: dict[str, Any] = {"in_specs": (VECTOR,), "out_specs": (VECTOR,), "block": (32, 1, 1)}


def build(op: str, settings: Any) -> Any:
    @kernel(op=op, **OPTIONS)
    def scale(X: Any, Y: Any) -> None:
        sample_kernels.scaled_copy(X, Y, settings.factor)

    return scale


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


class Graphs:
    """A backend that keeps what it gets."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.nodes += [node for node in graph.graph.nodes if node.op == "call_function"]
        return graph


def test_the_operator_is_there_with_the_kernel() -> None:
    k, x = build("named::scale", SimpleNamespace(factor=2.0)), torch.randn(32)
    assert torch.equal(torch.ops.named.scale(x), k(x))
    out = torch.zeros(32)
    torch.ops.named.scale.out(x, Y=out)
    assert torch.equal(out, 2 * x)
    assert torch.equal(torch.vmap(torch.ops.named.scale)(x.expand(3, 32)), 2 * x.expand(3, 32))
    with Seen() as seen:
        k(x)
    assert seen.calls == ["named.scale.default"]


def test_a_kernel_that_came_before_torch_has_it_once_it_is_asked_for() -> None:
    program = """
import sys
from pyptx import Tile, kernel, torch_support
from pyptx.types import f32

@kernel(in_specs=(Tile(32, f32),), out_specs=(Tile(32, f32),), op="early::one")
def one(X, Y): ...

assert "torch" not in sys.modules
import torch
assert not hasattr(torch.ops.early, "one")
torch_support.register_operators()
print(torch.ops.early.one.default._schema)
"""
    assert "early::one(Tensor X, *, str options" in run_python("-c", program)


def test_a_pair_has_both_in_one_operator() -> None:
    pair = build_norm(op="named::norm")
    x, w = torch.randn(4, COLUMNS), torch.randn(COLUMNS)
    graphs = Graphs()
    for call in (pair, torch.ops.named.norm, torch.compile(pair, fullgraph=True, backend=graphs)):
        leaves = [t.clone().requires_grad_() for t in (x, w)]
        found = torch.autograd.grad(call(*leaves).sum(), leaves)
        torch.testing.assert_close(found, (w.expand(4, COLUMNS), x.sum(0)))
    assert [str(node.target) for node in graphs.nodes] == ["named.norm.default"]
    with Seen() as seen, torch.no_grad():
        assert torch.equal(pair(x, w), x * w)
    assert "named.norm.default" in seen.calls


def test_a_private_output_is_the_operators_and_not_the_calls() -> None:
    @kernel(in_specs=(VECTOR,), out_specs=(VECTOR, VECTOR), block=(32, 1, 1))
    def both(X: Any, Y: Any, Z: Any) -> None:
        px, py, pz = (p + ptx.special.tid.x() * 4 for p in ptx.global_ptrs(X, Y, Z))
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px))
        ptx.inst.add.f32(x, x, x)
        ptx.inst.st.global_.f32(ptx.addr(py), x)
        ptx.inst.st.global_.f32(ptx.addr(pz), x)
        ptx.ret()

    pair = differentiable_kernel(
        both, lambda z, g: z * g, save_for_backward=[2], private_outputs=1, op="named::both"
    )
    x = torch.randn(32)
    with Seen():
        assert torch.equal(pair(x), 2 * x)
    assert len(torch.ops.named.both(x)) == 2


# --- one name, one kernel -------------------------------------------------------------------------


def test_kernels_of_one_content_share_the_name() -> None:
    settings = SimpleNamespace(factor=2.0)
    one, two = build("named::twins", settings), build("named::twins", settings)
    assert one._operator_name == two._operator_name
    assert one._operator_name.startswith("named::twins#")


def test_another_kernel_of_the_name_is_refused() -> None:
    first = build("named::taken", SimpleNamespace(factor=2.0))
    with pytest.raises(Error, match=r"is the operator of another kernel.*named::taken_") as caught:
        build("named::taken", SimpleNamespace(factor=3.0))
    assert caught.value.diagnostics[0].code == "PTX0855"
    with pytest.raises(Error, match="is the operator of another kernel"):
        differentiable_kernel(first, first, op="named::taken")


def test_another_pair_of_the_name_is_refused() -> None:
    k = build("named::inner", SimpleNamespace(factor=2.0))
    kept = differentiable_kernel(k, lambda x, g: g * 2, op="named::pair")
    differentiable_kernel(k, lambda x, g: g * 2, op="named::pair")
    with pytest.raises(Error, match="is the operator of another kernel"):
        differentiable_kernel(k, lambda x, g: g * 3, op="named::pair")
    assert kept.op == "named::pair"


def test_a_name_that_torch_has_is_refused() -> None:
    library = torch.library.Library("somebody", "DEF")
    library.define("scale(Tensor x) -> Tensor")
    with pytest.raises(Error, match="op='somebody::scale' cannot be had, because torch has it"):
        build("somebody::scale", SimpleNamespace(factor=2.0))


@pytest.mark.parametrize(
    ("op", "message"),
    [
        ("scale", r"op is a namespace and a name, as in 'mylib::rms_norm', not 'scale'"),
        ("a::b::c", "op is a namespace and a name"),
        (3, "op is a namespace and a name"),
        ("aten::scale", "is in the namespace 'aten', which is not yours"),
        ("pyptx::scale", "is in the namespace 'pyptx', which is not yours"),
        ("named::scale_", "ends with '_', which is for operators that write their inputs"),
    ],
)
def test_names_that_cannot_be(op: Any, message: str) -> None:
    with pytest.raises(Error, match=message):
        build(op, SimpleNamespace(factor=2.0))


def test_a_kernel_that_writes_its_inputs_says_so_in_its_name() -> None:
    def double(X: Any) -> None:
        sample_kernels.scaled_copy(X, X, 2.0)

    options = {"in_specs": (VECTOR,), "out_specs": (), "block": (32, 1, 1)}
    with pytest.raises(Error, match="so it ends with '_': 'named::double_'"):
        kernel(double, op="named::double", **options)
    k, x = kernel(double, op="named::double_", **options), torch.ones(32)
    torch.ops.named.double_(x)
    torch.compile(lambda x: k(x), fullgraph=True, backend="aot_eager")(x)
    assert torch.equal(x, torch.full((32,), 4.0))


# --- what graphs say ------------------------------------------------------------------------------


def test_a_graph_says_what_the_operator_was() -> None:
    """Else a cache of another process would serve what a backward was before it was changed."""
    settings = SimpleNamespace(factor=2.0)
    pair = differentiable_kernel(
        build("named::changing", settings), lambda x, g: g * settings.factor, op="named::changes"
    )
    graphs = Graphs()
    call = torch.compile(lambda x: pair(x).sum(), fullgraph=True, backend=graphs)
    for factor in (2.0, 3.0):
        settings.factor = factor
        x = torch.randn(32, requires_grad=True)
        call(x).backward()
        assert torch.equal(x.grad, torch.full((32,), factor))
    told = [node.kwargs["options"] for node in graphs.nodes if "changes" in str(node.target)]
    assert len(set(told)) == 2
    assert all(text.startswith("{} #") for text in told)


def test_a_change_of_a_kernel_alone_compiles_nothing() -> None:
    settings = SimpleNamespace(factor=2.0)
    k, x = build("named::alone", settings), torch.randn(32)
    call = torch.compile(lambda x: k(x) + 1, fullgraph=True)
    call(x)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for factor in (3.0, 4.0):
            settings.factor = factor
            assert torch.equal(call(x), x * factor + 1)


def test_scalars_and_template_values_of_a_named_kernel() -> None:
    k = build_weigh(op="named::weigh", scale=None)
    x, w = torch.randn(4, COLUMNS), torch.randn(COLUMNS)
    call = torch.compile(lambda x, w, a: k(x, w, alpha=a), fullgraph=True, dynamic=True)
    for alpha in (0.5, 3.0):
        torch.testing.assert_close(call(x, w, alpha), x * w * alpha)
        with Seen():
            torch.testing.assert_close(k(x, w, alpha=alpha), x * w * alpha)


def test_registering_twice_is_nothing() -> None:
    torch_support.register_operators()
    torch_support.register_operators()
