# SPDX-License-Identifier: Apache-2.0
"""Approximate functions against an H200: hashes of its answers, block by block of inputs.

Every function of f32 is tried on 2^16 inputs of each sign and exponent, the half formats on all;
``python -m record.functions check --all`` tries all inputs of all forms.
"""

from __future__ import annotations

import numpy as np
import pytest

from record.functions import fit, golden
from record.functions.kernels import FORMS, Form, answering
from record.functions.tables import text_of
from record.run import on_emulator
from support.tree import ROOT


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_answers_are_those_of_an_h200(form: Form):
    known = golden.read(golden.PATH)[form.name]
    assert golden.wrong_samples(form, known, on_emulator) == []


def test_another_answer_is_noticed():
    form = next(form for form in FORMS if form.name == "tanh.approx.f32")
    known = golden.read(golden.PATH)["rcp.approx.f32"]
    assert len(golden.wrong_samples(form, known, on_emulator)) > golden.SAMPLES // 2


def test_a_table_is_found_in_the_answers_that_it_gives():
    """The fit undoes what the emulator does with a table."""

    def answers(name: str, start: int, stride: int, count: int):
        form = next(form for form in FORMS if form.name == name)
        return on_emulator(answering(form, start, stride, count))[0].view(np.uint32)

    text = text_of([fit.ex2(answers)])
    rows = text[text.index("struct") : text.index("\n}  // namespace")]
    header = ROOT / "src/emu/numerics/special_function_tables.h"
    assert rows in header.read_text()
