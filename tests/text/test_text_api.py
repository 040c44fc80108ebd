# SPDX-License-Identifier: Apache-2.0
"""`pyptx.parse`, `pyptx.verify`, `pyptx.parser`, `pyptx.emitter`."""

from __future__ import annotations

import pytest

import pyptx
from pyptx import emitter, kernel, parser, ptx, reg
from pyptx.types import f32, u32

TEXT = (
    "// kept\r\n.version 8.0\n.target sm_90a\n.address_size 64\n\n"
    ".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n  mov.u32  %r1, 0x10 ;\n\tret;\n}"
)


def test_parsing_and_emitting_give_the_text_back() -> None:
    module = pyptx.parse(TEXT)
    assert module.text == TEXT
    assert emitter.emit(parser.parse(TEXT)) == TEXT
    assert (module.target, module.version, module.entry) == ("sm_90a", (8, 0), "k")
    assert module.instruction_count == 2
    assert "\tmov.u32 %r1, 16;\n" in module.format()


def test_a_syntax_error_is_raised_with_every_finding() -> None:
    with pytest.raises(pyptx.PtxSyntaxError) as caught:
        pyptx.parse(TEXT.replace("mov.u32", "mov.u32 %").replace("ret;", "ret"), "my.ptx")
    assert caught.value.diagnostics
    assert all(one.file == "my.ptx" for one in caught.value.diagnostics)


def test_verify_raises_nothing_and_tells_everything() -> None:
    assert pyptx.verify(TEXT) == []
    (wrong,) = pyptx.verify(TEXT.replace("mov.u32", "mov.u33"))
    assert (wrong.code, wrong.severity, wrong.line) == ("PTX0202", "error", 9)
    assert wrong.column == 6
    assert wrong.manual
    assert wrong.fixits
    assert "^^^" in str(wrong)
    assert pyptx.verify("garbage")[0].severity == "error"


def test_a_module_is_verified_like_its_text() -> None:
    module = pyptx.parse(
        TEXT.replace("sm_90a", "sm_80").replace("ret;", "wgmma.fence.sync.aligned;")
    )
    assert [one.code for one in pyptx.verify(module)] == ["PTX0302"]


def test_lints_are_a_choice() -> None:
    text = TEXT.replace(".b32 %r<2>", ".f32 %r<2>").replace(
        "mov.u32  %r1, 0x10", "mov.f32 %r1, 0f3F800000; add.f32.rn %r1, %r1, %r1"
    )
    assert [one.severity for one in pyptx.verify(text)] == []
    assert [one.severity for one in pyptx.verify(text, lint=True)] == ["lint"]


def test_a_kernel_is_verified_with_its_dimensions() -> None:
    @kernel(arch="sm_90a", block=(32, 1, 1), grid=(1, 1, 1))
    def good() -> None:
        x = reg.scalar(f32, 1.0)
        ptx.inst.add.f32(x, x, x)
        ptx.ret()

    @kernel(arch="sm_90a", block=(32, 1, 1), grid=(1, 1, 1))
    def bad() -> None:
        x = reg.scalar(u32, 1)
        ptx.inst.add.f32(x, x, x)
        ptx.ret()

    assert [one for one in pyptx.verify(good) if one.severity == "error"] == []
    assert [one.code for one in pyptx.verify(bad)] == ["PTX0206"]


def test_what_cannot_be_verified_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="not int"):
        pyptx.verify(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'N'"):
        pyptx.verify(TEXT, N=3)
