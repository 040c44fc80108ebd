# SPDX-License-Identifier: Apache-2.0
"""The emulator against worked results; and every form that it runs has a vector."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pyptx import EmulatorError
from pyptx.kernel import Kernel
from pyptx.types import f32
from record.cases import table
from record.coverage import ELSEWHERE
from record.examples import example
from record.forms import forms_in, recorded_forms, worked_forms, worked_in, worked_sets
from record.run import on_emulator
from support import tcgen05_moves as moves
from support import tcgen05_products as products
from support import tcgen05_scales as scales

MOST_SHOWN = 20
PAIRS = [(one, target) for one in worked_sets() for target in one.targets]


@pytest.mark.parametrize(("one", "target"), PAIRS, ids=lambda it: getattr(it, "name", it))
def test_the_emulator_gives_the_worked_bits(one, target):
    wrong = []
    for worked in worked_in(one, target):
        (part,) = worked.launch.parts
        if worked.code:
            with pytest.raises(EmulatorError, match=worked.code):
                on_emulator(worked.launch)
            continue
        got = part.of(on_emulator(worked.launch))
        rows = np.flatnonzero((got != worked.expected).any(axis=1))
        if rows.size:
            case = int(rows[0])
            pair = [row[case].tobytes()[::-1].hex() for row in (worked.expected, got)]
            wrong.append(
                f"{part.key}: {part.describe(case)}\n  expected {pair[0]}\n  got      {pair[1]}"
            )
    assert not wrong, "\n".join(wrong[:MOST_SHOWN])


def test_every_form_that_runs_has_a_vector():
    known = recorded_forms() | worked_forms()
    missing = [
        form.where
        for number, form in enumerate(table().forms)
        if form.sem and number not in known and form.file not in ELSEWHERE
    ]
    assert not missing, f"{len(missing)} forms without a vector:\n" + "\n".join(missing)


def test_every_form_of_tensor_memory_runs_in_the_tests_that_hold_it_to_numpy(monkeypatch):
    """One case of each sort is run again, and the forms of its text count."""
    texts: set[str] = set()
    emulate = Kernel.emulate

    def noted(kernel, *arguments, **options):
        texts.add(kernel.ptx())
        return emulate(kernel, *arguments, **options)

    monkeypatch.setattr(Kernel, "emulate", noted)
    sorts = {(c.ws, c.a_in_tensor_memory, "scale_d" in c.options): c for c in products.CASES}
    for case in sorts.values():
        products.check_product(case)
    for case in {c.a_in_tensor_memory: c for c in scales.CASES}.values():
        scales.check_scaled_product(case, "fast")
    scales.check_copy(*scales.COPIES[0], "none", None, 1)
    for shape, is_load in itertools.product(("32x32b", "16x32bx2"), (True, False)):
        moves.check_move(shape, 2, False, is_load)
    moves.check_reducing_load("min", f32, {})
    # What test_blackwell_gemm.py compares with float64.
    texts.add(example("blackwell/gemm").build_gemm(ctas=1).ptx(M=128, N=96, K=128))
    seen = set().union(*map(forms_in, texts))
    forms = enumerate(table().forms)
    here = [(n, form) for n, form in forms if form.sem and form.file in ELSEWHERE]
    assert not [form.where for number, form in here if number not in seen]
