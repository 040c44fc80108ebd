# SPDX-License-Identifier: Apache-2.0
"""Calls on arrays whose shardings are part of their types: meshes with explicit axes.

What is divided is the batch dimension, by a shard_map, or by the compiler where a vmap has taken an
axis. Where the batch is in arguments and specs is asked by both ways to divide; the other way,
while XLA compiles, is in `batching`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from pyptx._jax.call_site import align
from pyptx._jax.primitive import Aliases
from pyptx._kept import Kept
from pyptx.specs import Tile


class Divisible(Protocol):
    """What may be divided along a batch: a kernel's `Site`, or a function of several launches."""

    @property
    def name(self) -> str: ...
    @property
    def batch(self) -> str | None: ...
    @property
    def argument_specs(self) -> tuple[Tile, ...]: ...
    @property
    def out_specs(self) -> tuple[Tile, ...]: ...
    @property
    def aliases(self) -> Aliases: ...
    @property
    def functions(self) -> Kept[Any, Any]: ...
    def key(self) -> Any: ...
    def general(self) -> Divisible: ...
    def check(self, args: Sequence[Any]) -> None: ...
    def content(self, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str]) -> str: ...
    def launch(self, args: Sequence[Any]) -> tuple[Any, ...]: ...


Runner = Callable[[Divisible, Sequence[Any]], tuple[Any, ...]]


def batch_axes(site: Divisible) -> tuple[list[int | None], list[int | None]]:
    """Where arguments and outputs have the batch dimension, if there is one."""
    batch = site.batch

    def axis(spec: Any) -> int | None:
        return spec.dims.index(batch) if batch in spec.dims else None

    outputs = site.out_specs
    return [axis(s) for s in site.argument_specs], [axis(s) for s in outputs]


def batch_names(infos: Sequence[Any], axes: Sequence[int | None]) -> Any:
    """Return the mesh axes that the batch dimension is divided over; None where it is not."""
    for info, axis in zip(infos, axes, strict=True):
        spec = getattr(info.sharding, "spec", ())
        if axis is not None and axis < len(spec) and spec[axis] is not None:
            return spec[axis]
    return None


def as_names(names: Any) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def batch_spec(rank: int, axis: int | None, names: Any) -> Any:
    return P(*(names if index == axis else None for index in range(rank)))


def has_sums(site: Divisible) -> bool:
    """Whether an output is a sum over the batch."""
    return any(spec.partial is not None for spec in site.out_specs)


def summed(site: Divisible, results: Sequence[Any], names: Any) -> tuple[Any, ...]:
    """Add up the outputs that are sums over the batch, of which each device has its part."""
    over = as_names(names)
    return tuple(
        jax.lax.psum(x, over) if over and spec.partial is not None else x
        for x, spec in zip(results, site.out_specs, strict=True)
    )


def explicit_mesh(args: Sequence[Any]) -> Any:
    """Return the mesh over which the types of the arguments are sharded, if there is one."""
    for x in args:
        mesh = jax.typeof(x).sharding.mesh
        if not mesh.empty and AxisType.Explicit in mesh.axis_types:
            return mesh
    return None


def _explicit_names(mesh: Any) -> tuple[str, ...]:
    kinds = zip(mesh.axis_names, mesh.axis_types, strict=True)
    return tuple(name for name, kind in kinds if kind == AxisType.Explicit)


def run_sharded(run: Runner, site: Divisible, mesh: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """Call on arrays of such types; `run` calls on parts, or on what has no such type."""

    def divided(*args: Any) -> tuple[Any, ...]:
        return _divided(run, site, mesh, args)

    def by_compiler(*args: Any) -> tuple[Any, ...]:
        return _by_compiler(run, site, mesh, args)

    return _either(mesh, divided, by_compiler)(*args)


def _either(
    mesh: Any, divided: Callable[..., Any], by_compiler: Callable[..., Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return a function that is divided by a shard_map unless a vmap has taken an axis."""

    @jax.custom_batching.custom_vmap  # type: ignore[untyped-decorator]
    def call(*args: Any) -> Any:
        return (by_compiler if _is_taken(mesh) else divided)(*args)

    @call.def_vmap  # type: ignore[untyped-decorator]
    def rule(_: int, is_mapped: list[bool], *args: Any) -> tuple[Any, Any]:
        axes = tuple(0 if mapped else None for mapped in is_mapped)
        divided_map, compiled_map = (jax.vmap(f, in_axes=axes) for f in (divided, by_compiler))
        # The context does not always tell: a gradient's rule is mapped after its vmap has ended.
        is_sharded = any(
            mapped and jax.typeof(x).sharding.spec[0] is not None
            for x, mapped in zip(args, is_mapped, strict=True)
        )
        mapped = compiled_map if is_sharded else _either(mesh, divided_map, compiled_map)
        results = mapped(*args)
        return results, tuple(True for _ in results)

    function: Callable[..., tuple[Any, ...]] = call
    return function


def _is_taken(mesh: Any) -> bool:
    """Whether a vmap runs over an explicit axis; JAX refuses every shard_map over it then."""
    names = {*_explicit_names(mesh)}
    probe = jax.shard_map(lambda: (), mesh=mesh, in_specs=(), out_specs=(), axis_names=names)
    try:
        jax.eval_shape(probe)
    except ValueError:
        return True
    return False


def _divided(run: Runner, site: Divisible, mesh: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """Call on each device's part of the batch."""
    argument_axes, output_axes = batch_axes(site)
    names = batch_names([jax.typeof(x) for x in args], argument_axes)
    in_specs = tuple(batch_spec(x.ndim, a, names) for x, a in zip(args, argument_axes, strict=True))
    ranks = [spec.rank for spec in site.out_specs]
    out_specs = tuple(batch_spec(r, a, names) for r, a in zip(ranks, output_axes, strict=True))

    def part(*parts: Any) -> tuple[Any, ...]:
        return summed(site, run(site, align(parts)), names)

    mapped = jax.shard_map(
        part,
        mesh=mesh,
        in_specs=in_specs,
        out_specs=out_specs,
        axis_names={*_explicit_names(mesh)},
    )
    shardings = [NamedSharding(mesh, spec) for spec in in_specs]
    results = mapped(*jax.sharding.reshard(tuple(args), tuple(shardings)))
    return tuple(jax.sharding.reshard(results, _result_shardings(site, mesh, args)))


def _by_compiler(run: Runner, site: Divisible, mesh: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """Call as where shardings are the compiler's: it divides the batch, or gathers."""

    def call(*args: Any) -> tuple[Any, ...]:
        return run(site, args)

    shardings = _result_shardings(site, mesh, args)
    call = jax.sharding.auto_axes(call, axes=_explicit_names(mesh), out_sharding=shardings)
    return call(*args)


def _result_shardings(site: Divisible, mesh: Any, args: Sequence[Any]) -> tuple[NamedSharding, ...]:
    """Divide the results as the dimensions of the same names are divided in the arguments."""
    divided: dict[int | str, Any] = {}
    for x, spec in zip(args, site.argument_specs, strict=True):
        for dim, names in zip(spec.dims, jax.typeof(x).sharding.spec, strict=True):
            if isinstance(dim, str) and names is not None:
                divided.setdefault(dim, names)
    shardings = []
    for spec in site.out_specs:
        used: set[str] = set()
        entries = []
        for dim in spec.dims:
            names = divided.get(dim)
            entries.append(names if used.isdisjoint(as_names(names)) else None)
            used.update(as_names(names))
        shardings.append(NamedSharding(mesh, P(*entries)))
    return tuple(shardings)
