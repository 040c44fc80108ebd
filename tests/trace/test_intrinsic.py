# SPDX-License-Identifier: Apache-2.0
"""Named groups of instructions: in the text, and in errors."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import VerifyError, intrinsic, kernel, ptx, reg
from pyptx.types import f32, u32


@intrinsic
def square(x: Any) -> Any:
    """Multiply by itself."""
    ptx.inst.mul.f32(x, x, x)
    return x


@intrinsic(name="fourth power")
def fourth(x: Any) -> Any:
    """Nest."""
    return square(square(x))


@kernel(arch="sm_90a", grid=(1, 1, 1))
def uses(*, wrong: bool = False) -> None:
    x = reg.scalar(u32 if wrong else f32)
    fourth(x)
    ptx.ret()


def test_the_names_are_in_the_text():
    rows = [row.strip() for row in uses.ptx().splitlines()]
    begin = rows.index("// begin fourth power")
    assert [row for row in rows[begin:] if not row.startswith(".loc")][:8] == [
        "// begin fourth power",
        "// begin square",
        "mul.f32 %f0, %f0, %f0;",
        "// end square",
        "// begin square",
        "mul.f32 %f0, %f0, %f0;",
        "// end square",
        "// end fourth power",
    ]


def test_an_error_tells_the_expansions_from_the_inside_out():
    with pytest.raises(VerifyError) as caught:
        uses.ptx(wrong=True)
    assert "ptx.inst.mul.f32(x, x, x)" in str(caught.value)
    notes = [note for note in caught.value.diagnostics[0].notes if "expansion" in note]
    assert [note.split(",")[0] for note in notes] == [
        "in expansion of square",
        "in expansion of fourth power",
    ]
    assert all(__file__ in note for note in notes)


def test_it_keeps_name_documentation_and_result():
    assert square.__name__ == "square"
    assert square.__doc__ == "Multiply by itself."


def test_a_name_of_two_lines_stays_a_comment():
    @intrinsic(name="two\nlines")
    def group() -> None:
        ptx.inst.membar.cta()

    @kernel(arch="sm_90a", grid=(1, 1, 1))
    def k() -> None:
        group()
        ptx.ret()

    assert "// begin two\n\t// lines\n" in k.ptx()
