# SPDX-License-Identifier: Apache-2.0
"""Programs that are exported with symbolic sizes carry their kernels for any of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pyptx
from pyptx import Tile, differentiable_kernel, jax_support, kernel, kernels, ptx, reg
from pyptx._errors import Error
from pyptx.types import f32, u32
from support.packages import need
from support.sized_kernels import twice

torch = need("torch")
jax = need("jax")
jnp = jax.numpy
Dim = torch.export.Dim
COLUMNS = 32


def build_scale(**options: Any) -> Any:
    matrix = Tile("M", COLUMNS, f32)
    declared = {"in_specs": (matrix, Tile(COLUMNS, f32)), "out_specs": (matrix,)}
    declared |= {"grid": lambda M: (M, 1, 1), "block": (COLUMNS, 1, 1), "dynamic": ("M",)}

    @kernel(**(declared | {"raw_params": [("f32", "alpha")]} | options))
    def scale(X, W, Y):
        px, pw, py = ptx.global_ptrs(X, W, Y)
        column = reg.from_(ptx.special.tid.x(), u32) * 4
        place = reg.from_(ptx.special.ctaid.x(), u32) * (COLUMNS * 4) + column
        x, w = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
        ptx.inst.ld.global_.f32(w, ptx.addr(pw + column))
        ptx.inst.mul.f32(x, x, w)
        ptx.inst.mul.f32(x, x, ptx.param(f32, "alpha"))
        ptx.inst.st.global_.f32(ptx.addr(py + place), x)
        ptx.ret()

    return scale


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, k: Any) -> None:
        super().__init__()
        self.kernel = k

    def forward(self, x: Any, w: Any) -> Any:
        return torch.relu(self.kernel(x + 1, w, alpha=0.5))


def exported(k: Any, rows: int = 6, **options: Any) -> Any:
    example = (torch.ones(rows, COLUMNS), torch.ones(COLUMNS))
    shapes = {"x": {0: Dim("m", min=1)}, "w": None}
    return torch.export.export(Model(k), example, dynamic_shapes=shapes, **options)


def operators(program: Any) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if "pyptx" in str(node.target)]


CHECK = """
import torch, sys
from pyptx import torch_support
torch_support.register_operators()
{load}
for rows in (1, 6, 77):
    x, w = torch.randn(rows, 32), torch.arange(32.0)
    assert torch.equal(run(x, w), torch.relu((x + 1) * w * 0.5)), rows
print("right")
"""


def in_another_process(load: str, *words: object) -> None:
    command = [sys.executable, "-c", CHECK.format(load=load), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.endswith("right\n"), done.stderr


def test_an_exported_program_runs_for_every_size_elsewhere(tmp_path: Path) -> None:
    program = exported(build_scale())
    assert operators(program) == ["pyptx.launch_one.default"]
    torch.export.save(program, tmp_path / "model.pt2")
    in_another_process("run = torch.export.load(sys.argv[1]).module()", tmp_path / "model.pt2")


def test_a_bound_program_of_a_loaded_kernel(tmp_path: Path) -> None:
    k = build_scale()
    k.save(tmp_path / "scale.pyptx", alpha=0.5)
    loaded = pyptx.load(tmp_path / "scale.pyptx")
    with pytest.raises(Error, match="each launch brings alpha"):
        exported(loaded)
    double = build_double()
    double.save(tmp_path / "double.pyptx")
    loaded = pyptx.load(tmp_path / "double.pyptx")

    class Loaded(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return loaded(x) + 1

    shapes = {"x": {0: Dim("m", min=1)}}
    program = torch.export.export(Loaded(), (torch.ones(6, COLUMNS),), dynamic_shapes=shapes)
    compiled = torch.compile(Loaded(), fullgraph=True, dynamic=True)
    for rows in (1, 9):
        x = torch.randn(rows, COLUMNS)
        assert torch.equal(program.module()(x), 2 * x + 1)
        assert torch.equal(compiled(x), 2 * x + 1)


def build_double(**options: Any) -> Any:
    matrix = Tile("M", COLUMNS, f32)
    declared = {"in_specs": (matrix,), "out_specs": (matrix,), "dynamic": ("M",)}
    declared |= {"grid": lambda M: (M, 1, 1), "block": (COLUMNS, 1, 1)}

    @kernel(**(declared | options))
    def double(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        column = reg.from_(ptx.special.tid.x(), u32) * 4
        place = reg.from_(ptx.special.ctaid.x(), u32) * (COLUMNS * 4) + column
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
        ptx.inst.add.f32(x, x, x)
        ptx.inst.st.global_.f32(ptx.addr(py + place), x)
        ptx.ret()

    return double


@torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True)  # type: ignore[untyped-decorator]
def test_sizes_that_only_a_run_knows() -> None:
    class Positive(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return twice(x[x > 0]) + 1

    compiled = torch.compile(Positive(), fullgraph=True)
    shapes = {"x": {0: Dim("n", min=1)}}
    program = torch.export.export(Positive(), (torch.randn(10),), dynamic_shapes=shapes)
    assert operators(program) == ["pyptx.launch_one.default"]
    for x in (torch.randn(33), torch.randn(1000), -torch.ones(5)):  # of the last, none
        assert torch.equal(compiled(x), 2 * x[x > 0] + 1)
        assert torch.equal(program.module()(x), 2 * x[x > 0] + 1)


def test_types_are_those_of_the_tensors() -> None:
    matrix = Tile("M", COLUMNS, u32)

    @kernel(
        in_specs=(matrix, Tile("M")),
        out_specs=(matrix,),
        grid=lambda M: (M, 1, 1),
        block=(COLUMNS, 1, 1),
        dynamic=("M",),
    )
    def copied(X, Other, Y):
        px, py = ptx.global_ptrs(X, Y)
        place = reg.from_(ptx.special.ctaid.x(), u32) * COLUMNS + ptx.special.tid.x()
        x = reg.scalar(u32)
        ptx.inst.ld.global_.u32(x, ptx.addr(px + place * 4))
        ptx.inst.st.global_.u32(ptx.addr(py + place * 4), x)
        ptx.ret()

    class Copy(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any, other: Any) -> Any:
            return copied(x, other)

    def inputs(count: int) -> Any:
        return torch.arange(count * 32).reshape(count, 32).int(), torch.ones(count).half()

    dim = {0: Dim("m", min=1)}
    program = torch.export.export(Copy(), inputs(4), dynamic_shapes={"x": dim, "other": dim})
    x, other = inputs(9)
    assert torch.equal(program.module()(x, other).int(), x)
    rows = symbolic(COLUMNS, dtype=jnp.int32)
    made = jax_exported(copied, rows, jax.ShapeDtypeStruct(rows.shape[:1], jnp.float16))
    assert bool((made.call(jnp.asarray(x.numpy()), jnp.ones(9, jnp.float16)) == x.numpy()).all())


# --- what would work in one process only --------------------------------------------------------


def test_a_size_of_the_trace_is_refused_at_export() -> None:
    with pytest.raises(Error, match=r"PTX0874.*dynamic=\('M',\)"):
        exported(build_scale(dynamic=()))
    assert operators(
        torch.export.export(
            Model(build_scale(dynamic=())), (torch.ones(6, COLUMNS), torch.ones(COLUMNS))
        )
    ) == ["pyptx.launch_one.default"]


def test_a_strict_export_is_refused() -> None:
    with pytest.raises(Error, match=r"PTX0869.*strict=False"):
        exported(build_scale(), strict=True)


def test_a_kernel_that_nobody_can_compare_is_refused() -> None:
    values = iter([2.0] * 100)
    read = build_double(grid=lambda M: (M * int(next(values)) // 2, 1, 1))
    with pytest.raises(Error, match=r"PTX0869.*reads what cannot be compared"):
        torch.export.export(Whole(read), (torch.ones(6, COLUMNS),))


class Whole(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, k: Any) -> None:
        super().__init__()
        self.kernel = k

    def forward(self, x: Any) -> Any:
        return self.kernel(x)


def test_rows_that_lie_apart_are_refused() -> None:
    rows = Tile("M", COLUMNS, f32, strides="dynamic")
    k = build_double(in_specs=(rows,))
    wide = torch.ones(6, 2 * COLUMNS)
    assert torch.equal(k(wide[:, :COLUMNS]), 2 * wide[:, :COLUMNS])

    class Half(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return k(x[:, :COLUMNS])

    with pytest.raises(Error, match=r"PTX0869.*tensors with gaps; export with .contiguous"):
        torch.export.export(Half(), (wide,))


# --- kernels of the library ---------------------------------------------------------------------


def bf16(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.bfloat16)


LIBRARY: dict[str, Any] = {
    "rms_norm": (lambda x: kernels.rms_norm(x, torch.ones(256)), torch.randn, (256,)),
    "softmax": (kernels.softmax, torch.randn, (256,)),
    "swiglu": (lambda x: kernels.swiglu(x, x), torch.randn, (256,)),
    "matmul": (lambda x: kernels.matmul(x, torch.ones(64, 64).bfloat16()), bf16, (64,)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_rows_of_the_library_stay_open(name: str) -> None:
    function, random, columns = LIBRARY[name]

    class Rows(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return function(x)

    shapes = {"x": {0: Dim("m", min=1)}}
    program = torch.export.export(Rows(), (random(8, *columns),), dynamic_shapes=shapes)
    assert operators(program) == ["pyptx.launch_one.default"]
    for rows in (1, 19):
        x = random(rows, *columns)
        torch.testing.assert_close(program.module()(x), function(x))


# --- JAX ------------------------------------------------------------------------------------------


def symbolic(*rest: int, dtype: Any = None) -> Any:
    (m,) = jax.export.symbolic_shape("m")
    return jax.ShapeDtypeStruct((m, *rest), dtype or jnp.float32)


def jax_exported(function: Any, *args: Any) -> Any:
    made = jax.export.export(jax.jit(function), disabled_checks=jax_support.export_checks())
    return made(*args)


RUN_JAX = """
import sys
import jax, jax.numpy as jnp
from pyptx import jax_support
jax_support.ensure_ffi_registered()
program = jax.export.deserialize(open(sys.argv[1], "rb").read())
for rows in (1, 6, 77):
    x, w = jnp.arange(rows * 32.0).reshape(rows, 32), jnp.arange(32.0)
    assert bool((program.call(x, w) == x * w * 0.5 + 1).all()), rows
print("right")
"""


def test_a_program_of_jax_runs_for_every_size_elsewhere(tmp_path: Path) -> None:
    k = build_scale()
    w = jnp.arange(float(COLUMNS))
    program = jax_exported(lambda x, w: k(x, w, alpha=0.5) + 1, symbolic(COLUMNS), w)
    (tmp_path / "program").write_bytes(program.serialize())
    words = [sys.executable, "-c", RUN_JAX, str(tmp_path / "program")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "right\n", done.stderr


def test_gradients_donors_and_loaded_kernels_of_any_size(tmp_path: Path) -> None:
    double = build_double()
    pair = differentiable_kernel(double, lambda x, g: double(g), save_for_backward=[0])
    program = jax_exported(jax.grad(lambda x: (pair(x) * x).sum()), symbolic(COLUMNS))
    double.save(tmp_path / "double.pyptx")
    loaded = jax_exported(pyptx.load(tmp_path / "double.pyptx"), symbolic(COLUMNS))
    donated = jax_exported(lambda x: double(x + 1, out=x), symbolic(COLUMNS))
    for rows in (1, 9):
        x = jnp.arange(rows * 32.0).reshape(rows, COLUMNS)
        assert bool((program.call(x) == 4 * x).all())
        assert bool((loaded.call(x) == 2 * x).all())
        assert bool((donated.call(x) == 2 * x + 2).all())


def test_what_jax_cannot_leave_open_is_refused() -> None:
    w = jnp.ones(COLUMNS)
    with pytest.raises(Error, match=r"PTX0874.*dynamic=\('M',\)"):
        jax_exported(lambda x: build_scale(dynamic=())(x, w, alpha=1.0), symbolic(COLUMNS))
    with pytest.raises(Error, match=r"PTX0843.*expected shape \(M, 32\), got \(m, 31\)"):
        jax_exported(lambda x: build_scale()(x, w, alpha=1.0), symbolic(31))
