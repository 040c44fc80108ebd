# SPDX-License-Identifier: Apache-2.0
"""What the launch bench is made of: arms, timed loops, and kernels with tensors to call them on.

An arm is declared by its name and made only when it is asked for, so that a list costs nothing and
`--only` pays for what it picks. It knows no rounds and prints nothing: that is `launch.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

N = 1024  # elements of the vectors; the GPU is done with them before the host has launched again

RESERVED_BYTES = 1 << 20  # the most that comes from the same blocks as the tensors of the arms

# What the project asks of itself on a GPU, as ratios to the peer of an arm.
OUT_GOAL = 1.20
MAPS_GOAL = 1.30  # of kernels with tensor maps
ALLOCATING_GOAL = 0.85
COMPILED_GOAL = 1.00
JIT_GOAL = 1.02
JAX_EAGER_GOAL = 1.25
FUNCTION_GOAL = 1.20  # of a function of pyptx.kernels, to the kernel that it launches

Run = Callable[[int], float]  # calls to make -> seconds for each of them

LOOP = """
def run(count):
    items = prepare(count)
    ready()
    begin = perf_counter()
    for {each} in items:
        {call}
    return begin, perf_counter()
"""


class LeftOutError(Exception):
    """Why an arm cannot run here, where nothing is wrong with it."""


NEEDS_GPU = "needs a GPU"


@dataclass(frozen=True)
class Against:
    """A peer of an arm, and the ratio to it that the project wants, if it wants one."""

    peer: str
    goal: float | None = None


@dataclass(frozen=True)
class Arm:
    """Something to time. `make` builds it, checks its result once and returns its loop."""

    name: str
    make: Callable[[], Run]
    against: tuple[Against, ...] = ()


def nothing() -> None:
    """Be ready at once."""


def span(
    call: str,
    *,
    each: str = "_",
    prepare: Callable[[int], Iterable[Any]] = range,
    ready: Callable[[], object] = nothing,
    **names: Any,
) -> Callable[[int], tuple[float, float]]:
    """Make a loop with `call` written out in it; it returns when it began and when it ended.

    `prepare(count)` makes what the loop goes over, named `each` in the call; it is not timed.
    """
    scope = {"perf_counter": perf_counter, "prepare": prepare, "ready": ready, **names}
    exec(compile(LOOP.format(call=call, each=each), f"<{call}>", "exec"), scope)
    run: Callable[[int], tuple[float, float]] = scope["run"]
    return run


def loop(call: str, wait: Callable[[], object], **names: Any) -> Run:
    """Make a loop as `span` does, that then waits, not timed, and returns seconds per call."""
    timed = span(call, **names)

    def run(count: int) -> float:
        begin, end = timed(count)
        wait()
        return (end - begin) / count

    return run


@dataclass(frozen=True)
class Machine:
    """Where the arms run."""

    torch: Any
    on_gpu: bool

    @property
    def device(self) -> str:
        """As torch spells it."""
        return "cuda" if self.on_gpu else "cpu"

    def wait(self) -> None:
        """Wait for everything that was launched."""
        if self.on_gpu:
            self.torch.cuda.synchronize()

    def reserve(self) -> None:
        """Leave the caching allocator a free block, so that no timed call waits for memory."""
        if self.on_gpu:
            self.torch.empty(RESERVED_BYTES, dtype=self.torch.uint8, device=self.device)

    def need_gpu(self) -> None:
        """Leave the arm out that is being made, unless there is a GPU."""
        if not self.on_gpu:
            raise LeftOutError(NEEDS_GPU)

    def put(self, array: np.ndarray, dtype: str | None = None) -> Any:
        """Return a tensor of these values."""
        kind = None if dtype is None else getattr(self.torch, dtype)
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device, kind)

    def goal(self, ratio: float) -> float | None:
        """Return a goal for a GPU; the emulator has none."""
        return ratio if self.on_gpu else None

    def pick(self, gpu: str, cpu: str) -> str:
        """Return the name of a peer: the emulator's calls have no floor."""
        return gpu if self.on_gpu else cpu


def normal(*shape: int) -> np.ndarray:
    """Return random values of f32."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """A kernel, tensors to call it on, and what should come out, in float64.

    `compared` makes what is compared with `right` of the outputs, where it is not they themselves.
    """

    kernel: Any
    inputs: tuple[Any, ...]
    right: Sequence[np.ndarray]
    tolerance: float = 1e-5
    keywords: dict[str, Any] = field(default_factory=dict)
    compared: Callable[..., Sequence[np.ndarray]] = lambda *outputs: outputs

    def check(self, outputs: Any, what: str) -> tuple[Any, ...]:
        """Return the outputs as a tuple; raise where one of them is wrong."""
        found = outputs if isinstance(outputs, tuple) else (outputs,)
        arrays = self.compared(*(t.detach().cpu().double().numpy() for t in found))
        for index, (got, right) in enumerate(zip(arrays, self.right, strict=True)):
            error = float(np.abs(got - right).max() / max(np.abs(right).max(), 1e-30))
            if not error < self.tolerance:
                raise ValueError(f"{what}: output {index} is wrong, largest error {error:.2e}")
        return found


class Subject:
    """A kernel that several arms call: the name they have, and the case, made and checked once."""

    def __init__(
        self, machine: Machine, name: str, build: Callable[[], Case], goal: float = OUT_GOAL
    ) -> None:
        self.machine = machine
        self.name = name
        self.goal = goal
        self._build = build

    @cached_property
    def case(self) -> Case:
        """The case, whose kernel has been seen to give the right result."""
        case = self._build()
        case.check(case.kernel(*case.inputs, **case.keywords), self.name)
        return case

    @cached_property
    def outputs(self) -> tuple[Any, ...]:
        """Tensors for `out=`, of which the same has been seen."""
        case, torch = self.case, self.machine.torch
        made = case.kernel(*case.inputs, **case.keywords)
        outputs = tuple(
            torch.full_like(t, float("nan")) for t in (made if isinstance(made, tuple) else (made,))
        )
        case.kernel(*case.inputs, out=self.out_of(outputs), **case.keywords)
        return case.check(outputs, f"{self.name}, out=")

    def to_floor(self) -> Against:
        """Return what a call with `out=` is held against."""
        peer = self.machine.pick(f"bare {self.name}", "torch.add, out=")
        return Against(peer, self.machine.goal(self.goal))

    @staticmethod
    def out_of(outputs: tuple[Any, ...]) -> Any:
        """Return what is passed as `out=`: one tensor, or a tuple of them."""
        return outputs if len(outputs) > 1 else outputs[0]

    def call(self, with_out: bool, keywords: Sequence[str] = ()) -> str:
        """Write the call, with the names that `tensors` has."""
        words = [f"a{index}" for index in range(len(self.case.inputs))]
        words += ["out=out"] * with_out
        words += [f"{name}={name}" for name in keywords or self.case.keywords]
        return f"k({', '.join(words)})"

    def tensors(self, with_out: bool) -> dict[str, Any]:
        """Return the kernel and its tensors by the names that the call has."""
        names = {f"a{index}": tensor for index, tensor in enumerate(self.case.inputs)}
        if with_out:
            names["out"] = self.out_of(self.outputs)
        return names

    def new_set(self, with_out: bool) -> tuple[Any, ...]:
        """Return other tensors of the same kind, in the order of `tensors`; values are anything."""
        empty = self.machine.torch.empty_like
        inputs = tuple(empty(t) for t in self.case.inputs)
        if not with_out:
            return inputs
        return (*inputs, self.out_of(tuple(empty(t) for t in self.outputs)))


def rotating(sets: int, new_set: Callable[[], tuple[Any, ...]]) -> Callable[[int], list[Any]]:
    """Return what prepares calls that go through this many sets of tensors again and again."""
    made: list[Any] = []

    def prepare(count: int) -> list[Any]:
        while len(made) < min(count, sets):
            made.append(new_set())
        return list(islice(cycle(made), count))

    return prepare


def fresh(machine: Machine, new_set: Callable[[], tuple[Any, ...]]) -> Callable[[int], list[Any]]:
    """Return what prepares calls of which each has tensors that none had before it.

    They are all kept, or the next round would be given the same addresses.
    """
    kept: list[list[Any]] = []

    def prepare(count: int) -> list[Any]:
        kept.append([new_set() for _ in range(count)])
        machine.reserve()
        return kept[-1]

    return prepare
