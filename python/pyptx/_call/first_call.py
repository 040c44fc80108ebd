# SPDX-License-Identifier: Apache-2.0
"""The way of a call that the C entry does not know yet: bind, specialise, launch, remember.

Frameworks are recognised without importing them: an array of a framework can only exist where
that framework is loaded already.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from pyptx import _core
from pyptx._call.element_types import framework_name, ptx_name
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, resolve_grid
from pyptx._call.specialize import Facts, Traced
from pyptx._call.strides import spanned, with_gaps
from pyptx._call.teaching import ENTRY_KINDS, teach
from pyptx._captures.captures import Captures
from pyptx.specs import Layout

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

EMULATED_ARCH = "sm_90a"
#: Stands for the value of a run-time scalar that only the launch will know.
UNKNOWN = object()


@dataclass(slots=True)
class Prepared:
    """A call that has passed every check: what to launch, and what comes out."""

    image: Any
    traced: Traced
    grid: tuple[int, int, int]
    outputs: list[tuple[str, tuple[int, ...]]]  # (dtype, shape)
    has_work: bool
    has_own_outputs: bool  # whether a call without out= would make such outputs
    is_current: bool  # whether the trace is that of the captures given
    watched: _core.Guards | None  # of the template values; None: they cannot be compared
    values: dict[str, Any]  # of dimensions, template and raw parameters
    run_time: tuple[tuple[str, str], ...] = ()  # (type, name) of the scalars that a launch brings
    scalars: tuple[int, ...] = ()  # their bits in this call
    strides: tuple[tuple[int, ...], ...] = ()  # of each tensor; (): it is dense


def detect_arch() -> str:
    """Return the target of the current CUDA device; the emulator's where there is none."""
    has_driver, _ = _core.driver_status()
    if has_driver and _core.device_count() > 0:
        return str(_core.device_target(_core.current_device()))
    return EMULATED_ARCH


def resolve_target(arch: str, device: int | None) -> str:
    """`arch`, or what "auto" means on a device (None: the CPU)."""
    if arch != "auto":
        return arch
    return detect_arch() if device is None else str(_core.device_target(device))


def prepare(
    kernel: Kernel,
    captures: Captures,
    inputs: Sequence[Array],
    out: Sequence[Array] | None,
    keywords: Mapping[str, Any],
    target: str,
    constants: Container[str] = (),
) -> Prepared:
    """Check a call and build what it launches. Nothing has been launched when this raises.

    Raw parameters given by keyword are arguments of the launch, but for those in `constants`. A
    value that is not known yet is UNKNOWN.
    """
    env = kernel.signature.bind_inputs(inputs)
    serving = kernel._serving(inputs)
    if serving is not kernel:
        kernel, captures = serving, serving._refreshed().captures
    signature = kernel.signature
    known = len(env)
    if out is not None:
        device = inputs[0].device if inputs else out[0].device if out else "cpu"
        signature.bind_outputs(out, env, device)
    has_own_outputs = len(env) == known
    template, raw = signature.bind_keywords(keywords, env)
    run_time = tuple(p for p in signature.runtime_scalars(keywords) if p[1] not in constants)
    made = signature.outputs({**template, **env})
    names, shapes = [name for name, _ in made], [shape for _, shape in made]
    if out is not None:
        own = [framework_name(name) for name in names]
        has_own_outputs &= own == [framework_name(array.dtype) for array in out]
        names = [array.dtype for array in out]
    arrays = (*inputs, *(out or ()))
    if signature.inout_specs and out is not None:
        signature.declared.check_written(arrays)
    every_shape = (*(array.shape for array in inputs), *shapes)
    strides = signature.strides.of([array.strides for array in arrays], every_shape)
    raw |= signature.strides.values(strides)
    gaps = with_gaps(strides, every_shape)
    has_own_outputs &= not any(gaps[len(inputs) :])
    facts = Facts(
        every_shape,
        (*(array.dtype for array in inputs), *names),
        template,
        target,
    )
    values = {**template, **env, **raw}
    grid = resolve_grid(signature.name, kernel.grid, values)
    traced, is_current, watched = kernel.specializer.trace(facts, captures)
    for name, array in zip(signature.tensors, arrays, strict=False):
        if name in traced.map_tensors:
            _core.check_mapped(signature.name, name, array.pointer)
    has_work = 0 not in grid
    if not has_work:
        signature.declared.check_empty_grid(grid, shapes)
    specializer = kernel.specializer
    image = None
    if has_work:
        image = specializer.image(traced, grid, raw, run_time, facts.shapes, strides)
    is_known = all(raw[name] is not UNKNOWN for _, name in run_time)
    scalars = specializer.argument_bits(run_time, raw) if is_known else ()
    outputs = list(zip(names, shapes, strict=True))
    return Prepared(
        image,
        traced,
        grid,
        outputs,
        has_work,
        has_own_outputs,
        is_current,
        watched,
        values,
        run_time,
        scalars,
        gaps,
    )


def new_outputs(
    kernel: Kernel, prepared: Prepared, make: Callable[[str, tuple[int, ...]], Any]
) -> list[Any]:
    """Return new arrays for the outputs of a call, each in the order of its Tile."""
    return [
        in_order(make, dtype, shape, spec.layout is Layout.COL)
        for (dtype, shape), spec in zip(prepared.outputs, kernel.out_specs, strict=True)
    ]


def call(kernel: Kernel, captures: Captures, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dispatch on the arguments' framework."""
    keywords = dict(kwargs)
    out = keywords.pop("out", None)
    kernel.signature.refuse_arrays_by_keyword(keywords)
    outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
    names = kernel.signature.tensors[: len(kernel.signature.in_specs)]
    framework = common_framework(kernel.signature.name, names, args, outs or ())
    if framework == "torch":
        from pyptx._torch import eager

        return eager.call(kernel, captures, args, outs, keywords)
    if framework == "jax":
        from pyptx._jax import call_site

        if not kernel.out_specs and not kernel.inout_specs:
            what = f"kernel {kernel.signature.name!r}"
            refuse("NoTensors", what, *call_site.NOTHING_WRITTEN)
        return call_site.call(kernel, captures, args, outs, keywords)
    if framework == "numpy":
        return call_numpy(kernel, captures, args, outs, keywords)[0]
    return refuse(
        "NoTensors",
        f"kernel {kernel.signature.name!r}",
        "was called without arrays, so there is no device to run on",
        "pass an array as input or as out=",
    )


def framework_of(value: Any) -> str | None:
    """Return the name of the framework whose array `value` is, None for anything else."""
    for name, kind in (("torch", "Tensor"), ("jax", "Array"), ("numpy", "ndarray")):
        module = sys.modules.get(name)
        cls = getattr(module, kind, None) if module is not None else None
        if cls is not None and isinstance(value, cls):
            return name
    return None


def common_framework(
    kernel: str, inputs: Sequence[str], args: Sequence[Any], outs: Sequence[Any]
) -> str | None:
    """Return the framework that all arrays of a call belong to; `inputs` names the arguments."""
    names = [*inputs[: len(args)]]
    names += [f"#{index}" for index in range(len(names), len(args))]
    names += [f"out[{index}]" for index in range(len(outs))]
    found: dict[str, str] = {}
    for name, value in zip(names, (*args, *outs), strict=True):
        framework = framework_of(value)
        if framework is None:
            fix = (
                "give one array per output"
                if name.startswith("out[")
                else "template and raw parameters are keywords"
            )
            refuse(
                "ArgumentKind",
                f"kernel {kernel!r}: argument {name!r}",
                f"is a {type(value).__name__}, expected a torch, JAX or NumPy array; {fix}",
            )
        found.setdefault(framework, name)
    if found.keys() == {"jax", "numpy"}:  # JAX takes NumPy arrays everywhere
        return "jax"
    if len(found) > 1:
        (one, first), (other, second) = list(found.items())[:2]
        refuse(
            "ArgumentKind",
            f"kernel {kernel!r}: argument {first!r}",
            f"is a {one} array but {second!r} is a {other} array; convert one of them",
        )
    return next(iter(found), None)


# --- NumPy: always the emulator -----------------------------------------------------------------


def describe_numpy(array: Any) -> Array:
    """Return what NumPy says about an array."""
    size = array.dtype.itemsize
    if not array.dtype.isnative:
        refuse(
            "FrameworkElements",
            f"an array of dtype {array.dtype.str!r} has its bytes in the other order",
            "convert it: x.astype(x.dtype.newbyteorder('='))",
        )
    # A field of a structured array need not step by whole elements.
    strides = tuple(s // size if s % size == 0 else s / size for s in array.strides)
    name = ptx_name(array.dtype)
    nbytes = spanned(array.shape, array.strides, size)
    return Array(array.shape, name, "cpu", strides, array.ctypes.data, nbytes)


def call_emulated(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[Any],
    outs: Sequence[Any] | None,
    kwargs: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Run on the emulator, with these options; the results and what the run counted."""
    names = kernel.signature.tensors[: len(kernel.signature.in_specs)]
    framework = common_framework(kernel.signature.name, names, args, outs or ())
    if framework == "torch":
        from pyptx._torch import eager

        return eager.emulate(kernel, captures, args, outs, kwargs, options)
    if framework == "jax":
        refuse(
            "ArgumentKind", "Kernel.emulate", "takes NumPy arrays or CPU tensors, not JAX arrays"
        )
    return call_numpy(kernel, captures, args, outs, kwargs, options)


def call_numpy(
    kernel: Kernel,
    captures: Captures,
    args: Sequence[Any],
    outs: Sequence[Any] | None,
    keywords: Mapping[str, Any],
    emulator: Mapping[str, Any] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """Run on the emulator; the outputs and the emulator's report."""
    inputs = [describe_numpy(array) for array in args]
    given = None if outs is None else [describe_numpy(array) for array in outs]
    target = resolve_target(kernel.arch, None)
    prepared = prepare(kernel, captures, inputs, given, keywords, target)
    results = list(outs) if outs is not None else new_outputs(kernel, prepared, empty_numpy)
    check_writable(kernel.signature.name, results)
    read_only = kernel.signature.read_only
    if kernel.signature.writes_inputs:
        check_writable(kernel.signature.name, args[read_only:], "input", read_only)
    memory = (*inputs, *map(describe_numpy, results))
    fresh = len(results) if outs is None else 0
    report = emulate(prepared, memory, emulator, read_only=read_only, fresh=fresh)
    is_read = all(array.dtype.kind in ENTRY_KINDS for array in (*args, *results))
    if emulator is None and prepared.has_work and is_read:
        teach(kernel, captures, keywords, prepared, memory, "cpu")
    return unpack(results), report


def emulate(
    prepared: Prepared,
    memory: Sequence[Array],
    options: Mapping[str, Any] | None,
    *,
    read_only: int,
    fresh: int,
) -> dict[str, Any]:
    """Run a prepared call on the emulator.

    The first `read_only` arrays cannot be written, the last `fresh` ones hold no values yet.
    """
    if not prepared.has_work:
        return {}
    counts = {"read_only": read_only, "fresh": fresh}
    return emulate_image(prepared.image, memory, prepared.scalars, **counts, **(options or {}))


def emulate_image(
    image: Any,
    memory: Sequence[Array],
    scalars: Sequence[int],
    *,
    read_only: int,
    fresh: int,
    **options: Any,
) -> dict[str, Any]:
    """Run an image on the emulator; see `emulate`."""
    sizes = [array.nbytes for array in memory]
    elements = [
        array.nbytes // max(1, math.prod(array.shape)) for array in memory[len(memory) - fresh :]
    ]
    pointers = [array.pointer for array in memory]
    options |= {"scalars": scalars, "read_only": read_only, "fresh": elements}
    return dict(_core.emulate(image, pointers, sizes, **options) or {})


def unpack(results: Sequence[Any]) -> Any:
    """One output is itself, several are a tuple, none is None."""
    if len(results) == 1:
        return results[0]
    return tuple(results) if results else None


def check_writable(kernel: str, arrays: Sequence[Any], what: str = "out", first: int = 0) -> None:
    """Refuse NumPy arrays that may not be written; the first has that number."""
    for index, array in enumerate(arrays, first):
        if not array.flags.writeable:
            refuse("ArrayMemory", f"kernel {kernel!r}: {what}[{index}]", "is read-only")


def in_order(
    make: Callable[[str, tuple[int, ...]], Any], dtype: str, shape: tuple[int, ...], is_column: bool
) -> Any:
    """Return a new array whose first dimension is contiguous where asked; `make` makes the last."""
    if not is_column:
        return make(dtype, shape)
    array = make(dtype, shape[::-1])
    axes = tuple(reversed(range(len(shape))))
    return array.permute(axes) if hasattr(array, "permute") else array.transpose(axes)


def empty_numpy(dtype: str, shape: tuple[int, ...]) -> Any:
    """Return a new array of such elements."""
    import numpy as np

    name = framework_name(dtype)
    if name is None:
        _refuse_elements(dtype)
    try:
        return np.empty(shape, dtype=name)
    except TypeError:
        try:
            import ml_dtypes
        except ImportError:
            needed = f"NumPy arrays of {name} need the package ml_dtypes"
            refuse("FrameworkElements", needed, "pip install ml_dtypes")
        if not hasattr(ml_dtypes, name):
            _refuse_elements(dtype)
        return np.empty(shape, dtype=getattr(ml_dtypes, name))


def _refuse_elements(dtype: str) -> NoReturn:
    refuse(
        "FrameworkElements", f"NumPy has no arrays of {dtype}", "pass the output's bytes as out="
    )
