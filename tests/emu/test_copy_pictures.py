# SPDX-License-Identifier: Apache-2.0
"""What pyptx.layout says a tensor copy brings, against what the copy leaves in shared memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from pyptx import Tile, _core, kernel, layout, ptx, reg, smem
from pyptx.types import b32, u8, u32, u64
from support.lane_programs import instruction

SHARED = 16384
GUARD = 0xA5  # what shared memory holds before the copy


@dataclass(frozen=True)
class Copy:
    """A map, the outermost dimension first, and a copy, the innermost coordinate first."""

    shape: tuple[int, ...]
    box: tuple[int, ...]
    at: tuple[int, ...]
    dtype: str = "bf16"
    mode: str = "tile"
    options: dict[str, Any] = field(default_factory=dict)
    offsets: tuple[int, ...] = (0, 0, 0)

    @property
    def map(self) -> Any:
        return layout.make_map(self.dtype, self.shape, self.box, **self.options)


def emit(copy: Copy, image: Any, bar: Any, maps: Any) -> None:
    rank = len(copy.shape)
    words = {"tile": "tile", "im2col": "im2col", "gather4": "tile::gather4"}[copy.mode]
    spelling = (
        f"cp.async.bulk.tensor.{rank}d.shared::cta.global.{words}.mbarrier::complete_tx::bytes"
    )
    at = [reg.scalar(b32, one & 0xFFFFFFFF) for one in copy.at]
    operands = [ptx.addr(image), ptx.addr(maps, at), ptx.addr(bar)]
    if copy.mode == "im2col":
        operands.append([reg.scalar("u16", one) for one in copy.offsets[: rank - 2]])
    instruction(spelling)(*operands)


def shared_after(copy: Copy, tensor: np.ndarray, start: int, size: int) -> np.ndarray:
    """Run the copy on the emulator and return shared memory."""

    @kernel(
        in_specs=(Tile(128, u8), Tile(tensor.nbytes, u8)),
        out_specs=(Tile(SHARED, u8),),
        grid=(1, 1, 1),
        block=(32, 1, 1),
        arch="sm_100a",
    )
    def bring(M, X, Y):
        maps, _, target = ptx.global_ptrs(M, X, Y)
        image = smem.alloc(u32, (SHARED // 4,), align=1024, name="image")
        bar = smem.mbarrier(1, name="bar")[0]
        tid = reg.from_(ptx.special.tid.x(), u32)
        address = image.address()
        with ptx.range_(tid, SHARED // 4, 32) as word:
            ptx.inst.st.shared.b32(ptx.addr(address + (word << 2)), GUARD * 0x01010101)
        ptx.fence.proxy_async_shared_cta()
        ptx.bar.sync(0)
        with ptx.if_(tid == 0):
            ptx.mbarrier.init(bar, 1)
            ptx.fence.mbarrier_init()
            ptx.mbarrier.arrive_expect_tx(bar, size)
            emit(copy, address + start, bar, maps)
        ptx.bar.sync(0)
        ptx.mbarrier.wait(bar, 0)
        with ptx.range_(tid, SHARED // 4, 32) as word:
            value = reg.scalar(b32)
            ptx.inst.ld.shared.b32(value, ptx.addr(address + (word << 2)))
            ptx.inst.st.global_.b32(ptx.addr(target + (reg.from_(word, u64) << 2)), value)
        ptx.ret()

    flat = tensor.view(np.uint8).reshape(-1)
    encoded = _core.layout.encode_map(copy.map, flat.ctypes.data)
    room = np.zeros(256, np.uint8)  # a map is aligned to 64 bytes
    first = -room.ctypes.data % 64
    room[first : first + 128] = np.frombuffer(encoded, np.uint8)
    return np.asarray(bring(room[first : first + 128], flat))


def aligned(tensor: np.ndarray) -> np.ndarray:
    """A copy at an address that a map takes."""
    room = np.zeros(tensor.nbytes + 32, np.uint8)
    first = -room.ctypes.data % 32
    out = room[first : first + tensor.nbytes].view(tensor.dtype).reshape(tensor.shape)
    out[...] = tensor
    return out


TILES = [
    *(
        Copy((40, 64), (8, width), (0, 16), options={"swizzle": mode})
        for mode, width in ((None, 64), ("32B", 16), ("64B", 32), ("128B", 64))
    ),
    Copy((40, 64), (8, 64), (-8, 36), options={"swizzle": "128B"}),
    Copy((40, 64), (8, 32), (56, -3), options={"swizzle": "64B", "nan": True}),
    Copy((40, 64), (8, 24), (0, 0), options={"swizzle": "64B"}),  # rows with gaps
    Copy((6, 9, 16), (2, 4, 8), (4, 3, 5), "f32", options={"element_strides": (1, 2, 1)}),
    Copy((3, 4, 5, 32), (2, 2, 2, 16), (16, 4, 3, 2), "u8"),
    Copy((2, 2, 3, 4, 16), (1, 2, 2, 2, 16), (0, 3, 2, 1, 1), "u8"),
    Copy((64,), (32,), (48,), "f32"),
    Copy((64, 64), (1, 64), (0, 7, 63, 64, 3), mode="gather4", options={"swizzle": "128B"}),
    Copy(
        (2, 6, 5, 32),
        (),
        (0, -1, -1, 0),
        mode="im2col",
        offsets=(2, 1),
        options={
            "swizzle": "64B",
            "corners": ((-1, -1), (-1, -1)),
            "pixels": 40,
            "channels": 32,
        },
    ),
]


@pytest.mark.parametrize("copy", TILES, ids=lambda copy: f"{copy.mode}-{copy.shape}-{copy.at}")
def test_a_copy_brings_what_the_picture_says(copy):
    start = 2048
    picture = layout.box(copy.map, copy.at, mode=copy.mode, offsets=copy.offsets, start=start)
    size = {"bf16": 2, "f32": 4, "u8": 1}[copy.dtype]
    count = int(np.prod(copy.shape))
    tensor = (
        aligned(np.random.default_rng(3).integers(1, 255, count * size).astype(np.uint8))
        .view(f"<u{size}")
        .reshape(copy.shape)
    )
    rows, (begin, end) = picture.facts["rows"], picture.facts["inside"]
    row_bytes = picture.facts["row_bytes"]
    fill = 0x7FF7 if copy.options.get("nan") else 0
    wanted = np.full(SHARED, GUARD, np.uint8)
    for _, in_bounds, at, places in rows:
        line = np.full(row_bytes // 2, fill, np.uint16).view(f"<u{size}").copy()
        for i in range(begin, end) if in_bounds else ():
            line[i] = tensor[tuple(reversed([at[0] + i, *at[1:]]))]
        for chunk, place in enumerate(places):
            wanted[place : place + 16] = line.view(np.uint8)[16 * chunk : 16 * chunk + 16]
    got = shared_after(copy, tensor, start, len(rows) * row_bytes)
    np.testing.assert_array_equal(got, wanted)
    assert "outside" not in picture.text() or fill or begin or end or not all(r[1] for r in rows)


def test_the_emulators_bytes_of_a_map_come_back():
    map = layout.make_map("bf16", (40, 64), (8, 64), swizzle="128B", nan=True)
    encoded = _core.layout.encode_map(map, 4096)
    picture = layout.tensor_map(encoded)
    assert picture.facts["map"] == map
    assert picture.facts["address"] == 4096
    assert "dimensions, innermost first" in picture.text()
    assert _core.layout.encode_map(picture.facts["map"], 4096) == encoded
