# SPDX-License-Identifier: Apache-2.0
"""Host time of one call, every arm interleaved in one run: ours against named peers.

    python bench/launch.py [--rounds 21] [--calls 200] [--only TEXT]

Each round times every arm once, in an order drawn anew, so that none profits or suffers from what
ran before it: `--calls` calls in a row without waiting for the GPU, then it waits. What is printed
is the median over the rounds of the host time per call, and its ratio to the bare cuLaunchKernel
loop. The numbers are burst numbers of the host; they say nothing of GPU speed.
Without a GPU the peers are the CPU paths of the frameworks, and ours runs the emulator.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

N = 1024
Arm = Callable[[int], float]

LOOP = """
def run(count):
    calls = range(count)
    begin = perf_counter()
    for _ in calls:
        {call}
    taken = perf_counter() - begin
    wait()
    return taken / count
"""


def arm(call: str, wait: Callable[[], object], **names: Any) -> Arm:
    """Make an arm that times `call`, written out in the loop, and then waits, not timed."""
    from time import perf_counter

    scope = {"perf_counter": perf_counter, "wait": wait, **names}
    exec(compile(LOOP.format(call=call), f"<{call}>", "exec"), scope)
    run: Arm = scope["run"]
    return run


def bare_launch(torch, k, tensors) -> Callable[[int], float] | None:
    """Make a loop of cuLaunchKernel on torch's stream, or None where it was not built."""
    found = sorted(ROOT.glob("build/*/bench/libpyptx_bare_launch.so"))
    if not found:
        print("bare launch: build it with -DPYPTX_BENCH=ON")
        return None
    from pyptx import jax_support

    function = ctypes.CDLL(str(found[0])).pyptx_bare_launch
    function.restype = ctypes.c_int64
    handle, module = jax_support.compile_ptx_to_cubin(k.ptx(N=N), "sm_90a")
    pointers = [ctypes.c_uint64(t.data_ptr()) for t in tensors]

    def launch(count: int) -> float:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        nanoseconds = function(
            ctypes.c_void_p(handle), 2, 128, stream, *pointers, ctypes.c_int64(count)
        )
        if nanoseconds < 0:
            raise RuntimeError("the bare launch failed")
        return nanoseconds / count * 1e-9

    launch.module = module
    return launch


def graph_arm(torch, call: Callable[[], object]) -> Arm:
    """Replay of a CUDA graph with one call in it."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return arm("graph.replay()", torch.cuda.synchronize, graph=graph)


def bare_arms(torch, arms: dict[str, Arm], k, tensors) -> None:
    """Add the floor: the driver's launch and nothing else, alone and in a graph."""
    bare = bare_launch(torch, k, tensors)
    if bare is None:
        return

    def timed(count: int) -> float:
        taken = bare(count)
        torch.cuda.synchronize()
        return taken

    arms["bare cuLaunchKernel (C++)"] = timed
    arms["bare cuLaunchKernel, graph"] = graph_arm(torch, lambda: bare(1))


def gpu_peers(torch, arms: dict[str, Arm], x, y, out) -> None:
    """Add the same addition by other kernel languages, launched the ordinary way."""
    wait = torch.cuda.synchronize
    try:
        from triton_add import add
    except ModuleNotFoundError:
        print("Triton is not installed: its arm is left out")
    else:
        call = "add[(2,)](x, y, out, n, BLOCK=512)"
        arms["Triton"] = arm(call, wait, add=add, x=x, y=y, out=out, n=N)
    try:
        import cupy
    except ModuleNotFoundError:
        print("CuPy is not installed: its arm is left out")
        return
    source = """extern "C" __global__ void add(const float* x, const float* y, float* z) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      z[i] = x[i] + y[i];
    }"""
    kernel = cupy.RawKernel(source, "add")
    arguments = tuple(cupy.from_dlpack(t) for t in (x, y, out))
    arms["CuPy RawKernel"] = arm("k((8,), (128,), a)", wait, k=kernel, a=arguments)


def tma_arms(torch, arms: dict[str, Arm]) -> None:
    """Add a kernel with three tensor maps, in both forms."""
    from tma_add import COLUMNS, ROWS, build_tma_add

    x, y, out = (torch.randn(ROWS, COLUMNS, device="cuda") for _ in range(3))
    for form in ("pointer", "value"):
        k = build_tma_add(form)
        torch.testing.assert_close(k(x, y), x + y, rtol=0, atol=0)
        call = "k(x, y, out=out)"
        wait = torch.cuda.synchronize
        arms[f"pyptx, 3 maps by {form}, out="] = arm(call, wait, k=k, x=x, y=y, out=out)


def torch_arms(arms: dict[str, Arm]) -> None:
    """Add what can be measured through PyTorch here."""
    import torch
    from vector_add import vector_add

    on_gpu = torch.cuda.is_available()
    device = "cuda" if on_gpu else "cpu"
    x, y = (torch.randn(N, device=device) for _ in range(2))
    out = torch.empty_like(x)
    names = {"x": x, "y": y, "out": out, "add": torch.add, "k": vector_add}
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    if on_gpu:
        bare_arms(torch, arms, vector_add, (x, y, out))
    arms["pyptx, out="] = arm("k(x, y, out=out)", wait, **names)
    arms["pyptx"] = arm("k(x, y)", wait, **names)
    arms["pyptx, bound, out="] = arm("b(x, y, out=out)", wait, b=vector_add.bind(x, y), **names)
    arms["torch.add, out="] = arm("add(x, y, out=out)", wait, **names)
    arms["torch.add"] = arm("add(x, y)", wait, **names)
    if on_gpu:
        tma_arms(torch, arms)
        gpu_peers(torch, arms, x, y, out)
    for name, function in (("pyptx", vector_add), ("torch.add", torch.add)):
        compiled = torch.compile(function)
        torch.testing.assert_close(compiled(x, y), x + y, rtol=0, atol=0)
        arms[f"{name}, torch.compile"] = arm("f(x, y)", wait, f=compiled, x=x, y=y)
    if on_gpu:
        arms["pyptx, graph"] = graph_arm(torch, lambda: vector_add(x, y, out=out))


def jax_arms(arms: dict[str, Arm]) -> None:
    """Add what can be measured through JAX here."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import numpy as np
    from vector_add import vector_add

    x, y = (jax.device_put(np.random.default_rng(i).random(N, np.float32)) for i in range(2))
    for name, function in (("pyptx", lambda a, b: vector_add(a, b)), ("a + b", lambda a, b: a + b)):
        f = jax.jit(function)
        np.testing.assert_array_equal(f(x, y), x + y)
        wait = lambda f=f: f(x, y).block_until_ready()  # noqa: E731
        arms[f"{name}, jax.jit"] = arm("f(x, y)", wait, f=f, x=x, y=y)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--only", default="", help="arms whose name contains this")
    options = parser.parse_args()
    arms: dict[str, Arm] = {}
    for add_arms in (torch_arms, jax_arms):
        try:
            add_arms(arms)
        except ModuleNotFoundError as missing:
            print(f"{missing.name} is not installed: its arms are left out")
    floor_name = next(iter(arms))
    arms = {name: run for name, run in arms.items() if options.only in name or name == floor_name}
    samples: dict[str, list[float]] = {name: [] for name in arms}
    for run in arms.values():
        run(options.calls)  # warm-up
    order = list(arms)
    for _ in range(options.rounds):
        random.shuffle(order)
        for name in order:
            samples[name].append(arms[name](options.calls))
    floor = statistics.median(samples[floor_name])
    print(f"{'arm':32} {'us/call':>9} {'ratio':>7}   (ratio to: {floor_name})")
    for name, values in samples.items():
        median = statistics.median(values)
        print(f"{name:32} {median * 1e6:9.2f} {median / floor:7.2f}")


if __name__ == "__main__":
    main()
