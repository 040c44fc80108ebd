# SPDX-License-Identifier: Apache-2.0
"""Does a model with kernels grow? Steps of one size, then rows of which each has been met once.

    python tests/gpu/model_soak.py [--device cuda] [--steps 5000] [--sizes 2000]

Prints how much more memory of the host, and of the device, there was at the end than half-way, and
fails where that is more than BOUND. What is kept for each size is kept for a bounded number of
sizes (docs/design/0019-caches.md), so the first half may grow. The many sizes are those of a
norm alone: torch keeps code of its own for each size of a linear map.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.model import loss_of, made, tokens_for
from support.model_kernels import WIDTH, rms_norm

#: Of memory that may come in the second half, in MiB: that of an allocator, not of tables.
BOUND = 4.0


def memory(device: str) -> tuple[float, float]:
    """Return the memory of this process, and what tensors have of the device, in MiB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    used = torch.cuda.memory_allocated() if device == "cuda" else 0
    return pages * 4096 / 2**20, used / 2**20


def steps(device: str, count: int) -> Iterator[None]:
    """Train for so many steps."""
    model, tokens = made(device), tokens_for(2, 7, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(count):
        optimizer.zero_grad()
        loss_of(model, tokens).backward()
        optimizer.step()
        yield


def sizes(device: str, count: int) -> Iterator[None]:
    """Run the norm forward and backward on so many numbers of rows, the most first."""
    weight = torch.ones(WIDTH, device=device, requires_grad=True)
    for rows in range(count, 0, -1):
        x = torch.ones(rows, WIDTH, device=device, requires_grad=True)
        torch.autograd.grad(rms_norm(x, weight).sum(), (x, weight))
        yield


def growth(way: Callable[[str, int], Iterator[None]], device: str, count: int) -> tuple[Any, ...]:
    """Return what the host and the device have more at the end than half-way."""
    middle = (0.0, 0.0)
    for index, _ in enumerate(way(device, count)):
        if index == count // 2:
            middle = memory(device)
    return tuple(now - then for now, then in zip(memory(device), middle, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--sizes", type=int, default=2000)
    given = parser.parse_args()
    torch.set_num_threads(1)  # of torch on the CPU, which has little to do
    worst = 0.0
    for way, count in ((steps, given.steps), (sizes, given.sizes)):
        host, device = growth(way, given.device, count)
        worst = max(worst, host, device)
        print(f"{count} {way.__name__}: host {host:+.1f} MiB, device {device:+.1f} MiB")
    if worst > BOUND:
        raise SystemExit(f"more than {BOUND} MiB")


if __name__ == "__main__":
    main()
