# SPDX-License-Identifier: Apache-2.0
"""Element types: one table says how wide they are and what frameworks call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, _core, kernel, ptx, reg, types
from pyptx._call.element_types import (
    element_bits,
    framework_name,
    nbytes,
    ptx_name,
    stored_name,
)
from support.packages import need

torch = need("torch")

ml_dtypes = need("ml_dtypes")

BYTE_TYPES = ["e4m3", "e5m2", "ue8m0", "e2m1x2", "u8", "s8", "b8", "pred"]


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("ue8m0", 8), ("e4m3", 8), ("e5m2", 8), ("ue4m3", 8),
        ("e2m1", 4), ("e2m3", 6), ("e3m2", 6), ("e2m1x2", 8),
        ("f16x2", 32), ("bf16x2", 32), ("f32x2", 64), ("u8x4", 32), ("tf32", 32),
        ("pred", 8), ("s4", 4), ("b128", 128), ("bf16", 16), ("nothing", 0),
    ],
)  # fmt: skip
def test_bits(name: str, bits: int) -> None:
    assert element_bits(name) == bits


def test_sizes_round_up() -> None:
    assert nbytes("ue8m0", (32,)) == 32
    assert nbytes("f16x2", (3, 2)) == 24
    assert [nbytes("e2m1", (n,)) for n in (0, 1, 2, 3)] == [0, 1, 1, 2]
    assert [nbytes("e2m3", (n,)) for n in (1, 4, 5)] == [1, 3, 4]


def test_every_type_has_a_width_in_memory() -> None:
    rows = _core.element_types()
    assert len({row[0] for row in rows}) == len(rows)
    for name, bits, *_ in rows:
        own = pyptx.types.from_name(name).bits
        assert bits == own or name in ("pred", "e2m1", "e2m3", "e3m2"), name


@pytest.mark.parametrize("row", [row for row in _core.element_types() if row[2]])
def test_frameworks(row: tuple[Any, ...]) -> None:
    """The widths that torch and NumPy give the same names, and back again."""
    name, bits, framework = row[:3]
    assert framework_name(name) == framework
    dtype = getattr(torch, framework)
    assert torch.empty(0, dtype=dtype).element_size() * 8 == bits
    assert ptx_name(dtype) == ptx_name(str(dtype)) == name
    if framework != "float4_e2m1fn_x2":  # torch's alone
        array = np.dtype(getattr(np, framework, None) or getattr(ml_dtypes, framework))
        assert array.itemsize * 8 == bits
        assert ptx_name(array) == name
    assert hasattr(types, name), "an element type that authors can name"


def test_arrays_for_types_that_no_framework_has() -> None:
    assert [stored_name(name) for name in ("b8", "b16", "b32", "b64")] == [
        "u8",
        "u16",
        "u32",
        "u64",
    ]
    assert stored_name("tf32") == "f32"
    assert framework_name("b32") == "uint32"
    assert framework_name("e2m1") is None
    assert stored_name("e2m1") == "e2m1"


def test_untyped_specs_take_the_width() -> None:
    assert all(_core.accepts("b8", name) for name in BYTE_TYPES)
    assert not any(_core.accepts("b8", name) for name in ("e2m1", "e2m3", "f16", "b16"))


def copy_bytes(x: Any, y: Any) -> None:
    source, target = ptx.global_ptrs(x, y)
    at = reg.from_(ptx.special.tid.x(), types.u32)
    byte = reg.scalar(types.u8)
    ptx.inst.ld.global_.u8(byte, ptx.addr(source + at))
    ptx.inst.st.global_.u8(ptx.addr(target + at), byte)
    ptx.ret()


def copying(given: Tile, made: Tile) -> Any:
    return kernel(
        copy_bytes, in_specs=(given,), out_specs=(made,), grid=(1, 1, 1), block=(32, 1, 1)
    )


@pytest.mark.parametrize(
    "name", ["float8_e8m0fnu", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn_x2"]
)
def test_a_kernel_on_torch_tensors(name: str) -> None:
    dtype = getattr(torch, name)
    spec = Tile(32, dtype=ptx_name(dtype))
    copy = copying(spec, spec)
    x = torch.arange(32, dtype=torch.uint8).view(dtype)
    for _ in range(3):  # the entry in C has learnt it then
        y = copy(x)
        assert y.dtype == dtype
        assert y.view(torch.uint8).tolist() == list(range(32))


def test_a_kernel_on_arrays_of_scales() -> None:
    spec = Tile(32, types.ue8m0)
    copy = copying(spec, spec)
    x = np.arange(32, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu)
    y = copy(x)
    assert y.dtype == x.dtype
    assert y.view(np.uint8).tolist() == list(range(32))


def test_what_numpy_does_not_have() -> None:
    spec = Tile(32, types.e2m1x2)
    copy = copying(Tile(32, types.u8), spec)
    with pytest.raises(pyptx.LaunchError, match="NumPy has no arrays of e2m1x2"):
        copy(np.arange(32, dtype=np.uint8))


def test_no_tensor_map_of_elements_below_a_byte() -> None:
    with pytest.raises(ValueError, match="a tensor map has no elements of type e2m1"):
        _core.TensorMap("e2m1", [64], [], [32], "none")
    for name in BYTE_TYPES:
        _core.TensorMap(name, [64], [], [32], "none")


def test_a_kernel_on_jax_arrays() -> None:
    jax = need("jax")
    spec = Tile(32, types.ue8m0)
    x = jax.numpy.asarray(np.arange(32, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu))
    y = jax.jit(copying(spec, spec))(x)
    assert y.dtype == x.dtype
    assert np.asarray(y).view(np.uint8).tolist() == list(range(32))
    with pytest.raises(pyptx.LaunchError, match="JAX has no arrays of e2m1x2"):
        copying(spec, Tile(32, types.e2m1x2))(x)
