# SPDX-License-Identifier: Apache-2.0
"""Kernels on DTensors: how their inputs may be divided over a mesh, and how the outputs are then.

`kernel(batch="B")` says that parts along B are independent, so B may be divided; an output that is
`partial="B"` is then a sum over the mesh. Everything else is whole on each device: DTensor gathers
what is not, as for its own operators. Who knows better registers a strategy of his own for the
operator (`torch.distributed.tensor.experimental.register_sharding`), before or after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx._call.refusals import refuse
from pyptx.torch_support import has_dtensors

if TYPE_CHECKING:
    from pyptx._call.divides import Divides
    from pyptx._torch.kernel_operator import KernelOperator
    from pyptx.kernel import Kernel


def are_among(tensors: Sequence[Any]) -> bool:
    """Whether any is a DTensor."""
    if not has_dtensors():
        return False
    from torch.distributed.tensor import DTensor

    return any(isinstance(tensor, DTensor) for tensor in tensors)


def refuse_written(kernel: Kernel, tensors: Sequence[Any]) -> None:
    """Refuse to write DTensors: what is gathered for a call is a copy."""
    if are_among(tensors):
        refuse(
            "ArrayMemory",
            f"kernel {kernel.signature.name!r}:",
            "a call that writes its arguments takes no DTensor, whose parts it may have to gather "
            "into a copy; call it on .to_local(), or let the kernel make its outputs",
        )


def register(operator: KernelOperator) -> None:
    """Tell DTensor how the operator's inputs may be divided, unless somebody has."""
    from torch.distributed.tensor import DTensor
    from torch.distributed.tensor.experimental import register_sharding

    overload = operator.packet.default
    propagator = DTensor._op_dispatcher.sharding_propagator
    tables = ("op_strategy_funcs", "op_single_dim_strategy_funcs", "op_to_rules")
    if any(overload in getattr(propagator, table, ()) for table in tables):
        return

    def shardings(*args: Any, **keywords: Any) -> list[tuple[list[Any], list[Any]]]:
        return _shardings(operator, args)

    register_sharding(overload)(shardings)
    info = propagator.op_to_schema_info.get(overload)
    if info is not None:  # what keywords say of the outputs' shapes is part of what it remembers
        info.static_kwargkey = [*(info.static_kwargkey or ()), "options"]


def _shardings(operator: KernelOperator, args: Sequence[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Return what may be in one dimension of a mesh: placements of outputs, and of arguments."""
    from torch.distributed.tensor import Replicate

    signature = operator.kernel.signature
    scalars = [None if arg is None else Replicate() for arg in args[len(operator.inputs) :]]
    whole: list[Any] = [Replicate() for _ in signature.in_specs]
    found = [([Replicate() for _ in signature.out_specs], [*whole, *scalars])]
    if signature.batch is not None:
        inputs, outputs = _divided_along(signature.batch, signature)
        found.append((outputs, [*inputs, *scalars]))
    return found


def _divided_along(batch: str, declared: Any) -> tuple[list[Any], list[Any]]:
    """Return the placements of inputs and outputs where the batch is divided."""
    from torch.distributed.tensor import Partial, Replicate, Shard

    def placement(spec: Any) -> Any:
        if batch in spec.dims:
            return Shard(spec.dims.index(batch))
        return Partial("sum") if spec.partial is not None else Replicate()

    inputs, outputs = declared.in_specs, declared.out_specs
    return [placement(spec) for spec in inputs], [placement(spec) for spec in outputs]


# --- functions of several launches ----------------------------------------------------------------


def divided(function: Callable[..., Any], args: Sequence[Any]) -> Callable[..., Any]:
    """Return a function of several launches, called on parts of DTensors where it says it may be.

    Called as it is, each launch would be divided for itself, and what the first sums up for the
    next would be gathered in between.
    """
    declared: Divides | None = getattr(function, "divides", None)
    if declared is None or not are_among(args):
        return function

    def call(*args: Any, **keywords: Any) -> Any:
        return _on_parts(function, declared, args, keywords)

    return call


def _on_parts(
    function: Callable[..., Any], declared: Divides, args: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    from torch.distributed.tensor import DTensor, Replicate

    inputs, outputs = _divided_along(declared.batch, declared)
    mesh = next(arg.device_mesh for arg in args if isinstance(arg, DTensor))
    #: Of the mesh, those dimensions over which some input's batch is divided.
    over = [
        any(
            isinstance(arg, DTensor) and wanted.is_shard() and arg.placements[dim] == wanted
            for arg, wanted in zip(args, inputs, strict=True)
        )
        for dim in range(mesh.ndim)
    ]

    def placements(wanted: Any) -> list[Any]:
        return [wanted if is_divided else Replicate() for is_divided in over]

    parts = [
        arg.redistribute(mesh, placements(wanted)).to_local() if isinstance(arg, DTensor) else arg
        for arg, wanted in zip(args, inputs, strict=True)
    ]
    found = function(*parts, **keywords)
    several = found if isinstance(found, (tuple, list)) else (found,)
    shapes = {
        wanted.dim: arg.shape[wanted.dim]
        for arg, wanted in zip(args, inputs, strict=True)
        if wanted.is_shard()
    }
    results = tuple(
        None if part is None else _whole(part, mesh, placements(wanted), shapes)
        for part, wanted in zip(several, outputs, strict=True)
    )
    return results if isinstance(found, (tuple, list)) else results[0]


def _whole(part: Any, mesh: Any, placements: Sequence[Any], sizes: dict[int, int]) -> Any:
    """Return the DTensor of a device's part; `sizes` of the whole where dimensions are divided."""
    from torch.distributed.tensor import DTensor

    axes = {placement.dim for placement in placements if placement.is_shard()}
    shape = [sizes[axis] if axis in axes else size for axis, size in enumerate(part.shape)]
    strides = torch.empty(shape, device="meta").stride()
    return DTensor.from_local(
        part, mesh, placements, run_check=False, shape=torch.Size(shape), stride=strides
    )


# --- functions over rows --------------------------------------------------------------------------


def are_all(arrays: Sequence[Any]) -> bool:
    """Whether all are DTensors, but for those that are left out."""
    from torch.distributed.tensor import DTensor

    return all(array is None or isinstance(array, DTensor) for array in arrays)


def on_rows(
    call: Callable[..., Any],
    arrays: Sequence[Any],
    has_rows: Sequence[bool],
    options: dict[str, Any],
) -> Any:
    """Call a function over rows on each device's own, whichever dimension before the last is cut.

    `has_rows` says which arrays have a row for each of the first one's; the others belong to all
    rows, so that their gradient is a sum over the devices. torch.compile reads this.
    """
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    first = arrays[0]
    mesh, rows = first.device_mesh, first.shape[:-1]
    ours = [p if type(p) is Shard and p.dim < len(rows) else Replicate() for p in first.placements]
    whole = [Replicate() for _ in ours]
    sums = [Partial() if type(p) is Shard else p for p in ours]
    parts: list[Any] = []
    for array, is_divided in zip(arrays, has_rows, strict=True):
        if array is None:
            parts.append(None)
            continue
        wanted, back = (ours, ours) if is_divided else (whole, sums)
        if list(array.placements) != wanted:  # else a sum of gradients would be added up at once
            array = array.redistribute(mesh, wanted)
        parts.append(array.to_local(grad_placements=back))
    found = call(*parts, **options)
    results = []
    for part in found if isinstance(found, tuple) else (found,):
        shape = torch.Size((*rows, *part.shape[len(rows) :]))
        strides = [1] * len(shape)
        for axis in range(len(shape) - 1, 0, -1):
            strides[axis - 1] = strides[axis] * shape[axis]
        results.append(
            DTensor.from_local(
                part, mesh, ours, run_check=False, shape=shape, stride=tuple(strides)
            )
        )
    return tuple(results) if isinstance(found, tuple) else results[0]
