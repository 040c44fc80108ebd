# SPDX-License-Identifier: Apache-2.0
"""A made-up instruction in a copy of the table: its row is all that its readers need."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import handlers
import one_place
from certify.batch import Machine
from certify.instance import legal_instances
from certify.legal import Availability, spellings
from certify.mutate import Mutator
from isagen.inst_stubs import inst_stubs
from isagen.model import load
from isagen.reference import pages
from isagen.table import Table, TableError
from isagen.writer import outputs
from support.tree import ROOT

FILE = "integer_arithmetic"
ROW = """
[[instruction]]
manual = "integer-arithmetic-instructions-frobnicate"
sem = "frobnicate"
needs = "9.0:90"

[[instruction.form]]
syntax = "frobnicate{.sat}.type d, a, b"
slots = { type = "u32 s32" }
operands = { d = "out reg type", a = "reg type", b = "reg|imm type" }
rules = ["sat -> type=s32 : .sat applies to .s32 only"]
accept = ["frobnicate.sat.s32 %r1, %r2, 3"]
reject = ["PTX0210: frobnicate.sat.u32 %r1, %r2, %r3"]
[instruction.form.ptxas]
slots = { type = "u64" }
lints = ["type=u64 -> never : the manual has 32-bit types only"]
"""


@pytest.fixture(scope="module")
def old() -> Table:
    """The table as it is."""
    return load(ROOT / "isa")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The table with one row more, in one file."""
    isa = tmp_path_factory.mktemp("table") / "isa"
    shutil.copytree(ROOT / "isa", isa)
    with (isa / f"instructions/{FILE}.toml").open("a", encoding="utf-8") as file:
        file.write(ROW)
    return load(isa)


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    """Names of the files whose text differs."""
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_the_row_is_in_every_generated_file(old: Table, new: Table) -> None:
    """Opcode, slots, rules and semantics in C++, and the namespaces of C++ authors."""
    before, after = outputs(old), outputs(new)
    assert changed(before, after) == {
        "isa_tables.cpp",
        "include/pyptx/isa/ids.h",
        "include/pyptx/isa/sems.def",
        f"include/pyptx/author/inst/{FILE}.h",
    }
    assert "  Frobnicate,  // frobnicate" in after["include/pyptx/isa/ids.h"]
    assert "PYPTX_SEM(frobnicate)" in after["include/pyptx/isa/sems.def"]
    assert "frobnicate{.sat}.type d, a, b" in after["isa_tables.cpp"]
    assert "the manual has 32-bit types only" in after["isa_tables.cpp"]


def test_only_two_pages_and_the_stubs_change(old: Table, new: Table) -> None:
    """What is committed: the section's page and the matrix, its stub and the list of stubs."""
    assert changed(pages(old), pages(new)) == {"README.md", f"{FILE}.md"}
    assert "| `frobnicate` | 1 | 1 | PTX ISA 9.0, sm_90 or later |" in pages(new)["README.md"]
    assert changed(inst_stubs(old), inst_stubs(new)) == {"__init__.pyi", f"{FILE}.pyi"}
    assert "class Frobnicate" in inst_stubs(new)[f"{FILE}.pyi"]


def test_its_spellings_are_judged(new: Table) -> None:
    """What the certifier asks ptxas about: legal spellings with operands, and mutations."""
    form = next(form for form in new.forms if form.opcode == "frobnicate")
    has = Availability(new, Machine("sm_90a")).has
    legal = {".".join(bound.values()) for bound in spellings(form, has)}
    assert legal == {"u32", "s32", "sat.s32", "u64"}
    instances = list(legal_instances(new, [form], has, cap=0))
    assert any(one.text.startswith("frobnicate.sat.s32 ") for one in instances)
    assert not Availability(new, Machine("sm_80")).has(form.needs)
    assert Mutator(new).mutations(instances[0], form, 8)


def test_lints_know_it(new: Table) -> None:
    """No source may decide on its words, and its handler is missed where it belongs."""
    assert "frobnicate" in one_place.guarded_words(new)
    assert list(handlers.problems(ROOT, new.forms)) == [
        f"{FILE}.toml: 'frobnicate{{.sat}}.type d, a, b': Handler select_frobnicate(Lowering&) "
        "belongs in src/emu/sem/arithmetic: is nowhere"
    ]


def test_an_incomplete_row_says_what_is_missing(tmp_path: Path) -> None:
    """The generator is the guide: one line that names the row."""
    shutil.copytree(ROOT / "isa", tmp_path / "isa")
    path = tmp_path / f"isa/instructions/{FILE}.toml"
    good = path.read_text(encoding="utf-8")
    for line, message in (
        ('sem = "frobnicate"\n', "a row needs 'sem'"),
        ('manual = "integer-arithmetic-instructions-frobnicate"\n', "a row needs 'manual'"),
        ('accept = ["frobnicate.sat.s32 %r1, %r2, 3"]\n', "a row needs 'accept'"),
        (', b = "reg|imm type"', "operand 'b' is not described"),
        ('lints = ["type=u64 -> never : the manual has 32-bit types only"]\n', "no lint says"),
    ):
        assert line in ROW
        path.write_text(good + ROW.replace(line, ""), encoding="utf-8")
        with pytest.raises(TableError, match=message) as caught:
            load(tmp_path / "isa")
        assert f"{FILE}.toml: 'frobnicate" in str(caught.value)
