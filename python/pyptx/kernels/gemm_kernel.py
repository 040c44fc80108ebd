# SPDX-License-Identifier: Apache-2.0
"""The kernel of a matrix product, for Hopper: persistent, warp-specialised, by TMA and wgmma.

Warpgroup 0 produces: one thread copies blocks of A and B into a ring of stages (`gemm_ring`). The
other warpgroups multiply, and store what comes out (`gemm_epilogue`). A CTA computes one tile after
the other (`gemm_schedule`); the producer runs ahead into the next tile while this one is stored.
"""

from __future__ import annotations

from typing import Any

from pyptx import Layout, Tile, ptx, reg
from pyptx._kept import kept
from pyptx.kernel import Kernel
from pyptx.kernels.gemm_config import BK, GemmConfig, GemmProblem, store_width
from pyptx.kernels.gemm_epilogue import Output, Thread, TileStore, TransposedStore
from pyptx.kernels.gemm_operand import Place
from pyptx.kernels.gemm_ring import Ring, sync_cluster
from pyptx.kernels.gemm_schedule import Schedule, Shape, Walk
from pyptx.kernels.gemm_split import SplitSum
from pyptx.types import from_name, u32

BATCH = "Batch"  # the dimension of a problem that is batched


def specs(problem: GemmProblem, config: GemmConfig) -> tuple[tuple[Tile, ...], tuple[Tile, ...]]:
    """Return the tiles of the inputs (A, B, bias, residual) and of C."""
    batch, one = ((BATCH,), (1,)) if problem.batched else ((), ())
    dtype, out = from_name(problem.dtype), from_name(problem.out)

    def operand(mn: str, is_k: bool, edge: int, shares: int) -> Tile:
        dims = (mn, "K") if is_k else ("K", mn)
        if not is_k and edge // shares % 64:
            raise ValueError(f"{edge} // {shares} of {mn} are copied in blocks of 64")
        box = (edge // shares, BK) if is_k else (BK, 64)
        return Tile(*batch, *dims, dtype, Layout.TMA_128B, tma_box=(*one, *box))

    (m, n), (shares_y, shares_x) = config.tile, config.cluster
    if config.swap:
        (m, n), (shares_y, shares_x) = (n, m), (shares_x, shares_y)
    ins = [
        operand("M", problem.a_major == "K", m, shares_x),
        operand("N", problem.b_major == "K", n, shares_y),
    ]
    if problem.bias:
        ins.append(Tile("N", from_name(problem.bias)))
    if problem.residual:
        ins.append(Tile(*batch, "M", "N", out))
    if config.swap:
        return tuple(ins), (Tile(*batch, "M", "N", out),)
    width = store_width(config, problem.out)
    layout = Layout(f"tma_{width * out.bits // 8}b")
    return tuple(ins), (Tile(*batch, "M", "N", out, layout, tma_box=(*one, 16, width)),)


@kept(256)
def build_gemm(
    problem: GemmProblem,
    config: GemmConfig,
    *,
    whole_columns: bool = False,
    baked: bool = False,
) -> Kernel:
    """Build the kernel of a problem with a configuration, for all sizes.

    They come with each launch: one trace serves them all. With `whole_columns` that is asked of N
    which lets an epilogue ask for nothing at the edge: to be a multiple of what a cluster computes.
    A kernel that is `baked` is traced for each size anew.
    """
    function, options = declared(problem, config)
    if baked:
        options["dynamic"] = ()
    if whole_columns:
        options["multiple_of"] = {"N": config.tile[1] * config.cluster[1]}
    return Kernel(function, **options)


def declared(problem: GemmProblem, config: GemmConfig) -> tuple[Any, dict[str, Any]]:
    """Return the function of a kernel for all sizes, and its options."""
    ins, outs = specs(problem, config)

    def grid(M: int, N: int, K: int, Batch: int = 1) -> tuple[int, int, int]:
        rows, columns = (N, M) if config.swap else (M, N)
        return Schedule(config, rows, columns, K, Batch).ctas, 1, 1

    def trace(a: Any, b: Any, c: Any, bias: Any = None, residual: Any = None) -> None:
        sizes = dict(zip(ins[0].dims, a.shape, strict=True))
        sizes |= dict(zip(ins[1].dims, b.shape, strict=True))
        m, n = sizes["M"], sizes["N"]
        maps = [a.tma_desc(), b.tma_desc()]
        (target,) = ptx.global_ptrs(c) if config.swap else (c.tma_desc(),)
        output = Output(
            problem,
            m,
            n,
            target,
            None if bias is None else ptx.global_ptrs(bias)[0],
            None if residual is None else ptx.global_ptrs(residual)[0],
            c.divisors[-1],
        )
        sides = (n, m) if config.swap else (m, n)
        shape = (*sides, sizes["K"], sizes.get(BATCH))
        _multiply(config, problem, shape, maps[::-1] if config.swap else maps, output)

    return (
        _with_parameters(problem, trace),
        {
            "in_specs": ins,
            "out_specs": outs,
            "grid": grid,
            "block": (config.threads, 1, 1),
            "cluster": (config.cluster_size, 1, 1),
            "reqntid": (config.threads,),  # setmaxnreg wants the registers of a thread to be known
            "arch": "sm_90a",
            "tma": "value",
            "programmatic": config.programmatic,
            "dynamic": ("M", "N", "K", BATCH)[: 3 + problem.batched],
        },
    )


def _with_parameters(problem: GemmProblem, trace: Any) -> Any:
    """Return a function with the parameters that a problem has."""

    def gemm(A: Any, B: Any, C: Any) -> None:
        trace(A, B, C)

    def gemm_bias(A: Any, B: Any, Bias: Any, C: Any) -> None:
        trace(A, B, C, Bias)

    def gemm_residual(A: Any, B: Any, Residual: Any, C: Any) -> None:
        trace(A, B, C, None, Residual)

    def gemm_bias_residual(A: Any, B: Any, Bias: Any, Residual: Any, C: Any) -> None:
        trace(A, B, C, Bias, Residual)

    if problem.bias:
        return gemm_bias_residual if problem.residual else gemm_bias
    return gemm_residual if problem.residual else gemm


def _multiply(
    config: GemmConfig, problem: GemmProblem, shape: Shape, maps: list[Any], output: Output
) -> None:
    """Trace the kernel: the roles of the warpgroups."""
    tid = reg.from_(ptx.special.tid.x(), u32)
    cluster = reg.from_(ptx.special.ctaid.x(), u32)
    rank: Any = 0
    if config.cluster_size > 1:
        rank = ptx.cluster.rank()
        cluster = reg.from_(ptx.special.clusterid.x(), u32)
    place = Place(config, rank)
    ring = Ring(config, problem)
    thread = Thread(tid)
    store = (TransposedStore if config.swap else TileStore)(config, output, thread)
    with ptx.if_(tid < 32):  # while another warp initialises barriers
        producer = Producer(ring, Walk(config, shape), place, cluster)
    with ptx.if_(tid == 32):
        for source in maps:
            ptx.inst.prefetch.tensormap(ptx.addr(source))
    ring.init(tid == 64, place)
    if config.programmatic:
        # All that comes before this is this launch's own.
        ptx.inst.griddepcontrol.launch_dependents()
        ptx.inst.griddepcontrol.wait()
    registers = config.registers()

    with ptx.if_(tid < 128):
        if registers:
            ptx.setmaxnreg_dec(registers[0])
        with ptx.if_(tid == 0):
            producer.run(maps)
        if config.split_k > 1:
            for _ in range(2):
                SplitSum.arrive()
                SplitSum.wait()
    with ptx.else_():
        if registers:
            ptx.setmaxnreg_inc(registers[1])
        split = None
        if config.split_k > 1:
            split = SplitSum(config, place, ring.x.tile.address(), tid - 128)
        _consume(ring, Walk(config, shape), place, thread, store, cluster, split)
    if config.cluster_size > 1 and config.split_k == 1:
        # A CTA must not end while others still copy into it or arrive on its barriers.
        sync_cluster()
    ptx.ret()


class Producer:
    """The thread that copies the blocks of every tile, one after the other.

    Where a tile begins is worked out ahead: the first before anybody waits for it, the others while
    the copies of the one before are under way.
    """

    def __init__(self, ring: Ring, plan: Walk, place: Place, cluster: Any) -> None:
        self.ring, self.plan, self.place, self.cluster = ring, plan, place, cluster
        self.blocks = plan.k_range(place.slice)[:2]
        row, column, batch = plan.origin(cluster, place)
        self.next = [row, column, *batch]

    def run(self, maps: list[Any]) -> None:
        """Copy from the tensors of these maps."""
        ring, plan, place = self.ring, self.plan, self.place
        at = ring.producer()
        share_x, share_y = place.share_x(), place.share_y()
        with plan.walk(self.cluster) as tile:
            row, column, *batch = self.next

            def load(stage: Any, k: Any, full: Any) -> None:
                ring.x.load(maps[0], stage, (k, row), tuple(batch), full, **share_x)
                ring.y.load(maps[1], stage, (k, column), tuple(batch), full, **share_y)

            ring.produce(at, self.blocks, load)
            after = plan.origin(tile + plan.clusters, place)
            for register, value in zip(self.next, (*after[:2], *after[2]), strict=True):
                ptx.mov(u32, register, value)


def _consume(
    ring: Ring,
    plan: Walk,
    place: Place,
    thread: Thread,
    store: Any,
    cluster: Any,
    split: SplitSum | None,
) -> None:
    """Multiply the blocks of every tile of this warpgroup, and store it."""
    config = ring.config
    blocks = plan.k_range(place.slice)[2]
    release = ring.releaser(place, thread.lane)
    at = ring.consumer()
    first_row = reg.scalar(u32, 0) if config.pingpong else thread.group * config.parts
    if ring.turns:
        ring.turns.enter(thread.group, thread.lane)
        with ptx.if_(thread.group == 1):
            ring.skip(at, blocks)
    with plan.walk(cluster, thread.group if config.pingpong else None) as tile:
        origin: list[Any] = []
        accumulators = ring.consume(
            at, blocks, first_row, release, lambda: origin.extend(plan.origin(tile, place))
        )
        if config.pingpong:
            ring.skip(at, blocks)
        row, column, batch = origin
        row = row + first_row * 64
        if split is None:
            store.store(accumulators, (row, column, batch))
        else:
            _store_split(split, store, accumulators, (row, column, batch))
    store.finish()


def _store_split(split: SplitSum, store: Any, accumulators: Any, origin: Any) -> None:
    """Store this CTA's columns of a tile whose K was divided."""
    config, part = split.config, split.place.slice
    sums = split.exchange(accumulators)
    if config.owners > 1:
        row, column, batch = origin
        store.store(sums, (row, column + part * (config.tile[1] // config.owners), batch))
    else:
        with ptx.if_(part == 0):
            store.store(sums, origin)
    split.wait()
