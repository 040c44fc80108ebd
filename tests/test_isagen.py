# SPDX-License-Identifier: Apache-2.0
"""The table generator: its notation, and the rows it must refuse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from isagen.layout import derived_type, order_groups  # noqa: E402
from isagen.model import Table, TableError, load, load_instructions, narrow_rule  # noqa: E402
from isagen.names import enumerator  # noqa: E402
from isagen.notation import (  # noqa: E402
    Needs,
    NotationError,
    expand_run,
    parse_needs,
    parse_operand,
    parse_rule,
    parse_syntax,
    parse_values,
)
from isagen.writer import outputs  # noqa: E402


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
    kept = {key: value for key, value in form.items() if value is not None}
    return {"instruction": [{"manual": "m", "sem": "add", "operands": operands, "form": [kept]}]}


def load_row(table: Table, **changes: Any) -> Table:
    """A table with that row alone."""
    fresh = Table(types=table.types, sems=table.sems, sets=table.sets)
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
        ({"sem": "addition"}, "is not in common/sems.toml"),
        ({"syntax": "add.type d, a, b, c"}, "operand 'c' is not described"),
        ({"syntax": "add.type d, [a], b", "rules": []}, r"\[\] and addr go together"),
        ({"rules": ["sat -> type=f32 : no"]}, "names 'f32', which slot 'type' lacks"),
        ({"rules": ["ftz -> type=s32 : no"]}, "names slot 'ftz', which the row lacks"),
        ({"rules": ["sat -> type=s32"]}, "has no message"),
        ({"slots": {"type": "u32 s32", "rnd": "rn"}}, "slot 'rnd' is not in the syntax line"),
        ({"slots": {"type": "u32 s32 u32"}}, "listed twice"),
        ({"slots": {"type": "$numbers"}}, r"unknown set '\$numbers'"),
        ({"operands": {"d": "out reg width"}}, "neither a type nor made from a slot"),
        ({"operands": {"d": "out register type"}}, "is not one of reg"),
        ({"operands": {"d": "out reg type n=vec"}}, "no slot 'vec'"),
        ({"head": "add.hi"}, "does not begin the syntax line"),
        ({"ordered": "dst src"}, "'ordered' names slot 'dst'"),
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
    assert [(o.name, o.optional, o.bracketed) for o in syntax.operands] == [
        ("s", False, False), ("a", False, True), ("n", True, False),
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["", ".u32 d", "add{.sat d, a", "add.u32 d; a", "ld.u32.u32 d"])
def test_bad_syntax_lines(line: str) -> None:
    """Text that is no syntax line."""
    with pytest.raises(NotationError):
        parse_syntax(line)


def test_values_and_availability() -> None:
    """Runs, sets and needs."""
    assert expand_run("m64n{8..24:8}k16") == ["m64n8k16", "m64n16k16", "m64n24k16"]
    assert parse_needs("8.6:100a|110f") == Needs((8, 6), ((100, "a"), (110, "f")))
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
    assert parse_rule("vec=v8 -> @8.8:100").needs == Needs((8, 8), ((100, ""),))
    narrowed = narrow_rule(rule, {"ftz": {"ftz"}, "type": {"f16"}})
    assert narrowed is not None
    assert narrowed.then[0].values == ("f16",)
    assert (len(narrowed.when), len(narrowed.then)) == (1, 1)
    assert narrow_rule(rule, {"type": {"f32"}}) is None
    for bad in ("ftz type=f32 : no arrow", "ftz -> !type=f32 : twice"):
        with pytest.raises(NotationError):
            parse_rule(bad)


def test_operands() -> None:
    """Attributes of an operand description."""
    operand = parse_operand("inout vec f32 n=shape.n/2")
    assert (operand.role, operand.kinds, operand.count) == ("inout", ("vec",), "shape.n/2")
    operand = parse_operand("reg|imm u32 range=24..256 multiple=8")
    assert (operand.minimum, operand.maximum, operand.multiple) == (24, 256, 8)
    assert parse_operand("imm u32 oneof=4|8|16").literals == (4, 8, 16)
    for bad in ("out", "reg u32 s32", "reg u32 range=5", "reg u32 size=4"):
        with pytest.raises(NotationError):
            parse_operand(bad)


def test_derived_types(table: Table) -> None:
    """wide doubles, part divides, and neither invents a type."""
    assert derived_type(table, "s16", "wide", 1) == "s32"
    assert derived_type(table, "b64", "part", 4) == "b16"
    with pytest.raises(TableError):
        derived_type(table, "u64", "wide", 1)


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


def test_output_is_deterministic(table: Table) -> None:
    """The same table gives the same text."""
    assert outputs(table) == outputs(load(ROOT / "isa"))
