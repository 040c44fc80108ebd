# SPDX-License-Identifier: Apache-2.0
"""What `Kernel.bind`, `Kernel.save` and `Kernel.launch` do: a launch settled ahead, or explicit.

Everything about the tensors is checked by `signature` as for an ordinary call; here it is decided
where shapes come from when there are no arrays, and which device and stream are meant.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyptx import _core, _toolchain
from pyptx._call import first_call, open_trace
from pyptx._call.bound_kernel import BoundKernel, BoundScalar, BoundTensor, Settled, cuda_ordinal
from pyptx._call.element_types import element_bits, nbytes
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, Signature, grid_asks_for
from pyptx._captures.captures import Captures
from pyptx.specs import Layout
from pyptx.types import from_name

if TYPE_CHECKING:
    from pyptx._call.specialize import Facts
    from pyptx.kernel import Kernel


def bind(
    kernel: Kernel,
    captures: Captures,
    examples: Sequence[Any],
    out: Any,
    keywords: Mapping[str, Any],
) -> BoundKernel:
    """Settle a launch on tensors like these and make it ready."""
    outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
    framework = _framework(kernel, examples, outs or ())
    inputs = _describe_all(kernel.signature, framework, examples)
    given = None
    if outs is not None:
        given = _describe_all(kernel.signature, framework, outs, len(kernel.in_specs))
    place = (*inputs, *(given or ()))[0].device
    ordinal = None if place.startswith("cpu") else cuda_ordinal(place)
    settled = settle_arrays(kernel, captures, inputs, given, keywords, ordinal)
    bound = BoundKernel(settled, place)
    bound._launch.make_ready(ordinal)
    if framework == "torch":
        bound._launch.teach("cpu" if ordinal is None else "cuda")
    return bound


def saved(
    kernel: Kernel, captures: Captures, examples: Sequence[Any], keywords: Mapping[str, Any]
) -> _core.SavedKernel | _core.OpenKernel:
    """Return what a file is to hold: the kernel for one size, or for any where sizes are left open.

    Those of dynamic dimensions may be, where no example says what they are.
    """
    signature = kernel.signature
    if examples or all(name in keywords for name in signature.dynamic):
        return settle(kernel, captures, examples, keywords).saved()
    env: dict[str, Any] = {}
    signature.bind_keywords(keywords, env)
    target = first_call.resolve_target(kernel.arch, None)
    return open_trace.trace(kernel, captures, env, keywords, target)


def example_facts(kernel: Kernel, examples: Sequence[Any], keywords: Mapping[str, Any]) -> Facts:
    """Return what a call on tensors like these would trace."""
    framework = _framework(kernel, examples, ())
    inputs = _describe_all(kernel.signature, framework, examples)
    target = first_call.resolve_target(kernel.arch, None)
    captures = kernel._refreshed().captures
    return first_call.prepare(kernel, captures, inputs, None, keywords, target).traced.facts


def settle(
    kernel: Kernel, captures: Captures, examples: Sequence[Any], keywords: Mapping[str, Any]
) -> Settled:
    """Settle a launch on tensors like these, or on those that dimensions and Tiles describe."""
    if examples:
        framework = _framework(kernel, examples, ())
        inputs = _describe_all(kernel.signature, framework, examples)
    else:
        inputs = declared_inputs(kernel.signature, keywords)
    return settle_arrays(kernel, captures, inputs, None, keywords, None)


def settle_arrays(
    kernel: Kernel,
    captures: Captures,
    inputs: Sequence[Array],
    outs: Sequence[Array] | None,
    keywords: Mapping[str, Any],
    ordinal: int | None,
) -> Settled:
    """Settle a launch on arrays that are described, whatever framework's they are."""
    target = first_call.resolve_target(kernel.arch, ordinal)
    signature = kernel.signature
    # What the grid was worked out from is settled with it.
    constants = [name for _, name in signature.raw_params if grid_asks_for(kernel.grid, name)]
    prepared = first_call.prepare(kernel, captures, inputs, outs, keywords, target, constants)
    _refuse_gaps(signature, prepared)
    kinds = [(array.dtype, array.shape) for array in inputs] + list(prepared.outputs)
    tensors = [
        BoundTensor(name, dtype, tuple(shape), nbytes(dtype, shape), spec.layout is Layout.COL)
        for name, spec, (dtype, shape) in zip(
            signature.tensors, signature.specs, kinds, strict=True
        )
    ]
    count = len(inputs)
    scalars = tuple(
        BoundScalar(name, kind, bits)
        for (kind, name), bits in zip(prepared.run_time, prepared.scalars, strict=True)
    )
    sides = tuple(tensors[:count]), tuple(tensors[count:])
    inouts = len(signature.inout_specs)
    return Settled(signature.name, prepared.image, *sides, scalars, inouts)


def _refuse_gaps(signature: Signature, prepared: first_call.Prepared) -> None:
    """Refuse tensors with gaps: what is settled is for one shape, dense."""
    for name, strides in zip(signature.tensors, prepared.strides, strict=True):
        if strides:
            refuse(
                "ArrayMemory",
                f"kernel {signature.name!r}: argument {name!r}",
                f"has strides {strides}: bound and saved kernels take dense tensors; give a "
                f"contiguous one, or call the kernel itself",
            )


def _framework(kernel: Kernel, args: Sequence[Any], outs: Sequence[Any]) -> str:
    signature = kernel.signature
    names = signature.tensors[: len(signature.in_specs)]
    framework = first_call.common_framework(signature.name, names, args, outs)
    if framework is None:
        refuse(
            "NoTensors",
            f"kernel {signature.name!r}:",
            "no tensor says which device to bind to",
            "pass example inputs, or example outputs as out=",
        )
    return framework


def _describe_all(
    signature: Signature, framework: str, arrays: Sequence[Any], first: int = 0
) -> list[Array]:
    """Describe examples, of which the first is the kernel's tensor of that index."""
    names = [*signature.tensors[first:]]
    names += [f"#{index}" for index in range(len(names), len(arrays))]
    if framework == "torch":
        from pyptx._torch import eager

        for name, array in zip(names, arrays, strict=False):
            problem = eager.plain_problem(array)
            if problem is not None:
                refuse("ArrayMemory", f"kernel {signature.name!r}: argument {name!r}", problem)
    return [_describe(framework, array) for array in arrays]


def _describe(framework: str, array: Any) -> Array:
    if framework == "numpy":
        return first_call.describe_numpy(array)
    if framework == "jax":
        from pyptx._jax import bound

        return bound.example(array)
    from pyptx._torch import eager

    return eager.describe(array)


# --- tensors without arrays ---------------------------------------------------------------------


def declared_inputs(signature: Signature, keywords: Mapping[str, Any]) -> list[Array]:
    """Return the dense tensors that Tiles and the values of dimensions describe, as inputs."""
    env: dict[str, Any] = {}
    template, _ = signature.bind_keywords(keywords, env)
    values = {**template, **env}
    names = signature.tensors[: len(signature.in_specs)]
    return [_declared(signature, name, values) for name in names]


def _declared(
    signature: Signature,
    name: str,
    values: Mapping[str, Any],
    device: str = "cpu",
    pointer: int = 0,
) -> Array:
    """Return the dense tensor that a Tile and the values of dimensions describe."""
    shape, dtype = signature.declared.declared(signature.tensors.index(name), dict(values))
    return Array(shape, dtype, device, None, pointer, nbytes(dtype, shape))


# --- explicit launches --------------------------------------------------------------------------


def launch(
    kernel: Kernel,
    captures: Captures,
    tensors: Sequence[Any],
    stream: Any,
    device: Any,
    keywords: Mapping[str, Any],
) -> None:
    """Launch on exactly these tensors and addresses."""
    signature = kernel.signature
    if not signature.has_specs or len(tensors) != len(signature.tensors):
        refuse(
            "ArrayCount",
            f"kernel {signature.name!r}: launch",
            f"takes every tensor, inputs then outputs ({', '.join(signature.tensors)})",
            f"got {len(tensors)}"
            + ("" if signature.has_specs else "; declare them with in_specs= and out_specs="),
        )
    frameworks = [_kind(signature, *item) for item in zip(signature.tensors, tensors, strict=True)]
    _check_torch(signature, tensors, frameworks)
    place = _place(signature.name, tensors, frameworks, device)
    arrays = _arrays(signature, tensors, frameworks, place, keywords)
    count = len(signature.in_specs)
    first = signature.read_only
    written = [*zip(tensors, frameworks, strict=True)][first:]
    what = "out" if first == count else "input"
    first_call.check_writable(signature.name, [t for t, f in written if f == "numpy"], what)
    ordinal = None if place.startswith("cpu") else cuda_ordinal(place)
    handle = _stream_handle(signature.name, stream, ordinal, "torch" in frameworks)
    _toolchain.announce_folders()
    target = first_call.resolve_target(kernel.arch, ordinal)
    prepared = first_call.prepare(
        kernel, captures, arrays[:count], arrays[count:], keywords, target
    )
    if not prepared.has_work:
        return
    if ordinal is None:
        first_call.emulate(prepared, arrays, None, read_only=first, fresh=0)
    else:
        _core.launch(prepared.image, ordinal, handle, [a.pointer for a in arrays], prepared.scalars)
    ours = [t for t, f in written if f == "torch"]
    if ours:
        from torch.autograd.graph import increment_version

        increment_version(ours)


def _kind(signature: Signature, name: str, value: Any) -> str:
    """Return "torch", "numpy" or "address"."""
    framework = first_call.framework_of(value)
    if framework in ("torch", "numpy"):
        return str(framework)
    if framework is None and hasattr(value, "__index__") and not isinstance(value, bool):
        return "address"
    return refuse(
        "ArgumentKind",
        f"kernel {signature.name!r}: argument {name!r}",
        f"is a {type(value).__name__}, expected a torch tensor, a NumPy array or an address; "
        f"JAX arrays cannot be written: call the kernel",
    )


def _place(name: str, tensors: Sequence[Any], frameworks: Sequence[str], device: Any) -> str:
    """Return where the launch runs: "cpu" or "cuda:0"."""
    found = None
    for tensor, framework in zip(tensors, frameworks, strict=True):
        if framework != "address":
            found = str(tensor.device) if framework == "torch" else "cpu"
            break
    if device is None:
        return found if found is not None else f"cuda:{_core.current_device()}"
    wanted = f"cuda:{device.__index__()}" if hasattr(device, "__index__") else str(device)
    if wanted == "cuda":
        wanted = f"cuda:{_core.current_device()}"
    if wanted != "cpu" and not (wanted.startswith("cuda:") and wanted[5:].isdigit()):
        places = "an ordinal, 'cuda:0' or 'cpu'"
        refuse("OptionValue", f"kernel {name!r}: device", places, f"not {device!r}")
    if found is not None and found != wanted:
        refuse("KeywordValue", f"kernel {name!r}", f"device={device!r}", f"a tensor is on {found}")
    return wanted


def _arrays(
    signature: Signature,
    tensors: Sequence[Any],
    frameworks: Sequence[str],
    place: str,
    keywords: Mapping[str, Any],
) -> list[Array]:
    env: dict[str, Any] = {}
    known: list[Array | None] = []
    for tensor, framework, spec in zip(tensors, frameworks, signature.specs, strict=True):
        array = None if framework == "address" else _describe(framework, tensor)
        known.append(array)
        if array is not None and spec.type_name is not None and element_bits(array.dtype):
            env.setdefault(spec.type_name, from_name(array.dtype))
        if array is not None and len(array.shape) == spec.rank:
            sizes = zip(spec.dims, array.shape, strict=True)
            env |= {dim: size for dim, size in sizes if isinstance(dim, str)}
    values = dict(env)
    template, _ = signature.bind_keywords(keywords, values)
    values = {**template, **values}
    arrays = []
    for name, tensor, array in zip(signature.tensors, tensors, known, strict=True):
        if array is None:
            address = int(tensor.__index__())
            array = _declared(signature, name, values, place, address)
            if not 0 <= address < 1 << 64 or (address == 0 and array.nbytes):
                refuse(
                    "ArrayMemory",
                    f"kernel {signature.name!r}: argument {name!r}",
                    f"is {address}, which is no address of {array.nbytes} bytes",
                )
        arrays.append(array)
    return arrays


def _check_torch(signature: Signature, tensors: Sequence[Any], frameworks: Sequence[str]) -> None:
    if "torch" not in frameworks:
        return
    from pyptx._torch import eager

    pairs = zip(signature.tensors, tensors, frameworks, strict=True)
    ours = [(name, tensor) for name, tensor, framework in pairs if framework == "torch"]
    refusal = eager.not_plain([name for name, _ in ours], [tensor for _, tensor in ours])
    if refusal is not None:
        kind, words = refusal
        refuse(kind, f"kernel {signature.name!r}:", words)


def _check_stream_device(name: str, stream: Any, ordinal: int) -> None:
    """Refuse a torch stream of another device; of a bare handle, the driver knows the device."""
    found = getattr(stream, "device_index", ordinal)
    if found != ordinal:
        refuse(
            "LaunchPlace",
            f"kernel {name!r}: stream=",
            f"must be of cuda:{ordinal}, where the tensors are, got one of cuda:{found}; "
            f"pass torch.cuda.current_stream({ordinal})",
        )


def _stream_handle(name: str, stream: Any, ordinal: int | None, has_torch: bool) -> int:
    """Return the CUstream as a number; 0 is the device's default stream."""
    if ordinal is None:
        if stream is not None:
            refuse("LaunchPlace", f"kernel {name!r}:", "the emulator has no streams; drop stream=")
        return 0
    if stream is None:
        torch = sys.modules.get("torch") if has_torch else None
        return 0 if torch is None else int(torch.cuda.current_stream(ordinal).cuda_stream)
    _check_stream_device(name, stream, ordinal)
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    if hasattr(stream, "__index__"):
        return int(stream.__index__())
    return refuse(
        "ArgumentKind",
        f"kernel {name!r}: stream",
        f"is a {type(stream).__name__}, expected a CUstream as a number, or a stream of torch or "
        f"CuPy",
    )
