# SPDX-License-Identifier: Apache-2.0
"""A forward and a backward kernel as one operation, for torch.autograd and jax.grad.

Only the joint: the mathematics of the gradient is the backward kernel's.
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from pyptx._call.refusals import refuse
from pyptx._call.signature import whole_number
from pyptx.specs import Layout


class DifferentiableKernel:
    """What `differentiable_kernel` returns: call it like the forward kernel."""

    def __init__(
        self,
        forward: Any,
        backward: Any,
        save_for_backward: Sequence[int] | None,
        num_grad_inputs: int | None,
    ) -> None:
        if not callable(forward) or not hasattr(forward, "in_specs"):
            refuse("OptionType", "the forward kernel", "a pyptx kernel", repr(forward))
        if not callable(backward):
            refuse("OptionType", "the backward kernel", "a kernel or a function", repr(backward))
        count = len(forward.in_specs)
        self.forward = forward
        self.backward = backward
        self.saved = _saved(save_for_backward, count, len(forward.out_specs))
        self.grad_count = _grad_count(num_grad_inputs, count)
        self._torch_functions: Any = None
        self._jax_function: Any = None
        self._number = next(_numbers)
        _pairs[self._number] = self

    def __call__(self, *inputs: Any) -> Any:
        """Run the forward kernel; gradients flow back through the backward kernel."""
        # A folder of such a name on sys.path is a module too, but has no arrays.
        torch: Any = sys.modules.get("torch")
        if hasattr(torch, "Tensor") and any(isinstance(item, torch.Tensor) for item in inputs):
            _make_functions(self._number)
            plain, transformed = self._torch_functions
            if not torch.compiler.is_compiling() and _is_transformed(torch):
                return transformed.apply(*inputs)
            if torch.is_grad_enabled() and _require_gradients(inputs):
                return plain.apply(*inputs)
            # Nothing to record: as fast as the kernel alone. Dynamo, where it inlines a Function
            # whose inputs need no gradients, takes the first of two inputs for the context.
            return self.forward(*inputs)
        jax: Any = sys.modules.get("jax")
        if hasattr(jax, "Array") and any(isinstance(item, jax.Array) for item in inputs):
            if self._jax_function is None:
                self._jax_function = _jax_function(self, jax)
            return self._jax_function(*inputs)
        return self.forward(*inputs)

    def kept(self, inputs: Sequence[Any], outputs: Any) -> list[Any]:
        """Return what the backward kernel gets of the inputs and of the outputs."""
        every = (*inputs, *(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
        return [every[index] for index in self.saved]

    def gradients(self, saved: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """Return the gradients of the first `grad_count` inputs."""
        found = self.backward(*saved, *grads)
        if not isinstance(found, (tuple, list)):
            found = (found,)
        if len(found) < self.grad_count:
            refuse(
                "NoGradient",
                "the backward kernel",
                f"returned {len(found)} gradients for {self.grad_count} inputs; give it one output "
                f"per input, or set num_grad_inputs",
            )
        return list(found[: self.grad_count])

    def dense(self, grads: Sequence[Any]) -> list[Any]:
        """Give torch's gradients of the outputs the strides that the backward kernel takes.

        They come as they are: that of `sum()`, for one, is a single number, expanded.
        """
        specs = getattr(self.backward, "in_specs", ())[len(self.saved) :]
        return [
            dense(grad, spec is not None and spec.layout is Layout.COL)
            for grad, spec in itertools.zip_longest(grads, specs[: len(grads)])
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was made of, if that can be: kernels are by name, as functions."""
        return type(self), (self.forward, self.backward, self.saved, self.grad_count)


def _saved(given: Any, count: int, outputs: int) -> tuple[int, ...]:
    if given is None:
        return tuple(range(count))
    indices = []
    for value in given if isinstance(given, Iterable) else (None,):
        index = whole_number(value)
        if index is None:
            wanted = "a sequence of indices of inputs: (0, 1)"
            refuse("OptionType", "save_for_backward", wanted, repr(given))
        if not 0 <= index < count + outputs:
            refuse(
                "DeclarationValue",
                "save_for_backward",
                f"has {index}, but there are {count} inputs and {outputs} outputs",
            )
        indices.append(index)
    return tuple(indices)


def _grad_count(given: Any, count: int) -> int:
    number = count if given is None else whole_number(given)
    if number is None:
        refuse("OptionType", "num_grad_inputs", "a number of inputs", repr(given))
    if not 0 <= number <= count:
        refuse("OptionValue", "num_grad_inputs", number, f"but there are {count} inputs")
    return number


def _require_gradients(inputs: Sequence[Any]) -> bool:
    return any(getattr(item, "requires_grad", False) for item in inputs)


def _is_transformed(torch: Any) -> bool:
    return bool(
        torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0
    )


def dense(tensor: Any, is_column: bool) -> Any:
    """Return the torch tensor, or a copy, without gaps and in that order."""
    if not is_column:
        return tensor.contiguous()
    axes = tuple(reversed(range(tensor.dim())))
    return tensor.permute(axes).contiguous().permute(axes)


_numbers = itertools.count()
_pairs: weakref.WeakValueDictionary[int, DifferentiableKernel] = weakref.WeakValueDictionary()


def _make_functions(number: int) -> bool:
    """Make a pair's autograd.Functions, once; Dynamo runs this while it traces."""
    pair = _pairs[number]
    if pair._torch_functions is None:
        pair._torch_functions = _torch_functions(pair)
    return True


# What torch.compiler.assume_constant_result() sets, while torch may not be loaded. Dynamo can call
# an autograd.Function, but not define one.
_make_functions._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _torch_functions(pair: DifferentiableKernel) -> Any:
    import torch

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            outputs = pair.forward(*inputs)
            KernelFunction._keep(ctx, inputs, outputs)
            return outputs

        @staticmethod
        def _keep(ctx: Any, inputs: tuple[Any, ...], outputs: Any) -> None:
            ctx.save_for_backward(*pair.kept(inputs, outputs))
            ctx.input_count = len(inputs)

        # Not once_differentiable, which leaves second derivatives without a trace of the inputs, so
        # that they can come out as zero: the backward kernel's own node refuses them, and a
        # backward that is differentiable itself has them.
        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            found = pair.gradients(ctx.saved_tensors, pair.dense(grads))
            return (*found, *[None] * (ctx.input_count - len(found)))

    class TransformedFunction(KernelFunction):
        """The same for torch.func and forward mode, with what Dynamo does not take."""

        generate_vmap_rule = True

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return pair.forward(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            KernelFunction._keep(ctx, inputs, output)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            refuse(
                "NoGradient",
                "a differentiable kernel",
                "has no forward-mode derivative; use reverse mode: torch.autograd.grad, "
                "torch.func.grad, vjp or jacrev",
            )

    return KernelFunction, TransformedFunction


def _jax_function(pair: DifferentiableKernel, jax: Any) -> Any:
    from pyptx._jax import call_site

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def call(*inputs: Any) -> Any:
        return pair.forward(*inputs)

    def forward(*inputs: Any) -> Any:
        outputs = pair.forward(*inputs)
        shardings = tuple(
            jax.typeof(item).sharding
            if jax.numpy.issubdtype(item.dtype, jax.numpy.floating)
            else None
            for item in inputs
        )
        return outputs, _Residuals(tuple(pair.kept(inputs, outputs)), shardings)

    def backward(residuals: _Residuals, cotangents: Any) -> Any:
        grads = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        found = pair.gradients(residuals.saved, grads)
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
