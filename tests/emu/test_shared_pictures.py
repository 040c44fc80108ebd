# SPDX-License-Identifier: Apache-2.0
"""What pyptx.layout says of shared and tensor memory against what instructions read and write."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pyptx import Tile, _core, kernel, layout, ptx, reg, smem
from pyptx.types import b32, b64, u8, u32, u64
from support import fragment_values as values
from support import lane_programs as lanes
from support.tcgen05_machine import run as run_tensor

core = _core.layout
LINE = 1024


def image_of(matrix: np.ndarray, picture) -> np.ndarray:
    """Shared memory that holds a matrix (mn, k) of bits where the picture of a tile says."""
    size = picture.facts["element_bytes"]
    at = np.asarray(picture.facts["addresses"])
    image = np.zeros((at.max() // LINE + 1) * LINE, np.uint8)
    raw = matrix.reshape(-1).astype(f"<u{size}").view(np.uint8).reshape(-1, size)
    for byte in range(size):
        image[at + byte] = raw[:, byte]
    return image


def wgmma(spelling: str, a_tile, b_tile, *, step: int = 0, in_registers: bool = False) -> None:
    """One wgmma on its `step`th part of two tiles, against their product."""
    d_type, a_type, b_type = [w for w in spelling.split(".") if w in values.ONE_AND_TWO]
    of = {one.operand: one for one in core.fragments(spelling)}
    depth = int(re.search(r"k(\d+)", spelling)[1])
    size = a_tile.facts["element_bytes"]
    tiles = [(a_tile, a_type), (b_tile, b_type)]
    a, b = (values.numbers(t.facts["shape"], dtype, i) for i, (t, dtype) in enumerate(tiles))
    coded = [values.codes(m, dtype, 8 * size) for m, (_, dtype) in zip((a, b), tiles, strict=True)]
    images = [image_of(bits, t) for bits, (t, _) in zip(coded, tiles, strict=True)]
    part = slice(step * depth, (step + 1) * depth)
    given = {"a": values.to_registers(of["a"], coded[0][None, :, part])} if in_registers else {}

    def descriptor(address, tile, offset):
        begin = reg.from_((address + (offset + tile.facts["starts"][step])) >> 4, u64)
        whole = reg.scalar(b64)
        ptx.inst.or_.b64(whole, begin, tile.facts["descriptor"])
        return whole

    def body(r, address):
        ptx.fence.proxy_async_shared_cta()
        ptx.wgmma.fence()
        first = list(r["a"]) if in_registers else descriptor(address, a_tile, 0)
        second = descriptor(address, b_tile, images[0].size)
        signs = [] if d_type == "s32" else [1, 1]
        majors = [int(t.facts["major"] == "MN") for t, _ in tiles] if size == 2 else []
        tail = [0, *signs, *majors[in_registers:]]
        lanes.instruction(spelling)(list(r["d"]), first, second, *tail)
        ptx.wgmma.commit_group()
        ptx.wgmma.wait_group(0)

    results = {"d": (of["d"].fragment.registers, 32)}
    image = np.concatenate(images)
    found, _ = lanes.run(body, given, results, threads=128, shared=image, arch="sm_90a")
    got = values.as_numbers(values.from_registers(of["d"], found["d"]), d_type)[0]
    np.testing.assert_array_equal(got, a[:, part] @ b[:, part].T)


def spelled(n: int, d: str, a: str) -> str:
    depth = {"tf32": 8, "f16": 16, "bf16": 16}.get(a, 32)
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{depth}.{d}.{a}.{a}"


@pytest.mark.parametrize("n", range(8, 257, 8))
@pytest.mark.parametrize("d", ["f32", "f16"])
def test_wgmma_accumulates_where_the_picture_says(n, d):
    tile = layout.tile("f16", (64, 16))
    wgmma(spelled(n, d, "f16"), tile, layout.tile("f16", (n, 16)), in_registers=n % 16 == 0)


@pytest.mark.parametrize("n", [*range(8, 33, 8), *range(48, 257, 16)])
def test_wgmma_accumulates_integers_where_the_picture_says(n):
    wgmma(spelled(n, "s32", "s8"), layout.tile("s8", (64, 32)), layout.tile("s8", (n, 32)))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"])
@pytest.mark.parametrize("in_registers", [False, True])
def test_wgmma_takes_a_of_every_type(dtype, in_registers):
    d = "s32" if dtype in ("s8", "u8") else "f32"
    depth = 32 // (4 if dtype == "tf32" else 2 if dtype.endswith("f16") else 1)
    a, b = layout.tile(dtype, (64, depth)), layout.tile(dtype, (16, depth))
    wgmma(spelled(16, d, dtype), a, b, in_registers=in_registers)


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("majors", ["KK", "KN", "NK", "NN"])
def test_wgmma_reads_tiles_as_the_picture_says(swizzle, majors):
    a, b = (
        layout.tile("bf16", (rows, 64), swizzle=swizzle, major="MN" if major == "N" else "K")
        for rows, major in zip((64, 128), majors, strict=True)
    )
    for step in (0, 3):
        wgmma(spelled(128, "f32", "bf16"), a, b, step=step)


ACCUMULATORS = [
    *((m, n, 1, True) for m in (32, 64, 128) for n in (64, 128)),
    *((m, n, 1, False) for m in (64, 128) for n in (8, 96, 256)),
    *((m, n, 2, False) for m in (128, 256) for n in (32, 64)),
]


@pytest.mark.parametrize(("m", "n", "ctas", "ws"), ACCUMULATORS)
def test_tcgen05_mma_puts_d_where_the_picture_says(m, n, ctas, ws):
    picture = layout.accumulator((m, n), cta_group=ctas, ws=ws)
    a, b = values.numbers((m, 16), "f16", 1), values.numbers((n, 16), "f16", 2)
    tiles = [layout.tile("f16", (rows // ctas, 16), of="tcgen05") for rows in (m, n)]
    images = []
    for cta in range(ctas):
        halves = [x[len(x) // ctas * cta : len(x) // ctas * (cta + 1)] for x in (a, b)]
        coded = [values.codes(half, "f16", 16) for half in halves]
        images.append([image_of(c, t) for c, t in zip(coded, tiles, strict=True)])
    second = images[0][0].size

    def body(tensor, shared):
        wide = []
        for tile, offset in zip(tiles, (0, second), strict=True):
            begin = reg.from_((shared + offset) >> 4, u64)
            whole = reg.scalar(b64)
            ptx.inst.or_.b64(whole, begin, tile.facts["descriptor"])
            wide.append(whole)
        instruction = ptx.tcgen05.make_instr_desc_f16bf16_f32(
            m=m, n=n, ab_dtype="f16", cta_group=ctas, ws=ws
        )
        options = {"ws": True} if ws else {}
        ptx.tcgen05.mma(
            tensor, *wide, instruction, cta_group=ctas, kind="f16", enable_input_d=False, **options
        )

    memory = np.stack([np.concatenate(parts).view(np.uint32) for parts in images])
    before = np.full((ctas, 128, 256), 0xFFFFFFFF, np.uint32)
    after = run_tensor(body, memory, before)
    wanted = before.copy()
    product = (a @ b.T).astype(np.float32).view(np.uint32)
    for i, (cta, lane, column) in enumerate(picture.facts["places"]):
        wanted[cta, lane, column] = product[i // n, i % n]
    np.testing.assert_array_equal(after, wanted)


SHAPES = [
    spelling for spelling in core.spellings("tcgen05", ["ld", "b32"]) if ".red" not in spelling
]


def tensor_program(body, registers: int, columns: int):
    """Give (128, registers) to threads and tensor memory as words of (128, columns) afterwards."""

    @kernel(
        in_specs=(Tile(128, registers, u32),),
        out_specs=(Tile(128, registers, u32), Tile(128, columns, u32)),
        grid=(1, 1, 1),
        block=(128, 1, 1),
        arch="sm_100a",
    )
    def program(X, R, T):
        tc = ptx.tcgen05
        tid = reg.from_(ptx.special.tid.x(), u32)
        given, results, memory = ptx.global_ptrs(X, R, T)
        slot = smem.alloc(u32, (1,), name="slot")
        with ptx.if_(tid < 32):
            tc.alloc(slot, 512, cta_group=1)
        tc.fence_before_thread_sync()
        ptx.bar.sync(0)
        tc.fence_after_thread_sync()
        base = smem.load(u32, slot.address())
        own = base + ((tid >> 5) << 21)
        row = reg.from_(tid * (4 * registers), u64)
        array = reg.array(b32, registers)
        for i in range(registers):
            ptx.inst.ld.global_.b32(array[i], ptx.addr(given + row, 4 * i))
        for first in range(0, columns, 32):
            block = reg.array(b32, 32)
            for i in range(32):
                ptx.inst.mad.lo.u32(block[i], tid, 512, first + i)
            tc.st(own + first, block, shape="32x32b", count=32)
        tc.wait_st()
        body(own, array)
        tc.wait_ld()
        tc.wait_st()
        for i in range(registers):
            ptx.inst.st.global_.b32(ptx.addr(results + row, 4 * i), array[i])
        line = reg.from_(tid * (4 * columns), u64)
        for first in range(0, columns, 32):
            block = reg.array(b32, 32)
            tc.ld(block, own + first, shape="32x32b", count=32)
            tc.wait_ld()
            for i in range(32):
                ptx.inst.st.global_.b32(ptx.addr(memory + line, 4 * (first + i)), block[i])
        tc.fence_before_thread_sync()
        ptx.bar.sync(0)
        with ptx.if_(tid < 32):
            tc.dealloc(base, 512, cta_group=1)
        ptx.ret()

    return program


@pytest.mark.parametrize("spelling", SHAPES)
def test_tcgen05_ld_and_st_move_what_the_picture_says(spelling):
    (of,) = core.fragments(spelling)
    f = of.fragment
    apart = max(64, of.columns)  # columns to the second half of 16x32bx2
    columns = max(128, of.matrices * apart)
    second = [apart] if of.matrices == 2 else []
    held = np.arange(128 * f.registers, dtype=np.uint32).reshape(128, -1) + (1 << 20)
    load = lanes.instruction(spelling)
    store = lanes.instruction(spelling.replace(".ld.", ".st."))

    def places(thread):
        for register in range(f.registers):
            row, column, matrix = f.at(thread, register)
            yield register, row, column + apart * matrix

    start = np.arange(128)[:, None] * 512 + np.arange(columns)
    wanted_memory = start.astype(np.uint32)
    wanted = np.zeros_like(held)
    for thread in range(128):
        for register, row, column in places(thread):
            wanted[thread, register] = start[row, column]
            wanted_memory[row, column] = held[thread, register]
    got, memory = tensor_program(
        lambda own, array: load(list(array), ptx.addr(own), *second), f.registers, columns
    )(held)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(memory, start)
    got, memory = tensor_program(
        lambda own, array: store(ptx.addr(own), *second, list(array)), f.registers, columns
    )(held)
    np.testing.assert_array_equal(memory, wanted_memory)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_banks_are_those_that_the_emulator_counts(width):
    rng = np.random.default_rng(width)
    patterns = [np.arange(32) * 4 * step for step in (1, 2, 4, 8, 32)] + [
        rng.integers(0, 2048, 32) for _ in range(4)
    ]
    for pattern in patterns:
        addresses = (pattern * width % 8192 // width * width).astype(np.uint32)
        picture = layout.banks(addresses.tolist(), bytes=width)
        total = counted(addresses, width)
        assert picture.facts["wavefronts"] == total.wavefronts
        assert picture.facts["conflicts"] == total.bank_conflicts


def counted(addresses: np.ndarray, width: int):
    """What the emulator counts for one store to shared memory."""

    @kernel(
        in_specs=(Tile(32, u32),),
        out_specs=(Tile(32, u32),),
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arch="sm_90a",
    )
    def store(A, Y):
        given, target = ptx.global_ptrs(A, Y)
        room = smem.alloc(u8, (8192 + 16,), align=1024, name="room")
        tid = reg.from_(ptx.special.tid.x(), u32)
        own = reg.from_(tid << 2, u64)
        at = reg.scalar(b32)
        ptx.inst.ld.global_.b32(at, ptx.addr(given + own))
        place = ptx.addr(reg.from_(at, u32) + room.address())
        one = {1: "u8", 2: "b16", 4: "b32", 8: "b64"}.get(width)
        if one is None:
            ptx.inst.st.shared.v4.b32(place, [at, at, at, at])
        else:
            value = reg.scalar({"u8": "u16"}.get(one, one), 0)
            getattr(ptx.inst.st.shared, one)(place, value)
        ptx.inst.st.global_.b32(ptx.addr(target + own), at)
        ptx.ret()

    _, report = store.emulate(addresses, report=True, checks="basic")
    return report.total
