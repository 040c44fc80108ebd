# SPDX-License-Identifier: Apache-2.0
"""Calls of the library's functions: decided in Python once, then from C to the driver.

A `Call` has a C entry in front of a Python function, its route, which checks the arrays, picks the
kernel and says how they are its inputs. What came out of that is remembered with the shapes,
strides, types and alignment of the tensors and with the options; the next call like it launches
without Python. The arrays that the entry compares are the caller's: (batch, tokens, columns) is
never reshaped to rows.

torch.compile reads `Call.__call__` instead, and JAX and NumPy arrays come to the route every time.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyptx import _core
from pyptx._call.autograd import DifferentiableKernel
from pyptx._call.element_types import ptx_name, stored_name
from pyptx.kernels.checks import refuse
from pyptx.kernels.gemm_config import GemmConfig
from pyptx.kernels.places import alignment, are_plain, beside_jax, check_memory, check_places
from pyptx.kernels.records import Record, View
from pyptx.torch_support import has_dtensors

#: Options whose values the entry compares; of others, and of types, it knows the objects.
_COMPARED = (type(None), bool, int, float, str)


class Launch(NamedTuple):
    """What a call comes to.

    `shapes` are those of the results, None where they are as the kernel makes them. `vectors` says
    of each input how many elements its vectors divide, 0 where it is read one by one; `turned`
    which inputs are transposed views of the caller's.
    """

    operation: Any  # a kernel, or one with its gradient
    inputs: tuple[Any, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    vectors: tuple[int, ...]
    turned: tuple[bool, ...] = ()


def run(launch: Launch, out: Any = None) -> Any:
    """Call the operation, and give its results their shapes."""
    if out is not None:
        return launch.operation(*launch.inputs, out=out)
    results = launch.operation(*launch.inputs)
    if len(launch.shapes) == 1:
        return _shaped(results, launch.shapes[0])
    return tuple(_shaped(*pair) for pair in zip(results, launch.shapes, strict=True))


def _shaped(result: Any, shape: tuple[int, ...] | None) -> Any:
    return result if shape is None else result.reshape(shape)


class Call(_core.KernelBase):
    """A function on arrays: `call(*arrays, **options)`, None for an array that is left out.

    `route(*arrays, **options)` returns the `Launch`; `names` are those of the arrays. A function
    over rows, which does the same with each, names the arrays that all rows `share`.
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        route: Callable[..., Launch],
        *,
        share: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.has_rows = None if share is None else tuple(each not in share for each in names)
        self.names = tuple(names)
        self.route = route
        self._entry = _core.Entry(functools.partial(_decide, self))
        self._shown_name = f"pyptx::{name}"

    def __call__(self, *arrays: Any, out: Any = None, **options: Any) -> Any:
        """Run through Python; what torch.compile reads, while call(...) goes to the entry."""
        if self._is_divided(arrays, out):
            return self._on_parts(arrays, options)
        return run(self.route(*arrays, **options), out)

    def _is_divided(self, arrays: Sequence[Any], out: Any) -> bool:
        """Whether these are DTensors, whose rows are computed where they are."""
        if self.has_rows is None or out is not None or not has_dtensors():
            return False
        from pyptx._torch import dtensor

        return arrays[0] is not None and dtensor.are_all(arrays)

    def _on_parts(self, arrays: Sequence[Any], options: dict[str, Any]) -> Any:
        from pyptx._torch import dtensor

        return dtensor.on_rows(self, arrays, self.has_rows or (), options)


_core.call_through_entry(Call)


def _decide(call: Call, arrays: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run a call that the entry does not know, and let it know calls like this one."""
    out = options.pop("out", None)
    arrays = beside_jax(arrays)
    if call._is_divided(arrays, out):
        return call._on_parts(arrays, options)
    launch = call.route(*arrays, **options, **({} if out is None else {"out": out}))
    named = {n: array for n, array in zip(call.names, arrays, strict=True) if array is not None}
    outs = {f"out[{index}]": array for index, array in enumerate(_several(out))}
    check_places(call.name, named | outs)
    inputs = dict(zip(named, launch.inputs, strict=True))
    check_memory(call.name, inputs | outs, (*launch.vectors, *[0] * len(outs)))
    if not are_plain([*named.values(), *outs.values()]):
        return run(launch, out)
    is_recorded = _is_recorded([*named.values(), *outs.values()])
    if is_recorded and outs:
        words = "a tensor", "require no gradient, of which out= keeps no record", "one that does"
        note = "drop out=, .detach() the tensor, or call under torch.no_grad()"
        refuse("ArgumentMemory", call.name, *words, note=note)
    if is_recorded and not isinstance(launch.operation, DifferentiableKernel):
        return run(launch)  # what refuses to go backward, and is not for other calls
    record = _remember(call, arrays, options, launch, out)
    return record(*arrays) if record is not None and is_recorded else run(launch, out)


def _several(out: Any) -> Sequence[Any]:
    return out if isinstance(out, (tuple, list)) else () if out is None else (out,)


def _is_recorded(tensors: Sequence[Any]) -> bool:
    is_enabled = sys.modules["torch"].is_grad_enabled()
    return is_enabled and any(tensor.requires_grad for tensor in tensors)


# --- what the entry knows -------------------------------------------------------------------------


def _remember(
    call: Call,
    arrays: Sequence[Any],
    options: Mapping[str, Any],
    launch: Launch,
    out: Any,
) -> Record | None:
    """Let the entry launch calls like this one; what records them for autograd.

    None where the next call has to be looked at as well: arrays were copied, options cannot be
    compared, or the kernel reads something that is not what it was.
    """
    from pyptx._torch import eager

    views = _views(arrays, launch)
    kinds = (type, GemmConfig, sys.modules["torch"].dtype)
    if views is None or not all(
        type(value) in _COMPARED or isinstance(value, kinds) for value in options.values()
    ):
        return None
    pair = launch.operation if isinstance(launch.operation, DifferentiableKernel) else None
    kernel = launch.operation if pair is None else pair.forward
    settled = eager.repeatable(kernel, launch.inputs, _several(out) or None)
    if settled is None:
        return None
    results = [
        View(False, taken if shape is None else shape, taken)
        for shape, (_, taken) in zip(launch.shapes, settled.outputs, strict=True)
    ]
    record = None if pair is None else Record(pair, (views, results), call, call.__call__, options)
    vectors = iter(launch.vectors)
    call._entry.add(
        [None if array is None else _described(array, next(vectors)) for array in arrays],
        [
            (stored_name(dtype), view.given)
            for view, (dtype, _) in zip(results, settled.outputs, strict=True)
        ],
        launch.inputs[0].device.type,
        settled.image,
        keywords=dict(options),
        guards=settled.guards,
        recorded=record,
    )
    return record


def _views(arrays: Sequence[Any], launch: Launch) -> list[View | None] | None:
    """Return how the arrays are the kernel's inputs, None where one of these is a copy."""
    views: list[View | None] = []
    inputs = iter(zip(launch.inputs, launch.turned or (False,) * len(launch.inputs), strict=True))
    for array in arrays:
        if array is None:
            views.append(None)
            continue
        taken, turned = next(inputs)
        if taken.data_ptr() != array.data_ptr() or taken.numel() != array.numel():
            return None
        views.append(View(turned, tuple(array.shape), tuple(taken.shape)))
    return views


def _described(tensor: Any, vector: int) -> tuple[str, tuple[int, ...], tuple[int, ...], int]:
    """Return what the entry compares a tensor with."""
    strides = tuple(tensor.stride())
    return ptx_name(tensor.dtype), tuple(tensor.shape), strides, alignment(tensor, vector)
