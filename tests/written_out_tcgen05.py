# SPDX-License-Identifier: Apache-2.0
"""tcgen05 for the emulator, which has no tensor memory: that memory is a shared array of each CTA,
and the thread that starts a product does it, element by element, before it goes on.

It stands in for `ptx` of a kernel that multiplies 128 rows a CTA, K-major tiles with a 128-byte
swizzle, and reads with shape 32x32b; anything else is an assertion.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b32, f32, u32

ROWS = 128


class TensorMemory:
    """`ptx.tcgen05` of one kernel; column c of lane l is element (l, c) of an array."""

    make_instr_desc_f16bf16_f32 = staticmethod(ptx.tcgen05.make_instr_desc_f16bf16_f32)

    def __init__(self) -> None:
        self.width = 0
        self.base: Any = None

    def alloc(self, slot: Any, ncols: int, *, cta_group: int) -> None:
        self.width = ncols
        self.base = smem.alloc(f32, (ROWS, ncols), name="tensor_memory").address()
        smem.store(u32, slot.address(), 0)

    def dealloc(self, taddr: Any, ncols: int, *, cta_group: int) -> None:
        assert ncols == self.width

    def relinquish_alloc_permit(self, *, cta_group: int) -> None: ...
    def fence_before_thread_sync(self) -> None: ...
    def fence_after_thread_sync(self) -> None: ...
    def wait_ld(self) -> None: ...

    def ld(self, dst: Any, taddr: Any, *, shape: str, count: int) -> None:
        """Lane l of the warp reads the lane of tensor memory that lies l below the address."""
        assert shape == "32x32b"
        lane = (taddr >> 16) + ptx.special.laneid()
        place = self.base + (lane * self.width + (taddr & 0xFFFF)) * 4
        for i in range(count):
            ptx.inst.ld.shared.f32(dst[i], ptx.addr(place, 4 * i))

    def commit(
        self, barrier: Any, *, cta_group: int = 1, multicast: bool = False, multicast_mask: int = 1
    ) -> None:
        """Everything is complete already."""
        assert multicast == (cta_group == 2)
        if multicast:
            ptx.cluster.arrive_multicast(barrier, multicast_mask)
        else:
            ptx.mbarrier.arrive(barrier)

    def mma(
        self, d: Any, a: Any, b: Any, idesc: int, *, cta_group: int, kind: str,
        enable_input_d: Any, a_k_offset: int, b_k_offset: int,
    ) -> None:  # fmt: skip
        """Row r of D, and column c, come from A and B of the CTAs r / 128 and c / 128."""
        assert kind == "f16"
        assert (idesc >> 17 & 63) * 8 == (idesc >> 24 & 31) * 16 == ROWS * cta_group == self.width
        for of_row in range(cta_group):
            lanes = ptx.cluster.map_shared_u32(self.base, of_row)
            from_a = ptx.cluster.map_shared_u32(a.address(), of_row)
            for of_column in range(cta_group):
                from_b = ptx.cluster.map_shared_u32(b.address(), of_column)
                with ptx.range_(0, ROWS) as row:
                    xs = load_row(from_a, row, a_k_offset)
                    line = lanes + (row * self.width + of_column * ROWS) * 4
                    with ptx.range_(0, ROWS) as column:
                        place = line + column * 4
                        value = reg.scalar(f32, 0.0)
                        with ptx.if_(as_predicate(enable_input_d)):
                            ptx.inst.ld.shared__cluster.f32(value, ptx.addr(place))
                        ys = load_row(from_b, column, b_k_offset)
                        for x, y in zip(xs, ys, strict=True):
                            ptx.inst.fma.rn.f32(value, x, y, value)
                        ptx.inst.st.shared__cluster.f32(ptx.addr(place), value)


def as_predicate(value: Any) -> Any:
    return reg.scalar(u32, int(value)) != 0 if isinstance(value, bool) else value


def load_row(tile: Any, row: Any, k: int) -> list[Any]:
    """Elements k to k + 15 of a row of 64 bf16, widened to f32."""
    values = []
    for at in range(2 * k, 2 * k + 32, 16):
        chunk = tile + smem.apply_swizzle(row * 128 + at, "128B")
        for word in range(0, 16, 4):
            pair, first, second = reg.scalar(b32), reg.scalar(f32), reg.scalar(f32)
            ptx.inst.ld.shared__cluster.b32(pair, ptx.addr(chunk, word))
            low, high = reg.scalar(b32), reg.scalar(b32)
            ptx.inst.shl.b32(low, pair, 16)
            ptx.inst.and_.b32(high, pair, 0xFFFF0000)
            ptx.inst.mov.b32(first, low)
            ptx.inst.mov.b32(second, high)
            values += [first, second]
    return values


def tensor_2d(*, cta_group: int, **operands: Any) -> None:
    """The copy without .cta_group::2, which the emulator lacks. The modifier is what allows the
    barrier to be in the other CTA; the emulator takes any address of the cluster.
    """
    ptx.cp.async_.bulk.tensor_2d(**operands)


def with_tensor_memory() -> Any:
    """`ptx` with a tcgen05 and a tensor copy of its own."""
    names = {name: getattr(ptx, name) for name in dir(ptx) if not name.startswith("__")}
    copies = SimpleNamespace(async_=SimpleNamespace(bulk=SimpleNamespace(tensor_2d=tensor_2d)))
    return SimpleNamespace(**names | {"tcgen05": TensorMemory(), "cp": copies})
