# SPDX-License-Identifier: Apache-2.0
"""Torch launches of what is registered under a handle, eager and as an operator.

The torch half of `handles`: everything about the kernel is given, only tensors come and go. One
operator serves every handle; what it makes is described by numbers and texts, which is what Dynamo
puts into a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from pyptx import _core
from pyptx._call import first_call, handles
from pyptx._call.refusals import refuse
from pyptx._call.signature import normalize_dim3
from pyptx._torch.eager import describe, torch_dtype
from pyptx._torch.problems import kind_problem, memory_problem
from pyptx.specs import Layout, Tile

#: Element type, shape, and whether the first dimension is contiguous.
Result = tuple[str, tuple[int, ...], bool]


def results_of(out_specs: Sequence[Tile], env: Mapping[str, int]) -> list[Result]:
    """Return what a launch makes. Traced by Dynamo."""
    results = []
    for index, spec in enumerate(out_specs):
        if not isinstance(spec, Tile):
            refuse("ArgumentKind", f"out_specs[{index}]", f"is {spec!r}, expected a Tile")
        missing = [dim for dim in spec.symbolic_dims if dim not in env]
        if missing:
            has = f"but out_shape_env has no {missing[0]!r}; it has {sorted(env)}"
            refuse("OptionValue", f"out_specs[{index}]", spec, has)
        # As Tile.resolve_shape; sizes here may be what torch.compile has in place of numbers.
        shape = tuple(env[dim] if isinstance(dim, str) else dim for dim in spec.dims)
        results.append((str(spec.dtype_name), shape, spec.layout is Layout.COL))
    return results


def config_of(grid: Any, block: Any, cluster: Any, smem_bytes: int) -> handles.Config:
    """Return launch dimensions as they are passed on. Traced by Dynamo."""
    return (
        normalize_dim3("grid", grid),
        normalize_dim3("block", block),
        normalize_dim3("cluster", cluster),
        smem_bytes,
    )


def _make(inputs: Sequence[torch.Tensor], results: Sequence[Result]) -> list[torch.Tensor]:
    if not inputs:
        refuse(
            "NoTensors",
            "a launch by handle",
            "has no input tensor",
            "it needs an input tensor to know its device",
        )
    return [
        first_call.in_order(
            lambda name, extents: inputs[0].new_empty(extents, dtype=torch_dtype(name)),
            dtype,
            shape,
            is_column,
        )
        for dtype, shape, is_column in results
    ]


def launch(
    inputs: Sequence[torch.Tensor],
    handle: int,
    results: Sequence[Result],
    config: handles.Config,
) -> list[torch.Tensor]:
    """Allocate the outputs and launch on torch's current stream, or on the emulator."""
    if not hasattr(handle, "__index__"):
        wanted = f"is {handle!r}, expected the number that a registry gave"
        refuse("ArgumentKind", "cubin_handle", wanted)
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, torch.Tensor):
            found = f"is a {type(tensor).__name__}, not a torch.Tensor"
            refuse("ArgumentKind", f"input {index}", found)
        problem = kind_problem(tensor) or memory_problem(tensor)
        if problem is not None:
            refuse("ArrayMemory", f"input {index}", problem)
        if not tensor.is_contiguous():
            refuse("ArrayMemory", f"input {index}", "is not contiguous; call .contiguous() on it")
        if tensor.device != inputs[0].device:
            other = f"input 0 is on {inputs[0].device}"
            refuse("ArrayDevice", f"input {index}", tensor.device, other, "move one of them")
    made = _make(inputs, results)
    memory = [describe(tensor) for tensor in (*inputs, *made)]
    pointers = [array.pointer for array in memory]
    device = inputs[0].device
    if device.type == "cuda" and handles.is_raw(handle):
        with torch.cuda.device(device):
            _core.launch_raw(handle, torch.cuda.current_stream(device).cuda_stream, pointers)
        return made
    image = handles.image(handle, len(memory), config)
    if device.type == "cuda":
        stream = torch.cuda.current_stream(device).cuda_stream
        _core.launch(image, device.index, stream, pointers)
    elif device.type == "cpu":
        read_only = len(inputs) if made else 0
        first_call.emulate_image(image, memory, (), read_only=read_only, fresh=len(made))
    else:
        refuse("LaunchPlace", "kernels", f"run on CUDA and CPU tensors, not on {device}")
    return made


# --- the operators ------------------------------------------------------------------------------


def _config(flat: Sequence[int]) -> handles.Config:
    g, b, c = (tuple(flat[i : i + 3]) for i in (0, 3, 6))
    return g, b, c, flat[9]  # type: ignore[return-value]


def _results(
    dtypes: Sequence[str], ranks: Sequence[int], sizes: Sequence[int], columns: Sequence[bool]
) -> list[Result]:
    extents = iter(sizes)
    return [
        (dtype, tuple(next(extents) for _ in range(rank)), is_column)
        for dtype, rank, is_column in zip(dtypes, ranks, columns, strict=True)
    ]


def _real(inputs: Sequence[torch.Tensor], handle: int, *described: Any) -> list[torch.Tensor]:
    *results, config = described
    return launch(inputs, handle, _results(*results), _config(config))


def _fake(inputs: Sequence[torch.Tensor], handle: int, *described: Any) -> list[torch.Tensor]:
    return _make(inputs, _results(*described[:-1]))


def _real_in_place(inputs: Sequence[torch.Tensor], handle: int, config: Sequence[int]) -> None:
    launch(inputs, handle, [], _config(config))


def _fake_in_place(inputs: Sequence[torch.Tensor], handle: int, config: Sequence[int]) -> None:
    pass


def _refuse_backward(ctx: Any, *grads: Any) -> Any:
    refuse(
        "NoGradient",
        "a launch by handle",
        "has no gradient; call it in a torch.autograd.Function with a backward, or use "
        "pyptx.differentiable_kernel",
    )


_library = torch.library.Library("pyptx", "FRAGMENT")
_library.define(
    "launch_handle(Tensor[] inputs, int handle, str[] dtypes, int[] ranks, SymInt[] sizes, "
    "bool[] columns, SymInt[] config) -> Tensor[]"
)
# Without an output a kernel writes what it gets, and a graph must not leave it out.
_library.define("launch_handle_(Tensor(a!)[] inputs, int handle, SymInt[] config) -> ()")
for _backend in ("CPU", "CUDA"):
    _library.impl("launch_handle", _real, _backend)
    _library.impl("launch_handle_", _real_in_place, _backend)
torch.library.register_fake("pyptx::launch_handle", _fake, lib=_library)
torch.library.register_fake("pyptx::launch_handle_", _fake_in_place, lib=_library)
torch.library.register_autograd("pyptx::launch_handle", _refuse_backward, lib=_library)


def is_recorded(inputs: Sequence[Any]) -> bool:
    """Whether autograd records what is done to these. Traced by Dynamo."""
    return torch.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in inputs)


def call(
    inputs: Sequence[torch.Tensor],
    handle: int,
    results: Sequence[Result],
    config: handles.Config,
) -> Any:
    """Launch through the operators. Traced by Dynamo."""
    grid, block, cluster, smem_bytes = config
    flat = [*grid, *block, *cluster, smem_bytes]
    if not results:
        if is_recorded(inputs):
            raise RuntimeError(
                "a launch by handle without outputs writes its inputs, and one of them requires "
                "gradients; .detach() it, or call under torch.no_grad()"
            )
        torch.ops.pyptx.launch_handle_(inputs, handle, flat)
        return ()
    made = torch.ops.pyptx.launch_handle(
        inputs,
        handle,
        [dtype for dtype, _, _ in results],
        [len(shape) for _, shape, _ in results],
        [size for _, shape, _ in results for size in shape],
        [is_column for _, _, is_column in results],
        flat,
    )
    return made[0] if len(results) == 1 else tuple(made)
