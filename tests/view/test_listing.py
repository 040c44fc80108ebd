# SPDX-License-Identifier: Apache-2.0
"""Machine code read from what nvdisasm prints: instructions, scheduling fields, live registers."""

from __future__ import annotations

import re

import pytest

from pyptx import _core, _toolchain
from pyptx._view import life, listing
from pyptx._view.control import decode, field_of
from support.viewed_kernels import build_long, build_sum_of_two

_TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
_REGISTER = re.compile(r"(?<![A-Z])R(\d+)")


def _cubin(target: str) -> bytes:
    _toolchain.announce_folders()
    text = build_sum_of_two(target).ptx()
    return bytes(_core.assemble(text, target, ["-v", "-lineinfo"])[0])


def _read(target: str) -> listing.Listing:
    text = _toolchain.run_nvdisasm(_cubin(target), "-gp", "-hex", "-c")
    assert text is not None
    return listing.read(text)


def test_fields_of_known_encodings() -> None:
    # LDC R1, c[0x0][0x28]; USHF.L.U32, which waits for what S2UR sets; a reuse of an operand.
    first = decode(field_of(0x000E220000000800))
    assert (first.stall, first.yields, first.write, first.read, first.waits) == (
        1,
        False,
        0,
        None,
        (),
    )
    assert decode(field_of(0x004FE2000800063F)).waits == (2,)
    assert str(decode(field_of(0x008FC4000800063F))) == "stall 2; yield; waits for SB3"
    assert decode(0).yields
    assert decode(field_of(0x000E220000000800) | 1 << 17).reuse == (0,)


@pytest.mark.parametrize("target", _TARGETS)
def test_a_load_is_waited_for_before_its_result_is_read(target: str) -> None:
    """The scoreboard that a load sets is the one that whoever reads its register waits for."""
    rows = _read(target).instructions
    loads = [i for i, row in enumerate(rows) if row.opcode.startswith("LDG")]
    assert len(loads) == 2
    for at in loads:
        written = _REGISTER.search(rows[at].text)
        assert written is not None
        reader = next(
            i
            for i in range(at + 1, len(rows))
            if written[1] in _REGISTER.findall(rows[i].text.partition(",")[2])
        )
        board = decode(rows[at].control).write
        assert board is not None
        assert any(board in decode(row.control).waits for row in rows[at + 1 : reader + 1])


@pytest.mark.parametrize("target", _TARGETS)
def test_instructions_come_from_their_lines_of_ptx(target: str) -> None:
    lines = build_sum_of_two(target).ptx().split("\n")
    rows = _read(target).instructions
    for start, opcode in (("LDG", "ld.global.f32"), ("STG", "st.global.f32"), ("FADD", "add.f32")):
        origins = [lines[row.ptx_line - 1] for row in rows if row.opcode.startswith(start)]
        assert origins
        assert all(opcode in line for line in origins)


def test_live_registers_hold_what_is_read() -> None:
    cubin = _cubin("sm_80")
    rows = _read("sm_80").instructions
    drawn = _toolchain.run_nvdisasm(cubin, "-c", "-lrm", "narrow")
    assert drawn is not None
    found = life.read(drawn, rows)
    for at, row in enumerate(rows):
        reads = {f"R{n}" for n in _REGISTER.findall(row.text)}
        assert reads <= set(found.live_at(at)), row.text
        counted = sum(1 for name in found.live_at(at) if re.fullmatch(r"R\d+", name))
        assert counted == found.counts["GPR"][at]
    assert max(found.counts["GPR"]) >= 4


def test_a_listing_has_no_encodings() -> None:
    k = build_sum_of_two()
    text = k.sass(raw=False)
    assert text == k.sass(raw=False)
    assert "0x" in k.sass()
    assert not re.search(r"/\*|0x[0-9a-f]{16}|`\(", text)
    lines = text.splitlines()
    assert lines[0] == "sum_of_two:"
    assert re.fullmatch(r" {4}[0-9a-f]{4}  .*\S", lines[1])
    opcodes = [row.opcode for row in _read("sm_80").instructions]
    assert [line.split("  ")[-1] for line in lines if line.startswith(" ")] == [
        row.text for row in _read("sm_80").instructions
    ]
    assert "EXIT" in opcodes


def test_labels_are_what_branches_name() -> None:
    found = listing.read(_with_loop())
    labels = {row.text.rstrip(":") for row in found.rows if row.address < 0}
    targets = {label for row in found.instructions for label in re.findall(r"\.L_x_\d+", row.text)}
    assert targets
    assert targets <= labels


def _with_loop() -> str:
    ptx = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n)\n{\n"
        ".reg .pred %p<2>;\n.reg .b32 %r<4>;\nld.param.u32 %r0, [n];\nL:\n"
        "membar.gl;\nadd.u32 %r0, %r0, -1;\nsetp.ne.u32 %p0, %r0, 0;\n@%p0 bra L;\nret;\n}\n"
    )
    _toolchain.announce_folders()
    return _toolchain.run_nvdisasm(bytes(_core.assemble(ptx, "sm_80")[0]), "-c") or ""


def test_long_functions_are_read_whole() -> None:
    _toolchain.announce_folders()
    cubin = bytes(_core.assemble(build_long(600).ptx(), "sm_80", ["-v", "-lineinfo"])[0])
    text = _toolchain.run_nvdisasm(cubin, "-gp", "-hex", "-c")
    rows = listing.read(text or "").instructions
    opcodes = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(\S+)", text or "")
    while opcodes[-1] == "NOP":  # what fills up the end
        opcodes.pop()
    assert len(rows) == len(opcodes) > 1000
    assert all(row.control >= 0 for row in rows)
    addresses = [row.address for row in rows]
    assert addresses == list(range(0, 16 * len(rows), 16))
