# SPDX-License-Identifier: Apache-2.0
"""The two parts of a row of the instruction table: the manual's, and what ptxas does otherwise."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

import pytest

from isagen.model import load
from isagen.notation import Term
from isagen.reference import pages
from isagen.rows import load_instructions
from isagen.table import Form, Table, TableError
from isagen.writer import outputs
from support.tree import ROOT

# ptxas takes .sat where the manual has none, .s16, a left-out .cc and a literal for a.
ROWS = """
[[instruction]]
manual = "m"
sem = "addc"
slots = { type = "u32 s32" }
operands = { d = "out reg type", a = "reg type", b = "reg|imm type" }

[instruction.ptxas]
slots = { type = "s16" }
operands = { a = "kinds=~imm" }
lints = ["type=s16 -> never : the manual has 32-bit types only"]

[[instruction.form]]
syntax = "addc.cc.type d, a, b"
accept = ["addc.cc.u32 %r1, %r2, %r3"]
reject = ["PTX0203: addc.cc.sat.u32 %r1, %r2, %r3"]
[instruction.form.ptxas]
syntax = "addc.cc{.sat}.type d, a, b"
optional = "cc"
rules = ["sat -> type=s32 : .sat applies to .s32 only"]
lints = ["sat -> never : the manual has no .sat", "-> cc : the manual makes .cc mandatory"]
ordered = "cc type"
ignored = "b1"

[[instruction.beyond]]
why = "the manual has two sources"
syntax = "addc.type d, a"
accept = ["addc.u32 %r1, %r2"]
reject = ["PTX0204: addc.u32 %r1"]
"""


@pytest.fixture(scope="module")
def real() -> Table:
    """The real table."""
    return load(ROOT / "isa")


def read(real: Table, data: dict[str, Any]) -> list[Form]:
    """The rows of one file, through the generator."""
    table = Table(types=real.types, sets=real.sets)
    load_instructions(table, data, "test.toml")
    outputs(table)
    return table.forms


def changed(path: str, value: Any) -> dict[str, Any]:
    """ROWS with one value changed: ``form.ptxas.syntax``; None takes it out."""
    data = copy.deepcopy(tomllib.loads(ROWS))
    table = data["instruction"][0]
    *keys, last = path.split(".")
    for key in keys:
        table = table[key][0] if isinstance(table[key], list) else table[key]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return data


def test_the_parts_become_one_form(real: Table) -> None:
    """ptxas's line, values, kinds and rules after the manual's; then what the manual lacks."""
    form, beyond = read(real, tomllib.loads(ROWS))
    assert form.syntax == "addc{.cc}{.sat}.type d, a, b"
    slots = {slot.name: (slot.optional, [v.text for v in slot.values]) for slot in form.slots}
    assert slots == {
        "cc": (True, ["cc"]),
        "sat": (True, ["sat"]),
        "type": (False, ["u32", "s32", "s16"]),
        "ignored": (True, ["b1"]),
    }
    a = form.operands[1].text
    assert (a.kinds, a.odd_kinds) == (("reg", "imm"), ("imm",))
    assert [(rule.message[:8], rule.lint) for rule in form.rules] == [
        ("the manu", True), (".sat app", False), ("the manu", True), ("the manu", True),
        ("ptxas dr", True),
    ]  # fmt: skip
    assert form.ordered == (("cc", "type"),)
    assert (form.beyond, beyond.beyond) == ("", "the manual has two sources")
    assert beyond.syntax == "addc.type d, a"


def test_a_page_tells_both_apart(real: Table) -> None:
    """The manual's line and values first, and what of them is ptxas's."""
    table = Table(types=real.types, sets=real.sets)
    load_instructions(table, tomllib.loads(ROWS), "test.toml")
    text = pages(table)["test.md"]
    for words in (
        "```\naddc.cc.type d, a, b;\n```",
        "For ptxas: `addc{.cc}{.sat}.type d, a, b`.",
        "- `.type`: `.u32` `.s32`, for ptxas also `.s16`\n",
        "- `a`: register (for ptxas also integer) of `.type`\n",
        "- With `.sat`: the manual has no .sat (the manual only)\n",
        "- dropped by ptxas: `.b1`\n",
        "ptxas takes it, the manual lacks it: the manual has two sources.",
    ):
        assert words in text


def test_operands_beyond_the_line(real: Table) -> None:
    """One that may be left out, and `[a].unified`."""
    data = changed("form.syntax", "addc.cc.type d, [a], b")
    data["instruction"][0]["beyond"][0]["syntax"] = "addc.type d, [a]"
    data["instruction"][0]["operands"]["a"] = "addr"
    data["instruction"][0]["ptxas"]["operands"] = {"a": "unified=8.0:90"}
    data["instruction"][0]["form"][0]["ptxas"] = {
        "optional": "cc b",
        "lints": ["-> cc : the manual makes .cc mandatory"],
    }
    forms = read(real, data)
    assert forms[0].syntax == "addc{.cc}.type d, [a]{.unified}{, b}"
    assert [use.use.optional for use in forms[0].operands] == [False, False, True]
    assert forms[1].syntax == "addc.type d, [a]{.unified}"
    data["instruction"][0]["operands"]["a"] = "addr unified=8.0:90"
    with pytest.raises(TableError, match="unified=' go together"):
        read(real, data)


def test_each_part_overrides_its_own_kind(real: Table) -> None:
    """A row's habits replace the instruction's name by name, "" takes them away."""
    forms = read(real, changed("form.ptxas.operands", {"a": "", "b": "kinds=fimm"}))
    assert [operand.text.kinds for operand in forms[0].operands] == [
        ("reg",), ("reg",), ("reg", "imm", "fimm"),
    ]  # fmt: skip
    forms = read(real, changed("form.operands", {"a": "reg|special type"}))
    assert forms[0].operands[1].text.kinds == ("reg", "special", "imm")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        # Habits in the manual's part.
        ("form.ordered", "cc type", "unknown key 'ordered': it is for the ptxas table"),
        ("ignored", "b1", "unknown key 'ignored': it is for the ptxas table"),
        ("form.why", "no row of the manual's", "unknown key 'why'"),
        ("form.operands", {"a": "reg type exact"}, "'exact' is a habit of ptxas"),
        ("operands.a", "reg|~imm type", "'~imm' is a habit of ptxas"),
        ("form.rules", ["sat -> type=s32 : no"], "a rule names 'sat', which only ptxas takes"),
        ("form.rules", ["type=s16 -> cc : no"], "a rule names 's16', which only ptxas takes"),
        ("form.rules", ["cc ~> type : no"], "has no '->'"),
        ("form.rules", ["-> type=u32|s32 : x"], "only what ptxas takes could break '-> type"),
        ("rules", ["!cc -> type=u32 : x"], "only what ptxas takes could break '!cc ->"),
        # The manual's words in the ptxas table.
        ("form.ptxas.needs", "8.0", "unknown key 'needs': it is for the manual's part"),
        ("ptxas.sem", "add", "unknown key 'sem': it is for the manual's part"),
        ("ptxas.syntax", "addc.type d, a, b", "unknown key 'syntax'"),
        ("form.ptxas.operands", {"a": "reg"}, "'reg' is the manual's"),
        ("form.ptxas.operands", {"a": "range=0..1"}, "'range=0..1' is the manual's"),
        # What ptxas takes beyond the manual has the words of a lint.
        ("form.ptxas.lints", ["-> cc : x"], "no lint says what is wrong with '.sat'"),
        ("ptxas.lints", None, "no lint says what is wrong with '.s16'"),
        ("ptxas.lints", ["type=u32 -> never : x"], "no lint says what is wrong with '.s16'"),
        ("form.ptxas.slots", {"cc": "CC"}, "list the manual's values"),
        # The two lines go together.
        ("form.ptxas.syntax", "addc{.sat}.type.cc d, a, b", "its line is not the manual's"),
        ("form.ptxas.syntax", "addc.cc{.sat}.type d, a", "its line is not the manual's"),
        ("form.syntax", "addc.cc{.type} d, a, b", "lets '.type' be left out"),
        ("form.ptxas.optional", "cc hi", "no mandatory 'hi' to leave out"),
        ("form.ptxas.slots", {"hi": "hi"}, "slot 'hi' is not in the syntax line"),
        ("form.ptxas.operands", {"c": "exact"}, "operand 'c' is not in the syntax line"),
        ("form.operands", {"c": "reg type"}, "operand 'c' is not in the syntax line"),
        # What rows share, some row takes.
        ("slots", {"type": "u32 s32", "hi": "hi"}, "no row takes slot 'hi' from its instruction"),
        ("ptxas.operands", {"c": "exact"}, "no row takes operand 'c' from its instruction"),
        ("beyond.why", None, "a row that the manual lacks needs 'why'"),
    ],
)
def test_parts_that_do_not_go_together(real: Table, path: str, value: Any, message: str) -> None:
    """One line that names the row and the fault."""
    with pytest.raises(TableError, match=message) as caught:
        read(real, changed(path, value))
    assert "test.toml" in str(caught.value)


@pytest.mark.parametrize(
    "lint",
    [
        "type=s16 -> never : x",
        "type -> type!=s16 : x",
        "type -> type=u32|s32 : x",
        "-> type=u32|s32 : x",
    ],
)
def test_a_lint_names_a_value(real: Table, lint: str) -> None:
    """In each of the ways to say that a value is not the manual's."""
    assert len(read(real, changed("ptxas.lints", [lint]))) == 2


def test_a_lint_may_be_that_of_another_slot(real: Table) -> None:
    """.b16 needs .sat, which has one."""
    data = changed("form.ptxas.syntax", "addc.cc{.sat}{.b16}.type d, a, b")
    with pytest.raises(TableError, match=r"no lint says what is wrong with '\.b16'"):
        read(real, data)
    data["instruction"][0]["form"][0]["ptxas"]["rules"].append("b16 -> sat : .b16 goes with .sat")
    assert read(real, data)[0].slots[2].name == "b16"


@pytest.mark.parametrize(
    ("line", "slot"),
    [
        ("st.async{.weak}{.scope}{.ss}.completion_mechanism{.vec}.type [a], b, [mbar]", "scope"),
        ("ld.proxy::readonly{.ss}{.nc}{.level2::eviction_priority}{.vec}.type d, [a]{.unified}",
         "level2::eviction_priority"),
    ],
)  # fmt: skip
def test_a_slot_that_the_manual_lacks_is_a_lint(real: Table, line: str, slot: str) -> None:
    """Two that rows once had as if the manual did."""
    form = next(form for form in real.forms if form.syntax == line)
    assert any(rule.lint and rule.when == (Term(slot),) and not rule.then for rule in form.rules)
