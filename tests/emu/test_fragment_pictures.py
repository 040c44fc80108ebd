# SPDX-License-Identifier: Apache-2.0
"""What pyptx.layout says of fragments against what instructions do on the emulator, lane by lane.

Every spelling of the table is run with values that the test puts into registers by the picture, and
takes out of them by it.
"""

from __future__ import annotations

import numpy as np
import pytest

from pyptx import _core, layout, ptx, reg
from pyptx.types import u16, u32
from support import fragment_values as values
from support import lane_programs as lanes

core = _core.layout


def operands(spelling: str):
    return {one.operand: one for one in core.fragments(spelling)}


def types_of(spelling: str) -> list[str]:
    return [word for word in spelling.split(".") if word in values.ONE_AND_TWO]


def sparse(a, a_of, dtype: str, depth: int, selector: int):
    """A dense A whose stored elements are at random places, and metadata that says so."""
    bits, stored = a_of.element_bits, a_of.columns
    kept = core.metadata_chunk(bits)
    rng = np.random.default_rng(9)
    dense = np.zeros((*a.shape[:-1], depth), a.dtype)
    words = np.zeros((32, 1), np.uint32)
    for row in range(a_of.rows):
        for chunk in range(stored // kept):
            if kept == 1:
                places, code = ([0], 0x4) if rng.integers(2) else ([1], 0xE)
            else:
                first, second = sorted(rng.choice(4, 2, replace=False).tolist())
                code = first | second << 2
                places = [first, second]
                if kept == 4:
                    places = [2 * one + i for one in places for i in range(2)]
            thread, bit = core.metadata(bits, stored, selector, row, chunk)
            words[thread, 0] |= np.uint32(code << bit)
            for i, place in enumerate(places):
                at = chunk * 2 * kept + place
                dense[:, row, at] = a[:, row, chunk * kept + i]
    return dense, words


def scaled(spelling: str, dense, b, given: dict) -> tuple:
    """A and B times random powers of two for each part of K, and the registers of the scales."""
    count = layout.scales(spelling).facts["count"]
    is_ue4m3 = spelling.endswith("ue4m3")
    one, step = (0x38, 8) if is_ue4m3 else (0x7F, 1)
    rng = np.random.default_rng(10)
    part = dense.shape[2] // count
    for name, of, lines in (("scale_a", core.scale_a, 16), ("scale_b", core.scale_b, 8)):
        words = np.zeros((32, 1), np.uint32)
        powers = rng.integers(0, 3, (lines, count))
        for line in range(lines):
            for i in range(count):
                thread, bit = of(line, i)
                words[thread, 0] |= np.uint32((one + step * int(powers[line, i])) << bit)
        given[name] = words
        factor = np.repeat(1 << powers, part, axis=1)
        if name == "scale_a":
            dense = dense * factor[None]
        else:
            b = b * factor.T[None]
    return dense, b


MMA = core.spellings("mma", ["aligned"])


@pytest.mark.parametrize("spelling", MMA)
def test_mma_multiplies_what_the_picture_says(spelling):
    of = operands(spelling)
    d_type, a_type, b_type, c_type = types_of(spelling)[:4]
    depth = of["b"].rows
    matrices = {
        name: values.numbers((of[name].matrices, of[name].rows, of[name].columns), dtype, seed)
        for name, dtype, seed in (("a", a_type, 1), ("b", b_type, 2), ("c", c_type, 3))
    }
    given = {
        name: values.to_registers(
            of[name], values.codes(matrices[name], dtype, of[name].element_bits)
        )
        for name, dtype in (("a", a_type), ("b", b_type), ("c", c_type))
    }
    a, b, c = (matrices[name] for name in "abc")
    if of["a"].is_compressed:
        a, given["metadata"] = sparse(a, of["a"], a_type, depth, 0)
    if "block_scale" in spelling:
        a, b = scaled(spelling, a, b, given)

    def body(r, _):
        extra = [r["metadata"][0], 0] if "metadata" in given else []
        for name in ("scale_a", "scale_b"):
            if name in given:
                extra += [r[name][0], [reg.scalar(u16, 0), reg.scalar(u16, 0)]]
        emit = lanes.instruction(spelling)
        emit(*[list(r[name]) for name in "dabc"], *extra)

    counts = {"d": (of["d"].fragment.registers, of["d"].register_bits)}
    found, _ = lanes.run(body, given, counts)
    got = values.as_numbers(values.from_registers(of["d"], found["d"]), d_type)
    product = (a[:, :, :, None] ^ b[:, None]).sum(2) if ".xor" in spelling else a @ b
    np.testing.assert_array_equal(got, product + c)


def test_every_shape_and_type_of_mma_is_there():
    slots = [dict(form) for form in core.slots("mma")]
    shapes = {v for form in slots for values in form.values() for v in values if v[0] == "m"}
    assert {word for text in MMA for word in text.split(".")[1:] if word[0] == "m"} == shapes
    assert {types_of(text)[1] for text in MMA} == {v for form in slots for v in form["atype"]}


def rows_of(operand, image: np.ndarray) -> tuple[np.ndarray, int]:
    """Addresses of each lane, 16 bytes apart in an order of no system, and their number."""
    count = operand.address_rows * operand.matrices
    order = np.random.default_rng(5).permutation(32)
    return order[:, None].astype(np.uint32) * 16, count


def unpacked(row: np.ndarray, spelling: str, columns: int) -> list[int]:
    """The elements of 16 bytes of memory as ldmatrix gives them."""
    if "b6x16_p32" in spelling:
        number = int.from_bytes(row.tobytes(), "little")
        return [number >> 6 * i & 63 for i in range(16)]
    if "b4x16_p64" in spelling:
        number = int.from_bytes(row.tobytes(), "little")
        return [(number >> 4 * i & 15) << 2 for i in range(16)]
    return row.view("<u2" if columns == 8 else "u1").tolist()


LDMATRIX = [text for text in core.spellings("ldmatrix", ["aligned", "shared"]) if ".s8" not in text]


@pytest.mark.parametrize("spelling", LDMATRIX)
def test_ldmatrix_gives_each_lane_what_the_picture_says(spelling):
    (of,) = core.fragments(spelling)
    image = np.random.default_rng(4).integers(0, 256, 1024).astype(np.uint8)
    at, _ = rows_of(of, image)

    def body(r, address):
        lanes.instruction(spelling)(list(r["r"]), ptx.addr(r["at"][0] + address))

    found, _ = lanes.run(body, {"at": at}, {"r": (of.fragment.registers, 32)}, shared=image)
    got = values.from_registers(of, found["r"])
    for matrix in range(of.matrices):
        for row in range(of.rows):
            first = int(at[of.address_rows * matrix + row, 0])
            wanted = unpacked(image[first : first + 16], spelling, of.columns)
            assert got[matrix, row].tolist() == wanted


@pytest.mark.parametrize("spelling", core.spellings("stmatrix", ["aligned", "shared"]))
def test_stmatrix_puts_each_lane_where_the_picture_says(spelling):
    (of,) = core.fragments(spelling)
    shape = (of.matrices, of.rows, of.columns)
    matrices = np.random.default_rng(6).integers(0, 1 << of.element_bits, shape)
    at, count = rows_of(of, matrices)

    def body(r, address):
        lanes.instruction(spelling)(ptx.addr(r["at"][0] + address), list(r["r"]))

    given = {"at": at, "r": values.to_registers(of, matrices)}
    _, after = lanes.run(body, given, {})
    dtype = "<u2" if of.element_bits == 16 else "u1"
    for matrix in range(of.matrices):
        lines = matrices[matrix].T if of.address_by_column else matrices[matrix]
        for row, line in enumerate(lines):
            first = int(at[of.address_rows * matrix + row, 0])
            assert after[first : first + 16].view(dtype).tolist() == line.tolist()
    assert not after.reshape(-1, 16)[[i for i in range(64) if i * 16 not in at[:count]]].any()


def test_movmatrix_transposes():
    (spelling,) = core.spellings("movmatrix", ["aligned"])
    of = operands(spelling)
    matrix = np.arange(64, dtype=np.uint64).reshape(1, 8, 8)
    given = {"a": values.to_registers(of["a"], matrix)}
    found, _ = lanes.run(
        lambda r, _: lanes.instruction(spelling)(r["d"][0], r["a"][0]), given, {"d": (1, 32)}
    )
    np.testing.assert_array_equal(values.from_registers(of["d"], found["d"]), matrix)


WMMA = [text for text in core.spellings("wmma", ["aligned", "shared"]) if ".load." in text]


@pytest.mark.parametrize("spelling", WMMA)
def test_wmma_load_gives_each_lane_what_the_picture_says(spelling):
    (of,) = core.fragments(spelling)
    bits = of.element_bits
    by_rows = ".row." in spelling
    image = np.random.default_rng(7).integers(0, 256, 4096).astype(np.uint8)
    lines, length = (of.rows, of.columns) if by_rows else (of.columns, of.rows)
    stride = max(length, 128 // bits)

    def body(r, address):
        lanes.instruction(spelling)(list(r["r"]), ptx.addr(address), reg.scalar(u32, stride))

    count = register_count(spelling)
    found, _ = lanes.run(body, {}, {"r": (count, of.register_bits)}, shared=image)
    got = values.from_registers(of, found["r"][:, : of.fragment.registers])[0]
    number = np.unpackbits(image, bitorder="little")
    for line in range(lines):
        for i in range(length):
            first = (line * stride + i) * bits
            wanted = int.from_bytes(
                np.packbits(number[first : first + bits], bitorder="little"), "little"
            )
            assert int(got[line, i] if by_rows else got[i, line]) == wanted


def register_count(spelling: str) -> int:
    """An .f16 A or B repeats its registers up to eight."""
    (of,) = core.fragments(spelling)
    is_half = spelling.endswith(".f16") and ".c." not in spelling
    return 8 if is_half else of.fragment.registers
