# SPDX-License-Identifier: Apache-2.0
"""tools/certify without judges: enumeration, fitting, mutations, templates, ledger."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from certify import cccl, manual
from certify.batch import INDEPENDENT, Machine, module
from certify.compare import Comparison, Difference, Entry, load_ledger, report
from certify.fit import Fitter, names_sampler
from certify.instance import cover, draw, instance, is_named
from certify.legal import Availability, always, spellings
from certify.mutate import Mutator
from certify.product import Product
from certify.ptxas import Ptxas
from certify.suites import SUITES, Session, finish
from certify.tasks import Selection, tasks
from certify.verdict import Verdict
from isagen.model import load, load_instructions
from isagen.table import Table
from support.tree import ROOT

ROW = {
    "manual": "data-movement-and-conversion-instructions-ld",
    "sem": "ld",
    "slots": {"ss": "global shared", "vec": "v2 v4", "type": "u32 f64@8.0:90"},
    "operands": {
        "d": "out reg|vec type n=vec",
        "a": "addr space=ss",
        "size": "reg|imm u32 range=4..16 multiple=4",
        "policy": "reg u64 if=hint",
    },
    "rules": ["vec=v4 -> type!=f64 : at most 16 bytes", "hint -> ss=global : only global"],
    "form": [
        {
            "syntax": "frob{.ss}{.vec}{.hint}.type d, [a]{, size}{, policy}",
            "accept": ["frob.u32 %r1, [%rd1]"],
            "reject": ["PTX0203: frob %r1, [%rd1]"],
        }
    ],
}


@pytest.fixture
def table() -> Table:
    """The types and targets of the real table, and one made-up instruction."""
    table = load(ROOT / "isa")
    table.forms = []
    load_instructions(table, {"instruction": [ROW]}, "made_up.toml")
    return table


def test_every_legal_spelling_is_found_once(table: Table) -> None:
    form = table.forms[0]
    found = [tuple(sorted(bound.items())) for bound in spellings(form, always)]
    # ss x vec x type without v4.f64, twice where .hint may stand (.global)
    assert len(found) == len(set(found)) == 3 * 5 + 5
    assert (("ss", "shared"), ("type", "u32"), ("hint", "hint")) not in found


def test_availability_narrows(table: Table) -> None:
    form = table.forms[0]
    old, new = Availability(table, Machine("sm_80")), Availability(table, Machine("sm_90"))
    assert {b["type"] for b in spellings(form, old.has)} == {"u32"}
    assert {b["type"] for b in spellings(form, new.has)} == {"u32", "f64"}
    assert len(draw(form, new.has, cap=7)) == 7


def test_operands_fit(table: Table) -> None:
    form = table.forms[0]
    fitter = Fitter(table, form)
    plain = fitter.plain({"ss": "shared", "vec": "v2", "type": "f64"})
    assert plain == ["{%fd8, %fd9}", "[%r16]"]
    assert fitter.plain({"hint": "hint", "type": "u32"})[-1].startswith("%ud")
    variants = {tuple(v) for v in fitter.variants({"ss": "global", "type": "u32"})}
    assert ("%u8", "[%rd16]", "4") in variants
    assert ("%u8", "[%rd16]", "16") in variants
    assert ("%u8", "[gmem]") in variants
    assert ("%u8", "[%rd16+-16]") in variants


def test_a_sampler_is_written_in_its_texture_mode(table: Table) -> None:
    row = {
        "manual": "texture-instructions-tex",
        "sem": "none: made up",
        "slots": {"geom": "1d 2d"},
        "operands": {
            "d": "out reg f32",
            "a": "reg u64",
            "b": "reg u64 texmode=independent",
            "c": "vec|imm s32 n=geom",
        },
        "form": [
            {
                "syntax": "peek.geom d, [a{, b}, c]",
                "accept": ["peek.1d %f1, [%rd1, {%r1}]"],
                "reject": ["PTX0203: peek %f1, [%rd1, {%r1}]"],
            }
        ],
    }
    load_instructions(table, {"instruction": [row]}, "made_up.toml")
    form = table.forms[-1]
    assert names_sampler(form)
    assert not names_sampler(table.forms[0])
    unified, independent = Fitter(table, form), Fitter(table, form, INDEPENDENT)
    assert unified.full({"geom": "1d"}) == ["%f8", "[%ud16, {%s24}]"]
    assert independent.plain({"geom": "1d"}) == ["%f8", "[%ud16, %ud24, {%s32}]"]
    variants = {tuple(v) for v in unified.variants({"geom": "2d"})}
    assert ("%f8", "[%ud16, {1, 1}]") in variants


def test_a_cover_uses_every_word(table: Table) -> None:
    used = {word for bound in cover(table.forms[0], always) for word in bound.values()}
    assert used == {"global", "shared", "v2", "v4", "hint", "u32", "f64"}


def test_mutations_take_one_step(table: Table) -> None:
    form = table.forms[0]
    lines = {made.text for made in Mutator(table).mutations(form, always, 100_000)}
    base = instance(form, {"type": "u32"}, Fitter(table, form).plain({"type": "u32"})).text
    assert base == "frob.u32 %u8, [%rd16]"
    for expected in (
        "frob %u8, [%rd16]",  # dropped
        "frob.u32.u32 %u8, [%rd16]",  # doubled
        "frob.f64 %u8, [%rd16]",  # replaced
        "frob.u32 %ud8, [%rd16]",  # another width
        "frob.u32 %u8",  # another count
        "frob.u32 _, [%rd16]",  # a sink
        "frob.u32 %u8, [%rd16], 3",  # below the range
        "frob.u32 %u8, [%rd16], 17",  # above it
    ):
        assert expected in lines, expected


def test_a_product_ignores_rules(table: Table) -> None:
    form = table.forms[0]
    lines = [made.text for made in Product(table, form, [form]).instances(10_000, 0)]
    assert len(lines) == 3 * 3 * 2 * 2
    assert "frob.shared.v4.hint.f64 {%fd8, %fd9, %fd10, %fd11}, [%r16], %ud24" in lines


def test_names_select(table: Table) -> None:
    form = table.forms[0]
    assert is_named(form, [])
    assert is_named(form, ["frob"])
    assert is_named(form, ["made_up"])
    assert not is_named(form, ["fro", "frob.global"])


def test_a_template_becomes_a_line() -> None:
    body = (
        '"mov.b64 {%0, %1}, %2; // 1. \\n\\t" "bar.sync %%%3;" : "=r"(a), "=r"(b) : "l"(c), "n"(d)'
    )
    assert cccl.template(body) == "mov.b64 {%r1, %r2}, %rd1; bar.sync %0"


def test_examples_of_a_manual_are_found(table: Table, tmp_path: Path) -> None:
    (tmp_path / "frob.md").write_text(
        "Syntax\n\nfrob.type d, [a];\n\nExamples\n\n@p  frob.global.u32  x, [y+4]; // comment\n"
        "other.u32 x;\n\nNotes\n\nfrob.f64 a, [b];\n"
    )
    assert list(manual.examples(tmp_path, table)) == [
        "frob.global.u32 %u8, [%rd16]",
        "frob.global.u32 %u8, [%rd16], %u24",
    ]


def test_a_batch_declares_what_it_names() -> None:
    text, first = module(Machine("sm_90a", "8.0"), ["ret", "call func0"])
    lines = text.split("\n")
    assert lines[first - 1 : first + 1] == ["{ ret; }", "{ call func0; }"]
    assert ".func func0" in text
    assert "tex0" not in text
    assert ".b128" not in text
    lines = ["txq.filter_mode.b32 %r1, [samp0]"]
    assert "samplerref" not in module(Machine("sm_90a"), lines)[0]
    text, _ = module(Machine("sm_90a", texmode=INDEPENDENT), lines)
    assert ".target sm_90a, texmode_independent\n" in text
    assert ".samplerref samp0;" in text


def test_the_ledger_covers_only_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "ledger.toml"
    path.write_text('[[entry]]\nline = "^frob"\nours = "PTX0203"\nreason = "why"\n')
    entry: Entry = load_ledger(path)[0]
    machine = Machine("sm_90a")
    assert entry.covers(Difference("frob.u32", machine, "PTX0203 no", ""))
    assert not entry.covers(Difference("frob.u32", machine, "PTX0204 no", ""))
    assert not entry.covers(Difference("frob.u32", machine, "", "error"))
    assert not entry.covers(Difference("a.frob", machine, "PTX0203 no", ""))
    load_ledger(ROOT / "tools/certify/ledger.toml")


class Judge:
    """A stand-in for either judge: refuses the lines it is given, some only in the end."""

    def __init__(self, refused: set[str], late: set[str] | None = None) -> None:
        self.refused = refused
        self.late = late or set()

    def judge(self, lines: list[str], _: Machine) -> list[str]:
        return ["PTX0203 no" if line in self.refused else "" for line in lines]

    def assemble(self, lines: list[str], _: Machine) -> list[str]:
        return ["late" if line in self.late else "" for line in lines]


def comparison(ptxas: Judge, verdict: Judge, ledger: list[Entry]) -> Comparison:
    return Comparison(cast(Ptxas, ptxas), cast(Verdict, verdict), ledger)


def test_code_generation_is_asked_where_only_we_refuse() -> None:
    judges = comparison(Judge({"a"}, late={"b", "d"}), Judge({"a", "b", "c"}), [])
    lines = ["a", "b", "c", "d"]
    assert judges.accepted(lines, Machine("sm_90a")) == [False, False, True, True]
    figures = judges.run("made up", lines, Machine("sm_90a"))
    assert (figures.agreed, figures.late) == (3, 1)
    assert [d.line for d in figures.unknown] == ["c"]


def entry(line: str, ours: str = "PTX0203", target: str = "") -> Entry:
    return Entry(re.compile(line), re.compile(target), ours, "why")


def test_an_entry_that_covers_nothing_is_not_used(table: Table) -> None:
    used, agreed, late = entry("^b"), entry("^a"), entry("^c")
    judges = comparison(Judge({"a"}, late={"c"}), Judge({"a", "b", "c"}), [used, agreed, late])
    session = Session(table, table.forms, [], judges, 0, None)
    session.compare("made up", ["a", "b", "c"], Machine("sm_90a"))
    assert judges.used == {used}
    assert finish(session.figures, 3, is_all=False) == 0


def test_an_entry_is_for_its_targets_only() -> None:
    only = entry("^b", target="^sm_[78]")
    difference = Difference("b", Machine("sm_80"), "PTX0203 no", "")
    assert only.covers(difference)
    assert not only.covers(replace(difference, machine=Machine("sm_90a")))


def test_tasks_cover_every_form_on_every_machine_once(table: Table) -> None:
    seen: dict[tuple[str, str], list[str]] = {}
    for task in tasks(SUITES, Selection(Path("isa"), table.forms, [], 0, None)):
        for machine in map(str, task.machines or ("all",)):
            seen.setdefault((task.suite, machine), []).extend(task.forms)
    everything = sorted(form.where for form in table.forms)
    for (suite, _), forms in seen.items():
        if suite not in ("modules", "manual", "cccl"):
            assert sorted(forms) == everything
    assert {suite for suite, _ in seen} == set(SUITES)


def test_a_report_groups_by_family() -> None:
    machine = Machine("sm_90a")
    differences = [
        Difference("ld.u32 %r1", machine, "PTX0203 no", ""),
        Difference("ld.u64 %r1", machine, "PTX0203 no", ""),
        Difference("cp.async.x %r1", machine, "", "bad 'x'"),
    ]
    text = report(differences, shown=1)
    assert text.startswith("ld: 2 x we refuse with PTX0203, ptxas accepts")
    assert "cp.async: 1 x we accept, ptxas: bad '..'" in text
