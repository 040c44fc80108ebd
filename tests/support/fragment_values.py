# SPDX-License-Identifier: Apache-2.0
"""Small numbers as the bits of every element type, into registers by a fragment and out of them."""

from __future__ import annotations

from typing import Any

import numpy as np

# 1 and 2 in each type, as the type's own format has them; 4-bit floats in a byte stand in bits 2-5.
ONE_AND_TWO = {
    "f64": (0x3FF0000000000000, 0x4000000000000000),
    "f32": (0x3F800000, 0x40000000),
    "tf32": (0x3F800000, 0x40000000),
    "f16": (0x3C00, 0x4000),
    "bf16": (0x3F80, 0x4000),
    "e4m3": (0x38, 0x40),
    "e5m2": (0x3C, 0x40),
    "e3m2": (0x0C, 0x10),
    "e2m3": (0x08, 0x10),
    "e2m1": (0x2, 0x4),
    **dict.fromkeys(("s32", "s8", "u8", "s4", "u4"), (1, 2)),
    "b1": (1, None),
}


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Return random 0, 1 and 2; of single bits 0 and 1."""
    top = 2 if dtype == "b1" else 3
    return np.random.default_rng(seed).integers(0, top, shape)


def codes(values: np.ndarray, dtype: str, bits: int) -> np.ndarray:
    """Return the bits of 0, 1 and 2 in elements of `bits`."""
    one, two = ONE_AND_TWO[dtype]
    shift = 2 if dtype == "e2m1" and bits == 8 else 0
    table = np.array([0, one << shift, (two or 0) << shift], np.uint64)
    return table[values]


def to_registers(operand: Any, elements: np.ndarray) -> np.ndarray:
    """Return (threads, registers) that hold `elements` [matrix, row, column], bits of each."""
    f, bits = operand.fragment, operand.element_bits
    wide = operand.register_bits == 64
    registers = np.zeros((f.threads, f.registers), np.uint64)
    for thread in range(f.threads):
        for register in range(f.registers):
            for element in range(f.elements):
                row, column, matrix = f.at(thread, register, element)
                value = int(elements[matrix, row, column])
                registers[thread, register] |= np.uint64(value << (bits * element))
    return registers if wide else registers.astype(np.uint32)


def from_registers(operand: Any, registers: np.ndarray) -> np.ndarray:
    """Return the elements [matrix, row, column] that (threads, registers) hold, as bits."""
    f, bits = operand.fragment, operand.element_bits
    shape = (operand.matrices, operand.rows, operand.columns)
    elements = np.zeros(shape, np.uint64)
    seen = np.zeros(shape, bool)
    for thread in range(f.threads):
        for register in range(f.registers):
            for element in range(f.elements):
                row, column, matrix = f.at(thread, register, element)
                value = int(registers[thread, register]) >> (bits * element) & ((1 << bits) - 1)
                elements[matrix, row, column] = value
                seen[matrix, row, column] = True
    assert seen.all(), "an element of the matrix is in no register"
    return elements


def as_numbers(elements: np.ndarray, dtype: str) -> np.ndarray:
    """Return bits as the numbers that they are, of a type of results."""
    if dtype == "f64":
        return elements.view(np.float64)
    if dtype == "f32":
        return elements.astype(np.uint32).view(np.float32)
    if dtype == "f16":
        return elements.astype(np.uint16).view(np.float16)
    return elements.astype(np.uint32).view(np.int32)
