# SPDX-License-Identifier: Apache-2.0
"""The table generator: its notation, and the rows it must refuse."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from isagen.committed import stale, write
from isagen.count import parse_count
from isagen.directives import load_directives
from isagen.layout import order_groups
from isagen.model import load
from isagen.names import enumerator
from isagen.notation import (
    Needs,
    NotationError,
    TargetRule,
    Term,
    expand_run,
    parse_needs,
    parse_rule,
    parse_values,
)
from isagen.operand_reader import MANUAL, PTXAS, parse_operand
from isagen.operand_rows import packed
from isagen.operand_text import OperandText, parse_types
from isagen.reference import pages
from isagen.resolve import count_of, derived_type, is_there, types_of
from isagen.rows import load_instructions, narrow_rule
from isagen.syntax_line import parse_syntax
from isagen.table import Table, TableError
from isagen.targets import load_targets
from isagen.types import load_types
from isagen.writer import outputs
from support.tree import ROOT


@pytest.fixture(scope="module")
def table() -> Table:
    """The real table."""
    return load(ROOT / "isa")


def row(**changes: Any) -> dict[str, Any]:
    """A file with one good row, changed."""
    form: dict[str, Any] = {
        "syntax": "add{.sat}.type d, a, b",
        "slots": {"type": "u32 s32"},
        "rules": ["sat -> type=s32 : .sat applies to .s32 only"],
        "accept": ["add.u32 %r1, %r2, %r3"],
        "reject": ["PTX0210: add.sat.u32 %r1, %r2, %r3"],
    }
    form.update(changes)
    operands = {"d": "out reg type", "a": "reg type", "b": "reg|imm type"}
    form["operands"] = {**operands, **form.get("operands", {})}
    kept = {key: value for key, value in form.items() if value is not None}
    return {"instruction": [{"manual": "m", "sem": "add", "form": [kept]}]}


def load_row(table: Table, **changes: Any) -> Table:
    """A table with that row alone."""
    fresh = Table(types=table.types, sets=table.sets)
    load_instructions(fresh, row(**changes), "test.toml")
    outputs(fresh)
    return fresh


def test_a_good_row_loads(table: Table) -> None:
    """The row that the refusals below start from."""
    form = load_row(table).forms[0]
    assert [slot.name for slot in form.slots] == ["sat", "type"]
    assert [slot.optional for slot in form.slots] == [True, False]
    assert form.rules[0].message == ".sat applies to .s32 only"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"accept": None}, "a row needs 'accept'"),
        ({"reject": []}, "a row needs 'reject'"),
        ({"reject": ["add.sat.u32 %r1"]}, "does not start with its code"),
        ({"accept": ["sub.u32 %r1, %r2, %r3"]}, "is not an instance of add"),
        ({"sem": "Add it"}, "sem 'Add it' cannot name a handler"),
        ({"syntax": "add.type d, a, b, c"}, "operand 'c' is not described"),
        ({"rules": ["sat -> type=f32 : no"]}, "names 'f32', which slot 'type' lacks"),
        ({"rules": ["ftz -> type=s32 : no"]}, "names slot 'ftz', which the row lacks"),
        ({"rules": ["sat -> type=s32"]}, "has no message"),
        ({"slots": {"type": "u32 s32", "rnd": "rn"}}, "slot 'rnd' is not in the syntax line"),
        ({"slots": {"type": "u32 s32 u32"}}, "listed twice"),
        ({"slots": {"type": "$numbers"}}, r"unknown set '\$numbers'"),
        ({"operands": {"d": "out reg width"}}, "neither a type nor made from a slot"),
        ({"operands": {"d": "out register type"}}, "is not one of reg"),
        ({"operands": {"d": "out reg type n=vec"}}, "no slot 'vec'"),
        ({"operands": {"d": "out vec type n=sat"}}, "'sat' has no number"),
        ({"operands": {"d": "out reg map(type,u32:b32)"}}, "says nothing of 's32'"),
        ({"operands": {"d": "out reg map(type,*:b33)"}}, "'b33' is no type"),
        ({"operands": {"b": "reg type if=ftz"}}, "operand 'b' is never there"),
        ({"operands": {"a": "addr"}}, r"\[\] and addr go together"),
        ({"sem": "none"}, "gives no reason"),
        ({"head": "add.hi"}, "does not begin the syntax line"),
        ({"ptxas": {"ordered": "dst src"}}, "'ordered' names slot 'dst'"),
        ({"flow": "down"}, "flow 'down' is not one of next"),
        ({"effect": "none"}, "effect 'none' is not reads or acts"),
        ({"effect": "reads"}, "is for what loads registers from memory"),
        ({"colour": "red"}, "unknown key 'colour'"),
    ],
)
def test_a_bad_row_is_refused(table: Table, changes: dict[str, Any], message: str) -> None:
    """One line that names the row and the fault."""
    with pytest.raises(TableError, match=message) as caught:
        load_row(table, **changes)
    assert "test.toml" in str(caught.value)


def test_syntax_lines() -> None:
    """Optional slots, suffix alternatives, groups, brackets and optional operands."""
    syntax = parse_syntax("mbarrier.arrive{.sem.scope}{.shared{::cta, ::cluster}}.b64 s, [a]{, n}")
    assert syntax.opcode == "mbarrier"
    assert [slot.name for slot in syntax.slots] == ["arrive", "sem", "scope", "shared", "b64"]
    assert [slot.optional for slot in syntax.slots] == [False, True, True, True, False]
    assert syntax.slots[3].default == "shared shared::cta shared::cluster"
    assert syntax.together == (("sem", "scope"),)
    assert [(o.name, o.optional, o.shape) for o in syntax.operands] == [
        ("s", False, ""), ("a", False, "address"), ("n", True, ""),
    ]  # fmt: skip


def test_operand_trees() -> None:
    """Parts of addresses, pairs, optional ones of both, and [a].unified."""
    syntax = parse_syntax("fabric.x d{|p}, [le, off{, cnt}], e|q{, [m]}, [t]{.unified}")
    shapes = [
        (o.name, o.optional, [(p.name, p.optional) for p in o.parts]) for o in syntax.operands
    ]
    assert shapes == [
        ("d|p", False, [("d", False), ("p", True)]),
        ("le", False, [("le", False), ("off", False), ("cnt", True)]),
        ("e|q", False, [("e", False), ("q", False)]),
        ("m", True, [("m", False)]),
        ("t", False, [("t", False)]),
    ]
    assert [o.unified for o in syntax.operands] == [False, False, False, False, True]
    call = parse_syntax("call{.uni} {(ret),} f{, (args)}")
    assert [(o.name, o.optional) for o in call.operands] == [
        ("ret", True), ("f", False), ("args", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ["", ".u32 d", "add{.sat d, a", "add.u32 d; a", "ld.u32.u32 d", "a [b", "a {|p}, d", "a [{b}]"],
)
def test_bad_syntax_lines(line: str) -> None:
    """Text that is no syntax line."""
    with pytest.raises(NotationError):
        parse_syntax(line)


def test_values_and_availability() -> None:
    """Runs, sets and needs."""
    assert expand_run("m64n{8..24:8}k16") == ["m64n8k16", "m64n16k16", "m64n24k16"]
    assert parse_needs("8.6:100a|110f") == Needs(
        (8, 6), (TargetRule(100, "a"), TargetRule(110, "f"))
    )
    assert parse_needs("3.0..6.3:30") == Needs((3, 0), (TargetRule(30),), (6, 3))
    assert parse_needs(":75..89").targets == (TargetRule(75, "", 89),)
    values = parse_values("cta $more@7.8:90", {"more": "gpu sys"})
    assert [(v.text, v.needs.version) for v in values] == [
        ("cta", (1, 0)), ("gpu", (7, 8)), ("sys", (7, 8)),
    ]  # fmt: skip
    for bad in ("8", "8.x", "8.0:sm90", "8.0:90b"):
        with pytest.raises(NotationError):
            parse_needs(bad)
    with pytest.raises(NotationError):
        expand_run("x{4..2}")


def test_rules() -> None:
    """Implications, alternatives, availability, and what is left of a shared rule in a row."""
    rule = parse_rule("ftz & type!=f64 -> type=f32|f16 or sat : words")
    assert [term.slot for term in rule.when] == ["ftz", "type"]
    assert rule.when[1].negated
    assert rule.then[0].values == ("f32", "f16")
    assert parse_rule("vec=v8 -> @8.8:100").needs == Needs((8, 8), (TargetRule(100),))
    assert parse_rule("aligned -> sync : words", {}, is_lint=True).lint
    narrowed = narrow_rule(rule, {"ftz": {"ftz"}, "type": {"f16"}})
    assert narrowed is not None
    assert narrowed.then[0].values == ("f16",)
    assert (len(narrowed.when), len(narrowed.then)) == (1, 1)
    assert narrow_rule(rule, {"type": {"f32"}}) is None
    for bad in ("ftz type=f32 : no arrow", "ftz -> !type=f32 : twice", "ftz ~> type : no"):
        with pytest.raises(NotationError):
            parse_rule(bad)
    with pytest.raises(NotationError):
        parse_rule("ftz -> @8.0 : a lint is no availability", {}, is_lint=True)


def test_operands() -> None:
    """Attributes of an operand description."""
    operand = parse_operand("inout vec f32 n=shape.n/2")
    assert (operand.role, operand.kinds) == ("inout", ("vec",))
    assert operand.count == parse_count("shape.n/2")
    operand = parse_operand("reg|imm u32 range=24..256 multiple=8")
    assert (operand.minimum, operand.maximum, operand.multiple) == (24, 256, 8)
    assert parse_operand("imm u32 oneof=4|8|16").literals == (4, 8, 16)
    video = parse_operand("sel|neg u32 sel=b0 pow2 needs=9.4:107f", "sel=h1 plain")
    assert (video.selectors, video.register_class, video.power_of_two) == (("b0", "h1"), "plain", 1)
    assert video.needs == parse_needs("9.4:107f")
    assert packed("b0") == ord("b") + 256 * ord("0")
    sized = parse_operand("addr space=space", "narrow bits=8|64:!space bits=64@:120").widths
    assert [one.bits for one in sized] == [(8, 64), (64,)]
    assert sized[0].condition == (Term("space", (), negated=True),)
    assert sized[1].needs == parse_needs(":120")
    assert parse_operand("reg u64 texmode=independent").texmode == "independent"
    assert parse_operand("vec|imm b16 n=2 multiple=max(vec,2) last=0..1").last == 1
    for bad in (
        "out", "reg u32 s32", "reg u32 range=5", "reg u32 size=4", "sel u32", "reg u32 sel=b0",
        "reg u32 n=2+", "reg b8|b16|b32|b64|b128", f"reg u32 n={'(1+' * 20}1{')' * 20}",
        "reg map(type)", "reg wide(type,2)", "reg u32 if==3", "reg|reg u32",
        "~ u32", "reg u64 texmode=other", "reg u32 nonzero", "reg b32 last=0..1",
        "vec b32 n=2 last=1..2",
    ):  # fmt: skip
        with pytest.raises(NotationError):
            parse_operand(bad)


def test_habits() -> None:
    """What ptxas does otherwise, merged into what the manual says."""
    assert parse_operand("imm u32 range=0..15", "cut").cut
    odd = parse_operand("reg b32", "kinds=fimm|~vec types=u32|s32 exact uncounted")
    assert (odd.kinds, odd.odd_kinds) == (("reg", "fimm", "vec"), ("vec",))
    assert ([one.name for one in odd.types], odd.register_class) == (["b32", "u32", "s32"], "exact")
    assert odd.uncounted
    assert parse_operand("out vec f32 n=8", "inout").role == "inout"
    assert parse_operand("addr", "unnamed=space").unnamed == (Term("space"),)
    assert parse_operand("reg u64", "unseen bits=64@:120").unseen
    strict = parse_operand("out vec b32", "strict=dtype=f16x2 loose typed")
    assert (strict.strict, strict.loose, strict.typed) == (True, True, True)
    assert strict.strict_when == (Term("dtype", ("f16x2",)),)
    expanded = parse_operand("vec b32 n=4", "strict=kind=sp@:100 also=pred@:75..89|120")
    assert expanded.strict
    assert expanded.strict_when[0].slot == "kind"
    assert (expanded.also, len(expanded.also_needs.targets)) == ("pred", 2)
    for text, habits in (
        ("reg u32", "cut"), ("reg u32", "unnamed=space"), ("reg u32", "bits=64"),
        ("addr", "bits=24"), ("addr", "bits="), ("addr", "bits=64@x"), ("vec b32", "strict=="),
        ("vec b32", "strict=8.0:90"), ("vec b32", "strict=x@90"), ("vec b32", "also=pred"),
        ("reg b32", "uncounted"), ("vec b32 n=2", "uncounted"), ("reg b32", "kinds=register"),
        ("reg b32", "kinds=reg"), ("reg b8|b16", "types=b32|b64|b128"), ("reg b32", "types="),
    ):  # fmt: skip
        parse_operand(text)
        with pytest.raises(NotationError):
            parse_operand(text, habits)


@pytest.mark.parametrize("word", ["~fimm", *sorted(PTXAS.keys() - MANUAL.keys())])
def test_a_habit_in_the_manuals_part_is_refused(word: str) -> None:
    """Every word of ptxas's, however good its value."""
    kinds, rest = (f"reg|{word}", "") if word.startswith("~") else ("reg", f" {word}")
    with pytest.raises(NotationError, match="is a habit of ptxas, not the manual's"):
        parse_operand(f"{kinds} u32{rest}")


@pytest.mark.parametrize("word", ["reg", "out", "reg|imm", *sorted(MANUAL.keys() - PTXAS.keys())])
def test_the_manuals_words_among_habits_are_refused(word: str) -> None:
    """The same the other way round."""
    with pytest.raises(NotationError, match="is the manual's, no habit of ptxas"):
        parse_operand("reg|imm u32", word)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", 4), ("num", 4), ("shape.m*shape.k*bits(type)/1024", 8), ("ceil(num+1,2)", 3),
        ("min(num,3)*max(1,2)", 6), ("(num-1)/2", 1), ("sparse.1", 2), ("sparse.2", 4),
        ("missing*2", 0),
    ],
)  # fmt: skip
def test_counts(table: Table, text: str, expected: int) -> None:
    """Numbers in words, bits of types, and arithmetic over them."""
    bound = {"num": "x4", "shape": "m16n8k32", "type": "f16", "sparse": "sp::2:4"}
    assert count_of(table, OperandText(count=parse_count(text)), bound) == expected


def test_types_and_conditions(table: Table) -> None:
    """Alternatives, maps, and when an operand is there."""
    text = OperandText(types=parse_types("map(t,f16:b32,mode::x:f64,-:u8,*:s32)|f32"))
    expected = {"f16": "b32", "mode::x": "f64", "": "u8", "u16": "s32"}
    for word, name in expected.items():
        assert types_of(table, text, {"t": word}, {"t"}) == [name, "f32"]
    condition = parse_operand("reg u32 if=mode=tile|im2col&!group")
    assert is_there(condition, {"mode": "tile"})
    assert not is_there(condition, {"mode": "tile", "group": "cta_group::1"})
    assert not is_there(condition, {"mode": "other"})


def test_parts_reach_the_tables(table: Table) -> None:
    """The bracket of a row is printed with its parts, each described."""
    fresh = load_row(
        table,
        syntax="add{.sat}.type d{|p}, [a, c], b",
        operands={"a": "reg b32", "p": "out pred|sink pred", "c": "vec|imm s32 n=2 if=sat"},
    )
    text = outputs(fresh)["isa_tables.cpp"]
    assert '.name = "a", .accept = Accept::Address' in text
    assert '.name = "c", .accept = Accept::Vector | Accept::Integer, ' in text
    assert ".accept = Accept::Register | Accept::Pipe" in text


def test_derived_types(table: Table) -> None:
    """wide doubles, part divides, and neither invents a type."""
    assert derived_type(table, "s16", "wide", 1) == "s32"
    assert derived_type(table, "b64", "part", 4) == "b16"
    with pytest.raises(TableError):
        derived_type(table, "u64", "wide", 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"in": "anywhere"}, "'anywhere' is not one of module"),
        ({"arguments": "some"}, "'some' is not a shape"),
        ({"needs": "soon"}, "'soon' is not version"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"manual": None}, "a row needs 'manual'"),
    ],
)
def test_a_bad_directive_is_refused(changes: dict[str, Any], message: str) -> None:
    """The same for directives."""
    row = {"name": "maxnreg", "in": "entry", "arguments": "integers 1..1", "manual": "m", **changes}
    kept = {key: value for key, value in row.items() if value is not None}
    with pytest.raises(TableError, match=message):
        load_directives(Table(), {"directive": [kept]})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"plain": "9.0", "warps": 48, "ctas": 16}, "a target needs 'cta_shared' \\(sm_999\\)"),
        (
            {"plain": "9.0", "warps": 48, "ctas": 16, "shared": 100, "colour": 1},
            "a target knows no 'colour' \\(sm_999\\)",
        ),
    ],
)
def test_a_bad_target_is_refused(row: dict[str, Any], message: str) -> None:
    """A row has every limit, or [every] does, and no other."""
    data = tomllib.loads((ROOT / "isa/common/targets.toml").read_text())
    with pytest.raises(TableError, match=message):
        load_targets(Table(), {**data, "targets": {"999": row}})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"bits": 8, "colour": 1}, "unknown key 'colour'"),
        ({"bits": 8, "framework": "float8"}, "'framework' and 'dlpack' go together"),
        ({"bits": 8, "stored": "b8"}, "no framework has 'b8'"),
        ({"bits": 8, "map": "u9"}, "'u9' is no type"),
    ],
)
def test_a_bad_type_is_refused(row: dict[str, Any], message: str) -> None:
    """The same for types."""
    with pytest.raises(TableError, match=message):
        load_types(Table(), {"bits": {"b8": {"bits": 8}}, "float": {"e9m9": row}})


def test_names() -> None:
    """C++ names by one rule."""
    assert enumerator("shared::cta") == "SharedCta"
    assert enumerator("mbarrier::complete_tx::bytes") == "MbarrierCompleteTxBytes"
    assert enumerator("2d") == "_2d"


def test_positional_slots(table: Table) -> None:
    """cvt's types are told apart by order in every row, .sat and .ftz never are."""
    form = next(form for form in table.forms if form.syntax.startswith("cvt.irnd{.ftz}{.sat}"))
    groups = dict(zip([slot.name for slot in form.slots], order_groups(table, form), strict=True))
    assert groups["dtype"] == groups["atype"] != 0
    assert groups["ftz"] == groups["sat"] == 0


def test_reference_pages_are_fresh(table: Table) -> None:
    """`python -m isagen --table isa --docs docs/isa` was run after the last change of the table."""
    assert stale(ROOT / "docs/isa", pages(table), "*.md") == []


def test_stale_pages_are_noticed(table: Table, tmp_path: Path) -> None:
    """A page that is missing, changed or left over; writing mends all three."""
    write(tmp_path, pages(table), "*.md")
    assert stale(tmp_path, pages(table), "*.md") == []
    (tmp_path / "README.md").write_text("old", encoding="utf-8")
    (tmp_path / "control_flow.md").unlink()
    (tmp_path / "gone.md").write_text("", encoding="utf-8")
    assert stale(tmp_path, pages(table), "*.md") == ["README.md", "control_flow.md", "gone.md"]
    write(tmp_path, pages(table), "*.md")
    assert stale(tmp_path, pages(table), "*.md") == []


def test_a_page_tells_everything(table: Table) -> None:
    """Availability, slots, operands, rules, examples, and why a form is not emulated."""
    fresh = load_row(
        table,
        sem="none: not emulated",
        needs="8.0:90a",
        operands={"d": "out vec type n=ceil(4,2)*2", "b": "imm u32 range=0..7 if=sat"},
    )
    text = pages(fresh)["test.md"]
    for words in (
        "add{.sat}.type d, a, b;",
        "Needs: PTX ISA 8.0, sm_90a. Not emulated: not emulated.",
        "- `.type`: `.u32` `.s32`",
        "- `d`: result, vector of `.type`, elements: `ceil(4, 2) * 2`",
        "- `b`: integer of `.u32`, 0 to 7; there when `.sat`",
        "- With `.sat`: .sat applies to .s32 only",
        "add.sat.u32 %r1, %r2, %r3;  // PTX0210",
    ):
        assert words in text


def test_output_is_deterministic(table: Table) -> None:
    """The same table gives the same text."""
    assert outputs(table) == outputs(load(ROOT / "isa"))
