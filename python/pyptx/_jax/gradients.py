# SPDX-License-Identifier: Apache-2.0
"""Pairs of kernels as functions that `jax.grad` knows the gradient of.

A second derivative is that of what the backward calls: the rule of the forward calls the function
itself, not the kernel, which JAX cannot see into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyptx._call import first_call
from pyptx._call.refusals import refuse
from pyptx._jax import call_site, reverse_mode, several

if TYPE_CHECKING:
    from pyptx._call.autograd import DifferentiableKernel


def function_of(pair: DifferentiableKernel, jax: Any, keywords: Mapping[str, Any]) -> Any:
    """Return the function of a pair, called with these keywords, on JAX arrays."""
    passed = {name: keywords[name] for name in pair.taken_by_backward(keywords)}
    run_backward = several.divided(pair.backward)
    name = pair.name
    tensors, dtypes = _inputs_of(pair.forward)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def call(*inputs: Any) -> Any:
        return pair.forward(*inputs, **keywords)

    def forward(*inputs: Any) -> Any:
        outputs = call(*inputs)  # which has a gradient itself, for the second derivative
        types = tuple(
            jax.typeof(item) if jax.numpy.issubdtype(item.dtype, jax.numpy.floating) else None
            for item in inputs
        )
        made = outputs if isinstance(outputs, tuple) else (outputs,)
        dtypes = tuple(output.dtype for output in made)
        return outputs, _Residuals(tuple(pair.kept(inputs, outputs)), types, dtypes)

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
        found += [None] * (len(residuals.types) - len(found))
        return tuple(
            None if grad is None or kind is None else _as_gradient(jax, tensor, grad, kind)
            for tensor, grad, kind in zip(tensors, found, residuals.types, strict=True)
        )

    _register_residuals(jax)
    call.defvjp(forward, backward)

    def aligned(*given: Any) -> Any:
        first_call.common_framework(name, tensors, given, ())  # which refuses what is no array
        inputs = call_site.as_jax_arrays(f"kernel {name!r}", tensors, dtypes, given)
        # Outside of the rule, so that in a shard_map the gradient of an input that all devices
        # share is the sum over them.
        return call(*reverse_mode.inputs_of(name, call_site.align(inputs)))

    return aligned


def _inputs_of(forward: Any) -> tuple[list[str], list[str | None]]:
    """Return the names of the inputs of a kernel, or of a bound one, and the types they want."""
    dtypes = [spec.dtype_name for spec in forward.in_specs]
    if hasattr(forward, "signature"):
        return [*forward.signature.tensors[: len(dtypes)]], dtypes
    return [tensor.name for tensor in forward.inputs], dtypes


def unrecorded(
    name: str, jax: Any, inputs: Sequence[Any], outs: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the arrays of a call with `out=`, of which no gradient can be asked."""
    # An array that is an input and an output stays one; what is no tracer has no gradient.
    own = {id(x): x for x in (*inputs, *outs) if isinstance(x, jax.core.Tracer)}
    if not own:
        return tuple(inputs), tuple(outs)

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def passed(*arrays: Any) -> Any:
        return arrays

    @passed.defjvp  # type: ignore[untyped-decorator]
    def derivative(*_: Any) -> Any:
        refuse(
            "NoGradient",
            f"kernel {name!r}:",
            "out= keeps no record for gradients, and one is asked of this call; drop out=, or "
            "jax.lax.stop_gradient() of its arrays",
        )

    new = dict(zip(own, passed(*own.values()), strict=True))
    return tuple(new.get(id(x), x) for x in inputs), tuple(new.get(id(x), x) for x in outs)


def _as_gradient(jax: Any, name: str, grad: Any, kind: Any) -> Any:
    """Return what the backward gave as the gradient of an input of this type."""
    if tuple(grad.shape) != kind.shape:
        refuse(
            "NoGradient",
            "the backward kernel",
            f"returned an array of shape {tuple(grad.shape)} as the gradient of {name!r}, which "
            f"has the shape {kind.shape}",
        )
    return call_site.reshard_as(jax.numpy.asarray(grad, kind.dtype), kind.sharding)


class _Residuals:
    """Saved arrays (leaves); types of the inputs that have gradients, and of the outputs."""

    def __init__(self, saved: Any, types: tuple[Any, ...], dtypes: tuple[Any, ...]) -> None:
        self.saved = saved
        self.types = types
        self.dtypes = dtypes


_registered: list[bool] = []


def _register_residuals(jax: Any) -> None:
    if not _registered:
        jax.tree_util.register_pytree_node(
            _Residuals,
            lambda residuals: (residuals.saved, (residuals.types, residuals.dtypes)),
            lambda structure, saved: _Residuals(saved, *structure),
        )
        _registered.append(True)
