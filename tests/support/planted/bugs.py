# SPDX-License-Identifier: Apache-2.0
"""Small kernels with one mistake each, and the same kernels without it.

A case is a function `case(x, y, *, broken)` that traces its body; `x` and `y` are pointers to 256
words. Those of `y` have no value at the start, or are zero where a case is `zeroed`. The line where
the emulator must point carries the comment `# guilty`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyptx import EmulatorStream, Tile, kernel, ptx, reg, smem
from pyptx.specs import Layout
from pyptx.types import bf16, f32, u32

WORDS = 256
ROWS = (8, 32)

# The instruction itself and no function around it: the emulator points at the line of the call.
bulk_in = ptx.inst.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes
bulk_out = ptx.inst.cp.async_.bulk.global_.shared__cta.bulk_group
copy_word = ptx.inst.cp.async_.ca.shared.global_
load = ptx.inst.ld.shared.u32
store = ptx.inst.st.shared.u32
put = ptx.inst.st.global_.u32
put_float = ptx.inst.st.global_.f32
SMALL = {"shape": (64, 8, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "scale_d": True}


@dataclass(frozen=True)
class Planted:
    """One case: its body, the code that the broken version must give, and how it is launched."""

    body: Callable[..., None]
    codes: tuple[str, ...]
    threads: int
    ctas: int
    arch: str
    clusters: int = 1
    follows: bool = False  # a programmatic launch behind one that writes x
    zeroed: bool = False
    has_map: bool = False  # `x` is a tensor map in global memory, of 8 rows of 32 words

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.body.__name__

    @property
    def guilty_lines(self) -> list[int]:
        """The lines that the broken version may be reported at."""
        lines, first = inspect.getsourcelines(self.body)
        return [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# guilty")]

    def build(self, *, broken: bool) -> Any:
        """The kernel."""
        body, wrong, has_map = self.body, broken, self.has_map
        words = Tile(WORDS, u32)
        rows = Tile(*ROWS, u32, layout=Layout.TMA_128B, tma_box=ROWS)

        @kernel(
            in_specs=(rows if has_map else words,),
            out_specs=(Tile(WORDS, u32),),
            grid=(self.ctas * self.clusters, 1, 1),
            cluster=(self.ctas, 1, 1),
            block=(self.threads, 1, 1),
            arch=self.arch,
            tma="pointer",
        )
        def planted(X, Y):
            if has_map:
                body(X.tma_desc(), *ptx.global_ptrs(Y), broken=wrong)
            else:
                body(*ptx.global_ptrs(X, Y), broken=wrong)
            ptx.ret()

        return planted


def run(case: Planted, built: Any, *, threads: int = 1, **options: Any) -> None:
    """Run one version of a case on this many host threads, with these options of `emulate`."""
    x = np.arange(WORDS, dtype=np.uint32)
    x = x.reshape(ROWS) if case.has_map else x
    y = np.zeros(WORDS, dtype=np.uint32) if case.zeroed else None
    if case.follows:
        stream = EmulatorStream()
        launch_before.emulate(out=x, stream=stream)
        options |= {"stream": stream, "programmatic": True}
    built.emulate(x, out=y, threads=threads, **options)


@kernel(in_specs=(), out_specs=(Tile(WORDS, u32),), block=(WORDS, 1, 1), arch="sm_90a")
def launch_before(Y):
    """Lets its dependents start, and writes only then."""
    (y,) = ptx.global_ptrs(Y)
    ptx.inst.griddepcontrol.launch_dependents()
    put(ptx.addr(y + thread() * 4), thread())
    ptx.ret()


CASES: list[Planted] = []


def case(
    *codes: str,
    threads: int = 64,
    ctas: int = 1,
    arch: str = "sm_90a",
    clusters: int = 1,
    follows: bool = False,
    zeroed: bool = False,
    has_map: bool = False,
) -> Callable[..., Any]:
    """Register a case; `ctas` are those of one cluster."""

    def register(body: Callable[..., None]) -> Callable[..., None]:
        CASES.append(Planted(body, codes, threads, ctas, arch, clusters, follows, zeroed, has_map))
        return body

    return register


def thread() -> Any:
    """The thread's number."""
    return reg.from_(ptx.special.tid.x(), u32)


def make_barrier(count: int = 1, *, name: str = "full") -> Any:
    """An mbarrier that thread 0 has initialised for everybody."""
    bar = smem.mbarrier(1, name=name)[0]
    with ptx.if_(thread() == 0):
        ptx.mbarrier.init(bar, count)
        ptx.fence.mbarrier_init()
    ptx.bar.sync(0)
    return bar
