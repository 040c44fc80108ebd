# SPDX-License-Identifier: Apache-2.0
"""A kernel for any size out of the author's: traced as for a call, with names for open sizes.

What is open are sizes of `kernel(dynamic=...)`; all else is settled as for one call. The result is
plain data (`interop::OpenKernel`): saved in files, and carried by programs that are exported.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call.element_types import stored_name
from pyptx._call.first_call import UNKNOWN
from pyptx._call.open_grid import open_grid
from pyptx._call.refusals import refuse
from pyptx._call.scalars import scalar_bits
from pyptx._call.signature import Signature, grid_asks_for
from pyptx._call.specialize import Facts
from pyptx._captures.captures import Captures

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

Dims = tuple[int | str, ...]


def trace(
    kernel: Kernel,
    captures: Captures,
    env: Mapping[str, Any],
    keywords: Mapping[str, Any],
    target: str,
    constants: Container[str] = (),
    dtypes: Sequence[str] = (),
) -> _core.OpenKernel:
    """Return the kernel for any size of the dynamic dimensions that `env` has no number for.

    `env` has the others, and named element types; `dtypes` are those of the first tensors, where
    there are any. Raw parameters come with each launch, and what is given by keyword is a default;
    but for `constants` and what the grid is worked out from.
    """
    signature = kernel.signature
    values = dict(env)
    template, raw = signature.bind_keywords(keywords, values)
    known = {**template, **values, **raw}
    sizes = tuple(dim for dim in signature.dims if not isinstance(known.get(dim), int))
    _check_open(signature, sizes)
    _check_scalars(kernel, raw)
    dims = [_dims(spec.dims, known) for spec in signature.specs]
    rest = range(len(dtypes), len(dims))
    dtypes = [*dtypes, *(_element_type(signature, index, known) for index in rest)]
    facts = Facts(tuple(dims), tuple(dtypes), template, target)
    traced = kernel.specializer.trace(facts, captures).traced
    options = kernel.specializer.options
    strides = {
        stride: _product(shape[axis + 1 :])
        for names, shape in zip(signature.strides.names, dims, strict=True)
        for axis, stride in enumerate(names)
    }
    scalars: list[Any] = []
    for kind, name in signature.raw_params:
        if name in sizes or name in strides:
            scalars.append(strides.get(name, name))
        elif raw.get(name) is UNKNOWN:
            scalars.append((None,))
        else:
            bits = scalar_bits(signature.name, kind, name, raw)
            is_brought = (kind, name) in signature.free_params and name not in constants
            asked = grid_asks_for(kernel.grid, name)
            scalars.append((bits,) if is_brought and not asked else bits)
    grid = open_grid(signature.name, kernel.grid, known, sizes)
    return _core.OpenKernel(
        signature.declared,
        traced.module,
        (traced.text, target),
        (dims, [stored_name(dtype) for dtype in dtypes]),
        (grid, options.block, options.cluster),
        max(traced.dynamic_shared, options.smem),
        scalars,
        traced.map_tensors,
        options.maps_by_value,
        options.programmatic,
    )


def _check_open(signature: Signature, sizes: Sequence[str]) -> None:
    """Refuse sizes that are in the trace."""
    for name in sizes:
        if name not in signature.dynamic:
            refuse(
                "OpenSizes",
                f"kernel {signature.name!r}",
                f"is traced for each size of {name!r}, so it cannot be carried for any: declare "
                f"kernel(dynamic=({name!r},)), which makes it a parameter of the launch, or give "
                f"it a number",
            )


def _check_scalars(kernel: Kernel, raw: Mapping[str, Any]) -> None:
    for name, value in raw.items():
        if value is UNKNOWN and grid_asks_for(kernel.grid, name):
            refuse(
                "OpenSizes",
                f"kernel {kernel.signature.name!r}",
                f"has a grid that depends on {name!r}, which each launch brings; make the grid "
                f"depend on sizes, or make {name!r} a template parameter",
            )


def _dims(dims: Sequence[int | str], known: Mapping[str, Any]) -> Dims:
    return tuple(
        known[dim] if isinstance(dim, str) and isinstance(known.get(dim), int) else dim
        for dim in dims
    )


def _element_type(signature: Signature, index: int, known: Mapping[str, Any]) -> str:
    found = signature.declared.type_of(index, dict(known))
    if not found:
        refuse(
            "OpenSizes",
            f"kernel {signature.name!r}: argument {signature.tensors[index]!r}",
            "has any element type, so it cannot be carried; give its Tile a type, or a name for "
            "one: dtype='T'",
        )
    return str(found)


def _product(dims: Sequence[int | str]) -> str:
    """Return the elements of an array of these dimensions, as an expression."""
    text = str(dims[0])
    for dim in dims[1:]:
        text = f"* {text} {dim}"
    return text
