# SPDX-License-Identifier: Apache-2.0
"""One instruction of a warp or warpgroup, with registers that a test chose for every thread.

What goes in is loaded as it is, what comes out is stored as it is: nothing here knows a layout.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pyptx import Error, Tile, kernel, ptx, reg, smem
from pyptx.types import b32, b64, u8, u32, u64

Registers = Mapping[str, np.ndarray]  # (threads, registers) of 32 or 64 bits
ARCHS = ("sm_90a", "sm_120a", "sm_100a", "sm_100f", "sm_110f")


def instruction(spelling: str) -> Any:
    """Return what emits an instruction of this spelling."""
    node = ptx.inst
    for word in spelling.split("."):
        name = word.replace("::", "__")
        name = f"_{name}" if name[0].isdigit() else name
        node = getattr(node, f"{name}_" if keyword.iskeyword(name) else name)
    return node


def run(
    body: Callable[[Mapping[str, Any], Any], None],
    given: Registers,
    results: Mapping[str, tuple[int, int]],
    *,
    threads: int = 32,
    shared: np.ndarray | None = None,
    arch: str | None = None,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the registers `results` (name: count, bits) after the body, and shared memory.

    `body(registers, address)` emits; `address` is that of the shared image, aligned to 1024.
    """
    image = np.zeros(1024, np.uint8) if shared is None else shared
    size = image.size
    flat = np.concatenate([image, *[_bytes_of(one) for one in given.values()]])
    bits = {name: 8 * one.dtype.itemsize for name, one in given.items()}
    sizes = {name: one.shape[1] for name, one in given.items()}
    total = sum(count * width // 8 for count, width in results.values()) * threads + image.size

    def trace(X, Y):
        source, target = ptx.global_ptrs(X, Y)
        tid = reg.from_(ptx.special.tid.x(), u32)
        room = smem.alloc(u32, (size // 4,), align=1024, name="image")
        address = room.address()
        with ptx.range_(tid, size // 4, threads) as word:
            value = reg.scalar(b32)
            ptx.inst.ld.global_.b32(value, ptx.addr(source + (reg.from_(word, u64) << 2)))
            ptx.inst.st.shared.b32(ptx.addr(address + (word << 2)), value)
        ptx.bar.sync(0)
        registers = {}
        offset = size
        for name, count in sizes.items():
            registers[name] = _array(count, bits[name])
            offset = _move(registers[name], bits[name], source, offset, tid, threads, is_load=True)
        for name, (count, width) in results.items():
            registers[name] = registers.get(name) or _array(count, width)
        body(registers, address)
        ptx.bar.sync(0)
        with ptx.range_(tid, size // 4, threads) as word:
            value = reg.scalar(b32)
            ptx.inst.ld.shared.b32(value, ptx.addr(address + (word << 2)))
            ptx.inst.st.global_.b32(ptx.addr(target + (reg.from_(word, u64) << 2)), value)
        offset = size
        for name, (_, width) in results.items():
            offset = _move(registers[name], width, target, offset, tid, threads, is_load=False)
        ptx.ret()

    out = _first_target(trace, flat, total, threads, arch)
    after, rest = out[: image.size], out[image.size :]
    found = {}
    for name, (count, width) in results.items():
        size = threads * count * width // 8
        found[name] = rest[:size].view(f"<u{width // 8}").reshape(threads, count)
        rest = rest[size:]
    return found, after


def _first_target(
    trace: Any, flat: np.ndarray, total: int, threads: int, arch: str | None
) -> np.ndarray:
    refused: Error | None = None
    for target in (arch,) if arch else ARCHS:
        one = kernel(
            in_specs=(Tile(flat.size, u8),),
            out_specs=(Tile(total, u8),),
            grid=(1, 1, 1),
            block=(threads, 1, 1),
            arch=target,
        )(trace)
        try:
            one.ptx()
        except Error as error:
            refused = error
            continue
        return np.asarray(one(flat))
    assert refused is not None
    raise refused


def _bytes_of(registers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(registers).view(np.uint8).reshape(-1)


def _array(count: int, bits: int) -> Any:
    return reg.array(b64 if bits == 64 else b32, count)


def _move(
    registers: Any, bits: int, base: Any, offset: int, tid: Any, threads: int, *, is_load: bool
) -> int:
    """Load or store the registers of every thread, one thread after the other."""
    size = bits // 8
    count = len(registers)
    own = base + reg.from_(tid * (count * size), u64)
    for i in range(count):
        place = ptx.addr(own, offset + i * size)
        access = ptx.inst.ld.global_ if is_load else ptx.inst.st.global_
        access = access.b64 if bits == 64 else access.b32
        _ = access(registers[i], place) if is_load else access(place, registers[i])
    return offset + threads * count * size
