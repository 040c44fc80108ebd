# SPDX-License-Identifier: Apache-2.0
"""Kernels as texts in torch graphs that leave the process: what `pyptx::launch` gets.

Graphs of this process call the kernel's own operator (`kernel_operator`).
"""

from __future__ import annotations

import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from pyptx import _core, _toolchain
from pyptx._call import first_call, open_trace
from pyptx._call.element_types import framework_name, nbytes, ptx_name, stored_name
from pyptx._call.first_call import UNKNOWN
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, grid_asks_for
from pyptx._captures.captures import Captures
from pyptx._errors import ArgumentValueError
from pyptx.specs import Layout

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


class _NoText(Exception):
    """Why no text can stand for a call, and what to do about it."""


def of_call(
    kernel: Kernel,
    inputs: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> str | None:
    """Return the text for a call with these (fake) tensors; None where no text can stand for it.

    A program that is exported would name a kernel of this process, so there it is refused.
    """
    try:
        return _text_of(kernel, inputs, outs, keywords)
    except _NoText as problem:
        if not is_exported():
            return None
        refuse("GraphCall", f"kernel {kernel.signature.name!r} {problem.args[0]}", problem.args[1])


def _array(tensor: torch.Tensor) -> Array:
    place = str(tensor.device)
    return Array(tuple(tensor.shape), ptx_name(tensor.dtype), place, tuple(tensor.stride()))


def is_exported() -> bool:
    """Whether the graph that is being traced is for other processes alone."""
    if torch.compiler.is_exporting():
        return True
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and bool(virtualized.V.aot_compilation)


def leaves_process() -> bool:
    """Whether the graph that is being traced may run elsewhere: all but those of torch.compile."""
    return is_exported() or torch._guards.TracingContext.try_get() is None


def _text_of(
    kernel: Kernel,
    inputs: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> str:
    if kernel.inout_specs:
        names = ", ".join(kernel.signature.tensors[kernel.signature.read_only : len(inputs)])
        raise _NoText(
            f"writes {names} in place, which no exported program carries",
            "make it an output, or leave the call out of what is exported",
        )
    if not inputs:
        raise _NoText("has no inputs, whose device would say where to run", "give it one")
    if inputs[0].device.type not in ("cpu", "cuda"):
        raise _NoText(f"is called on {inputs[0].device}", "export on the CPU or on a CUDA device")
    captures = kernel._refreshed().captures
    if captures.is_opaque:
        raise _NoText("reads what cannot be compared", "read numbers, strings and tuples")
    arrays = [_array(tensor) for tensor in inputs]
    given = None if outs is None else [_array(tensor) for tensor in outs]
    device = inputs[0].device
    target = first_call.resolve_target(kernel.arch, device.index if device.type == "cuda" else None)
    _toolchain.announce_folders()
    constants = [name for name, value in keywords.items() if value is not UNKNOWN]
    if any(
        isinstance(size, torch.SymInt)
        for array in (*arrays, *(given or ()))
        for size in array.shape
    ):
        return _open_text(kernel, captures, arrays, given, keywords, target, constants)
    if any(value is UNKNOWN and grid_asks_for(kernel.grid, n) for n, value in keywords.items()):
        raise _NoText(
            "has a grid that depends on a number of the launch", "make it depend on sizes"
        )
    prepared = first_call.prepare(kernel, captures, arrays, given, keywords, target, constants)
    if any(prepared.strides):
        raise _NoText("is called on tensors with gaps", "export with .contiguous() ones")
    if not prepared.has_work:
        raise _NoText("launches nothing for these sizes", "export with other example sizes")
    for dtype, _ in prepared.outputs:
        _check_elements(stored_name(dtype))
    return _saved_text(kernel, arrays, prepared)


def _check_elements(dtype: str) -> None:
    if framework_name(dtype) is None:
        raise _NoText(f"has an output of {dtype}", "give it a type that torch has")


def _open_text(
    kernel: Kernel,
    captures: Captures,
    inputs: Sequence[Array],
    outs: Sequence[Array] | None,
    keywords: Mapping[str, Any],
    target: str,
    constants: Container[str],
) -> str:
    """Return the text of the kernel for any size that is symbolic here."""
    signature = kernel.signature
    # Strides of symbolic sizes are no numbers either; a launch looks at them.
    env = signature.bind_inputs([replace(array, strides=None) for array in inputs])
    if outs is not None:
        given = [replace(array, strides=None) for array in outs]
        signature.bind_outputs(given, env, inputs[0].device)
    try:
        dtypes = [array.dtype for array in (*inputs, *(outs or ()))]
        opened = open_trace.trace(kernel, captures, env, keywords, target, constants, dtypes)
    except ArgumentValueError as error:
        if is_exported():
            raise
        raise _NoText(str(error), "") from None
    for _, dtype, _, _ in opened.outputs:
        _check_elements(dtype)
    return bytes(opened.to_bytes()).decode()


def _saved_text(kernel: Kernel, inputs: Sequence[Array], prepared: first_call.Prepared) -> str:
    tensors = [(array.dtype, array.shape) for array in inputs]
    tensors += [(stored_name(dtype), shape) for dtype, shape in prepared.outputs]
    specs = kernel.signature.specs
    rows = [
        (name, dtype, shape, nbytes(dtype, shape), spec.layout is Layout.COL)
        for name, (dtype, shape), spec in zip(kernel.signature.tensors, tensors, specs, strict=True)
    ]
    scalars = [(name, kind, None) for kind, name in prepared.run_time]
    count = len(inputs)
    saved = _core.SavedKernel(prepared.image, rows[:count], rows[count:], scalars)
    return bytes(saved.to_bytes()).decode()
