# SPDX-License-Identifier: Apache-2.0
"""Kernels without outputs, which write their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx import Tile, kernel, ptx, reg
from pyptx._errors import LaunchError
from pyptx.types import f32, u32
from support.packages import need

torch = need("torch")

cuda = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
)


@kernel(in_specs=(Tile("N", f32),), out_specs=(), grid=lambda N: (N, 1, 1), block=(1, 1, 1))
def increment(X: Any) -> None:
    (px,) = ptx.global_ptrs(X)
    place = ptx.addr(px + reg.from_(ptx.special.ctaid.x(), u32) * 4)
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, place)
    ptx.inst.add.f32(value, value, 1.0)
    ptx.inst.st.global_.f32(place, value)
    ptx.ret()


@pytest.mark.parametrize("device", ["cpu", cuda])
def test_a_kernel_without_outputs_writes_its_inputs(device: str) -> None:
    def twice(x: Any) -> Any:
        increment(x)
        increment(x)
        return x + 0

    for run in (twice, torch.compile(twice, fullgraph=True, backend="aot_eager")):
        x = torch.zeros(3, device=device)
        assert run(x).tolist() == x.tolist() == [2, 2, 2]
        saved = torch.ones(3, device=device)
        product = saved * torch.ones(3, device=device, requires_grad=True)
        run(saved)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()
    bound = increment.bind(torch.zeros(3, device=device))
    before = x._version
    bound(x)
    assert x.tolist() == [3, 3, 3]
    assert x._version == before + 1
    increment.launch(x)
    assert x.tolist() == [4, 4, 4]
    assert x._version == before + 2
    if device == "cpu":
        increment.emulate(x)
        assert x.tolist() == [5, 5, 5]
        assert x._version == before + 3


def test_what_a_kernel_without_outputs_cannot_write_is_refused() -> None:
    leaf = torch.zeros(3, requires_grad=True)
    for call in (increment, increment.emulate):
        with pytest.raises(LaunchError, match="without outputs it keeps no record for gradients"):
            call(leaf)
    with pytest.raises(Exception, match=r"."):  # in Dynamo's words, which differ
        torch.compile(increment, backend="aot_eager")(leaf)
    for call in (increment, increment.emulate):  # what is negated could only be copied
        with pytest.raises(LaunchError, match="'X' is a negated or conjugated view"):
            call(torch._neg_view(torch.zeros(3)))
    with pytest.raises(LaunchError, match=r"'increment' has no outputs; torch\.vmap"):
        torch.vmap(increment)(torch.zeros(2, 3))
    array = np.zeros(3, dtype=np.float32)
    array.setflags(write=False)
    for call in (increment, increment.launch, increment.bind(np.zeros(3, dtype=np.float32))):
        with pytest.raises(LaunchError, match=r"input\[0\] is read-only"):
            call(array)
    assert leaf.tolist() == array.tolist() == [0, 0, 0]
    jnp = need("jax.numpy")
    with pytest.raises(LaunchError, match="a JAX array is never written in place"):
        increment(jnp.zeros(3))
