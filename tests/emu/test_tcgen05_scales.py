# SPDX-License-Identifier: Apache-2.0
"""tcgen05.mma with block scales, and tcgen05.cp, which brings them, against NumPy."""

from __future__ import annotations

import pytest

from pyptx import EmulatorError
from support.tcgen05_products import SCALE_COLUMNS, Case
from support.tcgen05_scales import CASES, COPIES, ScaledBench, check_copy, check_scaled_product


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_product(case: Case, numerics: str) -> None:
    check_scaled_product(case, numerics)


def test_scale_factors_that_were_not_copied_to_all_lanes_are_refused() -> None:
    bench = ScaledBench(Case("mxf8f6f4", "e4m3", "e4m3"))
    bench.tensor[0, 70, SCALE_COLUMNS[0]] ^= 1
    with pytest.raises(EmulatorError) as caught:
        bench.result()
    assert caught.value.diagnostics[0].code == "PTX0927"


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("source", [None, "b6x16_p32", "b4x16_p64"])
@pytest.mark.parametrize("swizzle", ["none", "32B", "128B"])
@pytest.mark.parametrize(("size", "multicast", "rows", "width"), COPIES)
def test_copy(
    size: str, multicast: str | None, rows: int, width: int, swizzle: str, source: str | None,
    ctas: int,
) -> None:  # fmt: skip
    check_copy(size, multicast, rows, width, swizzle, source, ctas)
