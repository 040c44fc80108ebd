# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a long emulation with KeyboardInterrupt, through both ways into the emulator."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from pyptx import _core

ENDLESS = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry endless(.param .u64 p0)
{
LOOP:
    bra LOOP;
}
"""


def endless_image(blocks: int) -> _core.KernelImage:
    plan = _core.LaunchPlan("endless", (blocks, 1, 1), (32, 1, 1), tensor_count=1)
    plan.add_pointer(0)
    return _core.KernelImage(ENDLESS, "sm_90a", plan)


def assert_interrupted(call: Callable[[], object]) -> None:
    timer = threading.Timer(0.2, _thread.interrupt_main)
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    timer.join()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_an_emulation(threads: int) -> None:
    x = np.zeros(4, np.float32)
    image = endless_image(threads)
    assert_interrupted(lambda: _core.emulate(image, [x.ctypes.data], [x.nbytes], threads=threads))


def test_ctrl_c_ends_a_call_of_a_kernel() -> None:
    torch = pytest.importorskip("torch")
    entry = _core.Entry(lambda args, kwargs: "slow", "empty")
    entry.add([("f32", (4,))], [], "cpu", endless_image(2))
    x = torch.zeros(4)
    assert_interrupted(lambda: entry(x))


def test_a_handler_that_does_not_raise_does_not_end_it() -> None:
    """The kernel goes on when the signal was taken care of; the second one ends it."""
    import signal

    seen: list[float] = []

    def handler(number: int, frame: object) -> None:
        seen.append(time.monotonic())
        if len(seen) == 2:
            raise TimeoutError("enough")

    before = signal.signal(signal.SIGINT, handler)
    timers = [threading.Timer(wait, _thread.interrupt_main) for wait in (0.1, 0.4)]
    x = np.zeros(4, np.float32)
    try:
        for timer in timers:
            timer.start()
        with pytest.raises(TimeoutError, match="enough"):
            _core.emulate(endless_image(1), [x.ctypes.data], [x.nbytes])
    finally:
        signal.signal(signal.SIGINT, before)
    for timer in timers:
        timer.join()
    assert seen[1] - seen[0] > 0.2
