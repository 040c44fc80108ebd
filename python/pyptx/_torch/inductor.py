# SPDX-License-Identifier: Apache-2.0
"""Calls of kernels in the code that Inductor writes: to the C entry, past torch's dispatcher.

An operator that is called from Python costs more than a launch. So where Inductor would write
`torch.ops.pyptx.launch_one.default(...)` it writes `pyptx_calls.launch_one(...)`, with the same
arguments. Whatever the entry does not take, or finds changed, goes to the operator.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from pyptx import _core

#: The entries of kernels that graphs of this process name.
_entries: dict[str, _core.Entry] = {}
_FUNCTIONS = ("launch", "launch_one", "launch_out")


def launch(inputs: Sequence[torch.Tensor], kernel: str) -> Sequence[torch.Tensor]:
    """Do what `pyptx::launch` does."""
    entry = _entries.get(kernel)
    if entry is None:
        return torch.ops.pyptx.launch.default(inputs, kernel)  # type: ignore[no-any-return]
    return entry(*inputs)  # type: ignore[no-any-return]


def launch_one(inputs: Sequence[torch.Tensor], kernel: str) -> torch.Tensor:
    """Do what `pyptx::launch_one` does."""
    entry = _entries.get(kernel)
    if entry is None:
        return torch.ops.pyptx.launch_one.default(inputs, kernel)
    return entry(*inputs)


def launch_out(inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], kernel: str) -> None:
    """Do what `pyptx::launch_out` does."""
    entry = _entries.get(kernel)
    if entry is None:
        torch.ops.pyptx.launch_out.default(inputs, outs, kernel)
    else:
        entry(*inputs, out=outs)


def watch(name: str, kernel: _core.GraphKernel, guards: _core.Guards, device_type: str) -> None:
    """Let graphs launch this kernel under that name, as long as the guards hold."""
    saved = kernel.saved
    inputs, outputs = (
        [(dtype, shape, is_column) for _, dtype, shape, _, is_column in rows]
        for rows in (saved.inputs, saved.outputs)
    )
    if saved.image.plan.argument_count or len(inputs) + len(outputs) > _core.MAX_TENSORS:
        return  # scalars are tensors there, which only the operator reads
    by_operator = functools.partial(_by_operator, name, len(outputs) == 1)
    entry = _entries.get(name)
    if entry is None:
        entry = _core.Entry(by_operator)
    entry.clear()
    # Adding the first one of a process looks at sample tensors, which here would be fake ones.
    with _disable_current_modes():
        entry.add(inputs, outputs, device_type, saved.image)
    entry.watch(guards, by_operator)
    _entries[name] = entry
    if "torch._inductor" in sys.modules:
        _register()


def _by_operator(name: str, is_one: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if "out" in kwargs:
        return torch.ops.pyptx.launch_out.default(args, kwargs["out"], name)
    operator = torch.ops.pyptx.launch_one if is_one else torch.ops.pyptx.launch
    return operator.default(args, name)


@functools.cache
def _register() -> None:
    """Tell Inductor how to write calls of the operators, where it asks."""
    try:
        from torch._inductor.codegen import custom_extern_kernel_codegen as codegen

        for name in _FUNCTIONS:
            codegen.CUSTOM_EXTERN_KERNEL_CODEGEN[f"torch.ops.pyptx.{name}.default"] = (
                codegen.CustomCodegen(python=functools.partial(_write_call, name))
            )
    except (ImportError, AttributeError, TypeError):
        return  # another Inductor: it writes calls of the operators


def _write_call(name: str, node: Any, writeline: Callable[[str], None]) -> None:
    from torch._inductor.ir import NoneLayout
    from torch._inductor.virtualized import V

    V.graph.wrapper_code.add_import_once("from pyptx._torch import inductor as pyptx_calls")
    arguments = ", ".join([*node.codegen_args(), *node.codegen_kwargs()])
    result = "" if isinstance(node.layout, NoneLayout) else f"{node.get_name()} = "
    writeline(f"{result}pyptx_calls.{name}({arguments})")
