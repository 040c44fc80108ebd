# SPDX-License-Identifier: Apache-2.0
"""A module is walked, edited and printed; what cannot be read is a part of it."""

from __future__ import annotations

import pytest

import pyptx
from pyptx import kernel, ptx, reg
from pyptx.types import u32

TEXT = """\
.version 8.7
.target sm_90a, texmode_independent
.address_size 64

// scales
.global .align 16 .v2 .f32 table[8];
.extern .func (.param .b32 r) helper(.param .b64 x);
.visible .entry scale(
\t.param .u64 .ptr .global out, .param .b8 blob[12]
)
.maxntid 128, 1, 1
.pragma "nounroll";
{
\t.reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
\t.shared .b8 tile[64];
\tld.param.u64 %rd1, [out]; // the pointer
LOOP:
\t@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];
\tadd.f32 %f1, %f1, 0f3F800000;
\tmov.u32 %r1, %tid.x;
\tbra LOOP;
}
"""


def test_the_outermost_level() -> None:
    module = pyptx.parse(TEXT, "scale.ptx")
    assert (module.version, module.target, module.entry) == ((8, 7), "sm_90a", "scale")
    assert isinstance(module.directives, tuple)
    assert [part.kind for part in module.parts] == [
        "header", "comment", "variable", "function", "function"
    ]  # fmt: skip
    assert [part.kind for part in module.directives] == [
        "header", "variable", "function", "function"
    ]  # fmt: skip
    assert [one.name for one in module.functions] == ["helper", "scale"]
    assert [one.name for one in module.entries] == ["scale"]
    assert repr(module) == (
        "<Module .version 8.7, .target sm_90a, .entry scale: 2 functions, 5 instructions>"
    )
    table = module.directives[1]
    assert isinstance(table, pyptx.parser.Variable)
    assert (table.name, table.space, table.type, table.vector) == ("table", "global", "f32", 2)
    assert (table.align, table.count, table.size, table.linkage) == (16, 8, 64, "")
    assert table.text == ".global .align 16 .v2 .f32 table[8];"
    assert str(table.location) == "scale.ptx:6:1"


def test_functions() -> None:
    helper, scale = pyptx.parse(TEXT).functions
    assert (helper.is_entry, helper.is_declaration, helper.linkage) == (False, True, "extern")
    assert [one.name for one in helper.returns] == ["r"]
    assert repr(helper) == "<Function .func helper: a declaration>"
    assert (scale.is_entry, scale.linkage) == (True, "visible")
    assert [(one.name, one.type, one.size) for one in scale.parameters] == [
        ("out", "u64", 8),
        ("blob", "b8", 12),
    ]
    assert scale.directives == (("maxntid", (128, 1, 1)), ("pragma", ("nounroll",)))
    assert [part.kind for part in scale.body] == [
        *["registers"] * 4, "variable", "instruction", "comment", "label", *["instruction"] * 4
    ]  # fmt: skip
    assert scale.text.startswith(".visible .entry scale(")
    assert scale.text.endswith("}")
    assert repr(scale) == "<Function .entry scale: 5 instructions>"


def test_instructions_and_operands() -> None:
    scale = pyptx.parse(TEXT, "scale.ptx").entries[0]
    _, load, add, move, branch = scale.instructions
    assert (load.opcode, load.modifiers) == ("ld", ("global", "v2", "f32"))
    assert load.text == "@!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];"
    assert repr(load) == "<Instruction @!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];>"
    place = load.location
    assert (place.file, place.line, place.column, place.end_column) == ("scale.ptx", 18, 2, 46)
    assert load.is_resolved
    assert load.guard is not None
    assert (load.guard.name, load.guard.is_negated, load.guard.type) == ("%p1", True, "pred")
    pair, address = load.operands
    assert (pair.kind, [one.name for one in pair.operands]) == ("vector", ["%f1", "%f2"])
    assert (address.kind, address.value, address.text) == ("address", 8, "[%rd1+8]")
    assert address.operands[0].type == "b64"
    assert add.operands[2].kind == "float"
    assert add.operands[2].value == 1.0
    assert (move.operands[1].kind, move.operands[1].name) == ("special", "%tid")
    assert str(move.operands[1]) == "%tid.x"
    assert (branch.operands[0].kind, branch.operands[0].name) == ("label", "LOOP")
    assert branch.guard is None


def test_what_nobody_knows_is_walked_too() -> None:
    text = TEXT.replace(
        "add.f32 %f1, %f1, 0f3F800000", "@%q frob.f33 %x, [table+4], -y.b0, z[2], (a, b)"
    )
    instruction = pyptx.parse(text).entries[0].instructions[2]
    assert not instruction.is_resolved
    assert (instruction.opcode, instruction.modifiers) == ("frob", ("f33",))
    assert instruction.guard is not None
    assert (instruction.guard.kind, instruction.guard.name) == ("undeclared", "%q")
    assert [one.kind for one in instruction.operands] == [
        "undeclared", "address", "undeclared", "undeclared", "list"
    ]  # fmt: skip
    assert [one.text for one in instruction.operands] == [
        "%x", "[table+4]", "-y.b0", "z[2]", "(a, b)"
    ]  # fmt: skip


def test_edits_give_another_module() -> None:
    module = pyptx.parse(TEXT, "scale.ptx")
    scale = module.entries[0]
    load, add = scale.instructions[1:3]
    edited = module.edit([(add, "mul.f32 %f1, %f1, %f2;"), (load, "")])
    assert edited.text == TEXT.replace(add.text, "mul.f32 %f1, %f1, %f2;").replace(load.text, "")
    assert module.text == TEXT
    assert add.text == "add.f32 %f1, %f1, 0f3F800000;"
    assert edited.entries[0].instructions[1].opcode == "mul"
    assert edited.entries[0].location.file == "scale.ptx"
    with pytest.raises(ValueError, match="another module"):
        edited.edit([(add, "")])
    with pytest.raises(ValueError, match="overlap"):
        module.edit([(scale, ""), (add, "")])
    with pytest.raises(TypeError, match="must be str or bytes"):
        module.edit([(add, 3)])  # type: ignore[list-item]
    with pytest.raises(pyptx.PtxSyntaxError):
        module.edit([(add, "mul.f32 %f1 %f1;")])
    assert module.edit([]).text == TEXT


def test_a_traced_module_is_walked_and_edited_as_its_text() -> None:
    @kernel(arch="sm_90a", block=(32, 1, 1), grid=(1, 1, 1))
    def traced() -> None:
        x = reg.scalar(u32, 1)
        ptx.inst.add.u32(x, x, 2)
        ptx.ret()

    module = traced.module()
    (entry,) = module.entries
    assert [one.opcode for one in entry.instructions] == ["mov", "add", "ret"]
    assert module.diagnostics == []
    edited = module.edit([(entry.instructions[1], "sub.u32 %r0, %r0, 2;")])
    assert pyptx.verify(edited) == []
    assert "sub.u32" in edited.text


DAMAGED = TEXT.replace("bra LOOP;", "bra LOOP").replace("// scales", "\udcff .global .b33 x;")


def test_any_text_gives_a_module() -> None:
    with pytest.raises(pyptx.PtxSyntaxError):
        pyptx.parse(DAMAGED)
    module = pyptx.parse(DAMAGED, recover=True)
    assert module.text == DAMAGED
    assert [one.code for one in module.diagnostics] == ["PTX0001", "PTX0109", "PTX0101"]
    assert all(one.line for one in module.diagnostics)
    assert [part.text for part in module.directives if part.kind == "error"][1:] == [
        ".global .b33 x;"
    ]
    assert [part.text for part in module.entries[0].body if part.kind == "error"] == ["bra LOOP"]
    assert repr(module).endswith("4 instructions, 3 syntax errors>")
    repaired = module.edit(
        [
            (part, "bra LOOP;" if part.text == "bra LOOP" else "")
            for part in (*module.directives, *module.entries[0].body)
            if part.kind == "error"
        ]
    )
    assert repaired.diagnostics == []
    assert [one.severity for one in pyptx.verify(repaired) if one.severity == "error"] == []


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", bytes(range(256)), b"hello", b'.pragma "\xff;'],
)
def test_any_bytes_give_a_module(data: bytes) -> None:
    module = pyptx.parse(data, recover=True)
    assert bytes(module) == data
    assert module.diagnostics
    assert [one.code for one in pyptx.verify(data)] == [one.code for one in pyptx.verify(module)]
    for one in module.diagnostics:
        assert str(one)
        assert one.message
    assert repr(module)
    assert all(str(part) in module.text for part in module.parts)
    with pytest.raises(pyptx.PtxSyntaxError):
        pyptx.parse(data)


def test_a_lone_surrogate_comes_back() -> None:
    text = "// \ud800 \udcff\n" + TEXT
    assert pyptx.parse(text).text == text
    assert pyptx.parse(TEXT.encode()).text == TEXT
    with pytest.raises(TypeError, match="text must be str or bytes, not int"):
        pyptx.parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("%f1, 0f3F800000", "%nothing, 0f3F800000", "PTX0103", 19),
        ("add.f32", "frobnicate.f32", "PTX0201", 19),
        ("add.f32", "add.f33", "PTX0202", 19),
        ("mov.u32", "mov.global.u32", "PTX0202", 20),
        (".reg .f32 %f<4>", ".reg .f32 %r<4>", "PTX0104", 14),
        ("sm_90a", "sm_52", "PTX0301", 2),
        ("8.7", "7.9", "PTX0304", 1),
    ],
)
def test_what_is_no_syntax_is_found_by_verify(old: str, new: str, code: str, line: int) -> None:
    text = TEXT.replace(old, new, 1)
    module = pyptx.parse(text)
    assert module.text == text
    assert module.diagnostics == []
    for found in (pyptx.verify(module), pyptx.verify(text)):
        assert (found[0].code, found[0].line) == (code, line)
