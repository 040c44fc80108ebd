# SPDX-License-Identifier: Apache-2.0
"""Every kernel of examples/: its floor, with `out=`, and allocating; and who adds vectors as well.

Sizes are the smallest that a kernel is written for, so that the GPU is done before the host is.
Tolerances are those of the examples.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from arms import (
    ALLOCATING_GOAL,
    MAPS_GOAL,
    Against,
    Arm,
    Case,
    LeftOutError,
    Machine,
    N,
    Run,
    Subject,
    loop,
    normal,
)
from bare import bare_run

from record.examples import example

ROWS, COLUMNS = 4, 512
M, K = 128, 64
GROUPS = (64, 64)
FORMS = ("value", "pointer")


def double(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return the arrays in float64, for a reference."""
    return [array.astype(np.float64) for array in arrays]


def vector_add(machine: Machine) -> Case:
    x, y = normal(N), normal(N)[::-1]
    a, b = double(x, y)
    kernel = example("vector_add").vector_add
    return Case(kernel, (machine.put(x), machine.put(y)), [a + b], 1e-6)


def rms_norm(machine: Machine) -> Case:
    module = example("hopper/rms_norm")
    arrays = normal(ROWS, COLUMNS), normal(COLUMNS)
    kernel = module.build_rms_norm(ROWS, COLUMNS)
    return Case(kernel, tuple(map(machine.put, arrays)), [module.reference(*double(*arrays))])


def rms_norm_backward(machine: Machine) -> Case:
    module = example("hopper/rms_norm")
    x, w, g = normal(ROWS, COLUMNS), normal(COLUMNS), normal(ROWS, COLUMNS)[::-1]
    backward = module.build_rms_norm_backward(ROWS, COLUMNS)
    return Case(
        inspect.getclosurevars(backward).nonlocals["rms_norm_backward"],
        tuple(map(machine.put, (x, w, g))),
        module.gradients(*double(x, w, g)),
        compared=lambda dx, parts: (dx, parts.sum(axis=0)),
    )


def layer_norm(machine: Machine) -> Case:
    module = example("hopper/layer_norm")
    arrays = normal(ROWS, COLUMNS) + 3, normal(COLUMNS), normal(COLUMNS)[::-1]
    kernel = module.build_layer_norm(ROWS, COLUMNS)
    return Case(kernel, tuple(map(machine.put, arrays)), [module.reference(*double(*arrays))])


def layer_norm_backward(machine: Machine) -> Case:
    module = example("hopper/layer_norm")
    x, w, g = normal(ROWS, COLUMNS), normal(COLUMNS), normal(ROWS, COLUMNS)[::-1]
    backward = module.build_layer_norm_backward(ROWS, COLUMNS)
    dx, dw, db = module.gradients(*double(x, w, np.zeros(COLUMNS), g))
    return Case(
        inspect.getclosurevars(backward).nonlocals["layer_norm_backward"],
        tuple(map(machine.put, (x, w, g))),
        (dx, dw, db),
        compared=lambda dx, dw, db: (dx, dw.sum(axis=0), db.sum(axis=0)),
    )


def column_sums(machine: Machine) -> Case:
    x = normal(ROWS, COLUMNS)
    kernel = example("hopper/rows").build_column_sums(ROWS, COLUMNS)
    return Case(kernel, (machine.put(x),), [x.astype(np.float64).sum(axis=0)])


def softmax(machine: Machine) -> Case:
    module = example("hopper/softmax")
    x = normal(ROWS, COLUMNS) * 4
    kernel = module.build_softmax(ROWS, COLUMNS)
    return Case(kernel, (machine.put(x),), [module.reference(*double(x))])


def swiglu(machine: Machine) -> Case:
    module = example("hopper/swiglu")
    gate, up = normal(ROWS, COLUMNS), normal(ROWS, COLUMNS)[::-1]
    kernel = module.build_swiglu(ROWS, COLUMNS)
    inputs = machine.put(gate), machine.put(up)
    return Case(kernel, inputs, [module.reference(*double(gate, up))])


def product(machine: Machine, kernel: Any) -> Case:
    """Return a case of C = A @ B^T in one tile."""
    to_bf16 = example("hopper/gemm").to_bf16
    a, b = to_bf16(normal(M, K)), to_bf16(normal(K, M).T)
    inputs = machine.put(a, "bfloat16"), machine.put(b, "bfloat16")
    left, right = double(a, b)
    return Case(kernel, inputs, [left @ right.T], 1e-4)


def gemm(machine: Machine, form: str) -> Case:
    return product(machine, example("hopper/gemm").build_gemm(tma=form))


def clustered_gemm(machine: Machine, form: str) -> Case:
    return product(machine, example("hopper/clustered_gemm").build_clustered_gemm(tma=form))


def ampere_gemm(machine: Machine) -> Case:
    return product(machine, example("ampere/gemm").build_gemm())


def tiled_matmul(machine: Machine) -> Case:
    x, y = normal(M, K), normal(K, M)
    left, right = double(x, y)
    kernel = example("tiled_matmul").build_tiled_matmul()
    return Case(kernel, (machine.put(x), machine.put(y)), [left @ right], 1e-4)


def mma_tile(machine: Machine) -> Case:
    return product(machine, example("ampere/mma_tile").build_mma_tile())


def attention(machine: Machine, form: str) -> Case:
    module = example("hopper/attention")
    to_bf16 = example("hopper/gemm").to_bf16
    arrays = [to_bf16(normal(1, M, K) * scale) for scale in (1.0, -0.5, 2.0)]
    kernel = module.build_attention(K, tma=form)
    inputs = tuple(machine.put(array, "bfloat16") for array in arrays)
    return Case(kernel, inputs, [module.reference(*arrays, causal=True)], 2e-2)


def blackwell_gemm(machine: Machine) -> Case:
    if machine.on_gpu:
        major, minor = machine.torch.cuda.get_device_capability()
        if major != 10:
            what = f"sm_100a code, and it is sm_{major}{minor}"
            raise LeftOutError(f"cannot run on this device: {what}")
    return product(machine, example("blackwell/gemm").build_gemm())


def grouped_gemm(machine: Machine, form: str) -> Case:
    module = example("hopper/grouped_gemm")
    x, w = module.to_bf16(normal(sum(GROUPS), K)), module.to_bf16(normal(len(GROUPS), M, K))
    offsets = np.concatenate([[0], np.cumsum(GROUPS)]).astype(np.int32)
    inputs = machine.put(x, "bfloat16"), machine.put(w, "bfloat16"), machine.put(offsets)
    kernel = module.build_grouped_gemm(len(GROUPS), tma=form)
    return Case(kernel, inputs, [module.reference(x, w, offsets)], 1e-4)


def tma_add(machine: Machine, form: str) -> Case:
    from tma_add import COLUMNS, ROWS, build_tma_add

    x, y = normal(ROWS, COLUMNS), normal(ROWS, COLUMNS)[::-1]
    a, b = double(x, y)
    return Case(build_tma_add(form), (machine.put(x), machine.put(y)), [a + b], 1e-6)


def subjects(machine: Machine) -> dict[str, Subject]:
    """Return every kernel of the examples by its name, and one with three maps."""
    found: list[tuple[str, Callable[[], Case], bool]] = [
        (build.__name__, lambda build=build: build(machine), False)
        for build in (
            vector_add,
            rms_norm,
            rms_norm_backward,
            layer_norm,
            layer_norm_backward,
            column_sums,
            softmax,
            swiglu,
            ampere_gemm,
            tiled_matmul,
            mma_tile,
        )
    ]
    found += [
        (f"{build.__name__}, maps by {form}", lambda b=build, f=form: b(machine, f), True)
        for build in (gemm, clustered_gemm, grouped_gemm, attention, tma_add)
        for form in FORMS
    ]
    found.append(("blackwell_gemm", lambda: blackwell_gemm(machine), True))
    return {
        name: Subject(machine, name, build, *((MAPS_GOAL,) if has_maps else ()))
        for name, build, has_maps in found
    }


def out_arms(subject: Subject) -> list[Arm]:
    """Return the floor of a kernel and its call with `out=`."""
    machine, name = subject.machine, subject.name

    def with_out() -> Run:
        keywords = subject.case.keywords
        tensors = subject.tensors(True)
        return loop(subject.call(True), machine.wait, k=subject.case.kernel, **keywords, **tensors)

    return [
        Arm(f"bare {name}", lambda: bare_run(subject)),
        Arm(f"{name}, out=", with_out, (subject.to_floor(),)),
    ]


def allocating_arm(subject: Subject) -> Arm:
    """Return the call of a kernel that makes its outputs."""
    machine = subject.machine

    def allocating() -> Run:
        kernel, tensors = subject.case.kernel, subject.tensors(False)
        return loop(subject.call(False), machine.wait, k=kernel, **subject.case.keywords, **tensors)

    peer = Against("torch.add, allocating", machine.goal(ALLOCATING_GOAL))
    return Arm(f"{subject.name}, allocating", allocating, (peer,))


def bound_arm(subject: Subject) -> Arm:
    """Return the call of a launch that was settled before."""
    machine = subject.machine

    def bound() -> Run:
        case = subject.case
        names = {**subject.tensors(True), "k": case.kernel.bind(*case.inputs)}
        return loop(subject.call(True), machine.wait, **names)

    return Arm(f"{subject.name}, bound, out=", bound, (subject.to_floor(),))


def add_arms(subject: Subject) -> list[Arm]:
    """Return who adds vectors as well: torch, Triton and CuPy."""
    machine = subject.machine

    def torch_add(call: str) -> Run:
        names = subject.tensors(True)
        return loop(call, machine.wait, add=machine.torch.add, **names)

    floor = (Against(machine.pick(f"bare {subject.name}", f"{subject.name}, out=")),)
    below = (*floor, Against(f"{subject.name}, out=")) if machine.on_gpu else ()
    return [
        Arm(
            f"bare {subject.name}, the context's function",
            lambda: bare_run(subject, of_context=True),
            below,
        ),
        Arm("torch.add, out=", lambda: torch_add("add(a0, a1, out=out)"), floor),
        Arm("torch.add, allocating", lambda: torch_add("add(a0, a1)"), floor),
        Arm("Triton", lambda: triton_run(subject), floor),
        Arm("CuPy RawKernel", lambda: cupy_run(subject), floor),
    ]


def triton_run(subject: Subject) -> Run:
    """Return the same addition in Triton, launched the ordinary way."""
    subject.machine.need_gpu()
    try:
        from triton_add import add
    except ModuleNotFoundError:
        raise LeftOutError("Triton is not installed") from None
    names = subject.tensors(True)
    run = loop("add[(2,)](a0, a1, out, n, BLOCK=512)", subject.machine.wait, add=add, n=N, **names)
    return checked(subject, run)


def cupy_run(subject: Subject) -> Run:
    """Return the same addition in CuPy, launched the ordinary way."""
    subject.machine.need_gpu()
    try:
        import cupy
    except ModuleNotFoundError:
        raise LeftOutError("CuPy is not installed") from None
    source = """extern "C" __global__ void add(const float* x, const float* y, float* z) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      z[i] = x[i] + y[i];
    }"""
    kernel = cupy.RawKernel(source, "add")
    arguments = tuple(cupy.from_dlpack(t) for t in subject.tensors(True).values())
    wait = subject.machine.wait
    return checked(subject, loop("k((8,), (128,), a)", wait, k=kernel, a=arguments))


def checked(subject: Subject, run: Run) -> Run:
    """Run once over what is no result, and see that it is one afterwards."""
    for output in subject.outputs:
        output.fill_(float("nan"))
    run(1)
    subject.case.check(subject.outputs, "a peer's result")
    return run


def arms(found: dict[str, Subject]) -> list[Arm]:
    """Return the floors, the examples and their peers."""
    add = found["vector_add"]
    listed = [*out_arms(add), allocating_arm(add), bound_arm(add), *add_arms(add)]
    for subject in found.values():
        if subject is not add:
            listed += [*out_arms(subject), allocating_arm(subject)]
    return listed
