# SPDX-License-Identifier: Apache-2.0
"""Loads, stores, what is said to the caches, and addresses: the value that was there arrives."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from record.launch import Launch
from record.worked import Sum, Words, Worked, same, works

_LOADS = (
    "ld.global.b32", "ld.b32", "ld.global.ca.b32", "ld.global.cg.b32", "ld.global.cs.b32",
    "ld.global.lu.b32", "ld.global.cv.b32", "ld.global.L1::evict_last.b32",
    "ld.weak.global.L1::evict_normal.b32", "ld.global.L1::no_allocate.L2::256B.b32",
    "ld.global.L1::evict_first.L2::64B.b32", "ld.global.L1::evict_unchanged.b32",
    "ld.volatile.global.b32", "ld.volatile.b32", "ld.relaxed.cta.global.b32",
    "ld.relaxed.gpu.global.L1::no_allocate.b32",
    "ld.relaxed.sys.b32", "ld.acquire.cluster.global.b32",
    "ld.acquire.gpu.global.L2::128B.b32", "ld.mmio.relaxed.sys.global.b32", "ld.global.nc.b32",
    "ld.global.ca.nc.b32", "ld.global.cg.nc.L2::128B.b32",
    "ld.global.nc.L1::evict_last.b32",
    "ld.global.nc.L1::no_allocate.L2::256B.b32", "ldu.global.b32",
)  # fmt: skip
_VECTORS = (
    "ld.global.v2.b32", "ld.global.v4.b32", "ld.global.v2.b64", "ld.volatile.global.v4.b32",
    "ld.global.nc.v4.b32", "ld.global.nc.L1::no_allocate.v2.b64", "ld.global.L1::evict_last.v4.b32",
    "ldu.global.v4.b32", "ld.relaxed.gpu.global.v2.b32",
    "ld.global.b128", "ld.acquire.sys.global.b128",
)  # fmt: skip
_HINTED = (
    "ld.global.L2::cache_hint.b32", "ld.global.L1::evict_first.L2::cache_hint.b32",
    "ld.global.nc.L2::cache_hint.b32", "ld.global.nc.L1::evict_last.L2::cache_hint.L2::128B.b32",
    "ld.relaxed.gpu.global.L2::cache_hint.b32",
)  # fmt: skip
_STORES = (
    "st.global.b32", "st.b32", "st.global.wb.b32", "st.global.cg.b32", "st.global.cs.b32",
    "st.global.wt.b32", "st.global.L1::no_allocate.b32", "st.weak.global.L1::evict_last.b32",
    "st.volatile.global.b32", "st.volatile.b32", "st.relaxed.cta.global.b32",
    "st.relaxed.gpu.global.L1::evict_first.b32", "st.release.gpu.global.b32", "st.release.sys.b32",
    "st.mmio.relaxed.sys.global.b32",
)  # fmt: skip
_STORED_VECTORS = (
    "st.global.v2.b32", "st.global.v4.b32", "st.global.v2.b64", "st.volatile.global.v4.b32",
    "st.global.L1::no_allocate.v4.b32", "st.relaxed.gpu.global.v2.b32", "st.global.b128",
)  # fmt: skip
_POLICIES = (
    "createpolicy.fractional.L2::evict_last.b64 d0",
    "createpolicy.fractional.L2::evict_last.b64 d0, 0.5",
    "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 d0, 0.25",
    "createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 d0, [src], 0x10000, 0x20000",
    "mov.b64 d1, 0x14F0000000000000; createpolicy.cvt.L2.b64 d0, d1",
)
_HINTS = (
    "prefetch.global.L1 [src]", "prefetch.global.L2 [src]", "prefetch.L2 [src]",
    "prefetch.global.L2::evict_last [src]", "prefetch.global.L2::evict_normal [src]",
    "prefetchu.L1 [src]", "applypriority.global.L2::evict_normal [d4], 128",
)  # fmt: skip


def _registers(spelling: str) -> tuple[str, str, int]:
    """Return the operand of a load, the store that writes it, and its words."""
    name = spelling.rpartition(".")[2]
    if name == "b128":
        return "q0", "st.global.b128 [dst], q0;", 4
    width = int(name[1:]) // 32
    count = 4 if ".v4" in spelling else 2 if ".v2" in spelling else 1
    registers = ", ".join(f"{'r' if width == 1 else 'd'}{i}" for i in range(count))
    vector = f".v{count}" if count > 1 else ""
    operand = f"{{{registers}}}" if count > 1 else registers
    return operand, f"st.global{vector}.{name} [dst], {operand};", count * width


def _load(spelling: str) -> Sum:
    operand, store, words = _registers(spelling)
    return Sum(spelling, f"{spelling} {operand}, [src]; {store}", same, words)


def _store(spelling: str) -> Sum:
    operand, store, words = _registers(spelling)
    load = store.replace("st.", "ld.").replace(f"[dst], {operand}", f"{operand}, [src]")
    return Sum(spelling, f"{load} {spelling} [dst], {operand};", same, words)


def _narrow(kind: str) -> Sum:
    """Load a byte or half into 32 bits: it is extended as its type says."""
    view = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16}[kind]

    def after(words: Words) -> Words:
        return words.view(view)[:, :1].astype(np.int64)

    return Sum(f"ld.global.{kind}", f"ld.global.{kind} r0, [src]; st.global.b32 [dst], r0;", after)


def _memory() -> Iterator[Sum]:
    yield from map(_load, (*_LOADS, *_VECTORS))
    yield from map(_store, (*_STORES, *_STORED_VECTORS))
    yield from map(_narrow, ("u8", "s8", "u16", "s16"))
    for spelling in _HINTED:
        head = "createpolicy.fractional.L2::evict_first.b64 d0, 1.0;"
        yield Sum(spelling, f"{head} {spelling} r0, [src], d0; st.global.b32 [dst], r0;", same)
    head = "createpolicy.fractional.L2::evict_first.b64 d0; ld.global.b32 r0, [src];"
    for spelling in ("st.global.L2::cache_hint.b32", "st.global.L1::evict_last.L2::cache_hint.b32"):
        yield Sum(spelling, f"{head} {spelling} [dst], r0, d0;", same)
    for policy in _POLICIES:
        lines = f"{policy}; ld.global.L2::cache_hint.b32 r0, [src], d0; st.global.b32 [dst], r0;"
        yield Sum(policy, lines, same)
    for hint in _HINTS:
        lines = f"and.b64 d4, src, -128; {hint}; ld.global.b32 r0, [src]; st.global.b32 [dst], r0;"
        yield Sum(hint, lines, same)
    # A line that is discarded holds anything until it is written.
    lines = "ld.global.b32 r0, [src]; setp.eq.u32 p0, tid, 0; @p0 discard.global.L2 [dst], 128;"
    yield Sum("discard.global.L2", f"{lines} bar.sync 0; st.global.b32 [dst], r0;", same)
    for space in ("volatile", "relaxed.cta"):
        lines = (
            "ld.global.b32 r0, [src]; mov.u32 r1, tile; mad.lo.u32 r1, tid, 4, r1;"
            f"st.{space}.shared.b32 [r1], r0; ld.{space}.shared.b32 r2, [r1]; "
            f"st.global.b32 [dst], r2;"
        )
        yield Sum(f"{space}.shared", lines, same)
    lines = (
        "ld.global.v2.b32 {r0, r1}, [src]; mov.u32 r2, own; st.local.v2.b32 [r2], {r0, r1};"
        "ld.local.b64 d0, [own]; st.global.b64 [dst], d0;"
    )
    yield Sum("local", lines, same, 2, extra=".local .align 8 .b8 own[8];")


def _repeated(answers: tuple[int, ...], words: Words) -> Words:
    return np.tile(answers, (len(words), 1))


_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const")


def _spaces() -> Iterator[Sum]:
    """Ask of an address of each space whether it is one of each."""
    places = {"global": "src", "shared": "d1", "local": "d2", "const": "d3"}
    head = (
        "mov.u64 d1, tile; cvta.shared.u64 d1, d1; mov.u64 d2, own; cvta.local.u64 d2, d2;"
        "mov.u64 d3, fixed; cvta.const.u64 d3, d3;"
    )
    for place, register in places.items():
        asked, answers = [head], []
        for number, space in enumerate(_SPACES):
            asked.append(f"isspacep.{space} p0, {register}; selp.u32 r0, 1, 0, p0;")
            asked.append(f"st.global.u32 [dst+{4 * number}], r0;")
            answers.append(int(space.partition("::")[0] == place))
        yield Sum(
            f"isspacep {place}", "\n".join(asked),
            functools.partial(_repeated, tuple(answers)),
            extra=".local .align 8 .b8 own[8]; .const .align 8 .b8 fixed[8] = {1, 2};",
        )  # fmt: skip
    lines = (
        "ld.global.b32 r0, [src]; mov.u64 d0, tile; cvta.shared.u64 d1, d0; "
        "mad.wide.u32 d1, tid, 4, d1;"
        "st.b32 [d1], r0; cvta.to.shared.u64 d2, d1; ld.shared.b32 r1, [d2]; "
        "st.global.b32 [dst], r1;"
    )
    yield Sum("cvta", lines, same)


def _stack() -> Iterator[Sum]:
    lines = (
        "ld.global.b32 r0, [src]; stacksave.u64 d0; alloca.u64 d1, 16;"
        "st.local.b32 [d1+4], r0; ld.local.b32 r1, [d1+4]; stackrestore.u64 d0;"
        "st.global.b32 [dst], r1;"
    )
    yield Sum("alloca", lines, same)


class MemorySet:
    """Loads, stores and caches."""

    name = "memory"
    about = "loads, stores, cache hints, policies, address spaces, the stack"
    targets: tuple[str, ...] = ("sm_90a",)

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        for sums in (_memory(), _spaces(), _stack()):
            yield from works(sums, target)

    def launches(self, target: str) -> Iterator[Launch]:
        """All of them."""
        yield from (one.launch for one in self.worked(target))
