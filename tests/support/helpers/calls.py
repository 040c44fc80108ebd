# SPDX-License-Identifier: Apache-2.0
"""Realistic calls of every public helper: what exists, who calls it, on which targets.

`helpers()` finds the public helpers by looking, not by a list. The modules `helper_calls_*` give
calls for them with `@call`, and `helper_misuses*` what each must refuse with `misuse`. A call gets
a `Bench`: registers, shared memory and tensor maps of the kernel being traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from pyptx import _core, ptx, reg, smem
from pyptx.types import b32, bf16, pred, u32, u64

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
HOPPER_UP = TARGETS[1:]
HOPPER = ("sm_90a",)
BLACKWELL = ("sm_100a", "sm_103a")
BLACKWELL_UP = ("sm_100a", "sm_103a", "sm_120a")
CONSUMER = ("sm_120a",)


class Bench:
    """A kernel being traced, and things to hand to helpers."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.trace = _core.Trace("kernel", target)
        for name in ("A", "B"):
            self.trace.add_tensor(name)
        self.trace.add_param("u32", "n")
        self.trace.enter()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.trace.leave()

    def regs(self, dtype: Any, count: int) -> Any:
        """Registers that hold something."""
        array = reg.array(dtype, count)
        for i in range(count):
            array[i] = reg.scalar(dtype, 0) if dtype is pred else 0
        return array

    def word(self, value: int = 1) -> Any:
        return reg.scalar(u32, value)

    def wide(self, value: int = 1) -> Any:
        return reg.scalar(u64, value)

    def predicate(self) -> Any:
        return self.word() > 0

    def pointer(self) -> Any:
        return ptx.global_ptrs("A")[0]

    def map(self) -> Any:
        return self.trace.tensor_map("A")

    def tile(self, dtype: Any = bf16, shape: tuple[int, ...] = (64, 64)) -> Any:
        return smem.alloc(dtype, shape, swizzle="128B")

    def bar(self) -> Any:
        return smem.mbarrier(1)[0]

    def tmem(self) -> Any:
        """The address of tensor memory, as an allocation gives it."""
        return reg.scalar(b32, 0)


@dataclass(frozen=True)
class Call:
    """One use of a helper; `targets` are all those that have it.

    Calls of one `kernel` stand in one kernel: tcgen05 works with one CTA or with pairs, never both.
    """

    helper: str
    label: str
    run: Callable[[Bench], object]
    targets: tuple[str, ...]
    kernel: str


@dataclass(frozen=True)
class Misuse:
    """What a helper must refuse, and with which code; without a target, outside any kernel."""

    helper: str
    code: str
    run: Callable[[Any], object]
    target: str | None


CALLS: list[Call] = []
MISUSES: list[Misuse] = []


def call(
    helper: str, label: str = "", targets: tuple[str, ...] = TARGETS, kernel: str = "one CTA"
) -> Callable[[Callable[[Bench], object]], Callable[[Bench], object]]:
    """Registers the decorated function as a call of `helper`."""

    def add(run: Callable[[Bench], object]) -> Callable[[Bench], object]:
        CALLS.append(Call(helper, label, run, targets, kernel))
        return run

    return add


def misuse(helper: str, code: str, run: Callable[[Bench], object], target: str = "sm_90a") -> None:
    """Registers something that `helper` must refuse."""
    MISUSES.append(Misuse(helper, code, run, target))


def outside(helper: str, run: Callable[[], object]) -> None:
    """Registers a call that is right but for its place: no kernel is being traced."""
    MISUSES.append(Misuse(helper, "PTX0401", lambda _: run(), None))


def _is_function(value: object) -> bool:
    return type(value).__name__ in ("nb_func", "nb_method", "nb_bound_method", "function")


def _walk(owner: Any, path: str) -> Iterator[str]:
    for name in sorted(vars(owner)):
        value = getattr(owner, name)
        if name.startswith("_") or name in ("annotations", "Any"):
            continue
        if isinstance(value, ModuleType):
            yield from _walk(value, f"{path}.{name}")
        elif isinstance(value, type):
            # What a class has besides operators; constructs are used by the names that give them.
            yield from (
                f"{path}.{name}.{method}"
                for method in dir(value)
                if not method.startswith("_") and _is_function(getattr(value, method))
            )
        elif _is_function(value) or not callable(value) or path == "ptx":
            yield f"{path}.{name}"


def helpers() -> list[str]:
    """Every public helper of ptx, reg and smem, by the name authors use."""
    found = [*_walk(ptx, "ptx"), *_walk(reg, "reg"), *_walk(smem, "smem")]
    # smem names the classes of ptx.mbarrier again.
    return [name for name in found if not name.startswith("smem.Mbarrier")]


def label_of(entry: Call) -> str:
    return f"{entry.helper} {entry.label}".strip()
