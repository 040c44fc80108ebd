# SPDX-License-Identifier: Apache-2.0
"""Calls of kernels in the code that Inductor writes: of the kernel itself, past the dispatcher.

An operator that is called from Python costs more than a launch. So where Inductor would write
`torch.ops.pyptx.add_0123456789ab.default(...)` it writes `add_0123456789ab(...)`, a name that it
takes from here: the kernel, whose calls go to its C entry, for any sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyptx._torch.options import parse_options

if TYPE_CHECKING:
    from pyptx._torch.kernel_operator import KernelOperator


def kernel_of(name: str) -> Any:
    """Return what stands for an operator in written code."""
    from pyptx._torch import naming

    return naming.operator_of(name).kernel


def register(operator: KernelOperator) -> None:
    """Tell Inductor how to write calls of an operator, where it asks."""
    try:
        from torch._inductor.codegen import custom_extern_kernel_codegen as codegen

        overloads = ["default"]
        if not operator.kernel.signature.writes_inputs and operator.rule.writes_outputs:
            overloads.append("out")
        for overload in overloads:
            name = f"torch.ops.{operator.packet._qualified_op_name.replace('::', '.')}.{overload}"
            writer = _Writer(operator)
            codegen.CUSTOM_EXTERN_KERNEL_CODEGEN[name] = codegen.CustomCodegen(python=writer)
    except (ImportError, AttributeError, TypeError):
        return  # another Inductor: it writes calls of the operators


class _Writer:
    """Writes calls of one operator."""

    def __init__(self, operator: KernelOperator) -> None:
        self._operator = operator
        self._name = operator.name.replace("::", "_")

    def __call__(self, node: Any, writeline: Callable[[str], None]) -> None:
        from torch._inductor.ir import NoneLayout
        from torch._inductor.virtualized import V

        code = V.graph.wrapper_code
        code.add_import_once("from pyptx._torch import inductor as pyptx_calls")
        code.add_import_once(f"{self._name} = pyptx_calls.kernel_of({self._operator.name!r})")
        result = "" if isinstance(node.layout, NoneLayout) else f"{node.get_name()} = "
        writeline(f"{result}{self._name}({', '.join(self._arguments(node))})")

    def _arguments(self, node: Any) -> list[str]:
        operator = self._operator
        given = list(node.codegen_args())
        count = len(operator.inputs)
        scalars = zip(operator.scalar_names, given[count:], strict=False)
        keywords = dict(part.split("=", 1) for part in node.codegen_kwargs())
        options = parse_options(ast.literal_eval(keywords.pop("options", "''")))
        outs = [keywords.pop(name) for name in operator.outputs if name in keywords]
        return [
            *given[:count],
            *([f"out=({', '.join(outs)},)"] if outs else ()),
            *(f"{name}={text}.item()" for name, text in scalars if text != "None"),
            *(f"{name}={value!r}" for name, value in options.items()),
        ]
