# SPDX-License-Identifier: Apache-2.0
"""Tensors for the row kernels, and how right a result has to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyptx.kernels import plans
from pyptx.types import bf16, f16, f32
from support import row_references as reference
from support.packages import need

torch = need("torch")


TYPES = {f32: torch.float32, bf16: torch.bfloat16, f16: torch.float16}


def named(plan: Any) -> str:
    kind = "streamed" if plan.stages else "once"
    return f"{plan.columns}-{plan.dtype.name}-{kind}-{plan.lanes}x{plan.groups}x{plan.ctas}"


@pytest.fixture(autouse=True)
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "FITTING", {1: 2, 2: 2, 4: 2, 8: 1})


def tensor(values: Any, dtype: Any) -> Any:
    return torch.from_numpy(np.asarray(values, dtype=np.float64)).to(TYPES[dtype])


def exact(value: Any) -> Any:
    return value.to(torch.float64).numpy()


def random(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


def close(got: Any, expected: Any, dtype: Any, factor: float = 1.0) -> None:
    """Each row within the tolerance of its largest element; NaN where NaN is expected."""
    got = exact(got)
    expected = np.asarray(expected)
    assert (np.isnan(got) == np.isnan(expected)).all()
    scale = np.abs(np.nan_to_num(expected)).max(-1, keepdims=True) + 1e-30
    error = np.nanmax(np.abs(got - expected) / scale, initial=0.0)
    assert error < factor * reference.TOLERANCE[dtype.name], error
