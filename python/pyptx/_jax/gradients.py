# SPDX-License-Identifier: Apache-2.0
"""Pairs of kernels as functions that `jax.grad` knows the gradient of.

A second derivative is that of what the backward calls: the rule of the forward calls the function
itself, not the kernel, which JAX cannot see into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyptx._jax import call_site, reverse_mode, several

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel


def function_of(pair: DifferentiableKernel, jax: Any, keywords: Mapping[str, Any]) -> Any:
    """Return the function of a pair, called with these keywords, on JAX arrays."""
    passed = {name: keywords[name] for name in pair.taken_by_backward(keywords)}
    run_backward = several.divided(pair.backward)
    name = pair.forward.signature.name

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def call(*inputs: Any) -> Any:
        return pair.forward(*inputs, **keywords)

    def forward(*inputs: Any) -> Any:
        outputs = call(*inputs)  # which has a gradient itself, for the second derivative
        shardings = tuple(
            jax.typeof(item).sharding
            if jax.numpy.issubdtype(item.dtype, jax.numpy.floating)
            else None
            for item in inputs
        )
        made = outputs if isinstance(outputs, tuple) else (outputs,)
        dtypes = tuple(output.dtype for output in made)
        return outputs, _Residuals(tuple(pair.kept(inputs, outputs)), shardings, dtypes)

    def backward(residuals: _Residuals, cotangents: Any) -> Any:
        grads = [
            # What a backward gets for an output that has no gradient: zeros of its type.
            jax.numpy.zeros(grad.shape, dtype) if grad.dtype == jax.dtypes.float0 else grad
            for grad, dtype in zip(
                cotangents if isinstance(cotangents, tuple) else (cotangents,),
                residuals.dtypes,
                strict=True,
            )
        ]
        found = pair.gradients(residuals.saved, grads, keywords=passed, backward=run_backward)
        found += [None] * (len(residuals.shardings) - len(found))
        pairs = zip(found, residuals.shardings, strict=True)
        return tuple(
            None if grad is None or sharding is None else call_site.reshard_as(grad, sharding)
            for grad, sharding in pairs
        )

    _register_residuals(jax)
    call.defvjp(forward, backward)

    def aligned(*inputs: Any) -> Any:
        # Outside of the rule, so that in a shard_map the gradient of an input that all devices
        # share is the sum over them.
        return call(*reverse_mode.inputs_of(name, call_site.align(inputs)))

    return aligned


class _Residuals:
    """Saved arrays (leaves); shardings of the inputs that have gradients, and outputs' types."""

    def __init__(self, saved: Any, shardings: tuple[Any, ...], dtypes: tuple[Any, ...]) -> None:
        self.saved = saved
        self.shardings = shardings
        self.dtypes = dtypes


_registered: list[bool] = []


def _register_residuals(jax: Any) -> None:
    if not _registered:
        jax.tree_util.register_pytree_node(
            _Residuals,
            lambda residuals: (residuals.saved, (residuals.shardings, residuals.dtypes)),
            lambda structure, saved: _Residuals(saved, *structure),
        )
        _registered.append(True)
