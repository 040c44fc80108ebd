# SPDX-License-Identifier: Apache-2.0
"""The author's lines in the text, in the cubin and in the report."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from pyptx import _toolchain, kernel, ptx, reg
from pyptx._report.costs import occupancy
from pyptx.types import f32, u32
from support.assembling import needs_assembler

HERE = __file__
needs_disassembler = pytest.mark.skipif(
    _toolchain.find_tool("nvdisasm") is None, reason="nvdisasm is not installed"
)


def helper(value: Any) -> None:
    """Be on a line of its own."""
    ptx.inst.add.f32(value, value, 1.0)  # helper's line


@kernel(arch="sm_90a", grid=(1, 1, 1), block=(256, 1, 1))
def lines(*, n: int = 2) -> None:
    a = reg.scalar(f32, init=0.0)
    out = ptx.var("global", f32, "out", size=4)
    for _ in range(n):
        helper(a)
    ptx.inst.st.global_.f32(out, a)  # the store
    ptx.ret()


def line_of(text: str, where: Any = None) -> int:
    rows, first = inspect.getsourcelines(inspect.getmodule(helper) if where is None else where)
    return next(i for i, row in enumerate(rows, max(first, 1)) if text in row)


def test_each_new_line_has_one_loc():
    text = lines.ptx()
    assert f'.file 1 "{HERE}"' in text
    located = [int(row.split()[2]) for row in text.splitlines() if row.startswith("\t.loc")]
    start = line_of("def lines(")
    assert located == [start + 1, line_of("# helper's line"), start + 5, start + 6]


def test_off_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    with_lines = lines.ptx()
    monkeypatch.setenv("PYPTX_LINEINFO", "0")
    without = lines.ptx()
    assert ".loc" not in without
    assert ".file" not in without
    kept = [r for r in with_lines.splitlines() if not r.startswith(("\t.loc", ".file"))]
    assert [r for r in kept if r] == [r for r in without.splitlines() if r]
    monkeypatch.setenv("PYPTX_LINEINFO", "1")
    assert lines.ptx() == with_lines


def test_source_map_names_every_instruction():
    text = lines.ptx(n=3).splitlines()
    found = {line.ptx_line: line for line in lines.source_map(n=3)}
    adds = [i for i, row in enumerate(text, 1) if row.startswith("\tadd.f32")]
    assert len(adds) == 3
    for number in adds:
        assert found[number].file == HERE
        assert found[number].line == line_of("# helper's line")
        assert found[number].column == 5


@needs_assembler
@needs_disassembler
def test_the_cubin_has_the_lines():
    sass = _toolchain.disassemble_with_lines(lines.cubin())
    assert sass is not None
    assert f'//## File "{HERE}", line {line_of("# the store")}' in sass


@needs_assembler
def test_report():
    report = lines.report()
    assert report.target == "sm_90a"
    assert report.registers is not None
    assert 0 < report.registers < 32
    assert report.spill_stores == report.spill_loads == report.stack == 0
    assert report.occupancy is not None
    assert report.occupancy.warps == 64
    adds = next(c for c in report.lines if c.line == line_of("# helper's line"))
    assert adds.ptx == 2
    text = str(report)
    assert "lines for sm_90a" in text
    assert f"{HERE}:{adds.line}: 2 PTX" in text


@needs_assembler
@pytest.mark.parametrize("reqntid", [None, (1024, 1, 1)])
def test_report_of_a_kernel_with_too_many_registers(reqntid: tuple[int, ...] | None):
    @kernel(arch="sm_90a", grid=(1, 1, 1), block=(1024, 1, 1), smem=100 << 10, reqntid=reqntid)
    def heavy() -> None:
        place = ptx.var("global", f32, "place", size=4096)
        values = reg.array(f32, 200)
        for i in range(200):
            ptx.inst.ld.volatile.global_.f32(values[i], ptx.addr(place, 4 * i))
        for i in range(200):
            ptx.inst.st.volatile.global_.f32(ptx.addr(place, 4 * i), values[199 - i])
        ptx.ret()

    report = heavy.report()
    assert report.dynamic_shared == 100 << 10
    assert report.occupancy is not None
    if reqntid is None:  # the assembler does not know how many threads there are
        assert report.occupancy.ctas == 0
        assert report.occupancy.limited_by == "registers"
    else:
        assert report.occupancy.ctas == 1
        assert report.spill_stores, "1024 threads leave 64 registers for 200 live values"


def test_occupancy_by_hand():
    # 90 registers: 12 granules of 256 per warp, 5 warps per partition, 20 in all: 1 CTA of 12.
    found = occupancy("sm_90a", 90, 0, 384)
    assert found is not None
    assert (found.ctas, found.warps, found.limited_by) == (1, 12, "registers")
    found = occupancy("sm_80", 32, 80 << 10, 128)
    assert found is not None
    assert (found.ctas, found.limited_by) == (2, "shared memory")
    found = occupancy("sm_90a", 16, 0, 32)
    assert found is not None
    assert (found.ctas, found.limited_by) == (32, "CTAs")
    assert occupancy("sm_999", 16, 0, 32) is None
    assert occupancy("sm_90a", None, 0, 32) is None


def test_operators_have_lines():
    """Locations follow the innermost frame outside the package, whatever emits."""

    @kernel(arch="sm_90a", grid=(1, 1, 1))
    def operators() -> None:
        x = reg.scalar(u32, init=1)
        x += 2  # the operator's line
        ptx.ret()

    wanted = line_of("# the operator's line")
    rows = {line.line for line in operators.source_map()}
    assert wanted in rows
