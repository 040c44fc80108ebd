# SPDX-License-Identifier: Apache-2.0
"""What a type checker sees: legal instructions and the examples pass, mistakes do not.

One run of mypy reads everything, since reading the stubs is most of its time.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from certify.instance import modifiers_of
from certify.legal import always, spellings
from isagen.automaton import Automaton
from isagen.committed import stale
from isagen.inst_stubs import inst_stubs, python_name
from isagen.model import load
from support.packages import need
from support.stub_programs import legal_program, wrong_program
from support.tree import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
CONFIG = f"""[mypy]
python_version = 3.11
mypy_path = {ROOT / "python"}
check_untyped_defs = True
incremental = False
[mypy-numpy.*,torch.*,jax.*]
follow_imports = skip
follow_imports_for_stubs = True
ignore_missing_imports = True
"""

# Each line says what the checker must say of it.
MISTAKES = """
from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import bf16, f32, u32

def mistakes() -> None:
    x = reg.scalar(f32)
    p = reg.scalar(u32) < 4
    acc = reg.wgmma_frag(m=64, n=64, dtype=f32)
    tile = smem.alloc(bf16, (64, 64))
    place = ptx.addr(x)
    ptx.inst.ld.global_.f32(x, place, pred=~p)
    ptx.inst.ld.global_.f99(x, place)  # error: attr-defined
    ptx.inst.ld.f32.global_(x, place)  # error: attr-defined
    ptx.inst.ld.global_(x, place)  # error: operator
    ptx.inst.ldd.global_.f32(x, place)  # error: attr-defined
    ptx.inst.ld.global_.f32(x)  # error: call-arg
    ptx.inst.ld.global_.f32(x, place, place, place)  # error: call-arg
    ptx.inst.ld.global_.f32(x, x)  # error: arg-type
    ptx.inst.ld.global_.v2.f32(x, place)  # error: arg-type
    ptx.inst.ld.shared.L1__no_allocate.f32(x, place)  # error: attr-defined
    ptx.inst.ld.global_.f32(x, place, guard=p)  # error: call-arg
    ptx.inst.ld.global_.f32(x, place, pred=1)  # error: arg-type
    ptx.inst.fma.f32(x, x, x, x)  # error: attr-defined
    ptx.inst.fma.rn.f32(x, x, x)  # error: call-arg
    ptx.inst.add.rn.s32(x, x, x)  # error: attr-defined
    ptx.inst.setp.lt.f32(x, 1.0)  # error: call-arg
    ptx.inst.wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.f16(acc)  # error: attr-defined
    ptx.inst.bar.sync(tile)  # error: arg-type
    ptx.special.tid.w()  # error: attr-defined
    ptx.special.threadid()  # error: attr-defined
    ptx.bar.sync(0, counts=32)  # error: call-arg
    ptx.wgmma.mma_async(shape=(64, 64, 16), d=acc, a=tile, b=tile)  # error: call-arg
    ptx.wgmma.commit_groups()  # error: attr-defined
    ptx.cp.async_.bulk.tensor_2d(dst=tile, src=x, coords=(0, 0))  # error: call-arg
    reg.scalar(f32, initial=0.0)  # error: call-arg
    reg.scalar(32)  # error: arg-type
    smem.alloc(bf16)  # error: call-arg
    smem.mbarrier("full")  # error: arg-type
    kernel(block_size=(32, 1, 1))  # error: call-arg
    Tile(4, f32, layouts="row")  # error: call-arg
"""


def module_name(example):
    """Return a name of its own: several folders have a gemm.py."""
    return f"{example.parent.name}_{example.stem}"


def example_text(example):
    """Return the example with the modules beside it called by their names here."""

    def renamed(found):
        sibling = example.with_name(f"{found[1]}.py")
        return f"from {module_name(sibling)} import" if sibling in EXAMPLES else found[0]

    return re.sub(r"^from (\w+) import", renamed, example.read_text(), flags=re.M)


@pytest.fixture(scope="module")
def table():
    return load(ROOT / "isa")


@pytest.fixture(scope="module")
def checked(table, tmp_path_factory):
    """One run of mypy: errors by file, as (line, code)."""
    api = need("mypy.api")
    folder = tmp_path_factory.mktemp("stubs")
    legal, count = legal_program(table, 20)
    wrong, lines = wrong_program(table)
    programs = {"legal": legal, "wrong": wrong, "mistakes": MISTAKES}
    programs |= {module_name(path): example_text(path) for path in EXAMPLES}
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "mypy.ini").write_text(CONFIG)
    words = ["--config-file", str(folder / "mypy.ini"), "--hide-error-context"]
    output, failure, _ = api.run([*words, *(str(folder / f"{name}.py") for name in programs)])
    assert not failure
    found: dict[str, list[tuple[int, str]]] = {}
    for path, line, code in re.findall(r"^(.*?):(\d+): error: .*\[([\w-]+)\]$", output, re.M):
        found.setdefault(Path(path).stem, []).append((int(line), code))
    return {"errors": found, "output": output, "calls": count, "wrong lines": lines}


def test_what_is_committed_is_what_the_table_says(table):
    assert stale(ROOT / "python" / "pyptx" / "_inst", inst_stubs(table), "*.pyi") == []


def test_the_automaton_takes_exactly_the_legal_spellings(table):
    opcodes: dict[str, list] = {}
    for form in table.forms:
        opcodes.setdefault(form.opcode, []).append(form)
    del opcodes["ld"], opcodes["st"], opcodes["cp"]  # too many to list here
    for opcode, forms in opcodes.items():
        automaton = Automaton(table, forms, lambda form, bound: ("end",))
        taken = set()
        waiting = [(automaton.start, ())]
        while waiting:
            state, words = waiting.pop()
            if automaton.states[state].ends:
                taken.add(words)
            waiting += [(to, (*words, word)) for word, to in automaton.states[state].words]
        legal = {modifiers_of(form, b) for form in forms for b in spellings(form, always)}
        assert taken == legal, opcode


def test_legal_instructions_pass(checked):
    assert checked["calls"] > 8000
    said = [line for line in checked["output"].splitlines() if "legal.py" in line]
    assert "legal" not in checked["errors"], said[:20]


def test_misspelled_instructions_do_not(checked):
    flagged = {line for line, _ in checked["errors"]["wrong"]}
    assert sorted(flagged) == checked["wrong lines"]
    codes = Counter(code for _, code in checked["errors"]["wrong"])
    assert codes["attr-defined"] >= 2 * 550  # a modifier that is none, an opcode that is none
    assert codes["call-arg"] + codes["call-overload"] >= 2 * 550


def test_each_mistake_is_refused_for_its_reason(checked):
    expected = {
        number: found[1]
        for number, line in enumerate(MISTAKES.splitlines(), 1)
        if (found := re.search(r"# error: ([\w-]+)$", line))
    }
    assert len(expected) >= 25
    # The first of a line: one mistake may be an error in two arguments.
    assert dict(reversed(checked["errors"]["mistakes"])) == expected


@pytest.mark.parametrize("example", [module_name(path) for path in EXAMPLES])
def test_examples_pass(checked, example):
    said = [line for line in checked["output"].splitlines() if f"{example}.py" in line]
    assert example not in checked["errors"], said


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("global", "global_"),
        ("shared::cta", "shared__cta"),
        ("2d", "_2d"),
        ("mbarrier::complete_tx::bytes", "mbarrier__complete_tx__bytes"),
        ("f32", "f32"),
        ("sp::2:4", "sp__2_4"),
    ],
)
def test_names(word, name):
    assert python_name(word) == name
