# SPDX-License-Identifier: Apache-2.0
"""A forward and a backward kernel as one operation, for torch.autograd and jax.grad.

Only the joint: the mathematics of the gradient is the backward kernel's.
"""

from __future__ import annotations

import inspect
import itertools
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyptx import _core
from pyptx._call import operator_options
from pyptx._call.refusals import refuse
from pyptx._call.signature import whole_number
from pyptx._kept import Kept
from pyptx.specs import Layout
from pyptx.torch_support import call_operator, has_dtensors, is_exported, is_traced

#: Functions of JAX that a pair keeps, one for the keywords of a call.
MOST_KEPT = 256
#: What a backward may ask for by name: which inputs a gradient is wanted of.
NEEDED = "needs_input_grad"


class DifferentiableKernel(_core.OperatorBase):
    """What `differentiable_kernel` returns: call it like the forward kernel."""

    def __init__(
        self,
        forward: Any,
        backward: Any,
        save_for_backward: Sequence[int] | None,
        num_grad_inputs: int | None,
        private_outputs: int = 0,
        op: str | None = None,
    ) -> None:
        if not callable(forward) or not hasattr(forward, "in_specs"):
            refuse("OptionType", "the forward kernel", "a pyptx kernel", repr(forward))
        if not callable(backward):
            refuse("OptionType", "the backward kernel", "a kernel or a function", repr(backward))
        if inouts := getattr(forward, "inout_specs", ()):
            refuse(
                "NoGradient",
                f"kernel {getattr(forward, '__name__', forward)!r}",
                f"writes {len(inouts)} of its arguments in place, and a gradient needs what they "
                f"were; make them outputs of the forward kernel",
            )
        count = len(forward.in_specs)
        self.forward = forward
        self.backward = backward
        self.saved = _saved(save_for_backward, count, len(forward.out_specs))
        self.grad_count = _grad_count(num_grad_inputs, count)
        #: Outputs that the call returns; those behind them are for the backward alone.
        self.public = _public_count(private_outputs, len(forward.out_specs))
        self._is_partly_shown = self.public < len(forward.out_specs)
        self._asks_what_is_needed = _takes(backward, NEEDED)
        self._functions = _Functions()
        self._jax_functions: Kept[Any, Any] = Kept(MOST_KEPT)
        # A text: Dynamo takes a number that differs between two pairs for one that changes.
        self._key = str(next(_numbers))
        _pairs[self._key] = self
        #: The forward kernel's.
        self.name = forward.signature.name if hasattr(forward, "signature") else forward.name
        what = f"differentiable kernel {self.name!r}:"
        #: The name that its author gives torch's operator.
        self.op = operator_options.checked_name(what, op, has_outputs=True)
        self._is_bound = not hasattr(forward, "specializer")
        if self._is_bound and op is not None:
            why = "names an operator, which bound kernels have none of; join kernels, or drop it"
            refuse("DeclarationValue", f"{what} op={op!r}", why)
        operator_options.declare(self)

    def __call__(self, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
        """Run the forward kernel; gradients flow back through the backward kernel.

        Keywords are the forward kernel's; the backward gets those that it has too. `out=` is for
        calls of which no gradient is asked.
        """
        if out is not None:
            return self._written(inputs, out, keywords)
        # Read by torch.compile; whatever is named is compared before each compiled call.
        if is_traced() and is_exported():  # for inference, with the kernel itself
            return self._shown(self.forward(*inputs, **keywords))
        if is_traced() and self._operator_name:
            outputs = call_operator(self._operator_name, inputs, keywords)
            return self._shown(outputs) if self._is_partly_shown else outputs
        return self._shown(self._run(inputs, keywords))

    def _run(self, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        # A folder of such a name on sys.path is a module too, but has no arrays.
        torch: Any = sys.modules.get("torch")
        if hasattr(torch, "Tensor") and any(isinstance(item, torch.Tensor) for item in inputs):
            if self.op is not None and self._is_seen(torch, inputs):
                name = self._operator_name.partition("#")[0] or self.op
                return call_operator(name, inputs, keywords)
            if self.forward.autocast_types:
                inputs = operator_options.in_autocast(self.forward.autocast_types, inputs)
            names = tuple(keywords)
            _make_functions(self._key, *names)
            plain, transformed = getattr(self._functions, attribute_of(names))
            if not torch.compiler.is_compiling() and _is_transformed(torch):
                return transformed.apply(*inputs, *keywords.values())
            if torch.is_grad_enabled() and _require_gradients(inputs):
                if keywords and torch.compiler.is_compiling():
                    from pyptx.torch_support import settled_numbers

                    keywords = settled_numbers(keywords)
                return plain.apply(*inputs, *keywords.values())
            # Nothing to record: as fast as the kernel alone. Dynamo, where it inlines a Function
            # whose inputs need no gradients, takes the first of two inputs for the context.
            return self.forward(*inputs, **keywords)
        jax: Any = sys.modules.get("jax")
        # What JAX differentiates, maps or traces is a tracer.
        if hasattr(jax, "Array") and any(isinstance(item, jax.core.Tracer) for item in inputs):
            return self._jax_function(jax, keywords)(*inputs)
        return self.forward(*inputs, **keywords)

    def _is_seen(self, torch: Any, inputs: tuple[Any, ...]) -> bool:
        """Whether a mode or a subclass of torch's looks, to which the author has named the pair."""
        if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
            return False
        plain = (torch.Tensor, torch.nn.Parameter)
        return torch._C._len_torch_dispatch_stack() > 0 or any(
            type(item) not in plain for item in inputs
        )

    def _name_operator(self) -> str:
        """Return the name of the operator by which graphs call the pair; "" where it has none."""
        from pyptx._torch import naming

        return self._watch_operator("", ()) if self._is_bound else naming.name_pair(self)

    def facts(self) -> tuple[Any, ...]:
        """Return what joins the two kernels."""
        return self.saved, self.grad_count, self.public, self._asks_what_is_needed

    def _jax_function(self, jax: Any, keywords: dict[str, Any]) -> Any:
        from pyptx._jax import gradients

        key = tuple(keywords.items())
        try:
            made = self._jax_functions.get(key)
        except TypeError:  # a value without a hash: JAX traces such a call each time
            return gradients.function_of(self, jax, keywords)
        if made is None:
            made = gradients.function_of(self, jax, keywords)
            made = self._jax_functions.keep_first(key, made)
        return made

    def _shown(self, outputs: Any) -> Any:
        """Return the outputs that are the caller's."""
        if not isinstance(outputs, tuple) or len(outputs) == self.public:
            return outputs
        return outputs[: self.public] if self.public > 1 else outputs[0]

    def _written(self, inputs: tuple[Any, ...], out: Any, keywords: dict[str, Any]) -> Any:
        """Run the forward kernel on memory of the caller's, where no gradient is lost by that."""
        from pyptx.torch_support import lost_gradients

        torch: Any = sys.modules.get("torch")
        outs = [*out] if isinstance(out, (tuple, list)) else [out]
        tensors = [*inputs, *outs] if hasattr(torch, "Tensor") else []
        tensors = [item for item in tensors if isinstance(item, torch.Tensor)]
        if tensors:
            if lost := lost_gradients(torch, self.name, tensors, True):
                refuse("NoGradient", *lost)
        elif hasattr(jax := sys.modules.get("jax"), "Array"):
            from pyptx._jax import gradients

            inputs, out = gradients.unrecorded(self.name, jax, inputs, outs)
        return self._shown(self.forward(*inputs, out=out, **keywords))

    def kept(self, inputs: Sequence[Any], outputs: Any) -> list[Any]:
        """Return what the backward kernel gets of the inputs and of the outputs."""
        every = (*inputs, *(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
        return [every[index] for index in self.saved]

    def gradients(
        self,
        saved: Sequence[Any],
        grads: Sequence[Any],
        needed: Sequence[bool] | None = None,
        keywords: Mapping[str, Any] | None = None,
        backward: Any = None,
    ) -> list[Any]:
        """Return the gradients of the first `grad_count` inputs, of which `needed` may be few.

        The keywords are those that the backward takes (`taken_by_backward`); `backward` is called
        in its place.
        """
        given = dict(keywords or {})
        if self._asks_what_is_needed:
            every = (True,) * self.grad_count
            given[NEEDED] = every if needed is None else tuple(needed[: self.grad_count])
        arguments = (*saved, *grads[: self.public])
        if backward is None:
            backward = self._divided(arguments)
        found = backward(*arguments, **given)
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

    def _divided(self, arguments: Sequence[Any]) -> Any:
        """Return the backward, which DTensors may have called on their parts."""
        if not has_dtensors() or not hasattr(self.backward, "divides"):
            return self.backward
        from pyptx._torch import dtensor

        return dtensor.divided(self.backward, arguments)

    def taken_by_backward(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the keywords of a call that the backward has as well."""
        return tuple(name for name in names if _takes(self.backward, name))

    def dense(self, grads: Sequence[Any]) -> list[Any]:
        """Give torch's gradients of the outputs the strides that the backward kernel takes.

        They come as they are: that of `sum()`, for one, is a single number, expanded.
        """
        grads = grads[: self.public]
        specs = getattr(self.backward, "in_specs", ())[len(self.saved) :]
        return [
            dense(grad, spec is not None and spec.layout is Layout.COL)
            for grad, spec in itertools.zip_longest(grads, specs[: len(grads)])
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was made of, if that can be: kernels are by name, as functions."""
        private = len(self.forward.out_specs) - self.public
        made = (self.forward, self.backward, self.saved, self.grad_count, private, self.op)
        return type(self), made


class _Functions:
    """The autograd.Functions of a pair, an attribute for the names of a call's keywords.

    Not a dict: torch.compile reads a dict once, and does not see what it has got since.
    """


def attribute_of(names: tuple[str, ...]) -> str:
    """Return the attribute of `_Functions` for these keywords."""
    # With lengths: ("a_b",) is not ("a", "b").
    return "functions" + "".join(f"_{len(name)}_{name}" for name in names)


def _takes(called: Any, keyword: str) -> bool:
    """Whether a kernel, or the function of a backward, has such a keyword."""
    if isinstance(called, DifferentiableKernel):
        return _takes(called.forward, keyword)
    if hasattr(called, "scalars"):  # a bound kernel
        return any(scalar.name == keyword for scalar in called.scalars)
    if hasattr(called, "in_specs"):
        signature = called.signature
        raw = (name for _, name in signature.raw_params)
        names = (*signature.template_params, *raw, *signature.dims, *signature.type_names)
        return keyword in names
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        return False
    # Whoever takes any keyword hands it on to a kernel, which has no such.
    takes_any = keyword != NEEDED and any(p.kind is p.VAR_KEYWORD for p in parameters)
    return takes_any or any(p.name == keyword and p.kind is p.KEYWORD_ONLY for p in parameters)


def _public_count(private: Any, outputs: int) -> int:
    number = whole_number(private)
    if number is None:
        refuse("OptionType", "private_outputs", "a number of outputs", repr(private))
    if not 0 <= number < max(outputs, 1):
        refuse("OptionValue", "private_outputs", number, f"but there are {outputs} outputs")
    return outputs - number


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
_pairs: weakref.WeakValueDictionary[str, DifferentiableKernel] = weakref.WeakValueDictionary()


def _make_functions(key: str, *names: str) -> bool:
    """Make a pair's autograd.Functions, once; Dynamo runs this while it traces."""
    pair = _pairs[key]
    if not hasattr(pair._functions, attribute_of(names)):
        setattr(pair._functions, attribute_of(names), _torch_functions(pair, names))
    return True


# What torch.compiler.assume_constant_result() sets, while torch may not be loaded. Dynamo can call
# an autograd.Function, but not define one.
_make_functions._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _torch_functions(pair: DifferentiableKernel, names: tuple[str, ...]) -> Any:
    """Return the Functions of calls with these keywords, whose values stand behind the inputs."""
    import torch

    passed = pair.taken_by_backward(names)
    count = len(names)

    def parted(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        first = len(values) - count
        return values[:first], dict(zip(names, values[first:], strict=True))

    def keep(ctx: Any, inputs: tuple[Any, ...], keywords: dict[str, Any], outputs: Any) -> None:
        ctx.save_for_backward(*pair.kept(inputs, outputs))
        ctx.input_count = len(inputs) + count
        ctx.passed = [keywords[name] for name in passed]
        if isinstance(outputs, tuple) and len(outputs) > pair.public:
            ctx.mark_non_differentiable(*outputs[pair.public :])

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            inputs, keywords = parted(values)
            outputs = pair.forward(*inputs, **keywords)
            keep(ctx, inputs, keywords, outputs)
            return outputs

        # Not once_differentiable, which leaves second derivatives without a trace of the inputs, so
        # that they can come out as zero: the backward kernel's own node refuses them, and a
        # backward that is differentiable itself has them.
        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            keywords = dict(zip(passed, ctx.passed, strict=True))
            needed = ctx.needs_input_grad
            found = pair.gradients(ctx.saved_tensors, pair.dense(grads), needed, keywords)
            return (*found, *[None] * (ctx.input_count - len(found)))

    class TransformedFunction(KernelFunction):
        """The same for torch.func and forward mode, with what Dynamo does not take."""

        generate_vmap_rule = True

        @staticmethod
        def forward(*values: Any) -> Any:
            inputs, keywords = parted(values)
            return pair.forward(*inputs, **keywords)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            keep(ctx, *parted(inputs), output)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            refuse(
                "NoGradient",
                "a differentiable kernel",
                "has no forward-mode derivative; use reverse mode: torch.autograd.grad, "
                "torch.func.grad, vjp or jacrev",
            )

    return KernelFunction, TransformedFunction
