# SPDX-License-Identifier: Apache-2.0
"""Memory, copies and synchronisation of later targets and versions, trap and brkpt."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from record.launch import Map
from record.sets.tensormap import (
    AT,
    BOX,
    BYTES,
    COPY,
    READ,
    READY,
    THERE,
    WORDS,
    other_map,
    replacements,
    tensor_map,
)  # fmt: skip
from record.worked import Sum, Words, Worked, same, works

_FENCES = (
    "fence.proxy.alias.acquire.sys",
    "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster",
)


def _fences() -> Iterator[Sum]:
    for fence in _FENCES:
        lines = (
            "ld.global.b32 r0, [src]; mov.u32 r1, tile; mad.lo.u32 r2, tid, 4, r1;"
            f"st.shared.b32 [r2], r0; {fence}; bar.sync 0; xor.b32 r2, r2, 4;"
            "ld.shared.b32 r3, [r2]; st.global.b32 [dst], r3;"
        )
        yield Sum(fence, lines, lambda words: words[np.arange(32) ^ 1], version="9.4")


def _emptied(words: Words) -> Words:
    left = words.copy()
    left[8:24] = 0
    return left


def _memory() -> Iterator[Sum]:
    for load in ("ld.global.b32.proxy::readonly", "ld.proxy::readonly.b32"):
        lines = f"{load} r0, [src]; st.global.b32 [dst], r0;"
        yield Sum(load, lines, same, version="9.4")
    for hint in ("prefetch.global.L1::32B.valid_addr [src]",):
        lines = f"{hint}; ld.global.b32 r0, [src]; st.global.b32 [dst], r0;"
        yield Sum(hint, lines, same, version="9.4")
    yield Sum("trap", "setp.eq.u32 p0, tid, 3; @p0 trap;", same, code="PTX0912")
    yield Sum("brkpt", "setp.eq.u32 p0, tid, 3; @p0 brkpt;", same, code="PTX0912")
    skipped = "setp.eq.u32 p0, tid, 9999; @p0 brkpt;"
    lines = f"{skipped} ld.global.b32 r0, [src]; st.global.b32 [dst], r0;"
    yield Sum("brkpt not taken", lines, same)


def _zeros() -> Iterator[Sum]:
    for zeros, size in (
        ("st.bulk.weak.shared::cta [r2], 64, 0", ""),
        ("st.bulk [d1], d0, 0", "mov.u64 d0, 64; cvt.u64.u32 d1, r2; cvta.shared.u64 d1, d1;"),
        ("st.bulk.shared::cta [r2], r3, 0", "mov.u32 r3, 64;"),
    ):
        lines = (  # words 8 to 23 become zero
            "ld.global.b32 r0, [src]; mov.u32 r1, tile; mad.lo.u32 r1, tid, 4, r1;"
            f"st.shared.b32 [r1], r0; mov.u32 r2, tile; add.u32 r2, r2, 32; {size} bar.sync 0;"
            f"setp.eq.u32 p0, tid, 31; @p0 {zeros}; bar.sync 0;"
            "ld.shared.b32 r4, [r1]; st.global.b32 [dst], r4;"
        )
        yield Sum(zeros, lines, _emptied, version="9.0")


def _wide() -> Iterator[Sum]:
    """Vectors of 32 bytes."""
    halves = (
        "ld.global.v4.b32 {r0, r1, r2, r3}, [src]; ld.global.v4.b32 {r4, r5, r6, r7}, [src+16];"
    )
    for words in ("st.global", "st.global.L2::evict_last", "st.weak.global.L1::no_allocate"):
        lines = f"{halves} {words}.v8.b32 [dst], {{r0, r1, r2, r3, r4, r5, r6, r7}};"
        yield Sum(f"{words}.v8.b32", lines, same, 8)
    pairs = "ld.global.v2.b64 {d0, d1}, [src]; ld.global.v2.b64 {d2, d3}, [src+16];"
    yield Sum("st.global.v4.b64", f"{pairs} st.global.v4.b64 [dst], {{d0, d1, d2, d3}};", same, 8)


def _cancelled() -> Iterator[Sum]:
    """CTAs that take the work of others away: every block is done once, whoever does it."""
    lines = """
    mov.u32 r10, mbar; mov.u32 r11, tile; mov.u32 r12, cta; mov.u32 r13, 0;
    setp.eq.u32 p3, tid, 0; @p3 mbarrier.init.shared.b64 [r10], 1;
    @p3 fence.mbarrier_init.release.cluster;
    mul.wide.u32 d0, idx, 4; sub.u64 d1, src, d0; sub.u64 d2, dst, d0; bar.sync 0;
    AGAIN: mad.lo.u32 r14, r12, 32, tid; mul.wide.u32 d3, r14, 4; add.u64 d4, d1, d3;
    add.u64 d5, d2, d3; ld.global.b32 r0, [d4]; red.global.add.u32 [d5], r0; bar.sync 0;
    @p3 mbarrier.arrive.expect_tx.shared.b64 d6, [r10], 16;
    @p3 fence.proxy.async;
    @p3 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128
    [r11], [r10];
    WAIT: mbarrier.try_wait.parity.shared.b64 p0, [r10], r13; @!p0 bra WAIT;
    xor.b32 r13, r13, 1; ld.shared.b128 q0, [r11];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, q0;
    @!p1 bra END;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 r12, q0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {r15, r16, r17, _}, q0;
    min.u32 r12, r12, r15; add.u32 r12, r12, r16; add.u32 r12, r12, r17; bra AGAIN;
    END:
    """
    yield Sum("clusterlaunchcontrol", lines, same, ctas=12)


_ROWS = (3, 17, 0, 31)
_LEFT = 4


def _rows_map(buffer: int = 0) -> Map:
    """Return a map whose box is part of one row: four of them make a copy."""
    return tensor_map((WORDS, 32), (4 * WORDS,), (BOX[0], 1), "u32", buffer)


def _gathered(words: Words) -> Words:
    return words[list(_ROWS), _LEFT : _LEFT + BOX[0]].reshape(32, 1)


def _gathers() -> Iterator[Sum]:
    rows = ", ".join(f"r{20 + i}" for i in range(4))
    place = "".join(f"mov.u32 r{20 + i}, {row};" for i, row in enumerate(_ROWS))
    box = f"[map_at, {{r2, {rows}}}]"
    ready = f"{READY.replace('512', '128')} {place}"
    read = (
        "WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r10], 0; @!p1 bra WAIT;"
        "mad.lo.u32 r4, tid, 4, r1; ld.shared.b32 r5, [r4]; st.global.b32 [dst], r5;"
    )
    load = (
        f"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.{BYTES} [r1], {box}, [r10]"
    )
    for words in ("shared::cluster", "shared::cta"):
        line = load.replace("shared::cluster", words)
        yield Sum(line, f"{ready} @p3 {line}; {read}", _gathered, WORDS, map=_rows_map)
    hint = f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 {box}"
    yield Sum(hint, f"{ready} @p3 {hint}; @p3 {load}; {read}", _gathered, WORDS, map=_rows_map)
    yield from _scatters(box, place)


def _scatters(box: str, place: str) -> Iterator[Sum]:
    """Four rows of a tile go to four rows of the output."""
    fill = "".join(
        f"ld.global.v4.b32 {{r4, r5, r6, r7}}, [src+{16 * i}];"
        f"OLD st.global.v4.b32 [dst+{16 * i}], {{r4, r5, r6, r7}};"
        for i in range(WORDS // 4)
    )
    lines = (
        f"setp.eq.u32 p3, tid, 0; mov.u32 r1, tile; mov.u32 r2, {_LEFT}; {place}"
        "ld.global.b32 r3, [src]; mad.lo.u32 r8, tid, 4, r1; st.shared.b32 [r8], r3;"
    )
    done = "@p3 cp.async.bulk.commit_group; @p3 cp.async.bulk.wait_group 0;"
    for reduces in (False, True):
        head = "cp.reduce.async" if reduces else "cp.async"
        add = ".add" if reduces else ""
        line = (
            f"{head}.bulk.tensor.2d.global.shared::cta{add}.tile::scatter4.bulk_group {box}, [r1]"
        )
        start = fill.replace("OLD", "") if reduces else ""

        def after(words: Words, reduces: bool = reduces) -> Words:
            found = words.copy() if reduces else words * 0
            tile = words[:, 0].reshape(4, BOX[0])
            for row, values in zip(_ROWS, tile, strict=True):
                found[row, _LEFT : _LEFT + BOX[0]] += values
            return found

        text = f"{lines} {start} fence.proxy.async; bar.sync 0; @p3 {line}; {done}"
        yield Sum(line, text, after, WORDS, map=lambda: _rows_map(1))


def _replaced() -> Iterator[Sum]:
    """Replace a field of tensor maps that later targets have; the box is eight whole rows."""
    first = f"mul.wide.u32 d5, idx, {4 * WORDS}; sub.u64 d6, src, d5; mov.u64 d4, there;"
    copy = COPY.replace("SPACE", "global").replace("BASE", "d4")
    field = "@p3 tensormap.replace.tile."
    more = (
        f"{field}swizzle_atomicity.global.b1024.b32 [d4], 0; mov.u32 r2, 0;"
        f"{field}box_dim.global.b1024.b32 [d4], 0, {WORDS};"
        f"{field}box_dim.global.b1024.b32 [d4], 1, 8;"
    )
    lines = (
        f"{READY} {first} {copy} {replacements('global', 'd4', 2)} {more}"
        "@p3 fence.proxy.tensormap::generic.release.gpu;"
        "@p3 fence.proxy.tensormap::generic.acquire.gpu [d4], 128;"
        f"@p3 cp.async.bulk.tensor.2d.shared::cluster.global.{BYTES} [r1], [d4, {{r2, r3}}], [r10];"
        f"{READ}"
    )
    yield Sum("swizzle_atomicity", lines, _swizzled_64, WORDS, map=other_map, module=THERE)


def _swizzled_64(words: Words) -> Words:
    """Return the rows as the 64-byte swizzle leaves them: bits 4 and 5 are flipped by 7 and 8."""
    flat = words[AT[1] : AT[1] + 8].reshape(-1)
    places = np.arange(128) * 4
    return flat[(places ^ ((places >> 7 & 3) << 4)) // 4].reshape(32, 4)


def _priorities() -> Iterator[Sum]:
    """Hints of sm_107: what is loaded afterwards is what was there."""
    rows = ", ".join(f"r{20 + i}" for i in range(4))
    place = "".join(f"mov.u32 r{20 + i}, {row};" for i, row in enumerate(_ROWS))
    head = f"setp.eq.u32 p3, tid, 0; mov.u32 r2, {_LEFT}; mov.u32 r3, 2; {place}"
    after = "ld.global.b32 r0, [src]; st.global.b32 [dst], r0;"
    done = "@p3 cp.async.bulk.commit_group; @p3 cp.async.bulk.wait_group 0;"
    for hint in (
        "applypriority.async.bulk.global.bulk_group.L2::evict_normal [src], 64",
        "applypriority.async.bulk.tensor.2d.global.bulk_group.tile.L2::evict_normal"
        " [map_at, {r2, r3}]",
        "applypriority.async.bulk.tensor.2d.global.bulk_group.tile::gather4.L2::evict_normal"
        f" [map_at, {{r2, {rows}}}]",
    ):
        lines = f"{head} @p3 {hint}; {done} {after}"
        yield Sum(hint, lines, lambda words: words[:, :1], WORDS, map=_rows_map, version="9.4")


class LaterSet:
    """What came after Hopper, or after the version that the recording machine reads."""

    name = "later"
    about = "wide stores, zeros in bulk, gathers, cancelled launches, late fences, trap"
    targets: tuple[str, ...] = ("sm_90a", "sm_100a", "sm_107a")

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        sums: dict[str, Callable[[], Iterator[Sum]]] = {
            "sm_90a": lambda: itertools.chain(_fences(), _memory()),
            "sm_100a": lambda: itertools.chain(
                _wide(), _zeros(), _cancelled(), _gathers(), _replaced()
            ),
            "sm_107a": _priorities,
        }
        yield from works(sums[target](), target)
