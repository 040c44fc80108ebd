# SPDX-License-Identifier: Apache-2.0
"""The transformer of jax_transformer.py on eight devices: checks of jax_on_eight_devices.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from support import jax_transformer as model
from support.eight_devices import added_up, collectives, mesh_of, put

TEXT = model.sentences()
CLOSE = 4e-6
#: Gradients of weights that a step adds up over the devices: that of the words is of two uses.
GRADIENTS = model.LAYERS * 7 + 1 + 2


def expected() -> Any:
    """Return the state after a step, and the loss, of one device in float64."""
    return model.in_float64(
        lambda s, t: model.step(s, t, gates=model.REFERENCE, scan=True), model.start(), TEXT
    )


def divided(mesh: Any) -> Any:
    """Return what a step is given: the state on all devices, the sentences divided."""
    return jax.tree.map(lambda x: put(mesh, x), model.start()), put(mesh, TEXT, "d")


def check_transformer_divided_by_jit() -> None:
    """A step adds up the gradients of the weights and the loss, and moves nothing else."""
    given = divided(mesh_of(AxisType.Auto))
    program = jax.jit(model.step)
    assert model.error(program(*given), expected()) < CLOSE
    assert {*collectives(program, *given)} == {"all-reduce"}
    assert added_up(program, *given) == GRADIENTS + 1


def check_transformer_in_a_scan_with_remat() -> None:
    """As for the gradients of a layer, which are added up in the loop, or behind it."""
    program = jax.jit(lambda s, t: model.step(s, t, scan=True, wrap=jax.checkpoint))
    want = expected()
    for kind in (AxisType.Auto, AxisType.Explicit):
        given = divided(mesh_of(kind))
        assert model.error(program(*given), want) < CLOSE
        assert {*collectives(program, *given)} == {"all-reduce"}, kind
        assert added_up(program, *given) == GRADIENTS + 1 - 7 * (model.LAYERS - 1), kind


def check_transformer_in_a_shard_map() -> None:
    """The gradients of weights that devices share are summed, with nothing to write."""
    (_, momentum), value = expected()
    mesh = mesh_of(AxisType.Auto)
    mapped = jax.shard_map(
        lambda w, t: jax.lax.pmean(model.loss(w, t, scan=True), "d"),
        mesh=mesh,
        in_specs=(P(), P("d")),
        out_specs=P(),
    )
    (w, _), text = divided(mesh)
    got = jax.jit(jax.value_and_grad(mapped))(w, text)
    assert model.error(got, (value, momentum)) < CLOSE  # the first momentum is the gradient


CHECKS: dict[str, Callable[[], None]] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
