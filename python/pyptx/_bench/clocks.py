# SPDX-License-Identifier: Apache-2.0
"""How long calls take: by events of the GPU where torch has one, else by the host's clock."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from pyptx._bench.nvml import Sensors

Call = Callable[[], object]
AHEAD = 200_000  # cycles that the GPU waits, about 0.1 ms, while the host enqueues what is timed


def find_clock(cold: bool) -> HostClock | EventClock:
    """Return the clock for this machine."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_available():
        return EventClock(torch, cold)
    return HostClock()


class HostClock:
    """The host's clock; an array that is still being computed (JAX) is waited for."""

    device = "host"
    is_cold = False

    def __init__(self) -> None:
        self.sensors: Sensors | None = None

    def time(self, call: Call, count: int) -> float:
        """Return the seconds of one call, of `count` in a row."""
        start = time.perf_counter()
        for _ in range(count):
            result = call()
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if hasattr(each, "block_until_ready"):
                each.block_until_ready()
        return (time.perf_counter() - start) / count


class EventClock:
    """Events on torch's current stream, around each call or, with a warm cache, around all.

    Before a cold call a buffer twice the size of L2 is written. The GPU is kept busy until the host
    has enqueued the call, so that the time is the GPU's, not the host's.
    """

    def __init__(self, torch: Any, cold: bool) -> None:
        self._torch = torch
        self.is_cold = cold
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.device = str(properties.name)
        uuid = getattr(properties, "uuid", None)
        self.sensors: Sensors | None = Sensors(None if uuid is None else f"GPU-{uuid}")
        size = 2 * int(getattr(properties, "L2_cache_size", 64 << 20))
        self._buffer = torch.empty(size if cold else 0, dtype=torch.uint8, device="cuda")

    def time(self, call: Call, count: int) -> float:
        """Return the seconds of one call: the mean of `count` cold ones, or of as many in a row."""
        torch = self._torch
        pairs = []
        for _ in range(count if self.is_cold else 1):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if self.is_cold:
                self._buffer.zero_()
            torch.cuda._sleep(AHEAD)
            start.record()
            for _ in range(1 if self.is_cold else count):
                call()
            end.record()
            pairs.append((start, end))
        torch.cuda.synchronize()
        milliseconds = sum(start.elapsed_time(end) for start, end in pairs)
        return float(milliseconds) / 1000 / count
