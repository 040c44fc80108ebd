# SPDX-License-Identifier: Apache-2.0
"""The torch path: tensors described, outputs allocated, kernels launched on torch's stream.

Imported only when a call has brought a tensor. `pyptx::call` and `pyptx::call_out` are the
operators that torch.compile, autograd and tensor subclasses see; they name a kernel by its key, so
that one fake implementation and one autograd rule serve every kernel, also with dynamic shapes.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import increment_version

from pyptx import _core, _runtime, _toolchain
from pyptx._bind import Array
from pyptx._captures import Captures
from pyptx._dtypes import framework_name, ptx_name
from pyptx._errors import LaunchError
from pyptx.torch_support import call_compiled, lost_gradients

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def describe(tensor: torch.Tensor) -> Array:
    """Return what torch says about a tensor."""
    shape = tuple(tensor.shape)
    pointer = tensor.data_ptr()
    nbytes = tensor.numel() * tensor.element_size()
    device = str(tensor.device)
    return Array(shape, ptx_name(tensor.dtype), device, tensor.stride(), pointer, nbytes)


def torch_dtype(ptx: str) -> torch.dtype:
    """Return the dtype of tensors that hold such elements."""
    name = framework_name(ptx)
    dtype = getattr(torch, name, None) if name is not None else None
    if not isinstance(dtype, torch.dtype):
        raise LaunchError(f"torch has no tensors of {ptx}; use the bN type of its width")
    return dtype


def call(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Run eagerly, or through the operator where torch has something to say about it."""
    tensors = (*args, *(outs or ()))
    _refuse_tangents(kernel, tensors)
    if outs is not None:
        refusal = lost_gradients(torch, kernel.signature.name, tensors)
        if refusal is not None:
            raise LaunchError(refusal)
    if _needs_operator(tensors):
        options = dict(keywords) if outs is None else {**keywords, "out": outs}
        return call_compiled(torch, kernel._op_key, tuple(args), options)
    return run_plain(kernel, captures, args, outs, keywords)


def _refuse_tangents(kernel: Kernel, tensors: Sequence[torch.Tensor]) -> None:
    """Refuse forward-mode differentiation: torch would take the derivative for zero."""
    if forward_ad._current_level >= 0 and any(map(_has_tangent, tensors)):
        raise LaunchError(
            f"kernel {kernel.signature.name!r} has no forward-mode derivative; use reverse mode "
            f"with pyptx.differentiable_kernel"
        )


def _has_tangent(tensor: torch.Tensor) -> bool:
    while torch._C._functorch.is_batchedtensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return torch._VF._unpack_dual(tensor, level=0)[1] is not None


class _Inside(threading.local):
    """Whether this thread is in the operator's implementation, below torch's dispatcher."""

    value = False


_inside = _Inside()


def _needs_operator(tensors: Sequence[torch.Tensor]) -> bool:
    if _inside.value:
        return False
    if any(type(t) not in _PLAIN or t.device.type == "meta" for t in tensors):
        return True
    if torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return True
    return (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def run_plain(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Run on ordinary tensors, and teach the C entry to do it alone the next time."""
    args = [tensor.resolve_neg() for tensor in args]
    prepared, inputs, results = _prepare(kernel, captures, args, outs, keywords)
    memory = [*inputs, *map(describe, results)]
    if not prepared.has_work:
        return _runtime.unpack(results)
    device = _device(kernel, args, results)
    if device.type == "cuda":
        stream = torch.cuda.current_stream(device).cuda_stream
        pointers = [array.pointer for array in memory]
        _core.launch(prepared.image, device.index, stream, pointers)
    else:
        _runtime.emulate(prepared, [(array.pointer, array.nbytes) for array in memory], None)
    if outs is not None:
        increment_version(outs)  # a graph that saved one of them must not go backward
    live = kernel._live
    if not keywords and live.captures is captures and _is_repeatable(kernel, captures, memory):
        count = len(inputs)
        rows = [(array.dtype, array.shape) for array in memory]
        live.entry.add(rows[:count], rows[count:], device.type, prepared.image)
    return _runtime.unpack(results)


def emulate(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Run CPU tensors on the emulator with these options; outputs and report."""
    for tensor in (*args, *(outs or ())):
        if tensor.device.type != "cpu":
            raise LaunchError(
                f"kernel {kernel.signature.name!r}: the emulator runs CPU tensors, "
                f"got one on {tensor.device}; call .cpu() on it"
            )
    prepared, inputs, results = _prepare(kernel, captures, args, outs, keywords)
    memory = [(array.pointer, array.nbytes) for array in (*inputs, *map(describe, results))]
    report = _runtime.emulate(prepared, memory, options)
    if outs is not None:
        increment_version(outs)
    return _runtime.unpack(results), report


def _prepare(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> tuple[_runtime.Prepared, list[Array], list[torch.Tensor]]:
    for tensor in (*args, *(outs or ())):
        if tensor.layout is not torch.strided:
            raise LaunchError(
                f"kernel {kernel.signature.name!r}: a {tensor.layout} tensor has no dense memory "
                f"to point at; call .to_dense() on it"
            )
    inputs = [describe(tensor) for tensor in args]
    given = None if outs is None else [describe(tensor) for tensor in outs]
    device = _device(kernel, args, outs or ())
    target = _runtime.resolve_target(kernel.arch, device.index if device.type == "cuda" else None)
    _toolchain.announce_folders()
    prepared = _runtime.prepare(kernel, captures, inputs, given, keywords, target)
    if outs is not None:
        return prepared, inputs, list(outs)
    results = [
        torch.empty(shape, dtype=torch_dtype(dtype), device=device)
        for dtype, shape in prepared.outputs
    ]
    return prepared, inputs, results


def _device(
    kernel: Kernel, args: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]
) -> torch.device:
    device = next(iter((*args, *outs))).device
    if device.type not in ("cuda", "cpu"):
        raise LaunchError(
            f"kernel {kernel.signature.name!r}: tensors on {device} cannot be used; kernels run "
            f"on CUDA tensors, and on CPU tensors through the emulator"
        )
    return device


def _is_repeatable(kernel: Kernel, captures: Captures, memory: Sequence[Array]) -> bool:
    """Whether the C entry may answer for tensors like these from now on."""
    if captures.is_opaque:
        return False
    if kernel.arch == "auto":
        targets = {_core.device_target(i) for i in range(_core.device_count())}
        if len(targets) > 1:
            return False
    return all(
        framework_name(array.dtype) is not None and array.strides == _dense_strides(array.shape)
        for array in memory
    )


def _dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides = []
    stride = 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= max(size, 1)
    return tuple(reversed(strides))


# --- operators ----------------------------------------------------------------------------------


def _lookup(key: str) -> Kernel:
    from pyptx.kernel import kernels_by_key

    kernel = kernels_by_key.get(key)
    if kernel is None:
        name = key.partition(":")[0]
        raise LaunchError(
            f"a compiled graph calls kernel {name!r}, which this process does not have (any "
            f"more); keep the Kernel object alive, and compile again after a restart"
        )
    return kernel


def _keywords(options: str) -> dict[str, Any]:
    try:
        return dict(ast.literal_eval(options)) if options else {}
    except (ValueError, SyntaxError):
        raise LaunchError(
            f"template values of a kernel in a compiled graph are written out as literals, and "
            f"these are not: {options}; call it with numbers, strings, tuples, lists or dicts"
        ) from None


def _real(key: str, inputs: Sequence[torch.Tensor], options: str) -> list[torch.Tensor]:
    results = _below_dispatcher(_lookup(key), inputs, _keywords(options))
    return list(results) if isinstance(results, tuple) else [results]


def _below_dispatcher(
    kernel: Kernel, inputs: Sequence[torch.Tensor], keywords: dict[str, Any]
) -> Any:
    _inside.value = True
    try:
        with torch.no_grad():
            return kernel._live.entry(*inputs, **keywords)
    finally:
        _inside.value = False


def _real_out(
    key: str, inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], options: str
) -> None:
    _below_dispatcher(_lookup(key), inputs, {**_keywords(options), "out": tuple(outs)})


def _fake(key: str, inputs: Sequence[torch.Tensor], options: str) -> list[torch.Tensor]:
    kernel = _lookup(key)
    signature = kernel.signature
    arrays = [Array(tuple(t.shape), ptx_name(t.dtype), str(t.device)) for t in inputs]
    env = signature.bind_inputs(arrays)
    template, _ = signature.bind_keywords(_keywords(options), env)
    shapes = _runtime.output_shapes(kernel, {**template, **env})
    if not inputs:
        raise LaunchError(f"kernel {signature.name!r} has no inputs; pass out= to say where")
    return [
        inputs[0].new_empty(shape, dtype=torch_dtype(str(spec.dtype_name)))
        for spec, shape in zip(signature.out_specs, shapes, strict=True)
    ]


def _fake_out(
    key: str, inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], options: str
) -> None:
    kernel = _lookup(key)
    arrays = [Array(tuple(t.shape), ptx_name(t.dtype), str(t.device)) for t in inputs]
    env = kernel.signature.bind_inputs(arrays)
    given = [Array(tuple(t.shape), ptx_name(t.dtype), str(t.device)) for t in outs]
    kernel.signature.bind_outputs(given, env, (arrays or given)[0].device)
    kernel.signature.bind_keywords(_keywords(options), env)


def _batched(info: Any, dims: tuple[Any, ...], key: str, inputs: Any, options: str) -> Any:
    """torch.vmap: one launch after another, as JAX's sequential method."""
    if info.batch_size == 0:
        rests = [
            x if d is None else x.sum(d, dtype=x.dtype)
            for x, d in zip(inputs, dims[1], strict=True)
        ]
        outputs = _fake(key, rests, options)
        return [out.new_empty((0, *out.shape)) for out in outputs], [0] * len(outputs)
    rows = [
        torch.ops.pyptx.call(
            key,
            [
                x if d is None else x.select(d, i).contiguous()
                for x, d in zip(inputs, dims[1], strict=True)
            ],
            options,
        )
        for i in range(info.batch_size)
    ]
    return [torch.stack(column) for column in zip(*rows, strict=True)], [0] * len(rows[0])


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.kernel_name = inputs[0].partition(":")[0]


def _backward(ctx: Any, *grads: Any) -> Any:
    raise LaunchError(
        f"kernel {ctx.kernel_name!r} has no backward kernel; wrap it: "
        f"pyptx.differentiable_kernel({ctx.kernel_name}, backward_kernel)"
    )


def _register() -> Any:
    library = torch.library.Library("pyptx", "FRAGMENT")
    library.define("call(str kernel, Tensor[] inputs, str options) -> Tensor[]")
    library.define("call_out(str kernel, Tensor[] inputs, Tensor(a!)[] outs, str options) -> ()")
    for backend in ("CPU", "CUDA"):
        library.impl("call", _real, backend)
        library.impl("call_out", _real_out, backend)
    torch.library.register_fake("pyptx::call", _fake, lib=library)
    torch.library.register_fake("pyptx::call_out", _fake_out, lib=library)
    torch.library.register_autograd(
        "pyptx::call", _backward, setup_context=_setup_context, lib=library
    )
    torch.library.register_vmap("pyptx::call", _batched, lib=library)
    return library


_library = _register()
