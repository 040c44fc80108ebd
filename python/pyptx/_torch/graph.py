# SPDX-License-Identifier: Apache-2.0
"""Kernels as texts in torch graphs that leave the process: what `pyptx::launch` gets.

Graphs of this process call the kernel's own operator (`kernel_operator`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx import _core, _toolchain
from pyptx._call import first_call
from pyptx._call.element_types import framework_name, nbytes, ptx_name, stored_name
from pyptx._call.first_call import UNKNOWN
from pyptx._call.signature import Array, grid_asks_for
from pyptx.specs import Layout

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def of_call(
    kernel: Kernel,
    inputs: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> str | None:
    """Return the text for a call with these (fake) tensors; None where no text can stand for it.

    Symbolic shapes, an empty grid, one that depends on a scalar of the launch, tensors with gaps,
    and a kernel that reads what cannot be compared have none.
    """
    if any(value is UNKNOWN and grid_asks_for(kernel.grid, n) for n, value in keywords.items()):
        return None
    tensors = (*inputs, *(outs or ()))
    if any(isinstance(size, torch.SymInt) for t in tensors for size in (*t.shape, *t.stride())):
        return None
    if not inputs or inputs[0].device.type not in ("cpu", "cuda"):
        return None
    given = None if outs is None else [_array(tensor) for tensor in outs]
    return _text_of(kernel, [_array(tensor) for tensor in inputs], given, keywords)


def _array(tensor: torch.Tensor) -> Array:
    shape = tuple(int(size) for size in tensor.shape)
    strides = tuple(int(stride) for stride in tensor.stride())
    return Array(shape, ptx_name(tensor.dtype), str(tensor.device), strides)


def leaves_process() -> bool:
    """Whether the graph that is being traced may run elsewhere: all but those of torch.compile."""
    if torch.compiler.is_exporting() or torch._guards.TracingContext.try_get() is None:
        return True
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and bool(virtualized.V.aot_compilation)


def _text_of(
    kernel: Kernel,
    inputs: Sequence[Array],
    outs: Sequence[Array] | None,
    keywords: Mapping[str, Any],
) -> str | None:
    captures = kernel._refreshed().captures
    if captures.is_opaque:
        return None
    device = torch.device(inputs[0].device)
    index = device.index if device.type == "cuda" else None
    target = first_call.resolve_target(kernel.arch, index)
    _toolchain.announce_folders()
    constants = [name for name, value in keywords.items() if value is not UNKNOWN]
    prepared = first_call.prepare(kernel, captures, inputs, outs, keywords, target, constants)
    count = len(inputs)
    tensors = [(array.dtype, array.shape) for array in inputs]
    tensors += [(stored_name(dtype), shape) for dtype, shape in prepared.outputs]
    if not prepared.has_work or any(framework_name(dtype) is None for dtype, _ in tensors):
        return None
    if any(prepared.strides):  # a kernel that is carried takes dense tensors
        return None
    specs = kernel.signature.specs
    rows = [
        (name, dtype, shape, nbytes(dtype, shape), spec.layout is Layout.COL)
        for name, (dtype, shape), spec in zip(kernel.signature.tensors, tensors, specs, strict=True)
    ]
    scalars = [(name, kind, None) for kind, name in prepared.run_time]
    saved = _core.SavedKernel(prepared.image, rows[:count], rows[count:], scalars)
    return str(_core.GraphKernel(saved).text)
