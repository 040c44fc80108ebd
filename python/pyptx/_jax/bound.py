# SPDX-License-Identifier: Apache-2.0
"""Bound and loaded kernels on JAX arrays, eagerly and in programs: the FFI call of one image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax

from pyptx import _core, _toolchain
from pyptx._call import first_call
from pyptx._call.element_types import ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array
from pyptx._jax import call_site

if TYPE_CHECKING:
    from pyptx._call.bound_kernel import BoundTensor, Settled

Check = Callable[[Sequence[Array], Sequence[Array] | None], None]


def call(
    settled: Settled,
    check: Check,
    device: str | None,
    args: Sequence[Any],
    outs: Sequence[Any] | None,
    bits: Sequence[int],
) -> Any:
    """Run on JAX arrays, or put the call into the program that is being traced."""
    _toolchain.announce_folders()
    what = f"bound kernel {settled.name!r}"
    if not settled.outputs and not settled.inouts:
        refuse("NoTensors", what, *call_site.NOTHING_WRITTEN)
    names = [tensor.name for tensor in (*settled.inputs, *settled.outputs)]
    args = [
        call_site.as_jax(what, name, x, tensor and tensor.dtype)
        for name, x, tensor in call_site.paired(names, args, settled.inputs)
    ]
    donors, aliases = call_site.donors(what, names, args, outs or ())
    every = call_site.align([*args, *donors])
    call_site.check_arguments(what, every)
    described = [_described(x, device) for x in every]
    given = [described[argument] for argument, _ in sorted(aliases, key=lambda pair: pair[1])]
    check(described[: len(args)], given if outs is not None else None)
    shapes = [call_site.result_type(tensor.dtype, tensor.shape) for tensor in settled.outputs]
    if settled.image is None:
        kept = args[len(args) - settled.inouts :]
        return first_call.unpack([*kept, *(jax.numpy.zeros(s.shape, s.dtype) for s in shapes)])
    image = _core.with_scalars(settled.image, bits) if bits else settled.image
    donated = [settled.outputs[output] for argument, output in aliases if argument >= len(args)]
    inouts = settled.inputs[len(settled.inputs) - settled.inouts :]
    layouts = tuple(map(_layout, (*settled.inputs, *donated, *inouts, *settled.outputs)))
    results = call_site.launch_with_inouts(
        image, every, len(args), len(inouts), shapes, layouts, aliases
    )
    return first_call.unpack(results)


def _described(x: Any, device: str | None) -> Array:
    """Describe an array on its device; a tracer, which has none yet, where it is asked to be."""
    place = device or "jax"
    if not isinstance(x, jax.core.Tracer) and device is not None:
        [one, *others] = x.devices()
        place = place_of(one) if not others else "several devices"
    return Array(tuple(x.shape), ptx_name(x.dtype), place)


def example(x: Any) -> Array:
    """Describe an array that a kernel is bound to; a NumPy array may stand beside JAX's."""
    if not isinstance(x, jax.Array):
        return first_call.describe_numpy(x)
    if isinstance(x, jax.core.Tracer):
        refuse(
            "ArgumentKind",
            "bind and save",
            "take arrays as examples, and got a tracer: bind outside of jax.jit",
        )
    [one, *others] = x.devices()
    if others:
        refuse("LaunchPlace", "bind and save", "take arrays on one device as examples")
    return Array(tuple(x.shape), ptx_name(x.dtype), place_of(one))


def place_of(device: Any) -> str:
    """Return what torch and we call a device of JAX."""
    return "cpu" if device.platform == "cpu" else f"cuda:{device.local_hardware_id}"


def _layout(tensor: BoundTensor) -> tuple[int, ...] | None:
    return tuple(reversed(range(len(tensor.shape)))) if tensor.is_column_major else None
