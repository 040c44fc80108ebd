# SPDX-License-Identifier: Apache-2.0
"""Other ways to the same kernel: several threads, torch.compile, CUDA graphs and jax.jit."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
from arms import (
    COMPILED_GOAL,
    JAX_EAGER_GOAL,
    JIT_GOAL,
    Against,
    Arm,
    LeftOutError,
    Machine,
    N,
    Run,
    Subject,
    loop,
    normal,
    span,
)
from bare import bare_launch

from record.examples import example

THREADS = 4
PATIENCE = 120  # seconds that a thread waits for the others before it gives up


# --- threads ------------------------------------------------------------------------------------


def threaded(machine: Machine, loops: list[Callable[[int], tuple[float, float]]]) -> Run:
    """Return the wall time per call of loops in threads that each have a stream of their own."""
    torch = machine.torch
    pool = ThreadPoolExecutor(len(loops))
    streams = [torch.cuda.Stream() if machine.on_gpu else None for _ in loops]
    machine.wait()  # the streams do not wait for the one that made the tensors

    def work(index: int, count: int) -> tuple[float, float]:
        stream = streams[index]
        with nullcontext() if stream is None else torch.cuda.stream(stream):
            return loops[index](count)

    def run(count: int) -> float:
        futures = [pool.submit(work, index, count) for index in range(len(loops))]
        times = [future.result() for future in futures]
        machine.wait()
        wall = max(end for _, end in times) - min(begin for begin, _ in times)
        return wall / len(loops) / count

    return run


def calls_in_threads(subject: Subject, threads: int, call: str) -> Run:
    """Return threads that each call with tensors of their own."""
    machine = subject.machine
    torch = machine.torch
    barrier = threading.Barrier(threads)
    loops, results = [], []
    for _ in range(threads):
        a0, a1 = (torch.randn(N, device=machine.device) for _ in range(2))
        out = torch.full_like(a0, float("nan"))
        names = {"k": subject.case.kernel, "add": torch.add, "a0": a0, "a1": a1, "out": out}
        loops.append(span(call, ready=lambda: barrier.wait(PATIENCE), **names))
        results.append((a0, a1, out))
    run = threaded(machine, loops)
    run(1)
    for a0, a1, out in results:
        torch.testing.assert_close(out, a0 + a1, rtol=0, atol=0)
    return run


def bare_in_threads(subject: Subject, threads: int) -> Run:
    """Return threads that only launch, in C++ and without the interpreter's lock."""
    barrier = threading.Barrier(threads)
    loops = [
        span(
            "launch(n)",
            each="n",
            prepare=lambda count: (count,),
            ready=lambda: barrier.wait(PATIENCE),
            launch=bare_launch(subject).run,
        )
        for _ in range(threads)
    ]
    return threaded(subject.machine, loops)


def thread_arms(subject: Subject) -> list[Arm]:
    """Return vector_add and torch.add with `out=`, in one thread and in several."""

    def arm(what: str, call: str, threads: int, *against: str) -> Arm:
        name = f"{what}, out=, {threads} thread{'s' * (threads > 1)}"
        peers = tuple(Against(peer) for peer in against)
        return Arm(name, lambda: calls_in_threads(subject, threads, call), peers)

    ours, theirs = "k(a0, a1, out=out)", "add(a0, a1, out=out)"
    many, one = f"out=, {THREADS} threads", "out=, 1 thread"
    bare = f"bare vector_add, {THREADS} threads"
    floor = (bare,) if subject.machine.on_gpu else ()
    return [
        Arm(
            bare,
            lambda: bare_in_threads(subject, THREADS),
            (Against("bare vector_add"),) if floor else (),
        ),
        arm("torch.add", theirs, 1, "torch.add, out="),
        arm("torch.add", theirs, THREADS, f"torch.add, {one}", *floor),
        arm("vector_add", ours, 1, f"torch.add, {one}", "vector_add, out="),
        arm("vector_add", ours, THREADS, f"torch.add, {many}", f"vector_add, {one}", *floor),
    ]


# --- torch.compile ------------------------------------------------------------------------------


def compiled_run(subject: Subject, function: Any, mode: str | None) -> Run:
    """Return the calls of a compiled function on the subject's inputs."""
    machine = subject.machine
    if mode is not None:
        machine.need_gpu()  # the modes differ in CUDA graphs
    compiled = machine.torch.compile(function or subject.case.kernel, mode=mode)
    # The first calls of a mode with graphs warm up and record; later ones replay.
    for _ in range(4):
        subject.case.check(compiled(*subject.case.inputs), "the compiled function")
    return loop(subject.call(False), machine.wait, k=compiled, **subject.tensors(False))


def compiled_arms(subjects: dict[str, Subject]) -> list[Arm]:
    """Return kernels in torch.compile, and torch's own functions."""
    add, norm = subjects["vector_add"], subjects["layer_norm"]
    machine = add.machine
    goal = machine.goal(COMPILED_GOAL)

    torch_layer_norm = machine.torch.nn.functional.layer_norm

    def layer_norm(x: Any, w: Any, b: Any) -> Any:
        return torch_layer_norm(x, x.shape[-1:], w, b)

    found = []
    for mode in (None, "reduce-overhead"):
        words = "torch.compile" if mode is None else f"torch.compile {mode}"
        peer = f"torch.add, {words}"
        make = lambda s, f=None, mode=mode: lambda: compiled_run(s, f, mode)  # noqa: E731
        found += [
            Arm(peer, make(add, machine.torch.add), (Against("torch.add, allocating"),)),
            Arm(f"vector_add, {words}", make(add), (Against(peer, goal),)),
        ]
        if mode is None:
            other = f"torch layer_norm, {words}"
            found += [
                Arm(other, make(norm, layer_norm), (Against(peer),)),
                Arm(f"layer_norm, {words}", make(norm), (Against(peer, goal), Against(other))),
            ]
    return found


# --- CUDA graphs --------------------------------------------------------------------------------


def graph_run(machine: Machine, call: Callable[[], object]) -> Run:
    """Return the replay of a CUDA graph with one call in it."""
    torch = machine.torch
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return loop("graph.replay()", machine.wait, graph=graph)


def graph_arms(subject: Subject) -> list[Arm]:
    """Return the bare launch, vector_add and torch.add in a graph."""
    machine = subject.machine

    def bare() -> Run:
        machine.need_gpu()
        launch = bare_launch(subject)
        return graph_run(machine, lambda: launch.run(1))

    def ours() -> Run:
        machine.need_gpu()
        kernel, inputs, (out,) = subject.case.kernel, subject.case.inputs, subject.outputs
        return graph_run(machine, lambda: kernel(*inputs, out=out))

    def theirs() -> Run:
        machine.need_gpu()
        inputs, (out,) = subject.case.inputs, subject.outputs
        return graph_run(machine, lambda: machine.torch.add(*inputs, out=out))

    floor = (Against("bare vector_add, graph"),)
    return [
        Arm("bare vector_add, graph", bare, (Against("bare vector_add"),)),
        Arm("torch.add, graph", theirs, floor),
        Arm("vector_add, graph", ours, floor),
    ]


# --- JAX ----------------------------------------------------------------------------------------


def jax_run(function: Callable[..., Any], *, is_jitted: bool = True) -> Run:
    """Return the calls of a function, jitted or as it is."""
    # JAX would take most of the GPU's memory at its first array.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import jax
    except ModuleNotFoundError:
        raise LeftOutError("JAX is not installed") from None

    x, y = (jax.device_put(array) for array in (normal(N), np.ascontiguousarray(normal(N)[::-1])))
    f = jax.jit(function) if is_jitted else function
    np.testing.assert_array_equal(f(x, y), x + y)
    return loop("f(x, y)", lambda: f(x, y).block_until_ready(), f=f, x=x, y=y)


def jax_arms(machine: Machine) -> list[Arm]:
    """Return vector_add and an addition, in jax.jit and outside of it."""

    def ours() -> Run:
        vector_add = example("vector_add").vector_add
        return jax_run(lambda a, b: vector_add(a, b))

    def eager() -> Run:
        return jax_run(example("vector_add").vector_add, is_jitted=False)

    peer = Against("a + b, jax.jit", machine.goal(JIT_GOAL))
    jitted = Against("vector_add, jax.jit", machine.goal(JAX_EAGER_GOAL))
    return [
        Arm("a + b, jax.jit", lambda: jax_run(lambda a, b: a + b)),
        Arm("vector_add, jax.jit", ours, (peer,)),
        Arm(
            "a + b, JAX eager",
            lambda: jax_run(lambda a, b: a + b, is_jitted=False),
            (Against("a + b, jax.jit"),),
        ),
        Arm("vector_add, JAX eager", eager, (jitted,)),
    ]
