# SPDX-License-Identifier: Apache-2.0
"""What torch's machinery costs around a kernel, against an equal Python operator, in one run.

    python bench/torch_operators.py [--rounds 31] [--calls 200] [--compilations 5]

CPU tensors and a kernel of two threads. The peer is `torch.library.custom_op` around a plain call
of the same kernel, so both emulate it; what a plain call takes is subtracted from both. Each round
times every arm and its peer right after each other, in an order drawn anew; medians over the rounds
of microseconds per call, and of the ratio of neighbours. Compile times are those of Dynamo and
AOTAutograd ("aot_eager"), in milliseconds, the caches empty, the least of some.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32

Call = Callable[[], object]


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), block=(2, 1, 1))
def copy(X: Any, Y: Any) -> None:
    """Copy two elements."""
    move(*ptx.global_ptrs(X, Y))


@kernel(in_specs=(Tile("N", f32),) * 2, out_specs=(Tile("N", f32),), block=(2, 1, 1))
def copy_backward(X: Any, G: Any, DX: Any) -> None:
    """Copy the gradient."""
    move(*ptx.global_ptrs(X, G, DX)[1:])


def move(source: Any, target: Any) -> None:
    """Write the body of both."""
    place = reg.from_(ptx.special.tid.x(), u32) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(source + place))
    ptx.inst.st.global_.f32(ptx.addr(target + place), value)
    ptx.ret()


pair = differentiable_kernel(copy, copy_backward)


@torch.library.custom_op("peer::copy", mutates_args=())
def peer(x: torch.Tensor) -> torch.Tensor:
    """Call the kernel from an operator in Python."""
    return copy(x)


@torch.library.custom_op("peer::copy_backward", mutates_args=())
def peer_backward(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Call the backward kernel from an operator in Python."""
    return copy_backward(x, g)


peer.register_fake(torch.empty_like)
peer_backward.register_fake(lambda x, g: torch.empty_like(x))
peer.register_autograd(
    lambda ctx, g: peer_backward(ctx.saved_tensors[0], g.contiguous()),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def arms() -> dict[str, tuple[Call, Call]]:
    """Return each way of calling, and the peer's."""
    x = torch.ones(2)
    wanted = torch.ones(2, requires_grad=True)
    calls: dict[str, tuple[Any, Any, torch.Tensor]] = {
        "eager": (copy, peer, x),
        "eager, requires a gradient": (copy, peer, wanted),
        "eager, differentiable": (pair, peer, wanted),
    }
    for name, dynamic in (("compiled", False), ("compiled, symbolic sizes", True)):
        ours, theirs = (torch.compile(call, dynamic=dynamic) for call in (copy, peer))
        calls[name] = (ours, theirs, torch.ones(2))
        ours, theirs = (torch.compile(call, dynamic=dynamic) for call in (pair, peer))
        calls[f"{name}, differentiable"] = (ours, theirs, torch.ones(2, requires_grad=True))
    return {
        name: (lambda f=ours, x=x: f(x), lambda f=theirs, x=x: f(x))
        for name, (ours, theirs, x) in calls.items()
    }


def per_call(call: Call, count: int) -> float:
    """Return the microseconds of one call."""
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count * 1e6


def measure(rounds: int, count: int) -> None:
    """Print what calls take."""
    x = torch.ones(2)
    every = arms()
    for pair_of_calls in every.values():
        for call in pair_of_calls:
            for _ in range(20):
                call()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in every}
    plain: list[float] = []
    for _ in range(rounds):
        plain.append(per_call(lambda: copy(x), count))
        names = list(every)
        random.shuffle(names)
        for name in names:
            order = [0, 1]
            random.shuffle(order)
            times = {which: per_call(every[name][which], count) for which in order}
            found[name].append((times[0] - plain[-1], times[1] - plain[-1]))
    print(f"a plain call, subtracted: {statistics.median(plain):.2f} us")
    for name, rows in found.items():
        ours, theirs = (statistics.median(row[i] for row in rows) for i in (0, 1))
        # What an eager call of a plain tensor takes is the subtrahend itself.
        ratio = "" if name == "eager" else f"  {statistics.median(a / b for a, b in rows):6.2f}"
        print(f"{name:40} {ours:8.2f}  custom op {theirs:8.2f}{ratio}")


def compile_time(call: Any, count: int) -> float:
    """Return the milliseconds that compiling a function with so many calls takes."""

    def run(x: torch.Tensor) -> torch.Tensor:
        for _ in range(count):
            x = call(x)
        return x

    x = torch.ones(2, requires_grad=True)
    torch._dynamo.reset()
    begin = time.perf_counter()
    torch.compile(run, backend="aot_eager", fullgraph=True)(x)
    return (time.perf_counter() - begin) * 1e3


def measure_compilation(times: int) -> None:
    """Print what compiling takes: one call, and each further one."""
    found: dict[str, list[list[float]]] = {"ours": [], "custom op": []}
    for _ in range(times + 1):
        for name, call in (("ours", pair), ("custom op", peer)):
            found[name].append([compile_time(call, count) for count in (1, 9)])
    for name, rows in found.items():
        one, nine = (min(row[i] for row in rows[1:]) for i in (0, 1))
        print(
            f"compiling a differentiable call, {name:10} {one:8.1f} ms, "
            f"each further one {(nine - one) / 8:6.1f} ms"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--compilations", type=int, default=5)
    given = parser.parse_args()
    gc.disable()
    measure(given.rounds, given.calls)
    gc.enable()
    measure_compilation(given.compilations)


if __name__ == "__main__":
    main()
