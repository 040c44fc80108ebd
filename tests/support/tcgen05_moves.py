# SPDX-License-Identifier: Apache-2.0
"""tcgen05.ld, st and ld.red on the emulator, against where the PTX manual puts the words."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import Tile, kernel, ptx, reg, smem
from pyptx.types import b32, f32, s32, u32
from support.tcgen05_machine import CHUNK, LANES, Words, synchronise, wide

COLUMNS = 512


SPLIT = 256  # columns between the halves of 16x32bx2


REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


def place(shape: str, thread: int, register: int) -> tuple[int, int]:
    """Lane and column of a register, from the address on."""
    t, r = thread % 32, register
    if shape == "32x32b":
        return t, r
    if shape == "16x64b":
        return t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2
    if shape == "16x128b":
        return t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4
    if shape == "16x256b":
        return t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2
    return t % 16, r + SPLIT * (t // 16)


def move(data: Words, tensor: Words, *, is_load: bool, lane: int = 0, **how: Any) -> Words:
    """What registers hold after a load, or tensor memory after a store."""
    registers = data.shape[1]
    split = {"split": SPLIT} if how["shape"] == "16x32bx2" else {}
    packs = {"pack" if is_load else "unpack": how.pop("pack")}

    @kernel(
        in_specs=(Tile(LANES, registers, u32), Tile(LANES, COLUMNS, u32)),
        out_specs=(Tile(LANES, registers if is_load else COLUMNS, u32),),
        grid=(1, 1, 1),
        block=(LANES, 1, 1),
        arch="sm_100a",
    )
    def moves(D, T, R):
        tc = ptx.tcgen05
        from_data, from_tensor, to = ptx.global_ptrs(D, T, R)
        tid = reg.from_(ptx.special.tid.x(), u32)
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_(tid < 32):
            tc.alloc(slot, COLUMNS)
        synchronise(1)
        base = smem.load(u32, slot.address())
        own = base + ((tid >> 5) << 21)
        values = reg.array(b32, CHUNK)
        with ptx.range_(0, COLUMNS, CHUNK) as column:
            for i in range(CHUNK):
                at = ptx.addr(wide(from_tensor, tid * COLUMNS + column), 4 * i)
                ptx.inst.ld.global_.b32(values[i], at)
            tc.st(own + column, values, shape="32x32b", count=CHUNK)
        tc.wait_st()
        moved = reg.array(b32, registers)
        if is_load:
            tc.ld(moved, own + (lane << 16), **how, **split, **packs)
            for i in range(registers):
                ptx.inst.st.global_.b32(ptx.addr(wide(to, tid * registers), 4 * i), moved[i])
            tc.wait_ld()
        else:
            for i in range(registers):
                at = ptx.addr(wide(from_data, tid * registers), 4 * i)
                ptx.inst.ld.global_.b32(moved[i], at)
            tc.st(own + (lane << 16), moved, **how, **split, **packs)
            tc.wait_st()
            with ptx.range_(0, COLUMNS, CHUNK) as column:
                tc.ld(values, own + column, shape="32x32b", count=CHUNK)
                for i in range(CHUNK):
                    at = ptx.addr(wide(to, tid * COLUMNS + column), 4 * i)
                    ptx.inst.st.global_.b32(at, values[i])
            tc.wait_ld()
        synchronise(1)
        with ptx.if_(tid < 32):
            tc.dealloc(base, COLUMNS)
        ptx.ret()

    return np.asarray(moves.emulate(data, tensor))


def check_move(shape: str, count: int, pack: bool, is_load: bool) -> None:
    """Hold each word to its place."""
    rng = np.random.default_rng(count)
    registers = count * REGISTERS[shape]
    lane = 16 if shape != "32x32b" and count % 3 == 1 else 0
    data = rng.integers(0, 1 << 32, (LANES, registers)).astype(np.uint32)
    tensor = rng.integers(0, 1 << 32, (LANES, COLUMNS)).astype(np.uint32)
    loaded, stored = data.copy(), tensor.copy()
    for thread in range(LANES):
        for register in range(registers):
            row, column = place(shape, thread, register)
            row += thread // 32 * 32 + lane
            if not pack:
                loaded[thread, register] = tensor[row, column]
                stored[row, column] = data[thread, register]
                continue
            second = SPLIT if column >= SPLIT and shape == "16x32bx2" else 0
            at = second + 2 * (column - second)
            loaded[thread, register] = (tensor[row, at + 1] & 0xFFFF) << 16 | tensor[
                row, at
            ] & 0xFFFF
            stored[row, at] = data[thread, register] & 0xFFFF
            stored[row, at + 1] = data[thread, register] >> 16
    how = {"shape": shape, "count": count, "pack": pack, "lane": lane}
    result = move(data, tensor, is_load=is_load, **how)
    np.testing.assert_array_equal(result, loaded if is_load else stored)


def check_reducing_load(op: str, dtype: Any, options: dict[str, bool]) -> None:
    """Hold the words and their least or largest to NumPy."""
    rng = np.random.default_rng(7)
    kind = {u32: np.uint32, s32: np.int32, f32: np.float32}[dtype]
    values = rng.integers(-50, 50, (LANES, 8)).astype(np.float64)
    source = np.abs(values).astype(kind) if kind is np.uint32 else values.astype(kind)
    if kind is np.float32:
        source[3, 2] = np.nan

    @kernel(
        in_specs=(Tile(LANES, 8, u32),),
        out_specs=(Tile(LANES, 9, u32),),
        grid=(1, 1, 1),
        block=(LANES, 1, 1),
        arch="sm_103a",
    )
    def reduces(X, Y):
        tc = ptx.tcgen05
        x, y = ptx.global_ptrs(X, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_(tid < 32):
            tc.alloc(slot, 32)
        synchronise(1)
        base = smem.load(u32, slot.address())
        own = base + ((tid >> 5) << 21)
        values = reg.array(b32, 8)
        for i in range(8):
            ptx.inst.ld.global_.b32(values[i], ptx.addr(wide(x, tid * 8), 4 * i))
        tc.st(own, values, shape="32x32b", count=8)
        tc.wait_st()
        loaded, result = reg.array(dtype, 8), reg.scalar(dtype)
        tc.ld_red(loaded, result, own, op=op, dtype=dtype, count=8, **options)
        for i in range(8):
            ptx.inst.st.global_.b32(ptx.addr(wide(y, tid * 9), 4 * i), loaded[i])
        ptx.inst.st.global_.b32(ptx.addr(wide(y, tid * 9), 32), result)
        tc.wait_ld()
        synchronise(1)
        with ptx.if_(tid < 32):
            tc.dealloc(base, 32)
        ptx.ret()

    found = np.asarray(reduces.emulate(source.view(np.uint32)))
    np.testing.assert_array_equal(found[:, :8], source.view(np.uint32))
    rows = np.abs(source) if options.get("abs") else source
    plain = {"min": np.nanmin, "max": np.nanmax}[op]
    wanted = getattr(rows, op)(axis=1) if options.get("nan") else plain(rows, axis=1)
    np.testing.assert_array_equal(found[:, 8].view(kind), wanted)
