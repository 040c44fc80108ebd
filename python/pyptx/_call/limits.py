# SPDX-License-Identifier: Apache-2.0
"""Kernels that no target, or not this one, can run are refused before there is a device.

The numbers are the extension's (pyptx/isa/limits.h); here are the words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pyptx import _core
from pyptx._errors import LaunchError, TargetError

Dim3 = tuple[int, int, int]


def check_block(what: str, block: Dim3) -> None:
    """Refuse a block that no target can run."""
    threads = math.prod(block)
    limits = _core.largest_limits()
    largest, most = tuple(limits.block), limits.threads
    if threads == 0:
        raise ValueError(f"{what} block {block} has no threads")
    if threads > most or any(n > bound for n, bound in zip(block, largest, strict=True)):
        raise ValueError(
            f"{what} block {block} has {threads} threads; a block has at most {most} "
            f"threads and is at most {largest}"
        )


def check_cluster(what: str, cluster: Dim3) -> None:
    """Refuse a cluster that no target can run."""
    ctas, most = math.prod(cluster), _core.largest_limits().cluster
    if not 1 <= ctas <= most:
        raise ValueError(f"{what} cluster {cluster} has {ctas} CTAs, expected 1 to {most}")


def check_directives(
    what: str, block: Dim3, directives: Iterable[tuple[str, Sequence[int]]]
) -> None:
    """Refuse a block that the kernel's own text rules out."""
    for name, values in directives:
        sizes = (*values, 1, 1)[:3]
        if name == "reqntid" and sizes != block:
            raise LaunchError(
                f"{what} block {block} was declared, but .reqntid asks for {sizes}; "
                f"give kernel(block={sizes})"
            )
        if name == "maxntid" and math.prod(block) > math.prod(sizes):
            raise LaunchError(
                f"{what} block {block} has {math.prod(block)} threads, but .maxntid allows "
                f"{math.prod(sizes)}; use a smaller block or a larger bound"
            )


def check_shared(what: str, target: str, dynamic_shared: int) -> None:
    """Refuse more shared memory than a CTA of the target can have."""
    limits = _core.limits(target)
    if limits is not None and dynamic_shared > limits.cta_shared:
        raise TargetError(
            f"{what} {dynamic_shared} bytes of shared memory, but a CTA of {target} has at most "
            f"{limits.cta_shared}; use smaller tiles or fewer stages"
        )
