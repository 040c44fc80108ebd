# SPDX-License-Identifier: Apache-2.0
"""Kernels that are saved for any size: what is carried, what it does elsewhere, what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx._call.open_grid import MOST_PATHS, open_grid
from pyptx._errors import Error
from pyptx.types import bf16, f32, u32
from support.packages import need
from support.sized_kernels import twice
from support.tree import ROOT

torch = need("torch")
COLUMNS = 32


def weigh(X: Any, W: Any, Y: Any) -> None:
    """y = alpha x w: rows by a vector, each CTA every so many rows."""
    px, pw, py = ptx.global_ptrs(X, W, Y)
    column = reg.from_(ptx.special.tid.x(), u32)
    first = reg.from_(ptx.special.ctaid.x(), u32)
    w = reg.scalar(f32)
    ptx.inst.ld.global_.f32(w, ptx.addr(pw + column * 4))
    ptx.inst.mul.f32(w, w, ptx.param(f32, "alpha"))
    with ptx.range_(first, X.shape[0], ptx.special.nctaid.x()) as row:
        x, place = reg.scalar(f32), (row * COLUMNS + column) * 4
        ptx.inst.ld.global_.f32(x, ptx.addr(px + place))
        ptx.inst.mul.f32(x, x, w)
        ptx.inst.st.global_.f32(ptx.addr(py + place), x)
    ptx.ret()


def build_weigh(**options: Any) -> Any:
    matrix = Tile("M", COLUMNS, f32)
    declared: dict[str, Any] = {
        "in_specs": (matrix, Tile(COLUMNS, f32)),
        "out_specs": (matrix,),
        "grid": lambda M: (min(M, 4), 1, 1),
        "block": (COLUMNS, 1, 1),
        "dynamic": ("M",),
        "raw_params": [("f32", "alpha")],
        "arch": "sm_80",
    }
    return kernel(weigh, **(declared | options))


def inputs(rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, COLUMNS)).astype(np.float32)
    return x, np.arange(COLUMNS, dtype=np.float32)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("open") / "weigh.pyptx"
    build_weigh().save(path, alpha=2.0)
    return path


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 100])
def test_a_file_serves_every_size(path: Path, rows: int) -> None:
    k = pyptx.load(path)
    x, w = inputs(rows)
    assert np.array_equal(k(x, w), x * w * 2)
    assert np.array_equal(k(x, w, alpha=4.0), x * w * 4)
    tx, tw = torch.from_numpy(x), torch.from_numpy(w)
    assert torch.equal(k(tx, tw), tx * tw * 2)
    out = torch.empty_like(tx)
    assert k(tx, tw, out=out, alpha=0.5) is out
    assert torch.equal(out, tx * tw * 0.5)


def test_a_size_that_was_met_is_a_call_from_c(path: Path) -> None:
    k = pyptx.load(path)
    x, w = inputs(5)
    k(x, w)
    hits = k._entry.hits
    assert np.array_equal(k(x, w), x * w * 2)
    assert k._entry.hits == hits + 1


def test_what_it_says_of_itself(path: Path) -> None:
    k = pyptx.load(path)
    assert isinstance(k, pyptx.OpenKernel)
    assert repr(k) == "<OpenKernel weigh(X: f32[M, 32], W: f32[32], alpha: f32)>"
    assert [t.shape for t in (*k.inputs, *k.outputs)] == [("M", 32), (32,), ("M", 32)]
    assert k.ptx == pyptx.load(path).at(M=7).ptx
    assert repr(k.at(M=7)).startswith("<BoundKernel weigh(X: f32[7, 32]")
    assert repr(k.at(*inputs(9))).startswith("<BoundKernel weigh(X: f32[9, 32]")


def test_it_is_pickled_and_saved_again(path: Path, tmp_path: Path) -> None:
    k = pyptx.load(path)
    k.save(tmp_path / "again.pyptx")
    assert (tmp_path / "again.pyptx").read_bytes() == path.read_bytes()
    x, w = inputs(6)
    assert np.array_equal(pickle.loads(pickle.dumps(k))(x, w), x * w * 2)


def test_with_its_sizes_a_kernel_is_saved_for_one(tmp_path: Path) -> None:
    build_weigh().save(tmp_path / "one.pyptx", M=4, alpha=2.0)
    assert isinstance(pyptx.load(tmp_path / "one.pyptx"), pyptx.BoundKernel)
    build_weigh().save(tmp_path / "like.pyptx", *inputs(4), alpha=2.0)
    assert isinstance(pyptx.load(tmp_path / "like.pyptx"), pyptx.BoundKernel)


RUN = """
import sys
import numpy as np
import pyptx
k = pyptx.load(sys.argv[1])
for rows in (1, 33, 200):
    x = np.arange(rows * 32, dtype=np.float32).reshape(rows, 32)
    w = np.arange(32, dtype=np.float32)
    assert np.array_equal(k(x, w), x * w * 2), rows
"""


def test_another_process_has_no_source(path: Path) -> None:
    words = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def any_size(*words: object) -> subprocess.CompletedProcess[str]:
    program = ROOT / "build/release/examples/cpp/any_size"
    if not program.exists():
        pytest.skip("needs build/release with the C++ examples (make build)")
    done = [str(program), *map(str, words)]
    return subprocess.run(done, capture_output=True, text=True, check=False)


def test_a_program_without_python_runs_it(tmp_path: Path) -> None:
    twice.save(tmp_path / "twice.pyptx")
    for words in ([], ["--load", tmp_path / "twice.pyptx"]):
        done = any_size(*words, 1, 64, 1000)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\n")[:3] == [f"twice of {n}: right" for n in (1, 64, 1000)]
    wrong = tmp_path / "weigh.pyptx"
    build_weigh().save(wrong, alpha=2.0)
    done = any_size("--load", wrong, 4)
    assert done.returncode == 1
    assert "error[PTX0840]" in done.stderr


def test_tensor_maps_and_types_follow_sizes(tmp_path: Path) -> None:
    rows = Tile("M", 64, dtype="T", layout=Layout.TMA_128B, tma_box=(8, 64))

    @kernel(
        in_specs=(rows,),
        out_specs=(Tile("M", 64, dtype="T"),),
        grid=lambda M: (M // 8, 1, 1),
        block=(32, 1, 1),
        dynamic=("M",),
        multiple_of={"M": 8},
        tma="value",
    )
    def copied(X, Y):
        (py,) = ptx.global_ptrs(Y)
        tile = smem.alloc(bf16, (8, 64), swizzle="128B", align=1024)
        bar = smem.mbarrier(1)
        lane = reg.from_(ptx.special.tid.x(), u32)
        row = reg.from_(ptx.special.ctaid.x(), u32) * 8
        with ptx.if_(lane == 0):
            ptx.mbarrier.init(bar[0], 1)
            ptx.fence.mbarrier_init()
            ptx.mbarrier.arrive_expect_tx(bar[0], 8 * 64 * 2)
            ptx.cp.async_.bulk.tensor_2d(dst=tile, src=X.tma_desc(), coord=(0, row), mbar=bar[0])
        ptx.bar.sync(0)
        ptx.mbarrier.wait(bar[0], 0)
        for part in range(16):
            place = lane + part * 32  # of 512 elements, in rows of 64
            offset = smem.apply_swizzle(place * 2, "128B")
            value = reg.scalar("b16")
            ptx.inst.ld.shared.b16(value, ptx.addr(tile.address() + offset))
            ptx.inst.st.global_.b16(ptx.addr(py + (row * 64 + place) * 2), value)
        ptx.ret()

    copied.save(tmp_path / "copied.pyptx", T=bf16)
    k = pyptx.load(tmp_path / "copied.pyptx")
    for size in (8, 64):
        x = torch.randn(size, 64).to(torch.bfloat16)
        assert torch.equal(k(x), x)
    with pytest.raises(Error, match="PTX0872"):
        k(torch.zeros(9, 64, dtype=torch.bfloat16))
    with pytest.raises(Error, match="PTX0841"):
        k(torch.zeros(8, 64, dtype=torch.float16))


def test_strides_are_those_of_dense_arrays(tmp_path: Path) -> None:
    rows = Tile("M", "N", f32, strides="dynamic")

    @kernel(
        in_specs=(rows,),
        out_specs=(Tile("M", "N", f32),),
        grid=lambda M, N: (M, N, 1),
        dynamic=("M", "N"),
        arch="sm_80",
    )
    def copied(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        row = reg.from_(ptx.special.ctaid.x(), u32)
        column = reg.from_(ptx.special.ctaid.y(), u32)
        x = reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + (row * X.strides[0] + column) * 4))
        ptx.inst.st.global_.f32(ptx.addr(py + (row * X.shape[1] + column) * 4), x)
        ptx.ret()

    copied.save(tmp_path / "copied.pyptx")
    k = pyptx.load(tmp_path / "copied.pyptx")
    for size in ((1, 7), (5, 3)):
        x = torch.randn(size)
        assert torch.equal(k(x), x)
    with pytest.raises(Error, match="PTX0846"):
        k(torch.randn(5, 6)[:, :3])


def test_arrays_that_do_not_fit_are_refused(path: Path) -> None:
    k = pyptx.load(path)
    x, w = inputs(4)
    for args, code in [
        ((x[:, :31], w), "PTX0843"),
        ((x,), "PTX0840"),
        ((x[0], w), "PTX0842"),
        ((x.astype(np.float64), w), "PTX0841"),
        ((x[::2], w), "PTX0846"),
    ]:
        with pytest.raises(Error, match=code):
            k(*args)
    with pytest.raises(Error, match="PTX0844"):
        k(x, w, out=np.empty((5, COLUMNS), np.float32))
    with pytest.raises(Error, match="takes no keyword 'beta'"):
        k(x, w, beta=2.0)


def test_a_size_of_the_trace_is_refused_with_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"no value for dimension 'M'; give it by keyword"):
        build_weigh(dynamic=(), grid=(1, 1, 1)).save(tmp_path / "x", alpha=2.0)
    k = build_weigh(dynamic=("M",), in_specs=(Tile("M", COLUMNS, f32), Tile("K", f32)))
    with pytest.raises(Error, match=r"PTX0874.*traced for each size of 'K'.*dynamic=\('K',\)"):
        k.save(tmp_path / "x", alpha=2.0)


# --- grids ------------------------------------------------------------------------------------


def evaluated(text: str, sizes: dict[str, int]) -> int:
    words = iter(text.split())

    def value() -> int:
        word = next(words)
        if word == "?":
            first, second, third = value(), value(), value()
            return second if first else third
        if word in ("+", "-", "*", "//", "%", "==", "!=", "<", "<="):
            a, b = value(), value()
            return int(eval(f"a {word} b", {"a": a, "b": b}))
        return sizes[word] if word in sizes else int(word)

    return value()


GRIDS = [
    lambda M, N: (M, N),
    lambda M, N: (-(-M // 128), -(-N // 64), 3),
    lambda M, N: min(M, 132),
    lambda M, N: (max(min(M * N, 132), 1) + M % 7,),
    lambda M, N: (M if M > N else N if N >= 2 * M else 1, 2 - (M == N)),
    lambda M, N: divmod(M + 5, 3),
    lambda M, N: (sum(n < M for n in (1, 10, 100)), 1 if M and not N else 2),
    lambda M, N: (abs(M - N), 1 if M <= N <= 9 else 4),
]


@pytest.mark.parametrize("grid", GRIDS)
def test_a_grid_is_what_the_function_says(grid: Any) -> None:
    texts = open_grid("k", grid, {}, ("M", "N"))
    for m in (0, 1, 2, 9, 50, 131, 133, 1000):
        for n in (0, 1, 2, 9, 64, 1000):
            wanted = grid(m, n)
            wanted = (*(wanted if isinstance(wanted, tuple) else (wanted,)), 1, 1)[:3]
            assert tuple(evaluated(t, {"M": m, "N": n}) for t in texts) == tuple(map(int, wanted))


@pytest.mark.parametrize(
    ("grid", "code"),
    [
        (lambda M: M / 2, "PTX0874"),
        (lambda M: (len(range(M)),), "PTX0874"),
        (lambda M: (M * 1.5,), "PTX0874"),
        (lambda M: (1 << M,), "PTX0874"),
        (lambda M: (M, 1, 1, 1), "PTX0863"),
        (lambda M: (M, -1), "PTX0864"),
        (lambda M: (next(n for n in range(MOST_PATHS + 1) if n >= M),), "PTX0874"),
    ],
)
def test_a_grid_that_needs_numbers_is_refused(grid: Any, code: str) -> None:
    with pytest.raises(Error, match=code):
        open_grid("k", grid, {}, ("M",))
