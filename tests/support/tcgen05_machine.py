# SPDX-License-Identifier: Apache-2.0
"""A kernel that fills shared and tensor memory, runs what a test wants, and gives tensor memory
back; and where the PTX manual puts the elements of operands in shared memory, worked out by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, u32

LANES = 128
CHUNK = 32
Words = NDArray[np.uint32]


def run(
    body: Callable[[Any, Any], None],
    shared: Words,
    tensor: Words,
    *,
    arch: str = "sm_100a",
    **options: Any,
) -> Words:
    """Tensor memory after `body(tensor address, shared address)`, which one thread traces.

    `shared` is (CTAs, words) and `tensor` (CTAs, 128, columns): what each CTA begins with.
    """
    ctas, words = shared.shape
    columns = tensor.shape[2]
    assert words % LANES == 0
    assert columns % CHUNK == 0

    @kernel(
        in_specs=(Tile(ctas, words, u32), Tile(ctas, LANES, columns, u32)),
        out_specs=(Tile(ctas, LANES, columns, u32),),
        grid=(ctas, 1, 1),
        cluster=(ctas, 1, 1),
        block=(LANES, 1, 1),
        arch=arch,
    )
    def machine(S, T, R):
        tc = ptx.tcgen05
        tid = reg.from_(ptx.special.tid.x(), u32)
        rank = ptx.cluster.rank()
        from_shared, from_tensor, to = ptx.global_ptrs(S, T, R)
        image = smem.alloc(u32, (words,), align=1024, name="image")
        slot = smem.alloc(u32, (1,), name="slot")
        done = smem.mbarrier(1, name="done")[0]
        start = reg.from_(rank * words + tid, u32)
        for first in range(0, words, LANES):
            value = reg.scalar(b32)
            ptx.inst.ld.global_.b32(value, ptx.addr(wide(from_shared, start), 4 * first))
            ptx.inst.st.shared.b32(ptx.addr(image.address() + tid * 4, 4 * first), value)
        ptx.fence.proxy_async_shared_cta()
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(done, 1)
            ptx.fence.mbarrier_init()
        synchronise(ctas)
        with ptx.if_(tid < 32):
            tc.alloc(slot, columns, cta_group=ctas)
        synchronise(ctas)
        base = smem.load(u32, slot.address())
        row = (rank * LANES + tid) * columns
        own = base + ((tid >> 5) << 21)
        with ptx.range_(0, columns, CHUNK) as column:
            values = reg.array(b32, CHUNK)
            for i in range(CHUNK):
                place = ptx.addr(wide(from_tensor, row + column), 4 * i)
                ptx.inst.ld.global_.b32(values[i], place)
            tc.st(own + column, values, shape="32x32b", count=CHUNK)
        tc.wait_st()
        synchronise(ctas)
        with ptx.if_((tid == 0) & (rank == 0)):
            body(base, image.address())
            if ctas == 1:
                tc.commit(done)
            else:
                tc.commit(done, cta_group=2, multicast=True, multicast_mask=3)
        ptx.bar.sync(0)
        ptx.mbarrier.wait(done, 0)
        tc.fence_after_thread_sync()
        with ptx.range_(0, columns, CHUNK) as column:
            values = reg.array(b32, CHUNK)
            tc.ld(values, own + column, shape="32x32b", count=CHUNK)
            for i in range(CHUNK):
                ptx.inst.st.global_.b32(ptx.addr(wide(to, row + column), 4 * i), values[i])
        tc.wait_ld()
        synchronise(ctas)
        with ptx.if_(tid < 32):
            tc.dealloc(base, columns, cta_group=ctas)
        ptx.ret()

    return np.asarray(machine.emulate(shared, tensor, **options))


def wide(pointer: Any, index: Any) -> Any:
    """The address of word `index`."""
    offset = reg.scalar("u64")
    ptx.inst.mul.wide.u32(offset, index, 4)
    return pointer + offset


def synchronise(ctas: int) -> None:
    """Wait for all threads; what they did with tensor memory is ordered."""
    ptx.tcgen05.fence_before_thread_sync()
    if ctas == 1:
        ptx.bar.sync(0)
    else:
        ptx.cluster.sync()
    ptx.tcgen05.fence_after_thread_sync()


SPANS = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_32B": 128}


@dataclass(frozen=True)
class Placement:
    """A matrix of `rows` (M or N) by 32 bytes along K in shared memory."""

    rows: int
    element_bytes: int = 1
    swizzle: str = "128B"
    mn_major: bool = False

    @property
    def span(self) -> int:
        """Bytes of a row of the swizzle."""
        return SPANS[self.swizzle]

    @property
    def blocks(self) -> int:
        """Rows of the swizzle that a line across K takes."""
        return max(self.rows * self.element_bytes // self.span, 1)

    @property
    def strides(self) -> tuple[int, int]:
        """Leading and stride offsets."""
        group = 4 if self.swizzle == "128B_32B" else 8
        if not self.mn_major:
            return (self.rows * 16, 128) if self.swizzle == "none" else (16, 8 * self.span)
        # Each pattern is `group` rows of the swizzle; blocks lie behind each other, then groups.
        near, far = group * self.span, group * self.span * self.blocks
        return (far, near) if self.swizzle == "none" else (near, far)

    @property
    def size(self) -> int:
        """Bytes, a multiple of the pattern."""
        depth = 32 // self.element_bytes
        lines = depth * self.blocks if self.mn_major else self.rows
        width = 32 if self.swizzle == "none" and not self.mn_major else self.span
        return -(-lines * width // 1024) * 1024

    def at(self, row: int, byte: int) -> int:
        """Where byte `byte` along K of a row lies (of the element's first for MN-major)."""
        leading, stride = self.strides
        if not self.mn_major:
            if self.swizzle == "none":
                return row // 8 * stride + row % 8 * 16 + byte // 16 * leading + byte % 16
            return self.swizzled(row // 8 * stride + row % 8 * self.span + byte)
        group = 4 if self.swizzle == "128B_32B" else 8
        k, inner = divmod(byte, self.element_bytes)
        block, within = divmod(row * self.element_bytes, self.span)
        near, far = group * self.span, group * self.span * self.blocks
        linear = block * near + k // group * far + k % group * self.span + within + inner
        return self.swizzled(linear)

    def swizzled(self, at: int) -> int:
        """Exchange 16-byte (or 32-byte) units by the line of 128 bytes that they are in."""
        line = at >> 7
        if self.swizzle == "128B_32B":
            return at ^ (line & 3) << 5
        mask = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[self.swizzle]
        return at ^ (line & mask) << 4

    def image(self, rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The bytes of shared memory for rows of 32 bytes."""
        out = np.zeros(self.size, np.uint8)
        for row in range(self.rows):
            for byte in range(32):
                out[self.at(row, byte)] = rows[row, byte]
        return out

    def descriptor(self, address: Any, offset: int) -> Any:
        """The descriptor of the matrix `offset` bytes behind `address`."""
        leading, stride = self.strides
        return ptx.tcgen05.descriptor(
            address,
            stride_bytes=stride,
            leading_bytes=leading,
            swizzle=None if self.swizzle == "none" else self.swizzle,
            byte_offset=offset,
        )
