# SPDX-License-Identifier: Apache-2.0
"""Vector addition with a symbolic length, a template parameter and a grid worked out at the call.

    python examples/vector_add.py

One kernel object serves every length: N is bound from the tensors at the call. `VEC` is a template
parameter: elements per thread, baked into the trace.
"""

from __future__ import annotations

import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32

THREADS = 128


def blocks(N: int, VEC: int) -> tuple[int, int, int]:
    """Enough blocks for N elements at VEC a thread."""
    return (-(-N // (THREADS * VEC)), 1, 1)


@kernel(
    in_specs=(Tile("N", f32), Tile("N", f32)),
    out_specs=(Tile("N", f32),),
    grid=blocks,
    block=(THREADS, 1, 1),
    arch="sm_80",
)
def vector_add(A, B, C, *, VEC=4):
    """C = A + B; each thread adds VEC elements, a block apart, and guards the tail."""
    (n,) = A.shape
    pa, pb, pc = ptx.global_ptrs(A, B, C)
    block = reg.from_(ptx.special.ctaid.x(), u32)
    tid = reg.from_(ptx.special.tid.x(), u32)
    first = block * (THREADS * VEC) + tid
    for i in range(VEC):
        index = first + i * THREADS
        with ptx.if_(index < n):
            offset = index * 4
            a, b = reg.scalar(f32), reg.scalar(f32)
            ptx.inst.ld.global_.f32(a, ptx.addr(pa + offset))
            ptx.inst.ld.global_.f32(b, ptx.addr(pb + offset))
            ptx.inst.add.f32(a, a, b)
            ptx.inst.st.global_.f32(ptx.addr(pc + offset), a)
    ptx.ret()


def main() -> None:
    """Add vectors of several lengths, wherever this machine can."""
    try:
        import torch
    except ModuleNotFoundError:
        torch = None
    on_gpu = torch is not None and torch.cuda.is_available()
    rng = np.random.default_rng()
    for n in (1, 127, 512, 1000, 65537):
        a, b = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
        if on_gpu:
            c = vector_add(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()).cpu().numpy()
        else:
            c = vector_add(a, b)
        error = np.abs(c - (a.astype(np.float64) + b)).max()
        where = "gpu" if on_gpu else "emulator"
        print(f"vector_add N={n} ({where}): largest error against float64 {error:.2e}")
        if not error < 1e-6:
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
