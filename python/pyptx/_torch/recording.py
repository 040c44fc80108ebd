# SPDX-License-Identifier: Apache-2.0
"""What autograd does with the operator of a kernel: it refuses, or a pair's backward runs.

Registered for the key by which autograd sees the operator, at each level of `torch.func` that takes
gradients too: there `torch.library.register_autograd` does not serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

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
