# SPDX-License-Identifier: Apache-2.0
"""The Blackwell GEMM on the emulator, against float64, with every check on."""

from __future__ import annotations

from typing import Any

import pytest

from pyptx import EmulatorError, ptx
from support.example_modules import example
from support.packages import need

torch = need("torch")

gemm = example("blackwell/gemm")


def product(m: int, n: int, k: int, ctas: int, **options: Any) -> float:
    """The largest error of C, over its largest element."""
    a, b = (torch.randn(rows, k).bfloat16() for rows in (m, n))
    expected = gemm.reference(a, b)
    c = gemm.build_gemm(ctas=ctas).emulate(a, b, **options)
    return float((c - expected).abs().max() / expected.abs().max())


# More tiles along K than stages; tails of every kind; one CTA of a pair without rows; many CTAs.
SHAPES = [(200, 137, 600), (128, 96, 128), (1, 1, 8), (260, 264, 64)]


@pytest.mark.parametrize("schedule", ["latest", "earliest", "random"])
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product(m: int, n: int, k: int, ctas: int, schedule: str) -> None:
    assert product(m, n, k, ctas, schedule=schedule, seed=1) < 1e-5


@pytest.mark.parametrize("ctas", [1, 2])
def test_product_as_hardware_adds(ctas: int) -> None:
    assert product(200, 137, 200, ctas, numerics="exact") < 1e-4


def test_a_commit_that_misses_a_cta_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ptx.tcgen05.commit
    monkeypatch.setattr(
        ptx.tcgen05, "commit", lambda *a, multicast_mask, **o: whole(*a, multicast_mask=1, **o)
    )
    with pytest.raises(EmulatorError):
        product(128, 128, 512, 2)


@pytest.mark.parametrize("ctas", [1, 2])
def test_text_allocates_commits_and_frees_for_the_same_ctas(ctas: int) -> None:
    text = gemm.build_gemm(ctas=ctas).ptx(M=256, N=256, K=256)
    group = f".cta_group::{ctas}"
    for opcode, count in (("alloc", 1), ("relinquish_alloc_permit", 1), ("dealloc", 1), ("mma", 4)):
        assert text.count(f"tcgen05.{opcode}{group}") == count
    assert text.count("tcgen05.commit") == text.count(f"tcgen05.commit{group}") == 2
    pair = ctas == 2
    assert text.count(".multicast::cluster.b64") == (2 if pair else 0)
    # Before the allocation, which is collective, before the work, and before the CTAs end.
    assert text.count("barrier.cluster.wait") == (3 if pair else 0)
    assert not pair or text.index("barrier.cluster.wait") < text.index("tcgen05.alloc")
    assert text.count(f"complete_tx::bytes{group}") == (2 if pair else 0)


def test_other_numbers_of_ctas_are_refused() -> None:
    with pytest.raises(ValueError, match="one CTA or a pair"):
        gemm.build_gemm(ctas=4)
