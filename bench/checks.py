# SPDX-License-Identifier: Apache-2.0
"""What race checks cost: every example's kernels on the emulator, plain and with checks.

    python bench/checks.py [--rounds 7] [--only PART-OF-A-NAME]

Processor time of one host thread (`threads=1`), the two kinds of run in turns in one process, the
first of each left out; the least of the rounds, since whatever else the machine does only adds. The
last column is the median over the rounds of the ratio of neighbours. Inputs are as a call gives
them: arrays and tensors, which the kernel may not write.

Goals: twice the plain time for an example, three times for a product in shared memory.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sgemm import build_sgemm

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
EXAMPLE_GOAL, SGEMM_GOAL = 2.0, 3.0
ROWS, COLUMNS = 64, 4096  # of what is normalised

Arm = tuple[str, Callable[[str], object], float]


def module_of(path: str) -> Any:
    """Load an example: several of them have the same name."""
    spec = importlib.util.spec_from_file_location(path.replace("/", "_"), EXAMPLES / f"{path}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arm(name: str, kernel: Any, *inputs: Any, goal: float = EXAMPLE_GOAL) -> Arm:
    """Return a run of the kernel on these inputs."""
    return name, lambda checks: kernel.emulate(*inputs, checks=checks, threads=1), goal


def row_arms() -> Iterator[Arm]:
    """Kernels of rows and of elements."""
    rng = np.random.default_rng(1)
    x, g = (rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) for _ in range(2))
    w, b = (rng.standard_normal(COLUMNS).astype(np.float32) for _ in range(2))
    long = rng.standard_normal(1 << 20).astype(np.float32)
    yield arm("vector_add", module_of("vector_add").vector_add, long, long)
    yield arm("hopper/swiglu", module_of("hopper/swiglu").build_swiglu(ROWS, COLUMNS), x, g)
    yield arm("hopper/softmax", module_of("hopper/softmax").build_softmax(ROWS, COLUMNS), x)
    layer, rms, rows = (module_of(f"hopper/{name}") for name in ("layer_norm", "rms_norm", "rows"))
    yield arm("hopper/layer_norm", layer.build_layer_norm(ROWS, COLUMNS), x, w, b)
    yield arm("hopper/rms_norm", rms.build_rms_norm(ROWS, COLUMNS), x, w)
    yield arm("hopper/rows (column sums)", rows.build_column_sums(ROWS, COLUMNS), x)
    for name, module in (("layer_norm", layer), ("rms_norm", rms)):
        # A function of two kernels: this is the one that goes over the rows.
        backward = getattr(module, f"build_{name}_backward")(ROWS, COLUMNS)
        kernel = inspect.getclosurevars(backward).nonlocals[f"{name}_backward"]
        yield arm(f"hopper/{name} (backward)", kernel, x, w, g)


def matrix_arms() -> Iterator[Arm]:
    """Matrix products."""
    import torch

    generator = torch.Generator().manual_seed(1)

    def halves(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator).to(torch.bfloat16)

    a, b = halves(256, 1024), halves(256, 1024)
    yield arm("ampere/gemm", module_of("ampere/gemm").build_gemm(), a, b)
    yield arm("hopper/gemm", module_of("hopper/gemm").build_gemm(), a, b)
    clustered = module_of("hopper/clustered_gemm").build_clustered_gemm()
    yield arm("hopper/clustered_gemm", clustered, a, b)
    offsets = torch.tensor([0, 100, 100, 256], dtype=torch.int32)
    grouped = module_of("hopper/grouped_gemm").build_grouped_gemm(3)
    yield arm("hopper/grouped_gemm", grouped, a, halves(3, 256, 1024), offsets)
    blackwell = module_of("blackwell/gemm")
    for ctas in (1, 2):
        name = f"blackwell/gemm ({ctas} CTA{'s' * (ctas - 1)})"
        yield arm(name, blackwell.build_gemm(ctas=ctas), a, b)


def sgemm_arms() -> Iterator[Arm]:
    """Products in shared memory without a matrix unit: 512 cubed."""
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((512, 512)).astype(np.float32) for _ in range(2))
    for width in (1, 4):
        kernel = build_sgemm(512, 512, 512, width)
        yield arm(f"sgemm 512 cubed, {width} x {width} a thread", kernel, a, b, goal=SGEMM_GOAL)


def seconds(run: Callable[[str], object], checks: str) -> float:
    """Return the processor time of one run."""
    begin = time.process_time()
    run(checks)
    return time.process_time() - begin


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="arms whose name has this")
    options = parser.parse_args()
    sys.path.insert(0, str(EXAMPLES / "hopper"))
    arms = [*row_arms(), *sgemm_arms()]
    try:
        arms += matrix_arms()
    except ModuleNotFoundError as missing:
        print(f"{missing.name} is not installed: matrix products are left out")
    print(f"{'':<34} {'plain':>9} {'checks':>9} {'ratio':>6} {'median':>6}")
    for name, run, goal in arms:
        if options.only not in name:
            continue
        for checks in ("basic", "races"):
            run(checks)
        rounds = [
            (seconds(run, "basic"), seconds(run, "races")) for _ in range(max(1, options.rounds))
        ]
        plain, checked = (min(one[i] for one in rounds) for i in range(2))
        median = statistics.median(checked / plain for plain, checked in rounds)
        verdict = "" if checked <= goal * plain else f"  goal {goal:g}: NOT reached"
        print(
            f"{name:<34} {1e3 * plain:>6.1f} ms {1e3 * checked:>6.1f} ms"
            f" {checked / plain:>6.2f} {median:>6.2f}{verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
