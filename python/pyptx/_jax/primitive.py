# SPDX-License-Identifier: Apache-2.0
"""A launch as a primitive of JAX: the call that `jax.ffi` makes, with the name of its kernel.

What a program says of an operation (`op_name`), what XLA calls it, and so what profilers show, ends
with its primitive: of `jax.ffi.ffi_call` that is always the same word. Gradients are none of its
business: whoever binds it refuses them (`call_site.opaque`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.interpreters import batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from pyptx._call.refusals import refuse

TARGET = "pyptx_launch"
Layouts = tuple[tuple[int, ...] | None, ...]  # of arguments and results, major to minor
Aliases = tuple[tuple[int, int], ...]  # (argument, output that takes its memory)

_launch = Primitive(TARGET)
_launch.multiple_results = True


def launch(
    name: str,
    args: Sequence[Any],
    results: Sequence[jax.ShapeDtypeStruct],
    layouts: Layouts,
    aliases: Aliases,
    attributes: Mapping[str, Any],
) -> tuple[Any, ...]:
    """Put the call of a kernel into the program that is being traced."""
    types = tuple(map(jax.typeof, results))
    said = tuple(sorted(attributes.items()))
    found = _launch.bind(
        *args, name=name, types=types, layouts=layouts, aliases=aliases, attributes=said
    )
    return tuple(found)


def _result_types(*_: Any, types: Sequence[Any], **__: Any) -> list[Any]:
    mesh = jax.sharding.get_abstract_mesh()
    nowhere = NamedSharding(mesh, PartitionSpec())
    return [t.update(sharding=nowhere) if t.sharding.mesh.empty else t for t in types]


_launch.def_abstract_eval(_result_types)


def _lowered(
    context: Any,
    *operands: Any,
    name: str,
    types: Sequence[Any],
    layouts: Layouts,
    aliases: Aliases,
    attributes: Sequence[tuple[str, Any]],
) -> Any:
    orders = [None if layout is None else layout[::-1] for layout in layouts]  # minor to major
    count = len(layouts) - len(types)
    rule = jax.ffi.ffi_lowering(
        TARGET,
        operand_layouts=orders[:count],
        result_layouts=orders[count:],
        operand_output_aliases=dict(aliases),
    )
    place = "/".join(filter(None, (str(context.name_stack), name)))
    here = ir.Location.current
    while isinstance(here, ir.NameLoc):
        here = here.child_loc
    place = ir.Location.name(place, childLoc=here)
    with ir.Location.name(f"{name}:", childLoc=place):  # as JAX says it: kind, then place
        return rule(context, *operands, **dict(attributes))


mlir.register_lowering(_launch, _lowered)


def _mapped(args: Sequence[Any], axes: Sequence[int | None], **said: Any) -> Any:
    is_mapped = [axis is not None for axis in axes]
    for x, axis in zip(args, axes, strict=True):
        spec = jax.typeof(x).sharding.spec
        if axis is not None and axis < len(spec) and spec[axis] is not None:
            refuse(
                "LaunchPlace",
                f"kernel {said['name']!r}",
                f"is mapped over an axis that is divided over {spec[axis]!r}; call it in a "
                f"jax.shard_map, or one that is not bound",
            )
    args = [
        x if a is None else jax.numpy.moveaxis(x, a, 0) for x, a in zip(args, axes, strict=True)
    ]
    results = one_by_one(lambda *args: tuple(_launch.bind(*args, **said)), is_mapped, args)
    return results, [0] * len(results)


batching.primitive_batchers[_launch] = _mapped


def one_by_one(
    call: Callable[..., tuple[Any, ...]], is_mapped: Sequence[bool], args: Sequence[Any]
) -> tuple[Any, ...]:
    """Map a call over the first axis of some arguments: one after another."""

    def one(parts: Sequence[Any]) -> tuple[Any, ...]:
        rest = iter(parts)
        return call(*(next(rest) if m else x for x, m in zip(args, is_mapped, strict=True)))

    results: tuple[Any, ...] = jax.lax.map(
        one, [x for x, there in zip(args, is_mapped, strict=True) if there]
    )
    return results


# Outside of every program, which is where `jax.disable_jit` leaves it.
_alone = jax.jit(
    _launch.bind, static_argnames=("name", "types", "layouts", "aliases", "attributes")
)


def _run(*args: Any, **said: Any) -> Any:
    with jax.disable_jit(False):
        return _alone(*args, **said)


_launch.def_impl(_run)
