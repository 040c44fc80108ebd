# SPDX-License-Identifier: Apache-2.0
"""Products of tcgen05.mma: operands, where they lie, and what NumPy makes of the layouts of the PTX
manual. Values are chosen so that every sum is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyptx import ptx, reg
from pyptx.types import b32
from support.tcgen05_machine import LANES, Placement, Words, run

# Exponent bits, fraction bits, bias; of the types that are narrower than 32 bits.
FORMATS = {
    "f16": (5, 10, 15),
    "bf16": (8, 7, 127),
    "tf32": (8, 10, 127),
    "e4m3": (4, 3, 7),
    "e5m2": (5, 2, 15),
    "e2m3": (2, 3, 1),
    "e3m2": (3, 2, 3),
    "e2m1": (2, 1, 1),
}


TYPES = {"f16": ("f16", "f16"), "tf32": ("tf32", "tf32"), "i8": ("s8", "u8")}


DEPTH = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}


@dataclass(frozen=True)
class Case:
    """One product."""

    kind: str
    a: str
    b: str
    d: str = "f32"
    m: int = 128
    n: int = 32
    ctas: int = 1
    ws: bool = False
    swizzle: str = "128B"
    transpose: tuple[bool, bool] = (False, False)
    negate: tuple[bool, bool] = (False, False)
    adds: bool = True
    a_in_tensor_memory: bool = False
    lane: int = 0
    saturate: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What pytest calls it."""
        words = [self.kind, self.a, self.b, self.d, f"{self.m}x{self.n}", f"{self.ctas}cta"]
        words += [self.swizzle] * (self.swizzle != "128B") + ["ws"] * self.ws
        words += [f"t{self.transpose[0]:d}{self.transpose[1]:d}"] * any(self.transpose)
        words += ["tmem"] * self.a_in_tensor_memory + [f"lane{self.lane}"] * (self.lane > 0)
        words += ["negated"] * any(self.negate) + ["zero"] * (not self.adds)
        return "-".join(words + [f"{k}={v}" for k, v in self.options.items()])

    @property
    def depth(self) -> int:
        """Elements along K."""
        return DEPTH[self.kind]


def decode(bits: Any, name: str) -> Any:
    """The values of finite numbers."""
    if name in ("s8", "u8"):
        return bits.astype(np.int8 if name == "s8" else np.uint8).astype(np.float64)
    exponent_bits, fraction_bits, bias = FORMATS[name]
    fraction = (bits & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    value = np.where(
        exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias)
    )
    return np.where(bits >> (exponent_bits + fraction_bits) & 1, -value, value)


def random_bits(rng: np.random.Generator, shape: tuple[int, int], name: str) -> Any:
    """Numbers of like size with few bits, zeros among them."""
    if name in ("s8", "u8"):
        return rng.integers(0, 256, shape)
    exponent_bits, fraction_bits, bias = FORMATS[name]
    low = max(bias - 1, 0)
    high = min(bias + 2, (1 << exponent_bits) - (1 if name.startswith("e2") else 2))
    exponent = rng.integers(low, high + 1, shape)
    top = 1 << min(fraction_bits, 3)
    fraction = rng.integers(0, top, shape) << (fraction_bits - min(fraction_bits, 3))
    sign = rng.integers(0, 2, shape)
    bits = sign << (exponent_bits + fraction_bits) | exponent << fraction_bits | fraction
    return np.where(rng.random(shape) < 0.1, 0, bits)


def shared_bytes(bits: Any, name: str, kind: str) -> Any:
    """Rows of 32 bytes as they lie in shared memory, before layout and swizzle."""
    rows = bits.shape[0]
    if kind in ("mxf4", "mxf4nvf4"):
        return (bits[:, 0::2] | bits[:, 1::2] << 4).astype(np.uint8)
    if name in ("e2m1", "e2m3", "e3m2"):  # sixteen elements at the start of sixteen bytes
        width = 4 if name == "e2m1" else 6
        out = np.zeros((rows, 2, 128), np.uint8)
        for i in range(16):
            for bit in range(width):
                out[:, :, i * width + bit] = bits.reshape(rows, 2, 16)[:, :, i] >> bit & 1
        return np.packbits(out, axis=2, bitorder="little").reshape(rows, 32)
    if name == "tf32":
        return (bits.astype(np.uint32) << 13).view(np.uint8).reshape(rows, 32)
    return bits.astype(np.uint16 if name in ("f16", "bf16") else np.uint8).view(np.uint8)


def tensor_words(bits: Any, name: str, kind: str) -> Words:
    """Rows of eight words as A lies in tensor memory: narrow elements have a byte each."""
    if name == "e2m1" and kind not in ("mxf4", "mxf4nvf4"):
        return (bits << 2).astype(np.uint8).view(np.uint32)
    if name in ("e2m3", "e3m2"):
        return bits.astype(np.uint8).view(np.uint32)
    return np.ascontiguousarray(shared_bytes(bits, name, kind)).view(np.uint32)


def place(case: Case, row: int, column: int) -> tuple[int, int, int]:
    """CTA, lane and column of an element of D (PTX ISA, "Data Path Layout Organization")."""
    m, n = case.m, case.n
    if case.ctas == 2:
        rows = m // 2
        if m == 256:
            return row // 128, row % 128, column
        half = column // (n // 2)
        return row // rows, row % rows + 64 * half, column % (n // 2)
    if case.ws and m == 64:
        return 0, row + 64 * (column // (n // 2)), column % (n // 2)
    if case.ws and m == 32:
        return 0, row + 32 * (column // (n // 4)), column % (n // 4)
    if m == 64:
        return 0, case.lane + row // 16 * 32 + row % 16, column
    return 0, row, column


def a_lanes(case: Case, row: int) -> tuple[int, list[int]]:
    """The CTA and all lanes that a row of A in tensor memory lies in."""
    cta, lane, _ = place(case, row, 0)
    if case.ctas == 2 and case.m == 128:
        return cta, [lane, lane + 64]
    if case.ws and case.m < 128:
        return cta, [lane + case.m * i for i in range(128 // case.m)]
    return cta, [lane]


def instruction(case: Case) -> int:
    """The instruction descriptor, bit by bit."""
    codes = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5,
             "u8": 0, "s8": 1}  # fmt: skip
    bits = case.n >> 3 << 17 | case.negate[0] << 13 | case.negate[1] << 14
    bits |= case.transpose[0] << 15 | case.transpose[1] << 16
    if case.kind in ("mxf4", "mxf4nvf4"):
        codes = {"e2m1": 1}
    bits |= codes[case.a] << 7 | codes[case.b] << 10
    if case.kind.startswith("mx"):
        ids = case.options.get("ids", (0, 0))
        scale = 0 if case.options.get("scale") == "ue4m3" else 1
        return bits | scale << 23 | case.m >> 7 << 27 | ids[0] << 29 | ids[1] << 4
    return (
        bits | {"f16": 0, "f32": 1, "s32": 2}[case.d] << 4 | case.m >> 4 << 24 | case.saturate << 3
    )


A_COLUMN = 256  # of A in tensor memory


SCALE_COLUMNS = (288, 320)


class Bench:
    """Operands of a case, where they lie, and the result that is wanted."""

    def __init__(self, case: Case, seed: int = 1) -> None:
        self.case = case
        rng = self.rng = np.random.default_rng(seed)
        self.a = random_bits(rng, (case.m, case.depth), case.a)
        self.b = random_bits(rng, (case.n, case.depth), case.b)
        element = {"f16": 2, "tf32": 4}.get(case.kind, 1)
        swizzles = case.swizzle, case.swizzle
        self.places = [
            Placement(size // case.ctas, element, swizzles[i], case.transpose[i])
            for i, size in enumerate((case.m, case.n))
        ]
        self.tensor = rng.integers(0, 100, (case.ctas, LANES, 512)).astype(np.uint32)
        self.tensor[:, :, :256] = self.word(self.tensor[:, :, :256])
        self.shared = self.fill_shared()
        if case.a_in_tensor_memory:
            words = tensor_words(self.a, case.a, case.kind)
            for row in range(case.m):
                cta, lanes = a_lanes(case, row)
                self.tensor[cta, lanes, A_COLUMN : A_COLUMN + 8] = words[row]

    def word(self, values: Any) -> Any:
        """Numbers as a word of D."""
        if self.case.d == "s32":
            return values.astype(np.int64).astype(np.uint32)
        if self.case.d == "f16":
            return values.astype(np.float16).view(np.uint16).astype(np.uint32)
        return np.asarray(values, np.float32).view(np.uint32)

    def number(self, words: Any) -> Any:
        """The number that a word of D is."""
        if self.case.d == "s32":
            return words.astype(np.int32).astype(np.float64)
        if self.case.d == "f16":
            return words.astype(np.uint16).view(np.float16).astype(np.float64)
        return words.view(np.float32).astype(np.float64)

    def fill_shared(self) -> Words:
        images = []
        for cta in range(self.case.ctas):
            parts = []
            for bits, name, at in ((self.a, self.case.a, 0), (self.b, self.case.b, 1)):
                rows = self.places[at].rows
                mine = bits[cta * rows : (cta + 1) * rows]
                parts.append(self.places[at].image(shared_bytes(mine, name, self.case.kind)))
            images.append(np.concatenate(parts))
        return np.stack(images).view(np.uint32)

    def product(self) -> Any:
        """A times B in float64."""
        a, b = decode(self.a, self.case.a), decode(self.b, self.case.b)
        signs = [-1.0 if negated else 1.0 for negated in self.case.negate]
        return (signs[0] * a) @ (signs[1] * b).T

    def expected(self, product: Any) -> Words:
        case, wanted = self.case, self.tensor.copy()
        disabled = case.options.get("disabled", [0] * 8)
        for row in range(case.m):
            for column in range(case.n):
                cta, lane, at = place(case, row, column)
                if disabled[cta * 4 + lane // 32] >> (lane % 32) & 1:
                    continue
                old = self.number(self.tensor[cta, lane, at : at + 1])[0] if case.adds else 0.0
                total = old * 2.0 ** -case.options.get("scale_d", 0) + product[row, column]
                if case.saturate:
                    total = min(max(total, -(2.0**31)), 2.0**31 - 1)
                wanted[cta, lane, at] = self.word(np.array([total]))[0]
        return wanted

    def issue(self, base: Any, address: Any) -> None:
        """Trace the product."""
        case = self.case
        more: dict[str, Any] = {}
        if "disabled" in case.options:
            words = [reg.scalar(b32, value) for value in case.options["disabled"][: 4 * case.ctas]]
            more["disable_output_lane"] = words
        for name in ("scale_d", "collector_a", "collector_b", "collector_buffer"):
            if name in case.options:
                more[name] = case.options[name]
        if case.kind.startswith("mx"):
            more |= {"scale_a": base + SCALE_COLUMNS[0], "scale_b": base + SCALE_COLUMNS[1]}
            if "vector" in case.options:
                more["scale_vec"] = case.options["vector"]
        a: Any = self.places[0].descriptor(address, 0)
        if case.a_in_tensor_memory:
            a, more["a_is_tmem"] = base + A_COLUMN + (case.lane << 16), True
        b = self.places[1].descriptor(address, self.places[0].size)
        ptx.tcgen05.mma(
            base + (case.lane << 16), a, b, instruction(case),
            kind=case.kind, cta_group=case.ctas, ws=case.ws, enable_input_d=case.adds, **more,
        )  # fmt: skip

    def result(self, **options: Any) -> Words:
        return run(self.issue, self.shared, self.tensor, **options)


NARROW = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]


CASES = [
    Case("f16", "f16", "bf16"),
    Case("f16", "bf16", "f16", n=256),
    Case("f16", "f16", "f16", "f16", n=24),
    Case("f16", "f16", "f16", n=8, adds=False),
    Case("tf32", "tf32", "tf32", n=40),
    *[Case("f8f6f4", a, b) for a in NARROW for b in ("e4m3", a)],
    Case("f8f6f4", "e5m2", "e2m1", "f16", n=48),
    Case("i8", "s8", "u8", "s32"),
    Case("i8", "u8", "s8", "s32", n=48, adds=False),
    Case("i8", "s8", "s8", "s32", saturate=True),
    *[Case("f16", "f16", "f16", swizzle=s) for s in ("none", "32B", "64B", "128B_32B")],
    *[Case("f16", "bf16", "bf16", n=64, swizzle=s, transpose=(True, True))
      for s in ("none", "32B", "64B", "128B")],
    Case("f8f6f4", "e4m3", "e5m2", transpose=(True, False)),
    Case("i8", "s8", "s8", "s32", n=64, transpose=(False, True), swizzle="64B"),
    Case("tf32", "tf32", "tf32", transpose=(True, True), swizzle="128B_32B"),
    Case("f16", "f16", "f16", negate=(True, False)),
    Case("f16", "f16", "f16", negate=(False, True)),
    Case("f16", "f16", "f16", m=64),
    Case("f16", "f16", "f16", m=64, lane=16),
    Case("f16", "f16", "f16", m=64, lane=16, a_in_tensor_memory=True),
    *[Case(kind, *TYPES.get(kind, ("e2m3", "e4m3")), "s32" if kind == "i8" else "f32",
           a_in_tensor_memory=True) for kind in ("f16", "tf32", "f8f6f4", "i8")],
    Case("f8f6f4", "e2m1", "e2m1", a_in_tensor_memory=True),
    Case("f16", "f16", "f16", options={"disabled": [0xFFFF, 0, 1, 0x80000000]}),
    Case("f16", "f16", "f16", options={"scale_d": 3}),
    Case("tf32", "tf32", "tf32", options={"scale_d": 15}),
    Case("f16", "bf16", "bf16", a_in_tensor_memory=True, options={"scale_d": 1}),
    Case("f16", "f16", "f16", a_in_tensor_memory=True, options={"scale_d": 3}),
    *[Case("f16", "f16", "f16", n=16, options={"collector_a": use}) for use in ("fill", "lastuse")],
    Case("f16", "f16", "f16", m=64, n=64, ws=True,
         options={"collector_b": "fill", "collector_buffer": 2}),
    *[Case("f16", "f16", "f16", m=m, n=64, ws=True, a_in_tensor_memory=t)
      for m in (32, 64, 128) for t in (False, True)],
    Case("i8", "s8", "u8", "s32", m=32, n=128, ws=True),
    Case("tf32", "tf32", "tf32", m=64, n=128, ws=True),
    Case("f8f6f4", "e4m3", "e2m1", m=32, n=64, ws=True),
    *[Case(kind, *TYPES.get(kind, ("e4m3", "e3m2")), "s32" if kind == "i8" else "f32", m=m, n=64,
           ctas=2) for kind in ("f16", "tf32", "f8f6f4", "i8") for m in (128, 256)],
    Case("f16", "f16", "f16", m=128, n=16, ctas=2, a_in_tensor_memory=True),
    Case("f16", "f16", "f16", m=256, n=256, ctas=2, a_in_tensor_memory=True),
    Case("f16", "f16", "f16", m=256, ctas=2,
         options={"disabled": [1, 0, 0, 0, 0, 0, 0, 0x80000000]}),
]  # fmt: skip


def check_product(case: Case) -> None:
    """Hold the emulator to every bit of tensor memory after a product."""
    bench = Bench(case)
    wanted = bench.expected(bench.product())
    np.testing.assert_array_equal(bench.result(), wanted)
