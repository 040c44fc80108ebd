# SPDX-License-Identifier: Apache-2.0
"""Calls and bodies that must be refused: a clear message, the right class, nothing launched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sample_kernels
from pyptx import Layout, Tile, _core, kernel, ptx, reg
from pyptx._errors import Error, LaunchError, TargetError, VerifyError
from pyptx.types import f32, u32, u64

torch = pytest.importorskip("torch")


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if a launch is attempted from Python; the C entry knows no call yet."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        pytest.fail("something was launched")

    monkeypatch.setattr(_core, "launch", refuse)
    monkeypatch.setattr(_core, "emulate", refuse)


def ones(*shape: int, **options: Any) -> Any:
    return torch.ones(*shape, **options)


BAD_ARGUMENTS = [
    (
        "dtype",
        (ones(8), ones(8, dtype=torch.float64)),
        {},
        r"'Y' has dtype float64 \(f64\), expected float32",
    ),
    ("dtype int", (ones(8, dtype=torch.int32), ones(8)), {}, r"'X' has dtype int32 \(s32\)"),
    (
        "shape conflict",
        (ones(8), ones(9)),
        {},
        r"'Y' has shape \(9,\), so N = 9, but argument 'X' gave N = 8",
    ),
    ("rank", (ones(8), ones(8, 1)), {}, r"'Y': expected 1 dimensions \(N,\), got 2"),
    ("too few", (ones(8),), {}, r"takes 2 inputs \(X, Y\), got 1"),
    ("outputs as inputs", (ones(8), ones(8), ones(8)), {}, r"got 3; outputs are passed as out="),
    ("strides", (ones(8), ones(8, 2)[:, 0]), {}, r"'Y' has strides \(2,\).*\.contiguous\(\)"),
    ("expanded", (ones(8), ones(1).expand(8)), {}, r"'Y' has strides \(0,\)"),
    (
        "out shape",
        (ones(8), ones(8)),
        {"out": ones(9)},
        r"'Z' has shape \(9,\), so N = 9, but the inputs gave",
    ),
    (
        "out dtype",
        (ones(8), ones(8)),
        {"out": ones(8, dtype=torch.float16)},
        r"'Z' has dtype float16",
    ),
    (
        "out count",
        (ones(8), ones(8)),
        {"out": (ones(8), ones(8))},
        r"has 1 output \(Z\), out= has 2",
    ),
    ("dimension by keyword", (ones(8), ones(8)), {"N": 9}, r"N=9 was given"),
]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [row[1:] for row in BAD_ARGUMENTS],
    ids=[r[0] for r in BAD_ARGUMENTS],
)
@pytest.mark.usefixtures("nothing_runs")
def test_bad_arguments(args: Any, kwargs: Any, message: str) -> None:
    k = sample_kernels.build_vector_add()
    with pytest.raises(LaunchError, match=message) as caught:
        k(*args, **kwargs)
    assert "kernel 'vector_add'" in str(caught.value)
    assert k._live.entry.hits == 0


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [row[1:] for row in BAD_ARGUMENTS],
    ids=[r[0] for r in BAD_ARGUMENTS],
)
def test_bad_arguments_after_a_good_call(args: Any, kwargs: Any, message: str) -> None:
    k = sample_kernels.build_vector_add()
    k(ones(8), ones(8))
    with pytest.raises(LaunchError, match=message):
        k(*args, **kwargs)
    assert k._live.entry.hits == 0


@pytest.mark.usefixtures("nothing_runs")
def test_wrong_kinds_of_values() -> None:
    k = sample_kernels.build_vector_add()
    with pytest.raises(TypeError, match="argument 'Y' is a list"):
        k(ones(8), [1.0] * 8)
    with pytest.raises(TypeError, match="'X' is a torch array but 'Y' is a numpy array"):
        k(ones(8), np.ones(8, np.float32))
    with pytest.raises(
        TypeError, match=r"unknown keyword 'BLOK'; did you mean 'BLOCK'\? \(known: BLOCK, N\)"
    ):
        k(ones(8), ones(8), BLOK=64)
    with pytest.raises(LaunchError, match="called without arrays"):
        sample_kernels.kernel(in_specs=(), out_specs=())(lambda: None)()
    with pytest.raises(LaunchError, match="declares no tensors"):
        kernel(lambda X: None)(ones(8))


@pytest.mark.usefixtures("nothing_runs")
def test_devices() -> None:
    k = sample_kernels.build_vector_add()
    if torch.cuda.is_available():
        with pytest.raises(LaunchError, match=r"'Y' is on cpu, but argument 'X' is on cuda:0"):
            k(ones(8, device="cuda"), ones(8))
    with pytest.raises(LaunchError, match=r"'Y' is on meta, but argument 'X' is on cpu"):
        k(ones(8), ones(8, device="meta"))


@pytest.mark.usefixtures("nothing_runs")
def test_column_major_layout_is_checked() -> None:
    @kernel(in_specs=(Tile("K", "N", f32, Layout.COL),), out_specs=(Tile("N", f32),))
    def k(B, C): ...

    with pytest.raises(LaunchError, match=r"column-major \(Layout.COL\).*x.mT.contiguous\(\).mT"):
        k(ones(4, 8))


def test_launch_without_driver() -> None:
    if _core.driver_status()[0]:
        pytest.skip("this machine has a driver")
    k = sample_kernels.build_scale(2.0)
    traced = k._inspect({})[0]
    image = k.specializer.image(traced, (1, 1, 1), {})
    with pytest.raises(LaunchError, match=r"(?i)driver|libcuda"):
        _core.launch(image, 0, 0, [16, 16])


# --- bodies -------------------------------------------------------------------------------------


def refused(body: Any, error: type[Error], **options: Any) -> str:
    with pytest.raises(error) as caught:
        kernel(body, **options).ptx()
    text = str(caught.value)
    assert __file__.rsplit("/", 1)[-1] in text, "the message points at the author's line"
    return text


def test_unknown_modifier() -> None:
    def body() -> None:
        a = reg.scalar(f32)
        ptx.inst.add.rnd.f32(a, a, a)

    assert "rnd" in refused(body, VerifyError)


def test_wgmma_on_blackwell() -> None:
    def body() -> None:
        ptx.wgmma.fence()

    assert "sm_90a" in refused(body, TargetError, arch="sm_100a")


def test_register_of_the_wrong_type() -> None:
    def body() -> None:
        a = reg.scalar(f32)
        b = reg.scalar(u64)
        ptx.inst.add.u32(reg.scalar(u32), a, b)

    assert "u32" in refused(body, VerifyError)


def test_instruction_outside_a_kernel() -> None:
    with pytest.raises(VerifyError, match=r"(?i)trace|kernel"):
        reg.scalar(f32)


def test_unknown_arch() -> None:
    @kernel(arch="sm_12345")
    def k(): ...

    with pytest.raises(TargetError, match="sm_12345"):
        k.ptx()


def test_a_failed_trace_leaves_no_trace_behind() -> None:
    @kernel
    def bad() -> None:
        raise RuntimeError("the author's own")

    with pytest.raises(RuntimeError, match="the author's own"):
        bad.ptx()
    assert _core.active_trace() is None
    assert ".entry" in sample_kernels.build_scale(1.0).ptx()


@pytest.mark.usefixtures("nothing_runs")
def test_numpy_arrays_whose_memory_is_not_what_their_dtype_says() -> None:
    k = sample_kernels.build_vector_add()
    good = np.ones(8, np.float32)
    with pytest.raises(LaunchError, match="bytes in the other order"):
        k(good, np.ones(8, ">f4"))
    packed = np.zeros(8, dtype=[("a", "f4"), ("b", "i1")])["a"]  # 5 bytes from one to the next
    with pytest.raises(LaunchError, match=r"'Y' has strides \(1\.25,\)"):
        k(good, packed)


@pytest.mark.parametrize("value", ["x", None, 1e39, 10**400])
@pytest.mark.usefixtures("nothing_runs")
def test_raw_parameters_that_cannot_hold_a_value(value: Any) -> None:
    @kernel(in_specs=(Tile(1, f32),), out_specs=(Tile(1, f32),), raw_params=[("f32", "alpha")])
    def scaled(X, Y):
        ptx.ret()

    with pytest.raises(LaunchError, match=r"'alpha' \(\.f32\) cannot hold"):
        scaled(np.ones(1, np.float32), alpha=value)


@pytest.mark.parametrize("make", [torch.zeros, np.zeros])
def test_outputs_that_share_memory(make: Any) -> None:
    @kernel(
        in_specs=(Tile(4, f32),),
        out_specs=(Tile(4, f32), Tile(4, f32)),
        grid=(1, 1, 1),
        block=(1, 1, 1),
    )
    def two(X, Y, Z):
        ptx.ret()

    dtype = torch.float32 if make is torch.zeros else np.float32
    x, both = make(4, dtype=dtype), make(8, dtype=dtype)
    for _ in range(2):  # the second time the C entry knows the shapes
        two(x, out=(both[:4], both[4:]))
        for pair in ((x, x), (both[:4], both[3:7]), (both[1:5], both[:4])):
            with pytest.raises(LaunchError, match="share memory"):
                two(x, out=pair)
