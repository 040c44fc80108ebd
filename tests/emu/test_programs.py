# SPDX-License-Identifier: Apache-2.0
"""Random programs against an H200: a hash of what each leaves behind.

``python -m record.programs compare 0 20000`` compares more of them on a machine with a GPU.
"""

from __future__ import annotations

import pytest

from record.programs import golden
from record.programs.generate import generate
from record.run import on_emulator

GROUP = 60
# The recording machine's ptxas, 13.0, does not make of every program what it says: see
# docs/emulator/numbers.md. Of 22,999 programs 110 differ; of the stored ones, these:
DIFFERENT = {65}


@pytest.mark.parametrize("first", range(0, len(golden.read()), GROUP))
def test_results_are_those_of_an_h200(first: int):
    known = golden.read()[first : first + GROUP]
    wrong = [
        first + number
        for number, expected in enumerate(known)
        if first + number not in DIFFERENT
        and golden.answer(first + number, on_emulator) != expected
    ]
    assert not wrong, f"python -m record.programs show {wrong[0]}"


def test_enough_programs_are_stored():
    assert len(golden.read()) >= 500


def test_one_changed_bit_is_noticed():
    results = on_emulator(golden.launch_of(generate(0)))[1]
    before = golden.hash_of(results)
    results[len(results) // 2] ^= 1
    assert golden.hash_of(results) != before == golden.read()[0]


@pytest.mark.parametrize("seed", range(24))
def test_programs_have_no_races(seed: int):
    launch = golden.launch_of(generate(seed))
    one = on_emulator(launch, checks="races", schedule="random", seed=seed)
    assert golden.hash_of(one[1]) == golden.answer(seed, on_emulator)
