# SPDX-License-Identifier: Apache-2.0
"""What sizes of the launch cost: kernels of pyptx.kernels against the same, traced for their sizes.

    python bench/run_time_sizes.py [--only REGEX] [--rounds 15]

Both are built from one body, and give the same bits, which is checked. They are interleaved by
`pyptx.bench.compare`, as CUDA graphs of calls on inputs that together exceed L2 twice. A ratio is
how many times as fast the kernel for all sizes is; the exit status is 1 where one is surely below
0.98. Without a GPU small shapes run on the emulator: times of it say nothing of kernels.
"""

from __future__ import annotations

import argparse
import gc
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from kernel_cases import DTYPES, Inputs

from kernels import BEYOND_L2, BYTES, FLOPS, GRAPH, MOST_LAUNCHES, Machine
from pyptx import bench
from pyptx.kernel import Kernel
from pyptx.kernels import GemmProblem, build_gemm
from pyptx.kernels.gemm_choice import Sizes, choose
from pyptx.kernels.norms import build_norm
from pyptx.kernels.norms_backward import build_norm_backward
from pyptx.kernels.rotary import build_rotary
from pyptx.kernels.softmax import build_softmax
from pyptx.kernels.swiglu import build_swiglu_backward

MATRIX = 1 << 26  # bytes of a matrix of rows
SLOWER = 0.98  # what no kernel may be below
SQUARES = (512, 1024, 2048, 4096, 8192)
DECODING = [
    (1, 6144, 4096), (1, 4096, 14336), (8, 4608, 3584), (16, 10240, 8192), (16, 28672, 8192),
    (32, 3584, 18944), (32, 7168, 16384), (64, 6144, 4096), (64, 4096, 7168),
]  # fmt: skip
COLUMNS = (1024, 4096, 16384)


@dataclass
class Pair:
    """A kernel for all sizes, and one that is traced for those of a call."""

    name: str
    kernels: dict[str, Kernel]
    inputs: Callable[[Inputs], tuple[Any, ...]]
    keywords: dict[str, int]
    sizes: dict[str, int]
    seconds: float  # of a call, about

    def assemble(self) -> None:
        """Leave what both of them need in the cache on disk."""
        for kernel in self.kernels.values():
            kernel.cubin(**self.sizes)


def baked(kernel: Kernel) -> Kernel:
    """Return the kernel that is traced for its sizes."""
    options = kernel.specializer.options
    return Kernel(
        kernel.signature.fn,
        arch=kernel.arch,
        in_specs=kernel.in_specs,
        out_specs=kernel.out_specs,
        grid=kernel.grid,
        block=options.block,
        cluster=options.cluster,
        reqntid=options.reqntid,
        raw_directives=options.raw_directives,
        tma="value" if options.maps_by_value else "pointer",
        programmatic=options.programmatic,
    )


def product(m: int, n: int, k: int, **options: Any) -> Pair:
    """Compare a product; with an epilogue where the options of its problem say so."""
    problem = GemmProblem(**options)
    config = choose(problem, Sizes(m, n, k))
    whole = n % (config.tile[1] * config.cluster[1]) == 0 and not config.swap
    kernel = build_gemm(problem, config, whole_columns=whole and problem.residual)

    def inputs(make: Inputs) -> tuple[Any, ...]:
        given = [make.normal(m, k, dtype="bf16"), make.normal(n, k, dtype="bf16")]
        if problem.bias:
            given.append(make.normal(n, dtype="bf16"))
        if problem.residual:
            given.append(make.normal(m, n, dtype="bf16"))
        return tuple(given)

    seconds = max(2 * m * n * k / FLOPS, 2 * (m * k + n * k + m * n) / BYTES)
    name = f"product {m} x {n} x {k}{' bias, gelu, residual' if problem.residual else ''}"
    return _pair(name, kernel, inputs, {}, {"M": m, "N": n, "K": k}, seconds)


def rows_of(
    name: str, kernel: Kernel, columns: int, dtype: str, matrices: int, rows: int, shared: int = 0
) -> Pair:
    """Compare a kernel on `matrices` inputs of rows; `shared` say how many inputs are one row."""
    parts = {}
    if "P" in kernel.signature.dims:
        parts = {"P": kernel.grid(B=rows)[0] // kernel.cluster[0]}

    def inputs(make: Inputs) -> tuple[Any, ...]:
        given = [make.normal(rows, columns, dtype=dtype)]
        given += [make.normal(columns, dtype=dtype) for _ in range(shared)]
        more = range(matrices - 1)
        return (*given, *[make.normal(rows, columns, dtype=dtype) for _ in more])

    size = rows * columns * DTYPES[dtype].itemsize
    title = f"{name} {dtype} {rows} x {columns}"
    return _pair(title, kernel, inputs, parts, {"B": rows, **parts}, (matrices + 1) * size / BYTES)


def turned(batch: int, positions: int, heads: int, size: int) -> Pair:
    """Compare rotary embedding."""

    def inputs(make: Inputs) -> tuple[Any, ...]:
        x = make.normal(batch, positions, heads, size, dtype="bf16")
        return x, *(make.normal(positions, size // 2) for _ in range(2))

    name = f"rotary bf16 {batch} x {positions} x {heads} x {size}"
    seconds = batch * positions * heads * size * 4 / BYTES
    kernel = build_rotary(heads, size, "bf16")
    return _pair(name, kernel, inputs, {}, {"B": batch, "S": positions}, seconds)


def _pair(name: str, kernel: Kernel, *others: Any) -> Pair:
    return Pair(name, {"baked": baked(kernel), "run time": kernel}, *others)


def pairs(on_gpu: bool) -> Iterator[Pair]:
    """Yield what is compared."""
    squares = [(n, n, n) for n in SQUARES] if on_gpu else [(64, 64, 64)]
    for shape in [*squares, *(DECODING if on_gpu else [(3, 72, 64)])]:
        yield product(*shape)
    most = max(squares[:4])
    yield product(*most, bias="bf16", activation="gelu", residual=True)

    def count(columns: int, dtype: str) -> int:
        return MATRIX // (columns * DTYPES[dtype].itemsize) if on_gpu else 5

    for columns in COLUMNS if on_gpu else (256,):
        for dtype in ("bf16", "f32"):
            rows = count(columns, dtype)
            for kind, shared in (("rms", 1), ("layer", 2)):
                forward = build_norm(kind, columns, dtype, eps=1e-6)
                yield rows_of(f"{kind} norm", forward, columns, dtype, 1, rows, shared)
                kernel = build_norm_backward(kind, columns, dtype, eps=1e-6).kernel  # type: ignore[attr-defined]
                yield rows_of(f"{kind} norm backward", kernel, columns, dtype, 2, rows, 1)
    for columns, dtype in ((256, "bf16"), (256, "f32"), (1000, "f32")):
        rows = count(columns, dtype) // 8 * 8 if on_gpu else 5
        yield rows_of("softmax", build_softmax(columns, dtype), columns, dtype, 1, rows)
    backward = build_swiglu_backward(256, "bf16")
    yield rows_of("swiglu backward", backward, 256, "bf16", 3, count(256, "bf16"))
    yield turned(*((4, 4096, 32, 128) if on_gpu else (2, 3, 4, 16)))


def measured(pair: Pair, machine: Machine, rounds: int) -> bench.Comparison:
    """Time both, and see that they give the same bits."""
    make = Inputs(machine.device, 1)
    sets = [pair.inputs(make)]
    size = sum(x.numel() * x.element_size() for x in sets[0])
    launches = 1
    if machine.on_gpu:
        sets += [pair.inputs(make) for _ in range(min(16, -(-BEYOND_L2 // size)) - 1)]
        launches = min(int(GRAPH / (pair.seconds + 2e-6)), MOST_LAUNCHES) // len(sets) * len(sets)
        launches = max(launches, len(sets))
    arms, results = {}, []
    for name, kernel in pair.kernels.items():

        def prepare(*inputs: Any, kernel: Kernel = kernel) -> Callable[[], Any]:
            return lambda: kernel(*inputs, **pair.keywords)

        calls, result = machine.prepared(prepare, sets)
        results.append(result if isinstance(result, tuple) else (result,))
        arms[name] = machine.timed(calls, launches)
    if not all(torch.equal(*both) for both in zip(*results, strict=True)):
        raise AssertionError(f"{pair.name}: other bits")
    del results
    found = bench.compare(arms, "sustained", rounds=rounds, cold=False, warm_up=0.15)
    for arm in found.arms:
        arm.seconds = [seconds / launches for seconds in arm.seconds]
    return found


def main(given: list[str] | None = None) -> int:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="of the names")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args(given)
    on_gpu = torch.cuda.is_available()
    machine = Machine("cuda" if on_gpu else "cpu", None, quick=False)
    chosen = [pair for pair in pairs(on_gpu) if re.search(arguments.only, pair.name)]
    started = time.monotonic()
    with ThreadPoolExecutor() as pool:
        list(pool.map(Pair.assemble, chosen))
    print(f"assembled {2 * len(chosen)} kernels in {time.monotonic() - started:.1f} s", flush=True)
    slower = []
    for pair in chosen:
        found = measured(pair, machine, arguments.rounds)
        ratio = found.ratio("run time")
        before, after = (arm.spread.median * 1e6 for arm in found.arms)
        times = f"{before:10.2f} us {after:10.2f} us"
        spread = f"{ratio.median:.3f} ({ratio.low:.3f} .. {ratio.high:.3f})"
        print(f"{pair.name:52s} {times}   {spread}", flush=True)
        if ratio.high < SLOWER:
            slower.append(pair.name)
        if on_gpu:
            gc.collect()
            torch.cuda.empty_cache()
    print(f"{len(slower)} of {len(chosen)} are slower: {', '.join(slower) or 'none'}")
    return 1 if on_gpu and slower else 0


if __name__ == "__main__":
    sys.exit(main())
