# SPDX-License-Identifier: Apache-2.0
"""Whole kernels against float64: on the emulator, and what a GPU answered.

tests/emu/test_vectors.py compares the two with each other.
"""

from __future__ import annotations

import numpy as np
import pytest

from record import store
from record.run import on_emulator
from record.sets import SETS, attention
from record.sets.kernels import wholes
from support.tree import ROOT

KERNELS = SETS["kernels"]


def error(results, expected) -> float:
    """The largest difference, over the largest expected element."""
    scale = max(float(np.abs(expected).max()), 1e-30)
    return float(np.abs(results.reshape(-1).view(np.float32) - expected).max()) / scale


@pytest.mark.parametrize("target", KERNELS.targets)
def test_the_emulator_is_as_near_to_float64_as_stated(target: str) -> None:
    for whole, launch in zip(wholes(target), KERNELS.launches(target), strict=True):
        got = error(launch.parts[0].of(on_emulator(launch)), whole.reference().reshape(-1))
        assert got <= whole.error, f"{whole.key}: {got:.2e}"


@pytest.mark.parametrize("target", KERNELS.targets)
def test_the_gpu_is_as_near_to_float64_as_stated(target: str) -> None:
    path = ROOT / "tests/data/vectors" / store.file_name(KERNELS.name, target)
    recording = store.read(path)
    for whole, launch in zip(wholes(target), KERNELS.launches(target), strict=True):
        (part,) = launch.parts
        kept = np.frombuffer(recording.records[part.key].kept, np.uint8)
        expected = whole.reference().reshape(-1)
        scale = float(np.abs(expected).max())
        got = float(np.abs(kept.view(np.float32) - expected[part.kept()]).max()) / scale
        assert got <= whole.error, f"{whole.key}: {got:.2e}"


def test_flash_attention_is_as_near_to_float64_as_bf16_allows() -> None:
    """Its powers are rounded to eight bits before they are multiplied with the values."""
    for shape, launch in attention.shapes_and_launches("sm_80"):
        query, key, value, _ = launch.buffers
        expected = attention.expected(query, key, value, shape.is_causal).reshape(-1)
        got = error(launch.parts[0].of(on_emulator(launch)), expected)
        assert got <= 2.0**-9, f"{shape}: {got:.2e}"
