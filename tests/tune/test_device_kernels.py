# SPDX-License-Identifier: Apache-2.0
"""What the tuner does to memory of the device, on the emulator: every byte, and no other."""

from __future__ import annotations

import numpy as np
import pytest

from pyptx._tune.device_kernels import VECTOR, differ, fill, grid_over

BYTES = grid_over(1)[0] * 256 * 4 * VECTOR  # of a CTA
SIZES = [VECTOR, BYTES - VECTOR, BYTES, BYTES + VECTOR]


def test_the_grid_covers_the_bytes() -> None:
    assert [grid_over(size)[0] for size in (*SIZES, 3 * BYTES)] == [1, 1, 1, 2, 3]


@pytest.mark.parametrize("size", SIZES[1:3])
def test_fill_writes_so_many_vectors(size: int) -> None:
    buffer = np.zeros(BYTES // 4, "u4")
    fill.launch(buffer, word=0xFFFFFFFF, vectors=size // VECTOR, device="cpu")
    assert (buffer[: size // 4] == 0xFFFFFFFF).all()
    assert (buffer[size // 4 :] == 0).all()


@pytest.mark.parametrize("size", SIZES[:3])
def test_differ_sees_every_word(size: int) -> None:
    left = np.random.default_rng(0).integers(0, 1 << 32, BYTES // 4, "u4")
    for place in {0, size // 8, size // 4 - 1, size // 4, BYTES // 4 - 1}:
        right, found = left.copy(), np.zeros(4, "u4")
        if place < len(right):
            right[place] ^= 1 << 31
        differ.launch(left, right, found, word=1, vectors=size // VECTOR, device="cpu")
        assert bool(found.any()) == (place < size // 4)
