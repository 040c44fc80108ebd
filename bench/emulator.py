# SPDX-License-Identifier: Apache-2.0
"""Speed of the emulator, each figure beside its goal.

    python bench/emulator.py [--rounds 9]

Warp instructions and matrix instructions: `lanes_bench` and `matrix_bench`, processor time of one
core. The product: examples/hopper/gemm.py, 1024 x 1024 x 1024 in bf16, by the clock on the wall, on
as many cores as there are, tensors in and tensor out; both by `k.emulate(a, b, checks="basic")`,
without the race checks (bench/checks.py has what those cost), one with numerics="exact". The cold
start: the first call of examples/vector_add.py on NumPy arrays in a new process that has imported
pyptx, NumPy and the example: tracing, verifying, decoding, running and the result; every round is a
process of its own.

Best of the rounds for rates and for what takes the wall's clock, the median for the cold start.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = 1024
MATRIX_ROWS = {"wgmma m64n256k16 bf16": (15.0, 80.0)}
LANE_ROWS = {"ALU mix": 100.0, "ld.shared, a row": 70.0, "ld.shared, scattered": 70.0}

COLD = """
import sys, time
import numpy as np
import pyptx
from vector_add import vector_add
x = np.ones(1024, np.float32)
begin = time.perf_counter()
y = vector_add(x, x)
print(1e3 * (time.perf_counter() - begin))
assert (y == 2).all()
"""


def find_program(name: str) -> Path:
    """Return the newest program of this name among the build folders."""
    found = list(ROOT.glob(f"build/*/bench/{name}"))
    if not found:
        raise SystemExit(f"bench/emulator.py: build {name} with -DPYPTX_BENCH=ON")
    return max(found, key=lambda path: path.stat().st_mtime)


def table_of(name: str, rounds: int) -> dict[str, tuple[float, float]]:
    """Run a program, print its table and return it: two figures by row."""
    command = [str(find_program(name)), "--rounds", str(rounds)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    print(text)
    rows = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    return {row: (float(first), float(second)) for row, first, second in rows}


def gemm_seconds(rounds: int) -> tuple[float, float]:
    """Return what the product takes, fast and exact."""
    sys.path.insert(0, str(ROOT / "examples" / "hopper"))
    import torch
    from gemm import build_gemm

    gemm = build_gemm()
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(SIZE, SIZE, generator=generator).to(torch.bfloat16) for _ in range(2))
    gemm.emulate(a, b, checks="basic")
    fast, exact = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        gemm.emulate(a, b, checks="basic")
        fast.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        gemm.emulate(a, b, numerics="exact", checks="basic")
        exact.append(time.perf_counter() - begin)
    return min(fast), min(exact)


def cold_milliseconds(rounds: int) -> float:
    """Return what the first call takes in a new process."""
    environment = {"PYTHONPATH": f"{ROOT / 'python'}:{ROOT / 'examples'}"}
    taken = []
    for _ in range(rounds):
        command = [sys.executable, "-c", COLD]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        taken.append(float(done.stdout))
    return statistics.median(taken)


def show(name: str, figure: float, unit: str, goal: float, *, is_rate: bool = False) -> None:
    """Print one row: what was measured, the goal, and whether it was reached."""
    reached = figure >= goal if is_rate else figure <= goal
    sign = ">=" if is_rate else "<="
    verdict = "reached" if reached else "NOT reached"
    print(f"  {name:<42} {figure:>9.2f} {unit:<4}  goal {sign} {goal:g}: {verdict}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    lanes = table_of("lanes_bench", rounds)
    matrices = table_of("matrix_bench", rounds)
    print("the emulator, against its goals:")
    for row, goal in LANE_ROWS.items():
        show(f"{row}, warp instructions/s", lanes[row][0], "M", goal, is_rate=True)
    for row, goals in MATRIX_ROWS.items():
        for mode, figure, goal in zip(("fast", "exact"), matrices[row], goals, strict=True):
            show(f"{row}, {mode}", figure, "us", goal)
    try:
        fast, exact = gemm_seconds(rounds)
        show(f"Hopper GEMM, {SIZE} cubed, bf16, fast", fast, "s", 0.5)
        show(f"Hopper GEMM, {SIZE} cubed, bf16, exact", exact, "s", 1.5)
    except ModuleNotFoundError as missing:
        print(f"  {missing.name} is not installed: the GEMM is left out")
    show("cold start of a small kernel", cold_milliseconds(rounds), "ms", 30.0)


if __name__ == "__main__":
    main()
