# SPDX-License-Identifier: Apache-2.0
"""The Ampere GEMM on the emulator, with mma written out.

Everything else is the example's own: copies, tails, ring, swizzle, ldmatrix, epilogue.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from example_modules import example
from written_out_mma import multiply_written_out

torch = pytest.importorskip("torch")

gemm = example("ampere/gemm")


def product(m: int, n: int, k: int, completion: str = "latest") -> float:
    """The largest error of C, over its largest element."""
    a, b = (torch.randn(rows, k).bfloat16() for rows in (m, n))
    expected = gemm.reference(a, b)
    c = gemm.build_gemm().emulate(a, b, completion=completion)
    return float((c - expected).abs().max() / expected.abs().max())


# Whole tiles; more tiles than stages; tails of every kind, also below one copy's 64 rows.
SHAPES = [(128, 128, 32), (128, 128, 192), (100, 72, 40), (130, 129, 136), (1, 1, 8), (37, 6, 72)]


@pytest.mark.parametrize("completion", ["earliest", "latest"])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product(m: int, n: int, k: int, completion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies that land at once show a stage filled too early, late ones a wait that is missing."""
    monkeypatch.setattr(gemm, "multiply", multiply_written_out)
    assert product(m, n, k, completion) < 1e-5


def test_a_missing_wait_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "multiply", multiply_written_out)
    monkeypatch.setattr(gemm, "ptx", SimpleNamespace(**vars(gemm.ptx)))
    copies = SimpleNamespace(**vars(gemm.ptx.cp.async_))
    wait = copies.wait_group
    copies.wait_group = lambda groups: wait(groups + 1)
    monkeypatch.setattr(gemm.ptx, "cp", SimpleNamespace(async_=copies))
    assert not product(128, 128, 192) < 0.01


def test_a_wrong_fragment_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the halves of A's columns exchanged."""

    def exchanged(d: list[Any], a: list[Any], b: list[Any]) -> None:
        multiply_written_out(d, [a[2], a[3], a[0], a[1]], b)

    monkeypatch.setattr(gemm, "multiply", exchanged)
    assert product(128, 128, 32) > 0.1


def test_k_must_fill_a_copy() -> None:
    with pytest.raises(ValueError, match="multiple of 8"):
        gemm.build_gemm().ptx(M=128, N=128, K=36)


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("side", [gemm.lane_of_a, gemm.lane_of_b])
def test_ldmatrix_is_free_of_bank_conflicts(side: Any, step: int) -> None:
    """Eight lanes read one 8 x 8 matrix at once: their rows of 16 bytes must fill all 32 banks."""
    for first in range(0, 32, 8):
        offsets = [gemm.tile_offset(*side(lane)) ^ 32 * step for lane in range(first, first + 8)]
        assert sorted(offset % 128 // 16 for offset in offsets) == list(range(8))


def test_copies_are_free_of_bank_conflicts() -> None:
    """Eight threads write 128 bytes at once."""
    for first in range(0, gemm.THREADS, 8):
        threads = range(first, first + 8)
        offsets = [gemm.tile_offset(thread >> 2, thread & 3) for thread in threads]
        assert sorted(offset % 128 // 16 for offset in offsets) == list(range(8))


def test_text_copies_ahead_and_guards_only_tails() -> None:
    whole, tails = (gemm.build_gemm().ptx(M=m, N=m, K=m) for m in (256, 200))
    assert not re.search(r"cp\.async\.cg\S* \[[^]]*\], \[[^]]*\], 16, %r", whole)
    assert re.search(r"cp\.async\.cg\S* \[[^]]*\], \[[^]]*\], 16, %r", tails)
    assert "cp.async.wait_group 2" in whole
    assert whole.count("mma.sync") == 32
