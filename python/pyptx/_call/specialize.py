# SPDX-License-Identifier: Apache-2.0
"""From a kernel and the facts of a call to PTX text and an image that can be launched.

A trace is kept under everything it read: shapes, element types, template values, target, and the
function with its captured values. An entry is reused only when all of it is equal by content.
Tracing happens outside the lock: the same facts give the same text, so two threads that trace at
once agree.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

from pyptx import _core
from pyptx._call.placeholders import SizedTensor, TensorSpec, active_trace
from pyptx._call.scalars import declared_type, scalar_bits
from pyptx._call.signature import Signature
from pyptx._captures.captures import Captures, freeze
from pyptx._errors import Error
from pyptx._kept import Kept
from pyptx.specs import Tile

Dim3 = tuple[int, int, int]

#: Traces that a kernel keeps, and images that a trace keeps. The C entry learns as many
#: specialisations, so more would only answer calls that it has forgotten, and a kernel whose grid
#: or captured number is new in every call would fill the memory. A call under way holds what it
#: launches.
MOST_KEPT = _core.MAX_SPECIALISATIONS

#: Multiples of its divisor that stand for a size of the launch in what a trace knows of a map.
UNBOUNDED = 1 << 16

#: Bytes of a tensor that an offset of 32 bits with a sign still reaches.
LARGE = 1 << 31


@dataclass(frozen=True, slots=True)
class Options:
    """What the decorator fixed for every specialisation of a kernel."""

    version: tuple[int, int] | None
    block: Dim3
    cluster: Dim3
    smem: int
    extern_smem: bool | str
    reqntid: tuple[int, ...] | None
    raw_directives: tuple[tuple[str, tuple[Any, ...]], ...]
    maps_by_value: bool
    programmatic: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What a call, or a request for text, says about the tensors and templates."""

    shapes: tuple[tuple[int | str, ...] | None, ...]  # a name: the launch brings it
    dtypes: tuple[str | None, ...]
    template: Mapping[str, Any]
    target: str


@dataclass(slots=True, eq=False, weakref_slot=True)
class Traced:
    """One traced specialisation, and the images made of it."""

    module: Any
    text: str
    facts: Facts
    map_tensors: tuple[str, ...]
    dynamic_shared: int
    #: Name, place in the dynamic array and bytes of each allocation of shared memory.
    shared_blocks: tuple[tuple[str, int, int], ...] = ()
    images: Kept[Any, Any] = field(default_factory=lambda: Kept(MOST_KEPT))


class Tracing(NamedTuple):
    """A trace, and what it depends on besides the captures."""

    traced: Traced
    is_current: bool  # whether it is that of the captures given
    watched: _core.Guards | None  # of the template values; None: they cannot be compared


class Specializer:
    """The specialisations of one kernel. Safe to use from several threads."""

    def __init__(self, signature: Signature, options: Options) -> None:
        self.signature = signature
        self.options = options
        self._lock = threading.Lock()
        self._traces: Kept[Any, Traced] = Kept(MOST_KEPT)

    def trace(self, facts: Facts, captures: Captures) -> Tracing:
        """Return the trace for these facts: a kept one where it is certain to be the same.

        It may not be that of these captures: what the body reads may change while it
        runs, by another thread's doing or its own; the text then serves this call alone. The body
        is not run again for that: it would be seen to run twice, for one call.
        """
        facts = self._traced_facts(facts)
        template, watched = freeze(dict(facts.template), captures.reads)
        line_info = os.environ.get("PYPTX_LINEINFO", "1") != "0"
        key = (captures.key, facts.shapes, facts.dtypes, template, facts.target, line_info)
        is_known = watched is not None and not captures.is_opaque
        with self._lock:
            kept = self._traces.get(key)
        if kept is not None and is_known:
            return Tracing(kept, True, watched)
        fresh = self._run(facts, line_info)
        if is_known:
            after, watched = freeze(dict(facts.template), captures.reads)
            if after != template or not captures.is_current():
                return Tracing(fresh, False, watched)
        return Tracing(self._keep(key, fresh), True, watched)

    def _traced_facts(self, facts: Facts) -> Facts:
        """Return the facts without what each launch brings."""
        if not self.signature.dynamic:
            return facts
        shapes = tuple(
            None if shape is None else self.signature.traced_shape(index, shape)
            for index, shape in enumerate(facts.shapes)
        )
        return replace(facts, shapes=shapes)

    def _keep(self, key: Any, fresh: Traced) -> Traced:
        with self._lock:
            kept = self._traces.get(key)
            if kept is None or kept.text != fresh.text:
                kept = fresh
                self._traces.keep(key, kept)
        return kept

    def run_followed(self, facts: Facts) -> Traced:
        """Trace anew, knowing who called the author's helpers; nothing of it is kept."""
        return self._run(self._traced_facts(facts), True, callers=True)

    def _run(self, facts: Facts, line_info: bool, *, callers: bool = False) -> Traced:
        signature, options = self.signature, self.options
        name = options.extern_smem if isinstance(options.extern_smem, str) else "dyn_smem"
        with _about_declaration(signature):
            trace = _core.Trace(
                signature.name,
                facts.target,
                options.version,
                force_dynamic_shared=bool(options.extern_smem or options.smem),
                dynamic_shared_name=name,
                maps_by_value=options.maps_by_value,
                line_info=line_info,
                callers=callers,
            )
        specs: Sequence[Tile | None] = signature.specs or (None,) * len(signature.tensors)
        tensors = []
        kinds = zip(signature.tensors, specs, facts.shapes, facts.dtypes, strict=True)
        for index, (tensor, spec, shape, dtype) in enumerate(kinds):
            trace.add_tensor(tensor)
            tensors.append(self._placeholder(index, spec, shape, dtype))
            if spec is None or shape is None:
                continue
            divisors = tensors[-1].divisors = signature.divisors(shape)
            nbytes = _known_bytes(tensors[-1].dtype, shape)
            if nbytes is not None and nbytes > LARGE:
                trace.describe_bytes(tensor, nbytes)
            if dtype is not None:
                # Boxes do not depend on a size that the launch brings: any will do.
                sizes = [
                    size if isinstance(size, int) else UNBOUNDED * divisor
                    for size, divisor in zip(shape, divisors, strict=True)
                ]
                described = signature.declared.map_of(index, sizes, dtype)
                if described is not None:  # else told by image, should the body take a descriptor
                    trace.describe_map(tensor, described)
        for kind, raw in signature.raw_params:
            trace.add_param(declared_type(kind), raw)
        with _about_declaration(signature):
            if options.reqntid is not None:
                trace.add_directive("reqntid", list(options.reqntid))
            for directive, values in options.raw_directives:
                trace.add_directive(directive, list(values))
        with active_trace(trace):
            signature.fn(*tensors, **facts.template)
        blocks = tuple(trace.shared_blocks)
        module = trace.finish()
        trace.warn()
        dynamic = trace.dynamic_shared_bytes
        with _about_declaration(signature):
            what = f"kernel {signature.name!r}:"
            _core.check_shared(what, facts.target, max(dynamic, options.smem))
        return Traced(module, module.text, facts, tuple(trace.map_tensors), dynamic, blocks)

    def _placeholder(
        self,
        index: int,
        spec: Tile | None,
        shape: tuple[int | str, ...] | None,
        dtype: str | None,
    ) -> TensorSpec:
        name = self.signature.tensors[index]
        if spec is None:
            return TensorSpec(name)
        from pyptx.types import from_name

        is_open = spec.dtype is None or spec.type_name is not None
        kind = from_name(dtype) if is_open and dtype is not None else spec.dtype
        strides = self.signature.strides.names[index]
        if not strides and not any(isinstance(size, str) for size in shape or ()):
            return TensorSpec(name, cast("Any", shape), kind, spec.layout)
        parameters = self.signature.raw_params
        return SizedTensor(parameters, strides, name, shape, kind, spec.layout)

    def image(
        self,
        traced: Traced,
        grid: Dim3,
        raw: Mapping[str, Any],
        run_time: Sequence[tuple[str, str]] = (),
        shapes: Sequence[Any] | None = None,
        strides: Sequence[tuple[int, ...]] = (),
    ) -> Any:
        """Return the launchable image of a trace for that grid and those raw parameter values.

        Values of `run_time` are not part of it: each launch brings them (`argument_bits`). `shapes`
        are the tensors', where the trace does not know them: those of the values, as `strides`
        are.
        """
        scalars = tuple(
            None if (kind, name) in run_time else scalar_bits(self.signature.name, kind, name, raw)
            for kind, name in self.signature.raw_params
        )
        key = (grid, scalars)
        image = traced.images.get(key)
        if image is not None:
            return image
        sizes = (shapes or traced.facts.shapes, strides)
        image = self._make_image(traced, sizes, grid, scalars)
        return traced.images.keep_first(key, image)

    def argument_bits(
        self, run_time: Sequence[tuple[str, str]], raw: Mapping[str, Any]
    ) -> tuple[int, ...]:
        """Return the bits that a launch brings for these raw parameters."""
        return tuple(scalar_bits(self.signature.name, kind, name, raw) for kind, name in run_time)

    def _make_image(
        self, traced: Traced, sizes: tuple[Any, Any], grid: Dim3, scalars: Sequence[int | None]
    ) -> _core.KernelImage:
        options, facts = self.options, traced.facts
        shapes, strides = sizes
        # A call has settled them all; only a request for text leaves some open.
        dtypes = cast("Sequence[str]", facts.dtypes)
        with _about_declaration(self.signature):
            return self.signature.declared.image(
                traced.module,
                (traced.text, facts.target),
                (shapes, dtypes, strides),
                (grid, options.block, options.cluster),
                max(traced.dynamic_shared, options.smem),
                scalars,
                traced.map_tensors,
                options.maps_by_value,
                options.programmatic,
            )


def _known_bytes(dtype: Any, shape: Sequence[int | str]) -> int | None:
    """Return the size of a tensor; None where a launch brings it."""
    if dtype is None or any(isinstance(size, str) for size in shape):
        return None
    elements = math.prod(cast("Sequence[int]", shape))
    return elements * int(dtype.bits) // 8


@contextmanager
def _about_declaration(signature: Signature) -> Iterator[None]:
    """Say where the kernel is declared to errors that are about no line of its body."""
    try:
        yield
    except Error as error:
        code = getattr(signature.fn, "__code__", None)
        if code is not None:
            where = f"{code.co_filename}:{code.co_firstlineno}"
            error.add_note(f"kernel {signature.name!r} is declared at {where}")
        raise
