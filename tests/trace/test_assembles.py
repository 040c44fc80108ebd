# SPDX-License-Identifier: Apache-2.0
"""Every sample kernel assembles, portable ones for every generation of targets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.assembling import assemble
from support.example_modules import example
from support.sample_kernels import (
    build_my_backward,
    build_my_forward,
    build_rms_norm,
    build_scale,
    build_vector_add,
)

vector_add = example("vector_add").vector_add

HOPPER: dict[str, Callable[[], str]] = {
    "scale": lambda: build_scale(2.5).ptx(),
    "my_forward": lambda: build_my_forward(4, 64).ptx(),
    "my_backward": lambda: build_my_backward(4, 64).ptx(),
    "vector_add_v4": lambda: vector_add.ptx(N=1000),
    "vector_add_v2": lambda: vector_add.ptx(N=1000, VEC=2),
}

PORTABLE: dict[str, Callable[[str], str]] = {
    "vector_add": lambda arch: build_vector_add(arch=arch).ptx(N=1000),
    "rms_norm": lambda arch: build_rms_norm(16, 512, arch=arch).ptx(),
}


@pytest.mark.parametrize("name", HOPPER)
def test_hopper_kernels(name: str, tmp_path: Path) -> None:
    assemble(HOPPER[name](), "sm_90a", tmp_path)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
@pytest.mark.parametrize("name", PORTABLE)
def test_portable_kernels(name: str, target: str, tmp_path: Path) -> None:
    text = assemble(PORTABLE[name](target), target, tmp_path)
    assert f".target {target}" in text
