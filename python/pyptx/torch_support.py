# SPDX-License-Identifier: Apache-2.0
"""PyTorch runtime integration for `pyptx.kernel`.

The torch side of the boundary: recognising tensors, launching on torch's current stream,
operators for torch.compile, and autograd. Importing this module does not import torch.

The functions that take a `cubin_handle` launch what `pyptx.jax_support` registered under it;
`Kernel` objects need none of them.
"""

# The annotations are the documented ones, word by word.
# mypy: disable-error-code="no-untyped-def, type-arg"

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyptx._call.element_types import element_bits, ptx_name
from pyptx._call.operator_options import define_waiting
from pyptx._call.refusals import is_read_by_dynamo, refuse
from pyptx._call.signature import Array
from pyptx.specs import Tile

__all__ = [
    "any_torch_tensors",
    "call_kernel_via_torch",
    "call_kernel_via_torch_compile",
    "differentiable_kernel",
    "extract_input_shapes",
    "get_or_register_torch_op",
    "is_torch_tensor",
    "operator_library",
    "register_operators",
]

_ops: dict[Any, Any] = {}


def is_torch_tensor(obj: Any) -> bool:
    """Whether `obj` is a PyTorch tensor; False where torch is not loaded."""
    return any_torch_tensors((obj,))


def any_torch_tensors(inputs: Sequence[Any]) -> bool:
    """Whether any of `inputs` is a torch.Tensor."""
    # A folder called torch on sys.path is a module too, but has no tensors.
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and any(isinstance(item, tensor) for item in inputs)


def extract_input_shapes(inputs: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the concrete shape of each input tensor."""
    return [tuple(int(size) for size in tensor.shape) for tensor in inputs]


def is_traced() -> bool:
    """Whether torch.compile is reading the caller; it runs this itself and keeps the answer."""
    if not is_read_by_dynamo():
        return False
    register_operators()
    return True


def is_exported() -> bool:
    """Whether torch.export runs the caller itself, where nobody reads it (strict=False)."""
    reader = sys.modules.get("torch._dynamo.symbolic_convert")
    is_read = getattr(getattr(reader, "tls", None), "current_tx", None) is not None
    return not is_read and bool(sys.modules["torch"].compiler.is_exporting())


def has_dtensors() -> bool:
    """Whether there can be a DTensor in this process."""
    return hasattr(sys.modules.get("torch.distributed.tensor"), "DTensor")


# What torch.compiler.assume_constant_result() sets; done here because torch may not be loaded.
is_traced._dynamo_marked_constant = True  # type: ignore[attr-defined]
is_exported._dynamo_marked_constant = True  # type: ignore[attr-defined]
has_dtensors._dynamo_marked_constant = True  # type: ignore[attr-defined]
#: What `torch.ops` has of ours, once the operators are registered.
_operators: Any = None


def register_operators() -> None:
    """Register the operators with torch, in a process that loads programs which call kernels.

    A call of a kernel does it by itself; `torch.export.load` and AOTInductor packages need it
    done before. Operators that `kernel(op=...)` names are there from now on; where torch was
    loaded before the kernel was declared, they have been since then.
    """
    global _operators
    import torch

    from pyptx._torch import operators

    assert operators is not None
    _operators = torch.ops.pyptx
    define_waiting()


def operator_library() -> str:
    """Return the path of the library that registers the operators in a program without Python.

    Loading it (`dlopen`) is enough; the program is linked with libtorch.
    """
    path = Path(__file__).parent / "libpyptx_torch.so"
    if not path.exists():
        raise FileNotFoundError(f"this build of pyptx has no {path.name}; install the wheel")
    return str(path)


def lost_gradients(
    torch: Any, name: str, tensors: Sequence[Any], has_outs: bool, inouts: Sequence[str] = ()
) -> tuple[str, str] | None:
    """Return what to say where writing tensors loses gradients silently: of whom, and what.

    None where it does not. `inouts` are names of arguments that are written in place.
    """
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return None
    what, fix = ("out=", "drop out=, ") if has_outs else ("without outputs it", "")
    if inouts:
        what, fix = f"writing {' and '.join(map(repr, inouts))} in place", ""
    return f"kernel {name!r}:", (
        f"{what} keeps no record for gradients, and a tensor of this call "
        f"requires one; {fix}.detach() it, or call under torch.no_grad()"
    )


_LARGEST_INT64 = (1 << 63) - 1


def call_operator(name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Call the operator of that name. Read by torch.compile, so it is short and names little."""
    if not keywords and takes(name, len(args)):
        return getattr(_operators, name).default(*args)
    return _call_operator_with(name, args, keywords)


def _call_operator_with(name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    import torch

    namespace, base = parts_of(name, len(args))
    packet = getattr(getattr(torch.ops, namespace), base)
    keywords = dict(keywords)
    outs = keywords.pop("out", None)
    scalars: list[Any] = []
    params = scalar_params(name)
    if params and keywords:
        scalars, keywords = split_scalars(params, keywords)
    options = {"options": repr(settled_numbers(keywords))} if keywords else {}
    if "#" in name:  # what it is goes into the keys of caches, as a comment
        options = {"options": f"{options.get('options', '{}')} {name[name.index('#') :]}"}
    if base[-1] == "_":
        refuse_lost(name, args, has_outs=outs is not None)
        found = packet.default(*args, *scalars, **options)
        return found if outs is None else _copied(found, outs)
    if outs is None:
        return packet.default(*args, *scalars, **options)
    several = [*outs] if isinstance(outs, (tuple, list)) else [outs]
    refuse_lost(name, (*args, *several), has_outs=True)
    named = dict(zip(out_names(name, len(several)), several, strict=True))
    packet.out(*args, *scalars, **named, **options)
    return tuple(several) if len(several) > 1 else several[0]


def _copied(found: Any, outs: Any) -> Any:
    """Copy results into the caller's tensors; an operator that writes inputs takes no others."""
    results = found if isinstance(found, tuple) else (found,)
    several = [*outs] if isinstance(outs, (tuple, list)) else [outs]
    for out, result in zip(several, results, strict=True):
        out.copy_(result)
    return tuple(several) if len(several) > 1 else several[0]


def refuse_lost(name: str, tensors: Sequence[Any], has_outs: bool) -> None:
    """Refuse to write tensors where that loses gradients."""
    import torch

    refusal = lost_gradients(torch, kernel_name(name), tensors, has_outs, inout_names(name))
    if refusal is not None:
        raise RuntimeError(" ".join(refusal))  # a class of our own is more than Dynamo can trace


# torch.compile runs the following itself, as is_traced().


def scalar_params(name: str) -> tuple[tuple[str, str], ...]:
    """Return (type, name) of the raw parameters of an operator's kernel that come by keyword."""
    from pyptx._torch import naming

    operator = naming.operator_of(name)
    return () if operator.rule.pair is not None else operator.kernel.signature.free_params


def kernel_name(name: str) -> str:
    """Return the name of an operator's kernel."""
    from pyptx._torch import naming

    return naming.operator_of(name).kernel.signature.name


def inout_names(name: str) -> tuple[str, ...]:
    """Return the names of the arguments that an operator's kernel writes in place."""
    from pyptx._torch import naming

    return tuple(naming.operator_of(name).kernel.signature.inout_names)


def out_names(name: str, count: int) -> tuple[str, ...]:
    """Return the names of the arguments by which an operator is told where to write."""
    from pyptx._torch import naming

    operator = naming.operator_of(name)
    if count != len(operator.outputs):
        operator.kernel.signature.bind_outputs(_unseen(count), {}, "cpu")
    return operator.outputs


def takes(name: str, count: int) -> bool:
    """Whether an operator of ours has so many inputs, and returns what it makes."""
    return count == len(_traced_operator(name).inputs) and "::" not in name and name[-1] != "_"


def parts_of(name: str, count: int) -> tuple[str, str]:
    """Return the namespace and the name within it; refuses another number of inputs."""
    operator = _traced_operator(name)
    if count != len(operator.inputs):
        operator.kernel.signature.bind_inputs(_unseen(count))
    namespace, _, base = name.partition("#")[0].rpartition("::")
    return namespace or "pyptx", base


def _traced_operator(name: str) -> Any:
    """Return the operator of a call that torch.compile reads; torch.export reads so where strict.

    What that makes of the call would name a kernel of this process.
    """
    import torch

    from pyptx._torch import naming

    operator = naming.operator_of(name)
    if torch.compiler.is_exporting():
        refuse(
            "GraphCall",
            f"kernel {operator.kernel.signature.name!r}: torch.export(strict=True) writes down the "
            f"name of an operator of this process",
            "export with strict=False, which puts the kernel itself into the program",
        )
    return operator


def _unseen(count: int) -> list[Array]:
    """Return so many arrays, to be refused for their number."""
    return [Array((), "f32", "cpu")] * count


_AT_TRACE_TIME: tuple[Any, ...] = (
    takes,
    parts_of,
    scalar_params,
    kernel_name,
    inout_names,
    out_names,
)
for _function in _AT_TRACE_TIME:
    _function._dynamo_marked_constant = True


def split_scalars(
    params: Sequence[tuple[str, str]], keywords: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the scalars of a call as tensors, None where one is not given, and the other keywords.

    A number that is written out in the graph would make a graph of its own. One that torch does
    not take for a constant goes as a CPU tensor: an operator's argument that is a float is taken
    for a constant by AOTAutograd, whose pass keeps floats by making tensors of them.
    """
    import torch
    from torch.fx.experimental.symbolic_shapes import has_static_value

    scalars: list[Any] = []
    options = dict(keywords)
    for kind, name in params:
        scalars.append(None)
        value = options.get(name)
        if not isinstance(value, (int, float, torch.SymInt, torch.SymFloat)):
            continue
        if kind in ("u64", "b64") and value > _LARGEST_INT64:
            options[name] = int(value)  # of which no tensor is made here
        # Python writes out no number for an infinity or a NaN.
        elif not has_static_value(value) or not math.isfinite(value):
            scalars[-1] = _scalar_tensor(kind, name, value)
            del options[name]
    return scalars if any(scalar is not None for scalar in scalars) else [], options


def _scalar_tensor(kind: str, name: str, value: Any) -> Any:
    import torch

    if "f" in kind:
        # Exact for every number, and one of the operations that keep a float what it is.
        return torch.ones((), dtype=torch.float64, device="cpu") * value
    if isinstance(value, (float, torch.SymFloat)):
        raise RuntimeError(f"raw parameter {name!r} (.{kind}) cannot hold a float; pass an int")
    return torch.scalar_tensor(value, dtype=torch.int64, device="cpu")


def settled_numbers(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords of a call in a graph with plain numbers: each value has its own graph."""
    from torch.fx.experimental.symbolic_shapes import guard_scalar, has_static_value

    settled = {}
    for name, value in keywords.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and not has_static_value(value):
            value = guard_scalar(value)
        is_literal = is_number or value is None or isinstance(value, (bool, str, tuple, list, dict))
        settled[name] = value if is_literal else _type_text(value)
    return settled


def _type_text(value: Any) -> Any:
    """Return the name of an element type, which a graph can write out; others as they are."""
    name = ptx_name(value)
    return name if element_bits(name) else value


# torch.compile runs it itself, as is_traced().
_type_text._dynamo_marked_constant = True  # type: ignore[attr-defined]


def call_kernel_via_torch(
    *inputs,  # noqa: ANN002
    cubin_handle: int,
    out_specs: Sequence[Tile],
    out_shape_env: dict[str, int],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
) -> Any:
    """Launch a registered kernel with PyTorch tensor inputs.

    Allocates the outputs on the device of the first input, launches what is registered under
    `cubin_handle` on torch's current stream (CPU tensors: on the emulator) with the pointers of
    inputs, then outputs, and returns the output tensor, or a tuple of several.
    """
    from pyptx._torch import handles as torch_handles

    results = torch_handles.results_of(out_specs, out_shape_env)
    config = torch_handles.config_of(grid, block, cluster, smem_bytes)
    if torch_handles.is_recorded(inputs):
        return torch_handles.call(inputs, cubin_handle, results, config)
    made = torch_handles.launch(inputs, cubin_handle, results, config)
    return made[0] if len(made) == 1 else tuple(made)


def get_or_register_torch_op(  # noqa: ANN201
    cubin_handle: int,
    out_specs: Sequence[Tile],
    out_shape_env: dict[str, int],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int],
    smem_bytes: int,
):
    """Return a callable `(*input_tensors) -> outputs` that survives torch.compile.

    It calls a registered operator with a fake implementation. The first call for a `cubin_handle`
    and these outputs and dimensions makes it, later ones get the same.
    """
    from pyptx._torch import handles as torch_handles

    results = torch_handles.results_of(out_specs, out_shape_env)
    config = torch_handles.config_of(grid, block, cluster, smem_bytes)
    key = (cubin_handle, tuple(results), config)

    def call(*inputs: Any) -> Any:
        return torch_handles.call(inputs, cubin_handle, results, config)

    return _ops.setdefault(key, call)


def call_kernel_via_torch_compile(
    *inputs,  # noqa: ANN002
    cubin_handle: int,
    out_specs: Sequence[Tile],
    out_shape_env: dict[str, int],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    cluster: tuple[int, int, int] = (1, 1, 1),
    smem_bytes: int = 0,
) -> Any:
    """Return the torch.compile-compatible form of `call_kernel_via_torch`.

    Goes through the registered operator, so that Dynamo can trace it. One output is returned as
    a tensor, several as a tuple.
    """
    from pyptx._torch import handles as torch_handles

    return torch_handles.call(
        inputs,
        cubin_handle,
        torch_handles.results_of(out_specs, out_shape_env),
        torch_handles.config_of(grid, block, cluster, smem_bytes),
    )


def differentiable_kernel(  # noqa: ANN201
    forward_kernel,  # noqa: ANN001
    backward_kernel,  # noqa: ANN001
    *,
    save_for_backward: Sequence[int] | None = None,
    num_grad_inputs: int | None = None,
    private_outputs: int = 0,
    op: str | None = None,
):
    """Join a forward and a backward kernel into one differentiable operation.

    The backward kernel is called with what is saved, then the gradients of the outputs (dense, and
    zero for an output that is not used), and returns one gradient per input. It may be a function
    that launches several kernels, and what it calls may be differentiable itself.
    `save_for_backward` are indices of forward inputs, and behind them of its outputs (default: all
    inputs); `num_grad_inputs` is how many inputs, from the first, get gradients (default: all).
    The last `private_outputs` outputs are for the backward alone: a row's sum of exponentials, say.
    Calls do not return them, and they have no gradient.
    Keywords of a call go to the forward kernel, and those that the backward has as well to it. A
    backward with a keyword-only parameter `needs_input_grad` is told which inputs a gradient is
    wanted of, a bool for each, and may return None for the others.
    `op="mylib::rms_norm"` names the operator that torch has for both together.
    The result takes torch tensors (torch.autograd and torch.func, also under torch.compile) and JAX
    arrays (jax.grad).
    """
    from pyptx._call.autograd import DifferentiableKernel

    return DifferentiableKernel(
        forward_kernel, backward_kernel, save_for_backward, num_grad_inputs, private_outputs, op
    )
