# SPDX-License-Identifier: Apache-2.0
"""A kernel over rows, made of a plan and of a body that takes the addresses of its tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyptx import Tile, kernel, ptx
from pyptx.kernels.plans import Plan
from pyptx.kernels.ragged_rows import RaggedRows
from pyptx.kernels.rows import Rows

if TYPE_CHECKING:
    from pyptx.kernel import Kernel


def row_kernel(
    name: str,
    plan: Plan,
    inputs: Mapping[str, Tile],
    outputs: Mapping[str, Tile],
    *,
    arch: str = "auto",
    batch: str | None = "B",
    dynamic: Sequence[str] = ("B",),
) -> Callable[[Callable[..., None]], Kernel]:
    """Make `body(rows, *pointers)` a kernel on tensors of these names; the rows are dimension "B".

    The pointers are those of the inputs, then of the outputs. `batch` says along which dimension
    results are independent, None for one that sums over rows. How many rows there are is for the
    launch to say, as the other sizes named in `dynamic`: one trace serves them all.
    """
    names = (*inputs, *outputs)

    def make(body: Callable[..., None]) -> Kernel:
        def write(*tensors: Any) -> None:
            rows = (RaggedRows if plan.ragged else Rows)(plan, tensors[0].shape[0])
            body(rows, *ptx.global_ptrs(*tensors))
            ptx.ret()

        def grid(B: int) -> tuple[int, int, int]:
            return plan.grid(B)

        write.__name__ = write.__qualname__ = name
        write.__doc__ = body.__doc__
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(each, kind) for each in names]
        write.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        has_least = plan.waves > 1 or plan.stages > 0
        return kernel(
            in_specs=tuple(inputs.values()),
            out_specs=tuple(outputs.values()),
            grid=grid,
            block=(plan.threads, 1, 1),
            reqntid=(plan.threads, 1, 1),
            raw_directives=[("minnctapersm", (plan.waves,))] if has_least else None,
            cluster=(plan.ctas if plan.meets else 1, 1, 1),
            arch=arch,
            batch=batch,
            dynamic=dynamic,
        )(write)

    return make
