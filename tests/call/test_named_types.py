# SPDX-License-Identifier: Apache-2.0
"""`Tile(dtype="T")`: one kernel for several element types, in every way of calling a kernel."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import ArgumentTypeError, Tile, kernel, ptx, reg
from pyptx._errors import Error, LaunchError
from pyptx.types import bf16, f16, f32, s32, u16, u32
from support.packages import need
from support.typed_kernels import WIDTH, build_sum

torch = need("torch")
TYPES = (torch.float32, torch.float16, torch.bfloat16)


def pair(dtype: Any, rows: int = 3) -> Any:
    return torch.randn(2, rows, WIDTH).to(dtype).unbind()


def agree(got: Any, x: Any, y: Any, dtype: Any = None) -> None:
    want = (x.float() + y.float()).to(dtype or x.dtype)
    assert got.dtype == want.dtype
    assert torch.equal(got, want)


@pytest.mark.parametrize("dtype", TYPES)
def test_outputs_have_the_type_that_inputs_bring(dtype: Any) -> None:
    k = build_sum()
    for _ in range(3):
        x, y = pair(dtype)
        agree(k(x, y), x, y)
        out = torch.empty_like(x)
        assert k(x, y, out=out) is out
        agree(out, x, y)
        agree(k.emulate(x, y), x, y)
        k.launch(x, y, out)
        agree(out, x, y)


def test_one_kernel_object_serves_them_in_turn() -> None:
    k = build_sum()
    for _ in range(2):
        for dtype in TYPES:
            x, y = pair(dtype)
            agree(k(x, y), x, y)
    assert len(k.specializer._traces) == len(TYPES)
    assert k._entry.misses == len(TYPES)
    assert k._entry.hits == len(TYPES)


def test_arguments_of_one_type_name_agree() -> None:
    k = build_sum()
    x, y = pair(torch.bfloat16)
    with pytest.raises(
        ArgumentTypeError,
        match=r"'Y' has dtype float16 \(f16\), but argument 'X' gave T = bfloat16 \(bf16\)",
    ) as caught:
        k(x, y.half())
    assert caught.value.diagnostics[0].code == "PTX0841"
    with pytest.raises(
        ArgumentTypeError, match=r"output 'Z' has dtype float32 .* the inputs gave T"
    ):
        k(x, y, out=torch.empty(3, WIDTH))
    with pytest.raises(ArgumentTypeError, match=r"complex64 .*PTX has no such type for T"):
        k(x.to(torch.complex64), y)


def test_a_type_that_only_outputs_have_is_a_keyword() -> None:
    k = build_sum(result="R")
    x, y = pair(torch.bfloat16)
    for given in (f32, "f32", torch.float32):
        for _ in range(2):
            agree(k(x, y, R=given), x, y, torch.float32)
    agree(k(x, y, R=f16), x, y, torch.float16)
    agree(k(x, y, out=torch.empty(3, WIDTH)), x, y, torch.float32)
    agree(k(x, y, out=torch.empty(3, WIDTH), R=f32), x, y, torch.float32)
    with pytest.raises(LaunchError, match=r"needs the element type R of 'Z'.* as in R=bf16"):
        k(x, y)
    with pytest.raises(ValueError, match=r"R='float99'.*expected one of pyptx.types"):
        k(x, y, R="float99")
    with pytest.raises(ValueError, match="T=f32 was given, but the arguments' types say T = bf16"):
        k(x, y, T=f32, R=f32)
    agree(k(x, y, T=bf16, R=f32), x, y, torch.float32)


def test_inspection_asks_for_what_is_open() -> None:
    k = build_sum()
    with pytest.raises(LaunchError, match=r"needs the element type T of 'X'.* as in T=bf16"):
        k.ptx(M=4)
    assert "cvt.f32.bf16" in k.ptx(M=4, T=bf16)
    assert k.ptx(T="bf16") == k.ptx(T=torch.bfloat16) == k.ptx(T=bf16)
    assert "cvt.rn" not in k.ptx(T=f32)
    assert k.ptx(T=f32) != k.ptx(T=f16)
    assert k.module(T=f16).entries


def test_a_body_and_a_grid_may_ask_for_it() -> None:
    seen = []

    @kernel(
        in_specs=(Tile("N", dtype="T"),),
        out_specs=(Tile("N", dtype="T"),),
        grid=lambda N, T: (N // T.bits, 1, 1),
        arch="sm_90a",
    )
    def k(X: Any, Y: Any, *, T: Any) -> None:
        seen.append((X.dtype, Y.dtype, T))
        ptx.ret()

    k(torch.zeros(64, dtype=torch.float16))
    k(torch.zeros(64))
    assert seen == [(f16, f16, f16), (f32, f32, f32)]


def test_in_numpy() -> None:
    k = build_sum()
    ml_dtypes = need("ml_dtypes")
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        x, y = (rng.standard_normal((2, WIDTH)).astype(dtype) for _ in range(2))
        for _ in range(2):
            got = k(x, y)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, (x.astype("f4") + y.astype("f4")).astype(dtype))
    with pytest.raises(ArgumentTypeError, match="argument 'Y' has dtype float16"):
        k(np.zeros((2, WIDTH), "f4"), np.zeros((2, WIDTH), "f2"))


def test_bound_saved_and_pickled_kernels_have_the_type_they_were_made_for(tmp_path: Path) -> None:
    k = build_sum()
    x, y = pair(torch.float16)
    bound = k.bind(x, y)
    path = tmp_path / "sum.pyptx"
    k.save(path, M=3, T=f16)
    for settled in (bound, pyptx.load(path), pickle.loads(pickle.dumps(bound))):
        agree(settled(x, y), x, y)
        with pytest.raises(ArgumentTypeError, match=r"bfloat16|bf16"):
            settled(*pair(torch.bfloat16))
    with pytest.raises(LaunchError, match="needs the element type T"):
        k.save(path, M=3)


def test_addresses_need_a_type_from_somewhere() -> None:
    k = build_sum()
    x, y = pair(torch.float32)
    out = torch.empty_like(x)
    k.launch(x.data_ptr(), y.data_ptr(), out.data_ptr(), device="cpu", M=3, T=f32)
    agree(out, x, y)
    k.launch(x, y.data_ptr(), out.zero_().data_ptr())
    agree(out, x, y)
    with pytest.raises(LaunchError, match="needs the element type T"):
        k.launch(x.data_ptr(), y.data_ptr(), out.data_ptr(), device="cpu", M=3)


def test_integers_of_one_width() -> None:
    """torch and JAX compute with signed integers; a tile of unsigned ones takes them."""

    @kernel(in_specs=(Tile(4, u32),), out_specs=(Tile(4, u32),), block=(4, 1, 1), arch="sm_90a")
    def increment(X: Any, Y: Any) -> None:
        assert X.dtype is Y.dtype is u32
        px, py = ptx.global_ptrs(X, Y)
        offset = reg.from_(ptx.special.tid.x(), u32) * 4
        value = reg.scalar(u32)
        ptx.inst.ld.global_.u32(value, ptx.addr(px + offset))
        ptx.inst.st.global_.u32(ptx.addr(py + offset), value + 1)
        ptx.ret()

    x = torch.tensor([-1, 0, 1, 2], dtype=torch.int32)
    for _ in range(2):
        out = increment(x, out=torch.empty(4, dtype=torch.int32))
        assert out.tolist() == [0, 1, 2, 3]
    assert increment(x).dtype == torch.uint32
    np.testing.assert_array_equal(increment(x.numpy()), np.array([0, 1, 2, 3], "u4"))
    for other in (torch.int64, torch.int16, torch.float32):
        with pytest.raises(ArgumentTypeError, match="expected uint32"):
            increment(x.to(other))

    @kernel(in_specs=(Tile(4, s32),), out_specs=(Tile(4, s32),), arch="sm_90a")
    def signed(X: Any, Y: Any) -> None:
        ptx.ret()

    with pytest.raises(ArgumentTypeError, match=r"uint32 \(u32\), expected int32"):
        signed(x.to(torch.uint32))


def test_a_name_is_no_spelling_of_a_type() -> None:
    assert Tile("M", dtype="f32") == Tile("M", f32)
    assert Tile("M", dtype="bfloat16") == Tile("M", bf16)
    tile = Tile("M", 4, dtype="T")
    assert (tile.dtype, tile.dtype_name, tile.type_name) == ("T", "T", "T")
    assert Tile("M", u16).type_name is None
    assert repr(tile) == "Tile('M', 4, dtype='T')"
    assert eval(repr(tile)) == tile != Tile("M", 4, dtype="R")
    assert copy.deepcopy(tile) == tile
    assert tile.matches((3, 4), "bf16")
    assert tile.matches((3, 4), "f32")
    assert not tile.matches((3, 5), "f32")
    for wrong in ("F32", "BF16", "Float 32", "T-1"):
        with pytest.raises(ValueError, match="a name for one, which begins with a capital letter"):
            Tile("M", dtype=wrong)
    with pytest.raises(ValueError, match="float99"):
        Tile("M", dtype="float99")
    with pytest.raises(TypeError, match="needs an element type"):
        Tile.wgmma_a("M", "K", "T")


@pytest.mark.parametrize(
    ("tiles", "options", "message"),
    [
        ((Tile("T", dtype="T"), Tile(4, f32)), {}, "dtype='T' of 'X' is the name of a dimension"),
        ((Tile(4, dtype="X"), Tile(4, f32)), {}, "is the name of a tensor too"),
        ((Tile(4, dtype="T"), Tile(4, f32)), {"raw_params": [("u32", "T")]}, "a raw parameter too"),
    ],
)
def test_a_name_is_one_thing(tiles: Any, options: Any, message: str) -> None:
    def body(X: Any, Y: Any) -> None:
        ptx.ret()

    with pytest.raises(Error, match=message):
        kernel(in_specs=tiles[:1], out_specs=tiles[1:], **options)(body)
