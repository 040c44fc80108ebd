# SPDX-License-Identifier: Apache-2.0
"""Hopper attention, forward: O = softmax(Q @ K^T / sqrt(D)) @ V, causal or not, bf16 in and out.

    python examples/hopper/attention.py [--ptx]

Q, K, V and O are (H, S, D): the heads of all sequences, S positions, D = 64 or 128. The scores are
never stored. One CTA takes 128 queries of one head. Warpgroup 0 is the producer: one thread copies
the queries, then 128 keys and their values in turn, K0, V0, K1, V1, ..., through one ring of
shared-memory stages. Warpgroups 1 and 2 have 64 queries each. For every tile of keys they multiply
Q @ K^T into registers, take powers of two there, relative to the largest score so far, and multiply
these, as they lie in the registers, with V. When a row's largest score grows, what was summed up
for it shrinks accordingly. While one warpgroup takes powers, the other one multiplies.

Any S will do: TMA fills what lies behind a head's last position with zeros, scores there are
masked, and what would be stored there is cut off by TMA again.

It is here to be read. What it leaves out: the product of the next keys does not overlap the powers
of these within a warpgroup.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import b32, bf16, f32, s32, u32

if TYPE_CHECKING:
    from pyptx.kernel import Kernel

QUERIES = 64  # of a warpgroup
CONSUMERS = 2
ROWS = QUERIES * CONSUMERS  # of a CTA
KEYS = ROWS  # of a tile: so tile t is the last that block t of queries sees when causal
STAGES = 4
THREADS = 128 * (1 + CONSUMERS)
SPAN = 64  # columns of bf16 that a swizzled row of 128 bytes has: one copy brings no more
# A thread starts with 168 of the 65536 registers; 128 * 24 + 256 * 240 are no more.
PRODUCER_REGISTERS, CONSUMER_REGISTERS = 24, 240


class Tiles:
    """Shared memory: the queries, and the ring through which keys and values come."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.q = smem.alloc(bf16, (CONSUMERS, QUERIES, depth), swizzle="128B", name="tile_q")
        self.ring = smem.alloc(bf16, (STAGES, KEYS, depth), swizzle="128B", name="tile_kv")
        self.q_full = smem.mbarrier(1, name="q_full")
        self.full = smem.mbarrier(STAGES, name="full")
        self.empty = smem.mbarrier(STAGES, name="empty")

    def init(self, tid: Any) -> None:
        """One thread initialises the barriers; afterwards everybody may use them."""
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(self.q_full[0], 1)
            self.full.init_all(1)
            self.empty.init_all(4 * CONSUMERS)  # one arrival per warp
        ptx.bar.sync(0)

    def load(self, tile: Any, rows: int, source: Any, row: Any, head: Any, bar: Any) -> None:
        """Start the copies of `rows` rows, a span of columns each; a tile is stored by spans."""
        for column in range(0, self.depth, SPAN):
            ptx.cp.async_.bulk.tensor_3d(
                dst=ptx.addr(tile.address(), column * rows * 2),
                src=source,
                coord=(column, row, head),
                mbar=bar,
            )

    def produce(self, maps: Any, row0: Any, head: Any, tiles: Any) -> None:
        """Copy the queries, then keys and values in turn as stages become free."""
        map_q, *sources = maps
        ptx.mbarrier.arrive_expect_tx(self.q_full[0], ROWS * self.depth * 2)
        for consumer in range(CONSUMERS):
            row = row0 + consumer * QUERIES
            self.load(self.q[consumer], QUERIES, map_q, row, head, self.q_full[0])
        ring = ptx.pipeline(STAGES, phase=1)  # nothing has been filled yet: do not wait
        with ptx.range_(0, tiles) as tile:
            for source in sources:
                ptx.mbarrier.wait(self.empty[ring.stage], ring.phase)
                ptx.mbarrier.arrive_expect_tx(self.full[ring.stage], KEYS * self.depth * 2)
                bar = self.full[ring.stage]
                self.load(self.ring[ring.stage], KEYS, source, tile * KEYS, head, bar)
                ring.advance()

    def use(self, ring: Any, lane: Any, multiply: Callable[[Any], None]) -> None:
        """Wait for the next stage, multiply with it, say that this warp has read it."""
        ptx.mbarrier.wait(self.full[ring.stage], ring.phase)
        ptx.wgmma.fence()
        multiply(self.ring[ring.stage])
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)
        ptx.mbarrier.arrive(self.empty[ring.stage], pred=lane == 0)
        ring.advance()


def pack(fragment: Any, step: int) -> Any:
    """Round 16 columns of an accumulator to bf16: as A's fragment of a product has them."""
    packed = reg.array(b32, 4)
    for i in range(4):
        low, high = fragment[8 * step + 2 * i], fragment[8 * step + 2 * i + 1]
        ptx.inst.cvt.rn.bf16x2.f32(packed[i], high, low)
    return packed


class Rows:
    """The two rows of scores that a thread has parts of: their limits, maxima and sums.

    Of every four registers of a fragment the first two belong to the row `lane / 4` of the warp's
    sixteen, the last two to the row eight below. Four neighbouring lanes share a row.
    """

    def __init__(self, first: Any, warp: Any, lane: Any, length: int, *, causal: bool) -> None:
        self.first, self.length, self.causal = first, length, causal  # `first` of the warpgroup
        row = first + warp * 16 + (lane >> 2)
        self.column = (lane & 3) * 2
        self.largest = [reg.scalar(f32, init=-math.inf) for _ in range(2)]
        self.sums = [reg.scalar(f32, init=0.0) for _ in range(2)]
        self.limits = []  # the keys that a row sees are those below
        for half in range(2):
            limit = reg.scalar(s32, init=length)
            if causal:
                ptx.inst.min.s32(limit, limit, reg.from_(row + (8 * half + 1), s32))
            self.limits.append(limit)

    @staticmethod
    def of(fragment: Any, half: int) -> list[Any]:
        """Return the registers of one row."""
        return [value for i, value in enumerate(fragment) if i // 2 % 2 == half]

    def hides(self, key0: Any) -> Any:
        """Whether some row of the warpgroup does not see some key of a tile."""
        return key0 + KEYS > (self.first + 1 if self.causal else self.length)

    def mask(self, scores: Any, key0: Any) -> None:
        """Take away the scores of the keys that a row does not see."""
        for half, limit in enumerate(self.limits):
            visible = limit - reg.from_(key0 + self.column, s32)
            for i, score in enumerate(self.of(scores, half)):
                ptx.selp(f32, score, score, -math.inf, visible > 8 * (i // 2) + i % 2)

    def powers(self, scores: Any, out: Any, scale: float) -> None:
        """Make 2 ** (scale * (score - largest)) of the scores; scale down what was summed up."""
        for half in range(2):
            largest, total = self.largest[half], self.sums[half]
            before = reg.scalar(f32, init=largest)
            for score in self.of(scores, half):
                ptx.inst.max.f32(largest, largest, score)
            ptx.warp.reduce_max(largest, width=4)
            shrink, shift = reg.scalar(f32), reg.scalar(f32)
            ptx.inst.mul.f32(shift, largest, -scale)
            ptx.inst.fma.rn.f32(shrink, before, scale, shift)  # -inf before the first tile
            ptx.inst.ex2.approx.ftz.f32(shrink, shrink)
            ptx.inst.mul.f32(total, total, shrink)
            for value in self.of(out, half):
                ptx.inst.mul.f32(value, value, shrink)
            for score in self.of(scores, half):
                ptx.inst.fma.rn.f32(score, score, scale, shift)
                ptx.inst.ex2.approx.ftz.f32(score, score)
                ptx.inst.add.f32(total, total, score)

    def divide(self, out: Any) -> None:
        """Divide by the sums, of which each of the four lanes has a part."""
        for half, total in enumerate(self.sums):
            ptx.warp.reduce_sum(total, width=4)
            ptx.inst.rcp.approx.ftz.f32(total, total)
            for value in self.of(out, half):
                ptx.inst.mul.f32(value, value, total)


def multiply_keys(d: Any, q: Any, k: Any, depth: int) -> None:
    """Make D = Q @ K^T."""
    for column in range(0, depth, 16):
        ptx.wgmma.mma_async(
            shape=(QUERIES, KEYS, 16),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            d=d,
            a=q,
            b=k,
            scale_d=column > 0,  # the first product overwrites
            a_k_offset=column,
            b_k_offset=column,
        )


def add_values(d: Any, powers: list[Any], v: Any, depth: int) -> None:
    """Make D += P @ V, with P in registers; the rows of V are keys, which the product sums over."""
    for step, a in enumerate(powers):
        ptx.wgmma.mma_async(
            shape=(QUERIES, depth, 16),
            dtype_d=f32,
            dtype_a=bf16,
            dtype_b=bf16,
            d=d,
            a=a,
            b=v,
            scale_d=True,
            trans_b=1,
            b_k_offset=16 * step,
        )


def attend(tiles: Tiles, count: Any, rows: Rows, consumer: Any, lane: Any) -> Any:
    """Go through the keys; return the accumulator of this warpgroup's queries."""
    depth = tiles.depth
    scores = reg.wgmma_frag(m=QUERIES, n=KEYS, dtype=f32)
    out = reg.wgmma_frag(m=QUERIES, n=depth, dtype=f32)
    for value in out:
        ptx.inst.mov.f32(value, 0.0)
    ptx.mbarrier.wait(tiles.q_full[0], 0)
    ring = ptx.pipeline(STAGES)
    with ptx.range_(0, count) as tile:
        tiles.use(ring, lane, lambda k: multiply_keys(scores, tiles.q[consumer], k, depth))
        key0 = tile * KEYS
        with ptx.if_(rows.hides(key0)):
            rows.mask(scores, key0)
        rows.powers(scores, out, math.log2(math.e) / math.sqrt(depth))
        powers = [pack(scores, step) for step in range(KEYS // 16)]
        tiles.use(ring, lane, lambda v: add_values(out, powers, v, depth))
    rows.divide(out)
    return out


def store(tiles: Tiles, out: Any, map_o: Any, consumer: Any, lane: Any, at: Any) -> None:
    """Store 64 rows by way of the queries' memory; TMA leaves out what is behind the last row."""
    own = tiles.q[consumer].address()
    warpgroup = ptx.named_barrier(consumer + 1, count=128)
    warpgroup.sync()  # all warps of the warpgroup have read the queries
    warp, row0, head = at
    # stmatrix stores four 8 x 8 matrices: lanes 0-15 give rows of the left, 16-31 of the right.
    line = (warp * 16 + (lane & 15)) * (SPAN * 2) + (lane >> 4) * 16
    for step in range(tiles.depth // 16):
        span, column = divmod(16 * step, SPAN)
        offset = smem.apply_swizzle(line + column * 2, "128B")
        place = ptx.addr(own + offset, span * QUERIES * SPAN * 2)
        ptx.stmatrix(smem=place, regs=pack(out, step))
    ptx.fence.proxy_async_shared_cta()
    warpgroup.sync()
    with ptx.if_((warp == 0) & (lane == 0)):
        bulk = ptx.cp.async_.bulk
        for column in range(0, tiles.depth, SPAN):
            source = ptx.addr(own, column * QUERIES * 2)
            bulk.tensor.store_3d(src=source, dst=map_o, coord=(column, row0, head))
        bulk.commit_group()
        bulk.wait_group(0)


def build_attention(depth: int = 128, *, causal: bool = True, tma: str = "value") -> Kernel:
    """Build O = softmax(Q @ K^T / sqrt(depth)) @ V for any H and S."""

    def tile(rows: int) -> Tile:
        return Tile("H", "S", depth, bf16, Layout.TMA_128B, tma_box=(1, rows, SPAN))

    @kernel(
        in_specs=(tile(QUERIES), tile(KEYS), tile(KEYS)),
        out_specs=(tile(QUERIES),),
        grid=lambda H, S: (-(-S // ROWS), H, 1),
        block=(THREADS, 1, 1),
        reqntid=(THREADS,),  # setmaxnreg wants the registers of a thread to be known
        arch="sm_90a",
        tma=tma,
    )
    def attention(Q, K, V, O):  # noqa: E741
        (_, length, _) = Q.shape
        maps = [tensor.tma_desc() for tensor in (Q, K, V)]
        map_o = O.tma_desc()
        tid = reg.from_(ptx.special.tid.x(), u32)
        head = reg.from_(ptx.special.ctaid.y(), u32)
        # The last block sees the most keys when causal: it begins first.
        block = -(-length // ROWS) - 1 - reg.from_(ptx.special.ctaid.x(), u32)
        row0 = block * ROWS
        count = block + 1 if causal else -(-length // KEYS)
        tiles = Tiles(depth)
        tiles.init(tid)

        with ptx.if_(tid < 128):
            ptx.setmaxnreg_dec(PRODUCER_REGISTERS)
            with ptx.if_(tid == 0):
                tiles.produce(maps, row0, head, count)
        with ptx.else_():
            ptx.setmaxnreg_inc(CONSUMER_REGISTERS)
            consumer = (tid >> 7) - 1
            warp, lane = (tid >> 5) & 3, tid & 31
            first = row0 + consumer * QUERIES
            rows = Rows(first, warp, lane, length, causal=causal)
            out = attend(tiles, count, rows, consumer, lane)
            store(tiles, out, map_o, consumer, lane, (warp, first, head))
        ptx.ret()

    return attention


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray, *, causal: bool) -> np.ndarray:
    """Compute the same in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers @ v / powers.sum(axis=-1, keepdims=True)


def main() -> None:
    """Attend over sequences of several lengths, on a GPU or on the emulator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx", action="store_true", help="print the PTX first")
    options = parser.parse_args()
    import torch

    on_gpu = torch.cuda.is_available()
    device, where = ("cuda", torch.cuda.get_device_name()) if on_gpu else ("cpu", "emulator")
    if options.ptx:
        print(build_attention().ptx(H=8, S=1024))
    cases = [(2, 128, 64, True), (1, 300, 128, True), (1, 300, 64, False), (3, 1, 128, False)]
    if on_gpu:
        cases += [(32, 4096, 128, True), (16, 1000, 64, False)]
    for h, s, d, causal in cases:
        q, k, v = (torch.randn(h, s, d).to(device, torch.bfloat16) for _ in range(3))
        o = build_attention(d, causal=causal)(q, k, v).float().cpu().numpy()
        inputs = (x.float().cpu().numpy() for x in (q, k, v))
        expected = reference(*inputs, causal=causal)
        error = float(np.abs(o - expected).max() / np.abs(expected).max())
        kind = "causal" if causal else "full"
        name = f"attention {h}x{s}x{d}, {kind} ({where})"
        print(f"{name}: largest error against float64 {error:.2e}")
        if not error < 8e-3:  # the powers and the result are rounded to bf16, eight bits
            raise SystemExit("the result is wrong")


if __name__ == "__main__":
    main()
