# SPDX-License-Identifier: Apache-2.0
"""After the first call, control passes from Python to C++ once and comes back once.

What docs/design/0002 walks through. No function of the package runs in a call of a kernel, in a
jitted program or in an instruction; `pyptx.verify` is one function that makes one call.
"""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest
import torch

import pyptx
from pyptx import LaunchError, Tile, _core, kernel, ptx, reg
from pyptx._call.element_types import ptx_name
from pyptx.types import f32, from_name, u32

PACKAGE = str(Path(pyptx.__file__).parent)


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (-(-N // 32), 1, 1),
    block=(32, 1, 1),
)
def add(X, Y, Z):
    px, py, pz = ptx.global_ptrs(X, Y, Z)
    i = reg.from_(ptx.special.ctaid.x(), u32) * 32 + ptx.special.tid.x()
    with ptx.if_(i < X.shape[0]):
        x, y = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(x, ptx.addr(px + i * 4))
        ptx.inst.ld.global_.f32(y, ptx.addr(py + i * 4))
        ptx.inst.add.f32(x, x, y)
        ptx.inst.st.global_.f32(ptx.addr(pz + i * 4), x)
    ptx.ret()


def copies(dtype: str):
    """A kernel that copies as many bytes as an element has."""
    size = np.dtype(dtype).itemsize
    kind = from_name(ptx_name(np.dtype(dtype)))

    @kernel(
        in_specs=(Tile("N", kind),),
        out_specs=(Tile("N", kind),),
        grid=lambda N: (N, 1, 1),
    )
    def copy(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        i = reg.from_(ptx.special.ctaid.x(), u32)
        for byte in range(size):
            value = reg.scalar(u32)
            ptx.inst.ld.global_.u8(value, ptx.addr(px + i * size, byte))
            ptx.inst.st.global_.u8(ptx.addr(py + i * size, byte), value)
        ptx.ret()

    return copy


def frames_of(call) -> list[str]:
    """Functions of the package that run while `call` does, from its third time on."""
    call()
    call()
    seen: list[str] = []

    def profile(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            name = frame.f_code.co_qualname
            # A border is what a public function is behind (pyptx/_public.py).
            if not name.endswith("<locals>.border"):
                seen.append(name)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def test_a_call_on_tensors_runs_no_python():
    x, y, z = torch.randn(3, 100)
    assert torch.equal(add(x, y), x + y)
    assert frames_of(lambda: add(x, y)) == []
    assert frames_of(lambda: add(x, y, out=z)) == []


@pytest.mark.parametrize("dtype", ["f4", "f2", "f8", "i1", "u2", "i4", "u8"])
def test_a_call_on_numpy_arrays_runs_no_python(dtype):
    k = copies(dtype)
    x = np.arange(100).astype(dtype)
    assert frames_of(lambda: k(x)) == []
    given = np.zeros_like(x)
    assert frames_of(lambda: k(x, out=given)) == []
    for result in (k(x), given):
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result, x)


def test_what_numpy_arrays_are_is_looked_at_in_every_call():
    k = copies("f4")
    x, small = np.ones(100, "f4"), np.ones(99, "f4")
    for _ in range(3):
        k(x)
    with pytest.raises(LaunchError, match="strides"):
        k(np.ones(200, "f4")[::2])
    with pytest.raises(LaunchError, match="dtype"):
        k(np.ones(100, "i4"))
    with pytest.raises(LaunchError, match="other order"):
        k(x.astype(">f4"))
    frozen = np.ones(100, "f4")
    frozen.setflags(write=False)
    np.testing.assert_array_equal(k(frozen), x)  # an input is only read
    with pytest.raises(LaunchError, match="read-only"):
        k(x, out=frozen)
    assert frozen.flags.writeable is False
    assert (frozen == 1).all()
    assert k(small).shape == (99,)
    k(x)
    x.resize((400,))  # nothing holds its memory any longer
    assert k(x).shape == (400,)


def test_a_jitted_call_runs_no_python():
    with jax.default_device(jax.devices("cpu")[0]):
        x = jax.numpy.arange(100, dtype="float32")
        run = jax.jit(lambda x, y: add(x, y))
        assert np.array_equal(run(x, x), np.arange(100) * 2.0)
        assert frames_of(lambda: run(x, x).block_until_ready()) == []


def test_an_instruction_runs_no_python():
    seen = []

    @kernel(block=(32, 1, 1))
    def body():
        x, y = reg.scalar(f32), reg.scalar(f32)
        seen.append(frames_of(lambda: ptx.inst.add.rn.f32(x, x, y)))
        seen.append(frames_of(lambda: x + y))

    assert body.ptx().count("add.") == 6
    assert seen == [[], []]


def test_verify_is_one_call(monkeypatch):
    text = add.ptx(N=100)
    calls = []
    for name in [name for name in vars(_core) if callable(getattr(_core, name))]:
        function = getattr(_core, name)
        if isinstance(function, type):
            continue
        monkeypatch.setattr(
            _core, name, lambda *a, _f=function, _n=name: (calls.append(_n), _f(*a))[1]
        )
    assert frames_of(lambda: pyptx.verify(text)) == ["verify"]
    assert calls == ["verify_text"] * 3


def test_a_frame_of_the_package_is_seen():
    assert frames_of(lambda: add.ptx(N=100))[0] == "Kernel.ptx"
