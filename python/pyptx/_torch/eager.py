# SPDX-License-Identifier: Apache-2.0
"""The torch path: tensors described, outputs allocated, kernels launched on torch's stream.

Imported only when a call has brought a tensor. What torch.compile, autograd and tensor subclasses
see are operators (`operators`).
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction
from torch.autograd.graph import increment_version
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext

from pyptx import _core, _progress, _toolchain
from pyptx._call import first_call
from pyptx._call.element_types import framework_name, ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array
from pyptx._call.strides import spanned
from pyptx._call.teaching import is_repeatable, teach
from pyptx._captures.captures import Captures
from pyptx._torch.problems import kind_problem, memory_problem, write_problem
from pyptx.torch_support import lost_gradients

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_WATCHED = "a mode or transform of torch watches operations here; call the kernel itself"


def describe(tensor: torch.Tensor) -> Array:
    """Return what torch says about a tensor."""
    shape = tuple(tensor.shape)
    pointer = tensor.data_ptr()
    strides = tensor.stride()
    nbytes = spanned(shape, strides, 1) * tensor.element_size()
    device = str(tensor.device)
    return Array(shape, ptx_name(tensor.dtype), device, strides, pointer, nbytes)


def torch_dtype(ptx: str) -> torch.dtype:
    """Return the dtype of tensors that hold such elements."""
    name = framework_name(ptx)
    dtype = getattr(torch, name, None) if name is not None else None
    if not isinstance(dtype, torch.dtype):
        absent = f"torch has no tensors of {ptx}"
        refuse("FrameworkElements", absent, "use the bN type of its width")
    return dtype


def call(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Run eagerly, or through the operator where torch has something to say about it."""
    tensors = (*args, *(outs or ()))
    written = outs is not None or kernel.signature.writes_inputs
    # What is asked of the tensors below is none of a mode's business: it sees the operator alone.
    with torch._C.DisableTorchFunction():
        _refuse_tensors(kernel, args, outs)
        is_transformed = not written and _is_differentiated_by_function(tensors)
        if not is_transformed and not _needs_operator(tensors):
            if not written and is_recorded(tensors):
                return recorder(kernel, keywords)(*args)
            return run_plain(kernel, captures, args, outs, keywords)
    if is_transformed:
        name = kernel.signature.name
        return _NoBackward.apply(name, lambda *inputs: kernel(*inputs, **keywords), *args)
    from pyptx._torch import operators

    # Written out in a graph, where NumPy's numbers would not be read back.
    return operators.call(kernel, args, outs, kernel.signature.with_plain_numbers(keywords))


def _refuse_tensors(
    kernel: Kernel, args: Sequence[torch.Tensor], outs: Sequence[torch.Tensor] | None
) -> None:
    """Refuse tensors that no way of running takes."""
    tensors = (*args, *(outs or ()))
    refuse_tangents(kernel, tensors)
    _refuse(kernel, args, outs, kind_problem)
    if outs is not None or kernel.signature.writes_inputs:
        signature = kernel.signature
        refusal = lost_gradients(
            torch, signature.name, tensors, outs is not None, signature.inout_names
        )
        if refusal is not None:
            refuse("NoGradient", *refusal)


def refuse_tangents(kernel: Kernel, tensors: Sequence[torch.Tensor]) -> None:
    """Refuse forward-mode differentiation: torch would take the derivative for zero."""
    if forward_ad._current_level >= 0 and any(map(_has_tangent, tensors)):
        refuse(
            "NoGradient",
            f"kernel {kernel.signature.name!r}",
            "has no forward-mode derivative; use reverse mode with pyptx.differentiable_kernel",
        )


def _has_tangent(tensor: torch.Tensor) -> bool:
    while torch._C._functorch.is_batchedtensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return torch._VF._unpack_dual(tensor, level=0)[1] is not None


def _is_differentiated_by_function(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether torch.func takes gradients here; the operator's own rule does not serve it."""
    return (
        torch._C._functorch.peek_interpreter_stack() is not None
        and torch.is_grad_enabled()
        and any(t.requires_grad for t in tensors)
    )


class _NoBackward(torch.autograd.Function):  # type: ignore[misc]
    """A kernel's call without the operator: runs, and says so where it is differentiated."""

    generate_vmap_rule = True

    @staticmethod
    def forward(name: str, run: Callable[..., Any], *args: torch.Tensor) -> Any:
        return run(*args)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.kernel_name = inputs[0]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return refuse_backward(ctx, *grads)


class _Alone(_SingleLevelFunction):  # type: ignore[misc]
    """The node of a kernel's call where nobody but autograd looks: it refuses to go backward."""

    @staticmethod
    def forward(ctx: Any, name: str, run: Callable[..., Any], *args: torch.Tensor) -> Any:
        ctx.kernel_name = name
        return run(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return refuse_backward(ctx, *grads)


def recorder(kernel: Kernel, keywords: Mapping[str, Any]) -> Callable[..., Any]:
    """Return what calls a kernel on tensors of which autograd keeps a record.

    Inside of the node nothing is recorded, so the entry launches there.
    """
    entry: Callable[..., Any] = kernel._live.entry
    run = functools.partial(entry, **keywords) if keywords else entry
    return functools.partial(record, kernel.signature.name, run)


def record(name: str, run: Callable[..., Any], *args: torch.Tensor) -> Any:
    """Call inside of a node that refuses to go backward."""
    node = _NoBackward if torch._C._are_functorch_transforms_active() else _Alone
    return node.apply(name, run, *args)


def refuse_backward(ctx: Any, *grads: Any) -> Any:
    """Raise what a kernel alone says to a gradient."""
    refuse(
        "NoGradient",
        f"kernel {ctx.kernel_name!r}",
        f"has no backward kernel; wrap it: "
        f"pyptx.differentiable_kernel({ctx.kernel_name}, backward_kernel)",
    )


class _Inside(threading.local):
    """Whether this thread is in the operator's implementation, below torch's dispatcher."""

    value = False


_inside = _Inside()


def _needs_operator(tensors: Sequence[torch.Tensor]) -> bool:
    if _inside.value:
        return False
    return _are_odd(tensors) or _is_watched()


def _are_odd(tensors: Sequence[torch.Tensor]) -> bool:
    return any(type(t) not in _PLAIN or t.device.type == "meta" for t in tensors)


def are_plain(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether nobody but autograd wants to see what is done with these tensors."""
    with torch._C.DisableTorchFunction():
        is_differentiated = forward_ad._current_level >= 0
        return not (_inside.value or is_differentiated or _are_odd(tensors) or _is_watched())


def is_recorded(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether autograd keeps what is done to these tensors."""
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


def _is_watched() -> bool:
    """Whether a mode or transform wants to see operations, whatever their tensors."""
    return (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None  # torch.jit.trace records operators alone
        or torch._C._functorch.peek_interpreter_stack() is not None
        or any(not isinstance(mode, DeviceContext) for mode in _get_current_function_mode_stack())
    )


def not_plain(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> tuple[str, str] | None:
    """Return why these tensors cannot be launched on as they are: the kind of refusal, and words.

    None where they can.
    """
    for name, tensor in zip(names, tensors, strict=False):
        problem = plain_problem(tensor)
        if problem is not None:
            return "ArrayMemory", f"argument {name!r} {problem}"
        if is_recorded([tensor]):
            return "NoGradient", (
                f"argument {name!r} requires a gradient, of which this launch would keep no "
                f"record; call the kernel itself, .detach() the tensor, or launch under "
                f"torch.no_grad()"
            )
    if _needs_operator(tensors) or forward_ad._current_level >= 0:
        return "LaunchPlace", _WATCHED
    return None


def plain_problem(tensor: torch.Tensor) -> str | None:
    """Say why this is no ordinary tensor, whose memory is what it shows."""
    with torch._C.DisableTorchFunction():
        problem = kind_problem(tensor)
        if problem is not None:
            return problem
        if type(tensor) not in _PLAIN or tensor.device.type not in ("cuda", "cpu"):
            kind = f"{type(tensor).__name__} on {tensor.device}"
            return f"is a {kind}, expected an ordinary CUDA or CPU tensor"
        problem = memory_problem(tensor)
        if problem is None and tensor.is_neg():
            return "is a negated view, expected plain memory; call .resolve_neg() on it"
        return problem


def below_dispatcher(
    kernel: Kernel, inputs: Sequence[torch.Tensor], keywords: Mapping[str, Any]
) -> Any:
    """Call the kernel from an operator's implementation, where torch has had its say."""
    _inside.value = True
    try:
        with torch.no_grad():
            return kernel._live.entry(*inputs, **keywords)
    finally:
        _inside.value = False


def run_plain(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> Any:
    """Run on ordinary tensors, and teach the C entry to do it alone the next time."""
    args = _resolved(kernel, args)
    prepared, inputs, results = _prepare(kernel, captures, args, outs, keywords)
    memory = [*inputs, *map(describe, results)]
    if not prepared.has_work:
        return first_call.unpack(results)
    device = _device(kernel, args, results)
    if device.type == "cuda":
        stream = torch.cuda.current_stream(device).cuda_stream
        pointers = [array.pointer for array in memory]
        with _progress.shown(f"assembling {kernel.signature.name}"):  # unless it is known
            _core.launch(prepared.image, device.index, stream, pointers, prepared.scalars)
    else:
        read_only = kernel.signature.read_only
        fresh = len(results) if outs is None else 0
        first_call.emulate(prepared, memory, None, read_only=read_only, fresh=fresh)
    _tell_autograd(kernel, args, outs)
    scalars = [name for _, name in prepared.run_time]
    # The entry hands on tensors alone.
    is_recordable = not kernel.signature.writes_inputs and not scalars
    recorded = recorder(kernel, keywords) if is_recordable else None
    teach(kernel, captures, keywords, prepared, memory, device.type, recorded)
    return first_call.unpack(results)


class Repeatable(NamedTuple):
    """A launch that may be made again on tensors like those it was settled for."""

    image: _core.KernelImage
    outputs: list[tuple[str, tuple[int, ...]]]  # (dtype, shape)
    guards: Any  # while they hold


def repeatable(
    kernel: Kernel, args: Sequence[torch.Tensor], outs: Sequence[torch.Tensor] | None
) -> Repeatable | None:
    """Settle a launch of ordinary tensors, None where the next one may be another."""
    live = kernel._refreshed()
    captures = live.captures
    prepared, inputs, given = _checked(kernel, captures, args, outs, {})
    memory = [*inputs, *(given or ())]
    if not (prepared.has_work and prepared.is_current and prepared.has_own_outputs):
        return None
    if not is_repeatable(kernel, captures, memory) or not captures.is_current():
        return None
    return Repeatable(prepared.image, prepared.outputs, captures.guards)


def emulate(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Run CPU tensors on the emulator with these options; outputs and report.

    Says about tensors and gradients what a call says. No operator has the options, so what would
    see the operator is refused.
    """
    name = kernel.signature.name
    report: dict[str, Any] = {}

    def run(*inputs: torch.Tensor) -> Any:
        results, counts = _emulate_plain(kernel, captures, inputs, outs, keywords, options)
        report.update(counts)
        return results

    with torch._C.DisableTorchFunction():
        _refuse_tensors(kernel, args, outs)
        for tensor in (*args, *(outs or ())):
            if tensor.device.type != "cpu":
                refuse(
                    "LaunchPlace",
                    f"kernel {name!r}:",
                    f"the emulator runs CPU tensors, got one on {tensor.device}; call .cpu() on it",
                )
        if _is_watched():
            refuse("LaunchPlace", f"kernel {name!r}:", _WATCHED)
        if not is_recorded(args):
            return run(*args), report
    return _NoBackward.apply(name, run, *args), report


def _emulate_plain(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any]]:
    args = _resolved(kernel, args)
    prepared, inputs, results = _prepare(kernel, captures, args, outs, keywords)
    memory = (*inputs, *map(describe, results))
    read_only = kernel.signature.read_only
    fresh = len(results) if outs is None else 0
    counts = first_call.emulate(prepared, memory, options, read_only=read_only, fresh=fresh)
    _tell_autograd(kernel, args, outs)
    return first_call.unpack(results), counts


def _resolved(kernel: Kernel, args: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Return the inputs with the values in memory that they show."""
    read_only = kernel.signature.read_only
    written = args[read_only:] if kernel.signature.writes_inputs else ()
    if written:  # a copy is nothing to write to
        _refuse(kernel, args, None, lambda t: write_problem(t) if _is_one_of(t, written) else None)
    resolved = [tensor.resolve_conj().resolve_neg() for tensor in args[: len(args) - len(written)]]
    return [*resolved, *written]


def _is_one_of(tensor: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    return any(tensor is other for other in tensors)


def _tell_autograd(
    kernel: Kernel, args: Sequence[torch.Tensor], outs: Sequence[torch.Tensor] | None
) -> None:
    """Say what was written: a graph that saved one of these must not go backward."""
    signature = kernel.signature
    written = [*(args[signature.read_only :] if signature.writes_inputs else ()), *(outs or ())]
    if written:
        increment_version(written)


def _prepare(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> tuple[first_call.Prepared, list[Array], list[torch.Tensor]]:
    prepared, inputs, _ = _checked(kernel, captures, args, outs, keywords)
    if outs is not None:
        return prepared, inputs, list(outs)
    device = _device(kernel, args, ())
    results = first_call.new_outputs(
        kernel,
        prepared,
        lambda dtype, shape: torch.empty(shape, dtype=torch_dtype(dtype), device=device),
    )
    return prepared, inputs, results


def _checked(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    keywords: Mapping[str, Any],
) -> tuple[first_call.Prepared, list[Array], list[Array] | None]:
    """Check a launch and build it; what is said of its inputs, and of the outputs it is given."""
    _refuse(kernel, args, None, memory_problem)
    _refuse(kernel, (), outs, lambda tensor: memory_problem(tensor) or write_problem(tensor))
    inputs = [describe(tensor) for tensor in args]
    given = None if outs is None else [describe(tensor) for tensor in outs]
    device = _device(kernel, args, outs or ())
    target = first_call.resolve_target(kernel.arch, device.index if device.type == "cuda" else None)
    _toolchain.announce_folders()
    prepared = first_call.prepare(kernel, captures, inputs, given, keywords, target)
    return prepared, inputs, given


def _refuse(
    kernel: Kernel,
    args: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    problem_of: Callable[[torch.Tensor], str | None],
) -> None:
    """Raise for the first tensor that has a problem, by the name of its argument."""
    names = kernel.signature.tensors
    split = len(kernel.signature.in_specs)
    named = [*itertools.zip_longest(names[:split], args)][: len(args)]
    named += [*itertools.zip_longest(names[split:], outs or ())][: len(outs or ())]
    for name, tensor in named:
        problem = problem_of(tensor)
        if problem is not None:
            refuse("ArrayMemory", f"kernel {kernel.signature.name!r}: argument {name!r}", problem)


def _device(
    kernel: Kernel, args: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]
) -> torch.device:
    device = next(iter((*args, *outs))).device
    if device.type not in ("cuda", "cpu"):
        refuse(
            "LaunchPlace",
            f"kernel {kernel.signature.name!r}:",
            f"tensors on {device} cannot be used; kernels run on CUDA tensors, and on CPU tensors "
            f"through the emulator",
        )
    return device
