# SPDX-License-Identifier: Apache-2.0
"""Calls of kernels that torch sees, and the operators that carry a kernel out of the process.

Dynamo, autograd, modes and tensor subclasses meet the kernel's own operator (`kernel_operator`).
Where a graph leaves the process it has `pyptx::launch` in that one's place, `launch_one` or
`launch_out`, which get the whole kernel as a text (`graph`) and are implemented in C++. There the
values of run-time scalars stand behind the inputs, as CPU tensors of rank 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx import _core
from pyptx._call import first_call
from pyptx._errors import LaunchError
from pyptx._torch import dtensor, graph
from pyptx._torch.kernel_operator import described, new_tensor
from pyptx._torch.recording import record_launches
from pyptx.torch_support import call_operator, register_operators, split_scalars

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def call(
    kernel: Kernel,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Call through the dispatcher, by name; a program that is exported carries the kernel."""
    if has_launch and torch.compiler.is_exporting():
        scalars, options = split_scalars(kernel.signature.free_params, dict(keywords))
        names = (name for _, name in kernel.signature.free_params)
        given = {n: s for n, s in zip(names, scalars, strict=False) if s is not None}
        known = {**options, **dict.fromkeys(given, first_call.UNKNOWN)}
        text = graph.of_call(kernel, args, outs, known)
        if text is not None:
            results = launch(kernel, [*args, *given.values()], outs, text)
            return first_call.unpack(results if outs is None else outs)
    if outs is not None or kernel.signature.writes_inputs:
        dtensor.refuse_written(kernel, [*args, *(outs or ())])
    register_operators()
    options = dict(keywords) if outs is None else {**keywords, "out": outs}
    # Without what caches of compiled programs are told besides.
    return call_operator(kernel._operator_name.partition("#")[0], args, options)


def _fake_launch(inputs: Sequence[torch.Tensor], kernel: str) -> list[torch.Tensor]:
    carried = _core.carried_kernel(kernel)
    made: list[tuple[str, Sequence[Any], bool]]
    if isinstance(carried, _core.SavedKernel):
        made = [(dtype, shape, column) for _, dtype, shape, _, column in carried.outputs]
    else:
        # Scalars stand behind the inputs.
        shapes = carried.output_shapes(described(inputs[: len(carried.inputs)]))
        made = [
            (dtype, shape, column)
            for (_, dtype, _, column), shape in zip(carried.outputs, shapes, strict=True)
        ]
    return [new_tensor(inputs[0], dtype, tuple(shape), column) for dtype, shape, column in made]


def _fake_launch_one(inputs: Sequence[torch.Tensor], kernel: str) -> torch.Tensor:
    [output] = _fake_launch(inputs, kernel)
    return output


def _fake_launch_out(
    inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], kernel: str
) -> None:
    _core.carried_kernel(kernel)


def launch(
    kernel: Kernel,
    inputs: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    text: str,
) -> Any:
    """Call the operator that carries its kernel; `inputs` are tensors, then scalars."""
    if outs is not None:
        return torch.ops.pyptx.launch_out.default(inputs, outs, text)
    if len(kernel.out_specs) == 1:
        return [torch.ops.pyptx.launch_one.default(inputs, text)]
    return torch.ops.pyptx.launch.default(inputs, text)


def _register_launches(library: Any) -> bool:
    """Register the operators in C++; False where this torch has no place for them."""
    if not hasattr(torch.ops.pyptx, "launch"):  # else libpyptx_torch was first
        try:
            for schema in _core.TORCH_SCHEMAS:
                library.define(schema)
            _core.register_torch_operators()
        except (RuntimeError, LaunchError):
            return False
    torch.library.register_fake("pyptx::launch", _fake_launch, lib=library)
    torch.library.register_fake("pyptx::launch_one", _fake_launch_one, lib=library)
    torch.library.register_fake("pyptx::launch_out", _fake_launch_out, lib=library)
    ours = torch.ops.pyptx
    record_launches(library, (ours.launch, ours.launch_one, ours.launch_out))
    return True


_library = torch.library.Library("pyptx", "FRAGMENT")
#: Whether graphs can carry kernels; without it a kernel's own operator serves all but AOTInductor.
has_launch = _register_launches(_library)
