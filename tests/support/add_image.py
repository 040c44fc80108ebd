# SPDX-License-Identifier: Apache-2.0
"""A hand-written kernel that adds vectors, as an image."""

from __future__ import annotations

from pyptx import _core
from support.tree import TESTS

ADD = (TESTS / "data" / "add.ptx").read_text()


def add_plan(n: int) -> _core.LaunchPlan:
    """The launch of ADD on n elements."""
    plan = _core.LaunchPlan("kernel", ((n + 63) // 64, 1, 1), (64, 1, 1), tensor_count=3)
    for tensor in range(3):
        plan.add_pointer(tensor)
    plan.add_scalar(n, 4)
    return plan


def add_image(n: int) -> _core.KernelImage:
    """ADD, bound to n elements."""
    return _core.KernelImage(ADD, "sm_90a", add_plan(n))
