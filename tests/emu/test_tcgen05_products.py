# SPDX-License-Identifier: Apache-2.0
"""tcgen05.mma of every kind on the emulator, against products made with NumPy from the layouts of
the PTX manual. Values are chosen so that every sum is exact: the comparison is of bits.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.tcgen05_products import (
    CASES,
    TYPES,
    Bench,
    Case,
    check_product,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_product(case: Case) -> None:
    check_product(case)


@pytest.mark.parametrize("schedule", ["earliest", "random"])
def test_a_product_is_the_same_on_every_schedule(schedule: str) -> None:
    bench = Bench(Case("f16", "f16", "f16", m=256, n=64, ctas=2))
    wanted = bench.expected(bench.product())
    np.testing.assert_array_equal(bench.result(schedule=schedule, seed=5), wanted)


@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4"])
def test_exact_sums_stay_exact(kind: str) -> None:
    """The model of the hardware agrees where nothing is lost."""
    bench = Bench(Case(kind, *TYPES.get(kind, ("e4m3", "e5m2"))))
    wanted = bench.expected(bench.product())
    np.testing.assert_array_equal(bench.result(numerics="exact"), wanted)
