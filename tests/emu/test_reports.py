# SPDX-License-Identifier: Apache-2.0
"""What a finding of the emulator teaches: names, what is missing, why a wait did not wait."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pyptx import EmulatorError, Tile, kernel, ptx, reg
from pyptx.types import u32
from support.planted import copies, global_memory, matrices, reports, tensor_memory, threads
from support.planted.bugs import CASES, WORDS, Planted, run

MODULES = (
    copies,
    global_memory,
    matrices,
    reports,
    tensor_memory,
    threads,
)
BY_NAME = {case.name: case for case in CASES}


def report_of(name: str) -> str:
    with pytest.raises(EmulatorError) as caught:
        run(BY_NAME[name], BY_NAME[name].build(broken=True))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("missing_warp_barrier", "of one warp; what is missing .*: bar.warp.sync"),
        ("missing_barrier", "of one CTA; what is missing .*: bar.sync, or an mbarrier"),
        ("missing_cluster_barrier", "of two CTAs .*: barrier.cluster.arrive and barrier.cluster.w"),
        ("missing_wait", r"phase 0 of the mbarrier at 0x[0-9a-f]+ \(full\+0\) .* with parity 0"),
        ("async_group_not_waited", "cp.async.wait_group or cp.async.wait_all"),
        ("store_without_proxy_fence", "that wrote .* before the barrier: fence.proxy.async"),
        ("source_of_a_store_overwritten", "cp.async.bulk.commit_group and cp.async.bulk.wait_g"),
        ("stage_refilled_too_early", "the reads are over: bar.sync, or an mbarrier"),
        ("matrix_overwritten_before_the_wait", "wgmma.commit_group and wgmma.wait_group"),
        ("loaded_before_the_store_is_complete", "by the warp that stores: tcgen05.wait::st"),
        ("overwritten_before_the_load_is_complete", "by the warp that loads: tcgen05.wait::ld"),
        ("accumulator_loaded_before_the_commit_is_seen", "tcgen05.commit to an mbarrier"),
        ("commit_seen_without_a_fence", "before_thread_sync before it, .*after_thread_sync behind"),
        ("warps_talk_through_global_memory", "of one CTA; what is missing .*: bar.sync, or an mb"),
        ("ctas_write_the_same_words", "two clusters; .*: st.release.gpu of a flag behind the"),
        ("flag_without_release", "of two clusters; .*: st.release.gpu of a flag behind the first"),
        ("flag_without_acquire", ": fence.acq_rel.gpu; or .acquire.gpu in place of .relaxed"),
        ("acquiring_fence_of_the_cluster_only", ": fence.acq_rel.gpu; or .acquire.gpu in place"),
        ("release_of_too_small_a_scope", "what both need, or a wider one: scope .gpu"),
        ("fence_of_too_small_a_scope", "the fences beside them need, or a wider one: scope .gpu"),
        ("cta_scope_between_ctas_of_a_cluster", "or a wider one: scope .cluster"),
        ("bulk_store_released_before_it_is_done", "must wait until it is complete, and say so: cp"),
        ("bulk_load_of_what_another_cta_stored", "the acquire and the copy: fence.proxy.async"),
        ("gemm_without_the_wait", "before the access: griddepcontrol.wait"),
    ],
)
def test_it_says_what_is_missing(name: str, missing: str) -> None:
    last = report_of(name).splitlines()[-1]
    assert last.startswith("  help: ")
    assert re.search(missing, last), last


def test_a_wait_that_passed_at_once_says_why() -> None:
    text = report_of("wrong_phase")
    assert "--- passed at once, with parity 0" in text
    assert (
        "the mbarrier at 0x600 (full+0) was in phase 1: a wait for parity 0 is for the phase "
        "before, which is complete; parity 1 would have waited" in text
    )
    assert "passed at once" not in report_of("missing_wait")


def test_bytes_are_counted_both_ways() -> None:
    assert "256 of 128 expected bytes have come" in report_of("too_few_bytes_expected")
    assert "256 of 272 expected bytes have come" in report_of("too_many_bytes_expected")
    assert "256 of 512 expected bytes have come when its CTA ends" in report_of(
        "bytes_that_nobody_awaits"
    )


@pytest.mark.parametrize(
    ("offset", "where"),
    [
        (4 * WORDS, "0 bytes past the end of Weights ("),
        (-8, "8 bytes before Weights ("),
    ],
)
def test_a_buffer_is_called_by_its_name(offset: int, where: str) -> None:
    @kernel(in_specs=(Tile(WORDS, u32),), out_specs=(Tile(WORDS, u32),), block=(1, 1, 1))
    def beyond(Weights, Sums):
        (at,) = ptx.global_ptrs(Weights)
        ptx.inst.ld.global_.b32(reg.scalar(u32), ptx.addr(at, offset))
        ptx.ret()

    room = np.zeros(WORDS + 128, dtype=np.uint32)  # so that nothing else is nearer
    with pytest.raises(EmulatorError) as caught:
        beyond.emulate(room[64 : 64 + WORDS], out=np.zeros(WORDS, dtype=np.uint32))
    assert where in str(caught.value)
    assert "it begins in X (" in report_of("tile_out_of_bounds")


def codes_of(case: Planted, ignore: set[str]) -> set[str]:
    try:
        run(case, case.build(broken=True), ignore=ignore)
    except EmulatorError as error:
        return {found.code for found in error.diagnostics}
    return set()


def silenced(case: Planted) -> bool:
    return all(code in IGNORABLE for code in case.codes)


IGNORABLE = {"PTX0917", "PTX0918", "PTX0919", "PTX0920", "PTX0922", "PTX0923"} | {
    "PTX0924",
    "PTX0925",
    "PTX0929",
    "PTX0931",
    "PTX0943",
}


@pytest.mark.parametrize(
    "case", [case for case in CASES if silenced(case)], ids=lambda case: case.name
)
def test_a_code_can_be_ignored(case: Planted) -> None:
    # What a finding hid is told instead of it.
    assert codes_of(case, ignore=set(case.codes)).isdisjoint(case.codes)
    assert codes_of(case, ignore=IGNORABLE - set(case.codes)) & set(case.codes)
