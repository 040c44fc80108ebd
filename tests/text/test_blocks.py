# SPDX-License-Identifier: Apache-2.0
"""What instructions read and write, and the control-flow graph, from Python."""

from __future__ import annotations

import pyptx

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
TEXT = (
    HEAD
    + """\
.visible .entry sum(.param .u64 out)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd0, [out];
	mov.u32 %r0, 0;
LOOP:
	add.u32 %r0, %r0, 1;
	setp.lt.u32 %p0|%p1, %r0, 8;
	@%p0 bra LOOP;
	@!%p1 st.global.v2.u32 [%rd0], {%r0, %r0};
	ret;
	trap;
}
"""
)


def instruction(text: str) -> pyptx.parser.Instruction:
    (function,) = pyptx.parse(TEXT).functions
    (found,) = (one for one in function.instructions if one.text == text)
    return found


def test_reads_and_writes() -> None:
    compare = instruction("setp.lt.u32 %p0|%p1, %r0, 8;")
    assert (compare.writes, compare.reads, compare.effect) == (("%p0", "%p1"), ("%r0",), "none")
    store = instruction("@!%p1 st.global.v2.u32 [%rd0], {%r0, %r0};")
    assert (store.writes, store.reads, store.effect) == ((), ("%p1", "%rd0", "%r0"), "acts")
    load = instruction("ld.param.u64 %rd0, [out];")
    assert (load.writes, load.reads, load.effect) == (("%rd0",), (), "reads")


def test_blocks() -> None:
    (function,) = pyptx.parse(TEXT).functions
    first, loop, after, never = function.blocks
    assert function.has_all_edges
    assert [block.number for block in function.blocks] == [0, 1, 2, 3]
    assert repr(loop) == "<Block 1: 3 instructions>"
    assert [one.opcode for one in loop.instructions] == ["add", "setp", "bra"]
    assert (first.successors, first.live, first.dominator) == ((1,), (), None)
    assert (set(loop.successors), loop.predecessors) == ({1, 2}, (0, 1))
    assert (set(loop.live), loop.dominator) == ({"%r0", "%rd0"}, 0)
    assert (after.successors, after.leaves, after.is_reachable) == ((), True, True)
    assert (never.is_reachable, never.dominator, never.predecessors) == (False, None, ())


def test_what_nobody_can_read() -> None:
    """A graph that may lack edges says so; every register counts as live."""
    text = TEXT.replace("add.u32 %r0, %r0, 1;", "frobnicate.u32 %r0;")
    (function,) = pyptx.parse(text).functions
    assert not function.has_all_edges
    strange = function.blocks[1].instructions[0]
    assert (strange.reads, strange.writes, strange.effect) == (None, None, "acts")
    assert "%p0" in function.blocks[0].live
    (declared,) = pyptx.parse(HEAD + ".extern .func f();\n").functions
    assert declared.blocks == ()


def test_blocks_keep_their_module() -> None:
    blocks = pyptx.parse(TEXT).functions[0].blocks
    assert blocks[1].instructions[0].text == "add.u32 %r0, %r0, 1;"
