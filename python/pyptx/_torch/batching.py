# SPDX-License-Identifier: Apache-2.0
"""torch.vmap of a kernel: one launch where it has a batch dimension, else one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx._call.autograd import dense
from pyptx._call.refusals import refuse
from pyptx._call.signature import Signature
from pyptx.specs import Layout

if TYPE_CHECKING:
    from pyptx._torch.kernel_operator import KernelOperator


def batched(
    operator: KernelOperator, info: Any, dims: Sequence[Any], args: Sequence[Any], options: str
) -> Any:
    """Return the outputs with a mapped dimension, and which it is in each."""
    call = operator.arguments(args, options)
    signature, tensors = call.signature, call.tensors
    if signature.writes_inputs:
        name = signature.name
        refuse("NoTensors", f"kernel {name!r}", "has no outputs", "torch.vmap needs some to map")
    count = len(tensors)
    mapped, scalars = dims[:count], args[count:]

    def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = operator.packet.default(*inputs, *scalars, options=options)
        return made if isinstance(made, tuple) else (made,)

    if info.batch_size == 0:
        rests = [
            x if d is None else x.sum(d, dtype=x.dtype)
            for x, d in zip(tensors, mapped, strict=True)
        ]
        outputs = operator.arguments((*rests, *scalars), options).make_outputs()
        return _several([out.new_empty((0, *out.shape)) for out in outputs], [0] * len(outputs))
    whole = None
    # Sums of several batches cannot be had of one call.
    can_merge = signature.batch is not None and not signature.has_partial_outputs
    if can_merge and signature.batch not in call.keywords:
        whole = _concatenated(signature, info.batch_size, tensors, mapped)
    if whole is not None:
        axes = [spec.dims.index(signature.batch) for spec in signature.out_specs]
        parts = [
            result.unflatten(axis, (info.batch_size, result.shape[axis] // info.batch_size))
            for result, axis in zip(run(*whole), axes, strict=True)
        ]
        return _several(parts, axes)
    columns = [spec.layout is Layout.COL for spec in signature.in_specs]
    rows = [
        run(
            *(
                x if d is None else dense(x.select(d, i), is_column)
                for x, d, is_column in zip(tensors, mapped, columns, strict=True)
            )
        )
        for i in range(info.batch_size)
    ]
    stacked = [torch.stack(column) for column in zip(*rows, strict=True)]
    return _several(stacked, [0] * len(stacked))


def _several(outputs: Sequence[torch.Tensor], dims: Sequence[int]) -> Any:
    return (outputs[0], dims[0]) if len(outputs) == 1 else (tuple(outputs), tuple(dims))


def _concatenated(
    signature: Signature, count: int, inputs: Sequence[torch.Tensor], dims: Sequence[int | None]
) -> list[torch.Tensor] | None:
    """Put a mapped dimension into the batch dimension; None where an input has no place for it."""
    found = []
    for tensor, dim, spec in zip(inputs, dims, signature.in_specs, strict=True):
        if signature.batch not in spec.dims:
            if dim is not None:
                return None
            found.append(tensor)
            continue
        axis = spec.dims.index(signature.batch)
        if dim is None:
            shape = (*tensor.shape[:axis], count, *tensor.shape[axis:])
            parts = tensor.unsqueeze(axis).expand(shape)
        else:
            parts = tensor.movedim(dim, axis)
        found.append(dense(parts.flatten(axis, axis + 1), spec.layout is Layout.COL))
    return found
