# SPDX-License-Identifier: Apache-2.0
"""What a multiprocessor, a CTA and a cluster can hold, by target.

The numbers are published (CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability"); none is asked of a device, so a kernel is refused before there is one. A target that
is not in the table has no limits here.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from pyptx._errors import TargetError

Dim3 = tuple[int, int, int]


class Multiprocessor(NamedTuple):
    """What one multiprocessor holds at once; `shared` is in bytes."""

    warps: int
    ctas: int
    shared: int


_MULTIPROCESSORS = {
    75: Multiprocessor(32, 16, 64 << 10),
    80: Multiprocessor(64, 32, 164 << 10),
    86: Multiprocessor(48, 16, 100 << 10),
    87: Multiprocessor(48, 16, 164 << 10),
    89: Multiprocessor(48, 24, 100 << 10),
    90: Multiprocessor(64, 32, 228 << 10),
    100: Multiprocessor(64, 32, 228 << 10),
    103: Multiprocessor(64, 32, 228 << 10),
    110: Multiprocessor(48, 24, 228 << 10),
    120: Multiprocessor(48, 24, 100 << 10),
    121: Multiprocessor(48, 24, 100 << 10),
}
_SHARED_RESERVED = 1 << 10  # per CTA, by the system, from compute capability 8.0 on
_BLOCK = (1024, 1024, 64)
_BLOCK_THREADS = 1024
_CLUSTER_CTAS = 16  # 8 without the opt-in that every launch here makes


def _capability(target: str) -> int:
    return int(re.sub(r"\D", "", target) or 0)


def multiprocessor(target: str) -> Multiprocessor | None:
    """Return what a multiprocessor of the target holds; None where that is not published."""
    return _MULTIPROCESSORS.get(_capability(target))


def reserved_shared(target: str) -> int:
    """Return the bytes of shared memory that the system takes of every CTA."""
    return _SHARED_RESERVED if _capability(target) >= 80 else 0


def check_block(what: str, block: Dim3) -> None:
    """Refuse a block that no target can run."""
    threads = math.prod(block)
    if threads == 0:
        raise ValueError(f"{what} block {block} has no threads")
    if threads > _BLOCK_THREADS or any(n > most for n, most in zip(block, _BLOCK, strict=True)):
        raise ValueError(
            f"{what} block {block} has {threads} threads; a block has at most {_BLOCK_THREADS} "
            f"threads and is at most {_BLOCK}"
        )


def check_cluster(what: str, cluster: Dim3) -> None:
    """Refuse a cluster that no target can run."""
    ctas = math.prod(cluster)
    if not 1 <= ctas <= _CLUSTER_CTAS:
        raise ValueError(f"{what} cluster {cluster} has {ctas} CTAs, expected 1 to {_CLUSTER_CTAS}")


def check_shared(what: str, target: str, dynamic_shared: int) -> None:
    """Refuse more shared memory than a CTA of the target can have."""
    limits = multiprocessor(target)
    most = None if limits is None else limits.shared - reserved_shared(target)
    if most is not None and dynamic_shared > most:
        raise TargetError(
            f"{what} {dynamic_shared} bytes of shared memory, but a CTA of {target} has at most "
            f"{most}; use smaller tiles or fewer stages"
        )
