# SPDX-License-Identifier: Apache-2.0
"""Compiles what a run needs in many processes, into the disk caches of pyptx, torch and Triton.

A process measures nothing, and what fails here fails again where it is measured.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from functools import cache
from typing import Any

SETTINGS = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "OMP_NUM_THREADS": "1"}


@cache
def _cases(device: str, quick: bool) -> dict[str, Any]:
    from kernels import all_cases

    return {case.name: case for case in all_cases(device, quick)}


def build(job: tuple[str, str, bool]) -> None:
    """Call the arms of a case that are compiled, once."""
    import torch
    from kernel_cases import BUILT, Inputs

    name, device, quick = job
    case = _cases(device, quick)[name]
    inputs = case.inputs(Inputs(device, 1))
    for arm in BUILT:
        if arm in case.arms:
            try:
                case.arms[arm](*inputs)()
                torch.cuda.synchronize()
            except Exception:  # it is reported by the run that measures
                continue
    del inputs
    torch.cuda.empty_cache()


def build_all(names: Sequence[str], device: str, quick: bool, jobs: int, seconds: float) -> float:
    """Build the cases in `jobs` processes; give up after so many seconds. Return what it took."""
    started = time.monotonic()
    os.environ.update(SETTINGS)
    context = multiprocessing.get_context("spawn")
    with context.Pool(min(jobs, len(names))) as pool:  # leaving it ends the processes
        done = pool.imap_unordered(build, [(name, device, quick) for name in names])
        for _ in names:
            left = seconds - (time.monotonic() - started)
            try:
                done.next(timeout=max(left, 0.001))
            except multiprocessing.TimeoutError:
                break
    return time.monotonic() - started
