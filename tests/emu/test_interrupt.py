# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends a long emulation with KeyboardInterrupt, through both ways into the emulator."""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pyptx import _core
from support.packages import need

# Ends by itself after a minute or so: a signal that gets lost fails a test and does not hang it.
ENDLESS = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry endless(.param .u64 p0)
{
    .reg .u32 %r<1>;
    .reg .pred %p<1>;
    mov.u32 %r0, 1000000000;
LOOP:
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra LOOP;
    ret;
}
"""


@pytest.fixture(autouse=True)
def python_takes_sigint() -> Iterator[None]:
    """Python leaves SIGINT alone where its parent ignores it, as a shell does in background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
    torch = need("torch")
    entry = _core.Entry(lambda args, kwargs: "slow")
    entry.add([("f32", (4,))], [], "cpu", endless_image(2))
    x = torch.zeros(4)
    assert_interrupted(lambda: entry(x))


def test_a_handler_that_does_not_raise_does_not_end_it() -> None:
    """The kernel goes on when the signal was taken care of; the second one ends it."""
    seen: list[float] = []

    def handler(number: int, frame: object) -> None:
        seen.append(time.monotonic())
        if len(seen) == 2:
            raise TimeoutError("enough")

    signal.signal(signal.SIGINT, handler)
    timers = [threading.Timer(wait, _thread.interrupt_main) for wait in (0.1, 0.4)]
    x = np.zeros(4, np.float32)
    for timer in timers:
        timer.start()
    with pytest.raises(TimeoutError, match="enough"):
        _core.emulate(endless_image(1), [x.ctypes.data], [x.nbytes])
    for timer in timers:
        timer.join()
    assert seen[1] - seen[0] > 0.2
