# SPDX-License-Identifier: Apache-2.0
"""The operators that torch sees: `pyptx::call` names a kernel, `pyptx::launch` carries one.

`pyptx::call` and `pyptx::call_out` are what Dynamo, autograd and tensor subclasses meet. They name
a kernel of this process by its key, so that one fake implementation and one autograd rule serve
every kernel, also with dynamic shapes. When a graph is traced with shapes that are numbers, they
become `pyptx::launch` and `pyptx::launch_out` (`graph`), which are implemented in C++.
In both the values of run-time scalars stand behind the inputs, as CPU tensors of rank 0.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

from pyptx import _core
from pyptx._call import first_call
from pyptx._call.autograd import dense
from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, Signature
from pyptx._errors import LaunchError
from pyptx._torch import graph
from pyptx._torch.eager import below_dispatcher, refuse_backward, torch_dtype
from pyptx.specs import Layout
from pyptx.torch_support import SCALARS, call_compiled, register_operators, split_scalars

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
        inputs, options = split_scalars(kernel._op_key, args, dict(keywords))
        call = _Arguments(kernel._op_key, inputs, repr(options))
        text = graph.of_call(kernel, args, outs, call.options, call.keywords)
        if text is not None:
            results = launch(kernel, inputs, outs, text)
            return first_call.unpack(results if outs is None else outs)
    register_operators()
    options = dict(keywords) if outs is None else {**keywords, "out": outs}
    return call_compiled(kernel._op_key, tuple(args), options)


def _lookup(key: str) -> Kernel:
    from pyptx.kernel import kernels_by_key

    kernel = kernels_by_key.get(key)
    if kernel is None:
        name = key.partition(":")[0]
        refuse(
            "GraphCall",
            f"a graph calls kernel {name!r}, which this process does not have (any more)",
            "keep the Kernel object alive, and compile again after a restart; torch.export puts "
            "the kernel into the program only with strict=False",
        )
    return kernel


def _keywords(options: str) -> dict[str, Any]:
    try:
        return dict(ast.literal_eval(options)) if options else {}
    except (ValueError, SyntaxError):
        refuse(
            "GraphCall",
            f"template values of a kernel in a compiled graph are written out as literals, and "
            f"these are not: {options}",
            "call it with numbers, strings, tuples, lists or dicts",
        )


class _Arguments:
    """What the arguments of an operator that is traced say: a kernel, its tensors and keywords."""

    def __init__(self, key: str, inputs: Sequence[torch.Tensor], options: str) -> None:
        self.kernel = _lookup(key)
        self.signature = self.kernel.signature
        self.options = options
        keywords = _keywords(options)
        names = keywords.pop(SCALARS, ())
        count = len(inputs) - len(names)
        self.tensors = list(inputs[:count])
        self.scalars = list(inputs[count:])
        #: The values of scalars are what only a launch knows.
        self.keywords = {**keywords, **dict.fromkeys(names, first_call.UNKNOWN)}

    def bind_inputs(self) -> dict[str, Any]:
        """Check the tensors, which may be fake, and return the dimensions."""
        return self.signature.bind_inputs(_arrays(self.tensors))


def _arrays(tensors: Sequence[torch.Tensor]) -> list[Array]:
    return [Array(tuple(t.shape), ptx_name(t.dtype), str(t.device)) for t in tensors]


def _take_scalars(
    inputs: Sequence[torch.Tensor], keywords: dict[str, Any]
) -> Sequence[torch.Tensor]:
    """Put the scalars' values among the keywords, and return the inputs without them."""
    names = keywords.pop(SCALARS)
    count = len(inputs) - len(names)
    keywords |= {n: t.item() for n, t in zip(names, inputs[count:], strict=True)}
    return inputs[:count]


def _real(key: str, inputs: Sequence[torch.Tensor], options: str) -> list[torch.Tensor]:
    keywords = _keywords(options)
    if SCALARS in keywords:
        inputs = _take_scalars(inputs, keywords)
    results = below_dispatcher(_lookup(key), inputs, keywords)
    return list(results) if isinstance(results, tuple) else [results]


def _real_out(
    key: str, inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], options: str
) -> None:
    keywords = _keywords(options)
    if SCALARS in keywords:
        inputs = _take_scalars(inputs, keywords)
    below_dispatcher(_lookup(key), inputs, {**keywords, "out": tuple(outs)})


def _real_in_place(key: str, inputs: Sequence[torch.Tensor], options: str) -> None:
    keywords = _keywords(options)
    if SCALARS in keywords:
        inputs = _take_scalars(inputs, keywords)
    below_dispatcher(_lookup(key), inputs, keywords)


def _fake_in_place(key: str, inputs: Sequence[torch.Tensor], options: str) -> None:
    call = _Arguments(key, inputs, options)
    call.signature.bind_keywords(call.keywords, call.bind_inputs())


def _batched_in_place(info: Any, dims: Any, key: str, inputs: Any, options: str) -> Any:
    name = _lookup(key).signature.name
    refuse("NoTensors", f"kernel {name!r}", "has no outputs", "torch.vmap needs some to map")


def _new(like: torch.Tensor, dtype: str, shape: tuple[int, ...], is_column: bool) -> torch.Tensor:
    tensor: torch.Tensor = first_call.in_order(
        lambda name, extents: like.new_empty(extents, dtype=torch_dtype(name)),
        dtype,
        shape,
        is_column,
    )
    return tensor


def _fake(key: str, inputs: Sequence[torch.Tensor], options: str) -> list[torch.Tensor]:
    call = _Arguments(key, inputs, options)
    signature = call.signature
    env = call.bind_inputs()
    template, _ = signature.bind_keywords(call.keywords, env)
    shapes = signature.declared.output_shapes({**template, **env})
    if not call.tensors:
        refuse("NoTensors", f"kernel {signature.name!r}", "has no inputs", "pass out= to say where")
    return [
        _new(inputs[0], str(spec.dtype_name), shape, spec.layout is Layout.COL)
        for spec, shape in zip(signature.out_specs, shapes, strict=True)
    ]


def _fake_out(
    key: str, inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], options: str
) -> None:
    call = _Arguments(key, inputs, options)
    env = call.bind_inputs()
    given = _arrays(outs)
    call.signature.bind_outputs(given, env, (_arrays(call.tensors) or given)[0].device)
    call.signature.bind_keywords(call.keywords, env)


def _batched(info: Any, dims: tuple[Any, ...], key: str, inputs: Any, options: str) -> Any:
    """torch.vmap: one launch where the kernel has a batch dimension, else one after another."""
    call = _Arguments(key, inputs, options)
    signature, tensors, scalars = call.signature, call.tensors, call.scalars
    mapped = dims[1][: len(tensors)]
    if info.batch_size == 0:
        rests = [
            x if d is None else x.sum(d, dtype=x.dtype)
            for x, d in zip(tensors, mapped, strict=True)
        ]
        outputs = _fake(key, [*rests, *scalars], options)
        return [out.new_empty((0, *out.shape)) for out in outputs], [0] * len(outputs)
    whole = None
    if signature.batch is not None and signature.batch not in call.keywords:
        whole = _concatenated(signature, info.batch_size, tensors, mapped)
    if whole is not None:
        axes = [spec.dims.index(signature.batch) for spec in signature.out_specs]
        results = torch.ops.pyptx.call(key, [*whole, *scalars], options)
        parts = [
            result.unflatten(axis, (info.batch_size, result.shape[axis] // info.batch_size))
            for result, axis in zip(results, axes, strict=True)
        ]
        return parts, axes
    columns = [spec.layout is Layout.COL for spec in signature.in_specs]
    columns += [False] * (len(tensors) - len(columns))  # too many: the call says so
    rows = [
        torch.ops.pyptx.call(
            key,
            [
                *(
                    x if d is None else dense(x.select(d, i), is_column)
                    for x, d, is_column in zip(tensors, mapped, columns, strict=False)
                ),
                *scalars,
            ],
            options,
        )
        for i in range(info.batch_size)
    ]
    return [torch.stack(column) for column in zip(*rows, strict=True)], [0] * len(rows[0])


def _concatenated(
    signature: Signature, count: int, inputs: Sequence[torch.Tensor], dims: Sequence[int | None]
) -> list[torch.Tensor] | None:
    """Put a mapped dimension into the batch dimension; None where an input has no place for it."""
    if len(inputs) != len(signature.in_specs):
        return None
    found = []
    for tensor, dim, spec in zip(inputs, dims, signature.in_specs, strict=True):
        if signature.batch not in spec.dims:
            if dim is not None:
                return None
            found.append(tensor)
            continue
        axis = spec.dims.index(signature.batch)
        if dim is None:
            shape = (*tensor.shape[:axis], count, *tensor.shape[axis:])
            parts = tensor.unsqueeze(axis).expand(shape)
        else:
            parts = tensor.movedim(dim, axis)
        found.append(dense(parts.flatten(axis, axis + 1), spec.layout is Layout.COL))
    return found


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.kernel_name = inputs[0].partition(":")[0]


def _fake_launch(inputs: Sequence[torch.Tensor], kernel: str) -> list[torch.Tensor]:
    return [
        _new(inputs[0], dtype, tuple(shape), is_column)
        for _, dtype, shape, _, is_column in _core.GraphKernel.find(kernel).saved.outputs
    ]


def _fake_launch_one(inputs: Sequence[torch.Tensor], kernel: str) -> torch.Tensor:
    [output] = _fake_launch(inputs, kernel)
    return output


def _fake_launch_out(
    inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor], kernel: str
) -> None:
    _core.GraphKernel.find(kernel)


def _traced(mode: Any, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
    """Put `pyptx::launch` into the graph that is being traced where `pyptx::call` was called."""
    given = dict(zip(_NAMES[func.__name__], args, strict=False), **(kwargs or {}))
    inputs, outs = given["inputs"], given.get("outs")
    call = _Arguments(given["kernel"], inputs, given["options"])
    text = graph.of_call(call.kernel, call.tensors, outs, call.options, call.keywords)
    if text is None:
        return mode.__torch_dispatch__(func, types, args, kwargs or {})
    with mode:
        return launch(call.kernel, inputs, outs, text)


_NAMES = {
    "call.default": ("kernel", "inputs", "options"),
    "call_out.default": ("kernel", "inputs", "outs", "options"),
}


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


def _register_calls(library: Any) -> None:
    library.define("call(str kernel, Tensor[] inputs, str options) -> Tensor[]")
    library.define("call_out(str kernel, Tensor[] inputs, Tensor(a!)[] outs, str options) -> ()")
    library.define("call_in_place(str kernel, Tensor(a!)[] inputs, str options) -> ()")
    for backend in ("CPU", "CUDA"):
        library.impl("call", _real, backend)
        library.impl("call_in_place", _real_in_place, backend)
        library.impl("call_out", _real_out, backend)
    torch.library.register_fake("pyptx::call", _fake, lib=library)
    torch.library.register_fake("pyptx::call_out", _fake_out, lib=library)
    torch.library.register_autograd(
        "pyptx::call", refuse_backward, setup_context=_setup_context, lib=library
    )
    torch.library.register_vmap("pyptx::call", _batched, lib=library)
    torch.library.register_fake("pyptx::call_in_place", _fake_in_place, lib=library)
    torch.library.register_vmap("pyptx::call_in_place", _batched_in_place, lib=library)


def _register_launches(library: Any) -> bool:
    """Register the operators in C++; False where this torch has no place for them."""
    if hasattr(torch.ops.pyptx, "launch"):
        graph.has_names = False  # libpyptx_torch was first, and knows no kernels of ours
    else:
        try:
            for schema in _core.TORCH_SCHEMAS:
                library.define(schema)
            _core.register_torch_operators()
        except (RuntimeError, LaunchError):
            return False
    torch.library.register_fake("pyptx::launch", _fake_launch, lib=library)
    torch.library.register_fake("pyptx::launch_one", _fake_launch_one, lib=library)
    torch.library.register_fake("pyptx::launch_out", _fake_launch_out, lib=library)
    for name in _NAMES:
        torch.library.register_torch_dispatch(
            f"pyptx::{name.partition('.')[0]}", ProxyTorchDispatchMode, _traced, lib=library
        )
    return True


_library = torch.library.Library("pyptx", "FRAGMENT")
_register_calls(_library)
#: Whether graphs can carry kernels; without it `pyptx::call` serves everything but AOTInductor.
has_launch = _register_launches(_library)
call_by_name = torch.ops.pyptx.call.default
