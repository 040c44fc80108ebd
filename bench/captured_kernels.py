# SPDX-License-Identifier: Apache-2.0
"""One small kernel, y = 2 x + 1, for each kind of thing that a body reads besides its arguments.

What a body reads is compared before every launch; these say what that costs.
"""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from captured_helpers import THREADS, affine, for_each

from pyptx import Tile, kernel, ptx, reg
from pyptx.kernel import Kernel
from pyptx.types import f32, u32

SCALE, SHIFT = 2.0, 1.0

elementwise = functools.partial(
    kernel,
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    grid=lambda N: (-(-N // THREADS), 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_80",
)


@dataclass(frozen=True)
class Settings:
    """A configuration as an application has it."""

    scale: float = SCALE
    shift: float = SHIFT
    name: str = "affine"


SETTINGS = Settings()


class Operation:
    """A base class with a class attribute and a method that calls one of the derived class."""

    shift = SHIFT

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def apply(self, value: Any) -> None:
        """Change a value in place."""
        affine(value, self.factor(), self.shift)

    def factor(self) -> float:
        """Return what a value is multiplied by."""
        raise NotImplementedError


class Doubling(Operation):
    """The derived class, with a class attribute of its own."""

    base = 1.0

    def factor(self) -> float:
        """Return what a value is multiplied by."""
        return self.base * self.scale


OPERATION = Doubling(SCALE)


class Mode(enum.Enum):
    """A choice; its value is the factor."""

    SAME = 1.0
    DOUBLE = SCALE


MODE = Mode.DOUBLE
TABLE = {"scale": SCALE, "shift": SHIFT}
COEFFICIENTS = [SCALE, SHIFT]
ARRAY = np.array([SCALE, SHIFT], dtype=np.float32)
PARTIAL = functools.partial(affine, scale=SCALE, shift=SHIFT)


@elementwise
def reads_dataclass(X, Y):
    for_each(X, Y, lambda value: affine(value, SETTINGS.scale, SETTINGS.shift))


@elementwise
def reads_class(X, Y):
    for_each(X, Y, OPERATION.apply)


@elementwise
def reads_dict(X, Y):
    for_each(X, Y, lambda value: affine(value, TABLE["scale"], TABLE["shift"]))


@elementwise
def reads_list(X, Y):
    for_each(X, Y, lambda value: affine(value, COEFFICIENTS[0], COEFFICIENTS[1]))


@elementwise
def reads_enum(X, Y):
    for_each(X, Y, lambda value: affine(value, MODE.value if MODE is Mode.DOUBLE else 0.0, SHIFT))


@elementwise
def reads_array(X, Y):
    for_each(X, Y, lambda value: affine(value, float(ARRAY[0]), float(ARRAY[1])))


@elementwise
def reads_partial(X, Y):
    for_each(X, Y, PARTIAL)


def build_closure(scale: float, shift: float) -> Kernel:
    """Build the kernel that captures variables, and a function that captures them too."""

    def change(value: Any) -> None:
        affine(value, scale, shift)

    @elementwise
    def reads_closure(X, Y):
        for_each(X, Y, change)

    return reads_closure


KERNELS: dict[str, Kernel] = {
    "a dataclass": reads_dataclass,
    "a class and its base": reads_class,
    "a dict": reads_dict,
    "a list": reads_list,
    "an enum": reads_enum,
    "a closure": build_closure(SCALE, SHIFT),
    "a NumPy array": reads_array,
    "a functools.partial": reads_partial,
}


# --- what a call brings besides tensors ---------------------------------------------------------


@elementwise(raw_params=[("f32", "alpha")])
def scale(X, Y):
    """Y = alpha * X."""
    alpha = ptx.param(f32, "alpha")
    for_each(X, Y, lambda value: ptx.inst.mul.f32(value, value, alpha))


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=lambda N, BLOCK: (-(-N // BLOCK), 1, 1),
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def add_blocks(A, B, C, *, BLOCK=128):
    """C = A + B; a CTA adds BLOCK elements, a multiple of its threads."""
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    first = reg.from_(ptx.special.ctaid.x(), u32) * BLOCK
    first += ptx.special.tid.x()
    for i in range(BLOCK // THREADS):
        index = first + i * THREADS
        with ptx.if_(index < A.shape[0]):
            offset = index * 4
            a, b = reg.scalar(f32), reg.scalar(f32)
            ptx.inst.ld.global_.f32(a, ptx.addr(pa + offset))
            ptx.inst.ld.global_.f32(b, ptx.addr(pb + offset))
            ptx.inst.add.f32(a, a, b)
            ptx.inst.st.global_.f32(ptx.addr(pc + offset), a)
    ptx.ret()
