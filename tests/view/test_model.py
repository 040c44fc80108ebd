# SPDX-License-Identifier: Apache-2.0
"""What a page shows: the links between source, PTX and machine code, counters, findings, gaps."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyptx
from pyptx import Tile, _toolchain, kernel, ptx, reg, smem
from pyptx._view import assembled
from pyptx._view.view import view_of_text
from pyptx.types import f32, u32
from support import viewed_kernels
from support.tree import ROOT
from support.viewed_kernels import build_sum_of_two, gemm_view, sum_view

BARE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry bare(.param .u64 p)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd0, [p];
	mov.u32 %r0, %tid.x;
	st.global.u32 [%rd0], %r0;
	ret;
}
"""


def _row(data: dict[str, Any], pane: str, text: str) -> int:
    (row,) = [i for i, line in enumerate(data[pane]["lines"]) if text in line]
    return row


def _chain(data: dict[str, Any], row: int) -> list[int]:
    chain = data["ptx"]["chain"][row]
    return [] if chain < 0 else data["ptx"]["chains"][chain]


def test_a_helpers_instruction_belongs_to_its_line_and_to_its_callers() -> None:
    data = sum_view().data
    inside = _row(data, "source", "# the helper's line")
    calls = [_row(data, "source", f"# {which} call") for which in ("first", "second")]
    loads = [i for i, line in enumerate(data["ptx"]["lines"]) if "ld.global.f32" in line]
    assert [_chain(data, row) for row in loads] == [[inside, calls[0]], [inside, calls[1]]]
    stores = [i for i, line in enumerate(data["ptx"]["lines"]) if "st.global.f32" in line]
    assert [_chain(data, row) for row in stores] == [[_row(data, "source", "# the sum's line")]]


def test_machine_code_is_linked_to_the_ptx() -> None:
    data = sum_view().data
    lines, sass = data["ptx"]["lines"], data["sass"]
    for start, word in (("LDG", "ld.global.f32"), ("FADD", "add.f32"), ("STG", "st.global.f32")):
        rows = [i for i, text in enumerate(sass["lines"]) if text.startswith(start)]
        assert rows
        assert all(word in lines[sass["ptx"][row]] for row in rows)
    assert all(
        control >= 0
        for control, at in zip(sass["control"], sass["address"], strict=True)
        if at >= 0
    )


def test_counters_are_those_of_the_run() -> None:
    ones = np.ones(64, np.float32)
    _, report = build_sum_of_two().emulate(ones, ones, report=True)
    data = sum_view().data
    titles = [title for title, _ in data["heat"]["metrics"]]
    by_row = {row: dict(zip(titles, values, strict=True)) for row, *values in data["heat"]["ptx"]}
    loads = [i for i, line in enumerate(data["ptx"]["lines"]) if "ld.global.f32" in line]
    assert [by_row[row]["sectors"] for row in loads] == [8, 8]  # 32 lanes of 4 bytes, 2 CTAs
    assert [by_row[row]["bytes"] for row in loads] == [256, 256]
    assert sum(one["executed"] for one in by_row.values()) == report.total.executed
    assert data["heat"]["totals"][titles.index("sectors")] == report.total.sectors


def test_ptx_lines_know_the_table_and_what_is_live() -> None:
    ptx_pane = sum_view().data["ptx"]
    row = next(i for i, line in enumerate(ptx_pane["lines"]) if "\tadd.f32" in line)
    spelling, text = ptx_pane["help"][ptx_pane["op"][row]]
    assert spelling == "add.f32"
    assert "see: PTX ISA" in text
    # Behind the last load: two values, and the address of the result with what makes it.
    assert ptx_pane["live"][row] >= 3
    assert ptx_pane["live"][_row(sum_view().data, "ptx", "\tret;")] == 0


def test_the_same_kernel_gives_the_same_page() -> None:
    ones = np.ones(64, np.float32)
    assert build_sum_of_two().view(ones, ones).html == sum_view().html


def test_findings_of_a_run_stand_on_their_lines() -> None:
    @kernel(
        in_specs=(Tile(64, f32),),
        out_specs=(Tile(64, f32),),
        grid=(1,),
        block=(64, 1, 1),
        arch="sm_80",
    )
    def racy(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        tile = smem.alloc(f32, (64,))
        index = _tid()
        x = viewed_kernels.load(px + index * 4)
        tile[index] = x
        ptx.bar.sync(0)
        tile[index] = x  # with no barrier before the next line
        other = tile[index ^ 32]
        ptx.inst.st.global_.f32(ptx.addr(py + index * 4), other)
        ptx.ret()

    data = racy.view(np.ones(64, np.float32)).data
    (finding,) = [one for one in data["findings"] if one["severity"] == "error"]
    assert finding["code"] == "PTX0920", finding["text"]
    assert [data["source"]["lines"][row].strip() for row in finding["source"]] == [
        "tile[index] = x  # with no barrier before the next line",
        "other = tile[index ^ 32]",
    ]
    assert any("does not look for races" in notice for notice in data["notices"])
    assert data["heat"] is not None


def _tid() -> Any:
    return reg.from_(ptx.special.tid.x(), u32)


# --- what is missing ----------------------------------------------------------------------------


def test_without_lines_the_rest_is_shown() -> None:
    data = view_of_text(BARE).data
    assert data["title"] == "bare"
    assert data["source"]["lines"] == []
    assert data["notices"][0].startswith("No source: the PTX has no .loc lines")
    store = _row(data, "ptx", "st.global.u32")
    assert store in data["sass"]["ptx"]
    assert data["facts"][0][0] == "registers"


def test_without_a_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _toolchain.find_tool
    monkeypatch.setattr(
        _toolchain, "find_tool", lambda name: None if name == "nvdisasm" else found(name)
    )
    data = build_sum_of_two().view().data
    assert data["sass"]["lines"] == []
    (notice,) = data["notices"]
    assert "nvdisasm" in notice
    assert "pip install nvidia-cuda-nvdisasm" in notice or "nvidia-cuda-cuobjdump" in notice
    assert data["facts"][0][0] == "registers"
    assert any(chain >= 0 for chain in data["ptx"]["chain"])


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_toolchain, "missing_assembler", lambda: "there is none")
    data = build_sum_of_two().view().data
    assert data["notices"] == ["No machine code: there is none"]
    assert data["compiler"] == ""
    assert len(data["ptx"]["lines"]) > 20


def test_what_does_not_assemble_is_shown_with_the_reason() -> None:
    text = BARE.replace("mov.u32 %r0, %tid.x;", "movv.u32 %r0, %tid.x;")
    data = view_of_text(text, "wrong.ptx").data
    assert data["sass"]["lines"] == []
    assert any("the assembler refused" in notice for notice in data["notices"])
    line = _row(data, "ptx", "movv")
    ours = [one for one in data["findings"] if one["code"] == "PTX0201"]
    assert [one["ptx"] for one in ours] == [[line]]
    (theirs,) = [one for one in data["findings"] if one["code"] == "PTX0602"]
    assert theirs["ptx"] == [line]


def test_a_text_that_is_no_ptx_is_shown() -> None:
    data = view_of_text("hello\n</script>\n", "no.ptx").data
    assert data["ptx"]["lines"] == ["hello", "</script>"]
    assert data["findings"]


def test_a_source_that_is_not_here(tmp_path: Path) -> None:
    text = BARE.replace("\tmov.u32", "\t.loc 1 7 3\n\tmov.u32").replace(
        ".visible", '.file 1 "nowhere/else.cu"\n.visible'
    )
    data = view_of_text(text, str(tmp_path / "k.ptx")).data
    assert data["notices"] == ["The source nowhere/else.cu cannot be read here."]
    assert data["source"]["numbers"] == [0, 7]


def test_spills_and_advice_are_on_their_lines() -> None:
    log = (
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized due to insufficient register resources in function 'k'\n"
        "ptxas /tmp/k.ptx, line 12; warning : something about it\n"
        "ptxas info    : Used 90 registers, used 1 barriers\nptxas info    : 0 bytes gmem\n"
    )
    first, second = assembled.advice_of(log)
    assert "serialized" in first.text
    assert (first.ptx_line, second.ptx_line) == (0, 12)
    spilling = _spilling_kernel().view().data
    (finding,) = [one for one in spilling["findings"] if "spilled" in one["title"]]
    assert finding["severity"] == "advice"
    spills = [spilling["sass"]["lines"][row] for row in finding["sass"]]
    assert {re.split(r"[. ]", line)[0] for line in spills} == {"STL", "LDL"}


def _spilling_kernel() -> Any:
    """More values at once than a thread of so large a CTA has registers for."""

    @kernel(
        in_specs=(Tile(4096, f32),),
        out_specs=(Tile(1024, f32),),
        grid=(1,),
        block=(1024, 1, 1),
        arch="sm_80",
        reqntid=(1024, 1, 1),
    )
    def spilling(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        at = _tid() * 4
        values = [viewed_kernels.load(px + at + 4 * i) for i in range(96)]
        for step in range(2):
            for i in range(96):
                ptx.inst.fma.rn.f32(
                    values[i],
                    values[(i * 37 + 11 + step) % 96],
                    values[i],
                    values[(i * 5 + 3) % 96],
                )
        for value in values[1:]:
            ptx.inst.add.f32(values[0], values[0], value)
        ptx.inst.st.global_.f32(ptx.addr(py + at), values[0])
        ptx.ret()

    return spilling


# --- C++ ----------------------------------------------------------------------------------------


def test_cpp_is_shown_through_its_lines(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        "__device__ int twice(int a) {\n  return a * 2;\n}\n\nvoid k() {\n  twice(1);\n}\n"
    )
    text = (
        BARE.replace(".visible", '.file 1 "k.cu"\n.visible')
        .replace("\tmov.u32", "\t.loc 1 6 3\n\tmov.u32")
        .replace(
            "\tst.global", "\t.loc 1 2 10, function_name $L__name, inlined_at 1 6 3\n\tst.global"
        )
    )
    text += ".section .debug_str\n{\n$L__name:\n.b8 116\n.b8 0\n}\n"
    data = view_of_text(text, str(tmp_path / "k.ptx")).data
    lines = data["source"]["lines"]
    store = _row(data, "ptx", "st.global.u32")
    assert [lines[row] for row in _chain(data, store)] == ["  return a * 2;", "  twice(1);"]
    assert [lines[row] for row in _chain(data, _row(data, "ptx", "mov.u32"))] == ["  twice(1);"]
    assert data["notices"] == []
    assert store in data["sass"]["ptx"]


def test_kernels_written_in_cpp_have_their_source() -> None:
    program = ROOT / "build" / "release" / "examples" / "cpp" / "rms_norm"
    text = subprocess.run(
        [program, "--ptx", "4", "256"], check=True, capture_output=True, text=True
    ).stdout
    data = view_of_text(text, "rms_norm.ptx", folders=[ROOT]).data
    assert data["notices"] == []
    row = next(i for i, line in enumerate(data["ptx"]["lines"]) if "fma.rn.f32" in line)
    (source,) = _chain(data, row)
    assert "fma.rn.f32" in data["source"]["lines"][source]


def test_a_matrix_kernel_has_everything() -> None:
    data = gemm_view().data
    assert data["notices"] == []
    assert pyptx.parse("\n".join(data["ptx"]["lines"])).entry == "gemm"
    wgmma = [i for i, line in enumerate(data["ptx"]["lines"]) if "wgmma.mma_async" in line]
    chains = [[data["source"]["numbers"][row] for row in _chain(data, row)] for row in wgmma]
    assert all(len(chain) == 3 for chain in chains)  # consume, multiply_and_store, gemm
    assert any(line.startswith("HGMMA") for line in data["sass"]["lines"])
    assert {track["barrier"] for track in data["timeline"]["tracks"]} == {True, False}
