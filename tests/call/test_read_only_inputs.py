# SPDX-License-Identifier: Apache-2.0
"""Inputs are read-only while a kernel is emulated, whoever owns their memory."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import EmulatorError, Tile, kernel, ptx, reg
from pyptx.types import f32, u32
from support.packages import need

N = 32


def adding(*, also_to_input: bool) -> Any:
    """Return a kernel that adds one to every element of its input."""

    @kernel(in_specs=(Tile(N, f32),), out_specs=(Tile(N, f32),), grid=(1, 1, 1), block=(N, 1, 1))
    def added(X: Any, Y: Any) -> None:
        px, py = ptx.global_ptrs(X, Y)
        lane = reg.from_(ptx.special.tid.x(), u32)
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(px + lane * 4))
        ptx.inst.add.f32(value, value, 1.0)
        ptx.inst.st.global_.f32(ptx.addr(py + lane * 4), value)
        if also_to_input:
            ptx.inst.st.global_.f32(ptx.addr(px + lane * 4), value)
        ptx.ret()

    return added


careful = adding(also_to_input=False)
careless = adding(also_to_input=True)


def refused() -> Any:
    return pytest.raises(EmulatorError, match="PTX0906")


def saved(path: Path) -> Any:
    careless.save(path, np.zeros(N, np.float32))
    return pyptx.load(path)


def test_numpy_arrays(tmp_path: Path) -> None:
    x = np.zeros(N, np.float32)
    for call in (
        lambda: careless(x),
        lambda: careless.emulate(x),
        lambda: careless.bind(x)(x),
        lambda: careless.launch(x, np.empty_like(x)),
        lambda: saved(tmp_path / "careless.k")(x),
    ):
        with refused():
            call()
        assert not x.any()


def test_bytes_do_not_change() -> None:
    text = bytes(4 * N)
    with refused():
        careless(np.frombuffer(text, np.float32))
    assert text == bytes(4 * N)


def test_a_map_of_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(bytes(4 * N))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        x = np.frombuffer(view, np.float32)
        assert (careful(x) == 1).all()
        with refused():
            careless(x)
        del x
    assert path.read_bytes() == bytes(4 * N)


def test_an_input_that_is_the_output() -> None:
    x = np.zeros(N, np.float32)
    careful(x, out=x)
    assert (x == 1).all()
    careless(x, out=x)
    assert (x == 2).all()


def test_torch_tensors() -> None:
    torch = need("torch")
    x = torch.zeros(N)
    for call in (
        lambda: careless(x),
        lambda: careless(x),  # the second time by the C entry
        lambda: careless.emulate(x),
        lambda: careless.bind(x)(x),
        lambda: careless.launch(x, torch.empty_like(x)),
        lambda: torch.compile(lambda y: careless(y), backend="aot_eager")(x),
    ):
        with pytest.raises(Exception, match="PTX0906"):
            call()
        assert not x.any()
    careful(x, out=x)
    careful(x, out=x)
    assert (x == 2).all()


def test_jax_arrays() -> None:
    jax = need("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        x = jax.numpy.zeros(N, jax.numpy.float32)
        for call in (lambda: careless(x), lambda: jax.jit(careless)(x)):
            with pytest.raises(Exception, match="PTX0906"):
                jax.block_until_ready(call())
        assert not np.asarray(x).any()
