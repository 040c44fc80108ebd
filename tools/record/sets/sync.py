# SPDX-License-Identifier: Apache-2.0
"""Barriers of CTAs, warps and clusters, fences, and mbarriers in spellings that no sequence has.

Threads hand words to each other: who may read what follows from the manual alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from record.launch import Launch
from record.worked import Sum, Words, Worked, same, works

_FENCES = (
    "fence.cta", "fence.acq_rel.cta",
    "fence.acq_rel.cluster", "fence.acq_rel.gpu", "fence.acq_rel.sys",
    "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys", "fence.acquire.gpu", "fence.release.cta",
    "fence.acquire.sync_restrict::shared::cluster.cluster",
    "fence.release.sync_restrict::shared::cta.cluster", "fence.mbarrier_init.release.cluster",
    "fence.proxy.alias", "fence.proxy.async",
    "fence.proxy.async.global", "fence.proxy.async.shared::cta",
    "fence.proxy.async.shared::cluster", "fence.proxy.tensormap::generic.release.gpu",
    "fence.proxy.tensormap::generic.release.cta",
    "fence.proxy.tensormap::generic.acquire.gpu [d4], 128",
    "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
    "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
    "fence.proxy.tensormap::generic.acq_rel.gpu",
    "fence.proxy.tensormap::generic.acq_rel.gpu [d4], 128",
    "membar.cta", "membar.gl", "membar.sys", "membar.proxy.alias",
    "griddepcontrol.launch_dependents", "griddepcontrol.wait", "nanosleep.u32 20", "pmevent 1",
    "pmevent.mask 0xff",
)  # fmt: skip
_PLACE = "ld.global.b32 r0, [src]; mov.u32 r1, tile; mad.lo.u32 r2, tid, 4, r1;"


def _fences() -> Iterator[Sum]:
    for fence in _FENCES:
        lines = (
            f"{_PLACE} and.b64 d4, src, -128; st.shared.b32 [r2], r0; {fence}; bar.sync 0;"
            "xor.b32 r2, r2, 4; ld.shared.b32 r3, [r2]; st.global.b32 [dst], r3;"
        )
        yield Sum(fence, lines, lambda words: words[np.arange(len(words)) ^ 1])


def _handed_over(words: Words) -> Words:
    """Return what the second warp reads: the words of the first."""
    return np.concatenate([words[:32], words[:32]])


def _arrivals() -> Iterator[Sum]:
    for arrive, wait in (
        ("bar.arrive 1, 64", "bar.sync 1, 64"),
        ("bar.cta.arrive 2, 64", "bar.cta.sync 2, 64"),
        ("barrier.arrive 3, 64", "barrier.sync 3, 64"),
        ("barrier.cta.arrive.aligned r8, r9", "barrier.cta.sync.aligned r8, r9"),
        ("barrier.arrive.aligned 15, 64", "barrier.cta.sync 15, 64"),
    ):
        lines = (
            f"{_PLACE} mov.u32 r8, 5; mov.u32 r9, 64; setp.lt.u32 p0, tid, 32; @!p0 bra READS;"
            f"st.shared.b32 [r2], r0; {arrive}; bra END;"
            f"READS: {wait}; ld.shared.b32 r0, [r2+-128]; END: st.global.b32 [dst], r0;"
        )
        yield Sum(f"{arrive}; {wait}", lines, _handed_over, threads=64)
    lines = f"{_PLACE} st.shared.b32 [r2], r0;"
    after = "xor.b32 r2, r2, 4; ld.shared.b32 r3, [r2]; st.global.b32 [dst], r3;"
    yield Sum("bar.warp.sync", f"{lines} bar.warp.sync 0xffffffff; {after}", _swapped)
    guard = "mov.u32 r9, 0xfffff; setp.lt.u32 p0, tid, 20;"
    text = f"{lines} {guard} @!p0 bra END; bar.warp.sync r9; {after} END:"
    yield Sum("bar.warp.sync of some", text, lambda words: np.where(
        np.arange(32)[:, None] < 20, _swapped(words), 0))  # fmt: skip
    exits = "setp.lt.u32 p0, tid, 7; ld.global.b32 r0, [src]; @p0 exit; st.global.b32 [dst], r0;"
    yield Sum("exit", exits, lambda words: np.where(np.arange(32)[:, None] < 7, 0, words))
    masks = (
        "setp.lt.u32 p0, tid, 20; @!p0 bra END; activemask.b32 r0; st.global.b32 [dst], r0; END:"
    )
    yield Sum("activemask", masks, lambda words: np.where(
        np.arange(32)[:, None] < 20, 0xFFFFF, 0))  # fmt: skip


def _swapped(words: Words) -> Words:
    return words[np.arange(len(words)) ^ 1]


def _reductions() -> Iterator[Sum]:
    """bar.red over a bit of the input: some threads, none, all."""
    sources = {"some": "and.b32 r1, r0, 1", "none": "mov.u32 r1, 0", "all": "mov.u32 r1, 1"}
    for head in ("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"):
        aligned = ".aligned" if head == "barrier.cta.red" else ""
        for source, sign in (("some", ""), ("some", "!"), ("none", ""), ("all", "")):
            for place in ("0", "4, 64"):
                lines = (
                    f"ld.global.b32 r0, [src]; {sources[source]}; setp.ne.u32 p0, r1, 0;"
                    f"{head}.popc{aligned}.u32 r2, {place}, {sign}p0;"
                    f"{head}.and{aligned}.pred p1, {place}, {sign}p0; selp.u32 r3, 1, 0, p1;"
                    f"{head}.or{aligned}.pred p1, {place}, {sign}p0; selp.u32 r4, 1, 0, p1;"
                    "st.global.b32 [dst], r2; st.global.b32 [dst+4], r3; st.global.b32 [dst+8], r4;"
                )

                def after(words: Words, source: str = source, sign: str = sign) -> Words:
                    bits = {"some": words[:, 0] & 1, "none": words[:, 0] * 0}.get(source)
                    flags = np.ones(len(words), bool) if bits is None else bits != 0
                    flags = ~flags if sign else flags
                    answer = [flags.sum(), flags.all(), flags.any()]
                    return np.tile(np.array(answer, np.uint32), (len(words), 1))

                yield Sum(f"{head} {place} {sign}{source}", lines, after, threads=64)


def _clusters() -> Iterator[Sum]:
    arrivals = ("", ".release", ".relaxed", ".aligned", ".release.aligned")
    for arrive, wait in zip(
        arrivals, ("", ".acquire", "", ".aligned", ".acquire.aligned"), strict=True
    ):
        fence = "fence.acq_rel.cluster;" if arrive == ".relaxed" else ""
        lines = (
            f"{_PLACE} st.shared.b32 [r2], r0; {fence} barrier.cluster.arrive{arrive};"
            f"barrier.cluster.wait{wait}; {fence} mov.u32 r4, %cluster_ctarank; xor.b32 r4, r4, 1;"
            "mapa.shared::cluster.u32 r5, r2, r4; ld.shared::cluster.b32 r6, [r5];"
            "getctarank.shared::cluster.u32 r7, r5; cvt.u64.u32 d0, r2; cvta.shared.u64 d0, d0;"
            "mapa.u64 d1, d0, r4; getctarank.u64 r8, d1; ld.b32 r9, [d1];"
            f"barrier.cluster.arrive{arrive}; barrier.cluster.wait{wait};"
            "st.global.v4.b32 [dst], {r6, r7, r8, r9};"
        )

        def after(words: Words) -> Words:
            other = words[np.arange(64) ^ 32, 0]
            rank = 1 - np.arange(64) // 32
            return np.stack([other, rank, rank, other], axis=1)

        yield Sum(f"barrier.cluster{arrive}{wait}", lines, after, ctas=2, cluster=2)


_INIT = "mov.u32 r10, mbar; mov.u64 d10, mbar; cvta.shared.u64 d10, d10; setp.eq.u32 p3, tid, 0;"


def _answers(*answers: int) -> Words:
    """Return the answers of thread 0 and what the other threads leave."""
    return lambda words: np.concatenate(
        [np.array([answers], np.uint32), np.zeros((len(words) - 1, len(answers)), np.uint32)]
    )


def _mbarriers() -> Iterator[Sum]:
    """One thread; each answer is what a test says."""

    def alone(key: str, count: int, steps: str, *answers: int) -> Sum:
        stores = "".join(
            f"selp.u32 r{20 + i}, 1, 0, p{i}; st.global.b32 [dst+{4 * i}], r{20 + i};"
            for i in range(len(answers))
        )
        lines = (
            f"{_INIT} @!p3 bra END; mbarrier.init.shared.b64 [r10], {count}; {steps} {stores} END:"
        )
        return Sum(key, lines, _answers(*answers))

    test = "mbarrier.test_wait.parity.shared.b64"
    yield alone(
        "arrive.noComplete", 3,
        f"mbarrier.arrive.noComplete.shared.b64 _, [r10], 2; {test} p0, [r10], 0;"
        f"mbarrier.arrive.shared.b64 d0, [r10]; {test} p1, [r10], 0;", 0, 1,
    )  # fmt: skip
    yield alone(
        "arrive_drop.noComplete", 3,
        "mbarrier.arrive_drop.noComplete.shared.b64 d0, [r10], 1; "
        "mbarrier.arrive.shared.b64 d1, [r10], 2;"
        f"{test} p0, [r10], 0; mbarrier.arrive.shared.b64 d1, [r10], 2; {test} p1, [r10], 1;", 1, 1,
    )  # fmt: skip
    yield alone(
        "arrive_drop.expect_tx", 2,
        "mbarrier.arrive_drop.expect_tx.shared::cta.b64 d0, [r10], 64; "
        "mbarrier.arrive.shared.b64 d1, [r10];"
        f"{test} p0, [r10], 0; mbarrier.complete_tx.relaxed.cta.shared.b64 [r10], 64;"
        f"{test} p1, [r10], 0; mbarrier.arrive.shared.b64 d1, [r10]; {test} p2, [r10], 1;", 0, 1, 1,
    )  # fmt: skip
    yield alone(
        "arrive.noComplete with a state", 4,
        "mbarrier.arrive.noComplete.shared.b64 d0, [r10], 3; mbarrier.pending_count.b64 r12, d0;"
        f"setp.eq.u32 p0, r12, 4; mbarrier.arrive.shared.b64 _, [r10], 1; {test} p1, [r10], 0;"
        "mbarrier.inval.shared.b64 [r10]; mbarrier.init.shared.b64 [r10], 1;"
        f"{test} p2, [r10], 0;", 1, 1, 0,
    )  # fmt: skip
    yield alone(
        "arrive_drop, expect_tx", 2,
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [r10], 32;"
        "mbarrier.arrive_drop.shared.b64 d0, [r10], 1; mbarrier.arrive.shared.b64 d1, [r10];"
        f"{test} p0, [r10], 0; mbarrier.complete_tx.relaxed.cta.shared.b64 [r10], 32;"
        f"{test} p1, [r10], 0; mbarrier.arrive.shared.b64 d1, [r10]; {test} p2, [r10], 1;", 0, 1, 1,
    )  # fmt: skip
    for wait in (
        "mbarrier.try_wait.shared::cta.b64 p0, [r10], d0",
        "mbarrier.try_wait.b64 p0, [d10], d0, r11",
        "mbarrier.test_wait.b64 p0|_, [d10], d0", "mbarrier.test_wait.parity.b64 p0|_, [d10], 0",
        "mbarrier.try_wait.b64 p0|_, [d10], d0", "mbarrier.try_wait.parity.b64 p0|_, [d10], 0",
        "mbarrier.test_wait.acquire.cluster.shared.b64 p0, [r10], d0",
        "mbarrier.try_wait.parity.relaxed.cta.shared.b64 p0, [r10], 0, 100",
    ):  # fmt: skip
        steps = f"mov.u32 r11, 50; mbarrier.arrive.shared.b64 d0, [r10]; {wait};"
        yield alone(wait, 1, steps, 1)


_READY = (
    f"{_PLACE} {_INIT} @p3 mbarrier.init.shared.b64 [r10], COUNT;"
    "@p3 fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;"
    "mov.u32 r4, %cluster_ctarank; xor.b32 r4, r4, 1; mapa.shared::cluster.u32 r11, r10, r4;"
    "mapa.shared::cluster.u32 r12, r2, r4;"
)
_WAIT = "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared.b64 p2, [r10], 0; @!p2 bra WAIT;"
_LEAVE = "barrier.cluster.arrive; barrier.cluster.wait; st.global.b32 [dst], r6;"


def _remote() -> Iterator[Sum]:
    """CTAs that arrive on each other's mbarriers and store into each other's memory."""
    bytes_ = "mbarrier::complete_tx::bytes"
    for name in ("arrive", "arrive_drop"):
        arrive = f"mbarrier.{name}.expect_tx.release.cluster.shared::cluster.b64 _, [r11], 4;"
        lines = (
            f"{_READY.replace('COUNT', '32')} {arrive}"
            f"st.async.shared::cluster.{bytes_}.b32 [r12], r0, [r11]; {_WAIT}"
            f"ld.shared.b32 r6, [r2]; {_LEAVE}"
        )
        yield Sum(f"remote {name}.expect_tx", lines, _other, ctas=2, cluster=2)
    lines = (
        f"{_READY.replace('COUNT', '64')} "
        f"mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [r11], 1;"
        f"mbarrier.arrive.shared.b64 d0, [r10]; {_WAIT} bar.sync 0;"
        "@p3 mbarrier.arrive.shared.b64 d0, [r10], 32; bar.sync 0;"
        "mbarrier.test_wait.parity.shared.b64 p1, [r10], 1; selp.u32 r6, 1, 0, p1;" + _LEAVE
    )
    yield Sum("remote arrive_drop", lines, lambda words: words * 0 + 1, ctas=2, cluster=2)
    lines = (
        f"{_READY.replace('COUNT', '32')} st.shared.b32 [r2], r0; fence.acq_rel.cluster;"
        f"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r11]; {_WAIT}"
        f"ld.shared::cluster.b32 r6, [r12]; {_LEAVE}"
    )
    yield Sum("remote arrive", lines, _other, ctas=2, cluster=2)


def _registers() -> Iterator[Sum]:
    """Give registers of a warpgroup away, and take some back."""
    lines = (
        "ld.global.b32 r0, [src]; setmaxnreg.dec.sync.aligned.u32 64;"
        "setmaxnreg.inc.sync.aligned.u32 96; st.global.b32 [dst], r0;"
    )
    yield Sum("setmaxnreg", lines, same, threads=128)


def _other(words: Words) -> Words:
    return words[np.arange(len(words)) ^ 32]


class SyncSet:
    """Barriers and fences."""

    name = "sync"
    about = "barriers of CTAs, warps and clusters, fences, mbarriers across CTAs"
    targets: tuple[str, ...] = ("sm_90a",)

    def worked(self, target: str) -> Iterator[Worked]:
        """All of them, with their results."""
        for sums in (
            _fences(), _arrivals(), _reductions(), _clusters(), _mbarriers(), _remote(),
            _registers(),
        ):  # fmt: skip
            yield from works(sums, target)

    def launches(self, target: str) -> Iterator[Launch]:
        """All of them."""
        yield from (one.launch for one in self.worked(target))
