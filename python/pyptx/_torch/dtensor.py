# SPDX-License-Identifier: Apache-2.0
"""Kernels on DTensors: how their inputs may be divided over a mesh, and how the outputs are then.

`kernel(batch="B")` says that parts along B are independent, so B may be divided; an output that is
`partial="B"` is then a sum over the mesh. Everything else is whole on each device: DTensor gathers
what is not, as for its own operators. Who knows better registers a strategy of his own for the
operator (`torch.distributed.tensor.experimental.register_sharding`), before or after.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx._call.refusals import refuse

if TYPE_CHECKING:
    from pyptx._call.divides import Divides
    from pyptx._torch.kernel_operator import KernelOperator
    from pyptx.kernel import Kernel

_MODULE = "torch.distributed.tensor"


def is_loaded() -> bool:
    """Whether there can be a DTensor."""
    return hasattr(sys.modules.get(_MODULE), "DTensor")


def are_among(tensors: Sequence[Any]) -> bool:
    """Whether any is a DTensor."""
    if not is_loaded():
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
