# SPDX-License-Identifier: Apache-2.0
"""What a long run of JAX leaves behind: many steps of one program, and many sizes of a kernel.

    python tests/support/jax_endurance.py --steps 5000 --sizes 2000

prints what memory they left behind, and fails beyond the bounds below. `make test` runs it shortly.
JAX keeps a program for each size itself; its caches are cleared here (`jax.clear_caches()`), and
what XLA does not give back even then is the most of what is left.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pyptx import Tile, kernel, ptx, reg
from pyptx._jax import call_site
from pyptx.types import f32, u32, u64
from support import jax_transformer as model

#: KiB of memory that a warm run may leave behind, however long it is: tables that are bounded fill,
#: and the allocator's pages are not all in use.
MOST_LEFT = 16 * 1024
#: As much more for each size that was compiled, twice; a program of jax.numpy leaves about 25.
MOST_OF_A_SIZE = 100
WARM = 40


def memory() -> int:
    """Return the memory of the process in KiB, without what could be given back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def build_double() -> Any:
    """y = 2 x, for every number of elements."""

    @kernel(
        in_specs=(Tile("M", f32),),
        out_specs=(Tile("M", f32),),
        grid=lambda M: (-(-M // 32), 1, 1),
        block=(32, 1, 1),
        dynamic=("M",),
        batch="M",
    )
    def double(X, Y):
        px, py = ptx.global_ptrs(X, Y)
        index = reg.from_(ptx.special.ctaid.x(), u32) * 32 + reg.from_(ptx.special.tid.x(), u32)
        with ptx.if_(index < X.shape[0]):
            value, place = reg.scalar(f32), reg.scalar(u64)
            ptx.inst.mul.wide.u32(place, index, 4)
            ptx.inst.ld.global_.f32(value, ptx.addr(px + place))
            ptx.inst.add.f32(value, value, value)
            ptx.inst.st.global_.f32(ptx.addr(py + place), value)
        ptx.ret()

    return double


def run_steps(steps: int) -> int:
    """Train for so many steps in one program; return what that left behind, in KiB."""
    texts = [model.sentences(batch=2, seed=seed) for seed in range(8)]
    program = jax.jit(lambda s, t: model.step(s, t, scan=True), donate_argnums=0)
    state = model.start()
    for step in range(steps + WARM):
        if step == WARM:
            before = memory()
        state, value = program(state, texts[step % len(texts)])
        assert np.isfinite(float(value)), step
    assert program._cache_size() == 1
    return memory() - before


def run_sizes(sizes: int, eager: int = 1) -> int:
    """Trace a kernel for so many sizes, and run every `eager`-th, outside of jit and inside.

    Returns what that left behind, in KiB.
    """
    k = build_double()
    jitted = jax.jit(lambda x: k(x) + 1)
    for size in range(1, sizes + WARM + 1):
        if size % 100 == WARM:
            jax.clear_caches()
            if size == WARM:
                before = memory()
        if size % eager:
            jax.eval_shape(k, jax.ShapeDtypeStruct((size,), np.float32))
            continue
        x = np.full(size, float(size), np.float32)
        assert (k(jax.numpy.asarray(x)) == 2 * size).all()
        assert (jitted(x) == 2 * size + 1).all()
    assert len(k.specializer._traces) == 1
    assert len(call_site._calls) <= call_site.MOST_KEPT
    jax.clear_caches()
    return memory() - before


def prepare_sizes(sizes: int) -> int:
    """Bind a kernel for so many sizes, as a program does, without JAX; what that left, in KiB."""
    k = build_double()
    site = call_site.Site(k, k._refreshed().captures, {})
    for size in range(1, 2 * sizes + 1):
        assert site.prepare([(size,)], ["f32"]).image is not None
        if size == sizes:
            before = memory()
    assert len(k.specializer._traces) == 1
    return memory() - before


def main() -> None:
    """Run both for long."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--sizes", type=int, default=2000)
    counts = parser.parse_args()
    most = MOST_LEFT + MOST_OF_A_SIZE * counts.sizes
    for run, count, bound in (
        (run_steps, counts.steps, MOST_LEFT),
        (prepare_sizes, counts.sizes, 1024),
        (run_sizes, counts.sizes, most),
    ):
        left = run(count)
        print(f"{run.__name__} {count}: {left} KiB left behind, of at most {bound}", flush=True)
        assert left < bound


if __name__ == "__main__":
    main()
