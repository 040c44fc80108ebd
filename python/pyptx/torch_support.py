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

import sys
import threading
from collections.abc import Sequence
from typing import Any

from pyptx.specs import Tile

__all__ = [
    "any_torch_tensors",
    "call_kernel_via_torch",
    "call_kernel_via_torch_compile",
    "differentiable_kernel",
    "extract_input_shapes",
    "get_or_register_torch_op",
    "is_torch_tensor",
]

_ops: dict[Any, Any] = {}
_ops_lock = threading.Lock()


def is_torch_tensor(obj: Any) -> bool:
    """Whether `obj` is a PyTorch tensor; False where torch is not loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(obj, torch.Tensor)


def any_torch_tensors(inputs: Sequence[Any]) -> bool:
    """Whether any of `inputs` is a torch.Tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and any(isinstance(item, torch.Tensor) for item in inputs)


def extract_input_shapes(inputs: Sequence[Any]) -> list[tuple[int, ...]]:
    """Return the concrete shape of each input tensor."""
    return [tuple(int(size) for size in tensor.shape) for tensor in inputs]


def _operators() -> bool:
    """Register the operators; Dynamo runs this at trace time and keeps the answer."""
    from pyptx import _torch

    return _torch is not None


# What torch.compiler.assume_constant_result() sets; done here because torch may not be loaded.
_operators._dynamo_marked_constant = True  # type: ignore[attr-defined]


def lost_gradients(torch: Any, name: str, tensors: Sequence[Any]) -> str | None:
    """Return what to say where `out=` would lose gradients silently; None where it would not."""
    if not torch.is_grad_enabled() or not any(tensor.requires_grad for tensor in tensors):
        return None
    return (
        f"kernel {name!r}: out= keeps no record for gradients, and a tensor of this call "
        f"requires one; drop out=, .detach() it, or call under torch.no_grad()"
    )


def call_compiled(torch: Any, key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the kernel named `key` inside a graph that is being compiled."""
    _operators()
    options = ""
    outs = None
    if kwargs:
        keywords = dict(kwargs)
        if "out" in keywords:
            outs = keywords.pop("out")
            outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
        if keywords:
            options = repr(keywords)
    if outs is not None:
        refusal = lost_gradients(torch, key.partition(":")[0], (*args, *outs))
        if refusal is not None:
            raise RuntimeError(refusal)  # a class of our own is more than Dynamo can trace
        torch.ops.pyptx.call_out(key, list(args), outs, options)
        return outs[0] if len(outs) == 1 else tuple(outs)
    results = torch.ops.pyptx.call(key, list(args), options)
    return results[0] if len(results) == 1 else tuple(results)


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
    from pyptx import _torch_handle

    return _torch_handle.launch(
        inputs, cubin_handle, out_specs, out_shape_env, (grid, block, cluster, smem_bytes)
    )


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

    It is a registered operator with a fake implementation; the first call for a `cubin_handle`
    registers it, later ones reuse it.
    """
    from pyptx import _torch_handle

    config = (grid, block, cluster, smem_bytes)
    specs = tuple(out_specs)
    key = (cubin_handle, specs, tuple(sorted(out_shape_env.items())), config)
    with _ops_lock:
        if key not in _ops:
            _ops[key] = _torch_handle.make_op(cubin_handle, specs, dict(out_shape_env), config)
        return _ops[key]


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
    op = get_or_register_torch_op(
        cubin_handle, out_specs, out_shape_env, grid, block, cluster, smem_bytes
    )
    return op(*inputs)


def differentiable_kernel(  # noqa: ANN201
    forward_kernel,  # noqa: ANN001
    backward_kernel,  # noqa: ANN001
    *,
    save_for_backward: Sequence[int] | None = None,
    num_grad_inputs: int | None = None,
):
    """Join a forward and a backward kernel into one differentiable operation.

    The backward kernel is called with the saved inputs, then the gradients of the outputs, and
    returns one gradient per input. `save_for_backward` are indices of forward inputs (default:
    all); `num_grad_inputs` is how many inputs, from the first, get gradients (default: all).
    The result takes torch tensors (torch.autograd, also under torch.compile) and JAX arrays
    (jax.grad).
    """
    from pyptx._autograd import DifferentiableKernel

    return DifferentiableKernel(forward_kernel, backward_kernel, save_for_backward, num_grad_inputs)
