# SPDX-License-Identifier: Apache-2.0
"""The Blackwell GEMM on the emulator, with tcgen05 written out.

Everything else is the example's own: tensor maps, copies of both CTAs of a pair, the barriers of
the ring across them, tails, the rows that each thread reads, epilogue. The orders that hardware
takes tcgen05 in, and its fences, are not proven here.
"""

from __future__ import annotations

import pytest

from example_modules import example
from pyptx import EmulatorError
from written_out_tcgen05 import with_tensor_memory

torch = pytest.importorskip("torch")

gemm = example("blackwell/gemm")


def product(m: int, n: int, k: int, ctas: int, completion: str = "latest") -> float:
    """The largest error of C, over its largest element."""
    a, b = (torch.randn(rows, k).bfloat16() for rows in (m, n))
    expected = gemm.reference(a, b)
    # The stand-ins read by the generic proxy what tcgen05 reads by the asynchronous one.
    c = gemm.build_gemm(ctas=ctas).emulate(a, b, completion=completion, checks="basic")
    return float((c - expected).abs().max() / expected.abs().max())


# More tiles along K than stages; tails of every kind; one CTA of a pair without rows; many CTAs.
SHAPES = [(200, 137, 200), (128, 96, 128), (1, 1, 8), (260, 264, 64)]


@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_product(m: int, n: int, k: int, ctas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "ptx", with_tensor_memory())
    monkeypatch.setattr(gemm, "STAGES", 2)  # what is left beside the stand-in for tensor memory
    assert product(m, n, k, ctas) < 1e-5


@pytest.mark.parametrize("ctas", [1, 2])
def test_copies_that_land_at_once(ctas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that is filled before it has been read would show here."""
    monkeypatch.setattr(gemm, "ptx", with_tensor_memory())
    monkeypatch.setattr(gemm, "STAGES", 2)
    assert product(40, 40, 256, ctas, completion="earliest") < 1e-5


def test_a_commit_that_misses_a_cta_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = with_tensor_memory()
    whole = ours.tcgen05.commit
    ours.tcgen05.commit = lambda *a, multicast_mask, **o: whole(*a, multicast_mask=1, **o)
    monkeypatch.setattr(gemm, "ptx", ours)
    monkeypatch.setattr(gemm, "STAGES", 2)
    with pytest.raises(EmulatorError):
        product(128, 128, 256, 2)


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
