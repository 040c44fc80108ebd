# SPDX-License-Identifier: Apache-2.0
"""SwiGLU: y = silu(gate) * up, elementwise, four f32 per thread and step.

    python examples/hopper/swiglu.py [--ptx] [--rows 64] [--columns 1024]

A grid-stride loop: as many CTAs as fill the machine, each walking the flat arrays. Other types and
a gradient are in `pyptx.kernels.swiglu`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from everywhere import arguments, run_and_check

from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32, u64

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

THREADS = 256
VECTOR = 4
CTAS = 132 * 8


def silu_times(gate: Any, up: Any) -> None:
    """Multiply `up`, in place, by gate / (1 + exp(-gate))."""
    power = reg.scalar(f32)
    ptx.inst.mul.f32(power, gate, -math.log2(math.e))
    ptx.inst.ex2.approx.ftz.f32(power, power)
    ptx.inst.add.f32(power, power, 1.0)
    ptx.inst.rcp.approx.ftz.f32(power, power)
    ptx.inst.mul.f32(power, power, gate)
    ptx.inst.mul.f32(up, up, power)


def build_swiglu(M: int, N: int, arch: str = "sm_90a") -> Kernel:
    """Build y = silu(gate) * up for (M, N) inputs; M * N a multiple of 4."""
    vectors = M * N // VECTOR
    if vectors * VECTOR != M * N:
        raise ValueError(f"M * N is a multiple of {VECTOR}, not {M * N}")
    ctas = min(CTAS, -(-vectors // THREADS))

    @kernel(
        in_specs=(Tile(M, N, f32), Tile(M, N, f32)),
        out_specs=(Tile(M, N, f32),),
        grid=(ctas, 1, 1),
        block=(THREADS, 1, 1),
        arch=arch,
    )
    def swiglu(Gate, Up, Y):
        pg, pu, py = ptx.global_ptrs(Gate, Up, Y)
        first = reg.from_(ptx.special.ctaid.x(), u32) * THREADS
        first += ptx.special.tid.x()
        gate, up = reg.array(f32, VECTOR).regs(), reg.array(f32, VECTOR).regs()
        with ptx.range_(first, vectors, ctas * THREADS) as vector:
            offset = reg.scalar(u64)
            ptx.inst.mul.wide.u32(offset, vector, VECTOR * 4)
            ptx.inst.ld.global_.v4.f32(gate, ptx.addr(pg + offset))
            ptx.inst.ld.global_.v4.f32(up, ptx.addr(pu + offset))
            for g, u in zip(gate, up, strict=True):
                silu_times(g, u)
            ptx.inst.st.global_.v4.f32(ptx.addr(py + offset), up)
        ptx.ret()

    return swiglu


def reference(gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Compute the same in the precision of the inputs."""
    return gate / (1.0 + np.exp(-gate)) * up


def main() -> None:
    """Apply it to random matrices with every framework that is installed."""
    options = arguments(__doc__)
    k = build_swiglu(options.rows, options.columns)
    if options.ptx:
        print(k.ptx())
    rng = np.random.default_rng()
    gate, up = (
        rng.standard_normal((options.rows, options.columns)).astype(np.float32) for _ in range(2)
    )
    run_and_check("swiglu", k, (gate, up), reference)


if __name__ == "__main__":
    main()
