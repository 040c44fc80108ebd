# SPDX-License-Identifier: Apache-2.0
"""Asynchronous copies and reductions without tensors: cp.async, bulk, st.async, red.async."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from record.launch import Launch
from record.worked import Sum, Words, Worked, same, works

_PLACE = "mov.u32 r1, tile; mad.lo.u32 r2, tid, 16, r1;"
_READ = "ld.shared.v4.b32 {r4, r5, r6, r7}, [r2]; st.global.v4.b32 [dst], {r4, r5, r6, r7};"
_GROUP = "cp.async.commit_group; cp.async.wait_group 0;"


def _filled(count: int, size: int) -> Callable[[Words], Words]:
    """Return the words of a copy of `size` bytes of which `count` come from the source."""

    def after(words: Words) -> Words:
        data = words.view(np.uint8).reshape(len(words), 16).copy()
        data[:, count:size] = 0
        data[:, size:] = 0xEE
        return data.view(np.uint32)

    return after


def _threads() -> Iterator[Sum]:
    """cp.async: each thread copies its own bytes."""
    head = (
        f"{_PLACE} mov.b32 r8, 0xEEEEEEEE; st.shared.v4.b32 [r2], {{r8, r8, r8, r8}};"
        "setp.eq.u32 p0, tid, tid; mov.u32 r10, 3; mov.u32 r11, 16;"
        "createpolicy.fractional.L2::evict_first.b64 d0;"
    )
    for size in (4, 8, 16):
        for words, extra, count in (
            ("ca.shared.global", "", size),
            ("ca.shared::cta.global.L2::128B", "", size),
            ("ca.shared.global", ", 0", 0),
            ("ca.shared.global.L2::64B", f", {size - 1}", size - 1),
            ("ca.shared.global", ", r10", 3),
            ("ca.shared.global", ", p0", 0),
            ("ca.shared.global", ", !p0", size),
            ("ca.shared.global.L2::cache_hint", ", d0", size),
        ):
            line = f"cp.async.{words} [r2], [src], {size}{extra}"
            yield Sum(line, f"{head} {line}; {_GROUP} {_READ}", _filled(count, size), 4)
    for extra, count in (("", 16), (", 5", 5), (", r11", 16), (", p0", 0), (", !p0", 16)):
        for words in ("cg.shared.global", "cg.shared::cta.global.L2::256B"):
            line = f"cp.async.{words} [r2], [src], 16{extra}"
            yield Sum(line, f"{head} {line}; cp.async.wait_all; {_READ}", _filled(count, 16), 4)
    wait = "WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r12], 0; @!p1 bra WAIT;"
    for noinc, count, arrive in (
        ("", 32, "mbarrier.arrive.shared.b64 d1, [r12];"),
        (".noinc", 32, ""),
    ):
        lines = (
            f"{head} mov.u32 r12, mbar; setp.eq.u32 p2, tid, 0; "
            f"@p2 mbarrier.init.shared.b64 [r12], {count};"
            "bar.sync 0; cp.async.ca.shared.global [r2], [src], 16;"
            f"cp.async.mbarrier.arrive{noinc}.shared.b64 [r12]; {arrive} {wait} {_READ}"
        )
        yield Sum(f"cp.async.mbarrier.arrive{noinc}", lines, same, 4)


_BARRIER = (
    "mov.u32 r12, mbar; setp.eq.u32 p2, tid, 0; @p2 mbarrier.init.shared.b64 [r12], 1;"
    "@p2 fence.mbarrier_init.release.cluster;"
)
_CLUSTER = "barrier.cluster.arrive; barrier.cluster.wait;"
_PEER = (
    "mov.u32 r13, %cluster_ctarank; xor.b32 r13, r13, 1; mapa.shared::cluster.u32 r14, r12, r13;"
    "mapa.shared::cluster.u32 r15, r1, r13;"
)
_EXPECT = "@p2 mbarrier.arrive.expect_tx.shared.b64 d1, [r12], BYTES;"
_WAIT = "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p1, [r12], 0; @!p1 bra WAIT;"
_BYTES = "mbarrier::complete_tx::bytes"


def _bulk() -> Iterator[Sum]:
    """One thread copies the 512 bytes of its CTA."""
    expect = _EXPECT.replace("BYTES", "512")
    policy = "createpolicy.fractional.L2::evict_first.b64 d0;"
    for words, extra in (
        (f"shared::cluster.global.{_BYTES}", ""), (f"shared::cta.global.{_BYTES}", ""),
        (f"shared::cluster.global.{_BYTES}.L2::cache_hint", ", d0"),
        (f"shared::cta.global.{_BYTES}.L2::cache_hint", ", d0"),
    ):  # fmt: skip
        line = f"cp.async.bulk.{words} [r1], [src], 512, [r12]{extra}"
        lines = f"{_PLACE} {policy} {_BARRIER} bar.sync 0; {expect} @p2 {line}; {_WAIT} {_READ}"
        yield Sum(line, lines, same, 4)
    # Each CTA sends its first half to both; the second half it fills itself.
    half = "shl.b32 r16, r13, 8; xor.b32 r16, r16, 256; add.u32 r17, r1, r16; mov.u16 h0, 3;"
    line = (
        f"cp.async.bulk.shared::cluster.global.{_BYTES}.multicast::cluster [r17], [src], 256, "
        f"[r12], h0"
    )
    lines = (
        f"{_PLACE} {_BARRIER} {_CLUSTER} {_PEER} {half} {expect} @p2 {line}; {_WAIT} "
        f"{_CLUSTER} {_READ}"
    )
    yield Sum(
        "multicast", lines,
        lambda words: np.tile(np.concatenate([words[:16], words[32:48]]), (2, 1)),
        4, ctas=2, cluster=2,
    )  # fmt: skip
    fill = "ld.global.v4.b32 {r4, r5, r6, r7}, [src]; st.shared.v4.b32 [r2], {r4, r5, r6, r7};"
    ready = "fence.proxy.async; bar.sync 0;"
    line = f"cp.async.bulk.shared::cluster.shared::cta.{_BYTES} [r15], [r18], 512, [r14]"
    lines = (
        f"{_PLACE} {_BARRIER} add.u32 r2, r2, 2048; "
        f"{fill} {ready} {_CLUSTER} {_PEER} add.u32 r18, r1, 2048;"
        f"{expect} @p2 {line}; {_WAIT} {_CLUSTER} sub.u32 r2, r2, 2048; {_READ}"
    )
    yield Sum(
        "to the other CTA", lines, lambda words: words[np.arange(64) ^ 32], 4, ctas=2, cluster=2
    )
    done = "@p2 cp.async.bulk.commit_group; @p2 cp.async.bulk.wait_group 0;"
    for words, extra in (("", ""), (".L2::cache_hint", ", d0")):
        line = f"cp.async.bulk.global.shared::cta.bulk_group{words} [dst], [r1], 512{extra}"
        lines = f"{_PLACE} {policy} {_BARRIER} {fill} {ready} @p2 {line}; {done}"
        yield Sum(line, lines, same, 4)
    read = done.replace("wait_group", "wait_group.read")
    lines = (
        f"{_PLACE} {_BARRIER} {fill} {ready} @p2 cp.async.bulk.global.shared::cta.bulk_group "
        f"[dst], [r1], 512;"
    )
    yield Sum("wait_group.read", f"{lines} {read} @p2 cp.async.bulk.wait_group 0;", same, 4)
    for words, extra in (("", ""), (".L2::cache_hint", ", d0")):
        line = f"cp.async.bulk.prefetch.L2.global{words} [src], 512{extra}"
        lines = f"{_BARRIER} {policy} @p2 {line}; ld.global.v4.b32 {{r4, r5, r6, r7}}, [src];"
        yield Sum(line, f"{lines} st.global.v4.b32 [dst], {{r4, r5, r6, r7}};", same, 4)


def _integers(operation: str, kind: str, old: Words, new: Words) -> Words:
    """Apply an operation to arrays of words, seen as `kind`."""
    view = {"u": np.uint32, "s": np.int32, "b": np.uint32}[kind[0]]
    if kind.endswith("64"):
        view = {"u": np.uint64, "s": np.int64, "b": np.uint64}[kind[0]]
    a, b = np.ascontiguousarray(old).view(view), np.ascontiguousarray(new).view(view)
    found = {
        "add": lambda: a + b, "and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b,
        "min": lambda: np.minimum(a, b), "max": lambda: np.maximum(a, b),
        "inc": lambda: np.where(a >= b, 0, a + 1),
        "dec": lambda: np.where((a == 0) | (a > b), b, a - 1),
    }[operation]()  # fmt: skip
    return np.ascontiguousarray(found.astype(view)).view(np.uint32)


def _floats(operation: str, kind: str, old: Words, new: Words) -> Words:
    """Do the same for floats, whose sum is rounded once."""
    if kind == "bf16":
        a, b = ((w.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for w in (old, new))
        exact = _apply(operation, a.astype(np.float64), b.astype(np.float64))
        bits = exact.astype(np.float32).view(np.uint32)
        # 24 bits hold the sum of two numbers whose exponents are this near.
        rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.ascontiguousarray(rounded).view(np.uint32)
    view = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]
    a, b = np.ascontiguousarray(old).view(view), np.ascontiguousarray(new).view(view)
    return np.ascontiguousarray(_apply(operation, a, b).astype(view)).view(np.uint32)


def _apply(operation: str, a: Words, b: Words) -> Words:
    return (
        a + b
        if operation == "add"
        else np.minimum(a, b)
        if operation == "min"
        else np.maximum(a, b)
    )


def _tame(words: Words, kind: str) -> Words:
    """Make every word a number near one: no NaN, no subnormal, sums of few bits."""
    clear, one = {
        "f16": (0x83FF83FF, 0x38003800), "bf16": (0x807F807F, 0x3F003F00),
        "f32": (0x807FFFFF, 0x3F000000),
    }.get(kind, (0x800FFFFF, 0x3FE00000))  # fmt: skip
    if kind == "f64":
        words = words.copy()
        words[:, 1::2] = words[:, 1::2] & clear | one
        return words
    return words & np.uint32(clear) | np.uint32(one)


_GLOBAL_REDUCTIONS = (
    "add.u32", "add.s32", "add.u64", "and.b32",
    "or.b64", "xor.b32", "inc.u32", "dec.u32", "min.u32",
    "max.s32", "min.s64", "max.u64", "add.f32", "add.f64", "add.noftz.f16", "add.noftz.bf16",
    "min.f16", "max.bf16",
)  # fmt: skip
_SHARED_REDUCTIONS = (
    "add.u32", "add.s32", "add.u64", "and.b32", "or.b32",
    "xor.b32", "inc.u32", "dec.u32", "min.u32", "max.s32",
)  # fmt: skip


def _after(spelling: str) -> Callable[[Words], Words]:
    """Four words of each thread are reduced into the four that were there."""
    operation, kind = spelling.split(".")[0], spelling.split(".")[-1]

    def after(words: Words) -> Words:
        old, new = np.ascontiguousarray(words[:, :4]), np.ascontiguousarray(words[:, 4:])
        if kind[0] in "usb" and kind != "bf16":
            return _integers(operation, kind, old, new)
        mask = _tame(np.concatenate([old, new]), kind)
        return _floats(operation, kind, mask[: len(old)].copy(), mask[len(old) :].copy())

    return after


def _tamed(kind: str) -> str:
    """Write what `_tame` does to r4 to r11."""
    if kind[0] in "us" or kind in ("b32", "b64"):
        return ""
    clear, one = {
        "f16": ("0x83FF83FF", "0x38003800"), "bf16": ("0x807F807F", "0x3F003F00"),
        "f32": ("0x807FFFFF", "0x3F000000"), "f64": ("0x800FFFFF", "0x3FE00000"),
    }[kind]  # fmt: skip
    registers = range(5, 12, 2) if kind == "f64" else range(4, 12)
    return "".join(f"and.b32 r{r}, r{r}, {clear}; or.b32 r{r}, r{r}, {one};" for r in registers)


_LOAD = "ld.global.v4.b32 {r4, r5, r6, r7}, [src]; ld.global.v4.b32 {r8, r9, r10, r11}, [src+16];"


def _reductions() -> Iterator[Sum]:
    policy = "createpolicy.fractional.L2::evict_first.b64 d0;"
    for number, spelling in enumerate(_GLOBAL_REDUCTIONS):
        hint, extra = (".L2::cache_hint", ", d0") if number % 4 == 3 else ("", "")
        line = (
            f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{spelling} [dst], "
            f"[r1], 512{extra}"
        )
        lines = (
            f"{_PLACE} {policy} setp.eq.u32 p2, tid, 0; {_LOAD} {_tamed(spelling.split('.')[-1])}"
            "st.global.v4.b32 [dst], {r4, r5, r6, r7}; st.shared.v4.b32 [r2], {r8, r9, r10, r11};"
            f"fence.proxy.async; bar.sync 0; @p2 {line}; @p2 cp.async.bulk.commit_group;"
            "@p2 cp.async.bulk.wait_group 0;"
        )
        yield Sum(line, lines, _after(spelling), 8)
    for spelling in _SHARED_REDUCTIONS:
        line = (
            f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_BYTES}.{spelling} [r15], "
            f"[r18], 512, [r14]"
        )
        lines = (
            f"{_PLACE} {_BARRIER} {_LOAD} st.shared.v4.b32 [r2], {{r4, r5, r6, r7}};"
            "st.shared.v4.b32 [r2+2048], {r8, r9, r10, r11}; fence.proxy.async; bar.sync 0;"
            f"{_CLUSTER} {_PEER} add.u32 r18, r1, 2048; "
            f"{_EXPECT.replace('BYTES', '512')} @p2 {line};"
            f"{_WAIT} {_CLUSTER} {_READ}"
        )

        def after(words: Words, spelling: str = spelling) -> Words:
            swapped = words.copy()
            swapped[:, 4:] = words[np.arange(64) ^ 32, 4:]
            return _after(spelling)(swapped)

        yield Sum(line, lines, after, 8, ctas=2, cluster=2)


def _remote() -> Iterator[Sum]:
    """Every thread stores or reduces into the other CTA."""
    mine = "mapa.shared::cluster.u32 r19, r2, r13;"
    for spelling, count in (
        ("b32", 1), ("u32", 1), ("s32", 1), ("f32", 1), ("b64", 2), ("s64", 2), ("f64", 2),
        ("v2.b32", 2), ("v4.b32", 4), ("v4.f32", 4), ("v2.b64", 4), ("v2.u64", 4),
    ):  # fmt: skip
        words = "mov.b64 d2, {r4, r5}; mov.b64 d3, {r6, r7}; mov.b32 f0, r4; mov.b32 f1, r5;"
        words += "mov.b32 f2, r6; mov.b32 f3, r7; mov.b64 e0, d2;"
        kind = spelling.rpartition(".")[2]
        names = {"f32": ("f0", "f1", "f2", "f3"), "f64": ("e0",)}.get(
            kind, ("d2", "d3") if kind.endswith("64") else ("r4", "r5", "r6", "r7")
        )
        vector = int(spelling[1]) if spelling[0] == "v" else 1
        value = "{" + ", ".join(names[:vector]) + "}" if vector > 1 else names[0]
        line = f"st.async.shared::cluster.{_BYTES}.{spelling} [r19], {value}, [r14]"
        lines = (
            f"{_PLACE} {_BARRIER} mov.b32 r8, 0; st.shared.v4.b32 [r2], {{r8, r8, r8, r8}}; "
            f"fence.proxy.async;"
            f"ld.global.v4.b32 {{r4, r5, r6, r7}}, [src]; {words} {_CLUSTER} {_PEER} {mine}"
            f"{_EXPECT.replace('BYTES', str(32 * 4 * count))} {line}; {_WAIT} {_CLUSTER} {_READ}"
        )

        def stored(words: Words, count: int = count) -> Words:
            found = words[np.arange(64) ^ 32]
            found[:, count:] = 0
            return found

        yield Sum(line, lines, stored, 4, ctas=2, cluster=2, extra=".reg .f64 e0;")
    for spelling in (*_SHARED_REDUCTIONS, "min.s32", "max.u32"):
        kind = spelling.split(".")[1]
        value, count = ("d2", 2) if kind == "u64" else ("r8", 1)
        line = (
            f"red.async.relaxed.cluster.shared::cluster.{_BYTES}.{spelling} [r19], {value}, [r14]"
        )
        lines = (
            f"{_PLACE} {_BARRIER} {_LOAD} mov.b64 d2, {{r8, r9}}; "
            f"st.shared.v4.b32 [r2], {{r4, r5, r6, r7}};"
            f"fence.proxy.async; {_CLUSTER} {_PEER} {mine}"
            f"{_EXPECT.replace('BYTES', str(32 * 4 * count))} {line};"
            f"{_WAIT} {_CLUSTER} {_READ}"
        )

        def reduced(words: Words, spelling: str = spelling, count: int = count) -> Words:
            old = words[:, :4].copy()
            new = words[np.arange(64) ^ 32, 4:]
            operation, kind = spelling.split(".")
            old[:, :count] = _integers(operation, kind, old[:, :count], new[:, :count])
            return old

        yield Sum(line, lines, reduced, 8, ctas=2, cluster=2)


class CopiesSet:
    """Copies that other engines make."""

    name = "copies"
    about = "cp.async, bulk copies and reductions, st.async, red.async"
    targets: tuple[str, ...] = ("sm_90a",)

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        for sums in (_threads(), _bulk(), _reductions(), _remote()):
            yield from works(sums, target)

    def launches(self, target: str) -> Iterator[Launch]:
        """All of them."""
        yield from (one.launch for one in self.worked(target))
