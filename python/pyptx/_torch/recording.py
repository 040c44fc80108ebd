# SPDX-License-Identifier: Apache-2.0
"""What autograd does with the operators of kernels: it refuses, or a pair's backward runs.

Registered for the key by which autograd sees the operator, at each level of `torch.func` that takes
gradients too: there `torch.library.register_autograd` does not serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

from pyptx import _core
from pyptx._call.refusals import refuse
from pyptx._torch import eager

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel
    from pyptx._torch.kernel_operator import KernelOperator


class Rule:
    """That of a kernel alone: it runs, and says so where it is differentiated."""

    #: Whether the operator has an overload for outputs of the caller's.
    writes_outputs = True

    def __init__(self, name: str, pair: DifferentiableKernel | None = None) -> None:
        self.name = name
        #: The differentiable kernel whose rule it is.
        self.pair = pair

    def keep(self, ctx: Any, inputs: Sequence[Any], outputs: Any, options: str) -> None:
        """Keep what the backward will need."""
        ctx.kernel_name = self.name

    def backward(self, ctx: Any, grads: Sequence[Any]) -> Sequence[Any]:
        """Return the gradients of the inputs."""
        return eager.refuse_backward(ctx, *grads)  # type: ignore[no-any-return]


def record(library: Any, overload: Any, operator: KernelOperator) -> None:
    """Give the operator its rule."""

    def run(keyset: Any, args: Sequence[Any], options: str) -> Any:
        below = keyset & torch._C._after_autograd_keyset
        with torch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(below, *args, options=options)

    class Recorded(_SingleLevelFunction):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, keyset: Any, options: str, *args: Any) -> Any:
            outputs = run(keyset, args, options)
            operator.rule.keep(ctx, args, outputs, options)
            return outputs

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            found = operator.rule.backward(ctx, grads)
            rest = len(ctx.needs_input_grad) - 2 - len(found)
            return (None, None, *found, *[None] * rest)

    def call(keyset: Any, *args: Any, options: str = "") -> Any:
        operator.tell_dtensor()  # which may have been loaded after the operator was asked for
        eager.refuse_tangents(operator.kernel, args[: len(operator.inputs)])
        if not eager.is_recorded([arg for arg in args if arg is not None]):
            return run(keyset, args, options)
        with enable_single_level_autograd_function():
            return Recorded.apply(keyset, options, *args)

    library.impl(overload._schema.name.rpartition("::")[2], call, "Autograd", with_keyset=True)


def record_launches(library: Any, packets: Sequence[Any]) -> None:
    """Let the operators of programs that are carried elsewhere refuse to go backward.

    Where there was a gradient, it was settled above them when the program was made.
    """
    for packet in packets:
        overload = packet.default
        name = overload._schema.name.rpartition("::")[2]
        rule = _refusing(overload, writes=len(overload._schema.arguments) > 2)
        library.impl(name, rule, "Autograd", with_keyset=True)


def _refusing(overload: Any, writes: bool) -> Any:
    def run(keyset: Any, args: Sequence[Any]) -> Any:
        below = keyset & torch._C._after_autograd_keyset
        with torch._C._AutoDispatchBelowAutograd():
            return overload.redispatch(below, *args)

    class Refusing(_SingleLevelFunction):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, keyset: Any, text: str, *inputs: Any) -> Any:
            ctx.text = text
            found = run(keyset, (inputs, text))
            return tuple(found) if isinstance(found, list) else found

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            _refuse_program(ctx.text)

    def call(keyset: Any, inputs: Sequence[Any], *rest: Any) -> Any:
        outs = rest[0] if writes else ()
        if not eager.is_recorded([*inputs, *outs]):
            return run(keyset, (inputs, *rest))
        if writes:
            _refuse_program(rest[-1])
        with enable_single_level_autograd_function():
            found = Refusing.apply(keyset, rest[-1], *inputs)
        return list(found) if isinstance(found, tuple) else found

    return call


def _refuse_program(text: str) -> NoReturn:
    refuse(
        "NoGradient",
        f"kernel {_core.carried_kernel(text).name!r}",
        "has no gradient in this program, which was exported or holds a bound kernel; train the "
        "module that it was made from, or run it under torch.no_grad()",
    )
