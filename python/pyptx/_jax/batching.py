# SPDX-License-Identifier: Apache-2.0
"""What `kernel(batch=...)` gives a JAX program: one launch under vmap, one shard per device.

A kernel with a batch dimension says that a call on arrays concatenated along it gives the results
concatenated. So a mapped axis becomes part of that dimension, and a program that jit partitions
calls the kernel on each device's own part, and adds up the outputs that are sums over the batch
(`Tile(partial=...)`). One call has no such sum for each of several batches, so a kernel with them,
or without a batch dimension, is mapped by a loop; without one it sees whole arrays. Everything here
happens while JAX traces and compiles; a run has no Python in it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.experimental.custom_partitioning import custom_partitioning
from jax.experimental.xla_metadata import set_xla_metadata
from jax.sharding import NamedSharding

from pyptx._errors import Error
from pyptx._jax.call_site import described, opaque
from pyptx._jax.primitive import one_by_one
from pyptx._jax.shardings import (
    Divisible,
    as_names,
    batch_axes,
    batch_names,
    batch_spec,
    explicit_mesh,
    has_sums,
    run_sharded,
    summed,
)
from pyptx._kept import Kept


def run(site: Divisible, args: Sequence[Any]) -> tuple[Any, ...]:
    """Make a call in the way its arguments are mapped and sharded; a tuple of outputs."""
    if site.batch is None and explicit_mesh(args) is None:
        return site.launch(args)
    site.check(args)
    return _transformable(site)(*args)


def _transformable(site: Divisible) -> Callable[..., tuple[Any, ...]]:
    """Return the call as a jitted function that vmap knows; the same one for the same call."""
    key = site.key()
    functions: Kept[Any, Callable[..., tuple[Any, ...]]] = site.functions
    function = functions.get(key) if key is not None else None
    if function is not None:
        return function
    general = site.general()
    call = _with_vmap_rule(general)

    def by_types(*args: Any) -> tuple[Any, ...]:
        mesh = explicit_mesh(args)
        return call(*args) if mesh is None else run_sharded(run, general, mesh, args)

    by_types.__name__ = site.name
    function = jax.jit(by_types, donate_argnums=tuple(argument for argument, _ in site.aliases))
    return functions.keep_first(key, function) if key is not None else function


# --- vmap ---------------------------------------------------------------------------------------


def _with_vmap_rule(site: Divisible) -> Callable[..., tuple[Any, ...]]:
    argument_axes, output_axes = batch_axes(site)

    @jax.custom_batching.custom_vmap  # type: ignore[untyped-decorator]
    def call(*args: Any) -> tuple[Any, ...]:
        return _partitioned(site, args)

    @call.def_vmap  # type: ignore[untyped-decorator]
    def rule(size: int, is_mapped: list[bool], *args: Any) -> tuple[Any, Any]:
        everywhere = [True] * len(output_axes)
        can_merge = not has_sums(site) and all(
            axis is not None or not mapped
            for axis, mapped in zip(argument_axes, is_mapped, strict=True)
        )
        if not can_merge:
            return one_by_one(call, is_mapped, args), tuple(everywhere)
        merged = [
            x if axis is None else _merge(x, size, axis, mapped)
            for x, axis, mapped in zip(args, argument_axes, is_mapped, strict=True)
        ]
        rows = next(
            x.shape[axis + mapped]
            for x, axis, mapped in zip(args, argument_axes, is_mapped, strict=True)
            if axis is not None
        )
        split = [
            _split(x, size, rows, axis) for x, axis in zip(call(*merged), output_axes, strict=True)
        ]
        return tuple(split), tuple(everywhere)

    function: Callable[..., tuple[Any, ...]] = call
    return function


def _merge(x: Any, size: int, axis: int, is_mapped: bool) -> Any:
    """Put a mapped axis, in front or not there yet, into the dimension at `axis`."""
    if not is_mapped:
        x = jax.numpy.broadcast_to(x, (size, *x.shape))
    shape = x.shape[1:]
    x = jax.numpy.moveaxis(x, 0, axis)
    return x.reshape(*shape[:axis], size * shape[axis], *shape[axis + 1 :])


def _split(x: Any, size: int, rows: int, axis: int | None) -> Any:
    """Take a mapped axis out of the dimension at `axis` again, to the front."""
    assert axis is not None, "every output has the batch dimension"
    x = x.reshape(*x.shape[:axis], size, rows, *x.shape[axis + 1 :])
    return jax.numpy.moveaxis(x, axis, 0)


# --- sharding -----------------------------------------------------------------------------------


def _partitioned(site: Divisible, args: Sequence[Any]) -> tuple[Any, ...]:
    """Put in the call such that the compiler can give each device its part of the batch."""
    devices = jax.device_count()
    if devices == 1 or jax.sharding.get_abstract_mesh().manual_axes:
        return site.launch(args)
    parts = _Parts(site, args, devices)
    rule, alone = _sharding_rule(site, parts.argument_axes, parts.output_axes)
    function = custom_partitioning(parts.launch)
    function.def_partition(
        parts.partition,
        infer_sharding_from_operands=parts.infer,
        sharding_rule=rule,
        need_replication_factors=alone,
    )
    # What is partitioned reaches the compiler as a callback, which the key of JAX's persistent
    # cache leaves out: without this, kernels that differ only in their bodies would share an entry.
    identity = _identity(site, args, parts.argument_axes, parts.sizes)
    with set_xla_metadata(pyptx_kernels=identity):
        results: tuple[Any, ...] = opaque(function, site.name)(*args)
    return results


class _Parts:
    """How a call is divided along the batch: what the compiler asks while it partitions."""

    def __init__(self, site: Divisible, args: Sequence[Any], devices: int) -> None:
        self.site = site
        self.argument_axes, self.output_axes = batch_axes(site)
        sized = zip(args, self.argument_axes, strict=True)
        self.total = next(x.shape[axis] for x, axis in sized if axis is not None)
        divisors = [count for count in range(1, devices + 1) if devices % count == 0]
        self.sizes = sorted({-(-self.total // count) for count in divisors})

    def launch(self, *args: Any) -> tuple[Any, ...]:
        """Call the kernel on one device's part."""
        # A part has no sharding of its own; under set_mesh JAX would give it one.
        with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())):
            results: tuple[Any, ...] = self.site.launch(args)
        return results

    def partition(self, mesh: Any, given: Any, results: Any) -> tuple[Any, ...]:
        """Return the mesh, the call of one part, and how results and arguments are divided."""
        names = batch_names((*results, *given), (*self.output_axes, *self.argument_axes))
        count = math.prod(mesh.shape[name] for name in as_names(names))
        if -(-self.total // count) not in self.sizes:  # not covered by the program's identity
            names = None
        outputs = _shardings(mesh, results, self.output_axes, names)

        def launch(*args: Any) -> tuple[Any, ...]:
            return summed(self.site, self.launch(*args), names)

        return mesh, launch, outputs, _shardings(mesh, given, self.argument_axes, names)

    def infer(self, mesh: Any, given: Any, results: Any) -> Any:
        """Return how results are divided when the arguments are divided so."""
        names = batch_names(given, self.argument_axes)
        return _shardings(mesh, results, self.output_axes, names)


def _shardings(mesh: Any, infos: Sequence[Any], axes: Sequence[int | None], names: Any) -> Any:
    return tuple(
        NamedSharding(mesh, batch_spec(len(info.shape), axis, names))
        for info, axis in zip(infos, axes, strict=True)
    )


def _identity(
    site: Divisible, args: Sequence[Any], axes: Sequence[int | None], sizes: Sequence[int]
) -> str:
    """Name the kernels of all sizes that a device's part may have."""
    shapes, dtypes = described(args)
    sums = [spec.partial is not None for spec in site.out_specs]
    content = hashlib.sha256(repr(sums).encode())
    for size in sizes:
        parts = [
            s if a is None else (*s[:a], size, *s[a + 1 :])
            for s, a in zip(shapes, axes, strict=True)
        ]
        try:
            content.update(site.content(parts, dtypes).encode())
        except Error as error:  # only a program that needs this size is refused
            content.update(str(error).encode())
    return content.hexdigest()


def _sharding_rule(
    site: Divisible, argument_axes: Sequence[int | None], output_axes: Sequence[int | None]
) -> tuple[str, tuple[str, ...]]:
    """Name each dimension for the partitioner: `b` is the batch, no other may be divided."""
    alone: list[str] = []

    def names(rank: int, axis: int | None) -> str:
        words = []
        for index in range(rank):
            if index != axis:
                alone.append(f"d{len(alone)}")
            words.append("b" if index == axis else alone[-1])
        return " ".join(words)

    arguments = zip(site.argument_specs, argument_axes, strict=True)
    left = ", ".join(names(spec.rank, axis) for spec, axis in arguments)
    outputs = zip(site.out_specs, output_axes, strict=True)
    right = ", ".join(names(spec.rank, axis) for spec, axis in outputs)
    return f"{left} -> {right}", tuple(alone)
