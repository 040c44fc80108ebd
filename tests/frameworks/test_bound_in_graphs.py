# SPDX-License-Identifier: Apache-2.0
"""Bound and loaded kernels in graphs that torch compiles and exports, and pickled."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyptx
from pyptx import LaunchError, Tile, differentiable_kernel, kernel, ptx, reg
from pyptx._errors import Error
from pyptx.types import f32, u32
from support import sample_kernels
from support.packages import need
from support.partial_kernels import COLUMNS, build_weighted, build_weighted_backward

torch = need("torch")
N = 40
PROGRAM = """
import sys
import torch
import pyptx.torch_support
pyptx.torch_support.register_operators()
program = torch.export.load(sys.argv[1]).module()
x = torch.arange(40.0)
assert torch.equal(program(x, x), 2 * x + 1)
"""


@pytest.fixture(params=["bound", "loaded"])
def add(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    torch._dynamo.reset()
    k = sample_kernels.build_vector_add()
    if request.param == "bound":
        return k.bind(torch.zeros(N), torch.zeros(N))
    k.save(tmp_path / "add.pyptx", N=N)
    return pyptx.load(tmp_path / "add.pyptx")


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_it_is_one_graph(add: Any, backend: str) -> None:
    x, y = torch.randn(N), torch.randn(N)
    compiled = torch.compile(lambda a, b: add(a, b) * 2, fullgraph=True, backend=backend)
    for _ in range(2):
        assert torch.equal(compiled(x, y), (x + y) * 2)
    out = torch.empty(N)
    written = torch.compile(lambda a, b, o: add(a, b, out=o) * 2, fullgraph=True, backend=backend)
    assert torch.equal(written(x, y, out), (x + y) * 2)
    assert torch.equal(out, x + y)


def test_several_kernels_in_one_process() -> None:
    torch._dynamo.reset()
    for factor in (2.0, 3.0, 4.0):
        k = sample_kernels.build_row_scale(factor, batch="B")
        x, w = torch.randn(3, 32), torch.randn(32)
        bound = k.bind(x, w)
        compiled = torch.compile(bound, fullgraph=True, backend="eager")
        assert torch.equal(compiled(x, w), bound(x, w))


def test_other_shapes_are_refused_when_the_graph_runs(add: Any) -> None:
    compiled = torch.compile(lambda a, b: add(a, b) * 2, fullgraph=True, dynamic=True)
    x = torch.randn(N)
    assert torch.equal(compiled(x, x), x * 4)
    with pytest.raises(RuntimeError, match=r"must be f32\[40\], got f32\[41\]"):
        compiled(torch.randn(N + 1), torch.randn(N + 1))


def test_gradients_are_refused_and_never_missing(add: Any) -> None:
    x = torch.randn(N).requires_grad_()
    compiled = torch.compile(lambda a, b: add(a, b) * 2, fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match="would keep no record"):
        compiled(x, x)
    with torch.no_grad():
        assert torch.equal(compiled(x, x), 4 * x)


def test_it_is_exported_with_its_kernel(add: Any, tmp_path: Path) -> None:
    class Model(torch.nn.Module):
        def forward(self, a: Any, b: Any) -> Any:
            return add(a, b) + 1

    x = torch.randn(N)
    program = torch.export.export(Model(), (x, x))
    assert torch.equal(program.module()(x, x), 2 * x + 1)
    path = tmp_path / "model.pt2"
    torch.export.save(program, path)
    subprocess.run([sys.executable, "-c", PROGRAM, str(path)], check=True, timeout=240)


def test_numbers_that_each_launch_brings_are_refused() -> None:
    torch._dynamo.reset()

    @kernel(
        in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: (N, 1, 1),
        raw_params=[("f32", "alpha")], arch="auto",
    )  # fmt: skip
    def scale(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.ctaid.x(), u32) * 4
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
        ptx.inst.mul.f32(value, value, ptx.param(f32, "alpha"))
        ptx.inst.st.global_.f32(ptx.addr(py + place), value)

    x = torch.ones(3)
    bound = scale.bind(x, alpha=2.0)
    assert torch.equal(bound(x, alpha=3.0), 3 * x)
    with pytest.raises(Exception, match="each launch brings alpha"):
        torch.compile(lambda a: bound(a), fullgraph=True, backend="eager")(x)


def test_they_are_pickled(add: Any) -> None:
    x = torch.randn(N)
    again = copy.deepcopy(pickle.loads(pickle.dumps(add)))
    assert torch.equal(again(x, x), x + x)
    assert (again.ptx, again.inputs, again.device) == (add.ptx, add.inputs, add.device)
    with pytest.raises(LaunchError, match=r"\(41,\)"):
        again(torch.randn(N + 1), torch.randn(N + 1))


# --- gradients ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["bound", "loaded"])
def weighted(request: Any, tmp_path_factory: Any) -> tuple[Any, Any]:
    """Return a product of rows and a weight, and its backward, each for four rows."""
    k, backward = build_weighted(), build_weighted_backward()
    x, w = torch.randn(4, COLUMNS), torch.randn(COLUMNS)
    if request.param == "bound":
        return k.bind(x, w), backward.bind(x, w, x)
    folder = tmp_path_factory.mktemp("saved")
    for each, name in ((k, "forward"), (backward, "backward")):
        each.save(folder / name, B=4)
    return pyptx.load(folder / "forward"), pyptx.load(folder / "backward")


def test_alone_it_runs_and_refuses_to_go_backward(weighted: Any) -> None:
    x, w = torch.randn(4, COLUMNS, requires_grad=True), torch.randn(COLUMNS)
    y = weighted[0](x, w)
    assert torch.equal(y, x * w)
    with pytest.raises(Error, match="'row_scale' has no backward kernel"):
        y.sum().backward()
    with pytest.raises(Error, match="would keep no record"):
        weighted[0](x, w, out=torch.empty(4, COLUMNS))


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_two_of_them_are_differentiable(weighted: Any, backend: str | None) -> None:
    pair = differentiable_kernel(*weighted)
    call = pair if backend is None else torch.compile(pair, fullgraph=True, backend=backend)
    x, w = torch.randn(4, COLUMNS), torch.randn(COLUMNS)
    leaves = [t.clone().requires_grad_() for t in (x, w)]
    found = torch.autograd.grad(call(*leaves).sum(), leaves)
    torch.testing.assert_close(found, (w.expand(4, COLUMNS), x.sum(0)))
    torch.testing.assert_close(torch.func.grad(lambda w: pair(x, w).sum())(w), x.sum(0))
    again = pickle.loads(pickle.dumps(pair))
    assert torch.equal(again(x, w), x * w)


def test_they_have_no_operator(weighted: Any) -> None:
    with pytest.raises(Error, match="names an operator, which bound kernels have none of"):
        differentiable_kernel(*weighted, op="bound::pair")
