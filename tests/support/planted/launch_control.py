# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of kernels that ask for clusters (clusterlaunchcontrol). See planted_bugs.

Each works through tiles of 16 words, one for each CTA of the grid, whoever is given them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pyptx import ptx, reg, smem
from pyptx.types import b64, b128, pred, u32
from support.planted.bugs import case as any_case
from support.planted.bugs import make_barrier, put, thread
from support.planted.global_memory import block

case = partial(any_case, threads=32, clusters=8, arch="sm_100a")

control = ptx.inst.clusterlaunchcontrol
ask = control.try_cancel.async_.shared__cta.mbarrier__complete_tx__bytes.b128
ask_for_all = (
    control.try_cancel.async_.shared__cta.mbarrier__complete_tx__bytes.multicast__cluster__all.b128
)
is_granted = control.query_cancel.is_canceled.pred.b128
first_cta = control.query_cancel.get_first_ctaid__x.b32.b128
take = ptx.inst.ld.shared.b128


def response(name: str = "response") -> Any:
    """Where an answer lands."""
    return smem.alloc(b128, (1,), name=name).address()


def work(y: Any, tile: Any) -> None:
    """Write a tile."""
    put(ptx.addr(y + (tile * 16 + (thread() & 15)) * 4), tile, pred=thread() < 16)


def request(slot: Any, full: Any) -> None:
    """Thread 0 asks for the next tile."""
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(full, 16)
        ask(ptx.addr(slot), ptx.addr(full))


def fetch(answer: Any, slot: Any, full: Any, phase: Any) -> None:
    """The answer, when it is there; the next may be written over it."""
    ptx.mbarrier.wait(full, phase)
    take(answer, ptx.addr(slot))
    ptx.fence.proxy_async_shared_cta()


def decode(tile: Any, granted: Any, answer: Any) -> None:
    """The tile, if one is granted."""
    is_granted(granted, answer)
    first_cta(tile, answer, pred=granted)


def decode_own(tile: Any, granted: Any, answer: Any) -> None:
    """The tile of this CTA of the cluster."""
    decode(tile, granted, answer)
    ptx.inst.add.u32(tile, tile, ptx.cluster.rank())


def persistent(
    y: Any,
    *,
    request: Callable[..., None] = request,
    fetch: Callable[..., None] = fetch,
    decode: Callable[..., None] = decode,
    begin: Callable[[], None] = lambda: None,
    meet: Callable[[], None] = lambda: ptx.bar.sync(0),
) -> tuple[Any, Any, Any]:
    """Work, and ask for more until there is none; the response, its mbarrier and its phase."""
    slot, full = response(), make_barrier()
    begin()
    tile, phase = reg.from_(block(), u32), reg.scalar(u32, init=0)
    answer, granted = reg.scalar(b128), reg.scalar(pred)
    with ptx.scope():
        ptx.label("next")
        request(slot, full)
        work(y, tile)
        fetch(answer, slot, full, phase)
        decode(tile, granted, answer)
        ptx.inst.xor.b32(phase, phase, 1)
        meet()
        ptx.bra("next", pred=granted)
    return slot, full, phase


@case("PTX0917")
def response_read_without_a_wait(x: Any, y: Any, *, broken: bool) -> None:
    def impatient(answer: Any, slot: Any, full: Any, phase: Any) -> None:
        if not broken:
            ptx.mbarrier.wait(full, phase)
        take(answer, ptx.addr(slot))  # guilty
        ptx.fence.proxy_async_shared_cta()

    persistent(y, fetch=impatient)


@case("PTX0919")
def response_without_a_proxy_fence(x: Any, y: Any, *, broken: bool) -> None:
    # facebookexperimental/triton pull request 1723: no fence between the load and the next request.
    def ask_again(slot: Any, full: Any) -> None:
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, 16)
            ask(ptx.addr(slot), ptx.addr(full))  # guilty

    def unfenced(answer: Any, slot: Any, full: Any, phase: Any) -> None:
        ptx.mbarrier.wait(full, phase)
        take(answer, ptx.addr(slot))
        if not broken:
            ptx.fence.proxy_async_shared_cta()

    persistent(y, request=ask_again, fetch=unfenced)


@case("PTX0911", "PTX0917")
def response_that_nobody_expects(x: Any, y: Any, *, broken: bool) -> None:
    def unexpected(slot: Any, full: Any) -> None:
        with ptx.if_(thread() == 0):
            ask(ptx.addr(slot), ptx.addr(full))  # guilty
            if broken:
                ptx.mbarrier.arrive(full)
            else:
                ptx.mbarrier.arrive_expect_tx(full, 16)

    def patient(answer: Any, slot: Any, full: Any, phase: Any) -> None:
        ptx.mbarrier.wait(full, phase)  # guilty
        take(answer, ptx.addr(slot))  # guilty
        ptx.fence.proxy_async_shared_cta()

    persistent(y, request=unexpected, fetch=patient)


@case("PTX0944")
def first_cta_of_a_refusal(x: Any, y: Any, *, broken: bool) -> None:
    def careless(tile: Any, granted: Any, answer: Any) -> None:
        is_granted(granted, answer)
        first_cta(tile, answer, pred=None if broken else granted)  # guilty

    persistent(y, decode=careless)


@case("PTX0944")
def one_more_request_behind_a_refusal(x: Any, y: Any, *, broken: bool) -> None:
    slot, full, phase = persistent(y)
    if broken:  # perhaps there is one after all
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, 16)
            ask(ptx.addr(slot), ptx.addr(full))  # guilty
        fetch(reg.scalar(b128), slot, full, phase)


@case("PTX0918", "PTX0944")
def second_request_into_the_same_response(x: Any, y: Any, *, broken: bool) -> None:
    slots = [response("first"), response("second")]
    full = make_barrier()
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(full, 32)
        ask(ptx.addr(slots[0]), ptx.addr(full))
        ask(ptx.addr(slots[0 if broken else 1]), ptx.addr(full))  # guilty
    tile, granted = reg.from_(block(), u32), reg.scalar(pred)
    work(y, tile)
    ptx.mbarrier.wait(full, 0)
    for slot in slots[: 1 if broken else 2]:
        answer = take(reg.scalar(b128), ptx.addr(slot))
        decode(tile, granted, answer)
        with ptx.if_(granted):
            work(y, tile)


@case("PTX0944")
def cluster_that_nobody_works_for(x: Any, y: Any, *, broken: bool) -> None:
    # One tile is enough for some: the answer to the last request is left where it is.
    slot, full = response(), make_barrier()
    tile, granted = reg.from_(block(), u32), reg.scalar(pred)
    with ptx.if_(thread() == 0):
        ptx.mbarrier.arrive_expect_tx(full, 16)
        ask(ptx.addr(slot), ptx.addr(full))  # guilty
    work(y, tile)
    ptx.mbarrier.wait(full, 0)
    if not broken:
        answer = take(reg.scalar(b128), ptx.addr(slot))
        decode(tile, granted, answer)
        with ptx.if_(granted):
            work(y, tile)


@case("PTX0918", "PTX0919", "PTX0920", threads=64)
def slot_given_back_before_it_is_read(x: Any, y: Any, *, broken: bool) -> None:
    # tile-ai/tilelang issue 2410: consumers arrived at "finished" before they had read the slot.
    slot = response()
    full, empty = make_barrier(1, name="full"), make_barrier(32, name="empty")
    tile, phase = reg.from_(block(), u32), reg.scalar(u32, init=0)
    answer, granted = reg.scalar(b128), reg.scalar(pred)
    with ptx.if_(thread() >= 32), ptx.scope():  # asks
        ptx.label("next")
        with ptx.if_(thread() == 32):
            ptx.mbarrier.arrive_expect_tx(full, 16)
            ask(ptx.addr(slot), ptx.addr(full))  # guilty
        fetch(answer, slot, full, phase)
        is_granted(granted, answer)
        ptx.mbarrier.wait(empty, phase)
        ptx.inst.xor.b32(phase, phase, 1)
        ptx.bra("next", pred=granted)
    with ptx.else_(), ptx.scope():  # works
        ptx.label("more")
        work(y, tile)
        ptx.mbarrier.wait(full, phase)
        if broken:
            ptx.mbarrier.arrive(empty)
        take(answer, ptx.addr(slot))  # guilty
        ptx.fence.proxy_async_shared_cta()
        if not broken:
            ptx.mbarrier.arrive(empty)
        decode(tile, granted, answer)
        ptx.inst.xor.b32(phase, phase, 1)
        ptx.bra("more", pred=granted)


@case("PTX0918", "PTX0919", threads=64)
def credit_by_a_relaxed_arrival(x: Any, y: Any, *, broken: bool) -> None:
    # NVIDIA/cudnn-frontend pull request 894: the credit for a refill did not release the reads.
    slot = response()
    full, empty = make_barrier(1, name="full"), make_barrier(32, name="empty")
    tile, phase = reg.from_(block(), u32), reg.scalar(u32, init=0)
    answer, granted = reg.scalar(b128), reg.scalar(pred)
    give_back = ptx.inst.mbarrier.arrive
    with ptx.if_(thread() >= 32), ptx.scope():
        ptx.label("next")
        with ptx.if_(thread() == 32):
            ptx.mbarrier.arrive_expect_tx(full, 16)
            ask(ptx.addr(slot), ptx.addr(full))  # guilty
        fetch(answer, slot, full, phase)
        is_granted(granted, answer)
        ptx.mbarrier.wait(empty, phase)
        ptx.inst.xor.b32(phase, phase, 1)
        ptx.bra("next", pred=granted)
    with ptx.else_(), ptx.scope():
        ptx.label("more")
        work(y, tile)
        fetch(answer, slot, full, phase)
        (give_back.relaxed if broken else give_back.release).cta.shared__cta.b64(
            reg.scalar(b64), ptx.addr(empty)
        )
        decode(tile, granted, answer)
        ptx.inst.xor.b32(phase, phase, 1)
        ptx.bra("more", pred=granted)


@case("PTX0918", "PTX0919", ctas=2, clusters=4)
def answer_for_all_ctas_over_one_not_yet_read(x: Any, y: Any, *, broken: bool) -> None:
    # triton-lang/triton pull request 10843: a request for the cluster and the peer's last read.
    def from_the_first(slot: Any, full: Any) -> None:
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, 16)
            with ptx.if_(ptx.cluster.rank() == 0):
                ask_for_all(ptx.addr(slot), ptx.addr(full))  # guilty

    persistent(
        y,
        request=from_the_first,
        decode=decode_own,
        begin=ptx.cluster.sync,
        meet=(lambda: ptx.bar.sync(0)) if broken else ptx.cluster.sync,
    )
    ptx.cluster.sync()


@case("PTX0911", ctas=2, clusters=4)
def bytes_expected_by_the_asking_cta_alone(x: Any, y: Any, *, broken: bool) -> None:
    # facebookexperimental/triton pull request 762: every CTA waits, one had armed its mbarrier.
    def armed(slot: Any, full: Any) -> None:
        with ptx.if_(thread() == 0):
            expecting = ptx.cluster.rank() == 0
            if broken:
                ptx.mbarrier.arrive_expect_tx(full, 16, pred=expecting)
            else:
                ptx.mbarrier.arrive_expect_tx(full, 16)
            with ptx.if_(ptx.cluster.rank() == 0):
                ask_for_all(ptx.addr(slot), ptx.addr(full))  # guilty

    def wait_everywhere(answer: Any, slot: Any, full: Any, phase: Any) -> None:
        ptx.mbarrier.wait(full, phase)  # guilty
        take(answer, ptx.addr(slot))
        ptx.fence.proxy_async_shared_cta()

    def meet() -> None:
        ptx.cluster.sync()  # guilty

    persistent(
        y,
        request=armed,
        fetch=wait_everywhere,
        decode=decode_own,
        begin=ptx.cluster.sync,
        meet=meet,
    )


@case("PTX0919", ctas=2, clusters=4)
def response_released_and_not_acquired(x: Any, y: Any, *, broken: bool) -> None:
    # The two halves of a proxy fence around a relaxed barrier, as the manual's example has them.
    def from_the_first(slot: Any, full: Any) -> None:
        with ptx.if_(thread() == 0):
            ptx.mbarrier.arrive_expect_tx(full, 16)
            with ptx.if_(ptx.cluster.rank() == 0):
                ask_for_all(ptx.addr(slot), ptx.addr(full))  # guilty

    def without_a_fence(answer: Any, slot: Any, full: Any, phase: Any) -> None:
        ptx.mbarrier.wait(full, phase)
        take(answer, ptx.addr(slot))

    def meet() -> None:
        ptx.fence.proxy_async_generic_release_shared_cta()
        ptx.inst.barrier.cluster.arrive.relaxed()
        ptx.inst.barrier.cluster.wait()
        if not broken:
            ptx.fence.proxy_async_generic_acquire_shared_cluster()

    persistent(
        y,
        request=from_the_first,
        fetch=without_a_fence,
        decode=decode_own,
        begin=ptx.cluster.sync,
        meet=meet,
    )


@case("PTX0919", "PTX0918")
def response_acquired_and_not_released(x: Any, y: Any, *, broken: bool) -> None:
    # The CUDA programming guide's loop: every thread releases its read, thread 0 acquires them.
    def acquire_and_ask(slot: Any, full: Any) -> None:
        with ptx.if_(thread() == 0):
            ptx.fence.proxy_async_generic_acquire_shared_cluster()
            ask(ptx.addr(slot), ptx.addr(full))  # guilty
            ptx.mbarrier.arrive_expect_tx(full, 16)

    def read_and_release(answer: Any, slot: Any, full: Any, phase: Any) -> None:
        ptx.mbarrier.wait(full, phase)
        take(answer, ptx.addr(slot))
        if not broken:
            ptx.fence.proxy_async_generic_release_shared_cta()

    persistent(y, request=acquire_and_ask, fetch=read_and_release)
