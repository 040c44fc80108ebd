# SPDX-License-Identifier: Apache-2.0
"""Host time of one call, every arm interleaved in one run: ours against named peers.

    python bench/launch.py [--rounds 21] [--calls 200]

Each round times every arm once, `--calls` calls in a row without waiting for the GPU, then waits.
What is printed is the median over the rounds of the host time per call, and its ratio to the bare
cuLaunchKernel loop. The numbers are burst numbers of the host; they say nothing of GPU speed.
Without a GPU the peers are the CPU paths of the frameworks, and ours runs the emulator.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

if TYPE_CHECKING:
    from collections.abc import Callable

N = 1024
ROOT = Path(__file__).resolve().parent.parent


def loop(call: Callable[[], object], wait: Callable[[], object]) -> Callable[[int], float]:
    """Make an arm that times `count` calls of `call` and then waits, outside the time taken."""

    def run(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - begin
        wait()
        return taken / count

    return run


def bare_arm(torch, k, tensors) -> Callable[[int], float] | None:
    """Call cuLaunchKernel in a C++ loop, or return None where the loop was not built."""
    found = sorted(ROOT.glob("build/*/bench/libpyptx_bare_launch.so"))
    if not found:
        print("bare launch: build it with -DPYPTX_BENCH=ON")
        return None
    from pyptx import jax_support

    function = ctypes.CDLL(str(found[0])).pyptx_bare_launch
    function.restype = ctypes.c_int64
    handle, module = jax_support.compile_ptx_to_cubin(k.ptx(N=N), "sm_90a")
    pointers = [ctypes.c_uint64(t.data_ptr()) for t in tensors]

    def run(count: int) -> float:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        nanoseconds = function(
            ctypes.c_void_p(handle), 2, 128, stream, *pointers, ctypes.c_int64(count)
        )
        torch.cuda.synchronize()
        if nanoseconds < 0:
            raise RuntimeError("the bare launch failed")
        return nanoseconds / count * 1e-9

    run.module = module
    return run


def triton_arm(torch, x, y) -> Callable[[int], float]:
    """Launch the same addition as a Triton kernel, the ordinary way."""
    from triton_add import add

    out = torch.empty_like(x)
    return loop(lambda: add[(2,)](x, y, out, N, BLOCK=512), torch.cuda.synchronize)


def graph_arm(torch, call: Callable[[], object]) -> Callable[[int], float]:
    """Replay of a CUDA graph with one call in it."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return loop(graph.replay, torch.cuda.synchronize)


def torch_arms(arms: dict[str, Callable[[int], float]]) -> None:
    """Add what can be measured through PyTorch here."""
    import torch
    from vector_add import vector_add

    on_gpu = torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    x, y = (torch.randn(N, device=device) for _ in range(2))
    out = torch.empty_like(x)
    if on_gpu and (bare := bare_arm(torch, vector_add, (x, y, out))):
        arms["bare cuLaunchKernel (C++)"] = bare
    arms["pyptx, out="] = loop(lambda: vector_add(x, y, out=out), wait)
    arms["pyptx"] = loop(lambda: vector_add(x, y), wait)
    arms["torch.add, out="] = loop(lambda: torch.add(x, y, out=out), wait)
    arms["torch.add"] = loop(lambda: torch.add(x, y), wait)
    compiled = torch.compile(vector_add)
    compiled(x, y)
    arms["pyptx, torch.compile"] = loop(lambda: compiled(x, y), wait)
    compiled_add = torch.compile(torch.add)
    compiled_add(x, y)
    arms["torch.add, torch.compile"] = loop(lambda: compiled_add(x, y), wait)
    if on_gpu:
        arms["Triton"] = triton_arm(torch, x, y)
        arms["pyptx, CUDA graph replay"] = graph_arm(torch, lambda: vector_add(x, y))
        arms["torch.add, CUDA graph replay"] = graph_arm(torch, lambda: torch.add(x, y))


def jax_arms(arms: dict[str, Callable[[int], float]]) -> None:
    """Add what can be measured through JAX here."""
    import jax
    import numpy as np
    from vector_add import vector_add

    x, y = (jax.device_put(np.random.default_rng(i).random(N, np.float32)) for i in range(2))
    ours = jax.jit(lambda a, b: vector_add(a, b))
    peer = jax.jit(lambda a, b: a + b)
    arms["pyptx, jax.jit"] = loop(lambda: ours(x, y), lambda: ours(x, y).block_until_ready())
    arms["a + b, jax.jit"] = loop(lambda: peer(x, y), lambda: peer(x, y).block_until_ready())


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--calls", type=int, default=200)
    options = parser.parse_args()
    arms: dict[str, Callable[[int], float]] = {}
    for add_arms in (torch_arms, jax_arms):
        try:
            add_arms(arms)
        except ModuleNotFoundError as missing:
            print(f"{missing.name} is not installed: its arms are left out")
    samples: dict[str, list[float]] = {name: [] for name in arms}
    for arm in arms.values():
        arm(options.calls)  # warm-up
    for _ in range(options.rounds):
        for name, arm in arms.items():
            samples[name].append(arm(options.calls))
    floor = statistics.median(next(iter(samples.values())))
    print(f"{'arm':32} {'us/call':>9} {'ratio':>7}   (ratio to: {next(iter(samples))})")
    for name, values in samples.items():
        median = statistics.median(values)
        print(f"{name:32} {median * 1e6:9.2f} {median / floor:7.2f}")


if __name__ == "__main__":
    main()
