# SPDX-License-Identifier: Apache-2.0
"""Tensor maps that a kernel changes: every field replaced, the map published, a tile loaded.

A map of another shape, type and place becomes the map of the inputs: 32 rows of 16 words. What the
box brings then is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from record.launch import Launch, Map
from record.worked import Sum, Words, Worked, works

BYTES = "mbarrier::complete_tx::bytes"
WORDS = 16  # of a row, one row for each thread
BOX = (8, 16)
AT = (4, 6)  # where the box begins
READY = (
    "mov.u32 r10, mbar; setp.eq.u32 p3, tid, 0; @p3 mbarrier.init.shared.b64 [r10], 1;"
    "@p3 fence.mbarrier_init.release.cluster; mov.u32 r1, tile; bar.sync 0;"
    f"mov.u32 r2, {AT[0]}; mov.u32 r3, {AT[1]};"
    "@p3 mbarrier.arrive.expect_tx.shared.b64 d0, [r10], 512;"
)
READ = (
    "WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r10], 0; @!p1 bra WAIT;"
    "mad.lo.u32 r4, tid, 16, r1; ld.shared.v4.b32 {r5, r6, r7, r8}, [r4];"
    "st.global.v4.b32 [dst], {r5, r6, r7, r8};"
)


# The first 128 bytes, a word for each thread.
READ_FIRST = (
    "WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r10], 0; @!p1 bra WAIT;"
    "mad.lo.u32 r4, tid, 4, r1; ld.shared.b32 r5, [r4]; st.global.b32 [dst], r5;"
)


def first_of_box(words: Words) -> Words:
    """Return the first four rows of the box, a word for each thread; no swizzle moves them."""
    return box_of(words).reshape(-1)[:32].reshape(32, 1)


def box_of(words: Words) -> Words:
    """Return the box, four words for each thread."""
    (left, top), (width, height) = AT, BOX
    return words[top : top + height, left : left + width].reshape(32, 4)


def swizzled(words: Words) -> Words:
    """Return the box as the 32-byte swizzle leaves it: bit 4 of an address is flipped by bit 7."""
    flat = box_of(words).reshape(-1)
    places = np.arange(128) * 4
    return flat[(places ^ ((places >> 7 & 1) << 4)) // 4].reshape(32, 4)


def tensor_map(
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    dtype: str,
    buffer: int = 0,
) -> Map:
    """Return a map of a buffer: 0 has the inputs, 1 the outputs."""
    from pyptx import _core

    return Map(buffer, _core.TensorMap(dtype, list(dims), list(strides), list(box), "none"))


def right_map() -> Map:
    """Return the map of the inputs."""
    return tensor_map((WORDS, 32), (4 * WORDS,), BOX, "u32")


def other_map() -> Map:
    """Return a map in which every field is another."""
    return tensor_map((64, 3, 5), (256, 1024), (16, 2, 1), "u8")


def replacements(space: str, base: str, swizzle: int) -> str:
    """Write every field anew; `base` is where the map lies."""
    lines = [
        f"global_address.{space}.b1024.b64 [{base}], d6", f"rank.{space}.b1024.b32 [{base}], 1",
        f"box_dim.{space}.b1024.b32 [{base}], 0, {BOX[0]}",
        f"box_dim.{space}.b1024.b32 [{base}], 1, {BOX[1]}",
        f"global_dim.{space}.b1024.b32 [{base}], 0, {WORDS}",
        f"global_dim.{space}.b1024.b32 [{base}], 1, 32",
        f"global_stride.{space}.b1024.b64 [{base}], 0, {4 * WORDS}",
        f"element_stride.{space}.b1024.b32 [{base}], 0, 1",
        f"element_stride.{space}.b1024.b32 [{base}], 1, 1",
        f"elemtype.{space}.b1024.b32 [{base}], 2",
        f"interleave_layout.{space}.b1024.b32 [{base}], 0",
        f"swizzle_mode.{space}.b1024.b32 [{base}], {swizzle}",
        f"fill_mode.{space}.b1024.b32 [{base}], 0",
    ]  # fmt: skip
    return "".join(f"@p3 tensormap.replace.tile.{line};" for line in lines)


COPY = "".join(
    f"ld.param.b64 d{8 + i % 4}, [map+{8 * i}]; @p3 st.SPACE.b64 [BASE+{8 * i}], d{8 + i % 4};"
    for i in range(16)
)


def _loads() -> Iterator[Sum]:
    box = "[map_at, {r2, r3}]"
    for words in ("shared::cta.global.tile", "shared::cluster.global.tile", "shared::cta.global"):
        line = f"cp.async.bulk.tensor.2d.{words}.{BYTES} [r1], {box}, [r10]"
        lines = f"{READY} @p3 {line}; {READ_FIRST}"
        yield Sum(line, lines, first_of_box, WORDS, map=right_map)
    load = f"@p3 cp.async.bulk.tensor.2d.shared::cluster.global.{BYTES} [r1], {box}, [r10];"
    policy = "createpolicy.fractional.L2::evict_first.b64 d2;"
    for hint in (
        "prefetch.param.tensormap [map]", "prefetch.tensormap [map_at]",
        f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile {box}",
        f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile.L2::cache_hint {box}, d2",
    ):  # fmt: skip
        lines = f"{policy} {READY} @p3 {hint}; {load} {READ_FIRST}"
        yield Sum(hint, lines, first_of_box, WORDS, map=right_map)


def out_map() -> Map:
    """Return the map of the outputs."""
    return tensor_map((WORDS, 32), (4 * WORDS,), BOX, "u32", 1)


def _stores() -> Iterator[Sum]:
    """Store a tile into a box of the outputs, or add it to what is there."""
    start = "".join(
        f"ld.global.v4.b32 {{r4, r5, r6, r7}}, [src+{16 * i}];"
        f"st.global.v4.b32 [dst+{16 * i}], {{r4, r5, r6, r7}};"
        for i in range(WORDS // 4)
    )
    lines = (
        "setp.eq.u32 p3, tid, 0; mov.u32 r1, tile; mad.lo.u32 r8, tid, 16, r1;"
        f"mov.u32 r2, {AT[0]}; mov.u32 r3, {AT[1]};"
        f"ld.global.v4.b32 {{r4, r5, r6, r7}}, [src]; st.shared.v4.b32 [r8], {{r4, r5, r6, r7}};"
    )
    done = "@p3 cp.async.bulk.commit_group; @p3 cp.async.bulk.wait_group 0;"
    for reduces, words in ((False, "cp.async"), (True, "cp.reduce.async")):
        add = ".add" if reduces else ""
        line = (
            f"{words}.bulk.tensor.2d.global.shared::cta{add}.tile.bulk_group"
            " [map_at, {r2, r3}], [r1]"
        )

        def after(words: Words, reduces: bool = reduces) -> Words:
            found = words.copy() if reduces else words * 0
            (left, top), (width, height) = AT, BOX
            tile = words[:, :4].reshape(height, width)
            found[top : top + height, left : left + width] += tile
            return found

        text = (
            f"{lines} {start if reduces else ''} fence.proxy.async; bar.sync 0; @p3 {line}; {done}"
        )
        yield Sum(line, text, after, WORDS, map=out_map)


THERE = ".global .align 128 .b8 there[128];"


def _both(key: str, lines: str, after: Callable[[Words], Words]) -> Iterator[Sum]:
    """Read the first rows of a box, and all of it."""
    text = f"{lines} {READ_FIRST}"
    yield Sum(key, text, first_of_box, WORDS, map=other_map, module=THERE)
    text = f"{lines} {READ}"
    yield Sum(f"{key}, all of it", text, after, WORDS, map=other_map, module=THERE)


def _replaced() -> Iterator[Sum]:
    first = f"mul.wide.u32 d5, idx, {4 * WORDS}; sub.u64 d6, src, d5;"
    load = (
        f"@p3 cp.async.bulk.tensor.2d.shared::cluster.global.{BYTES} [r1], [d4, {{r2, r3}}], [r10];"
    )
    for swizzle, after in ((0, box_of), (1, swizzled)):
        copy = COPY.replace("SPACE", "global").replace("BASE", "d4")
        lines = (
            f"{READY} {first} mov.u64 d4, there; {copy} {replacements('global', 'd4', swizzle)}"
            "@p3 fence.proxy.tensormap::generic.release.gpu;"
            f"@p3 fence.proxy.tensormap::generic.acquire.gpu [d4], 128; {load}"
        )
        yield from _both(f"in global memory, swizzle {swizzle}", lines, after)
        copy = COPY.replace("SPACE", "shared").replace("BASE", "r8")
        lines = (
            f"{READY} {first} add.u32 r8, r1, 4096; "
            f"{copy} {replacements('shared::cta', 'r8', swizzle)}"
            "bar.warp.sync -1; mov.u64 d4, there;"
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
            " [d4], [r8], 128;"
            f"@p3 fence.proxy.tensormap::generic.acquire.gpu [d4], 128; {load}"
        )
        yield from _both(f"in shared memory, swizzle {swizzle}", lines, after)


class TensormapSet:
    """Maps that are prefetched and replaced."""

    name = "tensormap"
    about = "tensormap.replace, cp_fenceproxy, prefetches of maps and tensors"
    targets: tuple[str, ...] = ("sm_90a",)

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        for sums in (_loads(), _stores(), _replaced()):
            yield from works(sums, target)

    def launches(self, target: str) -> Iterator[Launch]:
        """All of them."""
        yield from (one.launch for one in self.worked(target))
