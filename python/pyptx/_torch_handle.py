# SPDX-License-Identifier: Apache-2.0
"""Torch launches of what is registered under a handle, eager and as operators.

The torch half of `_handles`: everything about the kernel is given, only tensors come and go.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from pyptx import _core, _handles, _runtime
from pyptx._errors import LaunchError
from pyptx._torch import describe, kind_problem, memory_problem, torch_dtype
from pyptx.specs import Layout, Tile

_numbers = itertools.count()
_libraries: list[Any] = []


def _outputs(
    inputs: Sequence[torch.Tensor], out_specs: Sequence[Tile], env: Mapping[str, int]
) -> list[torch.Tensor]:
    if not inputs:
        raise LaunchError("a launch by handle needs an input tensor to know its device")
    for index, spec in enumerate(out_specs):
        if not isinstance(spec, Tile):
            raise TypeError(f"out_specs[{index}] is {spec!r}, expected a Tile")
        missing = [dim for dim in spec.symbolic_dims if dim not in env]
        if missing:
            raise LaunchError(
                f"out_specs[{index}] is {spec!r}, but out_shape_env has no {missing[0]!r}; "
                f"it has {sorted(env)}"
            )
    return [
        _runtime.in_order(
            lambda dtype, shape: inputs[0].new_empty(shape, dtype=torch_dtype(dtype)),
            str(spec.dtype_name),
            spec.resolve_shape(env),
            spec.layout is Layout.COL,
        )
        for spec in out_specs
    ]


def launch(
    inputs: Sequence[torch.Tensor],
    handle: int,
    out_specs: Sequence[Tile],
    env: Mapping[str, int],
    config: _handles.Config,
) -> Any:
    """Allocate the outputs and launch on torch's current stream, or on the emulator."""
    if not hasattr(handle, "__index__"):
        raise TypeError(f"cubin_handle is {handle!r}, expected the number that a registry gave")
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"input {index} is a {type(tensor).__name__}, not a torch.Tensor")
        problem = kind_problem(tensor) or memory_problem(tensor)
        if problem is not None:
            raise LaunchError(f"input {index} {problem}")
        if not tensor.is_contiguous():
            raise LaunchError(f"input {index} is not contiguous; call .contiguous() on it")
        if tensor.device != inputs[0].device:
            raise LaunchError(
                f"input {index} is on {tensor.device}, input 0 is on {inputs[0].device}"
            )
    results = _outputs(inputs, out_specs, env)
    memory = [describe(tensor) for tensor in (*inputs, *results)]
    pointers = [array.pointer for array in memory]
    device = inputs[0].device
    if device.type == "cuda" and _handles.is_raw(handle):
        with torch.cuda.device(device):
            _core.launch_raw(handle, torch.cuda.current_stream(device).cuda_stream, pointers)
        return _runtime.unpack(results)
    image = _handles.image(handle, len(memory), config)
    if device.type == "cuda":
        stream = torch.cuda.current_stream(device).cuda_stream
        _core.launch(image, device.index, stream, pointers)
    elif device.type == "cpu":
        _core.emulate(image, pointers, [array.nbytes for array in memory])
    else:
        raise LaunchError(f"kernels run on CUDA and CPU tensors, not on {device}")
    return _runtime.unpack(results)


def make_op(
    handle: int, out_specs: Sequence[Tile], env: Mapping[str, int], config: _handles.Config
) -> Callable[..., Any]:
    """Register `pyptx::handle_<n>` with its fake implementation."""
    name = f"handle_{handle}_{next(_numbers)}"
    library = torch.library.Library("pyptx", "FRAGMENT")
    library.define(f"{name}(Tensor[] inputs) -> Tensor[]")

    def real(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        results = launch(inputs, handle, out_specs, env, config)
        return list(results) if isinstance(results, tuple) else [results]

    def fake(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return _outputs(inputs, out_specs, env)

    for backend in ("CPU", "CUDA"):
        library.impl(name, real, backend)
    torch.library.register_fake(f"pyptx::{name}", fake, lib=library)
    _libraries.append(library)  # an operator lives as long as its library
    op = getattr(torch.ops.pyptx, name).default

    def call(*inputs: torch.Tensor) -> Any:
        results = op(list(inputs))
        return results[0] if len(results) == 1 else tuple(results)

    return call
