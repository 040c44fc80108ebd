# SPDX-License-Identifier: Apache-2.0
"""The functions of `pyptx.kernels`: against the kernel that they launch, and torch's own function.

The kernel is called with what the function would give it, so the first ratio is what choosing,
checking and shaping costs. Rows come as (batch, tokens, columns), as in a model. The arrays are so
small that the GPU waits for the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from arms import COMPILED_GOAL, FUNCTION_GOAL, Against, Arm, Machine, Run, loop, normal

BATCH, TOKENS, COLUMNS, HEADS = 2, 4, 256, 2
TOLERANCE = 2e-2  # bf16


@dataclass(frozen=True)
class Made:
    """Tensors by name, and the call behind the function with its arguments."""

    tensors: dict[str, Any]
    call: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]


class Function:
    """A function of the library as it is written, `ours`, and the same in torch."""

    def __init__(
        self, machine: Machine, name: str, ours: str, theirs: str, make: Callable[[Machine], Made]
    ) -> None:
        self.machine, self.name = machine, name
        self.ours, self.theirs = ours, theirs
        self._make = make

    @cached_property
    def made(self) -> Made:
        """What it is called on."""
        return self._make(self.machine)

    def scope(self, recorded: bool = False) -> dict[str, Any]:
        """Return the names that the calls have; of floats, `recorded` ones ask for gradients."""
        from pyptx import kernels

        torch = self.machine.torch
        tensors = {
            name: tensor.clone().requires_grad_() if recorded else tensor
            for name, tensor in self.made.tensors.items()
        }
        return {"kernels": kernels, "torch": torch, "F": torch.nn.functional, **tensors}

    def check(self, found: Any) -> None:
        """Compare with torch, where it has the function."""
        if not self.theirs:
            return
        right = eval(self.theirs, self.scope()).float()
        error = float((found.detach().float() - right).abs().max() / right.abs().max())
        if not error < TOLERANCE:
            raise ValueError(f"{self.name}: largest error {error:.2e}")

    def run(self, call: str, recorded: bool = False) -> Run:
        """Return the loop of ours or theirs."""
        scope = self.scope(recorded)
        self.check(eval(call, scope))
        return loop(call, self.machine.wait, **scope)

    def kernel_run(self) -> Run:
        """Return the loop of the kernel on what it gets."""
        launch = self.made.call.route(*self.made.arguments, **self.made.options)
        kernel = getattr(launch.operation, "forward", launch.operation)
        names = {f"a{index}": tensor for index, tensor in enumerate(launch.inputs)}
        kernel(*launch.inputs)
        return loop(f"k({', '.join(names)})", self.machine.wait, k=kernel, **names)

    def compiled_run(self, call: str) -> Run:
        """Return the loop of the compiled function."""
        scope = self.scope()
        names = ", ".join(self.made.tensors)
        function = self.machine.torch.compile(eval(f"lambda {names}: {call}", scope))
        self.check(function(*self.made.tensors.values()))
        return loop(f"f({names})", self.machine.wait, f=function, **self.made.tensors)

    def arms(self) -> list[Arm]:
        """Return the function, the kernel, and torch."""
        kernel, peer = f"the kernel of {self.name}", f"torch's {self.name}"
        against = [Against(kernel, self.machine.goal(FUNCTION_GOAL))]
        found = [Arm(kernel, self.kernel_run)]
        if self.theirs:
            against.append(Against(peer))
            found.append(Arm(peer, lambda: self.run(self.theirs)))
        return [Arm(f"kernels.{self.name}", lambda: self.run(self.ours), tuple(against)), *found]

    def other_arms(self) -> list[Arm]:
        """Return the function recorded for gradients and compiled, each with torch's."""
        found = []
        for way, goal, make in (
            ("recorded", None, lambda call: self.run(call, recorded=True)),
            ("torch.compile", self.machine.goal(COMPILED_GOAL), self.compiled_run),
        ):
            peer = f"torch's {self.name}, {way}"
            run = lambda call, make=make: lambda: make(call)  # noqa: E731
            found.append(Arm(f"kernels.{self.name}, {way}", run(self.ours), (Against(peer, goal),)))
            found.append(Arm(peer, run(self.theirs)))
        return found


# --- what they are called on ----------------------------------------------------------------------


def _rows(machine: Machine, *names: str) -> dict[str, Any]:
    return {name: machine.put(normal(BATCH, TOKENS, COLUMNS), "bfloat16") for name in names}


def _weights(machine: Machine, *names: str) -> dict[str, Any]:
    return {name: machine.put(normal(COLUMNS), "bfloat16") for name in names}


def rms_norm(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    given = _rows(machine, "x") | _weights(machine, "w")
    return Made(given, row_calls._rms_norm, (given["x"], None, given["w"]), {"eps": 1e-6})


def layer_norm(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    given = _rows(machine, "x") | _weights(machine, "w", "b")
    arguments = (given["x"], None, given["w"], given["b"])
    return Made(given, row_calls._layer_norm, arguments, {"eps": 1e-5})


def softmax(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    given = _rows(machine, "x")
    return Made(given, row_calls._softmax_call, (given["x"],), {})


def cross_entropy(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    x = machine.put(normal(BATCH * TOKENS, COLUMNS), "bfloat16")
    targets = machine.put(np.arange(BATCH * TOKENS))
    return Made({"x": x, "targets": targets}, row_calls._cross_entropy_call, (x, targets), {})


def swiglu(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    given = _rows(machine, "gate", "up")
    return Made(given, row_calls._swiglu_call, (given["gate"], given["up"]), {})


def rotary(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    x = machine.put(normal(BATCH, TOKENS, HEADS, 64), "bfloat16")
    angles = machine.put(normal(TOKENS, 32))
    given = {"x": x, "cos": angles.cos(), "sin": angles.sin()}
    return Made(given, row_calls._rotary_call, (*given.values(),), {"interleaved": False})


def quantise_fp8(machine: Machine) -> Made:
    from pyptx.kernels import row_calls

    given = _rows(machine, "x")
    return Made(given, row_calls._quantise_call, (given["x"],), {"group": None, "dtype": "e4m3"})


def matmul(machine: Machine) -> Made:
    from pyptx.kernels import gemm

    a = machine.put(normal(BATCH * TOKENS, COLUMNS), "bfloat16")
    b = machine.put(normal(COLUMNS, COLUMNS), "bfloat16")
    return Made({"a": a, "b": b}, gemm._product, (a, b, None, None), _MATMUL)


def linear(machine: Machine) -> Made:
    from pyptx.kernels import gemm

    w = machine.put(normal(COLUMNS, COLUMNS), "bfloat16")
    given = _rows(machine, "x") | {"w": w} | _weights(machine, "b")
    arguments = (given["x"], w, given["b"], None)
    return Made(given, gemm._product, arguments, {**_MATMUL, "transpose_b": True})


_MATMUL = {
    "activation": None,
    "out_dtype": None,
    "transpose_a": False,
    "transpose_b": False,
    "batch_invariant": False,
    "config": None,
}
# The name, as it is written, and in torch.
_CALLS: list[tuple[str, str, str, Callable[[Machine], Made]]] = [
    ("rms_norm", "rms_norm(x, w)", "F.rms_norm(x, x.shape[-1:], w, 1e-6)", rms_norm),
    ("layer_norm", "layer_norm(x, w, b)", "F.layer_norm(x, x.shape[-1:], w, b)", layer_norm),
    ("softmax", "softmax(x)", "torch.softmax(x, -1)", softmax),
    (
        "cross_entropy",
        "cross_entropy(x, targets)",
        "F.cross_entropy(x, targets, reduction='none')",
        cross_entropy,
    ),
    ("swiglu", "swiglu(gate, up)", "F.silu(gate) * up", swiglu),
    ("rotary", "rotary(x, cos, sin)", "", rotary),
    ("quantise_fp8", "quantise_fp8(x)", "", quantise_fp8),
    ("matmul", "matmul(a, b)", "torch.matmul(a, b)", matmul),
    ("matmul, linear", "matmul(x, w, transpose_b=True, bias=b)", "F.linear(x, w, b)", linear),
]


def arms(machine: Machine) -> list[Arm]:
    """Return the arms of every function."""
    functions = [
        Function(machine, name, f"kernels.{ours}", theirs, make)
        for name, ours, theirs, make in _CALLS
    ]
    found = [arm for function in functions for arm in function.arms()]
    for function in (functions[0], functions[-1]):
        found += function.other_arms()
    return found
