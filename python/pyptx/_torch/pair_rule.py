# SPDX-License-Identifier: Apache-2.0
"""What autograd does with the operator of a pair: its backward runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyptx._torch.options import parse_options
from pyptx._torch.recording import Rule

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel


class PairRule(Rule):
    """That of a differentiable kernel."""

    writes_outputs = False

    def __init__(self, pair: DifferentiableKernel) -> None:
        super().__init__(pair.forward.signature.name, pair)
        self._joined = pair

    def keep(self, ctx: Any, inputs: Sequence[Any], outputs: Any, options: str) -> None:
        """Save what the backward kernel gets."""
        pair = self._joined
        count = len(pair.forward.in_specs)
        ctx.save_for_backward(*pair.kept(inputs[:count], outputs))
        ctx.options = options
        if isinstance(outputs, tuple) and len(outputs) > pair.public:
            ctx.mark_non_differentiable(*outputs[pair.public :])

    def backward(self, ctx: Any, grads: Sequence[Any]) -> Sequence[Any]:
        """Call the backward kernel."""
        pair = self._joined
        given = parse_options(ctx.options)
        keywords = {name: given[name] for name in pair.taken_by_backward(given)}
        needed = ctx.needs_input_grad[2:]  # behind what the operator itself is given
        return pair.gradients(ctx.saved_tensors, pair.dense(grads), needed, keywords)
