# SPDX-License-Identifier: Apache-2.0
"""Bodies that must be refused: a clear message, the right class, at the author's line."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import _core, kernel, ptx, reg
from pyptx._errors import Error, TargetError, VerifyError
from pyptx.types import f32, u32, u64
from support import sample_kernels


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
