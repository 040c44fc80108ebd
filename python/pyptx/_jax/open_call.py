# SPDX-License-Identifier: Apache-2.0
"""Calls with symbolic sizes: the FFI call of a kernel for any size, for `jax.export`.

A program that is compiled has numbers in their place, and the call finds its launch by the shapes
of its buffers. Such a call is neither divided among devices nor merged by vmap, which know sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from pyptx import _core
from pyptx._call import first_call, open_trace
from pyptx._call.signature import Array
from pyptx._jax import call_site
from pyptx._jax.call_site import Site
from pyptx._jax.primitive import Aliases
from pyptx.specs import Layout


def is_symbolic(args: Sequence[Any]) -> bool:
    """Whether a size is known by name alone."""
    return any(not isinstance(size, int) for x in args for size in x.shape)


def call_kernel(site: Site, args: Sequence[Any]) -> Any:
    """Put the call of an author's kernel into the program; arguments as those of the site."""
    signature = site.kernel.signature
    arrays = _arrays(args)
    env = signature.bind_inputs(arrays[: site.input_count])
    given = [arrays[argument] for argument, _ in sorted(site.aliases, key=lambda pair: pair[1])]
    if given:
        signature.bind_outputs(given, env, "jax")
    # A program carries the kernel whole; numbers that change are arrays there.
    constants = [name for _, name in signature.raw_params]
    target = first_call.resolve_target(site.kernel.arch, call_site.default_device())
    dtypes = [array.dtype for array in arrays[: site.input_count]]
    opened = open_trace.trace(
        site.kernel, site.captures, env, site.keywords, target, constants, dtypes
    )
    specs = (*site.argument_specs, *site.out_specs)
    columns = [spec.layout is Layout.COL for spec in specs]
    return _put(opened, args, [spec.rank for spec in specs], columns, site.aliases)


def call_open(kernel: _core.OpenKernel, args: Sequence[Any], bits: Sequence[int]) -> Any:
    """Put the call of a kernel that was loaded into the program."""
    inouts = kernel.inputs[len(kernel.inputs) - kernel.inouts :]
    rows = [*kernel.inputs, *inouts, *kernel.outputs]
    ranks, columns = [len(dims) for _, _, dims, _ in rows], [column for *_, column in rows]
    return _put(kernel.with_scalars(list(bits)), call_site.align(args), ranks, columns, ())


def _put(
    kernel: _core.OpenKernel,
    args: Sequence[Any],
    ranks: Sequence[int],
    columns: Sequence[bool],
    aliases: Aliases,
) -> Any:
    inputs = _arrays(args[: len(kernel.inputs)])
    made = zip(kernel.outputs, kernel.output_shapes(inputs), strict=True)
    inouts, first = kernel.inouts, len(kernel.inputs) - kernel.inouts
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args[first : len(inputs)]]
    results += [call_site.result_type(dtype, shape) for (_, dtype, _, _), shape in made]
    kept = tuple((first + index, index) for index in range(inouts))
    aliases = (*kept, *((argument, output + inouts) for argument, output in aliases))
    attributes: dict[str, Any] = {"open": bytes(kernel.to_bytes()).decode()}
    if len(args) > first:
        attributes["unread"] = np.int64(len(args) - first)
    if inouts:
        attributes["kept"] = np.int64(inouts)
    layouts = tuple(
        tuple(reversed(range(rank))) if column else None
        for rank, column in zip(ranks, columns, strict=True)
    )
    call_site.check_registered()
    function = call_site.make_call(kernel.name, attributes, results, layouts, aliases, inouts)
    return first_call.unpack(function(*args))


def _arrays(args: Sequence[Any]) -> list[Array]:
    shapes, dtypes = call_site.described(args)
    return [Array(s, d, "jax") for s, d in zip(shapes, dtypes, strict=True)]
