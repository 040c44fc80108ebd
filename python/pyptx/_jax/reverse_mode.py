# SPDX-License-Identifier: Apache-2.0
"""Says of a pair's inputs that their derivative is taken in reverse mode alone.

`jax.custom_vjp` refuses forward mode in words about itself, wherever JAX comes to evaluate its
derivative: at the call, under a vmap (`jacfwd`), or when a program is compiled. So the inputs of a
pair pass an identity of ours, and their tangents one that can be transposed, as reverse mode does,
but not evaluated. Both are gone from compiled programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from pyptx._call.refusals import refuse

_inputs = Primitive("pyptx_differentiable")
_inputs.multiple_results = True
_tangents = Primitive("pyptx_reverse_mode")
_tangents.multiple_results = True


def inputs_of(name: str, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of the pair, whose derivative cannot be taken in forward mode."""
    found: list[Any] = _inputs.bind(*inputs, name=name)
    return found


def _identity(*values: Any, name: str) -> list[Any]:
    return [*values]


def _lowered(_: Any, *values: Any, name: str) -> list[Any]:
    return [*values]


def _mapped(values: Sequence[Any], axes: Any, *, name: str) -> Any:
    return _inputs.bind(*values, name=name), axes


def _derivative(values: Sequence[Any], tangents: Sequence[Any], *, name: str) -> Any:
    """Bind the values again: a derivative of a derivative has to come by here too."""
    there = [tangent for tangent in tangents if type(tangent) is not ad.Zero]
    found = iter(_tangents.bind(*there, name=name))
    passed = [tangent if type(tangent) is ad.Zero else next(found) for tangent in tangents]
    return _inputs.bind(*values, name=name), passed


def _transposed(cotangents: Sequence[Any], *_: Any, name: str) -> list[Any]:
    return [*cotangents]


def _refused(*_: Any, name: str) -> NoReturn:
    refuse(
        "NoGradient",
        f"differentiable kernel {name!r}",
        "has no forward-mode derivative (jax.jvp, jacfwd, linearize); use reverse mode: jax.grad, "
        "vjp or jacrev, and jax.jacrev(jax.jacrev(f)) for jax.hessian(f)",
    )


for primitive in (_inputs, _tangents):
    primitive.def_abstract_eval(_identity)
_inputs.def_impl(_identity)
mlir.register_lowering(_inputs, _lowered)
batching.primitive_batchers[_inputs] = _mapped
ad.primitive_jvps[_inputs] = _derivative
_tangents.def_impl(_refused)
mlir.register_lowering(_tangents, _refused)
batching.primitive_batchers[_tangents] = _refused
ad.primitive_jvps[_tangents] = _refused
ad.primitive_transposes[_tangents] = _transposed
