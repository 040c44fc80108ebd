# SPDX-License-Identifier: Apache-2.0
"""The Ampere GEMM on the emulator: copies, tails, ring, swizzle, ldmatrix, mma, epilogue."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from pyptx import EmulatorError
from support.example_modules import example
from support.packages import need

torch = need("torch")

gemm = example("ampere/gemm")


def product(m: int, n: int, k: int, **options: str) -> float:
    """The largest error of C, over its largest element."""
    a, b = (torch.randn(rows, k).bfloat16() for rows in (m, n))
    expected = gemm.reference(a, b)
    c = gemm.build_gemm().emulate(a, b, **options)
    return float((c - expected).abs().max() / expected.abs().max())


# Whole tiles; more tiles than stages; tails of every kind, also below one copy's 64 rows.
SHAPES = [(128, 128, 32), (128, 128, 192), (100, 72, 40), (130, 129, 136), (1, 1, 8), (37, 6, 72)]


@pytest.mark.parametrize("schedule", ["earliest", "latest"])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product(m: int, n: int, k: int, schedule: str) -> None:
    """Copies that land at once show a stage filled too early, late ones a wait that is missing."""
    assert product(m, n, k, schedule=schedule) < 1e-5


@pytest.mark.parametrize("core", ["ampere", "hopper", "target"])
def test_product_with_the_sums_of_a_tensor_core(core: str) -> None:
    """They cut where f32 rounds: further from float64, and not by much."""
    assert 1e-8 < product(100, 72, 200, numerics="exact", tensor_core=core) < 1e-4


def test_generations_add_differently() -> None:
    a, b = (torch.randn(rows, 128).bfloat16() for rows in (128, 64))
    kernel = gemm.build_gemm()
    ampere, hopper, again = (
        kernel.emulate(a, b, numerics="exact", tensor_core=core)
        for core in ("ampere", "hopper", "target")
    )
    assert not torch.equal(ampere, hopper)
    assert torch.equal(ampere, again)  # the kernel is for sm_80


def test_unknown_numerics_are_refused() -> None:
    with pytest.raises(ValueError, match="numerics is"):
        product(128, 128, 32, numerics="precise")
    with pytest.raises(ValueError, match="tensor_core is"):
        product(128, 128, 32, tensor_core="maxwell")


def test_a_missing_wait_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "ptx", SimpleNamespace(**vars(gemm.ptx)))
    copies = SimpleNamespace(**vars(gemm.ptx.cp.async_))
    wait = copies.wait_group
    copies.wait_group = lambda groups: wait(groups + 1)
    monkeypatch.setattr(gemm.ptx, "cp", SimpleNamespace(async_=copies))
    with pytest.raises(EmulatorError, match="PTX0917"):
        product(128, 128, 192)


def test_a_wrong_fragment_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with the halves of A's columns exchanged."""

    multiply = gemm.multiply

    def exchanged(d: list[Any], a: list[Any], b: list[Any]) -> None:
        multiply(d, [a[2], a[3], a[0], a[1]], b)

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
