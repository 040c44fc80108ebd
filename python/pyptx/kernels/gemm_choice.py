# SPDX-License-Identifier: Apache-2.0
"""Which configuration a product gets: the fastest of a small space, by a model of the machine.

The model counts cycles of a block of K on a multiprocessor (tensor cores, shared memory, L2),
rounds of tiles, and bytes of device memory. Its constants are fitted to 1,500 times on an H200 at
its power limit, 44 configurations or more of each of 35 products: its choice is 2 % slower than the
fastest of those in the mean, 9 % at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyptx._kept import kept
from pyptx.kernels.gemm_config import BK, SHARED_BYTES, GemmConfig, GemmProblem, tiles
from pyptx.kernels.gemm_h200 import MEASURED
from pyptx.kernels.gemm_schedule import Schedule


@dataclass(frozen=True)
class Machine:
    """What the model knows of a device."""

    sms: int = 132
    clock: float = 1.3e3  # cycles of a microsecond, under load
    memory: float = 4.0e6  # bytes of a microsecond
    fill: float = 0.6  # which part of the multiprocessors is enough for those
    l2: float = 60.0  # bytes of a cycle, for a multiprocessor
    start: float = 1.7  # microseconds of a launch: start, first loads, end
    cluster_start: float = 0.65  # more of it for a cluster
    split: float = 1.25  # and where sums are exchanged
    lead: float = 1000.0  # cycles of a tile before its first product and behind its last
    store: float = 18.0  # cycles of storing a column of a tile, which only ping-pong hides
    blend: float = 9.0  # how far the three of a block add up: 1 fully, more less
    shared: int = SHARED_BYTES

    def together(self, *times: float) -> float:
        """Return the time of things that overlap."""
        return float(sum(time**self.blend for time in times) ** (1 / self.blend))

    def slots(self, cluster: int) -> int:
        """Return how many CTAs run at a time in clusters of a size.

        A cluster lives on the multiprocessors of one GPC: of those, large clusters leave some idle.
        """
        usable = {1: 1.0, 2: 1.0, 4: 0.9}.get(cluster, 0.75)
        return int(self.sms * usable) // cluster * cluster


H200 = Machine()
#: Microseconds of a product that begins before the launch in front of it has ended: where launches
#: follow each other, a square of 512 takes 13 to 21 % less, one of 1,024 11 to 16 %. Long ones gain
#: nothing, and those that divide K lose.
SHORT = 10.0


@dataclass(frozen=True)
class Sizes:
    """M, N, K and how many products of them."""

    m: int
    n: int
    k: int
    batch: int = 1


def candidates(problem: GemmProblem, sizes: Sizes, machine: Machine) -> Iterator[GemmConfig]:
    """Yield the configurations that are worth a thought for a product."""
    for tile, warpgroups, pingpong, swap in _tiles(problem, sizes):
        for cluster in ((1, 1), (2, 1), (1, 2)):
            for split in (1, 2, 4):
                for residents in (1, 2) if tile[0] * tile[1] <= 128 * 64 else (1,):
                    config = _fitted(
                        machine, tile, warpgroups, pingpong, swap, cluster, split, residents
                    )
                    if config is not None and _suits(config, problem, sizes):
                        yield config


def _tiles(problem: GemmProblem, sizes: Sizes) -> Iterator[tuple[tuple[int, int], int, bool, bool]]:
    """Yield (tile, warpgroups, pingpong, swap)."""
    for n in (64, 96, 128, 160, 192, 208, 224, 240, 256):
        yield (128, n), 2, False, False
        if n <= 192:
            yield (128, n), 2, True, False
            yield (256, n), 2, False, False
        if sizes.m <= 256:
            yield (64, n), 1, False, False
            yield (64, n), 2, True, False
    if sizes.m <= 256:
        edge = tiles(sizes.m, tiles(sizes.m, 128))
        edge = max(8, tiles(edge, 8) * 8)
        if problem.a_major == "M":
            edge = tiles(edge, 64) * 64
        if edge <= 64:  # one warpgroup alone: for what memory bounds
            yield (64, edge), 1, False, True
        yield (128, edge), 2, False, True


def _fitted(
    machine: Machine,
    tile: tuple[int, int],
    warpgroups: int,
    pingpong: bool,
    swap: bool,
    cluster: tuple[int, int],
    split: int,
    residents: int,
) -> GemmConfig | None:
    """Return the configuration with as many stages as fit, None where it cannot be."""
    stage = sum(tile) * BK * 2
    staged = 0 if swap else warpgroups * 4 * 2 * 16 * 128
    room = (machine.shared // residents - 1024 * (residents - 1)) - staged - 1024
    stages = min(room // stage, 16)
    size = cluster[0] * cluster[1] * split
    if stages < 3 or size > 8:
        return None
    try:
        return GemmConfig(
            tile=tile,
            cluster=cluster,
            stages=stages,
            warpgroups=warpgroups,
            pingpong=pingpong,
            split_k=split,
            swap=swap,
            ctas=machine.slots(size) * residents,
        )
    except ValueError:
        return None


def _suits(config: GemmConfig, problem: GemmProblem, sizes: Sizes) -> bool:
    """Whether a configuration can compute a product, and does not waste it."""
    (m, n), (rows, columns) = config.tile, config.cluster
    majors = (problem.a_major == "K", problem.b_major == "K")
    x_is_k, y_is_k = majors[::-1] if config.swap else majors
    if (not x_is_k and m // columns % 64) or (not y_is_k and n // rows % 64):
        return False
    high, wide = (sizes.n, sizes.m) if config.swap else (sizes.m, sizes.n)
    if (rows > 1 and high <= m * (rows - 1)) or (columns > 1 and wide <= n * (columns - 1)):
        return False
    if config.split_k == 1:
        return True
    # K is divided to use the whole machine at once: in one round, with some blocks for everybody.
    ctas = schedule(config, sizes).ctas
    return ctas <= config.ctas and tiles(sizes.k, BK) >= 4 * config.split_k


def schedule(config: GemmConfig, sizes: Sizes) -> Schedule:
    """Return how a configuration goes through a product."""
    rows, columns = (sizes.n, sizes.m) if config.swap else (sizes.m, sizes.n)
    return Schedule(config, rows, columns, sizes.k, sizes.batch)


def estimate(
    config: GemmConfig, problem: GemmProblem, sizes: Sizes, machine: Machine = H200
) -> float:
    """Return the microseconds that the model expects of a product."""
    plan = schedule(config, sizes)
    (m, n), (rows, columns) = config.tile, config.cluster
    residents = 2 if config.ctas > machine.sms else 1
    ctas = plan.total * config.cluster_size
    slots = machine.slots(config.cluster_size)
    # CTAs on a multiprocessor share it: a round has as many tiles as work at its full rate.
    rounds = tiles(ctas, slots)
    if residents == 2 and ctas > slots:
        rounds = max(2, tiles(ctas, slots * 2) * 2)
    tensor = m * n / 32
    shared = m // 64 * 4 * (16 + n / 4) + (m + n) / 4
    loads = (m / columns + n / rows) * BK * 2 / machine.l2
    # What is busy at the same time disturbs the others, and takes of the same power.
    block = machine.together(tensor, shared, loads)
    depth = tiles(plan.blocks, config.split_k)
    # What is computed on the way takes about as long as storing.
    work = 1 + (problem.activation not in (None, "relu")) + problem.residual
    store = machine.store * work * n * config.parts / config.owners
    if config.pingpong:
        store = store / rounds
    cycles = rounds * (depth * block + store + machine.lead)
    size = 4 if problem.out == "f32" else 2
    area = sizes.m * sizes.n * sizes.batch
    inputs = (sizes.m + sizes.n) * sizes.k * 2 * sizes.batch
    busy = min(1.0, ctas / (slots * machine.fill))
    memory = (inputs + area * size) / (machine.memory * busy)
    fixed = machine.start + (machine.cluster_start if rows * columns > 1 else 0)
    if config.split_k > 1:
        fixed += machine.split * config.split_k
    return fixed + machine.together(cycles / machine.clock, memory)


@kept(4096)
def choose(
    problem: GemmProblem,
    sizes: Sizes,
    machine: Machine = H200,
    batch_invariant: bool = False,
) -> GemmConfig:
    """Return the configuration of a product.

    `batch_invariant` leaves out those that divide K. The bits of an element do not depend on the
    rest of a configuration: it is one sum over K, in the same steps of 16, wherever it lies.
    """
    plain = sizes.batch == 1 and (problem.a_major, problem.b_major) == ("K", "K")
    if machine == H200 and plain:
        measured = MEASURED.get((sizes.m, sizes.n, sizes.k))
        if measured is not None and not (batch_invariant and measured.split_k > 1):
            return measured
    time, _, best = min(
        (estimate(config, problem, sizes, machine), index, config)
        for index, config in enumerate(candidates(problem, sizes, machine))
        if not (batch_invariant and config.split_k > 1)
    )
    return replace(best, programmatic=time < SHORT and best.split_k == 1)
