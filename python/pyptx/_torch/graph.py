# SPDX-License-Identifier: Apache-2.0
"""Kernels as texts in torch graphs: what `pyptx::launch` gets beside its tensors.

In the process that traced it a graph needs only the first line, which names the kernel by its
content, so that Inductor's caches know the graph again in another process, where tracing registers
the kernel again. A graph that is exported gets all of it.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from pyptx import _core, _toolchain
from pyptx._call import first_call
from pyptx._call.element_types import framework_name, nbytes, ptx_name, stored_name
from pyptx._call.first_call import UNKNOWN
from pyptx._call.refusals import refuse
from pyptx._call.signature import Array, grid_asks_for
from pyptx._captures.captures import Captures
from pyptx._torch import inductor
from pyptx.specs import Layout

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

#: Whether the operators know the names of this module.
has_names = True
_lock = threading.Lock()
#: The name of one kernel with these options, by (content, kernel, options).
_names: dict[tuple[str, str, str], str] = {}
_counts: dict[str, int] = {}


def of_call(
    kernel: Kernel,
    inputs: Sequence[torch.Tensor],
    outs: Sequence[torch.Tensor] | None,
    options: str,
    keywords: Mapping[str, Any],
) -> str | None:
    """Return the text for a call with these (fake) tensors; None where no text can stand for it.

    Symbolic shapes, an empty grid, one that depends on a scalar of the launch, and a kernel that
    reads what cannot be compared have none.
    """
    if any(value is UNKNOWN and grid_asks_for(kernel.grid, n) for n, value in keywords.items()):
        return None
    tensors = (*inputs, *(outs or ()))
    if any(isinstance(size, torch.SymInt) for t in tensors for size in (*t.shape, *t.stride())):
        return None
    if not inputs or inputs[0].device.type not in ("cpu", "cuda"):
        return None
    given = None if outs is None else [_array(tensor) for tensor in outs]
    call = _Call(kernel, [_array(tensor) for tensor in inputs], given, keywords)
    captures = kernel._refreshed().captures
    settled = call.settle(kernel, captures)
    if settled is None:
        return None
    if not has_names or _leaves_process():
        return str(settled.text)
    return _name(settled, kernel, options, call, captures)


def _array(tensor: torch.Tensor) -> Array:
    shape = tuple(int(size) for size in tensor.shape)
    strides = tuple(int(stride) for stride in tensor.stride())
    return Array(shape, ptx_name(tensor.dtype), str(tensor.device), strides)


def _leaves_process() -> bool:
    """Whether the graph that is being traced may run elsewhere: all but those of torch.compile."""
    if torch.compiler.is_exporting() or torch._guards.TracingContext.try_get() is None:
        return True
    virtualized = sys.modules.get("torch._inductor.virtualized")
    return virtualized is not None and bool(virtualized.V.aot_compilation)


class _Call:
    """A call in a compiled graph: made again when something that the kernel reads has changed."""

    def __init__(
        self,
        kernel: Kernel,
        inputs: Sequence[Array],
        outs: Sequence[Array] | None,
        keywords: Mapping[str, Any],
    ) -> None:
        self._kernel = weakref.ref(kernel)
        self._inputs = inputs
        self._outs = outs
        self._keywords = dict(keywords)
        self._key: Any = None
        self._settled: Any = None
        self.name = ""  # in graphs

    def settle(self, kernel: Kernel, captures: Captures) -> Any:
        """Return what the call launches, None where no text can stand for it."""
        if captures.is_opaque:
            return None
        device = torch.device(self._inputs[0].device)
        index = device.index if device.type == "cuda" else None
        target = first_call.resolve_target(kernel.arch, index)
        _toolchain.announce_folders()
        constants = [name for name, value in self._keywords.items() if value is not UNKNOWN]
        prepared = first_call.prepare(
            kernel, captures, self._inputs, self._outs, self._keywords, target, constants
        )
        count = len(self._inputs)
        tensors = [(array.dtype, array.shape) for array in self._inputs]
        tensors += [(stored_name(dtype), shape) for dtype, shape in prepared.outputs]
        if not prepared.has_work or any(framework_name(dtype) is None for dtype, _ in tensors):
            return None
        specs = kernel.signature.specs
        rows = [
            (name, dtype, shape, nbytes(dtype, shape), spec.layout is Layout.COL)
            for name, (dtype, shape), spec in zip(
                kernel.signature.tensors, tensors, specs, strict=True
            )
        ]
        scalars = [(name, kind, None) for kind, name in prepared.run_time]
        saved = _core.SavedKernel(prepared.image, rows[:count], rows[count:], scalars)
        # The key last: what is interrupted before that is begun again by the next call.
        self._settled = _core.GraphKernel(saved)
        self._key = captures.key if prepared.is_current and captures.is_current() else None
        return self._settled

    def guards(self, captures: Captures) -> Any:
        """Return what the settled kernel depends on; what never holds where that has changed."""
        return captures.guards if self._key is not None else _core.Guards([], False)

    def refresh(self) -> tuple[Any, Any]:
        """Return what the call launches now, and what that depends on."""
        kernel = self._kernel()
        if kernel is None:
            return self._settled, _core.Guards([], True)
        captures = kernel._refreshed().captures
        is_changed = captures.is_opaque or captures.key != self._key
        if is_changed and self.settle(kernel, captures) is None:
            refuse("GraphCall", "it has become one that a graph cannot name", "compile again")
        self.watch(captures)
        return self._settled, self.guards(captures)

    def watch(self, captures: Captures) -> None:
        """Let the code that Inductor writes launch what is settled."""
        device = torch.device(self._inputs[0].device).type
        inductor.watch(self.name, self._settled, self.guards(captures), device)

    def release(self, name: str) -> None:
        """Keep what was launched last: the kernel is gone, and with it what could change."""
        _core.add_graph_kernel(name, self._settled)


def _name(settled: Any, kernel: Kernel, options: str, call: _Call, captures: Captures) -> str:
    """Return the name under which a graph launches this kernel.

    Two kernels of one content have two names: either may change later.
    """
    key = (settled.name, kernel._op_key, options)
    with _lock:
        name = _names.get(key)
        if name is None:
            number = _counts.get(settled.name, 0)
            _counts[settled.name] = number + 1
            name = _names[key] = f"{settled.name}@{number}" if number else str(settled.name)
            _core.watch_graph_kernel(name, settled, call.guards(captures), call.refresh)
            call.name = name
            call.watch(captures)
            weakref.finalize(kernel, call.release, name)
    return name
