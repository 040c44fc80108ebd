# SPDX-License-Identifier: Apache-2.0
"""What changes from call to call, and what a body reads besides its arguments.

Tensors that change are prepared as a list of tuples before a round; torch.add goes over a list of
its own in the same way, so that what the list costs is on both sides.
"""

from __future__ import annotations

import itertools

import numpy as np
from arms import (
    ALLOCATING_GOAL,
    Against,
    Arm,
    Case,
    Machine,
    N,
    Run,
    Subject,
    fresh,
    loop,
    normal,
    rotating,
)
from arms_examples import out_arms
from captured_kernels import KERNELS, SCALE, SHIFT, add_blocks, scale

ROTATIONS = {"16 sets": 16, "200 sets": 200, "fresh tensors": None}
CHANGING = ("vector_add", "layer_norm", "gemm, maps by value", "gemm, maps by pointer")
ALPHA = 0.5


# --- kernels that read things -------------------------------------------------------------------


def captured(machine: Machine, kind: str) -> Case:
    x = normal(N)
    return Case(KERNELS[kind], (machine.put(x),), [SCALE * x.astype(np.float64) + SHIFT], 1e-6)


def captured_arms(machine: Machine) -> list[Arm]:
    """Return a kernel for each kind of thing that a body reads, and its floor."""
    return [
        arm
        for kind in KERNELS
        for arm in out_arms(Subject(machine, f"reads {kind}", lambda k=kind: captured(machine, k)))
    ]


# --- changing tensors ---------------------------------------------------------------------------


def each_of(subject: Subject, with_out: bool) -> str:
    """Write the loop's variables: those of one set. A lone one is a tuple too."""
    return "".join(f"{name}, " for name in subject.tensors(with_out)).strip()


def changing_run(subject: Subject, rotation: str, with_out: bool, call: str | None = None) -> Run:
    """Return the loop of a kernel, or of torch.add, over sets of tensors."""
    machine, sets = subject.machine, ROTATIONS[rotation]

    def new_set() -> tuple:
        return subject.new_set(with_out)

    return loop(
        call or subject.call(with_out),
        machine.wait,
        each=each_of(subject, with_out),
        prepare=fresh(machine, new_set) if sets is None else rotating(sets, new_set),
        k=subject.case.kernel,
        add=machine.torch.add,
    )


def changing_arms(subjects: dict[str, Subject]) -> list[Arm]:
    """Return kernels whose tensors are others at every call, and torch.add."""
    found = []
    add = subjects["vector_add"]
    for rotation in ROTATIONS:
        for with_out, way in ((True, "out="), (False, "allocating")):
            call = "add(a0, a1, out=out)" if with_out else "add(a0, a1)"
            make = lambda r=rotation, w=with_out, c=call: changing_run(add, r, w, c)  # noqa: E731
            peer = f"torch.add, {way}, {rotation}"
            found.append(Arm(peer, make, (Against(f"torch.add, {way}"),)))
            for name in CHANGING:
                subject = subjects[name]
                goal = subject.machine.goal(ALLOCATING_GOAL)
                make = lambda s=subject, r=rotation, w=with_out: changing_run(s, r, w)  # noqa: E731
                against = (
                    (subject.to_floor(), Against(f"{name}, out="), Against(peer))
                    if with_out
                    else (Against(peer, goal), Against(f"{name}, allocating"))
                )
                found.append(Arm(f"{name}, {way}, {rotation}", make, against))
    return found


# --- scalars and template values ----------------------------------------------------------------


def scaled(machine: Machine) -> Case:
    x = normal(N)
    right = [ALPHA * x.astype(np.float64)]
    return Case(scale, (machine.put(x),), right, 1e-6, {"alpha": ALPHA})


def in_blocks(machine: Machine) -> Case:
    x, y = normal(N), normal(N)[::-1]
    right = [x.astype(np.float64) + y]
    return Case(add_blocks, (machine.put(x), machine.put(y)), right, 1e-6, {"BLOCK": 256})


def scalar_arms(machine: Machine) -> list[Arm]:
    """Return a scalar parameter, the same and a new one at every call, and a template value."""
    subject = Subject(machine, "scalar parameter", lambda: scaled(machine))
    numbers = itertools.count(1)

    def new_values(count: int) -> list[float]:
        return [float(number) for number in itertools.islice(numbers, count)]

    def changing() -> Run:
        return loop(
            subject.call(True),
            machine.wait,
            each="alpha",
            prepare=new_values,
            k=subject.case.kernel,
            **subject.tensors(True),
        )

    against = (subject.to_floor(), Against("scalar parameter, out="))
    template = Subject(machine, "template keyword", lambda: in_blocks(machine))
    return [
        *out_arms(subject),
        Arm("scalar parameter, out=, a new value", changing, against),
        *out_arms(template),
    ]
