# SPDX-License-Identifier: Apache-2.0
"""torch.autocast for kernels that have types for it: inputs are cast, and autograd sees that.

Eager calls, a pair's call and operators in graphs all cast here, above what records gradients, so
that a backward gets what its forward got.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx._torch.eager import torch_dtype

if TYPE_CHECKING:
    from pyptx._torch.kernel_operator import KernelOperator

_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA"}


def cast(types: Sequence[str | None], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the inputs in these types, where autocast is on for the device of the first tensor."""
    device = next((x.device.type for x in inputs if isinstance(x, torch.Tensor)), "")
    if device not in _KEYS or not torch.is_autocast_enabled(device):
        return tuple(inputs)
    return _cast(device, types, inputs)


def _cast(device: str, types: Sequence[str | None], inputs: Sequence[Any]) -> tuple[Any, ...]:
    # As torch does: float64 stays, and so does what is elsewhere.
    found = list(inputs)
    for index, (x, name) in enumerate(zip(inputs, types, strict=False)):
        if name is None or not isinstance(x, torch.Tensor) or x.device.type != device:
            continue
        if x.is_floating_point() and x.dtype != torch.float64:
            found[index] = x.to(torch_dtype(name))
    return tuple(found)


def register(library: Any, base: str, operator: KernelOperator) -> None:
    """Give an operator its rule for autocast."""
    types, count = operator.kernel.autocast_types, len(operator.inputs)

    def rule(device: str, key: str) -> Any:
        keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

        def call(*args: Any, options: str = "") -> Any:
            inputs = _cast(device, types, args[:count])
            with torch._C._ExcludeDispatchKeyGuard(keys):
                return operator.packet.default(*inputs, *args[count:], options=options)

        return call

    for device, key in _KEYS.items():
        library.impl(base, rule(device, key), key)
