# SPDX-License-Identifier: Apache-2.0
"""What an author says of a kernel's operator in torch: its name, and its types under autocast.

Says nothing to other frameworks, and imports none: an operator that is named while torch is not
loaded is defined by `torch_support.register_operators`.
"""

from __future__ import annotations

import re
import sys
import weakref
from typing import TYPE_CHECKING, Any

from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import refuse

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel
    from pyptx._call.signature import Signature
    from pyptx.kernel import Kernel

_NAME = re.compile(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)", re.ASCII)
#: Namespaces of torch's own operators, and ours, whose names say what a kernel is.
_TAKEN = ("aten", "c10d", "prim", "prims", "pyptx", "quantized")
#: What autocast casts, and what it casts to.
_FLOATS = ("f32", "bf16", "f16")
#: Named while torch was not loaded.
_waiting: list[weakref.ref[Kernel | DifferentiableKernel]] = []


def checked_name(what: str, name: Any, has_outputs: bool) -> str | None:
    """Return the name that an author gives an operator; refuses what torch would not take."""
    if name is None:
        return None
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        wanted = "a namespace and a name, as in 'mylib::rms_norm'"
        refuse("OptionType", f"{what} op", wanted, repr(name))
    namespace, base = found.groups()
    if namespace in _TAKEN:
        why = f"is in the namespace {namespace!r}, which is not yours; take your library's name"
        refuse("DeclarationValue", f"{what} op={name!r}", why)
    if has_outputs == (base[-1] == "_"):
        why = (
            "ends with '_', which is for operators that write their inputs; take it away"
            if has_outputs
            else f"is of a kernel that writes its inputs, so it ends with '_': '{name}_'"
        )
        refuse("DeclarationValue", f"{what} op={name!r}", why)
    return str(name)


def declare(operated: Kernel | DifferentiableKernel) -> None:
    """Define the operator that an author has named, or keep it until torch is there."""
    if operated.op is None:
        return
    if hasattr(sys.modules.get("torch"), "Tensor"):
        operated._name_operator()
    else:
        _waiting.append(weakref.ref(operated))


def define_waiting() -> None:
    """Define the operators that were named while torch was not loaded."""
    while _waiting:
        operated = _waiting.pop(0)()
        if operated is not None:
            operated._name_operator()


def autocast_types(what: str, signature: Signature, given: Any) -> tuple[str | None, ...]:
    """Return the element type of each input under torch.autocast, None for one that stays.

    That of its Tile, or `given` where the tile takes several. Empty for a kernel that autocast does
    not change.
    """
    if given is None:
        return ()
    name = ptx_name(given)
    if name not in _FLOATS:
        refuse("OptionType", f"{what} autocast", f"one of {', '.join(_FLOATS)}", repr(given))
    types = []
    for spec in signature.in_specs:
        is_open = spec.dtype_name is None or spec.type_name is not None
        declared = name if is_open else spec.dtype_name
        types.append(declared if declared in _FLOATS else None)
    return tuple(types)


def call_in_autocast(kernel: Kernel, /, *args: Any, **keywords: Any) -> Any:
    """Call a kernel that has types for autocast, while torch.autocast is on for some device.

    A call that says where to write is none that autocast changes, as in torch.
    """
    if "out" not in keywords and not kernel.signature.writes_inputs:
        args = in_autocast(kernel.autocast_types, args)
    return kernel._entry(*args, **keywords)


def in_autocast(types: tuple[str | None, ...], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return tensors of torch in these types, where autocast is on for them."""
    from pyptx._torch import autocast

    return autocast.cast(types, inputs)
