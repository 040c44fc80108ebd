# SPDX-License-Identifier: Apache-2.0
"""What the C entry of a kernel learns from a call that it handed on: to answer for the next one.

It is taught what it can tell apart by itself, in the arrays of any framework that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyptx import _core
from pyptx._call.element_types import framework_name
from pyptx._call.signature import Array, grid_of_scalars
from pyptx.specs import Layout

if TYPE_CHECKING:
    from pyptx._call.first_call import Prepared
    from pyptx._captures.captures import Captures
    from pyptx.kernel import Kernel

ENTRY_KINDS = "biuf"  # NumPy's kinds of types with a format; bf16, of ml_dtypes, has none


def is_repeatable(kernel: Kernel, captures: Captures, memory: Sequence[Array]) -> bool:
    """Whether the C entry may answer for tensors like these from now on."""
    if captures.is_opaque or len(memory) > _core.MAX_TENSORS:
        return False
    if kernel.arch == "auto":
        targets = {_core.device_target(i) for i in range(_core.device_count())}
        if len(targets) > 1:
            return False
    return all(framework_name(array.dtype) is not None for array in memory)


def teach(
    kernel: Kernel,
    captures: Captures,
    keywords: Mapping[str, Any],
    prepared: Prepared,
    memory: Sequence[Array],
    device_type: str,
    recorded: Callable[..., Any] | None = None,
) -> None:
    """Let the C entry answer for calls like this one, where it can tell them.

    `recorded` is called instead on tensors of which autograd keeps a record.
    """
    if not (prepared.is_current and is_repeatable(kernel, captures, memory)):
        return
    live, watched = kernel._live, prepared.watched
    if watched is None or not watched.hold():
        kernel._warn_of_template(keywords)
        return
    # Asked anew: the grid was worked out before the trace, which may be an old one.
    if live.captures is not captures:
        return
    if not captures.is_current():
        return
    names = [name for _, name in prepared.run_time]
    orders = [
        strides or spec.layout is Layout.COL
        for spec, strides in zip(kernel.signature.specs, prepared.strides, strict=True)
    ]
    rows = [(a.dtype, a.shape, order) for a, order in zip(memory, orders, strict=True)]
    count = len(kernel.in_specs)
    live.entry.add(
        rows[:count],
        rows[count:],
        device_type,
        prepared.image,
        makes_outputs=prepared.has_own_outputs,
        keywords={name: value for name, value in keywords.items() if name not in names},
        guards=watched if len(watched) else None,
        grid=grid_of_scalars(kernel.grid, prepared.values, names),
        recorded=recorded,
        inouts=len(kernel.inout_specs),
    )
