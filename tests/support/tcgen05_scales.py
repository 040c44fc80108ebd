# SPDX-License-Identifier: Apache-2.0
"""Products of tcgen05.mma with block scales, and copies of tcgen05.cp, which brings them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyptx import ptx
from support.tcgen05_machine import LANES, Placement, Words, run
from support.tcgen05_products import NARROW, SCALE_COLUMNS, Bench, Case, decode


def scale_value(bits: Any, name: str) -> Any:
    """What a scale factor multiplies with."""
    if name == "ue8m0":
        return 2.0 ** (bits.astype(np.float64) - 127)
    return (1 + (bits & 7) / 8) * 2.0 ** ((bits >> 3).astype(np.float64) - 7)


class ScaledBench(Bench):
    """A product whose scale factors lie in tensor memory."""

    def __init__(self, case: Case, seed: int = 2) -> None:
        super().__init__(case, seed)
        self.scale = case.options.get("scale", "ue8m0")
        vector = case.options.get("vector", "1X" if case.kind == "mxf8f6f4" else "2X")
        self.count = {"1X": 1, "2X": 2, "4X": 4, "block16": 4}.get(vector, 0)
        if vector == "block32":
            self.count = 1 if case.kind == "mxf8f6f4" else 2
        low = (125, 130) if self.scale == "ue8m0" else (0x30, 0x40)
        self.scales = [self.rng.integers(*low, (size, self.count)) for size in (case.m, case.n)]
        ids = case.options.get("ids", (0, 0))
        for which in (0, 1):
            for cta in range(case.ctas):
                self.put(which, cta, ids[which])

    def put(self, which: int, cta: int, first: int) -> None:
        """Scale factors of row or column i: lane i % 32 of each group of 32, column i / 32."""
        case = self.case
        rows = case.m // case.ctas if which == 0 else case.n
        by_halves = which == 1 and case.ctas == 2 and case.m == 128
        for i in range(rows):
            index = i + (cta * rows if which == 0 else 0)
            groups, local = range(4), i
            if by_halves:  # the upper lanes have the upper half of N
                groups = range(2 * (i // (rows // 2)), 2 * (i // (rows // 2)) + 2)
                local = i % (rows // 2)
            for group in groups:
                at = (cta, group * 32 + local % 32, SCALE_COLUMNS[which] + local // 32)
                word = int(self.tensor[at])
                for s in range(self.count):
                    shift = 8 * (first + s)
                    word = word & ~(0xFF << shift) | int(self.scales[which][index, s]) << shift
                self.tensor[at] = word

    def product(self) -> Any:
        a, b = decode(self.a, self.case.a), decode(self.b, self.case.b)
        block = self.case.depth // self.count
        factors = [np.repeat(scale_value(s, self.scale), block, axis=1) for s in self.scales]
        return (a * factors[0]) @ (b * factors[1]).T


CASES = [
    *[Case("mxf8f6f4", a, b) for a, b in zip(NARROW, NARROW[1:] + NARROW[:1], strict=True)],
    Case("mxf8f6f4", "e4m3", "e4m3", n=64, options={"ids": (1, 3), "vector": "block32"}),
    Case("mxf8f6f4", "e4m3", "e5m2", transpose=(True, True)),
    Case("mxf8f6f4", "e2m1", "e4m3", a_in_tensor_memory=True),
    Case("mxf4", "e2m1", "e2m1", n=136),
    Case("mxf4", "e2m1", "e2m1", swizzle="64B", options={"ids": (2, 0), "vector": "2X"}),
    Case("mxf4", "e2m1", "e2m1", a_in_tensor_memory=True),
    Case("mxf4nvf4", "e2m1", "e2m1", options={"vector": "4X", "scale": "ue4m3"}),
    Case("mxf4nvf4", "e2m1", "e2m1", adds=False, options={"vector": "block16", "scale": "ue4m3"}),
    Case("mxf4nvf4", "e2m1", "e2m1", options={"vector": "4X"}),
    Case("mxf4nvf4", "e2m1", "e2m1", options={"vector": "2X"}),
    Case("mxf8f6f4", "e4m3", "e4m3", m=256, n=96, ctas=2),
    Case("mxf8f6f4", "e4m3", "e4m3", m=128, n=128, ctas=2),
    Case("mxf4nvf4", "e2m1", "e2m1", m=256, n=64, ctas=2,
         options={"vector": "4X", "scale": "ue4m3"}),
]  # fmt: skip


COPIES: list[tuple[str, str | None, int, int]] = [
    ("128x256b", None, 128, 32),
    ("128x128b", None, 128, 16),
    ("4x256b", None, 4, 32),
    ("64x128b", "warpx2::02_13", 64, 16),
    ("64x128b", "warpx2::01_23", 64, 16),
    ("32x128b", "warpx4", 32, 16),
]


def lanes_of(size: str, multicast: str | None, row: int) -> list[int]:
    """The lanes that a row goes to."""
    if size == "4x256b":
        return [32 * row]
    if multicast == "warpx2::02_13":
        return [row, row + 64]
    if multicast == "warpx2::01_23":
        return [row % 32 + 64 * (row // 32) + 32 * i for i in (0, 1)]
    if multicast == "warpx4":
        return [row + 32 * i for i in range(4)]
    return [row]


def unpacked(chunk: Any, width: int) -> Any:
    """Sixteen elements of `width` bits, one to a byte; those of four bits lie in its middle."""
    bits = np.unpackbits(chunk, bitorder="little")[: 16 * width].reshape(16, width)
    return (bits << np.arange(width)).sum(axis=1).astype(np.uint8) << (2 if width == 4 else 0)


def check_scaled_product(case: Case, numerics: str) -> None:
    """Hold the emulator to every bit of tensor memory after a product."""
    bench = ScaledBench(case)
    wanted = bench.expected(bench.product())
    np.testing.assert_array_equal(bench.result(numerics=numerics), wanted)


def check_copy(
    size: str, multicast: str | None, rows: int, width: int, swizzle: str, source: str | None,
    ctas: int,
) -> None:  # fmt: skip
    """Hold the emulator to every bit of tensor memory after a copy."""
    rng = np.random.default_rng(3)
    at = Placement(max(rows, 8), swizzle=swizzle)
    data = rng.integers(0, 256, (ctas, at.rows, 32)).astype(np.uint8)
    shared = np.stack([at.image(mine) for mine in data]).view(np.uint32)
    tensor = rng.integers(0, 1 << 32, (ctas, LANES, 64)).astype(np.uint32)

    def body(base: Any, address: Any) -> None:
        desc = at.descriptor(address, 0)
        more = {"src_format": source} if source else {}
        ptx.tcgen05.cp(base + 4, desc, size=size, multicast=multicast, cta_group=ctas, **more)

    wanted: Words = tensor.copy()
    for cta in range(ctas):
        for row in range(rows):
            line = data[cta, row, :width]
            if source:
                bits = int(source[1])
                line = np.concatenate([unpacked(c, bits) for c in line.reshape(-1, 16)])
            for lane in lanes_of(size, multicast, row):
                wanted[cta, lane, 4 : 4 + width // 4] = line.copy().view(np.uint32)
    np.testing.assert_array_equal(run(body, shared, tensor), wanted)
