# SPDX-License-Identifier: Apache-2.0
"""The schedules on which a correct kernel has to be found correct."""

from __future__ import annotations

import warnings
from typing import Any

from pyptx import EmulatorWarning

COMPLETIONS = ("latest", "earliest", "random")
# 34 seeds by three completion policies: at least a hundred schedules.
SCHEDULES = [(seed, completion) for seed in range(34) for completion in COMPLETIONS]
FEW = SCHEDULES[:4]  # for a kernel that differs from another one in nothing that threads share


def emulated(kernel: Any, *inputs: Any, schedules: Any = SCHEDULES, **options: Any) -> Any:
    """Return what a kernel gives on some schedules, with all checks: always the same bits."""
    import torch

    first: Any = None
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmulatorWarning)
        for seed, schedule in schedules:
            found = kernel.emulate(*inputs, seed=seed, schedule=schedule, **options)
            results = found if isinstance(found, tuple) else (found,)
            first = results if first is None else first
            for left, right in zip(first, results, strict=True):
                same = torch.equal(left.view(torch.uint8), right.view(torch.uint8))
                assert same, f"other bits with seed {seed}, {schedule}"
    return first if len(first) > 1 else first[0]
