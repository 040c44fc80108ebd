# SPDX-License-Identifier: Apache-2.0
"""Pairs of kernels as functions that `jax.grad` knows the gradient of.

A second derivative is that of what the backward calls: the rule of the forward calls the function
itself, not the kernel, which JAX cannot see into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyptx._call.element_types import framework_name
from pyptx._jax import call_site

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel


def function_of(pair: DifferentiableKernel, jax: Any, keywords: Mapping[str, Any]) -> Any:
    """Return the function of a pair, called with these keywords, on JAX arrays."""
    passed = {name: keywords[name] for name in pair.taken_by_backward(keywords)}

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
        return outputs, _Residuals(tuple(pair.kept(inputs, outputs)), shardings)

    def backward(residuals: _Residuals, cotangents: Any) -> Any:
        grads = [
            _zeros(grad, spec, jax) if grad.dtype == jax.dtypes.float0 else grad
            for grad, spec in zip(
                cotangents if isinstance(cotangents, tuple) else (cotangents,),
                pair.forward.out_specs,
                strict=True,
            )
        ]
        found = pair.gradients(residuals.saved, grads, keywords=passed)
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
        return call(*call_site.align(inputs))

    return aligned


def _zeros(grad: Any, spec: Any, jax: Any) -> Any:
    """Return what a backward gets for an output that has no gradient: zeros of its type."""
    return jax.numpy.zeros(grad.shape, framework_name(str(spec.dtype_name)))


class _Residuals:
    """Saved arrays (leaves), and shardings of the inputs that have gradients (structure)."""

    def __init__(self, saved: tuple[Any, ...], shardings: tuple[Any, ...]) -> None:
        self.saved = saved
        self.shardings = shardings


_registered: list[bool] = []


def _register_residuals(jax: Any) -> None:
    if not _registered:
        jax.tree_util.register_pytree_node(
            _Residuals,
            lambda residuals: (residuals.saved, residuals.shardings),
            lambda shardings, saved: _Residuals(saved, shardings),
        )
        _registered.append(True)
