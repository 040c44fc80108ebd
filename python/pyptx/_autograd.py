# SPDX-License-Identifier: Apache-2.0
"""A forward and a backward kernel as one operation, for torch.autograd and jax.grad.

Only the joint: the mathematics of the gradient is the backward kernel's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from pyptx._errors import LaunchError


class DifferentiableKernel:
    """What `differentiable_kernel` returns: call it like the forward kernel."""

    def __init__(
        self,
        forward: Any,
        backward: Any,
        save_for_backward: Sequence[int] | None,
        num_grad_inputs: int | None,
    ) -> None:
        count = len(forward.in_specs)
        saved = range(count) if save_for_backward is None else save_for_backward
        self.forward = forward
        self.backward = backward
        self.saved = tuple(int(index) for index in saved)
        self.grad_count = count if num_grad_inputs is None else int(num_grad_inputs)
        bad = [index for index in self.saved if not 0 <= index < count]
        if bad:
            raise ValueError(f"save_for_backward has {bad[0]}, but there are {count} inputs")
        if not 0 <= self.grad_count <= count:
            raise ValueError(f"num_grad_inputs is {self.grad_count}, but there are {count} inputs")
        # Made early: Dynamo can call an autograd.Function, but not define one.
        self._torch_functions: Any = None
        self._jax_function: Any = None
        if "torch" in sys.modules:
            self._torch_functions = _torch_functions(self)

    def __call__(self, *inputs: Any) -> Any:
        """Run the forward kernel; gradients flow back through the backward kernel."""
        torch = sys.modules.get("torch")
        if torch is not None and any(isinstance(item, torch.Tensor) for item in inputs):
            if self._torch_functions is None:
                self._torch_functions = _torch_functions(self)
            plain, transformed = self._torch_functions
            if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
                return plain.apply(*inputs)
            return transformed.apply(*inputs)
        jax = sys.modules.get("jax")
        if jax is not None and any(isinstance(item, jax.Array) for item in inputs):
            if self._jax_function is None:
                self._jax_function = _jax_function(self, jax)
            return self._jax_function(*inputs)
        return self.forward(*inputs)

    def gradients(self, saved: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """Return the gradients of the first `grad_count` inputs."""
        found = self.backward(*saved, *grads)
        if not isinstance(found, tuple):
            found = (found,)
        if len(found) < self.grad_count:
            raise LaunchError(
                f"the backward kernel returned {len(found)} gradients for {self.grad_count} "
                f"inputs; give it one output per input, or set num_grad_inputs"
            )
        return list(found[: self.grad_count])


def _torch_functions(pair: DifferentiableKernel) -> Any:
    import torch

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.save_for_backward(*[inputs[index] for index in pair.saved])
            ctx.is_float = [item.is_floating_point() for item in inputs]
            return pair.forward(*inputs)

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *grads: Any) -> Any:
            dense = [grad.contiguous() for grad in grads]
            found = pair.gradients(ctx.saved_tensors, dense)
            found += [None] * (len(ctx.is_float) - len(found))
            return tuple(
                grad if is_float else None
                for grad, is_float in zip(found, ctx.is_float, strict=True)
            )

    class TransformedFunction(KernelFunction):
        """The same for torch.func, which wants the context set up apart; Dynamo does not."""

        generate_vmap_rule = True

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return pair.forward(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.save_for_backward(*[inputs[index] for index in pair.saved])
            ctx.is_float = [item.is_floating_point() for item in inputs]

    return KernelFunction, TransformedFunction


def _jax_function(pair: DifferentiableKernel, jax: Any) -> Any:
    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def call(*inputs: Any) -> Any:
        return pair.forward(*inputs)

    def forward(*inputs: Any) -> Any:
        kept = tuple(inputs[index] for index in pair.saved)
        kinds = tuple(jax.numpy.issubdtype(item.dtype, jax.numpy.floating) for item in inputs)
        return pair.forward(*inputs), _Residuals(kept, kinds)

    def backward(residuals: _Residuals, cotangents: Any) -> Any:
        grads = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        found = pair.gradients(residuals.saved, grads)
        found += [None] * (len(residuals.kinds) - len(found))
        pairs = zip(found, residuals.kinds, strict=True)
        return tuple(grad if is_float else None for grad, is_float in pairs)

    _register_residuals(jax)
    call.defvjp(forward, backward)
    return call


class _Residuals:
    """Saved arrays (leaves) and the kinds of the inputs (structure)."""

    def __init__(self, saved: tuple[Any, ...], kinds: tuple[bool, ...]) -> None:
        self.saved = saved
        self.kinds = kinds


_registered: list[bool] = []


def _register_residuals(jax: Any) -> None:
    if not _registered:
        jax.tree_util.register_pytree_node(
            _Residuals, lambda r: (r.saved, r.kinds), lambda kinds, saved: _Residuals(saved, kinds)
        )
        _registered.append(True)
